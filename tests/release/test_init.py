"""Drafts: they parse, and `check` accepts them or asks what a custodian can answer."""

from __future__ import annotations

from pathlib import Path

import duckdb
import pytest

from dbdeid.errors import DataError, Mistake, SpecError
from dbdeid.release.check import check
from dbdeid.release.init import draft
from dbdeid.release.sources import opened
from dbdeid.release.specfile import read

ANSWERABLE = ("accept: rows", "accept: homogeneity", "reason:")


def drafted(folder: Path, source: Path, table: str | None = None) -> Path:
    path = folder / "draft.yml"
    path.write_text(draft(source, table), encoding="utf-8")
    return path


def asked(path: Path) -> tuple[Mistake, ...]:
    """What `check` wants to know of a custodian."""
    try:
        check(path)
    except SpecError as error:
        return error.mistakes
    return ()


@pytest.mark.parametrize(
    "name",
    [
        "adult_uci.parquet",
        "arx_creditcard_int.parquet",
        "ehr/diabetes130.parquet",
        "survival/support2.parquet",
    ],
)
def test_real_tables(shared: Path, tmp_path: Path, name: str) -> None:
    source = tmp_path / Path(name).name
    source.symlink_to(shared / "data" / name)
    path = drafted(tmp_path, source)
    with opened(source, None) as (session, query):
        columns = [c.name for c in session.describe(query)]
    assert list(read(path).spec.columns) == columns
    assert [m for m in asked(path) if not any(a in m.hint for a in ANSWERABLE)] == []


def test_odd_names_types_and_values(tmp_path: Path) -> None:
    source = tmp_path / "odd.duckdb"
    with duckdb.connect(str(source)) as con:
        con.execute('CREATE SCHEMA "my s"')
        con.execute(
            'CREATE TABLE "my s"."wéird täble" AS SELECT i % 30 AS "a, b", i::DOUBLE AS "quo""te", '
            "'x' || (i % 3) AS \"select\", 'inf'::DOUBLE AS endless, "
            "CASE i WHEN 1 THEN 'inf'::DOUBLE ELSE i END AS half, "
            'i / 7.0 AS "# hash: {x}", NULL::INTEGER AS nul, [i] AS list, '
            "DATE '2019-01-01' + i::INTEGER AS day, i * 1e-9 AS tiny, i * 1e300 AS huge, "
            '1 AS "no" '
            "FROM range(40) t(i)"
        )
    for name in ('"my s"."wéird täble"', "my s.wéird täble", None):
        path = drafted(tmp_path, source, name)
        if name is not None:
            assert read(path).spec.source == name
        assert check(path)["source_rows"] == 40


def test_a_draft_shows_counts_but_no_values(tmp_path: Path) -> None:
    source = tmp_path / "x.csv"
    source.write_text("name,age\n" + "".join(f"secret{i},{i % 90}\n" for i in range(100)))
    text = draft(source, None)
    assert "secret" not in text
    assert "name: {role: identifier}  # VARCHAR, 100 distinct values" in text


def test_sources_that_are_not_there_or_not_one(tmp_path: Path) -> None:
    source = tmp_path / "two.duckdb"
    with duckdb.connect(str(source)) as con:
        con.execute("CREATE TABLE a AS SELECT 1 AS x; CREATE TABLE b AS SELECT 1 AS x")
    csv = tmp_path / "x.csv"
    csv.write_text("a\n1\n")
    for path, table, words in [
        (source, None, "holds 2 tables"),
        (source, "c", "no table or view 'c'"),
        (csv, "c", "is one table"),
        (tmp_path / "none.csv", None, "does not exist"),
        (tmp_path / "none.duckdb", None, "no such database file"),
    ]:
        with pytest.raises(DataError, match=words):
            draft(path, table)
