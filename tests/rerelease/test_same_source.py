"""The same records in other tables and files are known again, and strangers are not."""

from __future__ import annotations

import random
import shutil
from pathlib import Path
from typing import Any

import duckdb
import pytest
import tiers
from patients import EVERYTHING, Patient, fill, spec

import dbdeid
from dbdeid.rerelease.same_source import agree


def some(number: int, seed: int, start: int = 0, step: int = 1) -> list[Patient]:
    draw = random.Random(seed)
    return [
        (
            start + step * i,
            draw.randrange(EVERYTHING),
            draw.randrange(EVERYTHING),
            draw.choice(("asthma", "flu", "fracture")),
        )
        for i in range(number)
    ]


def released(folder: Path, name: str, source: object, **more: Any) -> list[dict[str, Any]]:
    """What is found when a source is released under this name."""
    asked = spec((2, 2), 5) | {
        "release": name,
        "database": str(folder / "hospital.duckdb"),
        "source": source,
    }
    return [dict(f) for f in dbdeid.run(asked | more).rerelease]


@pytest.fixture(scope="module")
def hospital(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Its patients were released once."""
    folder = tmp_path_factory.mktemp("hospital")
    with duckdb.connect(str(folder / "hospital.duckdb")) as con:
        fill(con, some(400, 1))
    assert released(folder, "first", "patients") == []
    return folder


@pytest.fixture
def folder(hospital: Path, tmp_path: Path) -> Path:
    """The hospital, in a folder of its own."""
    shutil.copytree(hospital, tmp_path, dirs_exist_ok=True)
    return tmp_path


def change(folder: Path, *statements: str) -> None:
    with duckdb.connect(str(folder / "hospital.duckdb")) as con:
        for statement in statements:
            con.execute(statement)


SAME = {
    "view of a view": "CREATE VIEW v AS FROM patients; CREATE VIEW other AS FROM v WHERE age < 6",
    "part": "CREATE TABLE other AS FROM patients WHERE number % 4 = 0",
    "shuffled, of other types": "CREATE TABLE other AS SELECT illness, zip::BIGINT AS zip, "
    "age::SMALLINT AS age, number::VARCHAR AS number FROM patients ORDER BY hash(number)",
    "newer": "CREATE TABLE other AS FROM patients WHERE number > 40 UNION ALL "
    "SELECT number + 400, age, zip, illness FROM patients WHERE number < 90",
    "corrected": "CREATE TABLE other AS SELECT number, CASE WHEN number % 5 = 0 THEN 7 - age "
    "ELSE age END AS age, zip, illness FROM patients",
}


@pytest.mark.sampled(5)
@pytest.mark.parametrize("how", SAME)
def test_the_same_records_of_another_name_are_compared(folder: Path, how: str) -> None:
    change(folder, *SAME[how].split("; "))
    (found,) = released(folder, "second", "other")
    assert (found["release"], found["compared"]) == ("first", True)
    assert found["shared"] > 0
    # a view is the same source; what only holds the same says how much of it
    if "view" in how:
        assert (found["source"], found["records"]) == ("", 0)
    else:
        assert (found["source"], found["records"]) == ("patients", found["shared"])


@pytest.mark.full
@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_a_file_of_the_table_is_compared_with_it(folder: Path, ending: str) -> None:
    change(folder, f"COPY patients TO '{folder}/other.{ending}'")
    (found,) = released(folder, "second", str(folder / f"other.{ending}"))
    assert (found["source"], found["records"]) == ("patients", found["shared"])
    if tiers.full:
        query = {"sql": f"SELECT * FROM '{folder}/other.{ending}' WHERE age < 7", "name": "rows"}
        assert len(released(folder, "third", query)) == 2


@pytest.mark.full
def test_columns_of_other_names_hold_the_same_records(folder: Path) -> None:
    change(
        folder,
        "CREATE TABLE other AS SELECT number AS nr, age AS years, zip AS place, illness "
        "FROM patients",
    )
    column = spec((2, 2))["columns"]["age"]
    named = {"nr": "identifier", "years": column, "place": column, "illness": "drop"}
    method = {"name": "full_domain", "transformation": {"years": 2, "place": 2}}
    (found,) = released(folder, "second", "other", columns=named, method=method)
    assert found["records"] == 400


def test_what_a_copy_and_its_table_tell_together_is_refused(folder: Path) -> None:
    ten = "SELECT 1000 + i, i % 8, i * 3 % 8, 'flu' FROM range(10) AS r(i)"
    change(folder, "CREATE TABLE other AS FROM patients", f"INSERT INTO other {ten}")
    with pytest.raises(dbdeid.Unsatisfiable) as refused:
        released(folder, "second", "other", rerelease="strict")
    assert "which has 400 records of this source in patients" in str(refused.value)
    with duckdb.connect(str(folder / "hospital.duckdb"), read_only=True) as con:
        assert not con.execute("FROM duckdb_tables() WHERE table_name = 'second'").fetchall()


def test_strangers_with_the_same_numbers_are_not_taken_for_them(folder: Path) -> None:
    with duckdb.connect(str(folder / "hospital.duckdb")) as con:
        con.execute("CREATE TEMP TABLE kept AS FROM patients")
        fill(con, some(400, 2))
        con.execute("CREATE TABLE staff AS FROM patients")
        con.execute("ALTER TABLE staff ALTER number TYPE VARCHAR")  # numbers as text, too
        con.execute("CREATE OR REPLACE TABLE patients AS FROM kept")
    assert released(folder, "second", "staff") == []


@pytest.mark.full
def test_numbers_that_are_not_serial_tell_who_it_is_alone(tmp_path: Path) -> None:
    """As those of an insurance do: whatever else the two tables hold, people are the same."""
    with duckdb.connect(str(tmp_path / "hospital.duckdb")) as con:
        fill(con, some(100, 2, start=71, step=9_973))
        con.execute("CREATE TABLE staff AS FROM patients")
        fill(con, some(100, 1, start=71, step=9_973))
    assert released(tmp_path, "first", "patients") == []
    (found,) = released(tmp_path, "second", "staff")
    assert found["records"] == 100
    if tiers.full:  # strangers have other numbers, or all but a few
        change(tmp_path, "UPDATE staff SET number = number + 1 WHERE number > 30000")
        assert released(tmp_path, "third", "staff")[-1]["release"] != "first"


def test_tables_without_identifiers_are_known_by_most_of_their_rows(tmp_path: Path) -> None:
    nameless = spec((2, 2), 5)["columns"]
    del nameless["number"]
    with duckdb.connect(str(tmp_path / "hospital.duckdb")) as con:
        fill(con, some(400, 1))
        con.execute("ALTER TABLE patients DROP number")
        con.execute("CREATE TABLE part AS FROM patients WHERE age < 4")
        con.execute("CREATE TABLE strangers AS SELECT age + 8 AS age, zip, illness FROM patients")
        con.execute("INSERT INTO strangers FROM patients WHERE age = 0")
    wide = {"role": "quasi_identifier", "hierarchy": {"intervals": [2, 4], "lower": 0, "upper": 16}}
    nameless = nameless | {"age": wide}
    assert released(tmp_path, "first", "patients", columns=nameless) == []
    (found,) = released(tmp_path, "second", "part", columns=nameless)
    assert found["source"] == "patients"
    others = released(tmp_path, "third", "strangers", columns=nameless)
    assert "first" not in [f["release"] for f in others]


def test_what_cannot_be_decided_counts_as_the_same() -> None:
    rows = {str(i): [i % 3, 5] for i in range(40)}
    assert agree(rows, rows)
    assert agree({}, rows)  # nothing in common to look at
    assert agree({k: [5] for k in rows}, {k: [5] for k in rows})  # and nothing to tell by
    other = {str(i): [(i * 7 + i // 3) % 3, 5] for i in range(40)}
    assert not agree(rows, other)


def insured(folder: Path, *statements: str) -> None:
    """Patients with two identifiers, neither of which only numbers them."""
    with duckdb.connect(str(folder / "hospital.duckdb")) as con:
        fill(con, some(400, 1, start=71, step=9_973))
        con.execute("ALTER TABLE patients ADD card VARCHAR")
        con.execute("UPDATE patients SET card = 'c' || (number * 31 + 5)")
        for statement in statements:
            con.execute(statement)


CARD = {"card": "identifier"}
LACKING: dict[str, tuple[str, str]] = {
    "one of them": ("SELECT * EXCLUDE (card)", "number"),
    "the other one": ("SELECT * EXCLUDE (number)", "card"),
    "part, renamed": ("SELECT * EXCLUDE (number, card), card AS nr", "nr"),
}


@pytest.mark.full
@pytest.mark.parametrize("how", LACKING)
def test_a_copy_that_lacks_an_identifier_is_recognised(tmp_path: Path, how: str) -> None:
    rows, left = LACKING[how]
    insured(tmp_path, f"CREATE TABLE other AS {rows} FROM patients")
    columns = spec((2, 2), 5)["columns"]
    assert released(tmp_path, "first", "patients", columns=columns | CARD) == []
    fewer = {name: role for name, role in columns.items() if name != "number"}
    asked = {"columns": fewer | {left: "identifier"}}
    (found,) = released(tmp_path, "second", "other", **asked)
    assert (found["release"], found["source"], found["compared"]) == ("first", "patients", False)
    assert "identifiers that this one has not" in found["reason"]
    with pytest.raises(dbdeid.Unsatisfiable):
        released(tmp_path, "third", "other", rerelease="strict", **asked)
    if tiers.full:  # and the other way round: what was released first may have fewer
        other_way = released(tmp_path, "fourth", "patients", columns=columns | CARD)
        assert other_way[0]["release"] == "second"


@pytest.mark.full
def test_strangers_with_one_identifier_of_two_are_not_taken_for_them(tmp_path: Path) -> None:
    insured(tmp_path, "CREATE TABLE other AS SELECT * REPLACE (number + 1 AS number) FROM patients")
    columns = spec((2, 2), 5)["columns"]
    assert released(tmp_path, "first", "patients", columns=columns | CARD) == []
    change(tmp_path, "ALTER TABLE other DROP card")
    assert released(tmp_path, "second", "other", columns=columns) == []


@pytest.mark.full
def test_an_identifier_renamed_in_case_tells_records_apart_alike(folder: Path) -> None:
    change(
        folder,
        "ALTER TABLE patients RENAME number TO tmp",
        "ALTER TABLE patients RENAME tmp TO NUMBER",
    )
    asked = spec((2, 1), 5)["columns"]
    columns = {name.replace("number", "NUMBER"): role for name, role in asked.items()}
    assert released(folder, "second", "patients", columns=columns)[0]["compared"]
    work = spec((2, 2), 5) | {
        "release": "third",
        "database": str(folder / "hospital.duckdb"),
        "target": str(folder / "third.duckdb"),
        "source": "patients",
    }
    together = dbdeid.run(work | {"columns": columns}).together
    assert together is not None
    assert together["ways"] == 1
