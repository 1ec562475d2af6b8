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
    all_of,
    cast,
    column,
    count_rows,
    literal,
    over,
    row_number,
    same_value,
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
        number: a column that numbers them, if there is one.
    """

    relation: Relation
    records: str
    number: str = ""


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
    """The distinct rows of some columns, which keep their names, numbered in a temporary table.

    Args:
        session: where the table is.
        name: of the temporary table.
        table: one row for each record.
        columns: the columns.
    """
    records, number = free_name("records", columns), free_name("number", columns)
    keys = [column(c) for c in columns]
    numbered = aliased(over(row_number()), number)
    query = select(*keys, aliased(count_rows(), records), numbered).from_(table.table)
    if keys:
        query = query.group_by(*(key.copy() for key in keys))
    return Counted(session.run(Step(name, query)), records, number)


def with_values(
    session: Session,
    name: str,
    table: Relation,
    classes: Counted,
    columns: Sequence[str],
    other: str,
) -> Counted:
    """The values of another column in numbered classes, each counted once, in a temporary table.

    Args:
        session: where the table is.
        name: of the temporary table, which has the number of a class, and the column.
        table: one row for each record.
        classes: its distinct rows of some columns.
        columns: these.
        other: the column.
    """
    number, records = free_name("number", [other]), free_name("records", [other])
    same = (same_value(column(c, "rows"), column(c, "classes")) for c in columns)
    keys = column(classes.number, "classes"), column(other, "rows")
    query = (
        select(aliased(keys[0], number), keys[1], aliased(count_rows(), records))
        .from_(table.aliased("rows"))
        .join(classes.relation.aliased("classes"), on=all_of(*same))
        .group_by(*(key.copy() for key in keys))
    )
    return Counted(session.run(Step(name, query)), records, number)
