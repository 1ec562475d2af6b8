"""What holds the same rows as a verified database: any other cell, row, order or type is told."""

from __future__ import annotations

from pathlib import Path

import duckdb
import pytest

from dbdeid.engine.duckdb.session import Session
from dbdeid.verify import Check, Promise, Staged, Twin, Verification
from dbdeid.verify.files.twin import alike

ROWS = """
SELECT * FROM (VALUES
  ('[20, 40)', 'f', 1.5::DOUBLE, 1::HUGEINT, ['a', NULL], DATE '2020-01-01', TRUE),
  ('[20, 40)', 'm', 0.0, 170141183460469231731687303715884105727, [], DATE '2020-01-02', FALSE),
  (NULL, 'm', 'nan', -1, NULL, NULL, NULL),
  ('hiv', '', '-inf', 9007199254740993, ['', 'N'], 'infinity', NULL),
  (NULL, NULL, NULL, NULL, NULL, NULL, NULL)
) AS t(age, sex, lab, big, codes, day, flag)
"""
# a NaN that says something
HIDING = f"CAST('{'0' + '1' * 12 + '0' * 50 + '1'}'::BIT AS DOUBLE)"
FOUND = Verification((Promise("k_anonymity", {"k": 1}, {"k": 1}, True),), (Check("content", True),))


def compared(folder: Path, other: str, kept: str = ROWS, found: Verification = FOUND) -> bool:
    """Whether the rows of a query pass for those of a verified file."""
    path = folder / "verified.duckdb"
    with duckdb.connect(str(path)) as con:
        con.execute(f"CREATE TABLE ward AS {kept}")
    with Session.open(None, read_only=False) as session:
        session.execute(f"CREATE TEMP TABLE given AS {other.replace('ward', f'({ROWS})')}")
        table = session.relation("given", catalog="temp")
        return alike(session, Twin(path, ("ward",), found), [table])


def test_the_same_rows_are_the_same(tmp_path: Path) -> None:
    assert compared(tmp_path, "FROM ward")


@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    "other",
    [
        "SELECT * REPLACE (CASE WHEN age = 'hiv' THEN 'HIV' ELSE age END AS age) FROM ward",
        "SELECT * REPLACE (coalesce(sex, '') AS sex) FROM ward",
        "SELECT * REPLACE (nullif(sex, '') AS sex) FROM ward",
        "SELECT * REPLACE (CASE WHEN lab = 0 THEN '-0.0'::DOUBLE ELSE lab END AS lab) FROM ward",
        "SELECT * REPLACE (CASE WHEN lab = 1.5 THEN lab + 1e-15 ELSE lab END AS lab) FROM ward",
        "SELECT * REPLACE (CASE WHEN isnan(lab) THEN NULL ELSE lab END AS lab) FROM ward",
        f"SELECT * REPLACE (CASE WHEN isnan(lab) THEN {HIDING} ELSE lab END AS lab) FROM ward",
        "SELECT * REPLACE (CASE WHEN big > 1e37 THEN big - 1 ELSE big END AS big) FROM ward",
        "SELECT * REPLACE (big::DOUBLE AS big) FROM ward WHERE big IS NULL OR big < 1e37",
        "SELECT * REPLACE (CASE WHEN codes = [] THEN NULL ELSE codes END AS codes) FROM ward",
        "SELECT * REPLACE (if(codes[1] = 'a', ['a', 'N'], codes) AS codes) FROM ward",
        "SELECT * REPLACE (CASE WHEN NOT flag THEN NULL ELSE flag END AS flag) FROM ward",
        "SELECT * REPLACE (day::VARCHAR || ' ' AS day) FROM ward",
        "SELECT * REPLACE (day::VARCHAR AS day) FROM ward",  # the same texts
        "SELECT * REPLACE (big::VARCHAR AS big) FROM ward",
        "SELECT * REPLACE (flag::VARCHAR AS flag) FROM ward",
        "SELECT * EXCLUDE (flag) FROM ward",
        "SELECT * RENAME (flag AS Flag) FROM ward",
        "SELECT *, 1 AS more FROM ward",
        "FROM ward LIMIT 4",  # the row that is left out holds NULLs only
        "FROM ward UNION ALL SELECT NULL, NULL, NULL, NULL, NULL, NULL, NULL",
        "FROM ward ORDER BY day",
    ],
)
def test_anything_else_is_told(tmp_path: Path, other: str) -> None:
    assert not compared(tmp_path, other)


def test_text_is_compared_by_its_bytes(tmp_path: Path) -> None:
    kept = f"SELECT * REPLACE (age COLLATE NOCASE AS age) FROM ({ROWS})"
    other = "SELECT * REPLACE (upper(age) AS age) FROM ward"
    assert not compared(tmp_path, other, kept)


def test_a_view_is_no_table(tmp_path: Path) -> None:
    path = tmp_path / "verified.duckdb"
    with duckdb.connect(str(path)) as con:
        con.execute(f"CREATE VIEW ward AS {ROWS}")
    with Session.open(None, read_only=False) as session:
        session.execute(f"CREATE TEMP TABLE given AS {ROWS}")
        table = session.relation("given", catalog="temp")
        assert not alike(session, Twin(path, ("ward",), FOUND), [table])


def test_a_twin_that_failed_is_none(tmp_path: Path) -> None:
    failed = Verification(FOUND.promises, (Check("content", False, "other rows"),))
    assert not compared(tmp_path, "FROM ward", found=failed)


def test_parquet_stands_for_wide_integers_with_decimals(tmp_path: Path) -> None:
    rows = f"FROM ({ROWS}) WHERE big IS NULL OR big < 1e37"
    other = (
        "SELECT * REPLACE (big::DECIMAL(38, 0) AS big) FROM ward WHERE big IS NULL OR big < 1e37"
    )
    assert compared(tmp_path, other, rows)


def test_staged_tables_are_compared_with_what_was_written_of_them(tmp_path: Path) -> None:
    path = tmp_path / "written.duckdb"
    with duckdb.connect(str(path)) as con:
        con.execute(f"CREATE TABLE ward AS {ROWS}")
    with (
        Session.open(None, read_only=False) as session,
        Session.open(path, read_only=True, sealed=True) as reopened,
    ):
        there = [reopened.relation("ward")]
        for other, same in (
            (ROWS, True),
            (f"SELECT * REPLACE (nullif(sex, '') AS sex) FROM ({ROWS})", False),
            (f"FROM ({ROWS}) LIMIT 4", False),
        ):
            session.execute(f"CREATE OR REPLACE TEMP TABLE given AS {other}")
            tables = {"ward": session.relation("given", catalog="temp")}
            assert alike(reopened, Staged(session, path, tables, FOUND), there) is same
        renamed = Staged(session, path, {"other": tables["ward"]}, FOUND)
        assert not alike(reopened, renamed, there)
