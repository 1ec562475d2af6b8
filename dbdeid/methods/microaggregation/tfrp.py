"""Two fixed reference points: groups of at least k records, made in two phases.

Chang, Li & Huang 2007 (Journal of Systems and Software 80, section 3): the reference points are the
least and the greatest value of every attribute. In turn the record farthest from the one and from
the other makes a group with the k - 1 nearest to it, until fewer than k records are left, which
join the groups nearest to them. Then groups are dissolved, from the least homogeneous on, where
their records do better in the groups that are nearest to each.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from dbdeid.data.records import Floats, Ints
from dbdeid.methods.microaggregation.groups import Groups, Left, joined, nearest
from dbdeid.methods.microaggregation.mixed_points import Points


def tfrp(points: Points, k: int, settled: Callable[[int], None] | None = None) -> Groups:
    """Groups of at least k records, of which some may have 2k or more.

    Categories are as far from either reference point, whichever they are. The records of one point
    may be in several groups. O(n² / k) for n records.

    Args:
        points: with at least k records.
        k: least records of a group.
        settled: told how many records have a group.
    """
    return dissolved(points, grouped(points, k, settled))


def grouped(points: Points, k: int, settled: Callable[[int], None] | None = None) -> Groups:
    """The first phase: groups of k records, and the last records in the groups nearest to them."""
    left = Left(points)
    parts: list[tuple[Ints, Ints]] = []
    whole, numbers = left.records, points.numbers
    ends = (numbers.min(axis=1), numbers.max(axis=1))
    far = np.stack([((numbers - end[:, None]) ** 2).sum(axis=0) for end in ends])
    while left.records >= k:
        start = int(np.argmax(far[len(parts) % 2][left.ids]))
        near = nearest(left.points.squares_to(start), left.points.records, k)
        parts.append(left.take(*near))
        left.close(near[0])
        if settled is not None:
            settled(whole - left.records)
    found = joined(parts)
    last, records = left.rest()
    if not len(last):
        return found
    to = _Centres(points, found).nearest(last)
    return merged(
        np.concatenate([found.point, last]),
        np.concatenate([found.group, to]),
        np.concatenate([found.records, records]),
    )


def dissolved(points: Points, groups: Groups) -> Groups:
    """The second phase: each group in turn, unless its records do better in others.

    They go to the nearest means of the other groups, as these are at that time.
    """
    centres = _Centres(points, groups)
    order = np.argsort(groups.group, kind="stable")
    ends = np.cumsum(np.bincount(groups.group, minlength=groups.number))
    members = np.split(order, ends[:-1])
    group = groups.group.copy()
    for number in np.argsort(-centres.deviations(groups), kind="stable").tolist():
        rows = members[number]
        own, records = groups.point[rows], groups.records[rows]
        to = centres.nearest(own, without=number)
        if len(to) and centres.dissolve(number, own, to, records):
            group[rows] = to
            for other in np.unique(to).tolist():
                members[other] = np.concatenate([members[other], rows[to == other]])
    return merged(groups.point, group, groups.records)


def merged(point: Ints, group: Ints, records: Ints) -> Groups:
    """Groups numbered without gaps, where records of one point may have come together."""
    pairs, place = np.unique(np.stack([group, point]), axis=1, return_inverse=True)
    together = np.bincount(place.ravel(), records).astype(np.int64)
    numbered = np.unique(pairs[0], return_inverse=True)[1].astype(np.int64)
    return Groups(pairs[1], numbered, together)


class _Centres:
    """The means of groups, and what all groups together deviate from them."""

    def __init__(self, points: Points, groups: Groups) -> None:
        self._points = points
        self._sizes = groups.sizes.astype(np.float64)
        self._sums = _summed(points.numbers[:, groups.point], groups)
        # of each category, how many records of each group have each of its values
        self._counts = []
        for codes, levels in zip(points.categories, points.levels, strict=True):
            cells = groups.group * levels + codes[groups.point]
            counted = np.bincount(cells, groups.records, groups.number * levels)
            self._counts.append(counted.reshape(groups.number, levels))
        self._left = groups.number
        self._means = np.empty_like(self._sums)
        self._shares = [np.empty_like(counts) for counts in self._counts]
        # what is squared of the means; infinite of those that are dissolved
        self._squares = np.empty(groups.number)
        self._settle(np.arange(groups.number))

    def deviations(self, groups: Groups) -> Floats:
        """(groups,) the sum of squared distances of each group's records from their mean."""
        squares = (self._points.numbers[:, groups.point] ** 2).sum(axis=0)
        whole = np.bincount(groups.group, squares * groups.records, groups.number)
        constant = 0.5 * float(self._points.shares.sum()) * self._sizes
        return whole + constant - self._gains(np.arange(groups.number))

    def nearest(self, own: Ints, without: int | None = None) -> Ints:
        """The group with the nearest mean to each point, of those that are not dissolved.

        Args:
            own: the points.
            without: a group that does not count.
        """
        if self._left == (without is not None):
            return np.empty(0, np.int64)
        apart = self._squares - 2.0 * self._points.numbers[:, own].T @ self._means
        for codes, weight, shares in zip(
            self._points.categories, self._points.shares, self._shares, strict=True
        ):
            apart -= weight * shares[:, codes[own]].T
        if without is not None:
            apart[:, without] = np.inf
        return np.asarray(np.argmin(apart, axis=1), np.int64)

    def _settle(self, groups: Ints) -> None:
        """Take the means of some groups anew."""
        sizes = self._sizes[groups]
        self._means[:, groups] = self._sums[:, groups] / sizes
        self._squares[groups] = (self._means[:, groups] ** 2).sum(axis=0)
        for weight, counts, shares in zip(
            self._points.shares, self._counts, self._shares, strict=True
        ):
            shares[groups] = counts[groups] / sizes[:, None]
            self._squares[groups] += 0.5 * weight * (shares[groups] ** 2).sum(axis=1)

    def dissolve(self, number: int, own: Ints, to: Ints, records: Ints) -> bool:
        """Move the records of a group to others, if all groups then deviate less.

        Args:
            number: of the group.
            own: the points of its records.
            to: where those go.
            records: how many each has.
        """
        changed = np.unique(to)
        before = self._gains(np.append(changed, number)).sum()
        kept = self._sums[:, changed].copy(), self._sizes[changed].copy()
        counts = [of[changed].copy() for of in self._counts]
        self._add(own, to, records)
        if self._gains(changed).sum() > before:
            self._settle(changed)
            self._squares[number] = np.inf
            self._left -= 1
            return True
        self._sums[:, changed], self._sizes[changed] = kept
        for of, was in zip(self._counts, counts, strict=True):
            of[changed] = was
        return False

    def _add(self, own: Ints, to: Ints, records: Ints) -> None:
        np.add.at(self._sums.T, to, (self._points.numbers[:, own] * records).T)
        np.add.at(self._sizes, to, records)
        for codes, counts in zip(self._points.categories, self._counts, strict=True):
            np.add.at(counts, (to, codes[own]), records)

    def _gains(self, groups: Ints) -> Floats:
        """What the means of groups take off the squares of their records."""
        sizes = self._sizes[groups]
        found: Floats = (self._sums[:, groups] ** 2).sum(axis=0) / sizes
        for share, counts in zip(self._points.shares, self._counts, strict=True):
            found += 0.5 * share * (counts[groups] ** 2).sum(axis=1) / sizes
        return found


def _summed(values: Floats, groups: Groups) -> Floats:
    """(p, groups) the sums of (p, m) values over the records of each group."""
    return np.array(
        [np.bincount(groups.group, own * groups.records, groups.number) for own in values]
    ).reshape(len(values), groups.number)
