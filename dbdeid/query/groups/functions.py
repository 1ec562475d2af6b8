"""Functions of intervals: such as never fall, and such as fall and rise in pieces.

Bounds are known only where each value between them is a number. SQRT of what may be below 0 and LN
of what may be have none, since DuckDB has NaN there, which is above all numbers where it is
compared.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from sqlglot import exp

from dbdeid.query.groups.intervals import Interval, double, places_of_all

_ZERO = exp.Literal.number(0)


def absolute(inner: Interval) -> Interval:
    """ABS: it falls up to 0 and rises from there."""
    value = exp.Abs(this=exp.paren(inner.value.copy()))
    if inner.unknown:
        return replace(inner, value=value, counts=False)
    lower, upper = inner.lower, inner.upper
    least = (
        exp.case()
        .when(lower.copy() >= _ZERO, lower.copy())
        .when(upper.copy() <= _ZERO, exp.Neg(this=exp.paren(upper.copy())))
        .when(exp.and_(*_known(inner)), _ZERO.copy())
    )
    sizes = [exp.Abs(this=exp.paren(end.copy())) for end in (lower, upper)]
    most = exp.case().when(exp.and_(*_known(inner)), _pick(exp.Greatest, sizes))
    return Interval(
        value, least, most, whole=inner.whole, records=inner.records, places=inner.places
    )


def power(inner: Interval, exponent: int) -> Interval:
    """A power by a whole number from 1 on: where it is even, that of ABS."""
    base = absolute(inner) if exponent % 2 == 0 else inner

    def raised(end: exp.Expr) -> exp.Expr:
        return exp.Pow(this=double(end), expression=exp.Literal.number(exponent))

    return computed(replace(base, value=inner.value), raised)


def root(inner: Interval, made: Callable[[exp.Expr], exp.Expr]) -> Interval:
    """SQRT, where nothing may be below 0."""
    some = computed(inner, made)
    return _where(some, inner.value.copy() >= _ZERO, *2 * [inner.lower.copy() >= _ZERO])


def logarithm(inner: Interval, made: Callable[[exp.Expr], exp.Expr]) -> Interval:
    """LN and LOG10: of 0 it is less than all numbers."""
    some = computed(inner, made)
    above = inner.lower.copy() > _ZERO
    upper = exp.and_(inner.lower.copy() >= _ZERO, inner.upper.copy() > _ZERO)
    return _where(some, inner.value.copy() > _ZERO, above, upper)


def computed(inner: Interval, made: Callable[[exp.Expr], exp.Expr]) -> Interval:
    """What never falls, and is computed in DOUBLE to the last digits but one."""
    if inner.whole:  # whole numbers are further apart than that
        return replace(inner.map(made), whole=False)
    return inner.nearly.map(made).nearly


def extreme(
    kind: type[exp.Expr],
    parts: Sequence[Interval],
    sure: Sequence[exp.Expr],
    possible: Sequence[exp.Expr],
) -> Interval:
    """GREATEST or LEAST, which leave out NULL.

    Args:
        kind: which of both.
        parts: what of.
        sure: whether each is known not to be NULL.
        possible: whether each may be something else.
    """
    value = _pick(kind, [exp.paren(part.value) for part in parts])
    if any(part.unknown for part in parts):
        return Interval(value, exp.null(), exp.null())
    if kind is exp.Least:
        turned = [Interval(p.value, p.upper, p.lower) for p in parts]
        inner_most: type[exp.Expr] = exp.Greatest
    else:
        turned, inner_most = list(parts), exp.Least
    # it is no less than any part that is there, and no more than any that may be
    there = [
        exp.case().when(known.copy(), part.lower.copy())
        for known, part in zip(sure, turned, strict=True)
    ]
    near: exp.Expr = exp.Coalesce(
        this=_pick(kind, there), expressions=[_pick(inner_most, [p.lower for p in turned])]
    )
    far: exp.Expr = _pick(kind, [p.upper for p in turned])
    known = exp.and_(
        *(
            exp.paren(exp.or_(exp.and_(*_known(part)), exp.not_(exp.paren(may.copy()))))
            for part, may in zip(parts, possible, strict=True)
        )
    )
    near, far = (exp.case().when(known.copy(), end) for end in (near, far))
    lower, upper = (far, near) if kind is exp.Least else (near, far)
    return Interval(value, lower, upper, whole=_all_whole(parts), places=places_of_all(parts))


@dataclass(frozen=True)
class Branch:
    """What CASE gives where a condition holds.

    Attributes:
        expected: the condition by what is expected; None after ELSE.
        holds, may_hold: whether it is true for certain, or may be.
        result: what there is then; None: NULL.
        possible: whether that may be something else than NULL.
    """

    expected: exp.Expr | None
    holds: exp.Expr
    may_hold: exp.Expr
    result: Interval | None
    possible: exp.Expr


def chosen(branches: Sequence[Branch], once: Callable[[exp.Expr], exp.Expr]) -> Interval:
    """CASE: between the least and the greatest of the branches that may be taken.

    Args:
        branches: in order.
        once: an expression that can stand in several places.
    """
    value = exp.case()
    taken: list[tuple[exp.Expr, Branch, Interval]] = []
    left: exp.Expr = exp.true()  # whether no branch before is taken for certain
    for branch in branches:
        result = exp.null() if branch.result is None else branch.result.value.copy()
        if branch.expected is None:
            value = value.else_(result, copy=False)
        else:
            value = value.when(exp.paren(branch.expected), result, copy=False)
        reached = once(exp.and_(branch.may_hold, left))
        left = once(exp.and_(left, exp.not_(exp.paren(branch.holds))))
        if branch.result is not None:
            taken.append((reached, branch, branch.result))
    results = [result for _, _, result in taken]
    if any(result.unknown for result in results):
        return Interval(value, exp.null(), exp.null())
    known = [
        exp.paren(
            exp.or_(
                exp.not_(exp.paren(reached.copy())),
                exp.and_(*_known(result)),
                exp.not_(exp.paren(branch.possible.copy())),
            )
        )
        for reached, branch, result in taken
    ]
    ends = []
    for pick, of in ((exp.Least, "lower"), (exp.Greatest, "upper")):
        each: list[exp.Expr] = [
            exp.case().when(exp.paren(reached.copy()), getattr(result, of).copy())
            for reached, _, result in taken
        ]
        ends.append(exp.case().when(exp.and_(*(k.copy() for k in known)), _pick(pick, each)))
    places = places_of_all(results)
    return Interval(value, ends[0], ends[1], whole=_all_whole(results), places=places)


def _pick(kind: type[exp.Expr], parts: Sequence[exp.Expr]) -> exp.Expr:
    """GREATEST or LEAST, which leaves out NULL."""
    first, *others = (part.copy() for part in parts)
    return kind(this=first, expressions=others, ignore_nulls=True) if others else first


def _known(one: Interval) -> list[exp.Expr]:
    return [end.copy().is_(exp.null()).not_() for end in (one.lower, one.upper)]


def _where(some: Interval, value: exp.Expr, lower: exp.Expr, upper: exp.Expr) -> Interval:
    """An interval whose parts are there where conditions hold."""
    kept = replace(some, value=exp.case().when(value, some.value))
    if some.unknown:
        return kept
    ends = (exp.case().when(lower, some.lower), exp.case().when(upper, some.upper))
    return replace(kept, lower=ends[0], upper=ends[1])


def _all_whole(parts: Sequence[Interval]) -> bool:
    return all(part.whole for part in parts)
