"""Values of a column as doubles, for methods that compute with them, and back."""

from __future__ import annotations

from dbdeid.engine.expressions import Expr, case, cast, function, is_null, literal, null
from dbdeid.engine.relation import Column
from dbdeid.errors import DataError

# Above this a double no longer holds every whole number.
LARGEST = float(2**53)


def as_number(c: Column, value: Expr) -> Expr:
    """A value as a number: a date in days, a moment in microseconds since 1970."""
    if c.family in ("date", "timestamp"):
        day, start = literal("day"), cast(literal("1970-01-01"), "DATE")
        number = function("date_diff", day, start, value)
        if c.family == "timestamp":
            number = function("epoch_us", cast(value, "TIMESTAMP"))
        finite = function("isfinite", value.copy())
        missing = is_null(value)
        ifs = [
            (missing, null()),
            (finite, cast(number, "DOUBLE")),
        ]
        return case(*ifs, otherwise=cast(literal("infinity"), "DOUBLE"))
    if c.type == "FLOAT":  # as it is written: 0.1, and not the double next to it
        return cast(cast(value, "VARCHAR"), "DOUBLE")
    return value


def from_number(c: Column, number: Expr) -> Expr:
    """The value of a number as `as_number` gives it; NULL where that is NaN."""
    missing = function("isnan", number.copy())
    value: Expr = number
    if c.family == "date":
        start = cast(literal("1970-01-01"), "DATE")
        value = start + cast(function("round", number), "INTEGER")
    elif c.family == "timestamp":
        whole = cast(function("round", number), "BIGINT")
        value = function("make_timestamp", whole)
    elif c.family == "integer":
        value = cast(function("round", number), "HUGEINT")
    return case((missing, null()), otherwise=value)


def indistinct(name: str, alike: int) -> DataError:
    """What is wrong with a column of which some values are the same double as others."""
    return DataError(
        f"column {name!r} has {alike} values that doubles cannot tell from others: what is "
        "computed from them would be that of rounded numbers",
        hint="subtract from all of them what they have in common, or round them, in "
        "`source: {sql: …}`",
    )
