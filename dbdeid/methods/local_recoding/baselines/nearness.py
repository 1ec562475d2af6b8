"""How near records are to a growing Q-block: what the information lost rises by as one joins it.

With |B| records in a block B, the loss of blocks is Σ_B |B| · [Σ_a w_a · H_a(B) - λ · H(S|B)]. Only
what differs between candidates is worked out, and by value: a price for each code of an attribute,
the sum of which over the attributes of a record is its cost.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from dbdeid.lattice.tuples import Tuples
from dbdeid.methods.local_recoding.baselines.growing_block import Growing
from dbdeid.methods.local_recoding.search.taxonomy import Taxonomy

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]


class Nearness(Protocol):
    """What the loss rises by as a record joins a block, up to what is the same for all."""

    def codes(self, block: Growing) -> Sequence[Floats]:
        """A price for each code of each quasi-identifier; none where they do not matter."""
        ...

    def values(self, block: Growing) -> Sequence[Floats]:
        """A price for each value of each sensitive attribute."""
        ...

    def rest(self, block: Growing, units: Ints) -> Floats | None:
        """What some units cost beyond that; None: nothing."""
        ...

    def made(self, block: Growing) -> None:
        """Receive a block that is finished."""
        ...


class Entropy:
    """Conditional entropy inside the blocks, and mutual information with the sensitive values.

    Args:
        taxonomy: of the quasi-identifiers.
        diversity_weight: λ, how much the entropy of the sensitive values is worth; 0 is
            conditional entropy alone.
        inside: whether the entropy of a quasi-identifier is that of the block's own records (the
            paper's), or that of the values under its generalized one in the whole table.
    """

    def __init__(self, taxonomy: Taxonomy, diversity_weight: float, *, inside: bool) -> None:
        self._taxonomy = taxonomy
        self._diversity_weight = diversity_weight
        self._inside = inside

    def codes(self, block: Growing) -> Sequence[Floats]:
        """Dearer, the rarer a code is in the block or the higher its common ancestor."""
        price = self._of_counts if self._inside else self._of_node
        return [price(block, i) for i in range(len(block.codes))]

    def values(self, block: Growing) -> Sequence[Floats]:
        """Dearer, the more of the block's records have a value."""
        return [self._diversity_weight * rise(counts) for counts in block.values]

    def rest(self, block: Growing, units: Ints) -> Floats | None:
        """Nothing."""
        return None

    def made(self, block: Growing) -> None:
        """Nothing is kept."""

    def _of_counts(self, block: Growing, attribute: int) -> Floats:
        return np.asarray(-self._taxonomy.weights[attribute] * rise(block.codes[attribute]))

    def _of_node(self, block: Growing, attribute: int) -> Floats:
        first = block.first[attribute]
        level = np.maximum(block.ancestors(attribute), block.level(attribute))
        level = np.minimum(level, self._taxonomy.lattice.attributes[attribute].height)
        after = self._taxonomy.entropy[attribute][level, first]
        return np.asarray(self._taxonomy.weights[attribute] * (len(block.units) + 1) * after)


class Diversity(Entropy):
    """The entropy of the sensitive values alone: what is lost does not matter."""

    def __init__(self, taxonomy: Taxonomy) -> None:
        super().__init__(taxonomy, 1.0, inside=True)

    def codes(self, block: Growing) -> Sequence[Floats]:
        """They do not matter."""
        return []


class TableWide(Entropy):
    """Equation 8 of the paper as it stands: with the mutual information of the whole table.

    Records whose block is recoded leave the class of their tuple; -λ · N · H(S|Q) counts what that
    does to all classes. Between records that are alike in all quasi-identifiers nothing changes:
    whatever their sensitive values, they are equally near. That contradicts the paper's own
    example, and is why `Entropy` is there beside it.

    Args:
        taxonomy: of the quasi-identifiers.
        units: the records.
        diversity_weight: λ.
    """

    def __init__(self, taxonomy: Taxonomy, units: Tuples, diversity_weight: float) -> None:
        super().__init__(taxonomy, diversity_weight, inside=True)
        self._values = units.values
        self._class = _numbered(np.stack(units.codes))
        self._sizes = _summed(self._class, units.weights)
        self._cells = [_numbered(np.stack([self._class, v.value])) for v in units.values]
        self._counts = [_summed(cell, units.weights) for cell in self._cells]

    def values(self, block: Growing) -> Sequence[Floats]:
        """No price of their own."""
        return [np.zeros(len(counts)) for counts in block.values]

    def rest(self, block: Growing, units: Ints) -> Floats | None:
        """What N · H(S|Q) falls by."""
        before = self._of_classes(block)
        self._move(block, -1)
        parted = self._of_classes(block) - before
        size, found = len(block.units), np.full(len(units), parted)
        for cell, counts, values, own in zip(
            self._cells, self._counts, self._values, block.values, strict=True
        ):
            after = nlogn(size + 1) - nlogn(own).sum() - rise(own)
            found += after[values.value[units]]
            # without the record itself; units that have none left are closed anyway
            found -= rise(np.maximum(self._sizes[self._class[units]] - 1, 0))
            found += rise(np.maximum(counts[cell[units]] - 1, 0))
        self._move(block, 1)
        if len(set(self._class[block.units])) == 1:
            found[self._class[units] == self._class[block.units[0]]] = 0
        return -self._diversity_weight * found

    def made(self, block: Growing) -> None:
        """The records of a block that is recoded leave the classes of their tuples."""
        if len(set(self._class[block.units])) > 1:
            self._move(block, -1)

    def _move(self, block: Growing, records: int) -> None:
        np.add.at(self._sizes, self._class[block.units], records)
        for cell, counts in zip(self._cells, self._counts, strict=True):
            np.add.at(counts, cell[block.units], records)

    def _of_classes(self, block: Growing) -> float:
        """The size times the entropy of the sensitive values of the classes of a block's tuples."""
        sizes = nlogn(self._sizes[np.unique(self._class[block.units])]).sum()
        return sum(
            float(sizes - nlogn(counts[np.unique(cell[block.units])]).sum())
            for cell, counts in zip(self._cells, self._counts, strict=True)
        )


def nlogn(counts: Ints | int) -> Floats:
    """n · log2 n."""
    numbers = np.asarray(counts, np.float64)
    return np.asarray(numbers * np.log2(np.maximum(numbers, 1)))


def rise(counts: Ints) -> Floats:
    """What n · log2 n rises by with one more."""
    if counts.max(initial=0) < len(RISES):
        return RISES[counts]
    return nlogn(counts + 1) - nlogn(counts)


RISES = nlogn(np.arange(1, 1025)) - nlogn(np.arange(1024))  # looked up, as counts are mostly small


def _numbered(columns: Ints) -> Ints:
    """The number of each column of an array among the distinct ones."""
    _, place = np.unique(columns, axis=1, return_inverse=True)
    return place.ravel().astype(np.int64)


def _summed(place: Ints, weights: Ints) -> Ints:
    return np.rint(np.bincount(place, weights)).astype(np.int64)
