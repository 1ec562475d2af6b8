"""Rows that stand for records: each for one, or distinct ones for as many as a column says.

A release has far fewer classes than records. What depends on its quasi-identifiers alone is read
from the classes, which are counted once.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from dbdeid.engine.expressions import (
    Expr,
    Query,
    Select,
    aliased,
    cast,
    column,
    count_rows,
    literal,
    select,
    sum_of,
)
from dbdeid.engine.relation import Relation, free_name
from dbdeid.engine.session import Session, Step


@dataclass(frozen=True, slots=True)
class Counted:
    """Rows of which each stands for several records.

    Attributes:
        relation: the rows.
        records: the column that says for how many.
    """

    relation: Relation
    records: str


Rows = Relation | Counted


def relation_of(rows: Rows) -> Relation:
    """Where rows are."""
    return rows.relation if isinstance(rows, Counted) else rows


def number_of(rows: Rows, table: str | None = None) -> Expr:
    """How many records the rows of a group stand for; `table` is the alias of the rows."""
    if isinstance(rows, Counted):
        return cast(sum_of(column(rows.records, table)), "BIGINT")
    return count_rows()


def each(rows: Rows, names: Sequence[str], called: Sequence[str]) -> Select:
    """A query of columns under other names, and `records`, how many a row stands for."""
    renamed = zip(names, called, strict=True)
    records: Expr = column(rows.records) if isinstance(rows, Counted) else literal(1)
    query = select(*(aliased(column(name), own) for name, own in renamed))
    return query.select(aliased(records, "records")).from_(relation_of(rows).table)


def of_column(rows: Rows | Mapping[str, Query], name: str) -> Query:
    """The same of one column as `value`; or what was counted of it."""
    return rows[name].copy() if isinstance(rows, Mapping) else each(rows, [name], ["value"])


def counted(session: Session, name: str, table: Relation, columns: Sequence[str]) -> Counted:
    """The distinct rows of some columns, which keep their names, in a temporary table.

    Args:
        session: where the table is.
        name: of the temporary table.
        table: one row for each record.
        columns: the columns.
    """
    records = free_name("records", columns)
    keys = [column(c) for c in columns]
    query = select(*keys, aliased(count_rows(), records)).from_(table.table)
    if keys:
        query = query.group_by(*(key.copy() for key in keys))
    return Counted(session.run(Step(name, query)), records)
