"""dbdeid from Python: on a file, in memory, with and without target; the caller's connection."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import duckdb
import pytest
from specs import PEOPLE, small, unmeasured

import dbdeid
from dbdeid.install import register_udfs


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    with duckdb.connect("owner.duckdb") as con:
        con.execute(PEOPLE)
    return tmp_path


def state(con: duckdb.DuckDBPyConnection) -> list[Any]:
    return [
        con.sql(query).fetchall()
        for query in (
            "SELECT current_database(), current_schema(), current_setting('search_path')",
            "SELECT database_name FROM duckdb_databases() ORDER BY ALL",
            "SELECT name, value FROM duckdb_settings() WHERE name IN ('threads', 'memory_limit')",
            "SELECT table_name FROM duckdb_tables() WHERE temporary",
        )
    ]


TYPES = ("Evaluated", "OpenRelease", "Result", "RunResult", "Verified")
SETTINGS: dict[str, tuple[str, dict[str, Any]]] = {
    "file": ("owner.duckdb", {}),
    "file with target": ("owner.duckdb", {"target": "out.duckdb"}),
    "file named in the spec": ("owner.duckdb", {"database": "owner.duckdb"}),
    "in memory": (":memory:", {}),
    "in memory with target": (":memory:", {"target": "out.duckdb"}),
    "elsewhere": (":memory:", {"database": "owner.duckdb"}),
    "elsewhere with target": (":memory:", {"database": "owner.duckdb", "target": "out.duckdb"}),
}


@pytest.mark.sampled(9)
@pytest.mark.parametrize(
    ("setting", "form"),
    [*((setting, "dict") for setting in SETTINGS), ("file", "path"), ("in memory", "text")],
)
def test_a_release_on_a_connection(setting: str, form: str) -> None:
    file, more = SETTINGS[setting]
    spec: Any = small(**more, evaluate={"metrics": ["loss"]})
    if form == "path":
        Path("spec.yml").write_text(json.dumps(spec))
        spec = "spec.yml"
    elif form == "text":
        spec = json.dumps(spec)
    with duckdb.connect(file) as con:
        if file == ":memory:" and "database" not in more:
            con.execute(PEOPLE)
        con.execute("CREATE TEMP TABLE mine AS SELECT 1 AS a")
        before = state(con)
        assert dbdeid.check(spec, con)["source_rows"] == 200
        assert state(con) == before
        for _ in range(2):
            result = dbdeid.run(spec, con)
            frame = result.to_df()
            assert len(frame) == result.released_rows
            assert list(frame.columns) == ["age", "zip", "sex", "illness"]
        assert 0 < result.loss < 1
        assert result.transformation.keys() == {"age", "zip", "sex"}
        assert dbdeid.verify(spec, con).verified
        assert dbdeid.evaluate(spec, con)["metrics"]["loss"] == pytest.approx(result.loss)
        assert state(con) == before
        assert con.execute("FROM mine").fetchall() == [(1,)]
        if "target" not in more and "database" not in more:
            sizes = f"SELECT count(*) FROM {result.table} GROUP BY age, zip, sex"
            assert min(n for (n,) in con.execute(sizes).fetchall()) == result.smallest_class


@pytest.mark.full
def test_without_a_connection_a_release_stays_in_memory(place: Path) -> None:
    with duckdb.connect("owner.duckdb") as con:
        con.execute("COPY people TO 'people.parquet'")
    result = dbdeid.run(unmeasured(source="people.parquet"))
    assert result.verified
    with duckdb.connect() as con:
        dbdeid.run(unmeasured(source="people.parquet"), con)
        written = con.execute(f"FROM {result.table}").df()
    for _ in range(2):  # after its session has ended
        assert result.to_df().equals(written)
    assert {p.name for p in place.iterdir()} == {"owner.duckdb", "people.parquet"}


def test_a_view_needs_a_database_that_stays() -> None:
    with duckdb.connect("owner.duckdb") as con:
        con.execute("COPY people TO 'people.parquet'")
    with pytest.raises(dbdeid.DataError, match="a view needs a database that stays"):
        dbdeid.run(unmeasured(source="people.parquet", output={"as": "view"}))


@pytest.mark.full
def test_the_current_database_of_the_caller_is_the_owners() -> None:
    with duckdb.connect("owner.duckdb") as con:
        con.execute("ATTACH ':memory:' AS other; USE other")
        con.execute(PEOPLE.replace("range(200)", "range(100)"))
        assert dbdeid.run(unmeasured(), con).source_rows == 100
        assert con.execute("SELECT count(*) FROM other.people_public").fetchone()


def test_a_failed_run_leaves_the_connection_usable() -> None:
    with duckdb.connect() as con:
        con.execute(PEOPLE)
        before = state(con)
        with pytest.raises(dbdeid.Unsatisfiable):
            dbdeid.run(unmeasured(privacy=[{"model": "k_anonymity", "k": 201}]), con)
        spec = unmeasured()
        del spec["columns"]["name"]
        with pytest.raises(dbdeid.SpecError, match="has no role"):
            dbdeid.run(spec, con)
        assert state(con) == before
        assert con.execute("SHOW TABLES").fetchall() == [("people",)]


def test_a_read_only_connection_is_told_so(place: Path) -> None:
    with duckdb.connect("owner.duckdb", read_only=True) as con:
        for more in ({}, {"target": "out.duckdb"}):
            assert dbdeid.check(unmeasured(**more), con)["source_rows"] == 200
            with pytest.raises(dbdeid.DataError, match="read-only"):
                dbdeid.run(unmeasured(**more), con)
        with pytest.raises(dbdeid.DataError, match="read-only"):
            dbdeid.install(con)
        assert con.sql("SELECT count(*) FROM people").fetchall() == [(200,)]
        register_udfs(con)  # as the hint tells
        assert con.sql("SELECT deid_overlap('[0, 10)', 0, 5)").fetchall() == [(0.5,)]
    assert [p.name for p in place.iterdir()] == ["owner.duckdb"]


@pytest.mark.full
def test_a_published_release_is_not_installed_in(place: Path) -> None:
    dbdeid.run(unmeasured(database="owner.duckdb", target="out.duckdb"))
    before = Path("out.duckdb").read_bytes()
    with duckdb.connect("out.duckdb") as con:
        with pytest.raises(dbdeid.DataError, match="a published release is not changed"):
            dbdeid.install(con)
        assert con.sql("SELECT 1").fetchall() == [(1,)]
    assert Path("out.duckdb").read_bytes() == before


@pytest.mark.parametrize("given", [str, Path])
def test_a_database_is_given_as_text_or_as_a_path(given: Any) -> None:
    spec = small(target="out.duckdb", evaluate={"metrics": ["loss"]})
    database = given("owner.duckdb")
    assert dbdeid.check(spec, database=database)["source_rows"] == 200
    made = dbdeid.run(spec, database=database)
    assert made.verified
    assert dbdeid.verify(spec, database=database).verified
    assert Path("out.duckdb").is_file()


def test_errors_have_one_root() -> None:
    names = [name for name in dbdeid.__all__ if name[0].isupper()]
    names = [name for name in names if name not in TYPES]
    assert len(names) == 9
    assert all(issubclass(getattr(dbdeid, name), dbdeid.DbdeidError) for name in names)
