"""Multidimensional partitioning (LeFevre, DeWitt & Ramakrishnan 2006, "Mondrian"), a baseline.

The whole table is cut in parts, these in parts again, and so on as long as every part of a cut
holds what is demanded. What is cut first is the attribute whose values the part spreads widest,
in the paper by its normalized range, here by the loss of their lowest common ancestor: the share
of the domain that it takes in.

Attributes are cut in three ways; a later one is taken where no attribute can be cut by an earlier:

- into the children of the lowest common ancestor that occur (the paper's cut by a hierarchy), which
  makes what is released of every part finer;
- in two in the order of the leaves, which is that of the numbers and dates in intervals. The paper
  cuts at the median; where demands do not hold there, cuts beside it are tried, nearest first;
- relaxed: at the median record, so that records of the median value go to either side.

In the first two equal values stay together ("strict"). The paper's relaxed partitioning makes
relaxed cuts only. Here a relaxed partitioning refines the strict one, and so never loses more.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dbdeid.lattice.lattice import Lattice
from dbdeid.methods.local_recoding.search.blocks import LEFT, Blocks, Demands
from dbdeid.methods.local_recoding.search.taxonomy import Taxonomy

Ints = NDArray[np.int64]
Mask = NDArray[np.bool_]

TRIED = 64  # cuts in two of one attribute that are tried, those nearest to the median


def mondrian(
    taxonomy: Taxonomy,
    demands: Demands,
    *,
    relaxed: bool,
    settled: Callable[[int], None] | None = None,
) -> Blocks:
    """Blocks that hold all demands within every `max_level`, cut as far as they can be.

    Records whose values at `max_level` only classes share that do not hold have no block: then no
    release within these levels holds, as far as demands that hold for two classes hold for both
    together.

    Args:
        taxonomy: the hierarchies.
        demands: what every part must hold, and the records.
        relaxed: whether records of one value may go to both sides of a cut.
        settled: told now and then how many records are in blocks that are not cut any more.
    """
    cutter = _Cutter(taxonomy, demands, relaxed)
    open_, left = cutter.start()
    done, number, records = [left], 0, 0
    while len(open_.row):
        final, open_ = cutter.cut(open_)
        done.append(Blocks(final.row, final.block + number, final.records))
        number += final.number
        records += int(final.records.sum())
        if settled is not None:
            settled(records)
    return _joined(done).tidied()


@dataclass(frozen=True, slots=True)
class _Parts:
    """Blocks in parts.

    Attributes:
        pieces: the records.
        label: the part of each piece, numbered anew in each block.
        cut: which blocks may be cut so.
    """

    pieces: Blocks
    label: Ints
    cut: Mask


class _Cutter:
    def __init__(self, taxonomy: Taxonomy, demands: Demands, relaxed: bool) -> None:
        self._taxonomy = taxonomy
        self._lattice = taxonomy.lattice
        self._demands = demands
        self._units = demands.units
        self._k = max(demands.k, 1)
        self._lowest = np.array(self._lattice.bottom)
        ways = [self._children, self._in_two, self._at_median]
        self._ways = ways if relaxed else ways[:2]
        self._codes = np.stack([own.astype(np.int64) for own in self._units.codes])
        self._trees = _Trees(self._lattice)

    def start(self) -> tuple[Blocks, Blocks]:
        """The classes at the top, those that hold and those that do not.

        Where every attribute may be generalized to one value, that is the whole table. Otherwise
        no block within `max_level` takes records of two classes.
        """
        row = np.arange(len(self._units.weights))
        block = np.zeros(len(row), np.int64)
        for attribute, own in zip(self._lattice.attributes, self._units.codes, strict=True):
            groups = attribute.groups[attribute.most_general][own].astype(np.int64)
            block = _dense(block * attribute.cardinality + groups)
        pieces = Blocks(row, block, self._units.weights)
        held = self._demands.hold(pieces)
        rest = _chosen(pieces, ~held)
        left = Blocks(rest.row, np.full_like(rest.block, LEFT), rest.records)
        return _chosen(pieces, held), left

    def cut(self, pieces: Blocks) -> tuple[Blocks, Blocks]:
        """The blocks that cannot be cut, and the parts of the others."""
        large = pieces.sizes >= 2 * self._k
        final, parts = [_chosen(pieces, ~large)], []
        pieces = _chosen(pieces, large)
        attributes, levels = self._ranked(pieces)
        index = np.arange(pieces.number)
        for way in self._ways:
            for attribute, level in zip(attributes, levels, strict=True):
                wide = level[index] > self._lowest[attribute[index]]
                at = index[wide]
                found = way(_chosen(pieces, wide), attribute[at], level[at])
                parts.append(_parted(found))
                uncut = np.ones(len(index), np.bool_)
                uncut[np.flatnonzero(wide)[found.cut]] = False
                pieces, index = _chosen(pieces, uncut), index[uncut]
        return _stacked([*final, pieces]), _stacked(parts)

    def _ranked(self, pieces: Blocks) -> tuple[Ints, Ints]:
        """The attributes of each block from the widest, and their levels."""
        regions = self._taxonomy.regions(self._units, pieces.row, pieces.block, pieces.number)
        width = np.stack(
            [
                weight * loss[level, code]
                for weight, loss, level, code in zip(
                    self._taxonomy.weights,
                    self._taxonomy.loss,
                    regions.levels,
                    regions.codes,
                    strict=True,
                )
            ]
        )
        order = np.argsort(-width, axis=0, kind="stable")
        return order, np.take_along_axis(regions.levels, order, axis=0)

    def _children(self, pieces: Blocks, attribute: Ints, level: Ints) -> _Parts:
        """The children of the lowest common ancestors."""
        own = attribute[pieces.block]
        code = self._codes[own, pieces.row]
        label = self._trees.group(own, level[pieces.block] - 1, code)
        return self._allowed(pieces, label)

    def _in_two(self, pieces: Blocks, attribute: Ints, level: Ints) -> _Parts:
        """Two sides in the order of the leaves, as even as they are allowed to be."""
        place = self._places(pieces, attribute)
        cells, cell = np.unique(pieces.block * self._trees.places + place, return_inverse=True)
        of = cells // self._trees.places
        until = _running(np.rint(np.bincount(cell, pieces.records)).astype(np.int64), of)
        uneven = np.abs(2 * until - pieces.sizes[of])
        may = np.flatnonzero((until >= self._k) & (pieces.sizes[of] - until >= self._k))
        may = may[np.lexsort((uneven[may], of[may]))]
        rank = _running(np.ones_like(may), of[may]) - 1
        side, cut = np.zeros(len(pieces.row), np.int64), np.zeros(pieces.number, np.bool_)
        for tried in range(min(int(rank.max(initial=-1)) + 1, TRIED)):
            last = np.full(pieces.number, -1)
            chosen = may[rank == tried]
            last[of[chosen]] = chosen
            last[cut] = -1
            waiting = last >= 0
            inside = waiting[pieces.block]
            some = _chosen(pieces, waiting)
            label = (cell[inside] > last[pieces.block[inside]]).astype(np.int64)
            found = self._allowed(some, label)
            side[inside] = label
            cut[np.flatnonzero(waiting)[found.cut]] = True
        return _Parts(pieces, side, cut)

    def _at_median(self, pieces: Blocks, attribute: Ints, level: Ints) -> _Parts:
        """Two halves in the order of the leaves."""
        order = np.lexsort((pieces.row, self._places(pieces, attribute), pieces.block))
        row, block, records = pieces.row[order], pieces.block[order], pieces.records[order]
        first = np.clip((pieces.sizes // 2)[block] - (_running(records, block) - records), 0, None)
        first = np.minimum(first, records)
        split = np.stack([first, records - first]).ravel()
        label = np.repeat(np.arange(2), len(row))
        there = split > 0
        halves = Blocks(np.tile(row, 2)[there], np.tile(block, 2)[there], split[there])
        return self._allowed(halves, label[there])

    def _places(self, pieces: Blocks, attribute: Ints) -> Ints:
        own = attribute[pieces.block]
        return self._trees.place(own, self._codes[own, pieces.row])

    def _allowed(self, pieces: Blocks, label: Ints) -> _Parts:
        """The parts of some labels, where all of them hold."""
        labels = int(label.max(initial=0)) + 1
        keys, part = np.unique(pieces.block * labels + label, return_inverse=True)
        of = keys // labels
        cut = np.ones(pieces.number, np.bool_)
        cut[of[np.bincount(part, pieces.records, len(keys)) < self._k]] = False  # most fail here
        parts = _chosen(Blocks(pieces.row, part, pieces.records), cut[of])
        of = of[cut[of]]
        cut[of[~self._demands.hold(parts)]] = False
        return _Parts(pieces, label, cut)


class _Trees:
    """The groups of all attributes in one table, to look up codes of different ones at once."""

    def __init__(self, lattice: Lattice) -> None:
        self._size = np.array([attribute.cardinality for attribute in lattice.attributes])
        heights = np.array([attribute.height + 1 for attribute in lattice.attributes])
        self._first = np.cumsum(self._size * heights) - self._size * heights
        self._groups = np.concatenate(
            [groups for attribute in lattice.attributes for groups in attribute.groups]
        ).astype(np.int64)
        self._first_place = np.cumsum(self._size) - self._size
        self._places = np.concatenate(
            [
                _in_order(np.stack(attribute.groups[attribute.min_level :]))
                for attribute in lattice.attributes
            ]
        )
        self.places = int(self._size.max(initial=1))

    def group(self, attribute: Ints, level: Ints, code: Ints) -> Ints:
        """The group of codes on a level."""
        found: Ints = self._groups[self._first[attribute] + level * self._size[attribute] + code]
        return found

    def place(self, attribute: Ints, code: Ints) -> Ints:
        """The place of codes in the order of the leaves, the same in one group of `min_level`."""
        found: Ints = self._places[self._first_place[attribute] + code]
        return found


def _in_order(groups: NDArray[np.unsignedinteger[Any]]) -> Ints:
    """The place of each code where every group of every level is in one piece."""
    order = np.lexsort(groups)
    lowest = groups[0][order]
    place = np.empty(len(order), np.int64)
    place[order] = np.cumsum(np.diff(lowest, prepend=lowest[:1]) != 0)
    return place


def _running(amounts: Ints, of: Ints) -> Ints:
    """Running sums within each block; blocks ascend."""
    total = np.cumsum(amounts)
    first = np.flatnonzero(np.diff(of, prepend=-1))
    lengths = np.diff(first, append=len(of))
    return total - np.repeat((total - amounts)[first], lengths)


def _dense(keys: Ints) -> Ints:
    return np.unique(keys, return_inverse=True)[1].astype(np.int64)


def _chosen(pieces: Blocks, blocks: Mask) -> Blocks:
    """Some blocks, numbered anew in their order."""
    number = np.cumsum(blocks) - 1
    inside = blocks[pieces.block]
    return Blocks(pieces.row[inside], number[pieces.block[inside]], pieces.records[inside])


def _parted(parts: _Parts) -> Blocks:
    """The parts of the blocks that are cut, as blocks."""
    inside = parts.cut[parts.pieces.block]
    pieces, label = parts.pieces, parts.label[inside]
    block = pieces.block[inside] * (int(label.max(initial=0)) + 1) + label
    return Blocks(pieces.row[inside], _dense(block), pieces.records[inside])


def _joined(some: list[Blocks]) -> Blocks:
    return Blocks(
        *(
            np.concatenate([getattr(pieces, name) for pieces in some])
            for name in ("row", "block", "records")
        )
    )


def _stacked(some: list[Blocks]) -> Blocks:
    """Blocks numbered one after the other."""
    before = np.cumsum([0, *(pieces.number for pieces in some)])
    return _joined(
        [
            Blocks(pieces.row, pieces.block + first, pieces.records)
            for pieces, first in zip(some, before[:-1], strict=True)
        ]
    )
