"""Groups of neighbouring records, and the points that have none yet."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dbdeid.data.records import Floats, Ints
from dbdeid.methods.microaggregation.mixed_points import Mean, Points


@dataclass(frozen=True, slots=True)
class Groups:
    """How many records of which point are in which group.

    Attributes:
        point: (m,) of the points.
        group: (m,) numbered from 0 without gaps; no pair of point and group is listed twice.
        records: (m,) how many, from 1.
    """

    point: Ints
    group: Ints
    records: Ints

    @property
    def number(self) -> int:
        """How many groups there are."""
        return int(self.group.max(initial=-1)) + 1

    @property
    def sizes(self) -> Ints:
        """(groups,) how many records each has."""
        return np.bincount(self.group, self.records, self.number).astype(np.int64)


def joined(parts: list[tuple[Ints, Ints]]) -> Groups:
    """Groups of the points and records of each."""
    points, records = zip(*parts, strict=True)
    lengths = [len(own) for own in points]
    group = np.repeat(np.arange(len(parts), dtype=np.int64), lengths)
    return Groups(np.concatenate(points), group, np.concatenate(records))


def means(values: Floats, groups: Groups) -> Floats:
    """(groups,) the mean of the known values of each group; NaN where there are none.

    A group of one value has that value for its mean, to the last bit.

    Args:
        values: (n,) of the points, NaN where missing.
        groups: of their records.
    """
    known = ~np.isnan(values[groups.point])
    group, records = groups.group[known], groups.records[known]
    own = values[groups.point[known]]
    some = np.full(groups.number, np.nan)
    some[group[::-1]] = own[::-1]
    apart = np.bincount(group, (own - some[group]) * records, groups.number)
    sizes = np.bincount(group, records, groups.number)
    return np.asarray(some + apart / np.maximum(sizes, 1), np.float64)


def modes(codes: Floats, groups: Groups) -> Floats:
    """(groups,) the most frequent code of each group, the least where several are.

    Args:
        codes: (n,) of the points.
        groups: of their records.
    """
    pairs = np.stack([groups.group.astype(np.float64), codes[groups.point]])
    distinct, place = np.unique(pairs, axis=1, return_inverse=True)
    records = np.bincount(place.ravel(), groups.records)
    order = np.lexsort((distinct[1], -records, distinct[0]))
    _, first = np.unique(distinct[0, order], return_index=True)
    return np.asarray(distinct[1, order[first]], np.float64)


def information_loss(values: Floats, masks: Floats, groups: Groups) -> float | None:
    """The squares that a column's numbers lie apart from their groups' masks, as a share.

    Args:
        values: (n,) of the points, NaN where missing.
        masks: (groups,) what replaces them.
        groups: of their records.

    Returns:
        The share of the squares around the mean of the column; None where all numbers are alike.
    """
    own = values[groups.point]
    known = ~np.isnan(own)
    own, records = own[known], groups.records[known]
    around = own - own[0] if len(own) else own
    around = around - (around @ records / max(records.sum(), 1))
    whole = float(around**2 @ records)
    if whole == 0.0:
        return None
    return float((own - masks[groups.group[known]]) ** 2 @ records) / whole


def nearest(squares: Floats, records: Ints, k: int) -> tuple[Ints, Ints]:
    """The k records at the least distances: their places, and how many of each.

    Of the last point only as many as are needed; ties go to the first place.

    Args:
        squares: (n,) squared distances.
        records: (n,) how many are at each; at least k in all.
        k: how many are wanted.
    """
    places = np.arange(len(squares))
    if len(squares) > k:
        places = np.flatnonzero(squares <= np.partition(squares, k - 1)[k - 1])
    places = places[np.argsort(squares[places], kind="stable")]
    reached = np.cumsum(records[places])
    last = int(np.searchsorted(reached, k))
    places = places[: last + 1]
    taken = records[places]
    taken[-1] -= reached[last] - k
    return places, taken


class Left:
    """The records that have no group yet.

    Points without records make room for others when they are closed: the last points then stand
    in their places, and `points` is as short as it can be.
    """

    def __init__(self, points: Points) -> None:
        """All records of the points."""
        self._whole = points.of(np.arange(points.number), points.records.copy())
        self._ids = np.arange(points.number)
        self._size = points.number
        mean = points.mean()
        self.records = int(points.records.sum())
        self._sums = mean.numbers * self.records
        self._counts = [shares * self.records for shares in mean.shares]

    @property
    def points(self) -> Points:
        """Those with records that have no group."""
        whole, size = self._whole, self._size
        return Points(
            whole.numbers[:, :size],
            whole.categories[:, :size],
            whole.shares,
            whole.levels,
            whole.records[:size],
        )

    @property
    def ids(self) -> Ints:
        """Which points these are."""
        return self._ids[: self._size]

    @property
    def mean(self) -> Mean:
        """The mean of the records that have no group."""
        shares = tuple(counts / self.records for counts in self._counts)
        return Mean(self._sums / self.records, shares)

    def take(self, places: Ints, records: Ints) -> tuple[Ints, Ints]:
        """Take records away: the points that they are of, and how many of each.

        Args:
            places: where the points stand now.
            records: how many are taken from each.
        """
        whole = self._whole
        points = self._ids[places].copy()
        self._sums -= whole.numbers[:, places] @ records
        for counts, codes in zip(self._counts, whole.categories, strict=True):
            np.subtract.at(counts, codes[places], records)
        self.records -= int(records.sum())
        whole.records[places] -= records
        return points, records

    def rest(self) -> tuple[Ints, Ints]:
        """Take all that is left, closed."""
        return self.take(np.arange(self._size), self._whole.records[: self._size].copy())

    def close(self, places: Ints) -> None:
        """Put the last points in place of those among `places` that have no records.

        Args:
            places: of all points that lost records since the last time, each once.
        """
        whole = self._whole
        empty = places[whole.records[places] == 0]
        size = self._size - len(empty)
        last = np.setdiff1d(np.arange(size, self._size), empty)
        to = empty[empty < size]
        whole.numbers[:, to] = whole.numbers[:, last]
        whole.categories[:, to] = whole.categories[:, last]
        whole.records[to] = whole.records[last]
        self._ids[to] = self._ids[last]
        self._size = size
