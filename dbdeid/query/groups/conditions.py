"""What is shown of groups, as an interval, and whether a group satisfies a condition for certain.

A comparison of intervals is certain where it holds between whatever their ends are, and possible
where it holds between some of their values. What is not compared in this way is never certain and
always possible, so that bounds hold of any condition.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, replace

from sqlglot import exp

from dbdeid.query.groups.exactly import places_of, places_rounded
from dbdeid.query.groups.functions import (
    Branch,
    absolute,
    chosen,
    computed,
    extreme,
    logarithm,
    power,
    root,
)
from dbdeid.query.groups.held import Held
from dbdeid.query.groups.intervals import (
    ARITHMETIC,
    ERROR,
    OF_FLOAT,
    Interval,
    correlation,
    first_known,
    is_whole,
    of_operand,
    share_of,
    unless,
)
from dbdeid.query.parse.expressions import NUMERIC_TYPES, bare, constant
from dbdeid.query.parse.outputs import compared

_ZERO = exp.Literal.number(0)


# -- what is shown ---------------------------------------------------------------------------------


def interval(node: exp.Expr, of: Held) -> Interval:
    """What is shown, of the intervals of the aggregates that it names.

    Args:
        node: as a question holds it; `parse.outputs` takes no other nodes than those here.
        of: the interval of each name.
    """
    if isinstance(node, exp.Column):
        return of[node.name]
    if not node.find(exp.Column):
        return Interval(node, node, node, whole=is_whole(node), places=places_of(node))
    return of.computed(node, lambda: _computed(node, of))


def _computed(node: exp.Expr, of: Held) -> Interval:
    if isinstance(node, exp.Anonymous):
        return correlation([interval(part, of) for part in node.expressions])
    if isinstance(node, exp.Coalesce):
        return first_known([interval(part, of) for part in (node.this, *node.expressions)], of.ends)
    if isinstance(node, (exp.Greatest, exp.Least)):
        parts = [node.this, *node.expressions]
        sure, may = ([known(part, of) for part in parts] for known in (present, possible))
        return extreme(type(node), [interval(part, of) for part in parts], sure, may)
    if isinstance(node, exp.Case):
        return chosen(list(_branches(node, of)), of.once)
    if isinstance(node, exp.If):  # a mean or a sum where a count is not 0
        count, mean = (interval(part, of) for part in (node.this.this, node.args["true"]))
        there, may_be = (
            exp.case().when(end.copy() > _ZERO, c)
            for end, c in ((count.value, mean.value), (count.upper, mean.lower))
        )
        if mean.unknown:
            return Interval(there, exp.null(), exp.null())
        upper = exp.case().when(count.upper.copy() > _ZERO, mean.upper)
        return Interval(there, may_be, upper, places=mean.places)
    if isinstance(node, exp.Log):  # of one argument, or of the base and another one
        inner = interval(node.expression or node.this, of)
        return logarithm(inner, lambda end: _logarithm(node, end))
    inner = interval(node.this, of)
    if isinstance(node, exp.Paren):
        held = inner.map(lambda end: exp.paren(end, copy=False))
        return replace(held, counts=inner.counts, places=inner.places, wider=inner.wider)
    if isinstance(node, exp.Neg):
        inner = inner.widest
        less = inner.map(lambda end: exp.Neg(this=exp.paren(end, copy=False)), falls=True)
        return replace(less, places=inner.places)
    if isinstance(node, exp.Nullif):
        return unless(inner, node.expression)
    if isinstance(node, exp.Abs):
        return absolute(inner.widest)
    if isinstance(node, exp.Pow):
        return power(inner, int(constant(node.expression) or 1))
    if (function := _FUNCTIONS.get(type(node))) is not None:
        return function(inner, lambda end: of_operand(node, end))
    if isinstance(node, exp.Div) and (known := _part_of_total(node, of)) is not None:
        return share_of(inner, interval(node.expression, of), *known)
    if isinstance(node, exp.Binary):
        return ARITHMETIC[type(node)](inner.widest, interval(node.expression, of).widest)
    if isinstance(node, exp.Cast) and node.to.this == exp.DType.FLOAT:
        return replace(inner.widened(OF_FLOAT), value=of_operand(node, inner.value), records=None)
    found = inner.widened(ERROR).map(lambda end: of_operand(node, end))  # rounding never falls
    if inner.places is not None:
        found = replace(found, places=places_rounded(node))
    return replace(found, records=None) if isinstance(node, exp.TryCast) else found


def _logarithm(node: exp.Log, operand: exp.Expr) -> exp.Expr:
    copy: exp.Expr = node.copy()
    copy.set("expression" if node.expression is not None else "this", exp.paren(operand))
    return copy


_FUNCTIONS: Mapping[type[exp.Expr], Callable[..., Interval]] = {
    exp.Sqrt: root,
    exp.Ln: logarithm,
    exp.Exp: computed,
}


def _branches(case: exp.Case, of: Held) -> Iterator[Branch]:
    """What CASE chooses among, NULL at the end where it has no ELSE."""
    exact = {name for name, one in of.items() if one.places == 0}
    for branch in case.args["ifs"]:
        known = decided(branch.this, of, of.keys() - exact)
        expected = branch.this.copy()
        for old, side in zip(compared(expected), compared(branch.this), strict=True):
            old.replace(exp.paren(interval(side, of).value.copy()))
        yield Branch(expected, known.holds, known.may_hold, *_result(branch.args["true"], of))
    yield Branch(None, exp.true(), exp.true(), *_result(case.args.get("default"), of))


def _result(node: exp.Expr | None, of: Held) -> tuple[Interval | None, exp.Expr]:
    if node is None or isinstance(bare(node), exp.Null):
        return None, exp.false()
    return interval(node, of), possible(node, of)


def _part_of_total(quotient: exp.Div, of: Held) -> tuple[Interval, exp.Expr | None] | None:
    """The part that a quotient divides by its total, leaving out positive factors and a 0 in place
    of NULL, and whether the total adds up nothing below 0; or None."""
    total = bare(quotient.expression)
    if isinstance(total, exp.Nullif) and constant(total.expression) == 0:
        total = bare(total.this)
    part = bare(quotient.this)
    while isinstance(part, exp.Mul | exp.Cast | exp.Coalesce | exp.If):
        if isinstance(part, exp.If):
            part = bare(part.args["true"])
        elif isinstance(part, exp.Coalesce):
            if [constant(other) for other in part.expressions] != [0]:
                return None
            part = bare(part.this)
        elif isinstance(part, exp.Cast):
            if part.to.this not in (exp.DType.DOUBLE, exp.DType.FLOAT, exp.DType.DECIMAL):
                return None
            if part.to.this == exp.DType.DECIMAL and not interval(part.this, of).whole:
                return None  # what is rounded does not rise with the part
            part = bare(part.this)
        elif (constant(part.expression) or 0) > 0:
            part = bare(part.this)
        elif (constant(part.this) or 0) > 0:
            part = bare(part.expression)
        else:
            return None
    if not isinstance(total, exp.Column) or not isinstance(part, exp.Column):
        return None
    whole = of[total.name]
    return (of[part.name], whole.nonnegative) if part.name in whole.parts else None


# -- conditions -----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Decided:
    """Whether a condition holds, possibly or for certain; never NULL.

    Attributes:
        holds, may_hold: whether it is true for certain, or may be.
        fails, may_fail: whether it is false for certain, or may be.
    """

    holds: exp.Expr
    may_hold: exp.Expr
    fails: exp.Expr
    may_fail: exp.Expr


def decided(node: exp.Expr | None, of: Held, rounded: Collection[str]) -> Decided:
    """Decide a condition on groups: whether it may hold, and whether it must.

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


def _compared(node: exp.Binary, of: Held, rounded: Collection[str]) -> Decided:
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


def _side(node: exp.Expr, of: Held, rounded: Collection[str]) -> tuple[Interval, exp.Expr] | None:
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
    *(exp.Div, exp.Abs, exp.Round, exp.Floor, exp.Ceil, exp.Cast, exp.DataType, exp.Nullif),
)


def present(node: exp.Expr, of: Held) -> exp.Expr:
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
    if isinstance(node, (exp.Coalesce, exp.Greatest, exp.Least)):
        return exp.or_(*(present(part, of) for part in (node.this, *node.expressions)))
    if isinstance(node, exp.Case):
        results = [branch.args["true"] for branch in node.args["ifs"]]
        default = node.args.get("default") or exp.null()
        return exp.and_(*(present(part, of) for part in (*results, default)))
    if isinstance(node, exp.Nullif):
        inner, none = interval(node.this, of).nearly, node.expression
        apart = exp.or_(_apart(exp.GT, inner.lower, none), _apart(exp.LT, inner.upper, none))
        return exp.and_(present(node.this, of), _true(apart))
    if isinstance(node, exp.If):  # a mean or a sum where a count is not 0
        count = interval(node.this.this, of)
        return exp.and_(_true(count.lower.copy() > 0), present(node.args["true"], of))
    if isinstance(node, (exp.TryCast, exp.Anonymous)):  # which may be none of numbers
        return exp.false()
    known = [present(part, of) for part in node.iter_expressions() if part.find(exp.Column)]
    if isinstance(node, exp.Div) and constant(node.expression) is None:
        shown = interval(node, of)  # where a divisor may be 0, it has no bounds
        known += [end.copy().is_(exp.null()).not_() for end in (shown.lower, shown.upper)]
    return exp.and_(*known)


def possible(node: exp.Expr, of: Held) -> exp.Expr:
    """Whether an expression of groups may be something else than NULL."""
    if node.find(exp.Coalesce, exp.Greatest, exp.Least, exp.Case):
        return exp.true()
    held = exp.paren(node.copy())
    counts = (of[c.name].records for c in held.find_all(exp.Column) if not of[c.name].counts)
    some = [both[1].copy() > 0 for both in counts if both is not None]
    return exp.and_(*some) if some else exp.true()
