"""What a float can hold that no reader sees: the free bits of a NaN."""

from __future__ import annotations

from dbdeid.engine.expressions import Expr, cast, function, literal


def is_nan(value: Expr) -> Expr:
    """Whether a float is no number."""
    return function("isnan", value.copy())


def hides_bits(nan: Expr, kind: str) -> Expr:
    """Whether a NaN has other bits than those that say so: 51 of a DOUBLE are free (IEEE 754).

    The sign is not looked at: a processor sets it as it likes.
    """
    plain = "1" * 12 + "0" * 51 if kind == "DOUBLE" else "1" * 9 + "0" * 22
    return bits(nan).neq(literal(plain))


def bits(value: Expr) -> Expr:
    """The bits of a float but its sign, as text."""
    text = cast(cast(value.copy(), "BIT"), "VARCHAR")
    return function("substring", text, literal(2))
