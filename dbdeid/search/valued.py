"""Sensitive values counted by class: from the values of rows to those of their classes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dbdeid.search.tuples import Values

Ints = NDArray[np.int64]

DENSE = 6  # cells of a table of all classes and values, per entry, up to which it is scanned


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


def counted(values: Values, place: Ints, classes: int) -> Entries:
    """The records of each class by value.

    Args:
        values: of rows.
        place: the class of each row; rows with -1 are left out.
        classes: how many there are.
    """
    of_row = place[values.row]
    key = of_row * values.cardinality + values.value
    count = values.count
    if place.min(initial=0) < 0:
        present = of_row >= 0
        key, count = key[present], count[present]
    space = classes * values.cardinality
    if space <= max(DENSE * len(key), 1024):
        table = np.zeros(space, np.int64)
        np.add.at(table, key, count)
        found = np.flatnonzero(table)
        return _split(found, table[found], values.cardinality)
    order = np.argsort(key, kind="stable")
    key = key[order]
    first = np.flatnonzero(np.concatenate(([True], key[1:] != key[:-1])))
    return _split(key[first], np.add.reduceat(count[order], first), values.cardinality)


def counted_subjects(values: Values, place: Ints, subjects: Ints, people: int) -> Entries:
    """The distinct subjects of each class by value.

    Args:
        values: of rows.
        place: the class of each row; rows with -1 are left out.
        subjects: the subject of each row.
        people: subject codes are below it.
    """
    of_row = place[values.row]
    present = of_row >= 0
    pair = of_row[present] * values.cardinality + values.value[present]
    # numbered anew, so that the keys below fit 64 bits
    pairs, pair = np.unique(pair, return_inverse=True)
    each = np.unique(pair * people + subjects[values.row[present]])
    count = np.bincount(each // max(people, 1), minlength=len(pairs))
    return _split(pairs, count, values.cardinality)


def _split(key: Ints, count: Ints, cardinality: int) -> Entries:
    return Entries(key // cardinality, key % cardinality, count)
