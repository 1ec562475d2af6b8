"""Populations beside a release: which are taken, what is refused, and a real one."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import duckdb
import pytest
import tiers
from specs import PEOPLE, unmeasured

import dbdeid
from dbdeid.commands.explain import steps
from dbdeid.spec.release_spec import ReleaseSpec

K_MAP = {"model": "k_map", "population": "town", "k": 20}
PRESENCE = {"model": "delta_presence", "population": "town", "max": 0.2}
JOURNALIST = {
    "model": "max_risk",
    "attacker": "journalist",
    "population": "town",
    "threshold": 0.05,
}
# Everybody of `people` and others, some of them older or of other ZIP codes than any of them.
TOWN = """
CREATE OR REPLACE TABLE town AS
SELECT age, zip, sex, count(*)::INTEGER AS people FROM (
  SELECT age, zip, sex FROM people
  UNION ALL
  SELECT 18 + (i * 13) % 80, (10000 + (i * 11) % 450)::VARCHAR,
    CASE WHEN i % 13 = 0 THEN NULL WHEN i % 2 = 0 THEN 'f' ELSE 'm' END
  FROM range(5000) AS r(i)
) GROUP BY ALL
"""
UNCOUNTED = "SELECT age, zip, sex FROM town, range(people)"


def spec(*models: dict[str, Any], **changes: Any) -> dict[str, Any]:
    return unmeasured(privacy=[*(models or (K_MAP, PRESENCE, JOURNALIST))], **changes)


@pytest.fixture
def con() -> Any:
    with duckdb.connect() as con:
        con.execute(PEOPLE)
        con.execute(TOWN)
        yield con


def found(con: Any, given: dict[str, Any]) -> dict[str, Any]:
    """What is found of each model, when a release is verified again."""
    verified = dbdeid.verify(given, con)
    assert verified.verified, verified.failures
    return {p.model: p.found for p in verified.promises}


def by_hand(con: Any, name: str = "people_public") -> list[tuple[int, int]]:
    """Records and people of each released class, from the labels of age, zip and sex."""
    labels = """
      {age} // 20 * 20 AS decade, left(zip, 3) AS area, sex
    """
    query = f"""
      SELECT n, coalesce(g, 0) FROM (
        SELECT split_part(age[2:], ',', 1)::INTEGER AS decade, left(zip, 3) AS area, sex,
          count(*) AS n FROM {name} GROUP BY ALL
      ) AS released LEFT JOIN (
        SELECT {labels.format(age="age")}, sum(people) AS g FROM town GROUP BY ALL
      ) AS whole ON released.decade = whole.decade AND released.area = whole.area
        AND released.sex IS NOT DISTINCT FROM whole.sex
    """
    return con.execute(query).fetchall()


@pytest.fixture(scope="module")
def made() -> Any:
    """A release that tests look at and do not change: where it is, its spec, what a run says."""
    given = spec({**K_MAP, "k": 100}, PRESENCE, JOURNALIST)
    given["method"]["transformation"] = {"age": 2, "zip": 1, "sex": 0}
    given["method"]["suppression_limit"] = 0.5
    with duckdb.connect() as con:
        con.execute(PEOPLE)
        con.execute(TOWN)
        yield con, given, dbdeid.run(given, con)


def test_what_is_found_is_counted_by_hand(made: Any) -> None:
    con, given, result = made
    classes = by_hand(con)
    assert 0 < result.suppressed_rows < 100
    expected = {
        "k_map": min(g for _, g in classes),
        "max_risk": max(1 / g for _, g in classes),
        "delta_presence": {
            "min": 0,  # of those who fit no released class
            "max": max(n / g for n, g in classes),
        },
    }
    assert {k: v for k, v in found(con, given).items() if k in expected} == expected


@pytest.mark.full
@pytest.mark.parametrize("ending", [".parquet", ".csv"])
def test_a_population_is_a_table_or_a_view_or_a_file(con: Any, tmp_path: Path, ending: str) -> None:
    con.execute(f"CREATE VIEW everyone AS {UNCOUNTED}")
    con.execute("UPDATE people SET zip = 'TN' || zip; UPDATE town SET zip = 'TN' || zip")
    con.execute(f"COPY town TO '{tmp_path / 'town'}{ending}'")
    path = str(tmp_path / f"town{ending}")
    kept = []
    for population in tiers.some(("town", "everyone", path), 2):
        given = spec({**K_MAP, "population": population})
        kept.append((dbdeid.run(given, con).transformation, found(con, given)["k_map"]))
    assert all(one == kept[0] for one in kept)


@pytest.mark.full
def test_several_populations(con: Any) -> None:
    con.execute("CREATE TABLE village AS SELECT * FROM town WHERE left(zip, 3) <= '102'")
    given = spec(K_MAP, {**K_MAP, "population": "village"})
    dbdeid.run(given, con)
    promises = dbdeid.verify(given, con).promises[:2]
    assert [p.declared["population"] for p in promises] == ["town", "village"]
    assert all(p.found >= 20 for p in promises)
    assert promises[0].found >= promises[1].found


@pytest.mark.full
def test_a_column_named_people_may_be_a_quasi_identifier(con: Any) -> None:
    con.execute("ALTER TABLE people RENAME age TO people; ALTER TABLE town DROP people")
    con.execute("ALTER TABLE town RENAME age TO people")
    given = spec()
    given["columns"]["people"] = given["columns"].pop("age")
    assert dbdeid.run(given, con).verified


@pytest.mark.full
def test_types_of_one_kind_are_alike(con: Any) -> None:
    con.execute("ALTER TABLE town ALTER age TYPE DECIMAL(9, 3)")
    con.execute("CREATE TYPE sexes AS ENUM ('f', 'm'); ALTER TABLE town ALTER sex TYPE sexes")
    expected = dbdeid.run(spec(), con)
    con.execute(TOWN)
    assert dbdeid.run(spec(), con).transformation == expected.transformation


@pytest.mark.full
def test_a_collation_makes_nobody_alike(con: Any) -> None:
    given = spec(K_MAP, PRESENCE)
    expected = dbdeid.run(given, con).transformation, found(con, given)
    con.execute("ALTER TABLE town ALTER sex TYPE VARCHAR COLLATE NOCASE")
    con.execute("INSERT INTO town SELECT age, zip, upper(sex), 50 FROM town WHERE sex = 'f'")
    assert (dbdeid.run(given, con).transformation, found(con, given)) == expected


@pytest.mark.full
def test_a_population_changes_nothing_about_the_source(con: Any) -> None:
    """Losses, codes and the dictionary are those of the source alone."""
    node = {"transformation": {"age": 1, "zip": 2, "sex": 0}, "suppression_limit": 1.0}
    given = spec({"model": "k_anonymity", "k": 1}, method={"name": "full_domain", **node})
    alone = dbdeid.run(given, con)
    rows = con.execute("FROM people_public").fetchall()
    listed = con.execute("FROM people_public_dictionary").fetchall()
    given["privacy"] = [{**K_MAP, "k": 1}]
    beside = dbdeid.run(given, con)
    assert beside.loss == alone.loss
    assert con.execute("FROM people_public").fetchall() == rows
    assert con.execute("FROM people_public_dictionary").fetchall() == listed
    weights = con.execute(
        "SELECT count(DISTINCT loss) FROM deid.hierarchies GROUP BY hierarchy, level, label"
    ).fetchall()
    assert {n for (n,) in weights} == {1}
    values = "SELECT DISTINCT value FROM deid.hierarchies WHERE hierarchy = 'zip'"
    missing = f"SELECT DISTINCT zip FROM town WHERE zip NOT IN ({values})"
    assert not con.execute(missing).fetchall()


@pytest.mark.full
def test_a_population_that_grew_is_read_again(con: Any) -> None:
    given = spec(K_MAP)
    dbdeid.run(given, con)
    before = found(con, given)["k_map"]
    con.execute("UPDATE town SET people = people + 1")
    assert found(con, given)["k_map"] > before
    con.execute("UPDATE town SET people = 1; DELETE FROM town WHERE age % 3 = 0")
    again = dbdeid.verify(given, con)
    assert [p.model for p in again.promises if not p.holds] == ["k_map"]
    con.execute("INSERT INTO town VALUES (150, '99999', 'f', 3)")
    again = dbdeid.verify(given, con)
    assert again.promises[0].found == "3 people without a place in the hierarchies"


@pytest.mark.full
def test_no_release_among_too_few(con: Any) -> None:
    con.execute("DELETE FROM town; INSERT INTO town VALUES (30, '10000', 'f', 7)")
    for model, reason in ((K_MAP, "fewer than k = 20"), (JOURNALIST, "20 are needed")):
        for command in (dbdeid.run, dbdeid.check):
            with pytest.raises(dbdeid.Unsatisfiable, match=f"town has 7 people.*{reason}"):
                command(spec(model), con)
    with pytest.raises(dbdeid.Unsatisfiable, match="town: delta_presence"):
        dbdeid.run(spec(PRESENCE), con)


def test_steps_show_how_a_population_is_read(tmp_path: Path) -> None:
    path = tmp_path / "owner.duckdb"
    with duckdb.connect(path) as con:
        con.execute(PEOPLE)
        con.execute(TOWN)
    shown = [step.text() for step in steps(spec(database=str(path)))]
    assert sum('"town"' in text for text in shown) == 1


# -- refusals ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"null_policy": "wildcard"}, "not compared with a population"),
        ({"method": {"name": "full_domain", "engine": "sql"}}, "engine: sql compares with no"),
        ({"output": {"as": "view"}}, "view previews k_anonymity only"),
        ({"subject": "who", "columns": {"pseudonym": True}}, "a released pseudonym tells"),
    ],
)
def test_what_does_not_go_with_a_population(changes: dict[str, Any], words: str) -> None:
    given = spec(K_MAP, **{k: v for k, v in changes.items() if k != "columns"})
    if "columns" in changes:
        given["columns"]["name"] = {"role": "identifier", **changes["columns"]}
    with pytest.raises(ValueError, match=words):
        ReleaseSpec.model_validate(given)


def mistakes(con: Any, *models: dict[str, Any], **changes: Any) -> list[str]:
    with pytest.raises(dbdeid.SpecError) as refused:
        dbdeid.run(spec(*models, **changes), con)
    assert not con.execute(
        "SELECT * FROM duckdb_tables() WHERE table_name LIKE '%public%'"
    ).fetchall()
    return [f"{m.place}: {m.message} ({m.hint})" for m in refused.value.mistakes]


MISTAKES = {
    "not there": ("DROP TABLE town", "cannot be read: population: no table or view 'town'"),
    "a column is missing": ("ALTER TABLE town DROP zip", "has no column 'zip' (name its columns"),
    "two are missing": ("ALTER TABLE town DROP zip; ALTER TABLE town DROP sex", "'zip', 'sex'"),
    "empty": ("DELETE FROM town", "is empty"),
    "nobody": ("UPDATE town SET people = 0", "is empty"),
    "too few": ("UPDATE town SET people = -1 WHERE age = 20", "fewer than 0 people in "),
    "unknown": ("UPDATE town SET people = NULL WHERE age = 20", "has NULL as 'people' in "),
    "parts": ("ALTER TABLE town ALTER people TYPE DOUBLE", "has 'people' as DOUBLE"),
    "too many": (
        "ALTER TABLE town ALTER people TYPE BIGINT; UPDATE town SET people = 9000000000000000",
        "more people than can be counted",
    ),
    "text": (
        "ALTER TABLE town ALTER age TYPE VARCHAR",
        "has column 'age' as VARCHAR, and the source as BIGINT (give both",
    ),
    "numbers": (
        "ALTER TABLE town ALTER zip TYPE INTEGER",
        "has column 'zip' as INTEGER, and the source as VARCHAR",
    ),
    "halves": (
        "ALTER TABLE town ALTER age TYPE DOUBLE; UPDATE town SET age = 20.5 WHERE age < 25",
        "values of 'age' that are none of type BIGINT",
    ),
    "too large": (
        "ALTER TABLE people ALTER age TYPE TINYINT; UPDATE town SET age = 200 WHERE age < 25",
        "values of 'age' that are none of type TINYINT",
    ),
}


@pytest.mark.sampled(3)
@pytest.mark.parametrize("name", MISTAKES)
def test_mistakes_have_their_place(con: Any, name: str) -> None:
    change, words = MISTAKES[name]
    con.execute(change)
    (told,) = mistakes(con, {"model": "k_anonymity", "k": 2}, K_MAP, PRESENCE)
    assert told.startswith("privacy[1].population: population 'town' ")
    assert words in told


def test_all_mistakes_are_told_at_once(con: Any) -> None:
    con.execute("ALTER TABLE town DROP zip; ALTER TABLE town ALTER people TYPE DOUBLE")
    told = mistakes(con, K_MAP, {**K_MAP, "population": "village"})
    assert [t.split(":")[0] for t in told] == ["privacy[0].population"] * 2 + [
        "privacy[1].population"
    ]


def test_a_population_is_no_table_of_the_release(con: Any) -> None:
    con.execute("ALTER TABLE town RENAME TO residents")
    given = spec({**K_MAP, "population": "residents"})
    con.execute("CREATE TABLE t AS FROM people")
    given["release"] = "people_2"
    dbdeid.run(given, con)
    given = spec({**K_MAP, "population": "people_2"}, release="people_2")
    with pytest.raises(dbdeid.SpecError, match="is what the release would replace"):
        dbdeid.run(given, con)


def test_a_file_of_a_population_is_not_written_over(con: Any, tmp_path: Path) -> None:
    con.execute(f"COPY town TO '{tmp_path / 'town.parquet'}'")
    path = str(tmp_path / "town.parquet")
    given = spec({**K_MAP, "population": path}, output={"export": [path]})
    with pytest.raises(dbdeid.SpecError, match="input of this spec"):
        dbdeid.run(given, con)


def test_values_that_the_hierarchy_does_not_know(con: Any) -> None:
    con.execute("UPDATE town SET sex = 'SECRET' WHERE age = 20")
    given = spec(K_MAP)
    given["columns"]["sex"] = {
        "role": "quasi_identifier",
        "hierarchy": {"groups": [{"any": ["f", "m"]}]},
    }
    with pytest.raises(dbdeid.HierarchyError) as refused:
        dbdeid.run(given, con)
    assert "population 'town': column 'sex': 1 of 3 values have no leaf" in str(refused.value)
    assert "SECRET" not in str(refused.value)


def test_a_public_report_names_no_population(made: Any) -> None:
    con, _, result = made
    record = con.execute("SELECT record FROM deid.releases").fetchone()
    from dbdeid.record.border import from_json
    from dbdeid.report.content.audience import public

    assert result.verified
    shown = json.dumps(public(from_json(json.loads(record[0]))).to_dict())
    assert "town" not in shown


# -- a real one --------------------------------------------------------------------------------


@pytest.mark.full
@pytest.mark.parametrize("kind", ["modelled", "synthetic"])
def test_a_state_around_its_census_records(shared: Path, kind: str) -> None:
    folder = shared / "data" / "population"
    population = str(folder / f"tn_{kind}_population.parquet")
    suppress = {"role": "quasi_identifier", "hierarchy": "suppress"}
    given = {
        "release": "tennessee",
        "source": str(folder / f"adult_tn_{kind}.parquet"),
        "columns": {
            "zip": {"role": "quasi_identifier", "hierarchy": {"prefix": [4, 3, 2, 1]}},
            "age": {"role": "quasi_identifier", "hierarchy": {"intervals": [5, 10, 20, 40]}},
            "race": suppress,
            "sex": suppress,
        },
        "privacy": [
            {"model": "k_map", "population": population, "k": 100},
            {"model": "delta_presence", "population": population, "max": 0.05},
        ],
        "method": {"name": "full_domain", "suppression_limit": 0.02},
    }
    with duckdb.connect() as con:
        result = dbdeid.run(given, con)
        assert result.search["proven_optimal"]
        width, length = (
            5 * 2 ** (result.transformation["age"] - 1),
            5 - result.transformation["zip"],
        )
        assert (result.transformation["race"], result.transformation["sex"]) == (0, 0)
        cell = f"age // {width} * {width} AS age, left(zip, {length}) AS zip, race, sex"
        classes = con.execute(f"""
          SELECT n, g FROM (
            SELECT split_part(age[2:], ',', 1)::INTEGER AS age, left(zip, {length}) AS zip, race,
              sex, count(*) AS n FROM tennessee GROUP BY ALL
          ) JOIN (
            SELECT {cell}, sum(people) AS g FROM '{population}' GROUP BY ALL
          ) USING (age, zip, race, sex)
        """).fetchall()
        verified = dbdeid.verify(given, con)
    assert len(classes) == result.classes
    assert verified.promises[0].found == min(g for _, g in classes) >= 100
    assert verified.promises[1].found["max"] == max(n / g for n, g in classes) <= 0.05
