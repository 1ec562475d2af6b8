"""Ordered domains, whose neighbours a policy merges into intervals, and what intervals read."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from dbdeid.data.hierarchy import TOP, Hierarchy, Level
from dbdeid.errors import HierarchyError

Ints = NDArray[np.int64]

LISTED = 80  # characters up to which an interval of a listed order names all its values


@dataclass(frozen=True, slots=True)
class OrderedDomain:
    """A domain in its order.

    Attributes:
        values: its values as text.
        style: how intervals read: range (numbers and dates), code (as ZIP codes, in the order of
            their texts), or listed (somebody gave this order, which the values do not tell).
        kind: where it comes from, in words.
    """

    values: tuple[str, ...]
    style: Literal["range", "code", "listed"]
    kind: str


class Labels:
    """What the intervals of a domain are released as.

    A single value reads as itself, and the whole domain as `*`. Values that are exactly those of a
    common prefix read as that, padded with `*`; of a listed order, as `a | b | c`; others as
    `a to c`. Intervals that were asked for are remembered: policies share most of theirs.
    """

    def __init__(self, domain: OrderedDomain) -> None:
        self.domain = domain
        self._values = {*domain.values, TOP}
        self._known = {(i, i + 1): value for i, value in enumerate(domain.values)}

    def __call__(self, starts: Sequence[int] | Ints) -> tuple[str, ...]:
        """The label of each interval.

        Args:
            starts: places of the first values of the intervals, ascending from 0.

        Raises:
            HierarchyError: an interval would read as another one, or as a value of the domain.
        """
        first = [int(start) for start in starts]
        ends = [*first[1:], len(self.domain.values)]
        found = tuple(map(self.of, first, ends))
        if len(set(found)) < len(found):
            raise _ambiguous()
        return found

    def of(self, start: int, end: int) -> str:
        """The label of the interval of values from one place to before another.

        Raises:
            HierarchyError: it would read as a value of the domain.
        """
        label = self._known.get((start, end))
        if label is None:
            whole = end - start == len(self.domain.values)
            label = TOP if whole else _label(self.domain, start, end)
            if not whole and label in self._values:
                raise _ambiguous()
            self._known[start, end] = label
        return label


def _ambiguous() -> HierarchyError:
    return HierarchyError(
        "an interval would read as another value of its domain",
        hint="recode values with ' to ', ' | ' or '*' in them in the source",
    )


def labels(domain: OrderedDomain, starts: Sequence[int] | Ints) -> tuple[str, ...]:
    """What each interval of one policy is released as; see `Labels`."""
    return Labels(domain)(starts)


def _label(domain: OrderedDomain, start: int, end: int) -> str:
    values = domain.values
    if domain.style == "listed":
        together = " | ".join(values[start:end])
        return together if len(together) <= LISTED else _range(values[start], values[end - 1])
    prefix = _prefix(values, start, end) if domain.style == "code" else None
    return prefix if prefix is not None else _range(values[start], values[end - 1])


def _range(first: str, last: str) -> str:
    return f"{first} to {last}"


def _prefix(values: Sequence[str], start: int, end: int) -> str | None:
    """The prefix that exactly these values have, padded to their length; None if there is none."""
    inside = values[start:end]
    outside = (*values[max(start - 1, 0) : start], *values[end : end + 1])
    length = len(inside[0])
    if any(len(value) != length for value in inside):
        return None
    common = _common(inside[0], inside[-1])
    if not common or any(value.startswith(common) for value in outside):
        return None
    return common + TOP * (length - len(common))


def _common(one: str, other: str) -> str:
    for i, (a, b) in enumerate(zip(one, other, strict=False)):
        if a != b:
            return one[:i]
    return one


def is_code(value: str) -> bool:
    """Whether text is a code such as a ZIP code or A09.1, whose order says what lies near.

    >>> is_code("37010"), is_code("A09.1"), is_code("White")
    (True, True, False)
    """
    return any(sign.isdigit() for sign in value) and value.isascii() and " " not in value


def with_intervals(hierarchy: Hierarchy, domain: OrderedDomain, starts: Ints) -> Hierarchy:
    """The hierarchy of a domain with the intervals of a policy as its level 1.

    The loss of an interval of w of D values is (w - 1)/(D - 1) (Iyengar 2002).

    Args:
        hierarchy: of the values themselves and `*`, in the order of the domain.
        domain: the same values.
        starts: places of the first values of the intervals, ascending from 0; not the whole.
    """
    raw, top = hierarchy.levels[0], hierarchy.levels[-1]
    width = np.diff(np.append(starts, len(domain.values)))
    last = starts + width - 1
    middle = Level(
        np.repeat(np.arange(len(starts)), width),
        labels(domain, starts),
        (width - 1) / max(len(domain.values) - 1, 1),
        tuple(raw.lower[i] for i in starts),
        tuple(raw.upper[i] for i in last),
    )
    return replace(hierarchy, levels=(raw, middle, top))
