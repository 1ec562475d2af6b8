"""Staging: the source as coded temporary tables, down to distinct quasi-identifier tuples.

Originals are staged in temporary tables only. In `deid_coded` every quasi-identifier holds the code
of its value; `deid_tuples` counts the records of each distinct tuple of codes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sqlglot import exp

from dbdeid.engine.relation import Column, Relation, cast, column, identifier
from dbdeid.engine.session import Session, Step

SOURCE = Relation("deid_source", schema="main", catalog="temp")
CODED = Relation("deid_coded", schema="main", catalog="temp")
TUPLES = Relation("deid_tuples", schema="main", catalog="temp")


@dataclass(frozen=True, slots=True)
class Staged:
    """A column to stage: its name, its type in the source and the type it is released with."""

    column: Column
    released_type: str


def source_step(source: exp.Query, columns: Sequence[Staged]) -> Step:
    """Stage the columns that are released; no identifier is ever copied."""
    picked = [_released(c) for c in columns]
    return Step(SOURCE.name, exp.select(*picked).from_(source.subquery("source")))


def _released(staged: Staged) -> exp.Expr:
    value: exp.Expr = column(staged.column.name, "source")
    if staged.released_type != staged.column.type:
        value = cast(value, staged.released_type)
    return exp.alias_(value, identifier(staged.column.name))


def values_relation(number: int) -> Relation:
    """The table of the values of one quasi-identifier: value, code."""
    return Relation(f"deid_values_{number}", schema="main", catalog="temp")


def values_step(number: int, name: str) -> Step:
    """Number the distinct values of a quasi-identifier in their own order, NULL last."""
    distinct = exp.select(exp.alias_(column(name), "value")).distinct().from_(SOURCE.table)
    order = exp.Ordered(this=exp.column("value"), nulls_first=False)
    number_of = exp.Window(this=exp.RowNumber(), order=exp.Order(expressions=[order]))
    code = cast(exp.paren(number_of) - 1, "UINTEGER")
    query = exp.select("value", exp.alias_(code, "code")).from_(distinct.subquery("found"))
    return Step(values_relation(number).name, query)


def coded_step(names: Sequence[str], quasi_identifiers: Sequence[str]) -> Step:
    """Replace each quasi-identifier by the code of its value."""
    number = {name: i for i, name in enumerate(quasi_identifiers)}
    picked = [
        exp.alias_(exp.column("code", f"v{number[n]}"), identifier(n))
        if n in number
        else column(n, "source")
        for n in names
    ]
    query = exp.select(*picked).from_(exp.alias_(SOURCE.table, "source", table=True))
    for name, i in number.items():
        same = exp.NullSafeEQ(this=column(name, "source"), expression=exp.column("value", f"v{i}"))
        query = query.join(exp.alias_(values_relation(i).table, f"v{i}", table=True), on=same)
    return Step(CODED.name, query)


def tuples_step(quasi_identifiers: Sequence[str]) -> Step:
    """The distinct tuples of codes q0, q1, … and the records behind each."""
    keys = [exp.alias_(column(name, "coded"), f"q{i}") for i, name in enumerate(quasi_identifiers)]
    query = (
        exp.select(*keys, exp.alias_(exp.Count(this=exp.Star()), "records"))
        .from_(exp.alias_(CODED.table, "coded", table=True))
        .group_by(*[column(name, "coded") for name in quasi_identifiers])
    )
    return Step(TUPLES.name, query)


def values_of(session: Session, number: int) -> list[str | None]:
    """The distinct values of a quasi-identifier as text, in the order of their codes."""
    text = cast(exp.column("value"), "VARCHAR")
    query = exp.select(text).from_(values_relation(number).table).order_by("code")
    return [row[0] for row in session.rows(query)]
