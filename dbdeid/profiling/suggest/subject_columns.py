"""Whose record a record is: columns that number persons, and what repeats where none does."""

from __future__ import annotations

from collections.abc import Sequence

from dbdeid.engine.expressions import column, count_rows, select
from dbdeid.engine.relation import Relation
from dbdeid.engine.session import Session
from dbdeid.profiling.detect import DetectedColumn, Kind, subject_candidates

# What persons rarely share, and have more than one of: only where nothing numbers them.
_OTHERWISE: frozenset[Kind] = frozenset(("mail", "phone"))


def candidates(
    session: Session, table: Relation, found: Sequence[DetectedColumn]
) -> tuple[DetectedColumn, ...]:
    """The columns that may say whose each record is, the likeliest first.

    Each is an identifier by its name or its shape, repeats, and has a value in every record. Of
    columns that number the same persons only one is listed.
    """
    some = [f for f in subject_candidates(found) if f.kind != "person_name"]  # many share one
    numbers = [f for f in some if f.kind not in _OTHERWISE]
    chosen: list[DetectedColumn] = []
    for one in numbers or some:
        if not any(same(session, table, one, other) for other in chosen):
            chosen.append(one)
    return tuple(chosen)


def same(session: Session, table: Relation, one: DetectedColumn, other: DetectedColumn) -> bool:
    """Whether two columns number the same: each value of one goes with one of the other."""
    if one.distinct != other.distinct:
        return False
    pairs = select(column(one.name), column(other.name)).distinct().from_(table.table)
    counted = select(count_rows()).from_(pairs.subquery("pairs"))
    return int(session.row(counted)[0]) == one.distinct
