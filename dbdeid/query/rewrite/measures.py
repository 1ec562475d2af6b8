"""Arguments of aggregates that are summed up over equal records before anything else is done.

An argument of columns that are released as they are has one value in each record. Of a sum, a mean,
a least or a greatest value only a few numbers of equal records matter, so that a release need not
be grouped by such an argument, which may tell nearly all records apart.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Literal

from sqlglot import exp

from dbdeid.engine.expressions import cast, column
from dbdeid.query.parse.question import Kind

# What is known of the values of some records: their sums, or the least and the greatest.
What = Literal["sums", "ends"]

MEASURED: Mapping[Kind, What] = {"sum": "sums", "avg": "sums", "min": "ends", "max": "ends"}


@dataclass(frozen=True)
class Piece:
    """One number of some records.

    Attributes:
        of: it, of an expression of one record.
        together: aggregates those of several sets of records.
    """

    of: Callable[[exp.Expr], exp.Expr]
    together: type[exp.AggFunc]


@dataclass(frozen=True)
class Measure:
    """An argument of exact columns alone, and what is needed of it.

    `count` is the number of records that have a value. `plus` and `minus` are the sums of values
    above and below 0: one may be there where the other is not. `rough`, of what is no DECIMAL, is 1
    where adding up may round, which it does not of multiples of 1/1024. `least` and `greatest` have
    the type of the argument.

    Attributes:
        argument: of exact columns alone.
        what: is known of it.
        added: the type in which its values are added up: decimals stay exact.
    """

    argument: exp.Expr
    what: What
    added: str = "DOUBLE"

    @property
    def pieces(self) -> Mapping[str, Piece]:
        """Its numbers by name."""
        if self.what == "ends":
            return _ENDS
        rough = {"rough": Piece(_rough, exp.Max)} if self.added == "DOUBLE" else {}
        return {
            "count": Piece(_count, exp.Sum),
            "plus": Piece(partial(_of_sign, exp.GT, self.added), exp.Sum),
            "minus": Piece(partial(_of_sign, exp.LT, self.added), exp.Sum),
            **rough,
        }

    @property
    def columns(self) -> frozenset[str]:
        """The columns of the source that it is computed from."""
        return frozenset(c.name for c in exp.paren(self.argument.copy()).find_all(exp.Column))


def bucket(value: exp.Expr) -> exp.Expr:
    """A number that is the same for values near each other, and greater for greater ones.

    Of either sign each is 3 % longer than the one before it.
    """
    number = cast(exp.paren(value.copy()), "DOUBLE")
    zero = exp.Literal.number(0)

    def distance(of: exp.Expr) -> exp.Expr:  # no DOUBLE but 0 has a logarithm below -750
        finer = exp.Ln(this=of) * exp.Literal.number(32)
        return exp.Floor(this=finer) + exp.Literal.number(32_000)

    below = exp.Neg(this=exp.paren(distance(exp.Neg(this=number.copy()))))
    return (
        exp.case()
        .when(number > zero, distance(number.copy()))
        .when(number.copy() < zero.copy(), below)
        .when(number.copy().eq(zero.copy()), cast(zero.copy(), "DOUBLE"))
    )


def held(name: str, place: int, table: str | None = None) -> exp.Column:
    """The column of a number of the measure at a place, in tables of equal records."""
    return column(f"{name}_{place}", table)


def _count(value: exp.Expr) -> exp.Expr:
    return exp.Count(this=value)


def _of_sign(sign: type[exp.Binary], added: str, value: exp.Expr) -> exp.Expr:
    number = cast(value, added)
    nothing = cast(exp.Literal.number(0), added)
    beyond = sign(this=number, expression=exp.Literal.number(0))
    return exp.Sum(this=exp.case().when(beyond, number.copy()).else_(nothing))


def _rough(value: exp.Expr) -> exp.Expr:
    number = cast(exp.paren(value), "DOUBLE")
    parts = number * exp.Literal.number(1024)
    small = exp.Abs(this=number.copy()) < exp.Literal.number("1e12")
    fine = exp.and_(small, parts.eq(exp.Floor(this=parts.copy())))
    fine = exp.or_(number.copy().is_(exp.null()), fine)
    rough = exp.case().when(fine, exp.Literal.number(0)).else_(exp.Literal.number(1))
    return exp.Max(this=rough)


def _least(value: exp.Expr) -> exp.Expr:
    return exp.Min(this=value)


def _greatest(value: exp.Expr) -> exp.Expr:
    return exp.Max(this=value)


_ENDS: Mapping[str, Piece] = {
    "count": Piece(_count, exp.Sum),
    "least": Piece(_least, exp.Min),
    "greatest": Piece(_greatest, exp.Max),
}
