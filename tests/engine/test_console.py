"""Scripts of SQL on a published release, which others may have made."""

from __future__ import annotations

from pathlib import Path

import duckdb
import pytest
from typer.testing import CliRunner

from dbdeid.cli.app import app
from dbdeid.engine.duckdb import macros
from dbdeid.engine.duckdb.console import is_release, run_script
from dbdeid.engine.session import Settings
from dbdeid.errors import DataError


def release(folder: Path, *more: str) -> Path:
    path = folder / "ward.duckdb"
    with duckdb.connect(str(path)) as con:
        con.execute("CREATE TABLE ward AS SELECT 1 AS age")
        macros.install(con, private=False)
        for statement in more:
            con.execute(statement)
    return path


def asked(path: Path, script: str) -> list[object]:
    assert is_release(path)
    found = run_script(path, script, Settings(), lambda _: None, read_only=True)
    return [row for table in found for row in table.rows]


def test_a_release_is_known_whatever_its_macros_hide(tmp_path: Path) -> None:
    hidden = "CREATE MACRO duckdb_functions() AS TABLE FROM system.main.duckdb_functions() LIMIT 0"
    path = release(tmp_path, hidden, "CREATE MACRO lower(x) AS 'other'")
    with pytest.raises(DataError, match=r"stand for functions of DuckDB \('duckdb_functions'"):
        asked(path, "FROM ward")


@pytest.mark.full
def test_a_release_answers_and_takes_tables_of_the_moment(tmp_path: Path) -> None:
    assert asked(release(tmp_path), "CREATE TEMP TABLE t AS FROM ward; FROM t") == [(1,)]


@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    "statement",
    [
        "SELECT content FROM read_text('{secret}')",
        "FROM more",
        "COPY ward TO '{folder}/out.csv'",
        "ATTACH '{folder}/other.duckdb'",
    ],
)
def test_a_release_reaches_no_other_file(tmp_path: Path, statement: str) -> None:
    secret = tmp_path / "secret.txt"
    secret.write_text("7")
    path = release(tmp_path, f"CREATE VIEW more AS SELECT content FROM read_text('{secret}')")
    with pytest.raises(DataError, match="no other file is read or written") as refused:
        asked(path, statement.format(secret=secret, folder=tmp_path))
    assert "database of your own" in refused.value.hint
    assert sorted(p.name for p in tmp_path.iterdir()) == ["secret.txt", "ward.duckdb"]


@pytest.mark.full
def test_a_view_of_a_release_calls_nothing_that_reads_a_file(tmp_path: Path) -> None:
    path = release(tmp_path)
    done = CliRunner().invoke(app, ["sql", str(path), "-c", "SELECT deid_check('/etc/passwd')"])
    assert done.exit_code == 2
    assert "deid_check" in done.output
    assert "mapping" not in done.output
    done = CliRunner().invoke(app, ["sql", str(path), "-c", "SELECT deid_overlap('[0, 10)', 0, 5)"])
    assert done.exit_code == 0


def test_what_seals_a_release_cannot_be_undone(tmp_path: Path) -> None:
    with pytest.raises(DataError):
        asked(release(tmp_path), "SET enable_external_access = TRUE")
