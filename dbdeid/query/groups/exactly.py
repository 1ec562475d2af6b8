"""What the original computes exactly, in DECIMAL, of which an answer has a DOUBLE.

Sums of decimals are exact, and so is what is added to them, taken from them, or times a number.
The same of two DOUBLEs is rounded: 0.3 less 0.1 is 0.19999999999999998. Rounded to its decimal
places it is the DOUBLE that is nearest to what the original has.
"""

from __future__ import annotations

from sqlglot import exp

from dbdeid.engine.expressions import cast
from dbdeid.query.parse.expressions import bare, constant

_MOST = 15  # digits that a DOUBLE holds whatever they are
_ERROR = exp.Literal.number("1e-15")  # relative to what is added up: of three steps in DOUBLE


def places_of(node: exp.Expr) -> int | None:
    """The decimal places of a number as it is written; None of what is no plain number."""
    node = bare(node)
    if isinstance(node, exp.Neg):
        return places_of(node.this)
    if not isinstance(node, exp.Literal) or node.is_string:
        return None
    whole, _, part = node.name.partition(".")
    return len(part) if (whole + part).isdecimal() else None


def places_rounded(node: exp.Expr) -> int | None:
    """The decimal places of a rounded decimal; None of what makes a DOUBLE of it."""
    if isinstance(node, (exp.Floor, exp.Ceil, exp.Trunc)):
        return 0
    if isinstance(node, exp.Round):
        places = node.args.get("decimals")
        number = 0 if places is None else constant(places)
        return max(int(number), 0) if number is not None else None
    if isinstance(node, exp.Cast) and node.to.is_type(*exp.DataType.INTEGER_TYPES):
        return 0
    return None


def in_places(outwards: type[exp.Binary], end: exp.Expr, size: exp.Expr, places: int) -> exp.Expr:
    """An end of an interval as the DOUBLE that is nearest to a decimal.

    Args:
        outwards: how to go away from the interval: subtraction or addition.
        end: as it was computed in DOUBLE.
        size: no less than what it was computed from.
        places: of the decimal. Beyond what a DOUBLE can tell, the end goes outwards instead.
    """
    inner, all_of = cast(exp.paren(end.copy()), "DOUBLE"), exp.paren(size.copy())
    limit = exp.cast(exp.Literal.number(f"1e{max(_MOST - places, 0)}"), "DOUBLE")
    error = exp.Mul(this=cast(all_of, "DOUBLE"), expression=_ERROR.copy())
    rounded = exp.Round(this=inner, decimals=exp.Literal.number(places))
    away = outwards(this=inner.copy(), expression=exp.paren(error))
    return exp.case().when(all_of.copy() < limit, rounded).else_(away)
