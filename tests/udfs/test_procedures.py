"""A whole release from SQL, and errors that arrive as errors of DuckDB without a cell."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb
import pytest
from specs import PEOPLE, small, unmeasured

import dbdeid


@pytest.fixture
def con(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[duckdb.DuckDBPyConnection]:
    monkeypatch.chdir(tmp_path)
    with duckdb.connect("owner.duckdb") as connection:
        connection.execute(PEOPLE)
        dbdeid.install(connection)
        yield connection


def call(con: duckdb.DuckDBPyConnection, name: str, spec: str | None) -> Any:
    row = con.execute(f"SELECT {name}(?)", [spec]).fetchone()
    assert row is not None
    return row[0] if row[0] is None else json.loads(row[0])


YAML = """
release: people_public
source: people
columns:
  name: identifier
  age: {role: quasi_identifier, hierarchy: {intervals: [10, 20]}}
  zip: {role: quasi_identifier, hierarchy: {prefix: [3, 1]}}
  sex: {role: quasi_identifier, hierarchy: suppress}
  illness: {role: sensitive, accept: homogeneity}
privacy: [{model: k_anonymity, k: 2}]
method: {name: full_domain, suppression_limit: 0.1}
"""


@pytest.mark.sampled(6)
@pytest.mark.parametrize("target", [None, "out.duckdb"])
@pytest.mark.parametrize("form", ["path", "yaml", "json"])
def test_a_release_from_sql(con: duckdb.DuckDBPyConnection, form: str, target: str | None) -> None:
    spec = YAML + (f"target: {target}\n" if target else "")
    if form == "json":
        spec = json.dumps(small(**({"target": target} if target else {})))
    if form == "path":
        Path("spec.yml").write_text(spec)
        spec = "spec.yml"
    assert call(con, "deid_check", spec)["source_rows"] == 200
    for _ in range(2):
        assert call(con, "deid_run", spec)["verified"] is True
    assert call(con, "deid_verify", spec)["verified"] is True
    assert call(con, "deid_evaluate", spec)["metrics"]["loss"] > 0
    if target is None:
        assert con.execute("SELECT count(*) > 0 FROM people_public").fetchall() == [(True,)]
    databases = [row[0] for row in con.execute("SHOW DATABASES").fetchall()]
    assert databases == ["owner"]


@pytest.mark.full
def test_many_runs_inside_queries_do_not_lock_up(con: duckdb.DuckDBPyConnection) -> None:
    made = con.execute(
        "SELECT deid_run(spec) FROM (VALUES (?), (?)) AS v(spec)",
        [json.dumps(unmeasured(release=n, target=f"{n}.duckdb")) for n in ("a", "b")],
    ).fetchall()
    assert sorted(json.loads(text)["release"] for (text,) in made) == ["a", "b"]


def test_null_is_null(con: duckdb.DuckDBPyConnection) -> None:
    assert call(con, "deid_run", None) is None


@pytest.mark.parametrize(
    ("spec", "said"),
    [
        ("missing.yml", "missing.yml"),
        ("release: x", "privacy"),
        (YAML.replace("k: 2", "k: 201"), "201"),
        (
            YAML.replace("source: people", "source: {sql: 'SELECT name::INT AS name FROM people'}"),
            "",
        ),
    ],
)
def test_errors_carry_our_words_and_no_cell(
    con: duckdb.DuckDBPyConnection, spec: str, said: str
) -> None:
    with pytest.raises(duckdb.Error) as told:
        call(con, "deid_run", spec)
    assert said in str(told.value)
    assert "person 1" not in str(told.value)
    assert con.execute("SELECT count(*) FROM people").fetchone() == (200,)
