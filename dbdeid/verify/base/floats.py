"""What a float can hold that no reader sees: the free bits of a NaN."""

from __future__ import annotations

from sqlglot import exp

from dbdeid.engine.relation import cast


def is_nan(value: exp.Expr) -> exp.Expr:
    """Whether a float is no number."""
    return exp.Anonymous(this="isnan", expressions=[value.copy()])


def hides_bits(nan: exp.Expr, kind: str) -> exp.Expr:
    """Whether a NaN has other bits than those that say so: 51 of a DOUBLE are free (IEEE 754).

    The sign is not looked at: a processor sets it as it likes.
    """
    plain = "1" * 12 + "0" * 51 if kind == "DOUBLE" else "1" * 9 + "0" * 22
    return bits(nan).neq(exp.Literal.string(plain))


def bits(value: exp.Expr) -> exp.Expr:
    """The bits of a float but its sign, as text."""
    text = cast(exp.cast(value.copy(), "BIT", dialect="duckdb"), "VARCHAR")
    return exp.Anonymous(this="substring", expressions=[text, exp.convert(2)])
