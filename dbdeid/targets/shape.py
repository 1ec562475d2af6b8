"""How a database of another program declares the columns of a release, and what it is given."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from dbdeid.engine.expressions import (
    Expr,
    Query,
    aliased,
    all_of,
    any_of,
    ascending,
    cast,
    column,
    count_where,
    function,
    identifier,
    is_null,
    literal,
    not_,
    not_null,
    select,
    table_named,
    try_cast,
)
from dbdeid.engine.relation import Column, Relation
from dbdeid.engine.session import Session
from dbdeid.engine.sqltext import sql
from dbdeid.errors import DataError
from dbdeid.verify.base.stored_types import Program, read_as

NAMES: Mapping[Program, str] = {
    "postgres": "PostgreSQL",
    "sqlite": "SQLite",
    "mysql": "MySQL",
}
_POSTGRES = {
    **{"FLOAT": "real", "DOUBLE": "double precision", "VARCHAR": "text", "VARCHAR[]": "text[]"},
    **{kind: kind.lower() for kind in ("BOOLEAN", "SMALLINT", "INTEGER", "BIGINT", "BIGINT[]")},
    **{kind: kind.lower() for kind in ("DATE", "TIMESTAMP", "TIMESTAMP WITH TIME ZONE")},
}
_SQLITE = {
    **{"BOOLEAN": "BOOLEAN", "FLOAT": "FLOAT", "DOUBLE": "DOUBLE", "VARCHAR": "TEXT"},
    **{"DATE": "DATE", "VARCHAR[]": "TEXT", "BIGINT[]": "TEXT"},
    **dict.fromkeys(("TIMESTAMP", "TIMESTAMP_S", "TIMESTAMP_MS"), "DATETIME"),
}
_MYSQL = {
    **{"VARCHAR": "LONGTEXT", "TIMESTAMP": "DATETIME(6)"},
    **{kind: kind for kind in ("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "DOUBLE", "DATE")},
    **{f"U{kind}": f"{kind} UNSIGNED" for kind in ("TINYINT", "SMALLINT", "INTEGER", "BIGINT")},
}
_LISTS_AS_JSON: frozenset[Program] = frozenset({"sqlite", "mysql"})
_AS_TEXT = ("DATE", "TIMESTAMP")  # in SQLite, which has neither


@dataclass(frozen=True, slots=True)
class Shape:
    """A table as another program is to have it.

    Attributes:
        columns: the name of each column and how its type is declared there.
        rows: a query for what its driver is given, sorted by all columns.
    """

    columns: tuple[tuple[str, str], ...]
    rows: Query

    def statement(self, place: Relation) -> str:
        """The statement that makes the empty table."""
        columns = ", ".join(f"{sql(identifier(name))} {kind}" for name, kind in self.columns)
        return f"CREATE TABLE {sql(named(place))} ({columns})"


def named(place: Relation) -> Expr:
    """A table as the other program calls it."""
    return table_named(place.name, place.schema)


def shaped(session: Session, program: Program, table: Relation, name: str) -> Shape:
    """A released table as another program can hold it, every value whole.

    Args:
        session: where the table is.
        program: which is to have it.
        table: the release, or what lies beside it.
        name: how messages call it there.

    Raises:
        DataError: the program has no type for a column, or none that holds each of its values.
    """
    columns = session.describe(table.table)
    there = {c.name: read_as(program, c.type) for c in columns}
    if without := [c for c in columns if there[c.name] is None]:
        kinds = ", ".join(f"{c.name!r} ({c.shown_type})" for c in without)
        raise DataError(
            f"{name}: {NAMES[program]} has no type that holds each value of {kinds}",
            hint="CAST it in the source to a type that fits, release it as text with "
            "`type: categorical`, or export a file",
        )
    _require_whole(session, program, table, columns, there, name)
    given = [aliased(_given(program, c, str(there[c.name])), c.name) for c in columns]
    order = [ascending(column(c.name)) for c in columns]
    return Shape(
        tuple((c.name, _declared(program, c.type, str(there[c.name]))) for c in columns),
        select(*given).from_(table.aliased("t")).order_by(*order),
    )


def _declared(program: Program, kind: str, there: str) -> str:
    """The type as a statement of the other program writes it."""
    if program == "postgres":
        return _POSTGRES.get(there) or there.replace("DECIMAL", "numeric")
    if program == "mysql":
        return "BOOLEAN" if kind == "BOOLEAN" else _MYSQL.get(there, there)
    return _SQLITE.get(kind) or ("INTEGER" if there == "BIGINT" else kind)


def _given(program: Program, found: Column, there: str) -> Expr:
    value: Expr = column(found.name, "t")
    if program in _LISTS_AS_JSON and found.type.endswith("[]"):
        return cast(function("to_json", value), "VARCHAR")
    wire = "VARCHAR" if program == "sqlite" and there in _AS_TEXT else there
    return value if wire == found.type else cast(value, wire)


def _require_whole(
    session: Session,
    program: Program,
    table: Relation,
    columns: tuple[Column, ...],
    there: Mapping[str, str | None],
    name: str,
) -> None:
    """Raise where a value has no place in the type that stands for its own."""
    odd: dict[str, Expr] = {}
    for c in columns:
        value, kind = column(c.name), str(there[c.name])
        if kind.startswith("DECIMAL") and kind != c.type:
            odd[c.name] = all_of(not_null(value), is_null(try_cast(value.copy(), kind)))
        elif program != "postgres" and c.family == "float":  # which have none
            odd[c.name] = any_of(function("isnan", value), not_(function("isfinite", value.copy())))
        elif program == "mysql" and kind in _AS_TEXT:
            days = (cast(literal(day), "DATE") for day in ("0001-01-01", "9999-12-31"))
            day, (first, last) = cast(value, "DATE"), days
            odd[c.name] = any_of(day < first, day.copy() > last)
    if not odd:
        return
    counts = session.row(select(*map(count_where, odd.values())).from_(table.table))
    if wrong := [n for n, count in zip(odd, counts, strict=True) if count]:
        raise DataError(
            f"{name}: {NAMES[program]} has no place for some values of "
            f"{', '.join(map(repr, wrong))}",
            hint="make NaN, infinity and days beyond the year 9999 NULL in the source, release "
            "integers of more than 38 digits as text with `type: categorical`, or export a file",
        )
