"""Which changes make a release modified, and which do not."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import pytest
from folders import PATIENTS, PROJECT, lay_out, write

import dbdeid

AGES = "".join(f"{age};{age // 40 * 40}\n" for age in range(20, 80, 10))
SPEC: dict[str, Any] = {
    "columns": {
        "name": "identifier",
        "age": {"role": "quasi_identifier", "hierarchy": "hierarchies/age.csv"},
        "ward": {"role": "quasi_identifier", "hierarchy": {"table": "wards"}},
        "illness": {"role": "sensitive", "accept": "homogeneity"},
    },
    "privacy": [
        {"model": "k_anonymity", "k": 3},
        {"model": "k_map", "k": 3, "population": "census.csv"},
    ],
    "evaluate": {"queries": "queries/*.sql", "metrics": ["loss"]},
    "tags": ["weekly"],
}
TABLES = f"""
{PATIENTS};
CREATE TABLE wards AS SELECT 'ward ' || i AS ward, 'all' AS house FROM range(3) AS r(i);
"""


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project that has run; each test leaves it as it was."""
    folder = tmp_path_factory.mktemp("project")
    (folder / "hierarchies").mkdir()
    (folder / "hierarchies" / "age.csv").write_text(AGES)
    (folder / "queries").mkdir()
    (folder / "queries" / "q.sql").write_text("SELECT count(*) AS n FROM patients WHERE age < 40")
    people = [f"{20 + 10 * (i % 6)},ward {i % 3},9" for i in range(18)]
    (folder / "census.csv").write_text("\n".join(["age,ward,people", *people, ""]))
    lay_out(folder, {"a": SPEC}, tables=TABLES)
    made = dbdeid.project(folder).run()
    assert made.exit_code == 0, made.to_dict()
    return folder


def modified(folder: Path) -> bool:
    return [r.name for r in dbdeid.project(folder).select("state:modified")] == ["a"]


def in_database(sql: str) -> Callable[[Path], None]:
    def change(folder: Path) -> None:
        with duckdb.connect(str(folder / "owner.duckdb")) as con:
            con.execute(sql)

    return change


def in_file(name: str, text: str) -> Callable[[Path], None]:
    def change(folder: Path) -> None:
        (folder / name).write_text(text)

    return change


def in_spec(**changes: Any) -> Callable[[Path], None]:
    def change(folder: Path) -> None:
        write(folder, "a", **{**SPEC, **changes})

    return change


def in_project(**defaults: Any) -> Callable[[Path], None]:
    return in_file("dbdeid.yml", json.dumps({**PROJECT, "defaults": defaults}))


def removed(name: str) -> Callable[[Path], None]:
    def change(folder: Path) -> None:
        (folder / name).rename(folder / "elsewhere")

    return change


CHANGES = {
    "nothing": (lambda folder: None, False),
    "a row more": (in_database("INSERT INTO patients SELECT * FROM patients LIMIT 1"), True),
    "a row less": (in_database("DELETE FROM patients WHERE name = 'patient 7'"), True),
    "a cell": (in_database("UPDATE patients SET illness = 'flu' WHERE name = 'patient 0'"), True),
    "a withheld cell": (in_database("UPDATE patients SET name = 'x' WHERE age = 20"), True),
    "two rows that are swapped": (
        in_database(
            "CREATE OR REPLACE TABLE patients AS FROM patients ORDER BY hash(name)"
        ),
        False,
    ),
    "another table": (in_database("CREATE TABLE other AS FROM patients"), False),
    "a label in the database": (in_database("UPDATE wards SET house = 'any'"), True),
    "a label in a file": (in_file("hierarchies/age.csv", AGES.replace(";40", ";old")), True),
    "a population": (in_file("census.csv", "age,ward,people\n20,ward 0,100\n"), True),
    "a query": (in_file("queries/q.sql", "SELECT count(*) AS n FROM patients"), True),
    "a query more": (in_file("queries/r.sql", "SELECT count(*) AS n FROM patients"), True),
    "k": (in_spec(privacy=[{"model": "k_anonymity", "k": 4}]), True),
    "what is expected": (in_spec(expect={"loss": "< 1"}), True),
    "only a tag": (in_spec(tags=["daily"]), False),
    "a comment": (
        lambda folder: (folder / "releases" / "a.yml").write_text(
            "# said\n" + (folder / "releases" / "a.yml").read_text()
        ),
        False,
    ),
    "a default that it has itself": (
        in_project(method="full_domain"),
        False,
    ),
    "a default that it has not": (
        in_project(null_policy="exclude"),
        True,
    ),
    "its source is gone": (in_database("DROP TABLE patients"), True),
    "a hierarchy is gone": (removed("hierarchies/age.csv"), True),
    "the release is gone": (removed("out/a.duckdb"), True),
    "its book is gone": (removed("private/a.private.duckdb"), True),
}  # fmt: skip


@pytest.mark.sampled(6)
@pytest.mark.parametrize("what", CHANGES)
def test_what_counts_as_modified(what: str, home: Path) -> None:
    change, wanted = CHANGES[what]
    before = {p: p.read_bytes() for p in home.rglob("*") if p.is_file()}
    try:
        change(home)
        assert modified(home) == wanted
    finally:
        for path in [p for p in home.rglob("*") if p.is_file()]:
            path.unlink()
        for path, content in before.items():
            path.write_bytes(content)
    assert not modified(home)


def test_a_run_by_an_earlier_version_counts_as_modified(home: Path) -> None:
    book = home / "private" / "a.private.duckdb"
    before = book.read_bytes()
    with duckdb.connect(str(book)) as con:
        ((text,),) = con.execute("SELECT record FROM deid.releases").fetchall()
        record = json.loads(text)
        del record["fingerprints"]
        con.execute("UPDATE deid.releases SET record = ?", [json.dumps(record)])
    assert modified(home)
    book.write_bytes(before)


def test_what_was_never_run_is_modified(tmp_path: Path) -> None:
    assert modified(lay_out(tmp_path, {"a": {}}))
