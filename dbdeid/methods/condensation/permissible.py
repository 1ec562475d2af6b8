"""From drawn numbers to values that a column may have."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.random import Generator

from dbdeid.data.records import Bools, Floats, Ints

ASSIGNED = 400  # records of a cluster up to which categories are assigned at least cost


def on_grid(values: Floats, grid: float) -> Floats:
    """The nearest permissible numbers.

    >>> on_grid(np.array([0.31, 2.6]), 0.1).tolist()
    [0.3, 2.6]
    """
    if grid <= 0:
        return values
    # Decimals are exact only if they are divided: 3 / 10, not 3 · 0.1.
    parts = round(1 / grid)
    if parts > 1 and abs(parts * grid - 1) < 1e-9:
        permissible: Floats = np.round(values * parts) / parts
    else:
        permissible = np.round(values / grid) * grid
    return permissible + 0.0  # never -0


@dataclass(frozen=True, slots=True)
class Ends:
    """The least and the greatest number of a table.

    Attributes:
        low, high: which they are.
        low_is_shared, high_is_shared: whether as many records have it as a cluster must have.
    """

    low: float
    high: float
    low_is_shared: bool
    high_is_shared: bool

    @classmethod
    def of(cls, values: Floats, k: int) -> Ends:
        """Those of some numbers; missing ones do not count.

        Args:
            values: the numbers.
            k: records of a cluster, at least.
        """
        known = values[~np.isnan(values)]
        if not len(known):
            return cls(0.0, 0.0, low_is_shared=True, high_is_shared=True)
        low, high = float(known.min()), float(known.max())
        few_low, few_high = (int(np.count_nonzero(known == end)) < k for end in (low, high))
        return cls(low, high, low_is_shared=not few_low, high_is_shared=not few_high)

    def within(self, values: Floats) -> Floats:
        """Numbers of the range: held at an end that many have, else turned back there.

        Held at the number of a few, that would be copied to every record beyond it.

        >>> ends = Ends(0.0, 10.0, low_is_shared=True, high_is_shared=False)
        >>> ends.within(np.array([-1.0, 3.0, 12.5, 31.0])).tolist()
        [0.0, 3.0, 7.5, 0.0]
        """
        low, high = self.low, self.high
        if self.low_is_shared:
            values = np.maximum(values, low)
        if self.high_is_shared:
            values = np.minimum(values, high)
        if not (self.low_is_shared or self.high_is_shared) and high > low:  # to and fro
            beyond = np.mod(values - low, 2 * (high - low))
            values = low + np.minimum(beyond, 2 * (high - low) - beyond)
        elif not self.low_is_shared:
            values = low + np.abs(values - low)
        elif not self.high_is_shared:
            values = high - np.abs(high - values)
        return np.clip(values, low, high)


@dataclass(frozen=True, slots=True, eq=False)
class Rare:
    """The numbers of a table, and which of them few have.

    Attributes:
        numbers: all that differ, in ascending order.
        few: of each whether fewer records have it than a cluster must have.
    """

    numbers: Floats
    few: Bools

    @classmethod
    def of(cls, values: Floats, k: int) -> Rare:
        """Those of some numbers; missing ones do not count.

        Args:
            values: the numbers.
            k: records of a cluster, at least.
        """
        numbers, records = np.unique(values[~np.isnan(values)], return_counts=True)
        return cls(numbers, records < k)

    def hidden(self, drawn: Floats, source: Floats, grid: float, rng: Generator) -> Floats:
        """Draw between its neighbours in the table where a cluster knows one number, of a few.

        With the others of the cluster missing, whatever is drawn from it would be a copy.

        Args:
            drawn: (c, s) the synthetic numbers, NaN where they are missing.
            source: (c, s) the original ones.
            grid: the step between permissible numbers; 0: all are.
            rng: of the draws.
        """
        if len(self.numbers) < 2 or not self.few.any():
            return drawn
        low = np.fmin.reduce(source, axis=1, keepdims=True)
        alone = low == np.fmax.reduce(source, axis=1, keepdims=True)
        at = np.searchsorted(self.numbers, np.where(alone, low, self.numbers[0]))
        alone &= self.few[at]
        if not alone.any():
            return drawn
        below = self.numbers[np.maximum(at - 1, 0)]
        above = self.numbers[np.minimum(at + 1, len(self.numbers) - 1)]
        near = on_grid(below + rng.random(drawn.shape) * (above - below), grid)
        near = np.clip(near, self.numbers[0], self.numbers[-1])
        return np.where(alone & ~np.isnan(drawn), near, drawn)


def rounded(scores: Floats, grid: float, ends: Ends, missing: Bools | None) -> Floats:
    """The nearest numbers on the grid within the table's range (Gal et al. 2014).

    The paper holds all numbers at the ends of the range; here they are turned back at an end that
    only few records have.

    Args:
        scores: drawn numbers, of any shape.
        grid: the step between permissible numbers; 0: all are.
        ends: of the table.
        missing: which numbers are missing; None: none is.
    """
    # on the grid once more, for the range may end beside it
    values = np.clip(on_grid(ends.within(scores), grid), ends.low, ends.high)
    return values if missing is None else np.where(missing, np.nan, values)


def most_likely(scores: Floats, codes: Floats) -> Floats:
    """The category with the largest drawn indicator; of two the second above .5 (Gal et al. 2014).

    Args:
        scores: (c, s, columns) the drawn indicators, one column for two categories.
        codes: (categories,).
    """
    second = scores[..., 0] > 0.5
    found: Floats = codes[second.astype(np.int64) if len(codes) == 2 else scores.argmax(axis=-1)]
    return found


def by_counts(scores: Floats, codes: Floats, source: Floats) -> Floats:
    """Categories by the drawn indicators, each as often as in the cluster.

    Of two, those with the largest indicators have the second. More are assigned so that the sum of
    the indicators is greatest; in clusters of more than `ASSIGNED` records the rarest category
    takes its largest indicators first.

    Args:
        scores: (c, s, columns) the drawn indicators, one column for two categories.
        codes: (categories,) in ascending order.
        source: (c, s) the categories of the original records.

    Returns:
        (c, s), of each cluster a permutation of the source's.
    """
    if len(codes) == 2:
        ones = (source == codes[1]).sum(axis=1)
        return codes[largest(scores[..., 0], ones).astype(np.int64)]
    levels = np.searchsorted(codes, source)
    found = _assigned if source.shape[1] <= ASSIGNED else _rarest_first
    return codes[found(scores, levels)]


def largest(scores: Floats, number: Ints) -> Bools:
    """Which scores are the largest of their cluster.

    Args:
        scores: (c, s).
        number: (c,) how many.

    Returns:
        (c, s).
    """
    order = np.argsort(scores, axis=1, kind="stable")
    size = scores.shape[1]
    high = np.arange(size) >= size - number[:, None]
    top = np.empty(scores.shape, dtype=np.bool_)
    np.put_along_axis(top, order, high, axis=1)
    return top


def _assigned(scores: Floats, levels: Ints) -> Ints:
    from scipy.optimize import linear_sum_assignment

    result = np.sort(levels, axis=1)
    mixed = np.flatnonzero(result[:, 0] < result[:, -1])
    for cluster in mixed.tolist():
        seats = result[cluster]
        _, places = linear_sum_assignment(scores[cluster][:, seats], maximize=True)
        result[cluster] = seats[places]
    return result


def _rarest_first(scores: Floats, levels: Ints) -> Ints:
    count, size, kinds = scores.shape
    cells = levels + kinds * np.arange(count)[:, None]
    numbers = np.bincount(cells.ravel(), minlength=count * kinds).reshape(count, kinds)
    rarest = np.argsort(numbers, axis=1, kind="stable")
    result = np.full((count, size), -1, dtype=np.int64)
    for turn in range(kinds):
        level = rarest[:, turn]
        number = np.take_along_axis(numbers, level[:, None], axis=1)[:, 0]
        if not number.any():
            continue
        own = np.take_along_axis(scores, level[:, None, None], axis=2)[..., 0]
        taken = largest(np.where(result < 0, own, -np.inf), number)
        result = np.where(taken, level[:, None], result)
    return result


def by_rank(
    scores: Floats | None,
    missing: Floats | None,
    source: Floats,
    grid: float,
    rng: Generator | None,
) -> Floats:
    """Numbers of the cluster, in the order of the drawn ones.

    As many are missing as in the cluster, those with the largest indicators. The i-th of the others
    is the quantile (i + u)/s of the cluster, u uniform, between two of its numbers: the mean is
    kept, and no number is copied but by rounding.

    Args:
        scores: (c, s) the drawn numbers; None: they do not vary in the stratum.
        missing: (c, s) the drawn indicators of a missing number; None: they do not vary.
        source: (c, s) the original numbers, NaN where they are missing.
        grid: the step between permissible numbers; 0: all are.
        rng: of the quantiles; None: the numbers are those of the cluster.

    Returns:
        (c, s).
    """
    values = np.sort(source, axis=1)  # what is missing comes last
    lost = np.isnan(values).sum(axis=1)
    if rng is not None:
        values = on_grid(_quantiles(values, source.shape[1] - lost, rng), grid)
    order = np.zeros(source.shape) if scores is None else scores
    if missing is not None:
        order = np.where(largest(missing, lost), np.inf, order)
    result = np.empty(source.shape)
    np.put_along_axis(result, np.argsort(order, axis=1, kind="stable"), values, axis=1)
    return result


def _quantiles(ordered: Floats, known: Ints, rng: Generator) -> Floats:
    """One random quantile of each s-th part of the known numbers, NaN for the others."""
    last = np.maximum(known - 1, 0)[:, None]
    place = np.arange(ordered.shape[1]) + rng.random(ordered.shape) - 0.5
    # Turned back at both ends: held there, the least and the greatest number would be copied.
    place = np.clip(last - np.abs(last - np.abs(place)), 0, last)
    below = place.astype(np.int64)
    low = np.take_along_axis(ordered, below, axis=1)
    high = np.take_along_axis(ordered, np.minimum(below + 1, last), axis=1)
    values = low + (place - below) * (high - low)
    return np.where(np.arange(ordered.shape[1]) < known[:, None], values, np.nan)
