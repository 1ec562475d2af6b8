"""Cells that blocks choose themselves: `[20, 29]`, the tightest interval of a block, or `a | b`.

A free column has no levels between its values and `*`: level 0 is a value, level 1 an interval or
a set that some block has, level 2 `*`. Ends of intervals are values of records of the block, and
so is every member of a set. What a block reads where values and NULL meet is `*`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime, timedelta
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from dbdeid.data import interval_label, intervals
from dbdeid.data.coding import Cell, Coding
from dbdeid.data.hierarchy import Hierarchy, Order, from_rows, without_leaves
from dbdeid.engine.relation import MEASURED, NUMBERS, Column
from dbdeid.errors import HierarchyError

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Limit = Fraction | date | None

KIND = "free"
CHOSEN = 1  # the level of intervals and sets that blocks choose
BETWEEN = " | "  # members of a set


def build(
    column: Column,
    values: Sequence[str],
    *,
    limits: tuple[Limit, Limit] = (None, None),
    order: Order | None = None,
    declared: bool = False,
) -> Hierarchy:
    """The values of a free column, and `*`.

    Args:
        column: with the type that its values have where they are released as they are.
        values: the distinct ones as text, without NULL; where a domain is declared, its values.
        limits: how far the column reaches, the second being past it; of numbers and dates.
        order: the numbers behind the values of a declared domain.
        declared: whether the domain was declared.

    Raises:
        HierarchyError: values that no interval or set could be told of.
    """
    if not values:
        return without_leaves(column.name, KIND, CHOSEN + 1)
    rows = [[value, value] for value in values]
    found = from_rows(column.name, KIND, rows, declared=declared, order=order, fixed_top=True)
    if column.family in MEASURED:
        numbers = [number_of(column, value) for value in values]
        bounds = _inside(column, numbers, limits)
        if bounds is not None:
            top = replace(found.levels[-1], lower=(bounds[0],), upper=(bounds[1],))
            found = replace(found, levels=(*found.levels[:-1], top))
        return found
    odd = [value for value in values if BETWEEN.strip() in value]
    if odd:
        raise HierarchyError(
            f"column {column.name!r}: {len(odd)} of {len(values)} values have a bar (|), which "
            "stands between the members of a set",
            hint="recode these values in the source",
            examples=odd[:10],
        )
    return found


def number_of(column: Column, text: str) -> Fraction:
    """The number behind a value: itself, its day, or its moment in microseconds.

    Raises:
        HierarchyError: it has none that an interval could tell.
    """
    try:
        if column.family in NUMBERS:
            return Fraction(text)
        if column.family == "date":
            return Fraction(date.fromisoformat(text).toordinal())
        return Fraction((datetime.fromisoformat(text) - datetime.min) // timedelta(microseconds=1))
    except ValueError:
        raise HierarchyError(
            f"column {column.name!r}: intervals need finite numbers, or dates of the years 1 to "
            "9999, and a value is neither",
            hint="make NaN, infinity and placeholders NULL in the source",
        ) from None


def _ends(column: Column, limits: tuple[Limit, Limit]) -> tuple[Fraction, Fraction] | None:
    """The range between two limits; the upper one is inside where values are whole."""
    lower, upper = limits
    if lower is None or upper is None:
        return None
    if not isinstance(lower, date) and not isinstance(upper, date):
        if column.family == "integer":
            return Fraction(-(-lower // 1)), Fraction(-(-upper // 1)) - 1
        return lower, upper
    assert isinstance(lower, date)
    assert isinstance(upper, date)
    first, past = (number_of(column, end.isoformat()) for end in (lower, upper))
    return first, past - (column.family == "date")


def _inside(
    column: Column, numbers: Sequence[Fraction], limits: tuple[Limit, Limit]
) -> tuple[str | None, str | None] | None:
    """The bounds of `*`: declared limits that no value is outside of."""
    ends = _ends(column, limits)
    if ends is None or any(number < ends[0] for number in numbers):
        return None
    whole = column.family in ("integer", "date")
    if any(number > ends[1] or (number == ends[1] and not whole) for number in numbers):
        return None
    match column.family:
        case "integer":
            return intervals.decimal(ends[0]), intervals.decimal(ends[1])
        case "date":
            return tuple(date.fromordinal(int(end)).isoformat() for end in ends)  # type: ignore[return-value]
        case "timestamp":
            moments = (datetime.min + timedelta(microseconds=int(end)) for end in ends)
            return tuple(m.isoformat(sep=" ") for m in moments)  # type: ignore[return-value]
        case _:
            return intervals.fractional(ends[0]), intervals.fractional(ends[1])


def is_range(column: Column) -> bool:
    """Whether a free column of this type shows intervals, not sets."""
    return column.family in MEASURED


def positions(column: Column, coding: Coding, limits: tuple[Limit, Limit]) -> Floats:
    """Where each code lies in the range of a column, 0 to 1; NULL lies one before all.

    Without declared limits or a domain the range is that of the values.
    """
    leaves = coding.hierarchy.leaves
    numbers = [number_of(column, leaf) for leaf in leaves]
    ends = _ends(column, limits)
    low, high = ends or (min(numbers, default=Fraction(0)), max(numbers, default=Fraction(0)))
    span = high - low or Fraction(1)
    own = np.array([float((number - low) / span) for number in numbers])
    least = min(float(own.min(initial=0)), 0.0)
    return np.append(own, least - 1)[coding.leaf]


@dataclass(frozen=True, slots=True)
class FreeCell:
    """What a block reads on a free column.

    Attributes:
        level: 0 of a value, 1 of an interval or a set, 2 of `*`.
        cell: its label, loss, bounds and leaves.
        size: how many values that are known it may stand for.
    """

    level: int
    cell: Cell
    size: int


def interval(column: Column, coding: Coding, position: Floats, low: int, high: int) -> FreeCell:
    """The interval between the values of two codes."""
    first, last = (coding.hierarchy.leaves[int(coding.leaf[code])] for code in (low, high))
    label = f"[{first}, {last}]"
    bounds: tuple[str | None, str | None] | None = (first, last)
    if column.family not in ("integer", "date"):
        read = interval_label.read(label)
        bounds = None if read is None else interval_label.bounds(read, column)
    if bounds is None:
        raise HierarchyError(
            f"column {column.name!r}: an interval of its values cannot be told",
            hint="round the column in the source, or give it a hierarchy",
        )
    loss = float(min(position[high] - position[low], 1))
    return FreeCell(CHOSEN, Cell(label, loss, *bounds, None), high - low + 1)


def members(coding: Coding, codes: Sequence[int]) -> FreeCell:
    """The set of the values of two codes or more."""
    leaves = coding.hierarchy.leaves
    values = sorted(leaves[int(coding.leaf[code])] for code in codes)
    loss = (len(values) - 1) / max(len(leaves) - 1, 1)
    cell = Cell(BETWEEN.join(values), loss, None, None, tuple(values))
    return FreeCell(CHOSEN, cell, len(values))
