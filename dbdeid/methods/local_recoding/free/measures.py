"""What the cells of a block cost where it chooses them itself, attribute by attribute.

A free attribute shows of a block the tightest interval of its values, or the set of them; others
show their lowest common ancestor. Each measure says what a cell costs, how widely the values of
a part lie, and in which order they are cut. NULL beside a value leaves `*`, which costs all.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from dbdeid.methods.local_recoding.search.taxonomy import Taxonomy

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Single = NDArray[np.float32]
Mask = NDArray[np.bool_]

APART = 1.15  # mean distance of two values by their standard deviation, where they lie evenly
NEGLIGIBLE = 1e-12


class Growing(Protocol):
    """Cells that grow, one in each of some parts; records are in places of these parts."""

    def begin(self, rows: Ints, places: Ints) -> None:
        """Begin a cell in each part, with the record at a place."""
        ...

    def take(self, rows: Ints, places: Ints) -> None:
        """Add the record at a place to the cell of each part."""
        ...

    def costs(self) -> Single:
        """What the cell of each part costs with each of its records in turn (parts, places)."""
        ...

    def kept(self, rows: Ints, places: Ints) -> Growing:
        """The same of some parts and, in each of these, of some of its places."""
        ...


class Cells(Protocol):
    """The cells of blocks on one attribute."""

    def losses(self) -> Floats:
        """What the cell of each block costs a record."""
        ...

    def joined(self, codes: Ints, blocks: Ints) -> Floats:
        """What the cells of blocks would cost with one more code each, pair by pair."""
        ...


class Measure(Protocol):
    """One attribute."""

    def spread(self, codes: Ints, part: Ints, sizes: Ints) -> Floats:
        """What two records of a part cost together on average, for each part."""
        ...

    def order(self, codes: Ints, part: Ints) -> Floats:
        """Keys that records of a part are cut by."""
        ...

    def distances(self, codes: Ints, there: Mask) -> Floats:
        """How far records in places of parts are from the middle of theirs (parts, places)."""
        ...

    def growing(self, codes: Ints) -> Growing:
        """Cells that grow over records in places of parts (parts, places)."""
        ...

    def cells(self, codes: Ints, block: Ints, number: int) -> Cells:
        """The cells of blocks that hold some records, each at least one."""
        ...


# -- intervals -------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Ranges:
    """Intervals of numbers, dates and moments.

    Attributes:
        position: of each code in the range of the column, 0 to 1; of NULL one before it.
        weight: of a cell's loss in that of its record.
    """

    position: Floats
    weight: float

    def spread(self, codes: Ints, part: Ints, sizes: Ints) -> Floats:
        """By the standard deviation."""
        x = self.position[codes]
        mean = np.bincount(part, x, len(sizes)) / sizes
        apart = np.bincount(part, (x - mean[part]) ** 2, len(sizes)) / sizes
        return np.asarray(self.weight * APART * np.sqrt(apart))

    def order(self, codes: Ints, part: Ints) -> Floats:
        """The values themselves."""
        return np.asarray(codes, np.float64)

    def distances(self, codes: Ints, there: Mask) -> Floats:
        """From the mean."""
        x = self.position[codes]
        mean = (x * there).sum(axis=1) / there.sum(axis=1)
        return np.asarray(self.weight * np.abs(x - mean[:, None]))

    def growing(self, codes: Ints) -> Growing:
        """Ends that move apart."""
        return _GrowingRanges(self.position[codes].astype(np.float32), self.weight)

    def cells(self, codes: Ints, block: Ints, number: int) -> Cells:
        """From the least to the greatest value."""
        low, high = np.full(number, np.inf), np.full(number, -np.inf)
        np.minimum.at(low, block, self.position[codes])
        np.maximum.at(high, block, self.position[codes])
        return _Intervals(self, low, high)


@dataclass
class _GrowingRanges:
    position: Single
    weight: float

    def begin(self, rows: Ints, places: Ints) -> None:
        self._low = self.position[rows, places]
        self._high = self._low.copy()

    def take(self, rows: Ints, places: Ints) -> None:
        own = self.position[rows, places]
        np.minimum(self._low, own, out=self._low)
        np.maximum(self._high, own, out=self._high)

    def costs(self) -> Single:
        found = np.maximum(self.position, self._high[:, None])
        found -= np.minimum(self.position, self._low[:, None])
        np.minimum(found, 1, out=found)
        found *= self.weight
        return found

    def kept(self, rows: Ints, places: Ints) -> Growing:
        own = np.take_along_axis(self.position[rows], places, axis=1)
        return _GrowingRanges(own, self.weight)


@dataclass(frozen=True)
class _Intervals:
    of: Ranges
    low: Floats
    high: Floats

    def losses(self) -> Floats:
        return self.of.weight * np.minimum(self.high - self.low, 1)

    def joined(self, codes: Ints, blocks: Ints) -> Floats:
        own = self.of.position[codes]
        width = np.maximum(self.high[blocks], own) - np.minimum(self.low[blocks], own)
        return np.asarray(self.of.weight * np.minimum(width, 1))


# -- sets ------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Sets:
    """Sets of values.

    Attributes:
        cardinality: how many codes there are.
        unit: what each value beyond the first costs of a cell: one of all but one of the domain.
        null: the code of NULL, -1 where there is none.
        weight: of a cell's loss in that of its record.
    """

    cardinality: int
    unit: float
    null: int
    weight: float

    def spread(self, codes: Ints, part: Ints, sizes: Ints) -> Floats:
        """By how often two differ."""
        key, count = np.unique(part * self.cardinality + codes, return_counts=True)
        of = key // self.cardinality
        alike = np.bincount(of, (count / sizes[of]) ** 2, len(sizes))
        return np.asarray(self.weight * self.unit * np.maximum(1 - alike, 0))

    def order(self, codes: Ints, part: Ints) -> Floats:
        """The most frequent of a part first."""
        key, back, count = np.unique(
            part * self.cardinality + codes, return_inverse=True, return_counts=True
        )
        place = np.empty(len(key))
        place[np.lexsort((key, -count))] = np.arange(len(key))
        return np.asarray(place[back.ravel()])

    def distances(self, codes: Ints, there: Mask) -> Floats:
        """From the most frequent value."""
        return np.asarray(self.weight * self.unit * (codes != _modes(codes, there)[:, None]))

    def growing(self, codes: Ints) -> Growing:
        """Sets that take values up."""
        # values are numbered in each part, so that a set is as wide as a part has values
        key = np.arange(len(codes))[:, None] * self.cardinality + codes
        distinct, back = np.unique(key, return_inverse=True)
        first = np.searchsorted(distinct, np.arange(len(codes)) * self.cardinality)
        number = back.reshape(codes.shape) - first[:, None]
        return _GrowingSets(number.astype(np.int32), codes == self.null, self.unit, self.weight)

    def cells(self, codes: Ints, block: Ints, number: int) -> Cells:
        """The values that occur."""
        return _Sets(self, np.unique(block * self.cardinality + codes), number)


@dataclass
class _GrowingSets:
    number: NDArray[np.int32]
    null: Mask
    unit: float
    weight: float

    def begin(self, rows: Ints, places: Ints) -> None:
        self._held = np.zeros((len(self.number), int(self.number.max(initial=0)) + 1), np.bool_)
        self._missing = self.null[rows, places]
        self._cost = np.zeros(len(self.number), np.float32)
        self._held[rows, self.number[rows, places]] = True

    def take(self, rows: Ints, places: Ints) -> None:
        self._cost = self._with(rows, places)
        self._held[rows, self.number[rows, places]] = True

    def _with(self, rows: Ints, places: Ints) -> NDArray[np.float32]:
        new = ~self._held[rows, self.number[rows, places]]
        odd = self.null[rows, places] != self._missing
        found = np.where(odd, 1, np.minimum(self._cost + self.unit * new, 1))
        return found.astype(np.float32)

    def costs(self) -> Single:
        held = np.take_along_axis(self._held, self.number, axis=1)
        step = np.float32(self.weight) * np.minimum(self._cost + np.float32(self.unit), 1)
        own = np.float32(self.weight) * self._cost
        found = np.where(held, own[:, None], step[:, None])
        if self.null.any():
            found[self.null != self._missing[:, None]] = self.weight
        return found

    def kept(self, rows: Ints, places: Ints) -> Growing:
        number = np.take_along_axis(self.number[rows], places, axis=1)
        null = np.take_along_axis(self.null[rows], places, axis=1)
        return _GrowingSets(number, null, self.unit, self.weight)


@dataclass(frozen=True)
class _Sets:
    of: Sets
    keys: Ints  # block and code, ascending
    number: int

    def _counts(self) -> tuple[Ints, Ints]:
        """How many values each block has, and whether NULL is among them."""
        block = self.keys // self.of.cardinality
        null = self.keys - block * self.of.cardinality == self.of.null
        return np.bincount(block, minlength=self.number), np.bincount(block, null, self.number)

    def losses(self) -> Floats:
        values, null = self._counts()
        found = np.minimum((values - 1) * self.of.unit, 1)
        return np.asarray(self.of.weight * np.where((null > 0) & (values > 1), 1, found))

    def joined(self, codes: Ints, blocks: Ints) -> Floats:
        wanted = blocks * self.of.cardinality + codes
        place = np.minimum(np.searchsorted(self.keys, wanted), len(self.keys) - 1)
        new = self.keys[place] != wanted
        values, null = self._counts()
        found = np.minimum((values[blocks] + new - 1) * self.of.unit, 1)
        odd = ((null[blocks] > 0) | (codes == self.of.null)) & (values[blocks] + new > 1)
        return np.asarray(self.of.weight * np.where(odd, 1, found))


# -- hierarchies -----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Trees:
    """Lowest common ancestors in a hierarchy.

    Attributes:
        taxonomy: of the hierarchies.
        attribute: which one.
        loss: `loss[level][code]`, of a cell in that of its record.
    """

    taxonomy: Taxonomy
    attribute: int
    loss: Floats

    def spread(self, codes: Ints, part: Ints, sizes: Ints) -> Floats:
        """By the ancestors of two records."""
        found, before = np.zeros(len(sizes)), np.zeros(len(sizes))
        groups = self.taxonomy.lattice.attributes[self.attribute].groups
        for level, own in enumerate(groups):
            width = int(own.max(initial=0)) + 1
            key, first, count = np.unique(
                part * width + own[codes], return_index=True, return_counts=True
            )
            of = key // width
            alike = (count / sizes[of]) ** 2
            together = np.asarray(np.bincount(of, alike, len(sizes)), np.float64)
            cost = np.bincount(of, alike * self.loss[level, codes[first]], len(sizes))
            mean = cost / np.maximum(together, NEGLIGIBLE)
            found += mean * np.maximum(together - before, 0)
            before = together
        return found

    def order(self, codes: Ints, part: Ints) -> Floats:
        """The leaves as they stand below the top."""
        groups = self.taxonomy.lattice.attributes[self.attribute].groups
        inner = np.lexsort(groups)
        place = np.empty(len(inner))
        place[inner] = np.arange(len(inner))
        return np.asarray(place[codes])

    def distances(self, codes: Ints, there: Mask) -> Floats:
        """From the most frequent value."""
        mode = _modes(codes, there)[:, None]
        return np.asarray(self.loss[self.taxonomy.meet(self.attribute, mode, codes), mode])

    def growing(self, codes: Ints) -> Growing:
        """Ancestors that rise."""
        return _GrowingTrees(self, codes)

    def cells(self, codes: Ints, block: Ints, number: int) -> Cells:
        """The lowest common ancestors."""
        one = np.zeros(number, np.int64)
        one[block] = codes
        level = np.full(number, self.taxonomy.lattice.bottom[self.attribute])
        np.maximum.at(level, block, self.taxonomy.meet(self.attribute, codes, one[block]))
        return _Ancestors(self, one, level)


@dataclass
class _GrowingTrees:
    of: Trees
    codes: Ints

    def begin(self, rows: Ints, places: Ints) -> None:
        self._one = self.codes[rows, places]
        self._level = np.full(len(rows), self.of.taxonomy.lattice.bottom[self.of.attribute])

    def take(self, rows: Ints, places: Ints) -> None:
        own = self.codes[rows, places]
        meet = self.of.taxonomy.meet(self.of.attribute, self._one, own)
        self._level = np.maximum(self._level, meet)

    def costs(self) -> Single:
        meet = self.of.taxonomy.meet(self.of.attribute, self._one[:, None], self.codes)
        level = np.maximum(self._level[:, None], meet)
        return np.asarray(self.of.loss[level, self._one[:, None]], np.float32)

    def kept(self, rows: Ints, places: Ints) -> Growing:
        return _GrowingTrees(self.of, np.take_along_axis(self.codes[rows], places, axis=1))


@dataclass(frozen=True)
class _Ancestors:
    of: Trees
    one: Ints
    level: Ints

    def losses(self) -> Floats:
        return np.asarray(self.of.loss[self.level, self.one])

    def joined(self, codes: Ints, blocks: Ints) -> Floats:
        meet = self.of.taxonomy.meet(self.of.attribute, codes, self.one[blocks])
        return np.asarray(self.of.loss[np.maximum(meet, self.level[blocks]), self.one[blocks]])


def _modes(codes: Ints, there: Mask) -> Ints:
    """The most frequent code of each part."""
    width = int(codes.max(initial=0)) + 1
    key = np.arange(len(codes))[:, None] * width + codes
    distinct, count = np.unique(key[there], return_counts=True)
    order = np.lexsort((-count, distinct // width))
    part = (distinct // width)[order]
    first = np.flatnonzero(np.diff(part, prepend=-1))
    return np.asarray((distinct - distinct // width * width)[order[first]])


# -- all of them -----------------------------------------------------------------------------------

# How a free attribute is measured: the place of each code in its range, or the values of its domain
Scale = Floats | int


def measures(taxonomy: Taxonomy, scales: Sequence[Scale | None]) -> tuple[Measure, ...]:
    """How each attribute is measured.

    Args:
        taxonomy: of the hierarchies, of which those of free attributes are only values and `*`.
        scales: of each free attribute the positions of its codes in its range, or the size of its
            domain; None for others.
    """
    found: list[Measure] = []
    shares = taxonomy.weights / len(taxonomy.weights)
    for i, (attribute, scale) in enumerate(zip(taxonomy.lattice.attributes, scales, strict=True)):
        share = float(shares[i])
        if scale is None:
            found.append(Trees(taxonomy, i, taxonomy.cost("loss")[i]))
        elif isinstance(scale, int):
            null = -1 if attribute.null is None else attribute.null
            unit = 1 / max(scale - 1, 1)
            found.append(Sets(attribute.cardinality, unit, null, share))
        else:
            found.append(Ranges(scale, share))
    return tuple(found)
