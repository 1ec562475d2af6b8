"""What is known of conditions on groups: whether a group satisfies one for certain, or may.

A comparison of intervals is certain where it holds between whatever their ends are, and possible
where it holds between some of their values. What is not compared in this way is never certain and
always possible, so that bounds hold of any condition.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from sqlglot import exp

from dbdeid.query.groups.intervals import Interval, interval
from dbdeid.query.parse.expressions import NUMERIC_TYPES, bare, constant


@dataclass(frozen=True)
class Decided:
    """What is known of a condition: none of it is ever NULL.

    Attributes:
        holds, may_hold: whether it is true for certain, or may be.
        fails, may_fail: whether it is false for certain, or may be.
    """

    holds: exp.Expr
    may_hold: exp.Expr
    fails: exp.Expr
    may_fail: exp.Expr


def decided(node: exp.Expr | None, of: Mapping[str, Interval], rounded: Collection[str]) -> Decided:
    """What is known of a condition on groups.

    Args:
        node: over placeholders; None: there is none.
        of: the interval of each.
        rounded: those whose ends are computed, and may be off by an error of rounding.
    """
    if node is None:
        return Decided(exp.true(), exp.true(), exp.false(), exp.false())
    node = bare(node)
    if isinstance(node, (exp.And, exp.Or)):
        one, two = decided(node.this, of, rounded), decided(node.expression, of, rounded)
        both, either = (exp.and_, exp.or_) if isinstance(node, exp.And) else (exp.or_, exp.and_)
        return Decided(
            both(one.holds, two.holds),
            both(one.may_hold, two.may_hold),
            either(one.fails, two.fails),
            either(one.may_fail, two.may_fail),
        )
    if isinstance(node, exp.Not):
        inner = decided(node.this, of, rounded)
        return Decided(inner.fails, inner.may_fail, inner.holds, inner.may_hold)
    if isinstance(node, exp.Between) and not node.args.get("symmetric"):
        low = exp.GTE(this=node.this.copy(), expression=node.args["low"].copy())
        high = exp.LTE(this=node.this.copy(), expression=node.args["high"].copy())
        return decided(exp.and_(low, high), of, rounded)
    if isinstance(node, _COMPARED):
        return _compared(node, of, rounded)
    return Decided(exp.false(), exp.true(), exp.false(), exp.true())


_COMPARED = (exp.GT, exp.GTE, exp.LT, exp.LTE, exp.EQ, exp.NEQ)


def _compared(node: exp.Binary, of: Mapping[str, Interval], rounded: Collection[str]) -> Decided:
    sides = [_side(part, of, rounded) for part in (node.this, node.expression)]
    if any(side is None for side in sides):
        return Decided(exp.false(), exp.true(), exp.false(), exp.true())
    (one, one_is), (two, two_is) = (side for side in sides if side is not None)
    if isinstance(node, (exp.LT, exp.LTE)):
        one, two = two, one
    sure: exp.Expr
    never: exp.Expr
    if isinstance(node, (exp.EQ, exp.NEQ)):
        sure = exp.and_(*(end.eq(one.lower) for end in (one.upper, two.lower, two.upper)))
        never = exp.or_(_apart(exp.LT, one.upper, two.lower), _apart(exp.GT, one.lower, two.upper))
        negated = isinstance(node, exp.NEQ)
    else:
        strict = isinstance(node, (exp.GT, exp.LT))
        above, below = (exp.GT, exp.LTE) if strict else (exp.GTE, exp.LT)
        sure, never = _apart(above, one.lower, two.upper), _apart(below, one.upper, two.lower)
        negated = False
    known = exp.and_(one_is, two_is)
    holds, fails = (exp.and_(known, _true(outcome)) for outcome in (sure, never))
    may_hold, may_fail = exp.not_(exp.paren(_true(never))), exp.not_(exp.paren(_true(sure)))
    if negated:
        return Decided(fails, may_fail, holds, may_hold)
    return Decided(holds, may_hold, fails, may_fail)


def _apart(kind: type[exp.Binary], one: exp.Expr, two: exp.Expr) -> exp.Expr:
    return kind(this=exp.paren(one.copy()), expression=exp.paren(two.copy()))


def _true(node: exp.Expr) -> exp.Expr:
    return exp.Coalesce(this=exp.paren(node.copy()), expressions=[exp.false()])


def _side(
    node: exp.Expr, of: Mapping[str, Interval], rounded: Collection[str]
) -> tuple[Interval, exp.Expr] | None:
    """One side of a comparison, and whether it is not NULL; None where it is not known."""
    if not node.find(exp.Column):
        return Interval(node, node, node), exp.true()
    inner = bare(node)
    if isinstance(inner, exp.Column):
        found = of[inner.name]
        return found.nearly if inner.name in rounded else found, present(inner, of)
    known = all(isinstance(part, _KNOWN) for part in exp.paren(node.copy()).walk())
    casts = exp.paren(node.copy()).find_all(exp.Cast)
    if not known or any(cast.to.this not in NUMERIC_TYPES for cast in casts):
        return None
    return interval(node, of).nearly, present(node, of)


_KNOWN = (
    *(exp.Column, exp.Identifier, exp.Literal, exp.Paren, exp.Neg, exp.Add, exp.Sub, exp.Mul),
    *(exp.Div, exp.Round, exp.Floor, exp.Ceil, exp.Cast, exp.DataType, exp.Nullif),
)


def present(node: exp.Expr, of: Mapping[str, Interval]) -> exp.Expr:
    """Whether an expression of groups is not NULL for certain, itself never NULL."""
    node = bare(node)
    if not node.find(exp.Column):
        return exp.false() if isinstance(node, exp.Null) else exp.true()
    if isinstance(node, exp.Column):
        one = of[node.name]
        if node.name.startswith("key_"):
            return one.value.copy().is_(exp.null()).not_()
        if one.counts:
            return exp.true()
        return exp.false() if one.records is None else _true(one.records[0].copy() > 0)
    if isinstance(node, exp.Coalesce):
        return exp.or_(*(present(part, of) for part in (node.this, *node.expressions)))
    if isinstance(node, exp.Nullif):
        inner, none = interval(node.this, of).nearly, node.expression
        apart = exp.or_(_apart(exp.GT, inner.lower, none), _apart(exp.LT, inner.upper, none))
        return exp.and_(present(node.this, of), _true(apart))
    if isinstance(node, exp.If):  # a mean where a count is not 0
        count = interval(node.this.this, of)
        return exp.and_(_true(count.lower.copy() > 0), present(node.args["true"], of))
    if isinstance(node, (exp.TryCast, exp.Anonymous)):  # which may be none of numbers
        return exp.false()
    known = [present(part, of) for part in node.iter_expressions() if part.find(exp.Column)]
    if isinstance(node, exp.Div) and constant(node.expression) is None:
        shown = interval(node, of)  # where a divisor may be 0, it has no bounds
        known += [end.copy().is_(exp.null()).not_() for end in (shown.lower, shown.upper)]
    return exp.and_(*known)


def possible(node: exp.Expr, of: Mapping[str, Interval]) -> exp.Expr:
    """Whether an expression of groups may be something else than NULL."""
    if node.find(exp.Coalesce):
        return exp.true()
    held = exp.paren(node.copy())
    counts = (of[c.name].records for c in held.find_all(exp.Column) if not of[c.name].counts)
    some = [both[1].copy() > 0 for both in counts if both is not None]
    return exp.and_(*some) if some else exp.true()
