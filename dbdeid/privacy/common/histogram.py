"""Sensitive values counted in equivalence classes: what a model over a sensitive attribute sees.

Counts are of distinct subjects, or of records where every record is a subject. A subject with
several records may have several values, so that the counts of a class can add up to more than its
size. Two shares follow: that of the class's subjects who have a value, count / size, which is what
an attacker may conclude of one of them, and count / sum of counts, that in the distribution.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import nan
from typing import Any

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]

SIMPLE = 10**6  # denominators of limits that are taken as fractions
CLOSE = 1e-9  # nearer to a limit than this, exact arithmetic decides


@dataclass(frozen=True, eq=False)
class Whole:
    """A sensitive attribute in the whole source, suppressed records included.

    Attributes:
        counts: subjects with each value; the values are numbered in their own order, NULL last.
        people: subjects of the source.
        labels: each value as text, None for NULL; with several columns, a tuple of these.
        groups: of each value its group on every level of the attribute's hierarchy above the
            values, the last of which is the whole domain; empty without a hierarchy.
        missing: whether each value is none: what says that nothing is known of a subject. None:
            all of them are values.
    """

    counts: Ints
    people: int
    labels: tuple[Any, ...]
    groups: tuple[Ints, ...] = ()
    missing: Mask | None = None

    @property
    def known(self) -> Mask:
        """Whether each value is one."""
        if self.missing is None:
            return np.ones(len(self.counts), np.bool_)
        return ~self.missing

    @cached_property
    def numbers(self) -> Floats:
        """Each value as a number; NaN where it is none."""
        return np.array([_number(label) for label in self.labels], np.float64)


@dataclass(frozen=True)
class Histogram:
    """The values of one sensitive attribute in some classes.

    Attributes:
        sizes: subjects of each class, at least 1.
        of_class: the class of each entry, ascending.
        value: the value of each entry, ascending in each class.
        count: subjects of the class with this value, at least 1.
        whole: the attribute in the whole source.
    """

    sizes: Ints
    of_class: Ints
    value: Ints
    count: Ints
    whole: Whole

    @property
    def classes(self) -> int:
        """How many classes there are."""
        return len(self.sizes)

    @cached_property
    def distinct(self) -> Ints:
        """How many values each class has."""
        return np.bincount(self.of_class, minlength=self.classes)

    @cached_property
    def real(self) -> Ints:
        """How many values each class has; to have none is not one."""
        known = self.whole.known[self.value]
        return np.bincount(self.of_class[known], minlength=self.classes)

    @cached_property
    def known(self) -> tuple[Ints, Histogram]:
        """The classes in which some subject has a value, and these subjects of each.

        A subject may have a value in one record and none in another: they are at least those who
        are not found without one, and those who share the most frequent value.
        """
        known = self.whole.known[self.value]
        without = np.bincount(self.of_class[~known], self.count[~known], self.classes)
        most = np.zeros(self.classes, np.int64)
        np.maximum.at(most, self.of_class[known], self.count[known])
        sizes = np.maximum(self.sizes - without.astype(np.int64), most)
        chosen = np.flatnonzero(most)
        place = np.cumsum(most > 0) - 1
        return chosen, Histogram(
            sizes[chosen],
            place[self.of_class[known]],
            self.value[known],
            self.count[known],
            self.whole,
        )

    @cached_property
    def pairs(self) -> Ints:
        """The sum of the counts of each class: its distinct pairs of subject and value."""
        return self.summed(self.count).astype(np.int64)

    @cached_property
    def uniform(self) -> Mask:
        """Whether some value is that of every subject of the class, who are then known to have it.

        Where each subject has one value, it is the only one of the class.
        """
        return self.any(self.count == self.sizes[self.of_class])

    @cached_property
    def confidence(self) -> Floats:
        """Of each entry, the share of the class's subjects who have the value."""
        return self.count / self.sizes[self.of_class]

    @cached_property
    def gain(self) -> Floats:
        """Of each entry, this share relative to that in the whole source."""
        known = self.whole.counts[self.value]
        return (self.count * self.whole.people) / (self.sizes[self.of_class] * known)

    def entry_gain(self, entry: int) -> tuple[int, int]:
        """The gain of one entry as a fraction."""
        size, known = self.sizes[self.of_class[entry]], self.whole.counts[self.value[entry]]
        return int(self.count[entry]) * self.whole.people, int(size) * int(known)

    def present(self) -> Floats:
        """The share of the whole source's pairs whose value each class has."""
        share = self.whole.counts / max(int(self.whole.counts.sum()), 1)
        return self.summed(share[self.value])

    def grouped(self, groups: Ints) -> Histogram:
        """The classes with groups in place of values; each subject has one value.

        Args:
            groups: of each value.
        """
        size = int(groups.max(initial=-1)) + 1
        key = self.of_class * size + groups[self.value]
        found, place = np.unique(key, return_inverse=True)
        count = np.bincount(place, self.count).astype(np.int64)
        return Histogram(self.sizes, found // size, found % size, count, self.whole)

    def summed(self, amounts: Ints | Floats) -> Floats:
        """The sum of the entries' amounts in each class."""
        found = np.bincount(self.of_class, amounts, self.classes)
        return np.asarray(found, np.float64)

    def any(self, entries: Mask) -> Mask:
        """Whether some entry of each class is marked."""
        return np.bincount(self.of_class[entries], minlength=self.classes) > 0

    def entries(self, class_: int) -> slice:
        """The entries of one class."""
        first, end = np.searchsorted(self.of_class, [class_, class_ + 1])
        return slice(int(first), int(end))


def _number(label: Any) -> float:
    try:
        return float(label)
    except (TypeError, ValueError):
        return nan


def meant(limit: float) -> Fraction:
    """The fraction that a limit stands for: 1/3 where it was computed so, 3/10 for 0.3."""
    simple = Fraction(limit).limit_denominator(SIMPLE)
    return simple if float(simple) == limit else Fraction(repr(limit))


def at_most(found: Floats, limit: Floats | float, exact: Callable[[int], bool]) -> Mask:
    """Where a number is at most a limit; one very near to it is decided by `exact` of its place."""
    holds: Mask = found <= limit
    for place in np.flatnonzero(np.abs(found - limit) <= CLOSE * np.maximum(1, np.abs(limit))):
        holds[place] = exact(int(place))
    return holds
