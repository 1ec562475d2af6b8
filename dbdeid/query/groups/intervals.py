"""What is shown of aggregates, as an expected value and bounds: arithmetic of intervals.

Each aggregate of an output is an expected value between two bounds. The expected value of an
expression is that of the expected values; its bounds are the least and the greatest that it takes
anywhere between those of its parts (Moore 1966, Interval Analysis). They hold whatever lies behind
the release. Where each aggregate stands once they are the tightest that the bounds of the
aggregates give; the truth may be known better where the same records count in two of them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from operator import add

from sqlglot import exp

from dbdeid.engine.expressions import cast
from dbdeid.query.groups.exactly import in_places
from dbdeid.query.parse.expressions import constant

_ZERO, _ONE = exp.Literal.number(0), exp.Literal.number(1)
ERROR = exp.Literal.number("1e-12")  # relative; of some thousand sums of a DOUBLE
_OF_MEANS = exp.Literal.number("1e-10")  # of differences of means, relative to what they differ of
_OF_ONE = exp.Literal.number("1e-9")  # of a correlation that is 1
_INFINITE = cast(exp.Literal.string("Infinity"), "DOUBLE")
OF_FLOAT = exp.Literal.number("5e-7")  # of a few steps in FLOAT


@dataclass(frozen=True)
class Interval:
    """An expected value and its bounds, as expressions; a bound is NULL where none is known.

    Attributes:
        value: what is expected.
        lower: no possible value is less.
        upper: no possible value is greater.
        counts: whether it is a number of records or values, so never NULL.
        whole: whether it is computed from whole numbers alone, so without an error of rounding.
        records: bounds of how many records it is computed from, without which it is NULL; None:
            not known.
        parts: the names of those aggregates that it is a total of.
        nonnegative: whether nothing that a total adds up is below 0, so that no part is greater
            than it; None of counts, of which that is always so.
        places: the decimal places in which the original has it exactly, as of sums of DECIMAL; None
            where it is rounded there too.
        wider: the type in which arithmetic of it does not overflow; None: in its own.
    """

    value: exp.Expr
    lower: exp.Expr
    upper: exp.Expr
    counts: bool = False
    whole: bool = False
    records: tuple[exp.Expr, exp.Expr] | None = None
    parts: frozenset[str] = frozenset()
    nonnegative: exp.Expr | None = None
    places: int | None = None
    wider: str | None = None

    @property
    def widest(self) -> Interval:
        """Itself in the type in which arithmetic of it does not overflow; or as the DOUBLE that an
        expected value may be."""
        if self.wider is None:
            return self
        nothing = cast(_ZERO, self.wider)
        value, lower, upper = (
            end if isinstance(end, exp.Null) else exp.paren(_binary(exp.Add, end, nothing))
            for end in (self.value, self.lower, self.upper)
        )
        return replace(self, value=value, lower=lower, upper=upper, wider=None)

    @property
    def unknown(self) -> bool:
        """Whether no bounds are known anywhere."""
        return isinstance(self.lower, exp.Null) and isinstance(self.upper, exp.Null)

    @property
    def fixed(self) -> bool:
        """Whether it is a constant of the query."""
        return not self.value.find(exp.Column)

    def map(self, change: Callable[[exp.Expr], exp.Expr], *, falls: bool = False) -> Interval:
        """The interval of a function that never falls, or never rises."""
        ends = (self.upper, self.lower) if falls else (self.lower, self.upper)
        lower, upper = (end if isinstance(end, exp.Null) else change(end.copy()) for end in ends)
        value = change(self.value.copy())
        return Interval(value, lower, upper, whole=self.whole, records=self.records)

    def widened(self, error: exp.Expr) -> Interval:
        """Itself with ends that are no nearer than the relative errors of what is computed.

        The original may be computed in DECIMAL or FLOAT: where a step follows, as of ROUND, it can
        be on the other side of it.
        """
        if self.unknown or (self.whole and error is ERROR):
            return self
        lower, upper = (
            _binary(kind, end, _binary(exp.Mul, exp.Abs(this=end.copy()), error))
            for kind, end in ((exp.Sub, double(self.lower)), (exp.Add, double(self.upper)))
        )
        return replace(self, lower=lower, upper=upper)

    @property
    def nearly(self) -> Interval:
        """Itself with ends beyond what the original may have computed them to be."""
        return self.widened(ERROR)

    @property
    def clamped(self) -> Interval:
        """Itself with an expected value between the bounds, where they are known."""
        if self.unknown:
            return self
        value = (
            exp.case()
            .when(self.value.copy() < self.lower.copy(), self.lower.copy())
            .when(self.value.copy() > self.upper.copy(), self.upper.copy())
            .else_(self.value.copy())
        )
        return replace(self, value=value)


def is_whole(node: exp.Expr) -> bool:
    """Whether an expression is a whole number as it is written."""
    number = constant(node)
    return number is not None and number.is_integer()


def of_operand(node: exp.Expr, operand: exp.Expr) -> exp.Expr:
    """A node with another first operand."""
    copy = node.copy()
    copy.set("this", exp.paren(operand, copy=False))
    return copy


def _binary(kind: type[exp.Binary], one: exp.Expr, two: exp.Expr) -> exp.Expr:
    sides = (exp.paren(one.copy(), copy=False), exp.paren(two.copy(), copy=False))
    return kind(this=sides[0], expression=sides[1])


# -- arithmetic ----------------------------------------------------------------------------------


def _sum(one: Interval, two: Interval) -> Interval:
    added = _together([one, two], lambda ends: _binary(exp.Add, *ends))
    return _in_places(added, one, two, max)


def _difference(one: Interval, two: Interval) -> Interval:
    less = Interval(two.value, two.upper, two.lower, whole=two.whole, places=two.places)
    left = _together([one, less], lambda ends: _binary(exp.Sub, *ends))
    return _in_places(left, one, less, max)


def _product(one: Interval, two: Interval) -> Interval:
    for factor, other in ((one, two), (two, one)):
        if factor.fixed:
            first = factor is one

            def times(
                end: exp.Expr, factor: exp.Expr = factor.value, first: bool = first
            ) -> exp.Expr:
                return _binary(exp.Mul, *((factor, end) if first else (end, factor)))

            found = other.map(times, falls=(constant(factor.value) or 0) < 0)
            return _in_places(replace(found, whole=one.whole and two.whole), one, two, add)
    return _in_places(_of_corners(exp.Mul, one, two), one, two, add)


def _quotient(one: Interval, two: Interval) -> Interval:
    if two.fixed:
        by = two.value
        falls = (constant(by) or 0) < 0
        return replace(one.map(lambda end: _binary(exp.Div, end, by), falls=falls), whole=False)
    return _of_corners(exp.Div, one, two)


def _in_places(
    made: Interval, one: Interval, two: Interval, places: Callable[[int, int], int]
) -> Interval:
    """Arithmetic of what the original computes in DECIMAL, of which a DOUBLE is rounded."""
    if one.places is None or two.places is None:
        return made
    exact = replace(made, places=places(one.places, two.places))
    plain = all(side.whole or side.fixed for side in (one, two))  # the ends are not DOUBLE either
    if not exact.places or plain or made.unknown:
        return exact
    ends = []
    for kind, end, first, second in (
        (exp.Sub, made.lower, one.lower, two.lower),
        (exp.Add, made.upper, one.upper, two.upper),
    ):
        size = _binary(exp.Add, exp.Abs(this=first.copy()), exp.Abs(this=second.copy()))
        if places is add:
            size = exp.Abs(this=exp.paren(end.copy()))
        ends.append(in_places(kind, end, size, exact.places))
    return replace(exact, lower=ends[0], upper=ends[1])


def _of_corners(kind: type[exp.Binary], one: Interval, two: Interval) -> Interval:
    """A product, or a quotient, of two intervals: it is least and greatest at their ends."""
    divides = kind is exp.Div
    by = unless(two, _ZERO).value if divides else two.value  # not beyond all bounds
    value = _binary(kind, double(one.value), by)
    if one.unknown or two.unknown:
        return Interval(value, exp.null(), exp.null())
    firsts, seconds = (one.lower, one.upper), (two.lower, two.upper)
    corners = [_corner(kind, a, b) for a, b in product(firsts, seconds)]
    known: list[exp.Expr] = [end.copy().is_(exp.null()).not_() for end in (*firsts, *seconds)]
    if divides:
        positive, negative = two.lower.copy() > _ZERO, two.upper.copy() < _ZERO
        known.append(exp.paren(exp.or_(positive, negative)))
        # what is beyond all numbers over what is as well is none
        sizes = (
            _call(exp.Greatest, [exp.Abs(this=end.copy()) for end in ends])
            for ends in (firsts, seconds)
        )
        known.append(exp.paren(exp.or_(*(size < _INFINITE.copy() for size in sizes))))
    ends = [_call(pick, corners) for pick in (exp.Least, exp.Greatest)]
    lower, upper = (exp.case().when(exp.and_(*known), end) for end in ends)
    return Interval(value, lower, upper)


def share_of(
    scaled: Interval, total: Interval, part: Interval, nonnegative: exp.Expr | None
) -> Interval:
    """A part of its total: what the part is, the total is no less.

    Of a part p and others o the share p / (p + o) rises with p and falls with o. So it is no less
    than the least part of the greatest total, and no more than the greatest part of the least total
    that holds it. Where values may be below 0, a part may be more than the whole.
    """
    anyhow = _of_corners(exp.Div, scaled, total)
    if scaled.unknown or total.unknown or part.unknown:
        return anyhow
    holding = _call(exp.Greatest, [total.lower, part.upper])
    ends = []
    for end, whole in ((scaled.lower, total.upper), (scaled.upper, holding)):
        known = (n.copy().is_(exp.null()).not_() for n in (end, whole))
        there = total.lower.copy() > _ZERO
        share = _binary(exp.Div, double(end), double(whole))
        ends.append(exp.case().when(exp.and_(*known, there), share))
    if nonnegative is not None:
        for place, end in enumerate((anyhow.lower, anyhow.upper)):
            ends[place] = exp.case().when(nonnegative.copy(), ends[place]).else_(end)
    return Interval(anyhow.value, ends[0], ends[1])


def _corner(kind: type[exp.Binary], one: exp.Expr, two: exp.Expr) -> exp.Expr:
    """0 times what is beyond all bounds is 0: whatever it is, it is a number."""
    nothing: exp.Expr = one.copy().eq(_ZERO)
    if kind is exp.Mul:
        nothing = exp.or_(nothing, two.copy().eq(_ZERO))
    return exp.case().when(nothing, double(_ZERO)).else_(_binary(kind, double(one), two))


def double(node: exp.Expr) -> exp.Expr:
    """A node as DOUBLE."""
    return cast(exp.paren(node.copy(), copy=False), "DOUBLE")


ARITHMETIC: Mapping[type[exp.Expr], Callable[[Interval, Interval], Interval]] = {
    exp.Add: _sum,
    exp.Sub: _difference,
    exp.Mul: _product,
    exp.Div: _quotient,
}


# -- NULL ----------------------------------------------------------------------------------------


def unless(one: Interval, other: exp.Expr) -> Interval:
    """NULLIF: where it is not NULL, it is what it was; a count that is not 0 is 1 or more."""
    value = exp.Nullif(this=one.value.copy(), expression=other.copy())
    if one.counts and constant(other) == 0 and not one.unknown:
        lower, upper = (_call(exp.Greatest, [end, _ONE]) for end in (one.lower, one.upper))
        return Interval(value, lower, upper, places=one.places)
    return Interval(value, one.lower, one.upper, places=one.places)


def first_known(parts: Sequence[Interval], short: Callable[[Interval], Interval]) -> Interval:
    """COALESCE of two or more.

    Args:
        parts: what of.
        short: an interval whose ends can stand in several places.
    """
    first, *others = parts
    if first.counts or not others:
        return first
    other = short(first_known(others, short))
    value = exp.Coalesce(this=first.value.copy(), expressions=[other.value.copy()])
    if first.unknown or other.unknown:
        return Interval(value, exp.null(), exp.null())
    ends = []
    for pick, one, two in (
        (exp.Least, first.lower, other.lower),
        (exp.Greatest, first.upper, other.upper),
    ):
        either = exp.case()
        if first.records is not None:
            certain, possible = first.records
            either = either.when(possible.copy().eq(_ZERO), two.copy())
            either = either.when(certain.copy() > _ZERO, one.copy())
        there = exp.and_(one.copy().is_(exp.null()).not_(), two.copy().is_(exp.null()).not_())
        ends.append(either.when(there, _call(pick, [one, two])))
    return Interval(value, ends[0], ends[1], places=places_of_all([first, other]))


def places_of_all(parts: Sequence[Interval]) -> int | None:
    """The decimal places that hold all of several decimals."""
    known = [part.places for part in parts if part.places is not None]
    return max(known) if known and len(known) == len(parts) else None


# -- correlation ---------------------------------------------------------------------------------


def correlation(parts: Sequence[Interval]) -> Interval:
    """CORR of `parse.outputs.correlated`: from -1 to 1, and itself where all values are known.

    Either is beyond what it may be rounded to: engines tell 1.0000000000000002 of equal columns.
    """
    number, product_, one, two, *variances = parts
    away = exp.Sqrt(this=_binary(exp.Mul, *(part.value for part in variances)))
    together = _binary(exp.Mul, one.value, two.value)
    over = exp.Nullif(this=away, expression=_ZERO)
    value = _binary(exp.Div, _binary(exp.Sub, product_.value, together), over)
    if any(part.unknown for part in parts):
        return Interval(value, exp.null(), exp.null())
    size = _binary(exp.Add, exp.Abs(this=product_.value.copy()), exp.Abs(this=together.copy()))
    error = _binary(exp.Mul, _binary(exp.Add, _ONE, _binary(exp.Div, size, over)), _OF_MEANS)
    known = exp.and_(*(part.lower.copy().eq(part.upper.copy()) for part in (number, one, two)))
    ends = []
    for kind, pick, end in ((exp.Sub, exp.Greatest, -1), (exp.Add, exp.Least, 1)):
        far = double(_binary(kind, exp.Literal.number(end), _OF_ONE))
        near = _call(pick, [_binary(kind, value, error), far])
        ends.append(exp.case().when(known.copy(), near).else_(far.copy()))
    return Interval(value, ends[0], ends[1])


# -- several at once -----------------------------------------------------------------------------


def _together(
    parts: Sequence[Interval], made: Callable[[Sequence[exp.Expr]], exp.Expr]
) -> Interval:
    """Of a function that never falls in any of its parts."""
    value = made([part.value for part in parts])
    if any(part.unknown for part in parts):
        return Interval(value, exp.null(), exp.null())
    whole = all(part.whole for part in parts)
    return Interval(
        value, made([p.lower for p in parts]), made([p.upper for p in parts]), whole=whole
    )


def _call(kind: type[exp.Expr], parts: Sequence[exp.Expr]) -> exp.Expr:
    first, *others = (part.copy() for part in parts)
    return kind(this=first, expressions=others)
