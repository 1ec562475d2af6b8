"""Whether a release is of any use: what reads the same in every record, why, and what to change.

A release may keep every promise because nothing is left in it. That is no success, so a run says it
before anything else.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence

from dbdeid.data.hierarchy import TOP
from dbdeid.engine.reading import NotSql, columns_in
from dbdeid.engine.sqltext import statements
from dbdeid.errors import in_a_line
from dbdeid.methods.common.outcome import Outcome
from dbdeid.methods.registry import method_of
from dbdeid.prepare.prepare import Prepared
from dbdeid.record.making import Column
from dbdeid.utility.query_error import Workload

ALL_LOST = 0.99  # of a column's detail: what is left answers no question
LOOK = "`dbdeid check` says which model and which column cost most"


def useless(
    prepared: Prepared,
    outcome: Outcome,
    columns: Sequence[Column],
    workload: Workload | None,
) -> tuple[str, ...]:
    """Sentences on what nobody can use, each with why it is so and what to change.

    Args:
        prepared: the prepared spec.
        outcome: how the release was made.
        columns: of the written table.
        workload: what is asked of it; None where the spec has no queries.
    """
    names = [q.name for q in prepared.quasi_identifiers]
    of = {c.name: c for c in columns}
    blank = [name for name in names if _blank(of[name], prepared, name)]
    if names and blank == names:
        less = f"Ask for less of a model, or drop a quasi-identifier: {LOOK}"
        why, change = method_of(prepared.bound).why_blank(prepared, outcome.search, less)
        shown = f"`{TOP}`" if all(_star(of[name]) for name in names) else "one value"
        return (
            f"every quasi-identifier is {shown} in every record, the same for all: "
            f"{_listed(names)}. {why}. {change}",
        )
    return tuple(_asked_in_vain(names, blank, of, workload))


def _blank(column: Column, prepared: Prepared, name: str) -> bool:
    """Whether all records read the same, though not because the source does."""
    coding = next(q.coding for q in prepared.quasi_identifiers if q.name == name)
    return _star(column) or (len(column.labels) == 1 and len(coding.leaf) > 1)


def _star(column: Column) -> bool:
    return column.labels == (TOP,)


def _asked_in_vain(
    names: Sequence[str],
    blank: Collection[str],
    of: Mapping[str, Column],
    workload: Workload | None,
) -> Iterator[str]:
    """Columns that the workload asks about, and of which nothing is left to answer with."""
    if workload is None:
        return
    asking = [asked(query.sql, names) for query in workload.queries]
    for name in names:
        number = sum(name in columns for columns in asking)
        loss = of[name].loss
        if not number:
            continue
        if name in blank:
            left = f"is {f'`{TOP}`' if _star(of[name]) else 'one value'} in every record"
        elif loss is not None and loss >= ALL_LOST:
            left = f"has lost {loss:.1%} of its detail"
        else:
            continue
        yield (
            f"{name} {left}, and {number} of the {len(asking)} queries of the workload "
            f"{'asks' if number == 1 else 'ask'} about it. Nothing of it can be answered. Give "
            f"{name} a greater `weight` or a `max_level`, drop other quasi-identifiers, or ask for "
            f"less of a model: {LOOK}"
        )


def unanswered(workload: Workload | None) -> tuple[str, ...]:
    """A sentence on each question of the workload that a release does not answer, and why."""
    if workload is None:
        return ()
    return tuple(
        f"{query.name} of the workload is not answered: {in_a_line(query.refused)}"
        for query in workload.queries
        if query.refused
    )


def asked(query: str, names: Collection[str]) -> frozenset[str]:
    """Which of some columns a query names; none, where it is no SQL."""
    try:
        trees = statements(query)
    except NotSql:
        return frozenset()
    spelled = {name.lower(): name for name in names}
    found = (name.lower() for tree in trees if tree is not None for name in columns_in(tree))
    return frozenset(spelled[name] for name in found if name in spelled)


def _listed(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
