"""Types of a release in databases of other programs: each value comes back, or is refused."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from mariadb_server import Maria
from postgres_server import Server

from dbdeid.engine.engines import ENGINE
from dbdeid.engine.expressions import Query
from dbdeid.engine.reading import NotSql
from dbdeid.engine.relation import Column, Relation
from dbdeid.engine.session import Session, Step
from dbdeid.engine.sqltext import statements
from dbdeid.errors import DataError
from dbdeid.sources.attached import Database
from dbdeid.sources.rows import staged, temporary
from dbdeid.targets.shape import shaped
from dbdeid.targets.target import Target, opened
from dbdeid.verify.files.content import content
from dbdeid.verify.stored_tables import _typed

# Values of each type that a release can have, the least and the greatest among them.
KEPT = {
    "BOOLEAN": "true, false",
    "TINYINT": "-128, 127",
    "SMALLINT": "-32768, 32767",
    "INTEGER": "-2147483648, 2147483647",
    "BIGINT": "-9223372036854775808, 9223372036854775807",
    "UTINYINT": "0, 255",
    "USMALLINT": "0, 65535",
    "UINTEGER": "0, 4294967295",
    "FLOAT": "-1.5, 0.1, 3.4e38, 1.2e-38",
    "DOUBLE": "-1.5, 0.1, 1e300, 5e-324",
    "DECIMAL(5,2)": "-999.99, 0.01, 7",
    "DECIMAL(15,1)": "-99999999999999.9, 0.1",
    "VARCHAR": "'', 'a', 'Łódź ''x'' \"y\"', 'a\n\tb', '日本', 'NULL'",
    "DATE": "'0001-01-01', '1970-01-01', '9999-12-31'",
    "TIMESTAMP": "'1960-01-01 01:02:03.000004', '2020-02-29 23:59:59'",
    "TIMESTAMP_S": "'1960-01-01 01:02:03'",
    "TIMESTAMP_MS": "'1960-01-01 01:02:03.004'",
    "VARCHAR[]": "[], ['a', 'é\"', NULL]",
    "BIGINT[]": "[], [1, -9223372036854775808]",
}
# What PostgreSQL and MySQL hold and SQLite does not.
WIDE = {
    "UBIGINT": "0, 18446744073709551615",
    "HUGEINT": "-99999999999999999999999999999999999999, 1",
    "DECIMAL(38,10)": "-9999999999999999999999999999.9999999999, 0.1",
}
ZONED = {"TIMESTAMP WITH TIME ZONE": "'1960-01-01 01:02:03.000004+02'"}
NEITHER = {"TIMESTAMP_NS": "'2020-01-01 00:00:00.000000001'", "TIME": "'01:02:03'", "BLOB": "'a'"}


def table(session: Session, kind: str, values: str, name: str = "given") -> Relation:
    rows = f'SELECT CAST(unnest([{values}, NULL]) AS {kind}) AS "odd "" name"'
    if kind.endswith("]"):
        lists = " UNION ALL ".join(f"SELECT {one}::{kind}" for one in _lists(values))
        rows = f'SELECT a AS "odd "" name" FROM ({lists}) AS t (a)'
    return session.run(Step(name, query(rows)))


def _lists(values: str) -> Iterator[str]:
    yield from (f"{one}]" for one in values.removesuffix("]").split("], "))
    yield "NULL"


def query(text: str) -> Query:
    tree = statements(text)[0]
    assert isinstance(tree, Query), NotSql
    return tree


@contextmanager
def target(where: Path | Server | Maria) -> Iterator[Target]:
    if isinstance(where, Path):
        database = Database("there", "lake.sqlite", where)
    elif isinstance(where, Maria):
        database = Database("there", where.address(), Path())
    else:
        database = Database("there", f"postgresql://owner@/postgres?host={where.folder}", Path())
    with opened(database, writing=True) as there:
        yield there


def comes_back(session: Session, there: Target, given: Relation, number: int) -> None:
    """Write a table, read it, and hold one against the other by SHA-256."""
    where = Relation(f"t{number}", schema=there.schema)
    shape = shaped(session, there.program, given, "t")
    there.write(where, shape, session.batches(shape.rows))
    read = staged(session, temporary("read"), there.rows(where))
    columns = session.describe(given.table)
    found, wrong = _typed(session, there.program, read, columns, "typed")
    assert wrong == [], given
    assert content(session, found, columns) == content(session, given, columns)


def all_come_back(there: Target, kinds: dict[str, str]) -> None:
    with ENGINE.open(None, read_only=True) as session:
        for number, (kind, values) in enumerate(kinds.items()):
            comes_back(session, there, table(session, kind, values), number)


def test_postgresql_holds_every_value(server: Server) -> None:
    with target(server) as there:
        all_come_back(there, KEPT | WIDE | ZONED)
        refused(there, NEITHER)
        infinite = dict.fromkeys(("FLOAT", "DOUBLE"), "'inf', '-inf', 'nan'")
        with ENGINE.open(None, read_only=True) as session:
            for number, (kind, values) in enumerate(infinite.items(), 90):
                comes_back(session, there, table(session, kind, values), number)
    assert server.run("SELECT count(*) FROM pg_tables WHERE schemaname = 'public'").strip() == "0"


def test_sqlite_holds_every_value(place: Path) -> None:
    with target(place) as there:
        all_come_back(there, KEPT)
        refused(there, WIDE | ZONED | NEITHER)


def test_mysql_holds_every_value(maria: Maria) -> None:
    texts = "'a' || chr(0), '\\', '%s', '\U0001f600', 'a ', 'A'"
    with target(maria) as there:
        all_come_back(there, KEPT | WIDE | {"DECIMAL(38,30)": "-0.1"})
    with target(maria) as there:
        all_come_back(there, {"VARCHAR": texts, "UHUGEINT": "0, 1", "DOUBLE": "-0.0"})
        refused(there, ZONED | NEITHER | {"DECIMAL(38,31)": "0.1"})
        with ENGINE.open(None, read_only=True) as session:
            for kind, value in {
                **{"DOUBLE": "'nan'", "FLOAT": "'inf'", "DATE": "'infinity'"},
                **{"TIMESTAMP": "'10000-01-01'", "TIMESTAMP_S": "'0001-12-31 (BC)'"},
            }.items():
                odd = table(session, kind, value)
                with pytest.raises(DataError, match="MySQL has no place for some values"):
                    shaped(session, "mysql", odd, "t")
    assert maria.tables() == set()


def refused(there: Target, kinds: dict[str, str]) -> None:
    with ENGINE.open(None, read_only=True) as session:
        for kind, values in kinds.items():
            given = table(session, kind, values)
            with pytest.raises(DataError, match="no type that holds each value of") as told:
                shaped(session, there.program, given, "t")
            assert kind in str(told.value)


def test_values_that_have_no_place(place: Path, server: Server) -> None:
    with target(server) as there, ENGINE.open(None, read_only=True) as session:
        long = table(session, "HUGEINT", "170141183460469231731687303715884105727")
        with pytest.raises(DataError, match="PostgreSQL has no place for some values"):
            shaped(session, "postgres", long, "t")
        nul = table(session, "VARCHAR", "'a' || chr(0)")
        shape = shaped(session, "postgres", nul, "t")
        with pytest.raises(DataError, match="no text with a NUL character") as told:
            there.write(Relation("n", schema="public"), shape, session.batches(shape.rows))
        assert told.value.__context__ is None or "line" not in repr(told.value.__context__)
    with target(place) as there, ENGINE.open(None, read_only=True) as session:
        for value in ("'nan'", "'inf'"):
            odd = table(session, "DOUBLE", value)
            with pytest.raises(DataError, match="SQLite has no place for some values"):
                shaped(session, "sqlite", odd, "t")


@pytest.mark.sampled(2)
@pytest.mark.parametrize(("number", "fits"), [(2_001, (False, False)), (1_000, (True, True))])
def test_many_columns(place: Path, server: Server, number: int, fits: tuple[bool, bool]) -> None:
    for where, whole in zip((server, place), fits, strict=True):
        wide(where, number, whole=whole)


@pytest.mark.sampled(2)
@pytest.mark.parametrize(("number", "fits"), [(2_001, False), (1_000, True)])
def test_many_columns_of_mysql(maria: Maria, number: int, *, fits: bool) -> None:
    wide(maria, number, whole=fits)
    assert maria.tables() == set()


def wide(where: Path | Server | Maria, number: int, *, whole: bool) -> None:
    names = ", ".join(f"{i} AS c{i}" for i in range(number))
    with target(where) as there, ENGINE.open(None, read_only=True) as session:
        given = session.run(Step("wide", query(f"SELECT {names}")))
        if whole:
            comes_back(session, there, given, 1)
            return
        with pytest.raises(DataError, match="no room for so many columns"):
            comes_back(session, there, given, 1)


@pytest.mark.parametrize(
    ("kind", "stored"),
    [
        *(("BOOLEAN", "2::BIGINT"), ("TINYINT", "1000::BIGINT"), ("DECIMAL(5,2)", "0.001::DOUBLE")),
        *(("FLOAT", "0.1::DOUBLE"), ("VARCHAR[]", "'[ \"a\"]'"), ("VARCHAR[]", "'[a'")),
        ("INTEGER", "'1'"),
    ],
)
def test_a_cell_that_is_written_otherwise_is_found(kind: str, stored: str) -> None:
    with ENGINE.open(None, read_only=True) as session:
        read = session.run(Step("read", query(f"SELECT {stored} AS a")))
        _, wrong = _typed(session, "sqlite", read, [Column("a", kind)], "typed")
    assert wrong
