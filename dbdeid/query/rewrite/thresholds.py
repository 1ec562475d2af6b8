"""Comparisons of records with a number of a subquery that is known between bounds only.

`x > (SELECT AVG(x) FROM …)` holds for certain where x is above the greatest that the mean can be,
and may hold where it is above the least; expected is what holds above the expected mean. A record
is looked at in all three ways, and counts for certain where it does in each.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from sqlglot import exp

from dbdeid.engine.expressions import cast, column, identifier, union_all
from dbdeid.query.forms.constant_subqueries import written
from dbdeid.query.parse.expressions import alternatives, bare, is_alternatives
from dbdeid.query.parse.layers import with_terms
from dbdeid.query.parse.outputs import CORRELATION
from dbdeid.query.parse.question import Output, Question, aggregate_place
from dbdeid.query.parse.statement import within

_ERROR = 1e-12  # relative; of some thousand sums of a DOUBLE
WAYS = "three_ways"  # at records, where a condition is known in part


@dataclass(frozen=True)
class Threshold:
    """A number of a subquery, as constants.

    Attributes:
        value: what is expected.
        lower, upper: what it cannot be beyond; None where that is not known.
        certain: whether there is such a number, which is NULL else.
    """

    value: exp.Expr
    lower: exp.Expr | None
    upper: exp.Expr | None
    certain: bool


def with_thresholds(
    select: exp.Select, threshold: Callable[[exp.Select], Threshold | None]
) -> bool:
    """Put what is known of subqueries into the conditions that compare with them; whether any is.

    Only conditions that must hold beside others are looked at, so that each makes records fewer.

    Args:
        select: of the source; it is changed.
        threshold: what a subquery gives; None where that is no number, or not known.
    """
    found = False
    given = select.args.get("with_")
    terms = given.expressions if given is not None else ()
    for clause in list(select.find_all(exp.Where)):
        for part in list(_conjuncts(clause.this)):
            for side, other in (("this", "expression"), ("expression", "this")):
                if type(part) not in _FLIPPED or not isinstance(part.args[side], exp.Subquery):
                    continue
                inner = within(part.args[side])
                known = isinstance(inner, exp.Select) and threshold(with_terms(inner, terms))
                if not known:
                    continue
                kind = type(part) if side == "expression" else _FLIPPED[type(part)]
                part.replace(_compared(kind, part.args[other], known))
                found = True
                break
    return found


def _conjuncts(node: exp.Expr) -> Iterator[exp.Expr]:
    inner = bare(node)
    if isinstance(inner, exp.And):
        yield from _conjuncts(inner.this)
        yield from _conjuncts(inner.expression)
    else:
        yield inner


_FLIPPED: dict[type[exp.Expr], type[exp.Binary]] = {
    **{exp.GT: exp.LT, exp.GTE: exp.LTE, exp.LT: exp.GT, exp.LTE: exp.GTE},
    **{exp.EQ: exp.EQ, exp.NEQ: exp.NEQ},
}


def _compared(kind: type[exp.Expr], value: exp.Expr, known: Threshold) -> exp.Expr:
    """A comparison in three ways; what is not known may hold of any value, and surely of none."""
    held = exp.paren(value.copy())

    def by(sign: type[exp.Expr], end: exp.Expr | None, otherwise: exp.Expr) -> exp.Expr:
        return otherwise if end is None else sign(this=held.copy(), expression=end.copy())

    some, none = held.copy().is_(exp.null()).not_(), exp.false()
    expected = by(kind, known.value, none)
    lower, upper = known.lower, known.upper
    may: exp.Expr
    sure: exp.Expr
    if kind in (exp.EQ, exp.NEQ):
        above, below = by(exp.GTE, lower, some), by(exp.LTE, upper, some)
        among, one = exp.and_(above, below), lower is not None and lower == upper
        if kind is exp.EQ:
            may, sure = among, (among if one else none)
        else:
            may, sure = (exp.not_(exp.paren(among)) if one else some), exp.not_(exp.paren(among))
    else:
        far, near = (upper, lower) if kind in (exp.GT, exp.GTE) else (lower, upper)
        may, sure = by(kind, near, some), by(kind, far, none)
    return alternatives(expected, may, sure if known.certain else none)


def of_number(question: Question) -> Question | None:
    """A question of one number with how many records each aggregate is of; None of other ones.

    Its answer has the number between its bounds first, then as many records between theirs.
    """
    shown = [output.shown for output in question.outputs]
    if question.keys or len(shown) != 1 or shown[0] is None or question.having is not None:
        return None
    if question.limit == 0 or question.offset:
        return None
    used = {aggregate_place(c.name) for c in exp.paren(shown[0].copy()).find_all(exp.Column)}
    aggregates, outputs = list(question.aggregates), list(question.outputs)
    for place in sorted(used):
        one = question.aggregates[place]
        if one.over is not None:
            return None
        if one.kind in ("count", "distinct"):
            continue
        if one.records not in aggregates:
            aggregates.append(one.records)
        at = aggregates.index(one.records)
        outputs.append(Output.of(f"records {at}", at))
    return replace(question, aggregates=tuple(aggregates), outputs=tuple(outputs), order=())


def threshold_of(row: Sequence[Any], question: Question, *, rounded: bool = False) -> Threshold:
    """The threshold in the one row of the answer to `of_number`.

    `rounded`: whether the original may have another number in the last digits.
    """
    found = list(row[:3])
    if rounded:
        found[1:] = [
            None if end is None else float(end) + sign * abs(float(end)) * _ERROR
            for end, sign in zip(row[1:3], (-1, 1), strict=True)
        ]
    value, lower, upper = (None if cell is None else written(cell) for cell in found)
    if value is None:
        value = lower if lower is not None else upper
    if value is None:  # as of a variance of one record, so that nothing is expected to hold
        return Threshold(exp.null(), None, None, certain=False)
    shown = exp.paren(question.outputs[0].shown.copy()) if question.outputs[0].shown else None
    if shown is not None and any(
        node.name == CORRELATION for node in shown.find_all(exp.Anonymous)
    ):
        return Threshold(value, None, None, certain=False)  # it may be NaN, above all numbers
    strict = shown is not None and not shown.find(*_MAY_BE_NULL)
    least = 1 if any(one.kind == "var_samp" for one in question.aggregates) else 0
    there = all(cell is not None and cell > least for cell in row[4::3])
    return Threshold(value, lower, upper, certain=strict and there)


_MAY_BE_NULL = (exp.Nullif, exp.Coalesce, exp.If, exp.Case, exp.Greatest, exp.Least)


# -- of a record ---------------------------------------------------------------------------------


def in_each_way(node: exp.Expr) -> exp.Expr:
    """A condition that is known in part as one of the way in which a record is looked at."""
    if not is_alternatives(node):
        return node
    expected, may, sure = node.expressions
    way = exp.Case(this=column("way", WAYS))
    return exp.paren(way.when("1", may).when("2", sure).else_(expected))


def three_ways() -> exp.Expr:
    """The ways, of which the first alone is expected."""
    rows = [
        exp.select(
            exp.alias_(exp.Literal.number(way), "way"),
            exp.alias_(cast(exp.Literal.number(share), "DOUBLE"), "share"),
        )
        for way, share in ((0, 1), (1, 0), (2, 0))
    ]
    return union_all(*rows).subquery(identifier(WAYS), copy=False)
