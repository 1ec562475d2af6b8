"""What each role of a column would cost: numbers that its owner needs to choose one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from dbdeid.engine.expressions import (
    Expr,
    Select,
    aliased,
    column,
    count_rows,
    function,
    literal,
    max_of,
    min_of,
    select,
    union_all,
)
from dbdeid.engine.relation import Relation
from dbdeid.engine.session import Session, Step
from dbdeid.engine.sqltext import step
from dbdeid.profiling.detect import DetectedColumn

MOST_RECORDS = 1_000_000  # looked at, in whole classes of the quasi-identifiers


@dataclass(frozen=True, slots=True)
class Distinctness:
    """How many people a column singles out.

    Attributes:
        alone: share of the records whose value nobody else has; of several records of one
            subject, the value is the subject's alone.
        most: share of the records that have its most frequent value, NULL being one.
    """

    alone: float
    most: float


@dataclass(frozen=True, slots=True)
class Uniqueness:
    """Shares of the records that are unique, as they are.

    Attributes:
        now: on the quasi-identifiers; a class of one subject's records is unique.
        joined: with one more column, by its name.
    """

    now: float
    joined: dict[str, float]


def distinctness(
    session: Session,
    table: Relation,
    found: Sequence[DetectedColumn],
    subject: DetectedColumn | None,
) -> dict[str, Distinctness]:
    """How far each column tells persons apart by itself, by name.

    Args:
        session: where the table is.
        table: that the columns are in.
        found: the columns.
        subject: that tells whose record it is; None: each is somebody else's.
    """
    if not found:
        return {}
    who = None if subject is None else column(subject.name)
    groups = [_group(table.table, place, [f.name], who) for place, f in enumerate(found)]
    return {
        found[place].name: Distinctness(float(alone), float(most))
        for place, alone, most in session.rows(_telling(groups))
    }


def uniqueness(
    session: Session,
    table: Relation,
    quasi_identifiers: Sequence[DetectedColumn],
    open_ones: Sequence[DetectedColumn],
    subject: DetectedColumn | None,
) -> Uniqueness | None:
    """How many records are unique on the quasi-identifiers, and with each of some columns more.

    Of a large table some classes are looked at, each with all its records.

    Returns:
        None where there is no quasi-identifier.
    """
    if not quasi_identifiers:
        return None
    key = function("hash", *(column(f.name) for f in quasi_identifiers))
    kept: list[Expr] = [aliased(key, "class")]
    if subject is not None:
        kept.append(aliased(column(subject.name), "who"))
    kept += [aliased(column(f.name), f"value_{place}") for place, f in enumerate(open_ones)]
    query = select(*kept).from_(table.table)
    every = -(-quasi_identifiers[0].records // MOST_RECORDS)
    if every > 1:
        rest = key.copy() % literal(every)
        query = query.where(rest.eq(literal(0)))
    staged = session.run(Step("deid_draft_classes", query))
    who = None if subject is None else column("who")
    names = [["class"], *(["class", f"value_{place}"] for place in range(len(open_ones)))]
    groups = [_group(staged.table, place, some, who) for place, some in enumerate(names)]
    alone = {place: float(share) for place, share, _ in session.rows(_telling(groups))}
    session.drop_temp("deid_draft_classes")
    joined = {f.name: alone.get(place, 0.0) for place, f in enumerate(open_ones, 1)}
    return Uniqueness(alone.get(0, 0.0), joined)


def _telling(groups: Sequence[Select]) -> Expr:
    # one statement for all columns: to write it takes longer than to run it
    return step(
        "profiling/telling",
        {"rel": union_all(*groups) if len(groups) > 1 else groups[0]},
    )


def _group(table: Expr, place: int, names: Sequence[str], who: Expr | None) -> Select:
    """The different values of some columns, with their records, and the first and last owner."""
    n = count_rows()
    first: Expr = literal(1) if who is None else min_of(who.copy())
    last: Expr = n.copy() if who is None else max_of(who.copy())
    return (
        select(
            aliased(literal(place), "place"),
            aliased(n, "n"),
            aliased(first, "first_one"),
            aliased(last, "last_one"),
        )
        .from_(table.copy())
        .group_by(*(column(name) for name in names))
    )
