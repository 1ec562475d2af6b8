"""A verified table as a file, its values as that kind of file can hold them."""

from __future__ import annotations

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
from dbdeid.verify.base import file_kinds, json_files
from dbdeid.verify.base.file_kinds import IN_PARQUET, JSON, PARQUET, WIDE


def copy(session: Session, table: Relation, path: Path) -> None:
    """Write a verified table to a new file, by its ending.

    Raises:
        DataError: a value has no place in such a file, or it cannot be written.
    """
    picked: list[Expr] = [every_column()]
    kind = file_kinds.kind_named(path)
    if kind == PARQUET:
        picked = in_parquet(session, table, path)
    elif kind == JSON:
        picked = _in_json(session, table, path)
    session.export(select(*picked).from_(table.table), path)


def in_parquet(session: Session, table: Relation, path: Path) -> list[Expr]:
    """The columns, integers that Parquet has no type for as decimals, never as rounded numbers.

    Raises:
        DataError: one of them does not fit.
    """
    columns = session.describe(table.table)
    wide = [c for c in columns if c.type in WIDE]
    beyond = [
        count_where(
            all_of(
                not_null(column(c.name)),
                is_null(try_cast(column(c.name), _decimal())),
            )
        )
        for c in wide
    ]
    counts = session.row(select(*beyond).from_(table.table)) if beyond else ()
    too_long = [c.name for c, count in zip(wide, counts, strict=True) if count]
    if too_long:
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
    floats = [c for c in columns if c.type in ("FLOAT", "DOUBLE")]
    others = [count_where(not_(function("isfinite", column(c.name)))) for c in floats]
    counts = session.row(select(*others).from_(table.table)) if others else ()
    wrong = [c.name for c, count in zip(floats, counts, strict=True) if count]
    if wrong:
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


def _decimal() -> str:
    return IN_PARQUET["HUGEINT"]
