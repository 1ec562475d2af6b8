"""A verified table as a file, its values as that kind of file can hold them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from dbdeid.engine.expressions import (
    Expr,
    aliased,
    all_of,
    cast,
    column,
    count_where,
    every_column,
    function,
    is_null,
    not_,
    not_null,
    select,
    try_cast,
)
from dbdeid.engine.relation import Relation
from dbdeid.engine.session import Session
from dbdeid.errors import DataError
from dbdeid.publish import workbooks
from dbdeid.verify.base import file_kinds, json_files
from dbdeid.verify.base.file_kinds import IN_PARQUET, JSON, PARQUET, WIDE, WORKBOOK


def copy(session: Session, table: Relation, path: Path) -> None:
    """Write a verified table to a new file, by its ending.

    Raises:
        DataError: a value has no place in such a file, or it cannot be written.
    """
    picked: list[Expr] = [every_column()]
    kind = file_kinds.kind_named(path)
    if kind == WORKBOOK:
        return workbooks.write(session, table, path)
    if kind == PARQUET:
        picked = in_parquet(session, table, path)
    elif kind == JSON:
        picked = _in_json(session, table, path)
    return session.export(select(*picked).from_(table.table), path)


def in_parquet(session: Session, table: Relation, path: Path) -> list[Expr]:
    """The columns, integers that Parquet has no type for as decimals, never as rounded numbers.

    Raises:
        DataError: one of them does not fit.
    """
    columns = session.describe(table.table)
    wide = [column(c.name) for c in columns if c.type in WIDE]
    beyond = [all_of(not_null(c), is_null(try_cast(c, _decimal()))) for c in wide]
    if too_long := _where_any(session, table, wide, beyond):
        raise DataError(
            f"{path.name}: a Parquet file holds integers of 38 digits, and those in "
            f"{', '.join(map(repr, too_long))} have more",
            hint="export to .duckdb or .csv, or release them as text with `type: categorical`",
        )
    return [
        aliased(cast(column(c.name), _decimal()), c.name) if c.type in WIDE else column(c.name)
        for c in columns
    ]


def _in_json(session: Session, table: Relation, path: Path) -> list[Expr]:
    """The columns, numbers of more digits than a reader of JSON may keep as texts.

    Raises:
        DataError: JSON has no number for some.
    """
    columns = session.describe(table.table)
    floats = [column(c.name) for c in columns if c.type in ("FLOAT", "DOUBLE")]
    others = [not_(function("isfinite", c)) for c in floats]
    if wrong := _where_any(session, table, floats, others):
        raise DataError(
            f"{path.name}: JSON has no number for NaN and infinity, which are in "
            f"{', '.join(map(repr, wrong))}",
            hint="export to .duckdb, .parquet or .csv, or make them NULL in the source",
        )
    return [
        column(c.name)
        if json_files.as_number(c.type)
        else aliased(cast(column(c.name), "VARCHAR"), c.name)
        for c in columns
    ]


def _where_any(
    session: Session, table: Relation, columns: Sequence[Expr], conditions: Sequence[Expr]
) -> list[str]:
    """The names of the columns for which a condition is true of some row."""
    counts = map(count_where, conditions)
    found = session.row(select(*counts).from_(table.table)) if conditions else ()
    return [c.name for c, count in zip(columns, found, strict=True) if count]


def _decimal() -> str:
    return IN_PARQUET["HUGEINT"]
