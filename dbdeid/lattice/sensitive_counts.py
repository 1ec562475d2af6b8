"""Sensitive values counted by class: from the values of rows to those of their classes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dbdeid.lattice.tuples import Values

Ints = NDArray[np.int64]

DENSE = 6  # cells of a table of all classes and values, per entry, up to which it is scanned
MOST_SCANNED = 1 << 24  # cells, too, up to which it is: 128 MB

MARKED = 1 << 27  # cells of such a table up to which values are only marked


@dataclass(frozen=True, slots=True)
class Entries:
    """The values of some classes, by class and in it by value.

    Attributes:
        of_class: the class of each entry.
        value: its value code.
        count: subjects of the class with this value, or records where every record is one.
    """

    of_class: Ints
    value: Ints
    count: Ints

    def of_classes(self, chosen: Ints) -> Entries:
        """The values of some of the classes, which are numbered anew in this order, ascending."""
        place = np.searchsorted(chosen, self.of_class)
        meant = np.append(chosen, -1)[place] == self.of_class
        return Entries(place[meant], self.value[meant], self.count[meant])


def counted(values: Values, place: Ints, classes: int) -> Entries:
    """The records of each class by value.

    Args:
        values: of rows.
        place: the class of each row; rows with the number of classes are left out.
        classes: how many there are.
    """
    key = place[values.row]
    key *= values.cardinality
    key += values.value
    space = classes * values.cardinality
    if space <= max(min(DENSE * len(key), MOST_SCANNED), 1024):
        table = np.zeros(space + values.cardinality, np.int64)
        np.add.at(table, key, values.count)
        found = np.flatnonzero(table[:space])
        return _split(found, table[found], values.cardinality)
    # sorted with the counts in the low bits, which is several times faster than by places
    shift = int(values.count.max(initial=1)).bit_length()
    if space.bit_length() + shift > 61:
        found, at = np.unique(key, return_inverse=True)
        sums = np.bincount(at, values.count).astype(np.int64)
    else:
        key <<= shift
        key |= values.count
        key.sort()
        first = np.flatnonzero(np.diff(key >> shift, prepend=-1))
        found, sums = key[first] >> shift, np.add.reduceat(key & ((1 << shift) - 1), first)
    end = np.searchsorted(found, space)
    return _split(found[:end], sums[:end], values.cardinality)


def distinct(values: Values, place: Ints, classes: int) -> Ints:
    """How many values each class has.

    Args:
        values: of rows.
        place: the class of each row; rows with the number of classes are left out.
        classes: how many there are.
    """
    if classes * values.cardinality > MARKED:
        return np.bincount(counted(values, place, classes).of_class, minlength=classes)
    key = place[values.row]
    key *= values.cardinality
    key += values.value
    marks = np.zeros((classes + 1) * values.cardinality, np.uint8)
    marks[key] = 1
    found: Ints = marks.reshape(-1, values.cardinality).sum(axis=1, dtype=np.int64)[:classes]
    return found


def counted_subjects(
    values: Values, place: Ints, classes: int, subjects: Ints, people: int
) -> Entries:
    """The distinct subjects of each class by value.

    Args:
        values: of rows.
        place: the class of each row; rows with the number of classes are left out.
        classes: how many there are.
        subjects: the subject of each row.
        people: subject codes are below it.
    """
    of_row = place[values.row]
    present = np.flatnonzero(of_row < classes)
    pair = of_row[present] * values.cardinality + values.value[present]
    # numbered anew, so that the keys below fit 64 bits
    pairs, pair = np.unique(pair, return_inverse=True)
    each = np.unique(pair * people + subjects[values.row[present]])
    count = np.bincount(each // max(people, 1), minlength=len(pairs))
    return _split(pairs, count, values.cardinality)


def _split(key: Ints, count: Ints, cardinality: int) -> Entries:
    of_class = key // cardinality
    return Entries(of_class, key - of_class * cardinality, count)
