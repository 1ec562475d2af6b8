"""What was proven of a release holds while neither it nor its source has changed."""

from __future__ import annotations

from collections.abc import Iterator

import duckdb
import pytest
from forging import forged
from sqlglot import exp

from dbdeid.engine.duckdb.session import Session
from dbdeid.engine.relation import Column, Relation
from dbdeid.verify.base.declaration import Declared
from dbdeid.verify.files.content import EARLIER
from dbdeid.verify.files.content_proof import ContentProof, content_proof, unchanged

COLUMNS = (Column("age", "VARCHAR"), Column("dx", "VARCHAR"))
DECLARED = Declared(
    release="public",
    columns=COLUMNS,
    quasi_identifiers=("age",),
    bounds=(),
    withheld=("name",),
    models=(),
    transformation={},
    tops={"age": 2},
    source_rows=3,
    suppression_limit=0.0,
    keeps_suppressed=False,
    local=True,
)
SOURCE, PUBLIC = exp.select("*").from_("people"), Relation("public", COLUMNS, schema="main")


@pytest.fixture
def con() -> Iterator[duckdb.DuckDBPyConnection]:
    with duckdb.connect() as connection:
        connection.execute(
            "CREATE TABLE people AS "
            "FROM (VALUES (21, 'flu', 'Ann'), (28, 'flu', 'Bob'), (35, NULL, 'Cy')) "
            "v(age, dx, name)"
        )
        connection.execute(
            "CREATE TABLE public AS FROM (VALUES ('20s', 'flu'), ('20s', 'flu'), "
            "('*', NULL)) v(age, dx)"
        )
        yield connection


def now(con: duckdb.DuckDBPyConnection, declared: Declared = DECLARED) -> ContentProof:
    with Session.over(con, None, read_only=True) as session:
        return content_proof(session, PUBLIC, declared, SOURCE)


def changed(con: duckdb.DuckDBPyConnection, then: ContentProof) -> str:
    with Session.over(con, None, read_only=True) as session:
        promise = unchanged(session, PUBLIC, DECLARED, SOURCE, then)
    assert promise.model == "truthfulness"
    assert promise.holds == (promise.found == promise.declared)
    return str(promise.found["changed_since_proven"])


def test_what_is_kept_is_read_again(con: duckdb.DuckDBPyConnection) -> None:
    assert ContentProof.of_dict(now(con).to_dict()) == now(con)
    sides = now(con).to_dict()
    assert [sides[name]["rows"] for name in ("source", "release")] == [3, 3]
    assert len({sides[name]["sha256"] for name in sides}) == 2


@pytest.mark.sampled(2)
@pytest.mark.parametrize("then", [{"rows": 3, "digest": "27670116110564327424"}, None])
def test_what_an_earlier_version_kept_is_not_believed(
    con: duckdb.DuckDBPyConnection, then: dict[str, object] | None
) -> None:
    for kept in ({"source": then, "release": then}, now(con).to_dict() | {"source": then}):
        assert changed(con, ContentProof.of_dict(kept)) == EARLIER


def test_rows_of_the_same_sum_of_hashes_are_told(con: duckdb.DuckDBPyConnection) -> None:
    true, false = forged()
    for name, rows in (("told", true), ("forged", false)):
        con.execute(f"CREATE TABLE {name} (age VARCHAR, dx VARCHAR)")
        con.executemany(f"INSERT INTO {name} VALUES (?, ?)", rows)
    con.execute("CREATE OR REPLACE TABLE public AS FROM told")
    then = now(con)
    con.execute("CREATE OR REPLACE TABLE public AS FROM forged")
    assert changed(con, then) == "release"


def test_neither_the_order_of_rows_nor_other_columns_change_it(
    con: duckdb.DuckDBPyConnection,
) -> None:
    then = now(con)
    con.execute("UPDATE people SET name = 'Dee'")
    for table in ("people", "public"):
        con.execute(f"CREATE OR REPLACE TABLE {table} AS FROM {table} ORDER BY rowid DESC")
    assert changed(con, then) == "nothing"


@pytest.mark.sampled(4)
@pytest.mark.parametrize(
    ("change", "told"),
    [
        ("UPDATE people SET age = 22 WHERE age = 21", "source"),
        ("UPDATE people SET dx = '' WHERE dx IS NULL", "source"),
        ("UPDATE people SET dx = CASE age WHEN 28 THEN NULL ELSE 'flu' END", "source"),
        ("DELETE FROM people WHERE age = 21", "source"),
        ("INSERT INTO people FROM people WHERE age = 21", "source"),
        ("UPDATE public SET age = '*'", "release"),
        ("UPDATE public SET dx = '-' WHERE dx IS NULL", "release"),
        ("DELETE FROM public WHERE rowid = 0", "release"),
        # two rows more that are alike: sums of digests do not cancel out
        ("INSERT INTO public SELECT '20s', 'gout' FROM range(2)", "release"),
        ("UPDATE public SET age = dx, dx = age", "release"),
    ],
)
def test_any_other_change_is_told(con: duckdb.DuckDBPyConnection, change: str, told: str) -> None:
    then = now(con)
    con.execute(change)
    assert changed(con, then) == told


def test_whose_records_they_are_is_part_of_it(con: duckdb.DuckDBPyConnection) -> None:
    from dataclasses import replace

    people = replace(DECLARED, subject="name")
    then = now(con, people)
    con.execute("UPDATE people SET name = 'Ann' WHERE name = 'Bob'")
    assert now(con, people).source != then.source
    assert now(con, people).release == then.release
