from __future__ import annotations

from pathlib import Path
from typing import Any

import duckdb
import pytest
import tiers
import zoo

import dbdeid
from dbdeid.bind.read import read
from dbdeid.commands.verify_evaluate_export import export_release
from dbdeid.errors import SpecError
from dbdeid.spec.file import read_text
from dbdeid.verify import verify_file
from dbdeid.verify.base.declaration import Declared
from dbdeid.verify.harbor import ages

PATIENTS = """
CREATE TABLE visits AS
SELECT
  1000 + i AS mrn,
  'p' || i || '@example.org' AS email,
  20 + (i * 7) % 85 AS age,
  DATE '2020-01-01' + CAST(i AS INTEGER) AS admitted,
  DATE '1925-06-01' + CAST(i * 200 AS INTEGER) AS dob,
  ['02139', '03601', '10001', '60601'][1 + i % 4] AS zip,
  ['Boston', 'Hanover', 'New York', 'Chicago'][1 + i % 4] AS city,
  ['flu', 'asthma', 'none'][1 + i % 3] AS diagnosis
FROM range(200) AS numbers(i)
"""
EXPORTS = tiers.some(("public.csv", "public.parquet"), 2)
SPEC = f"""
release: public   # what researchers get
preset: safe_harbor
database: hospital.duckdb
target: public.duckdb
source: visits
columns:
  diagnosis: {{role: sensitive, accept: homogeneity}}
output: {{export: [{", ".join(EXPORTS)}]}}
evaluate: {{metrics: []}}
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    zoo.fill(hospital)
    return tmp_path


def hospital() -> None:
    with duckdb.connect("hospital.duckdb") as con:
        con.execute(PATIENTS)
    Path("visits.yml").write_text(SPEC)


@pytest.fixture
def con() -> duckdb.DuckDBPyConnection:
    found = duckdb.connect()
    found.execute(PATIENTS)
    return found


def spec(preset: Any = "safe_harbor", **columns: Any) -> dict[str, Any]:
    kept = {"diagnosis": {"role": "sensitive", "accept": "homogeneity"}}
    return {
        "release": "public",
        "preset": preset,
        "source": "visits",
        "columns": kept | columns,
        "evaluate": {"metrics": []},
    }


def mistakes(given: dict[str, Any], con: duckdb.DuckDBPyConnection) -> dict[str, str]:
    with pytest.raises(SpecError) as error:
        dbdeid.check(given, con)
    return {m.place: f"{m.message} | {m.hint}" for m in error.value.mistakes}


def test_the_preset_alone_makes_a_release_that_keeps_it(folder: Path) -> None:
    result = zoo.run("visits.yml")
    assert result.verified
    assert result.transformation == {"age": 1, "admitted": 1, "zip": 1}
    assert any("safe_harbor counts rows, not people" in w for w in result.warnings)
    assert not any("accept: rows" in w for w in result.warnings)
    promise = next(p for p in result.promises if p["model"] == "safe_harbor")
    assert promise["holds"]
    assert promise["declared"]["columns"] == {"age": "age", "admitted": "date", "zip": "zip"}
    with duckdb.connect(str(folder / "public.duckdb"), read_only=True) as con:
        names = [row[0] for row in con.execute("DESCRIBE public").fetchall()]
        old = con.execute("SELECT count(*) FROM public WHERE age = '>= 90'").fetchone()
        areas = con.execute("SELECT DISTINCT zip FROM public ORDER BY zip").fetchall()
    assert names == ["age", "admitted", "zip", "diagnosis"]
    with duckdb.connect(str(folder / "hospital.duckdb"), read_only=True) as con:
        assert con.execute("SELECT count(*) FROM visits WHERE age >= 90").fetchone() == old
    assert areas == [("000",), ("021**",), ("100**",), ("606**",)]
    verified = dbdeid.verify(folder / "visits.yml")
    assert verified.verified
    found = [p.model for p in verified.promises if p.model.startswith("safe_harbor")]
    assert found == [
        "safe_harbor",
        *(f"safe_harbor ({name})" for name in ("public.duckdb", *EXPORTS)),
    ]


@pytest.mark.usefixtures("folder")
def test_what_it_does_and_what_it_cannot_see_is_said() -> None:
    told = [w for w in zoo.run("visits.yml").warnings if w.startswith("safe_harbor")]
    assert told == [
        "safe_harbor: withheld: mrn (H, numbers of records), email (F, e-mail addresses), "
        "dob (C, dates of birth), city (B, places smaller than a state)",
        "safe_harbor: generalized: age (C, ages), admitted (C, dates), zip (B, ZIP codes)",
        told[-1],
    ]
    assert told[-1].startswith("safe_harbor cannot see names and numbers inside texts")
    assert "164.514(b)(2)(ii)" in told[-1]
    assert "no k" in told[-1]


@pytest.mark.full
def test_a_file_that_tells_more_is_not_verified(folder: Path) -> None:
    """Mutants of an export: each breaks the promise after it is reopened, and is named."""
    zoo.run("visits.yml")
    for column, value in (("age", "97"), ("admitted", "2020-03"), ("zip", "036**")):
        lines = (folder / "public.csv").read_text().splitlines()
        row = dict(zip(lines[0].split(","), lines[1].split(","), strict=True)) | {column: value}
        mutant = folder / "mutant.csv"
        mutant.write_text("\n".join([lines[0], ",".join(row.values()), *lines[2:]]) + "\n")
        found = verify_file(mutant, _declared(folder), dictionary=None)
        (promise,) = [p for p in found.promises if p.model == "safe_harbor"]
        assert not promise.holds
        assert [*promise.found] == [column]


def _declared(folder: Path) -> Declared:
    from dbdeid.commands.verify_evaluate_export import existing

    with existing(read(folder / "visits.yml")) as found:
        return found.declared(found.bound())


def test_what_is_less_than_the_rule_is_refused(con: duckdb.DuckDBPyConnection) -> None:
    def interested(**more: Any) -> dict[str, Any]:
        return {"role": "quasi_identifier", **more}

    found = mistakes(
        spec(
            mrn="sensitive",
            email={"role": "insensitive", "reason": "wanted"},
            age=interested(hierarchy={"intervals": [5]}),
            admitted=interested(hierarchy={"dates": ["month", "year"]}, min_level=1),
            dob=interested(hierarchy={"dates": ["year"]}),
            zip=interested(hierarchy={"prefix": [3]}, min_level=1),
            city=interested(hierarchy={"groups": [{"east": ["Boston"]}]}, min_level=1),
        ),
        con,
    )
    assert set(found) == {
        "columns.mrn",
        "columns.email",
        "columns.age.hierarchy",
        "columns.admitted.min_level",
        "columns.dob.hierarchy",
        "columns.zip.hierarchy",
        "columns.city.hierarchy",
    }
    assert all("preset.accept" in m for p, m in found.items() if not p.endswith("_level"))
    assert "lower" in found["columns.dob.hierarchy"]
    assert "Boston" not in str(found)


def test_levels_that_are_left_out_are_supplied(con: duckdb.DuckDBPyConnection) -> None:
    quasi = {"role": "quasi_identifier"}
    given = spec(
        age={**quasi, "hierarchy": {"intervals": [10], "upper": 90}},
        admitted={**quasi, "hierarchy": {"dates": ["month", "quarter", "year"]}},
        dob={**quasi, "hierarchy": {"dates": ["decade"], "lower": "1940-01-01"}},
        zip=quasi,
        city={**quasi, "hierarchy": "suppress", "min_level": 1},
    )
    result = dbdeid.run(given, con)
    assert result.verified
    expected = {"age": 1, "admitted": 3, "dob": 1, "zip": 1, "city": 1}
    assert result.transformation == expected
    assert any("nobody born in 1940-01-01 or later" in w for w in result.warnings)


@pytest.mark.full
def test_columns_that_share_a_key_are_completed_each(con: duckdb.DuckDBPyConnection) -> None:
    given = spec()
    given["columns"]["mrn, email, dob"] = "drop"
    given["columns"]["zip, city"] = "drop"
    assert dbdeid.run(given, con).transformation == {"age": 1, "admitted": 1}


@pytest.mark.full
def test_an_owner_may_say_why_a_column_is_none(con: duckdb.DuckDBPyConnection) -> None:
    preset = {"name": "safe_harbor", "accept": {"admitted": "shifted at random, not of a person"}}
    given = spec(preset, admitted={"role": "insensitive", "reason": "shifted at random"})
    result = dbdeid.run(given, con)
    assert result.verified
    assert "safe_harbor: admitted is released as declared: shifted at random, not of a person" in (
        result.warnings
    )
    kind = con.execute("SELECT typeof(admitted) FROM public LIMIT 1").fetchone()
    assert kind == ("DATE",)
    given = spec({"name": "safe_harbor", "accept": {"diagnosis": "no"}})
    (told,) = mistakes(given, con).items()
    assert told[0] == "preset.accept.diagnosis"
    assert told[1].startswith("safe_harbor objects to no column 'diagnosis' | ")


@pytest.mark.full
def test_columns_that_nothing_is_known_of_still_need_a_role(
    con: duckdb.DuckDBPyConnection,
) -> None:
    given = spec()
    given["columns"] = {}
    assert "'diagnosis'" in mistakes(given, con)["columns"]


@pytest.mark.parametrize(
    ("change", "place", "message"),
    [
        ({"preset": "safe_habor"}, "preset", "unknown preset 'safe_habor'"),
        ({"preset": {"name": "safe_harbor", "accept": {"age": ""}}}, "preset.accept.age", "empty"),
        ({"method": "microaggregation"}, "", "goes with methods that keep to the levels"),
        ({"source": "visit"}, None, "no table or view 'visit'"),
    ],
)
def test_mistakes_are_told(
    con: duckdb.DuckDBPyConnection, change: dict[str, Any], place: str | None, message: str
) -> None:
    with pytest.raises(dbdeid.DbdeidError, match=message) as error:
        dbdeid.check(spec() | change, con)
    if place is not None:
        assert isinstance(error.value, SpecError)
        assert place in [m.place for m in error.value.mistakes]


@pytest.mark.full
def test_bands_of_ages_may_stay_as_they_are(con: duckdb.DuckDBPyConnection) -> None:
    band = "'[' || age // 10 * 10 || '-' || age // 10 * 10 + 10 || ')'"
    con.execute(f"ALTER TABLE visits ALTER age TYPE VARCHAR USING least({band}, '[90-100)')")
    con.execute("UPDATE visits SET age = '[90-100)' WHERE age LIKE '[1%-11%'")
    con.execute("ALTER TABLE visits ADD COLUMN patient_age VARCHAR")
    con.execute("UPDATE visits SET patient_age = if(mrn = 1001, '[100-110)', age)")
    result = dbdeid.run(spec(), con)
    assert result.verified
    assert result.transformation["age"] == 0
    assert "patient_age" not in result.transformation
    assert any("withheld: " in w and "patient_age (C, ages)" in w for w in result.warnings)


@pytest.mark.full
def test_models_and_methods_go_on_top_of_it(con: duckdb.DuckDBPyConnection) -> None:
    for method in tiers.some(("local_recoding", "full_domain"), 2):
        given = spec() | {"privacy": [{"model": "k_anonymity", "k": 5}], "method": method}
        result = dbdeid.run(given | {"accept": "rows"}, con)
        assert result.verified
        assert result.smallest_class >= 5


@pytest.mark.full
def test_counterfeit_records_keep_it_too(con: duckdb.DuckDBPyConnection) -> None:
    """Each is drawn from what may be released: no year, area or age of it tells more."""
    given = spec() | {
        "privacy": [{"model": "k_anonymity", "k": 2}],
        "method": {"name": "counterfeit", "h": 1.0, "max_counterfeits": 0.5},
        "accept": "rows",
    }
    result = dbdeid.run(given, con)
    assert result.verified
    released = result.to_df()
    assert {"mrn", "email", "dob", "city"}.isdisjoint(released)
    assert ages([*set(released["age"]) - {"*"}]) == 0
    assert set(released["zip"]) <= {
        "000",
        "021**",
        "100**",
        "606**",
        "0****",
        "1****",
        "6****",
        "*",
    }
    assert set(released["admitted"]) <= {"2020", "2020s", "*"}


@pytest.mark.full
def test_dates_of_any_name_may_be_of_births(con: duckdb.DuckDBPyConnection) -> None:
    """Years from which on nobody is 90 at the newest date are told, earlier ones are one."""
    born = "DATE '1918-03-01' + CAST(i * 90 AS INTEGER)"
    con.execute(
        f"CREATE TABLE seen AS SELECT admitted, {born} AS d1, diagnosis FROM "
        "(SELECT *, mrn - 1000 AS i FROM visits)"
    )
    given = spec() | {"source": "seen", "accept": "rows"}
    result = dbdeid.run(given, con)
    years = set(result.to_df()["d1"])
    assert result.verified
    assert "< 1931-01-01" in years
    assert min(years - {"< 1931-01-01"}) == "1931"
    given["columns"]["d1"] = {"role": "quasi_identifier", "hierarchy": {"dates": ["year"]}}
    found = mistakes(given, con)
    assert "reaches back more than 89 years" in found["columns.d1.hierarchy"]
    assert "lower: 1931-01-01" in found["columns.d1.hierarchy"]
    given["columns"]["d1"]["hierarchy"]["lower"] = "1931-01-01"
    dbdeid.check(given, con)  # what was supplied above
    given["columns"]["d1"]["hierarchy"]["lower"] = "1925-01-01"
    assert "columns.d1.hierarchy" in mistakes(given, con)


def test_what_was_supplied_stands_in_the_specification_that_is_kept(folder: Path) -> None:
    file = read(folder / "visits.yml")
    assert "# what researchers get" in file.text
    again = read_text(file.text)
    assert again.spec == file.spec
    assert file.spec.columns["mrn"].role == "identifier"
    assert file.spec.columns["age"].min_level == 1


@pytest.mark.full
def test_an_export_later_keeps_it_too(folder: Path) -> None:
    dbdeid.run(folder / "visits.yml")
    (path, _) = export_release(folder / "visits.yml", folder / "later.csv")
    assert path.is_file()


@pytest.mark.full
def test_what_every_subject_has_for_itself_is_withheld(con: duckdb.DuckDBPyConnection) -> None:
    """It repeats where subjects have several records, and names them all the same."""
    con.execute(
        "CREATE TABLE seen AS SELECT 'p' || i % 200 AS person, 'c' || 7 * (i % 200) AS chart, "
        "40 + i % 30 AS age, 'w' || i % 5 AS ward FROM range(600) AS numbers(i)"
    )
    asked = {
        **spec(person="identifier", chart={"role": "insensitive"}, ward={"role": "insensitive"}),
        "source": "seen",
        "subject": "person",
        "privacy": [{"model": "k_anonymity", "k": 2}],
    }
    del asked["columns"]["diagnosis"]
    with pytest.raises(SpecError, match="nearly every subject has a value of its own") as raised:
        dbdeid.run(asked, con)
    assert "ward" not in str(raised.value)
    del asked["columns"]["chart"]
    assert dbdeid.run(asked, con).to_df().columns.tolist() == ["age", "ward"]


@pytest.mark.sampled(4)
@pytest.mark.parametrize("form", ["%A, %-d %B %Y", "%Y-%m", "%Y%m%d", "%j of %Y"])
def test_dates_in_any_form_are_not_released(con: duckdb.DuckDBPyConnection, form: str) -> None:
    text = f"strftime(admitted, '{form}')"
    con.execute(f"CREATE TABLE seen AS SELECT * REPLACE ({text} AS admitted) FROM visits")
    asked = {**spec(admitted={"role": "insensitive"}), "source": "seen"}
    with pytest.raises(SpecError, match="admitted"):
        dbdeid.run(asked, con)
