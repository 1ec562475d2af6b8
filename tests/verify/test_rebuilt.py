"""The dictionary is built again from the hierarchies as declared: mutants of whoever writes all.

The forger of these tests changes release, dictionary, exports and the private book together, the
digests in it included, so that each agrees with the others.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import pytest
import zoo

import dbdeid
from dbdeid.engine.duckdb.session import Session
from dbdeid.verify import Content, Verification
from dbdeid.verify.files.content import content

REBUILT = {"hierarchies", "dictionary_rebuilt"}
JOBS = "nurse;health;*\ndoctor;health;*\nbaker;food;*\ncook;food;*\nmiller;food;*\n"
FLOORS = "1,low,*\n2,low,*\n3,high,*\n4,high,*\n11,high,*\n"
COLUMNS: dict[str, Any] = {
    "age": {"intervals": [10, 20], "lower": 0, "upper": 100},
    "mass": {"intervals": [0.5, 10], "origin": 0.25},
    "zip": {"prefix": [3, 1]},
    "sex": {"groups": [{"woman": ["f"], "man": ["m"]}]},
    "job": "jobs.csv",
    "floor": "floors.csv",
    "born": {"dates": ["month", "quarter", "decade"], "lower": "1950-01-15", "upper": "2010-01-01"},
    "seen": {"dates": ["week"]},
    "icd": {"shelf": "icd10"},
    "ward": {"table": "wards"},
    "state": "suppress",
}
PEOPLE = """
CREATE TABLE people AS SELECT
  i * 2 + twice AS number, i * 7 % 90 AS age, (i % 40) / 4 + 50 AS mass,
  lpad((1000 + i * 37 % 500)::VARCHAR, 5, '0') AS zip,
  CASE WHEN i % 5 = 0 THEN NULL WHEN i % 2 = 0 THEN 'f' ELSE 'm' END AS sex,
  ['nurse', 'doctor', 'baker', 'cook', 'miller'][1 + i % 5] AS job,
  [1, 2, 3, 11][1 + i % 4] AS floor,
  DATE '1945-06-01' + INTERVAL (i * 53) DAY AS born_at,
  TIMESTAMP '2024-02-20 10:00:00' + INTERVAL (i * 7) HOUR AS seen,
  ['A09.1', 'E11.9', 'I10', 'C50.9', 'E10.1'][1 + i % 5] AS icd,
  i % 3 AS ward, CASE WHEN i % 4 = 0 THEN 'TN' ELSE 'KY' END AS state
FROM range(150) AS t (i), range(2) AS u (twice);
CREATE TABLE wards AS SELECT * FROM (VALUES (0, 'a', 'x'), (1, 'a', 'x'), (2, 'b', 'x'))
  AS t (ward, wing, house);
ALTER TABLE people ALTER born_at TYPE DATE;
ALTER TABLE people RENAME born_at TO born;
"""


def spec(**more: Any) -> dict[str, Any]:
    columns: dict[str, Any] = {"number": "identifier"}
    for name, hierarchy in COLUMNS.items():
        columns[name] = {"role": "quasi_identifier", "hierarchy": hierarchy}
    columns["state"]["domain"] = ["TN", "KY", "VA"]
    return {
        "release": "people_public",
        "database": "owner.duckdb",
        "source": "people",
        "columns": columns,
        "privacy": [{"model": "k_anonymity", "k": 2}],
        "method": {"name": "local_recoding"},
        "output": {"export": ["out.parquet"], "bounds": True},
        "evaluate": {"metrics": []},
        **more,
    }


def full(level: int = 1, **levels: int) -> dict[str, Any]:
    """A transformation that puts every column on one level, but for some."""
    chosen = dict.fromkeys(COLUMNS, level) | levels
    method = {"name": "full_domain", "suppression_limit": 1.0, "transformation": chosen}
    return {"method": method}


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    zoo.fill(owned)
    return tmp_path


def owned() -> None:
    Path("jobs.csv").write_text(JOBS)
    Path("floors.csv").write_text(FLOORS)
    with duckdb.connect("owner.duckdb") as con:
        con.execute(PEOPLE)


def run(**more: Any) -> None:
    Path("out.yml").write_text(json.dumps(spec(**more)))
    dbdeid.run("out.yml")


def failed(found: Verification | None = None) -> dict[str, str]:
    found = found or dbdeid.verify("out.yml")
    wrong = {c.check: c.detail for c in found.hygiene if not c.holds}
    return wrong | {p.model: "" for p in found.promises if not p.holds}


def sorted_again(con: duckdb.DuckDBPyConnection, table: str) -> None:
    con.execute(f"CREATE OR REPLACE TABLE {table} AS FROM {table} ORDER BY ALL")


def forge(*statements: str, ordered: bool = True) -> None:
    """Change what is published and the private book, and make all of it agree."""
    tables = "people_public", "people_public_dictionary"
    with duckdb.connect("owner.duckdb") as con:
        for statement in statements:
            con.execute(statement)
        for table in tables if ordered else ():
            sorted_again(con, table)
        for table, file in zip(tables, ("out", "out_dictionary"), strict=True):
            target = f"TO '{file}.parquet' (FORMAT parquet, COMPRESSION zstd)"
            con.execute(f"COPY (FROM {table}) {target}")
        with Session.over(con, None, read_only=False) as session:
            digests: list[Content] = []
            for table in tables:
                relation = session.relation(table)
                found = content(session, relation, relation.columns)
                assert found is not None
                digests.append(found)
        (text,) = con.execute("SELECT record FROM deid.releases").fetchone() or ("",)
        record = json.loads(text)
        record["content"]["release"] = digests[0].one()
        record["content"]["dictionary"] = digests[1].one()
        con.execute("UPDATE deid.releases SET record = ?", [json.dumps(record)])
        for file in ("out.parquet", "out_dictionary.parquet"):
            written = hashlib.sha256(Path(file).read_bytes()).hexdigest()
            con.execute("UPDATE deid.files SET sha256 = ? WHERE path = ?", [written, file])


# -- what is honest -------------------------------------------------------------------------------


@pytest.mark.full
@pytest.mark.parametrize(
    "more",
    [
        {},
        full(0),
        full(2, sex=1, job=1, floor=1, seen=1, ward=1, state=1),
        full(
            2, sex=2, job=2, floor=2, seen=2, ward=2, state=1, mass=3, zip=3, icd=4, born=4, age=3
        ),
        {"method": {"name": "counterfeit", "h": 0.9, "max_counterfeits": 0.9, "catalog": "none"}},
        {"method": {"name": "relocation", "limit": 0.2}},
    ],
    ids=["local", "raw", "second", "top", "counterfeit", "relocation"],
)
def test_a_release_has_the_dictionary_that_its_hierarchies_give(
    place: Path, more: dict[str, Any]
) -> None:
    run(**more)
    found = dbdeid.verify("out.yml")
    assert failed(found) == {}
    assert {c.check for c in found.hygiene} >= REBUILT


def test_the_entries_are_those_that_were_counted_by_hand(copied: Path) -> None:
    """The judge of the judge: a few entries of each kind, worked out on paper."""
    with duckdb.connect("owner.duckdb", read_only=True) as con:
        rows = con.execute("FROM people_public_dictionary").fetchall()
    found = {(column, value): (*bounds, leaves) for column, value, _, *bounds, leaves in rows}
    assert found["age", "[20, 30)"] == ("20", "29", None)
    assert found["mass", "[50.25, 50.75)"] == ("50.25", "50.75", None)
    assert found["zip", "010**"] == (None, None, None)
    assert found["sex", None] == (None, None, None)
    assert found["job", "food"] == (None, None, ["baker", "cook", "miller"])
    assert found["floor", "high"] == ("3", "11", ["11", "3", "4"])
    assert found["born", "1950-01"] == ("1950-01-15", "1950-01-31", None)
    assert found["born", "< 1950-01-15"] == (None, "1950-01-14", None)
    assert found["seen", "2024-W08"] == ("2024-02-19 00:00:00", "2024-02-26 00:00:00", None)
    assert found["ward", "a"] == ("0", "1", ["0", "1"])
    assert found["state", "*"] == (None, None, ["KY", "TN", "VA"])


# -- what is forged -------------------------------------------------------------------------------

DICTIONARY, BOOK = "people_public_dictionary", "deid.hierarchies"
EVERYWHERE = (
    "UPDATE people_public SET {column} = '{new}' WHERE {column} = '{old}'",
    f"UPDATE {DICTIONARY} SET released_value = '{{new}}' "
    "WHERE \"column\" = '{column}' AND released_value = '{old}'",
    f"UPDATE {BOOK} SET label = '{{new}}' WHERE hierarchy = '{{column}}' AND label = '{{old}}'",
)


def relabelled(column: str, old: str, new: str) -> tuple[str, ...]:
    return tuple(text.format(column=column, old=old, new=new) for text in EVERYWHERE)


def swapped(column: str, one: str, other: str) -> tuple[str, ...]:
    return (
        *relabelled(column, one, "aside"),
        *relabelled(column, other, one),
        *relabelled(column, "aside", other),
    )


def listed(change: str, column: str, value: str) -> str:
    return (
        f"UPDATE {DICTIONARY} SET {change} "
        f"WHERE \"column\" = '{column}' AND released_value = '{value}'"
    )


def booked(change: str, column: str, label: str) -> str:
    return f"UPDATE {BOOK} SET {change} WHERE hierarchy = '{column}' AND label = '{label}'"


LEAF = "list_sort(list_append(leaves, 'John Smith HIV'))"
MUTANTS: dict[str, tuple[tuple[str, ...], set[str]]] = {
    # dictionary and book agree, and nothing but the rebuild tells
    "a leaf too many": (
        (
            listed(f"leaves = {LEAF}", "job", "food"),
            *(
                f"INSERT INTO {BOOK} SELECT * REPLACE ('John Smith HIV' AS value, label AS label) "
                f"FROM {BOOK} WHERE hierarchy = 'job' AND level = {level} AND value = 'cook'"
                for level in (0, 1, 2)
            ),
        ),
        REBUILT,
    ),
    "a leaf too many in the dictionary": (
        (listed(f"leaves = {LEAF}", "job", "food"),),
        {"dictionary_rebuilt"},
    ),
    "a leaf too few": ((listed("leaves = ['cook']", "job", "food"),), {"dictionary_rebuilt"}),
    "leaves of *": (
        (listed("leaves = list_append(leaves, 'John Smith')", "state", "*"),),
        {"dictionary_rebuilt"},
    ),
    "leaves gone": ((listed("leaves = NULL", "ward", "a"),), {"dictionary_rebuilt"}),
    "another leaf": ((listed("leaves = ['1', '7']", "ward", "a"),), {"dictionary_rebuilt"}),
    "a label, everywhere": (relabelled("job", "food", "health care"), REBUILT),
    "an interval, everywhere": (relabelled("age", "[20, 30)", "[20, 31)"), REBUILT),
    "two labels swapped, everywhere": (swapped("age", "[20, 30)", "[30, 40)"), REBUILT),
    "two prefixes swapped": (swapped("zip", "010**", "011**"), {"hierarchies"}),
    "two months swapped": (swapped("born", "1960-01", "1961-01"), REBUILT),
    "codes swapped": (swapped("icd", "E11", "I10"), {"hierarchies"}),
    "groups swapped": (swapped("ward", "a", "b"), REBUILT),
    "a lower bound": (
        (
            "UPDATE people_public SET age_lower = 19 WHERE age = '[20, 30)'",
            listed("lower = '19'", "age", "[20, 30)"),
            booked("lower = '19'", "age", "[20, 30)"),
        ),
        REBUILT,
    ),
    "an upper bound": (
        (
            "UPDATE people_public SET mass_upper = 51 WHERE mass = '[50.25, 50.75)'",
            listed("upper = '51.0'", "mass", "[50.25, 50.75)"),
            booked("upper = '51.0'", "mass", "[50.25, 50.75)"),
        ),
        REBUILT,
    ),
    # what other checks tell as well
    "a row removed": ((f"DELETE FROM {DICTIONARY} WHERE released_value = 'food'",), set()),
    "a row added": (
        (f"INSERT INTO {DICTIONARY} VALUES ('job', 'John Smith', 1, NULL, NULL, ['HIV'])",),
        {"dictionary_rebuilt"},
    ),
    "a row twice": (
        (
            f"INSERT INTO {DICTIONARY} SELECT * FROM {DICTIONARY} "
            "WHERE \"column\" = 'job' AND released_value = 'food'",
        ),
        {"dictionary_rebuilt"},
    ),
    "a level": ((listed("level = 2", "age", "[20, 30)"),), {"dictionary_rebuilt"}),
    "a column": ((listed("\"column\" = 'zip'", "job", "food"),), {"dictionary_rebuilt"}),
    "a foreign column": ((listed("\"column\" = 'John'", "job", "food"),), {"dictionary_rebuilt"}),
    "a value": ((listed("released_value = 'fool'", "job", "food"),), {"dictionary_rebuilt"}),
    "a row of the book removed": ((f"DELETE FROM {BOOK} WHERE value = 'VA'",), {"hierarchies"}),
    "a value of the book": (
        (f"UPDATE {BOOK} SET value = 'John' WHERE hierarchy = 'state' AND value = 'VA'",),
        {"hierarchies"},
    ),
    "a level of the book": (
        (f"UPDATE {BOOK} SET level = level + 1 WHERE hierarchy = 'icd'",),
        {"hierarchies"},
    ),
}
ONLY_REBUILT = list(MUTANTS)[: list(MUTANTS).index("a row removed")]


@pytest.fixture(scope="module")
def honest(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a release that was made once."""
    folder = tmp_path_factory.mktemp("honest")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        owned()
        run(**full(1))
        assert failed() == {}
        forge()  # nothing: the forger's own work is not noticed
        assert failed() == {}
    return folder


@pytest.fixture
def copied(honest: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    import shutil

    folder = Path(shutil.copytree(honest, tmp_path / "copied"))
    monkeypatch.chdir(folder)
    return folder


@pytest.mark.sampled(38)
@pytest.mark.parametrize("mutant", MUTANTS)
def test_a_forged_dictionary_is_caught_though_the_book_agrees(copied: Path, mutant: str) -> None:
    statements, told = MUTANTS[mutant]
    forge(*statements)
    wrong = failed()
    assert wrong
    assert told <= set(wrong)
    if mutant in ONLY_REBUILT:
        assert set(wrong) <= REBUILT, wrong
    assert "John" not in json.dumps(wrong)


@pytest.mark.full
def test_two_rows_exchanged_are_caught(copied: Path) -> None:
    forge(
        f"CREATE OR REPLACE TABLE {DICTIONARY} AS FROM {DICTIONARY} ORDER BY rowid % 2, rowid",
        ordered=False,
    )
    assert "order" in failed()


@pytest.mark.full
def test_bounds_of_everything_are_caught(place: Path) -> None:
    run(**full(1, age=3))
    assert failed() == {}
    before = "0", "99"
    with duckdb.connect("owner.duckdb", read_only=True) as con:
        query = f"SELECT lower, upper FROM {DICTIONARY} WHERE \"column\" = 'age'"
        assert con.execute(query).fetchall() == [before]
    forge(
        "UPDATE people_public SET age_lower = 40, age_upper = 50",
        listed("lower = '40', upper = '50'", "age", "*"),
        booked("lower = '40', upper = '50'", "age", "*"),
    )
    assert set(failed()) == REBUILT


@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    ("change", "column"),
    [
        (lambda: Path("jobs.csv").write_text(JOBS.replace("cook;food", "cook;health")), "job"),
        (lambda: Path("floors.csv").write_text(FLOORS + "12,high,*\n"), "floor"),
    ],
)
def test_a_hierarchy_file_that_has_changed_is_told_as_such(
    copied: Path, change: Callable[[], Any], column: str
) -> None:
    change()
    wrong = failed()
    assert set(wrong) == REBUILT
    for detail in wrong.values():
        assert f"the hierarchy file {column}s.csv has changed since the run" in detail
        assert f"{column!r}: " in detail


def test_a_hierarchy_table_that_has_changed_is_told_as_such(copied: Path) -> None:
    with duckdb.connect("owner.duckdb") as con:
        con.execute("UPDATE wards SET wing = 'b'")
    assert "the hierarchy table wards has changed since the run" in failed()["hierarchies"]


def test_a_file_that_is_written_otherwise_and_says_the_same_is_no_change(copied: Path) -> None:
    Path("jobs.csv").write_text("\n".join(reversed(JOBS.replace(";", ",").splitlines())) + "\n")
    assert failed() == {}


def test_a_file_that_is_gone_is_told(copied: Path) -> None:
    Path("jobs.csv").unlink()
    found = failed()
    assert set(found) == {"hierarchies"}
    assert "jobs.csv" in found["hierarchies"]


@pytest.mark.full
def test_a_local_release_is_caught_as_well(place: Path) -> None:
    run(privacy=[{"model": "k_anonymity", "k": 9}])
    assert failed() == {}
    with duckdb.connect("owner.duckdb", read_only=True) as con:
        query = f"SELECT released_value FROM {DICTIONARY} WHERE \"column\" = 'job' ORDER BY level"
        values = [value for (value,) in con.execute(query).fetchall()]
    forge(listed(f"leaves = {LEAF}", "job", values[-1]))
    assert failed() == {"dictionary_rebuilt": "not as declared: 'job': 1 leaves"}


SENSITIVE = {"role": "sensitive", "accept": "homogeneity"}


def test_the_hierarchy_of_a_sensitive_column_is_built_again_too(place: Path) -> None:
    columns = dict.fromkeys(COLUMNS, "drop") | {"number": "identifier"}
    columns |= {"age": spec()["columns"]["age"], "job": {**SENSITIVE, "hierarchy": "jobs.csv"}}
    closeness = {"model": "t_closeness", "column": "job", "t": 1.0, "distance": "hierarchical"}
    run(
        columns=columns,
        method={"name": "full_domain", "transformation": {"age": 1}},
        privacy=[{"model": "k_anonymity", "k": 2}, closeness],
    )
    assert failed() == {}
    forge(booked("label = 'health'", "job", "food"))
    assert failed() == {"hierarchies": "not as declared: 'job': 3 labels"}
