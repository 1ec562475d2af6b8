from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb
import pytest

import dbdeid
from dbdeid.commands.plan import plan
from dbdeid.errors import DataError, HierarchyError, SpecError
from dbdeid.release.result import RunResult
from dbdeid.spec.column.hierarchy_spec import HierarchySpec

PEOPLE = """
CREATE TABLE visits AS SELECT * FROM (VALUES
  ('02139', 34, DATE '2020-01-05', '250.83', 'de'),
  ('02139-1234', 35, DATE '2020-01-06', 'V57', 'DEU'),
  ('03601', 91, DATE '2020-02-05', '?', 'France'),
  ('05901', 104, DATE '2021-02-05', '8', 'Atlantis'),
  (NULL, 93, NULL, NULL, NULL)
) AS visits(zip, age, seen, diagnosis, country)
"""
SHELF = {"zip": "zip", "age": "age", "seen": "dates", "diagnosis": "icd9", "country": "countries"}


@pytest.fixture
def con() -> duckdb.DuckDBPyConnection:
    found = duckdb.connect()
    found.execute(PEOPLE)
    return found


def spec(levels: dict[str, int], **columns: Any) -> dict[str, Any]:
    roles = {
        name: {"role": "quasi_identifier", "hierarchy": {"shelf": shelf}, "reason": "made up"}
        for name, shelf in SHELF.items()
    }
    return {
        "release": "public",
        "source": "visits",
        "columns": roles | columns,
        "privacy": [{"model": "k_anonymity", "k": 1}],
        "evaluate": {"metrics": []},
        "method": {"name": "full_domain", "transformation": levels},
    }


@pytest.fixture(scope="module")
def made() -> Iterator[tuple[duckdb.DuckDBPyConnection, RunResult]]:
    """A release with all of the shelf, which nobody changes."""
    with duckdb.connect() as con:
        con.execute(PEOPLE)
        levels = {"zip": 1, "age": 1, "seen": 3, "diagnosis": 3, "country": 2}
        yield con, dbdeid.run(spec(levels), con)


@pytest.mark.full
def test_a_release_with_all_of_the_shelf(
    made: tuple[duckdb.DuckDBPyConnection, RunResult],
) -> None:
    con, result = made
    assert result.verified
    assert set(con.execute("FROM public").fetchall()) == {
        ("021**", "[34, 35)", "2020", "240-279 Endocrine, nutritional and metabolic diseases, "
         "and immunity disorders", "Europe"),
        ("021**", "[35, 36)", "2020", "V01-V91 Supplementary factors influencing health status "
         "and contact with health services", "Europe"),
        ("000", ">= 90", "2020", "other", "Europe"),
        ("000", ">= 90", "2021", "001-139 Infectious and parasitic diseases", "other"),
        (None, ">= 90", None, None, None),
    }  # fmt: skip
    told = [w for w in result.warnings if "shelf" in w]
    assert told == [
        "diagnosis: 1 of 5 records holds no code of ICD-9-CM (shelf: icd9); above the raw values "
        "it reads 'other'",
        "country: 1 of 5 records holds no country (shelf: countries); above the raw values it "
        "reads 'other'",
    ]


@pytest.mark.full
def test_the_height_does_not_depend_on_the_values(con: duckdb.DuckDBPyConnection) -> None:
    def levels() -> dict[str, int]:
        return {c["name"]: c["levels"] for c in dbdeid.check(whole, con)["columns"]}

    whole = spec(dict.fromkeys(SHELF, 0))
    expected = {"zip": 4, "age": 6, "seen": 6, "diagnosis": 5, "country": 4}
    assert levels() == expected
    con.execute("DELETE FROM visits WHERE zip IS NOT NULL")
    assert levels() == expected
    con.execute("INSERT INTO visits VALUES ('02139', 34, DATE '2020-01-05', '250.83', 'de')")
    assert levels() == expected


def test_nothing_of_the_data_is_listed(
    made: tuple[duckdb.DuckDBPyConnection, RunResult],
) -> None:
    con, _ = made
    leaves = con.execute("SELECT count(leaves) FROM public_dictionary").fetchone()
    assert leaves == (0,)


def test_a_declared_domain_is_listed_and_can_be_planned(
    con: duckdb.DuckDBPyConnection, tmp_path: Path
) -> None:
    con.execute("DELETE FROM visits WHERE country = 'Atlantis' OR country IS NULL")
    domain = ["de", "DEU", "France", "us"]
    country = {
        "role": "quasi_identifier",
        "hierarchy": {"shelf": "countries"},
        "domain": domain,
        "reason": "made up",
    }
    others = dict.fromkeys(("zip", "diagnosis"), "drop")
    given = spec({"country": 2, "age": 2, "seen": 3}, country=country, **others)
    dbdeid.run(given, con)
    found = con.execute(
        "SELECT list_sort(leaves) FROM public_dictionary WHERE released_value = 'Europe'"
    ).fetchone()
    assert found == (["DEU", "France", "de"],)
    policy = plan(given, con).policy
    assert ",country,value,us,Americas," in policy
    assert ",seen,calendar,year," in policy


@pytest.mark.parametrize("name", ["zip", "diagnosis", "country"])
def test_codes_without_a_domain_are_no_rule_of_dbt(
    con: duckdb.DuckDBPyConnection, name: str
) -> None:
    others = {other: "drop" for other in SHELF if other != name}
    with pytest.raises(DataError, match=f"{name!r}: the labels of shelf: {SHELF[name]}") as error:
        plan(spec({name: 1}, **others), con)
    assert "domain" in error.value.hint


def test_zip_codes_without_their_zeros_are_refused(con: duckdb.DuckDBPyConnection) -> None:
    con.execute("UPDATE visits SET zip = '2139' WHERE zip = '02139'")
    with pytest.raises(HierarchyError, match="1 of 4 different values are not ZIP codes") as error:
        dbdeid.run(spec({"zip": 1}), con)
    assert "lpad" in error.value.hint
    assert "2139" not in str(error.value)


def test_numbers_are_no_codes(con: duckdb.DuckDBPyConnection) -> None:
    con.execute("ALTER TABLE visits ALTER zip TYPE INTEGER USING 2139")
    with pytest.raises(SpecError, match="shelf: zip needs text, and 'zip' is INTEGER"):
        dbdeid.run(spec({"zip": 1}), con)


@pytest.mark.parametrize(
    ("hierarchy", "message"),
    [
        ({"shelf": "icd11"}, "no hierarchy 'icd11' on the shelf"),
        ({"shelf": "age", "lower": 18}, "shelf: age takes no other keys"),
        ({"shelf": "zip", "prefix": [3]}, "exactly one kind"),
    ],
)
def test_what_is_not_on_the_shelf(
    con: duckdb.DuckDBPyConnection, hierarchy: dict[str, Any], message: str
) -> None:
    column = {"role": "quasi_identifier", "hierarchy": hierarchy}
    with pytest.raises(SpecError, match=message):
        dbdeid.check(spec({}, zip=column), con)


def test_a_rule_of_the_shelf_is_what_could_be_written_out() -> None:
    age = HierarchySpec.model_validate({"intervals": [1, 5, 10, 30], "lower": 0, "upper": 90})
    assert HierarchySpec.model_validate({"shelf": "age"}) == age
    dates = HierarchySpec.model_validate({"dates": ["month", "quarter", "year", "decade"]})
    assert HierarchySpec.model_validate({"shelf": "dates"}) == dates


def test_roles_in_comments_may_name_the_shelf(con: duckdb.DuckDBPyConnection) -> None:
    for name, shelf in SHELF.items():
        con.execute(
            f"COMMENT ON COLUMN visits.{name} IS 'deid: quasi_identifier "
            f'hierarchy={{shelf: {shelf}}} reason="made up"\''
        )
    levels = {"zip": 1, "age": 1, "seen": 3, "diagnosis": 3, "country": 2}
    given = spec(levels) | {"columns": "from_comments"}
    assert dbdeid.run(given, con).transformation == levels


def test_a_release_made_elsewhere_is_read_with_the_labels_of_the_shelf(
    con: duckdb.DuckDBPyConnection,
) -> None:
    levels = {"zip": 1, "age": 1, "seen": 3, "diagnosis": 2, "country": 1}
    dbdeid.run(spec(levels), con)
    con.execute("CREATE TABLE foreign_release AS FROM public")
    given = spec(levels) | {"release": "foreign", "method": {"name": "external",
                            "table": "foreign_release"}}  # fmt: skip
    found = dbdeid.verify(given, con)
    assert found.verified


def test_the_diagnoses_of_a_hospital(tmp_path: Path) -> None:
    """Values as the first diagnosis of Diabetes 130 has them, lost zeros and `?` among them."""
    con = duckdb.connect()
    con.execute(
        "CREATE TABLE visits AS SELECT unnest(['250.83', '276', '648', '8', '197', '414', '428', "
        "'398', '434', '250.7', '157', '518', '999', '410', '682', 'V57', '786', 'E909', '?', '38']"
        ") AS diagnosis FROM range(3)"
    )
    given = {
        "release": "public",
        "source": "visits",
        "columns": {"diagnosis": {"role": "quasi_identifier", "hierarchy": {"shelf": "icd9"}}},
        "privacy": [{"model": "k_anonymity", "k": 3}],
        "method": {"name": "full_domain", "transformation": {"diagnosis": 3}},
    }
    result = dbdeid.run(given, con)
    assert "diagnosis: 3 of 60 records hold no code of ICD-9-CM" in " ".join(result.warnings)
    circulatory = con.execute("SELECT count(*) FROM public WHERE diagnosis LIKE '390-459 %'")
    assert circulatory.fetchone() == (15,)


def test_codes_of_another_kind_are_refused(con: duckdb.DuckDBPyConnection) -> None:
    con.execute("CREATE TABLE coded AS SELECT 'C' || (10 + i % 9) AS code FROM range(30) AS r(i)")
    asked = {
        "release": "public",
        "source": "coded",
        "columns": {"code": {"role": "quasi_identifier", "hierarchy": {"shelf": "icd9"}}},
        "privacy": [{"model": "k_anonymity", "k": 2}],
        "method": "full_domain",
    }
    with pytest.raises(DataError, match="'code': no record holds a code of ICD-9-CM") as refused:
        dbdeid.run(asked, con)
    assert "icd10" in str(refused.value.hint)
    asked["columns"]["code"]["hierarchy"] = {"shelf": "icd10"}
    assert dbdeid.run(asked, con).verified
