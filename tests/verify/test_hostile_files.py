"""Files made to fool their verifier: nothing in a file decides what is found in it."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import duckdb
import pytest
from handmade import detail, failed, handmade

import dbdeid
from dbdeid.engine.duckdb.session import Session
from dbdeid.engine.failure import EngineError
from dbdeid.errors import DataError
from dbdeid.verify import verify_bare

# What a macro gives in place of a built-in: a number, a truth, a text, nothing, or its argument.
BODIES = ("0", "true", "'x'", "NULL", "a")
NAMES = ("age", "zip", "sex")


@cache
def built_ins() -> tuple[tuple[str, str, int], ...]:
    """All functions and operators of the engine: name, kind, and a number of parameters."""
    with duckdb.connect() as con:
        return tuple(
            con.execute(
                "SELECT DISTINCT function_name, function_type LIKE '%table%', "
                "coalesce(len(parameters), 1) FROM duckdb_functions() "
                "WHERE database_name = 'system' AND function_type <> 'pragma' ORDER BY ALL"
            ).fetchall()
        )


def shadowed(body: str) -> list[str]:
    """Macros that stand for all built-ins, as far as the engine takes them."""
    overloads: dict[tuple[str, bool], set[int]] = {}
    for name, table, count in built_ins():
        overloads.setdefault((name, bool(table)), set()).add(count)
    texts = []
    with duckdb.connect() as con:
        for (name, table), counts in overloads.items():
            heads = []
            for count in sorted(counts):
                names = ", ".join("abcdefghijklmnopqrstuvwxyz"[:count])
                value = "0" if body == "a" and not count else body
                heads.append(f"({names}) AS " + (f"TABLE SELECT {value} AS a" if table else value))
            quoted = name.replace('"', '""')
            text = f'CREATE MACRO "{quoted}"' + ", ".join(heads)
            try:
                con.execute(text)
            except duckdb.Error:
                continue  # no such macro can be
            texts.append(text)
    return texts


@pytest.mark.sampled(5)
@pytest.mark.parametrize("body", BODIES)
def test_macros_for_all_built_ins_change_no_verdict(tmp_path: Path, body: str) -> None:
    statements = shadowed(body)
    assert len(statements) > 900
    # Three records of a class of their own, that no macro makes fewer or hides.
    few = "UPDATE ward SET age = '*' WHERE rowid IN (0, 1, 2)"
    clean = handmade().publish(tmp_path / "clean.duckdb", few)
    assert "k_anonymity" in failed(clean)
    found = handmade(macros=True).publish(tmp_path / "ward.duckdb", few, *statements)
    assert failed(found) == failed(clean) | {"objects"}
    assert "macro 'min'" in detail(found, "objects")
    assert found.promises == clean.promises
    with pytest.raises(DataError, match="stand for functions of DuckDB"):
        dbdeid.query(tmp_path / "ward.duckdb", "SELECT count(*) FROM ward")


def test_a_table_hidden_behind_macros_is_found(tmp_path: Path) -> None:
    path = tmp_path / "ward.duckdb"
    handmade().write(
        path,
        "CREATE TABLE raw_patients AS SELECT 'Ann' AS name",
        "UPDATE ward SET sex = sex || rowid",
        "CREATE MACRO min(x) AS max(x)",
        "CREATE MACRO count(x) AS 10",
        "CREATE MACRO duckdb_tables() AS TABLE FROM system.main.duckdb_tables() LIMIT 2",
        "CREATE MACRO duckdb_functions() AS TABLE FROM system.main.duckdb_functions() LIMIT 0",
    )
    found = verify_bare(path, NAMES, 5, table="ward")
    assert not found.verified
    assert not found.promises[0].holds
    assert found.promises[0].found == 1


def test_a_file_cannot_reach_beyond_itself(tmp_path: Path) -> None:
    path, secret = tmp_path / "ward.duckdb", tmp_path / "secret.txt"
    secret.write_text("7")
    handmade().write(path)
    with Session.open(path, read_only=True, sealed=True) as session:
        for query in (
            f"SELECT content FROM read_text('{secret}')",
            f"COPY (SELECT 1) TO '{tmp_path / 'out.csv'}'",
            f"ATTACH '{tmp_path / 'other.duckdb'}'",
            "SET enable_external_access = TRUE",
            "SET threads = 1",
            "INSTALL httpfs",
        ):
            with pytest.raises(EngineError):
                session.execute(query)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["secret.txt", "ward.duckdb"]


def test_a_view_of_a_file_reads_no_other_file(tmp_path: Path) -> None:
    path, secret = tmp_path / "ward.duckdb", tmp_path / "secret.txt"
    secret.write_text("7")
    reads = f"CREATE VIEW more AS SELECT 'M' AS sex, content FROM read_text('{secret}')"
    handmade().write(path, reads)
    with pytest.raises(DataError) as refused:
        dbdeid.query(path, "SELECT sum(m.content::INT) FROM ward JOIN more m USING (sex)")
    assert "7" not in str(refused.value)


@pytest.mark.parametrize(
    "text",
    [
        "age,sex\n" + "".join(f"30,M\n# {i},Anna Lang {i},hiv\n" for i in range(40)),
        "# Anna Lang,hiv\nage,sex\n" + "30,M\n" * 40,
        "Anna Lang hiv 1977\nage,sex\n" + "30,M\n" * 40,
    ],
    ids=["comments", "comment first", "preamble"],
)
def test_every_line_of_a_text_file_is_looked_at(tmp_path: Path, text: str) -> None:
    path = tmp_path / "ward.csv"
    path.write_text(text)
    with pytest.raises(DataError, match="no column 'age'"):
        verify_bare(path, ("age", "sex"), 5)
