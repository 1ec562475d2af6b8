"""The examples of macros and functions that the reference shows run, and give what they say."""

from __future__ import annotations

from pathlib import Path

import duckdb
import pytest
from dbdeid.udfs.functions import FUNCTIONS

from dbdeid.engine.duckdb.macros import MACROS
from dbdeid.install import register_udfs

TABLES = """
CREATE TABLE visits(age INTEGER, sex VARCHAR, diagnosis VARCHAR);
INSERT INTO visits VALUES (20, 'F', 'flu'), (23, 'F', 'flu'), (37, 'M', 'burn'), (52, 'M', 'flu');
CREATE TABLE released AS
SELECT deid.generalize(age, 'age', 1) AS age, sex, diagnosis FROM visits;
CREATE TABLE true_answer AS SELECT sex, count(*) AS n FROM visits GROUP BY sex;
CREATE TABLE answer AS FROM true_answer;
"""
LOADING = next(macro for macro in MACROS if macro.name == "read_hierarchy")


@pytest.fixture
def con(
    con: duckdb.DuckDBPyConnection, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> duckdb.DuckDBPyConnection:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("DBDEID_PSEUDONYM_KEY", "0123456789abcdef" * 4)
    rows = ["20;[20, 40);*", "23;[20, 40);*", "37;[20, 40);*", "52;[40, 60);*"]
    (tmp_path / "age.csv").write_text("\n".join(rows) + "\n")
    con.execute(LOADING.example)
    con.execute(TABLES)
    register_udfs(con)
    return con


def given(statement: str, con: duckdb.DuckDBPyConnection) -> list[tuple[object, ...]]:
    return con.execute(statement).fetchall()


@pytest.mark.full
def test_each_macro_does_what_its_example_says(con: duckdb.DuckDBPyConnection) -> None:
    for macro in {macro.name: macro for macro in MACROS}.values():
        assert f"{macro.name}" in macro.example
        statement, _, result = macro.example.partition("  -- ")
        if macro is LOADING:
            continue
        found = given(statement, con)
        assert found, macro.name
        assert bool(result) == (statement.startswith("SELECT")), macro.name
        if result:
            assert [tuple(map(str, row)) for row in found] == [(result,)], macro.name


def test_each_function_gives_what_its_twin_gives(con: duckdb.DuckDBPyConnection) -> None:
    results = {m.name: m.example.partition("  -- ")[2] for m in MACROS}
    for function in FUNCTIONS:
        ((found,),) = given(f"SELECT {function.example}", con)
        assert found is not None, function.name
        name = function.name.removeprefix("deid_").replace("loss", "label_loss")
        assert results.get(name, str(found)) == str(found), function.name
