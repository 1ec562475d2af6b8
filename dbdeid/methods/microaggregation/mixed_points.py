"""Points of numbers and categories, in which groups of neighbours are found.

Numbers are standardized. Two different categories are at distance 1, as if each were a column of
its own with 1/√2 where it is: so that categories have means and squared distances add up. Those
columns are never made, since one code says where the 1/√2 is.

A missing number is the mean of those that are known, and whether it is missing is a category.
Equal records are one point with a weight, as far apart as they were: not at all.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dbdeid.data.records import Attribute, Floats, Ints

Codes = NDArray[np.intp]


@dataclass(frozen=True, slots=True)
class Points:
    """n points, in p numbers and c categories.

    Attributes:
        numbers: (p, n) standardized, each multiplied by the root of its attribute's weight.
        categories: (c, n) codes from 0.
        shares: (c,) the weight of each category: the squared distance of two that differ.
        levels: (c,) how many values each category has.
        records: (n,) how many records are at each point, from 0.
    """

    numbers: Floats
    categories: Codes
    shares: Floats
    levels: tuple[int, ...]
    records: Ints

    @property
    def number(self) -> int:
        """How many points there are."""
        return len(self.records)

    def squares_to(self, point: int) -> Floats:
        """(n,) squared distances from one of the points."""
        found = _squares(self.numbers, self.numbers[:, point])
        for codes, share in zip(self.categories, self.shares, strict=True):
            found += share * (codes != codes[point])
        return found

    def squares_to_mean(self, mean: Mean) -> Floats:
        """(n,) squared distances from the mean of some records."""
        found = _squares(self.numbers, mean.numbers)
        for codes, share, of in zip(self.categories, self.shares, mean.shares, strict=True):
            found += share * (0.5 * (1.0 + of @ of) - of)[codes]
        return found

    def mean(self) -> Mean:
        """The mean of all records."""
        whole = float(self.records.sum())
        shares = (
            np.bincount(codes, self.records, levels) / whole
            for codes, levels in zip(self.categories, self.levels, strict=True)
        )
        return Mean(self.numbers @ self.records / whole, tuple(shares))

    def of(self, points: Ints, records: Ints) -> Points:
        """Some of the points, with other weights."""
        return Points(
            np.ascontiguousarray(self.numbers[:, points]),
            np.ascontiguousarray(self.categories[:, points]),
            self.shares,
            self.levels,
            records,
        )


@dataclass(frozen=True, slots=True)
class Mean:
    """The mean of some records.

    Attributes:
        numbers: (p,) their means.
        shares: of each category, how often it has each of its values.
    """

    numbers: Floats
    shares: tuple[Floats, ...]


def _squares(numbers: Floats, point: Floats) -> Floats:
    apart = numbers - point[:, None]
    np.multiply(apart, apart, out=apart)
    found: Floats = apart.sum(axis=0)
    return found


def points_of(attributes: Sequence[Attribute], records: Ints) -> Points:
    """The points that records with these attributes are at.

    Args:
        attributes: each of n values; missing numbers are NaN.
        records: (n,) how many records have these values, from 1.
    """
    numbers: list[Floats] = []
    categories: list[Codes] = []
    shares: list[float] = []
    levels: list[int] = []
    for attribute in attributes:
        codes, number = attribute.values, attribute.levels
        if number is None:
            missing = np.isnan(attribute.values)
            numbers.append(np.sqrt(attribute.weight) * standardized(attribute.values, records))
            if not missing.any() or missing.all():
                continue
            codes, number = missing.astype(np.float64), 2
        categories.append(codes.astype(np.intp))
        shares.append(attribute.weight)
        levels.append(number)
    n = len(records)
    return Points(
        np.array(numbers, np.float64).reshape(len(numbers), n),
        np.array(categories, np.intp).reshape(len(categories), n),
        np.array(shares, np.float64),
        tuple(levels),
        records,
    )


def standardized(values: Floats, records: Ints) -> Floats:
    """Numbers with mean 0 and variance 1 over the records; those that are missing, or alike, are 0.

    Args:
        values: (n,) numbers, NaN where they are missing.
        records: (n,) how many records have them.
    """
    known = ~np.isnan(values)
    if not known.any():
        return np.zeros_like(values)
    weights = records[known]
    # far from 0 the squares of large numbers would hide how they differ
    apart = values - values[known][0]
    apart = np.where(known, apart - np.average(apart[known], weights=weights), 0.0)
    largest = np.abs(apart).max()
    if largest == 0.0:
        return apart
    apart /= largest
    deviation = float(np.sqrt(np.average(apart[known] ** 2, weights=weights)))
    return np.asarray(apart / deviation, np.float64)
