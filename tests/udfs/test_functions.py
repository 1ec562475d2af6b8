"""Registering the functions."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import duckdb
import pytest
from dbdeid.udfs import functions

from dbdeid.engine.duckdb import macros


def test_registering_twice_is_fine_and_cursors_see_them() -> None:
    with duckdb.connect() as con:
        macros.install(con)
        made = functions.register(con)
        assert functions.register(con) == made
        assert {one.name for one in made} == {
            "deid_date_shift",
            "deid_emd",
            "deid_entropy_l",
            "deid_generalize",
            "deid_lca",
            "deid_loss",
            "deid_overlap",
            "deid_pseudonym",
            "deid_rce",
        }
        with con.cursor() as cursor:
            assert cursor.execute("SELECT deid_overlap('[0, 4)', 1, 2)").fetchall() == [(0.25,)]


def test_the_catalog_of_the_hierarchies_can_be_another(tmp_path: Path) -> None:
    with duckdb.connect() as con:
        con.execute(f"""ATTACH '{tmp_path / "x.duckdb"}' AS "the x" """)
        macros.install(con, "the x")
        con.execute(
            """INSERT INTO "the x".deid.hierarchies VALUES ('', 'a', 0, 'v', 'v', 0, '', '')"""
        )
        functions.register(con, "the x")
        assert con.execute("SELECT deid_generalize('a', 'v', 0)").fetchall() == [("v",)]


def test_without_the_table_there_is_an_error() -> None:
    with duckdb.connect() as con:
        functions.register(con)
        with pytest.raises(duckdb.Error, match="hierarchies"):
            con.execute("SELECT deid_generalize('a', 'v', 0)").fetchall()


def test_uncommitted_hierarchies_are_not_seen() -> None:
    with duckdb.connect() as con:
        macros.install(con)
        functions.register(con)
        con.execute("BEGIN; INSERT INTO deid.hierarchies VALUES ('', 'a', 0, 'v', 'v', 0, '', '')")
        with pytest.raises(duckdb.Error, match="no hierarchy a"):
            con.execute("SELECT deid_generalize('a', 'v', 0)").fetchall()
        con.execute("ROLLBACK")


SCRIPT = """
import sys
import duckdb
from dbdeid.udfs import functions
assert not {"numpy", "pandas", "pyarrow"} & set(sys.modules), "importing costs too much"
con = duckdb.connect()
functions.register(con)
con.execute("SELECT deid_overlap('[0, 4)', 1, 2)").fetchall()
"""


def test_a_script_that_does_not_close_ends_quietly() -> None:
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT], check=True, capture_output=True, text=True
    )
    assert done.stderr == ""
