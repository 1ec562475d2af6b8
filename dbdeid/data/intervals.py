"""Interval hierarchies of numbers: half-open intervals `[a, b)` of growing width.

Bounds are exact fractions, so that 0.3 with width 0.1 lies in [0.3, 0.4).
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from dbdeid.data.hierarchy import Hierarchy, Level, top_level
from dbdeid.errors import HierarchyError


@dataclass(frozen=True, slots=True)
class Intervals:
    """Widths of the levels, where intervals start, and how far the domain reaches.

    Attributes:
        widths: width of each level, every one a multiple of the one before.
        origin: a value at which intervals of every width start.
        lower: values below fall into one group `< lower`; None: no limit.
        upper: values from here on fall into one group `>= upper`; None: no limit.
    """

    widths: tuple[Fraction, ...]
    origin: Fraction = Fraction(0)
    lower: Fraction | None = None
    upper: Fraction | None = None


@dataclass(frozen=True, slots=True)
class Cell:
    """One interval [start, end) of a level; an open end is None."""

    label: str
    start: Fraction | None
    end: Fraction | None


def build(column: str, values: Sequence[str], scale: Intervals, *, discrete: bool) -> Hierarchy:
    """The hierarchy of the values present under an interval scale.

    The loss of [L, U) is (U - L)/(upper - lower), for discrete values
    (U - L - 1)/(upper - lower - 1); end groups and `*` lose everything. Without limits the range
    is that of the widest intervals that the data touch.

    Args:
        column: the quasi-identifier.
        values: its distinct values as text, without NULL.
        scale: widths, origin and limits.
        discrete: the values are integers.

    Raises:
        HierarchyError: a value is not a finite number, or so near to 0 that bins of it are not told
            apart.
    """
    numbers = [_number(column, text) for text in values]
    low, high = _range(numbers, scale)
    texts = tuple(values)
    write = decimal if discrete else fractional
    levels = [Level(np.arange(len(texts)), texts, np.zeros(len(texts)), texts, texts)]
    for width in scale.widths:
        cells = [_cell(number, width, scale) for number in numbers]
        levels.append(level_of(cells, low, high, discrete=discrete, write=write))
    inside = within(numbers, scale.lower, scale.upper, discrete=discrete, write=write)
    levels.append(top_level(len(texts), inside))
    return Hierarchy(column, f"intervals of {_words(scale)}", texts, tuple(levels), declared=False)


def _words(scale: Intervals) -> str:
    return ", ".join(decimal(width) for width in scale.widths)


# Divided by the width of a bin a DOUBLE that is nearer to 0 may be 0, and so of the bin above it.
_NEAREST = Fraction(1, 10**290)


def _number(column: str, text: str) -> Fraction:
    try:
        number = Fraction(text)
        if "e-" in text and 0 < abs(number) < _NEAREST:
            raise HierarchyError(
                f"column {column!r}: intervals need numbers that are 0 or at least 1e-290 away "
                "from it, and a value is nearer",
                hint="round the column in the source",
            )
        return number
    except ValueError:
        raise HierarchyError(
            f"column {column!r}: intervals need finite numbers, and a value is not one",
            hint="remove NaN and infinity in the source, or use another hierarchy",
        ) from None


def labelled(label: str, scale: Intervals) -> tuple[int, Cell] | None:
    """The lowest level that has a label, and its interval; None where no level has it.

    >>> labelled("[20, 30)", Intervals((Fraction(5), Fraction(10))))[0]
    2
    """
    found = re.search(r"-?\d+(?:\.\d+)?", label)
    if found is None:
        return None
    start = Fraction(found[0])
    inside = start - 1 if label.startswith("<") else start
    for level, width in enumerate(scale.widths, start=1):
        cell = _cell(inside, width, scale)
        if cell.label == label:
            return level, cell
    return None


def cells(width: Fraction, scale: Intervals) -> Iterator[Cell]:
    """All intervals of one width between both limits of a scale, and the two beyond them.

    >>> scale = Intervals((), lower=Fraction(15), upper=Fraction(30))
    >>> [c.label for c in cells(Fraction(10), scale)]
    ['< 15', '[15, 20)', '[20, 30)', '>= 30']
    """
    assert scale.lower is not None
    assert scale.upper is not None
    yield from beyond(scale)
    start = scale.lower
    while start < scale.upper:
        cell = _cell(start, width, scale)
        yield cell
        assert cell.end is not None
        start = cell.end
    yield from beyond(scale, above=True)


def beyond(scale: Intervals, *, above: bool = False) -> Iterator[Cell]:
    """What lies below the lower limit of a scale, or from the upper one on; none without it."""
    if above and scale.upper is not None:
        yield Cell(f">= {decimal(scale.upper)}", scale.upper, None)
    elif not above and scale.lower is not None:
        yield Cell(f"< {decimal(scale.lower)}", None, scale.lower)


def cut(width: Fraction, scale: Intervals) -> Iterator[Cell]:
    """The intervals of one width that a limit cuts, the lowest first.

    >>> [c.label for c in cut(Fraction(10), Intervals((), lower=Fraction(15)))]
    ['[15, 20)']
    """
    found = {}
    for limit in (scale.lower, scale.upper):
        if limit is not None and _start(limit, width, scale.origin) != limit:
            first = _start(limit, width, scale.origin)
            inside = first if limit == scale.upper else limit
            floor = inside if scale.lower is None else scale.lower
            cell = _cell(max(inside, floor), width, scale)
            found[cell.label] = cell
    yield from found.values()


def of_values(cell: Cell, *, discrete: bool) -> tuple[str | None, str | None]:
    """The bounds of the values of an interval as text; discrete ones are inside it.

    >>> of_values(Cell("[20, 30)", Fraction(20), Fraction(30)), discrete=True)
    ('20', '29')
    """
    write = decimal if discrete else fractional
    level = level_of([cell], Fraction(0), Fraction(0), discrete=discrete, write=write)
    return level.lower[0], level.upper[0]


def _range(numbers: Sequence[Fraction], scale: Intervals) -> tuple[Fraction, Fraction]:
    widest = scale.widths[-1]
    inside = [
        n
        for n in numbers
        if (scale.lower is None or n >= scale.lower) and (scale.upper is None or n < scale.upper)
    ]
    first = scale.lower
    if first is None:
        first = _start(min(inside), widest, scale.origin) if inside else scale.origin
    last = scale.upper
    if last is None:
        last = _start(max(inside), widest, scale.origin) + widest if inside else first + widest
    return first, last


def _start(number: Fraction, width: Fraction, origin: Fraction) -> Fraction:
    return (number - origin) // width * width + origin


def _cell(number: Fraction, width: Fraction, scale: Intervals) -> Cell:
    if scale.lower is not None and number < scale.lower:
        return next(beyond(scale))
    if scale.upper is not None and number >= scale.upper:
        return next(beyond(scale, above=True))
    start = _start(number, width, scale.origin)
    end = start + width
    if scale.lower is not None:
        start = max(start, scale.lower)
    if scale.upper is not None:
        end = min(end, scale.upper)
    return Cell(f"[{decimal(start)}, {decimal(end)})", start, end)


def level_of(
    cells: Sequence[Cell],
    low: Fraction,
    high: Fraction,
    *,
    discrete: bool,
    write: Callable[[Fraction], str],
) -> Level:
    """A level from the cell of each leaf, on a range [low, high) that weighs the loss.

    `write` turns a bound into text; discrete bounds are the largest value inside, not the end.
    """
    if discrete:
        low, high = _ceil(low), _ceil(high)
    index: dict[str, int] = {}
    groups = [index.setdefault(cell.label, len(index)) for cell in cells]
    first = dict(zip(reversed(groups), reversed(cells), strict=True))
    unit = Fraction(1 if discrete else 0)
    span = high - low - unit
    ordered = [_whole(first[group]) if discrete else first[group] for group in range(len(index))]
    return Level(
        np.array(groups, np.int64),
        tuple(index),
        np.array([_loss(cell, span, unit) for cell in ordered], np.float64),
        tuple(None if cell.start is None else write(cell.start) for cell in ordered),
        tuple(None if cell.end is None else write(cell.end - unit) for cell in ordered),
    )


def within(
    numbers: Iterable[Fraction],
    lower: Fraction | None,
    upper: Fraction | None,
    *,
    discrete: bool,
    write: Callable[[Fraction], str],
) -> tuple[str | None, str | None]:
    """The bounds of `*`: declared limits that no value is outside of."""
    if lower is None or upper is None or not all(lower <= n < upper for n in numbers):
        return None, None
    whole = level_of([Cell("", lower, upper)], lower, upper, discrete=discrete, write=write)
    return whole.lower[0], whole.upper[0]


def _whole(cell: Cell) -> Cell:
    """The cell with bounds on whole numbers: 0.5 <= n < 5.5 says 1 <= n < 6."""
    start, end = cell.start, cell.end
    return Cell(
        cell.label, None if start is None else _ceil(start), None if end is None else _ceil(end)
    )


def _ceil(number: Fraction) -> Fraction:
    return Fraction(math.ceil(number))


def _loss(cell: Cell, span: Fraction, unit: Fraction) -> float:
    if cell.start is None or cell.end is None:
        return 1.0
    width = cell.end - cell.start - unit
    return float(min(width / span, Fraction(1))) if span > 0 else 0.0


def fractional(number: Fraction) -> str:
    """Write a bound of values that need not be whole numbers, with a decimal point: 20.0, 0.25.

    >>> fractional(Fraction(1, 4)), fractional(Fraction(20))
    ('0.25', '20.0')
    """
    text = decimal(number)
    return text if "." in text else f"{text}.0"


def decimal(number: Fraction) -> str:
    """A bound as plain decimal text: 20, 0.25.

    >>> decimal(Fraction(1, 4)), decimal(Fraction(20)), decimal(Fraction(-1, 2))
    ('0.25', '20', '-0.5')
    """
    if number.denominator == 1:
        return str(number.numerator)
    digits, scale = number, 0
    while digits.denominator != 1:
        digits, scale = digits * 10, scale + 1
    text = str(abs(digits.numerator)).rjust(scale + 1, "0")
    sign = "-" if number < 0 else ""
    return f"{sign}{text[:-scale]}.{text[-scale:]}"
