"""Lowest common ancestors and what they lose: the hierarchies as a local recoding looks them up.

What stands for a set of records, its *region*, is on each attribute a level and the code of any of
its records: the group of that code on that level is the lowest that holds them all.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from dbdeid.lattice.lattice import Attribute, Lattice
from dbdeid.lattice.tuples import Tuples

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Codes = NDArray[np.integer[Any]]

Cost = Literal["balanced", "loss", "node_entropy"]

TABULATED = 1024  # codes of an attribute up to which the ancestors of all pairs are a table


@dataclass(frozen=True, slots=True)
class Regions:
    """What stands for some blocks; the shapes are (attributes, blocks).

    Attributes:
        levels: of the lowest common ancestors, at least `min_level`.
        codes: a code of the block on each attribute.
    """

    levels: Ints
    codes: Ints


class Taxonomy:
    """The hierarchies of a table's quasi-identifiers with the distribution of their values.

    Args:
        lattice: the coded quasi-identifiers.
        units: the records.

    Attributes:
        weights: of each attribute in every sum over attributes; 1 each where none are declared.
        entropy: `entropy[attribute][level][code]`, bits: the entropy of the attribute given that
            its value is in the group of this code on this level, by the table's own distribution
            (node entropy; 0 on level 0).
        loss: `loss[attribute][level][code]`, of the cell, from 0 to 1.
    """

    def __init__(self, lattice: Lattice, units: Tuples) -> None:
        self.lattice = lattice
        counts = units.marginals(lattice).counts
        self.weights = np.array(lattice.shares) * len(lattice.attributes)
        self.entropy = [
            node_entropies(attribute, own)
            for attribute, own in zip(lattice.attributes, counts, strict=True)
        ]
        self.loss = [np.stack(attribute.loss) for attribute in lattice.attributes]
        self._shares = [own / max(int(own.sum()), 1) for own in counts]
        self._groups = [np.stack(attribute.groups) for attribute in lattice.attributes]
        self._tables = [
            _levels(groups) if groups.shape[1] <= TABULATED else None for groups in self._groups
        ]

    def meet(self, attribute: int, codes: Codes | int, others: Codes | int) -> Ints:
        """The level of the lowest common ancestors of codes, elementwise, at least `min_level`."""
        table, least = self._tables[attribute], self.lattice.bottom[attribute]
        if table is not None:
            return np.asarray(np.maximum(table[codes, others].astype(np.int64), least))
        groups = self._groups[attribute]
        one, other = np.broadcast_arrays(codes, others)
        differ = groups[:, one] != groups[:, other]
        return np.asarray(np.maximum(differ.sum(axis=0, dtype=np.int64), least))

    def regions(self, units: Tuples, row: Ints, block: Ints, number: int) -> Regions:
        """The regions of some blocks.

        Args:
            units: the records.
            row: the unit of each piece.
            block: its block; every block below `number` has a piece.
            number: how many blocks there are.
        """
        last = np.zeros(number, np.int64)
        last[block] = np.arange(len(block))
        codes = np.stack([own[row[last]].astype(np.int64) for own in units.codes])
        levels = np.empty_like(codes)
        for i, own in enumerate(units.codes):
            highest = np.full(number, self.lattice.bottom[i])
            np.maximum.at(highest, block, self.meet(i, own[row], codes[i][block]))
            levels[i] = highest
        return Regions(levels, codes)

    def entropies(self, regions: Regions) -> Floats:
        """The weighted sum of the node entropies of each block, in bits a record."""
        return self._summed(self.entropy, regions)

    def mean_entropy(self, attribute: int) -> Floats:
        """The weighted mean node entropy of all records on each level of an attribute, in bits."""
        mean = self.entropy[attribute] @ self._shares[attribute]
        return np.asarray(self.weights[attribute] * mean)

    def cost(self, objective: Cost) -> list[Floats]:
        """What cells cost, `[attribute][level][code]`; the sum over attributes is that of a record.

        - node_entropy: their node entropy, in bits.
        - loss: their share in the mean loss of the record's cells.
        - balanced: the share of all bits that is lost and twice the loss, over three. Entropy alone
            gives up rare values first, whose cells are then lost; loss alone gives up many bits for
            few cells.
        """
        shares = self.weights / len(self.weights)
        loss = [share * table for share, table in zip(shares, self.loss, strict=True)]
        if objective == "loss":
            return loss
        bits = [weight * table for weight, table in zip(self.weights, self.entropy, strict=True)]
        if objective == "node_entropy":
            return bits
        whole = sum(float(table[-1].max(initial=0.0)) for table in bits) or 1.0
        return [(own / whole + 2 * lost) / 3 for own, lost in zip(bits, loss, strict=True)]

    def mean_cost(self, objective: Cost) -> list[Floats]:
        """The mean cost of all records' cells, `[attribute][level]`."""
        tables = zip(self.cost(objective), self._shares, strict=True)
        return [np.asarray(table @ share) for table, share in tables]

    def losses(self, regions: Regions) -> Floats:
        """The weighted mean of the losses of each block's cells."""
        return self._summed(self.loss, regions) / len(self.lattice.attributes)

    def classes(self, regions: Regions) -> Ints:
        """The class of each block: those that read alike are one."""
        read = [
            groups[levels, codes]
            for groups, levels, codes in zip(
                self._groups, regions.levels, regions.codes, strict=True
            )
        ]
        _, found = np.unique(np.stack([*regions.levels, *read]), axis=1, return_inverse=True)
        return np.asarray(found.ravel(), np.int64)

    def allowed(self, regions: Regions) -> NDArray[np.bool_]:
        """Which blocks are within every `max_level`."""
        return np.asarray((regions.levels <= np.array(self.lattice.top)[:, None]).all(axis=0))

    def _summed(self, tables: Sequence[Floats], regions: Regions) -> Floats:
        total = np.zeros(regions.levels.shape[1])
        for weight, table, levels, codes in zip(
            self.weights, tables, regions.levels, regions.codes, strict=True
        ):
            total += weight * table[levels, codes]
        return total


def node_entropies(attribute: Attribute, counts: Ints) -> Floats:
    """The entropy in bits of an attribute within the group of each code on each level.

    Args:
        attribute: the coded hierarchy.
        counts: records of each code.
    """
    found = np.zeros((attribute.height + 1, attribute.cardinality))
    own = nlogn(counts)
    for level, groups in enumerate(attribute.groups):
        sums = np.bincount(groups, counts)
        inner = nlogn(sums) - np.bincount(groups, own)
        found[level] = np.maximum(inner / np.maximum(sums, 1), 0)[groups]
    return found


def nlogn(counts: NDArray[np.generic]) -> Floats:
    """n · log2 n of each number; 0 of 0."""
    numbers = np.asarray(counts, np.float64)
    return np.asarray(numbers * np.log2(np.maximum(numbers, 1)))


def block_entropy(
    taxonomy: Taxonomy, units: Tuples, row: Ints, block: Ints, records: Ints
) -> float:
    """The weighted sum over attributes of their entropy inside the blocks, in bits a record.

    The literal reading of Yoo et al. 2012: Σ_B |B|/N · H(X | B).

    Args:
        taxonomy: for its weights.
        units: the records.
        row: the unit of each piece; all pieces have a block.
        block: its block.
        records: of the piece.
    """
    total = int(records.sum())
    sizes = nlogn(np.bincount(block, records)).sum()
    found = 0.0
    for weight, own, attribute in zip(
        taxonomy.weights, units.codes, taxonomy.lattice.attributes, strict=True
    ):
        key = block * attribute.cardinality + own[row]
        _, place = np.unique(key, return_inverse=True)
        found += float(weight * (sizes - nlogn(np.bincount(place.ravel(), records)).sum()))
    return max(found / max(total, 1), 0.0)


def _levels(groups: NDArray[np.unsignedinteger[Any]]) -> NDArray[np.uint8]:
    """The level of the lowest common ancestor of each pair of codes."""
    found = np.zeros((groups.shape[1], groups.shape[1]), np.uint8)
    for level in groups:
        found += level[:, None] != level[None, :]
    return found
