"""Calibrate synthetic records: swap values inside clusters until the recipient's models agree.

The released records of a cluster exchange values of one attribute, so that no value is new and no
cluster changes what it holds. A swap is accepted while it brings the sums that the declared models
are fitted from closer to those of the original records.

Sums may come closer, and the models not: where no swap mends some of them, others are given up for
little. So the models are fitted before and after, and the better records are kept.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from dbdeid.data.records import Bools, Floats, Ints
from dbdeid.errors import DataError
from dbdeid.methods.condensation.refitted import Refitted
from dbdeid.methods.condensation.statistics import Cell, Model, Statistics, statistics

__all__ = ["Cell", "Model", "Swapped", "calibrate"]

# Records per statistic: with fewer, the statistics together would tell of single records.
LEAST = 10
# Random pairs of records drawn for each that is looked at: most have equal values.
_DRAWN = 6
# Of the sum of squares: less is rounding.
_GAIN = 1e-9


@dataclass(frozen=True, slots=True)
class Swapped:
    """How values were swapped.

    Attributes:
        places: of each attribute (n,) from which synthetic record each takes its value, always one
            of its own cluster.
        statistics: how many were kept close to those of the original records.
        before: root mean square of their differences from the originals' before the swaps, in
            units of the noise of sampling: a fresh sample of people has about 1.
        after: the same after the swaps; never more.
        rmsz: how far the coefficients of the models are off without the swaps and with them. Where
            they make it worse, every record has its own values back.
    """

    places: tuple[Ints, ...]
    statistics: int
    before: float
    after: float
    rmsz: tuple[float, float] = (0.0, 0.0)

    @property
    def better(self) -> bool:
        """Whether the swaps are of use, and kept."""
        return self.rmsz[1] <= self.rmsz[0]


def calibrate(
    models: Sequence[Model],
    clusters: Ints,
    frozen: frozenset[int],
    attributes: int,
    rng: np.random.Generator,
    rounds: int = 200,
    pairs: int = 384,
    progress: Callable[[int], None] | None = None,
) -> Swapped:
    """Swap values of one attribute between records of a cluster, while the models come closer.

    Each round looks at random pairs of records, no record twice. Their changes of the statistics,
    all sums over records, add up, so that the best pairs can be taken one after the other.

    Args:
        models: that the recipient declared.
        clusters: (n,) the cluster of each synthetic record.
        frozen: attributes whose values stay where they are.
        attributes: how many there are.
        rng: draws the pairs; equal generators give equal swaps.
        rounds: of pairs.
        pairs: looked at in a round.
        progress: is told after each round how many there were.

    Raises:
        DataError: there are fewer than ten records for a statistic, or none for a model.
    """
    # Not needed by who only imports, and slow to load.
    from threadpoolctl import threadpool_limits

    own = np.tile(np.arange(len(clusters)), (attributes, 1))
    if not models:
        return Swapped(tuple(own), 0, 0.0, 0.0)
    places = own.copy()
    kept = statistics(models, clusters, frozen)
    _refuse_few(kept)
    with threadpool_limits(1, user_api="blas"):
        values = kept.columns.synthetic.T.copy()
        gap = kept.gap(values)
        before = float(gap @ gap)
        draw = _Pairs(kept, clusters, rng)
        for done in range(1, rounds + 1):
            drawn = draw.some(places, pairs)
            moves = kept.moves(values, *drawn)
            taken = _best(gap, moves)
            which, one, other = drawn[0][taken], drawn[1][taken], drawn[2][taken]
            kept.swap(values, which, one, other)
            theirs = places[which, other]
            places[which, other] = places[which, one]
            places[which, one] = theirs
            gap = gap + moves[:, taken].sum(axis=1)
            if progress is not None:
                progress(done)
        gap = kept.gap(values)
        after = float(gap @ gap)
        refitted = Refitted(models)
        rmsz = refitted.rmsz(own), refitted.rmsz(places)
    root = max(len(gap), 1)
    told = kept.number, (before / root) ** 0.5, (after / root) ** 0.5, rmsz
    swapped = Swapped(tuple(places), *told)
    return swapped if swapped.better else replace(swapped, places=tuple(own))


def _refuse_few(kept: Statistics) -> None:
    records, needed = kept.fewest()
    if records < LEAST * needed:
        raise DataError(
            f"the declared models keep {needed} statistics of {records} records, and "
            f"calibration needs {LEAST} records for each",
            hint="declare fewer covariates or models, or set calibrate: false",
        )


class _Pairs:
    """Draws pairs of records of a cluster that differ in an attribute."""

    def __init__(self, kept: Statistics, clusters: Ints, rng: np.random.Generator) -> None:
        self._rng = rng
        self._free = np.array(sorted(kept.free), dtype=np.int64)
        self._codes = kept.codes()
        self._order = np.argsort(clusters, kind="stable")
        _, first, group, size = np.unique(
            clusters[self._order], return_index=True, return_inverse=True, return_counts=True
        )
        # Of each record, in that order: where its cluster begins, and how many it holds.
        self._first, self._size = first[group], size[group]

    def some(self, places: Ints, number: int) -> tuple[Ints, Ints, Ints]:
        """Up to so many attributes, records and partners; no record is in two pairs."""
        drawn = _DRAWN * number
        if not len(self._free) or not len(self._order):
            none = np.zeros(0, dtype=np.int64)
            return none, none, none
        attributes = self._free[self._rng.integers(len(self._free), size=drawn)]
        at = self._rng.integers(len(self._order), size=drawn)
        other = self._first[at] + self._rng.integers(self._size[at])
        one, other = self._order[at], self._order[other]
        useful = np.flatnonzero(self._differ(places, attributes, one, other))
        attributes, one, other = attributes[useful], one[useful], other[useful]
        both = np.stack([one, other], axis=1).ravel()
        new = np.zeros(len(both), dtype=np.bool_)
        new[np.unique(both, return_index=True)[1]] = True
        apart = np.flatnonzero(new.reshape(-1, 2).all(axis=1))[:number]
        return attributes[apart], one[apart], other[apart]

    def _differ(self, places: Ints, attributes: Ints, one: Ints, other: Ints) -> Bools:
        mine = places[attributes, one]
        theirs = places[attributes, other]
        found: Bools = self._codes[attributes, mine] != self._codes[attributes, theirs]
        return found


def _best(gap: Floats, moves: Floats) -> Ints:
    """Moves that bring the gap closer to 0, the best first, each beside those taken before."""
    gains = 2 * (gap @ moves) + (moves * moves).sum(axis=0)
    least = -_GAIN * float(gap @ gap)
    open_ = np.flatnonzero(gains < least)
    gains, some = gains[open_], moves[:, open_]
    beside = 2 * (some.T @ some)
    taken = []
    while len(gains) and gains[best := int(np.argmin(gains))] < least:
        taken.append(best)
        gains += beside[best]
        gains[best] = np.inf
    return open_[np.array(taken, dtype=np.int64)]
