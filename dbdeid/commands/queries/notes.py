"""What a reader of an answer should know of how it came about."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from dbdeid.commands.queries.opened import Asked
from dbdeid.engine.expressions import column
from dbdeid.errors import did_you_mean
from dbdeid.query.desk.plan import Plan, Stranger
from dbdeid.query.forms.as_written import chooses, rounds
from dbdeid.query.parse.counterparts import approximated
from dbdeid.query.parse.question import Question, key_name
from dbdeid.query.parse.statement import names_of_tables
from dbdeid.query.rewrite.dictionary import Assumed


def of_plan(plan: Plan, text: str, asked: Asked, catalog: str) -> Iterator[str]:
    """What a reader should know of how the numbers came about."""
    if plan.question is not None:
        yield from map(_assumption, plan.assumed)
        if approximated(text):
            yield "approximate aggregates are answered as exact: COUNT(DISTINCT …), QUANTILE_CONT"
        known = asked.target.dictionary is None or plan.settled
        if not plan.question.aggregates and not known:
            yield "the groups that records may be of; COUNT(*) tells how many are certain to be"
    else:
        if asked.target.truthful:
            yield "exact of the records released: all columns asked for are released as they are"
        if chooses(plan.query):
            yield "records have another order than the source: of equals, another may be first"
        if rounds(plan.query, asked.target):
            yield (
                "floating point is added up in the order of the records, which is another one in "
                "the source: last digits may differ, and more where large numbers cancel out"
            )
    read = {name.lower() for name in names_of_tables(text, catalog)}
    joined = {t.name for t in asked.target.tables if t.name.lower() in read}
    for name in sorted(joined):
        yield f"{name} is read unchanged: it is no release, and nothing protects it"


def of_single(plan: Plan) -> Iterator[str]:
    """Where a variance may be none, since it is of one record."""
    for name in plan.maybe_single:
        yield (
            f"{name} may be NULL in the original, where a group may be of one record: its bounds "
            "hold where there are two or more"
        )


def of_none(plan: Plan, rows: Sequence[tuple[Any, ...]], suppressed: int | None) -> Iterator[str]:
    """Where no record is counted: small groups are often suppressed."""
    if plan.question is None or plan.question.keys or len(rows) != 1 or suppressed == 0:
        return
    ((row),), place = rows, 0
    for output in plan.question.outputs:
        counts = [plan.question.aggregates[one].kind == "count" for one in output.aggregates]
        if counts == [True] and row[place + 2] == 0:
            yield (
                "0 [0, 0] is of the records released, none of which can satisfy the conditions; "
                "suppressed records may, and small groups are suppressed first"
            )
            return
        place += 1 if output.shown is None else 3


def _assumption(one: Assumed) -> str:
    if one.what == "groups":
        return (
            f"groups by {one.column} tell nothing about the data: every released value stands for "
            "all of them, in about the same proportions"
        )
    if one.what == "finer":
        return (
            f"groups by {one.column} are finer than the release: {one.split} of {one.released} "
            "released values stand for several groups, among which records are spread evenly"
        )
    return (
        f"no released value of {one.column} tells whether the condition on it holds: expected "
        "values are assumed, only the bounds are known"
    )


def of_strangers(found: Iterable[Stranger]) -> Iterator[str]:
    """Texts that no value of their columns equals: often they are misspelled."""
    for one in found:
        like = [v for v in one.known if v.lower().startswith(one.constant.lower())]
        hint = f"did you mean {like[0]!r}?" if len(like) == 1 and one.constant else ""
        hint = hint or did_you_mean(one.constant, one.known)
        if len(one.known) > _FEW:
            hint = hint.split("Known: ")[0].strip()
        why = f"{one.constant!r} is no value of {one.column}, as far as the release lists them"
        yield f"{why}; {hint[:1].lower()}{hint[1:]}" if hint else why


_FEW = 20


def of_choice(
    plan: Plan,
    rows: Sequence[tuple[Any, ...]],
    beyond: tuple[Any, ...] | None,
    suppressed: int | None,
) -> Iterator[str]:
    """Where the original may have other groups than those that are shown.

    Args:
        plan: of the answer.
        rows: of the answer.
        beyond: the first row that LIMIT leaves out; None where it leaves out none.
        suppressed: how many records the release lacks; None where that is not known.
    """
    question = plan.question
    if question is None or question.limit == 0:
        return
    if not rows and not question.offset and (question.keys or plan.chooses):
        if plan.others or (plan.chooses and plan.doubtful):
            yield "no group is expected to satisfy the conditions: the original may have some"
        elif suppressed != 0:
            yield (
                "no group of the records released satisfies the conditions; groups of suppressed "
                "records may, and small groups are suppressed first"
            )
        return
    if not plan.chooses and beyond is None and not question.offset:
        yield from _others(plan)
        return
    if plan.doubtful:
        yield "which groups are shown goes by expected values: in the original others may belong"
    elif rows and beyond is not None and _are_equals(question, rows[-1], beyond):
        yield (
            "groups beyond the last one are as good by ORDER BY: those that come first in the "
            "order of their keys are shown, others may belong as well"
        )
    elif question.offset and not _by_all_keys(question):
        yield (
            "where ORDER BY finds groups equal, OFFSET leaves out those that come first in the "
            "order of their keys: in the original it may be others"
        )
    else:
        yield from _others(plan)


def _others(plan: Plan) -> Iterator[str]:
    if plan.others:
        yield (
            "groups in which no record is expected, as of NULL, are not listed: the original may "
            "have some"
        )


def _by_all_keys(question: Question) -> bool:
    """Whether no two groups can be equal by ORDER BY."""
    terms = [order.term for order in question.order]
    return all(column(key_name(place)) in terms for place in range(len(question.keys)))


def _are_equals(question: Question, last: tuple[Any, ...], beyond: tuple[Any, ...]) -> bool:
    """Whether ORDER BY is known to find two rows equal."""
    places, place = dict[Any, int](), 0
    for output in question.outputs:
        term = output.shown if output.key is None else column(key_name(output.key))
        if term is not None:
            places.setdefault(term, place)
        place += 1 if output.shown is None else 3
    found = [places.get(order.term) for order in question.order]
    return all(at is not None and last[at] == beyond[at] for at in found)
