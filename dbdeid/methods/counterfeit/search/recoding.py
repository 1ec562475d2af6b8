"""A local recoding, and what someone who knows how it was made can tell of its padded classes.

Every class lies under a node of its own. Its *region* is what is released of it: per attribute a
group of values. Groups of one leaf set are one group, whatever the level; it is named by the
lowest level that has it, and these levels of a class are its *signature*.

A padded class has the final size m, but so have others. What else is true of every padded class,
by the way `borrow` works, is known to an adversary, who then looks only among the classes of which
it is true too. These *facts* can be read from the release:

1. no class of more than k records lies inside its region: its surplus would have been borrowed;
2. its region lies in no larger one under the ceiling;
3. no released class at all lies inside it: that class would have been taken whole;
4. some value of the domain within its region lies under no node of the ceiling in a class which
   has a released class inside that is no candidate: a record with any other value would have found
   a class.

The first is always true, or the recoding is none that can be padded. The *candidates* of a
signature are the classes of final size m of which all facts are true that are true of all its
padded classes. So no padded class can be ruled out, and none of the others either: padded classes
are a share of their group, which the search keeps small.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dbdeid.lattice.lattice import Lattice, Node
from dbdeid.lattice.tuples import Tuples

Ints = NDArray[np.int64]
Mask = NDArray[np.bool_]

NODES = 1024  # most nodes that are ever looked at
CELLS = 1 << 26  # nodes × rows up to which so many are looked at
LEAVES = 1 << 14  # values of a region that are looked at for the last fact
MET = 1 << 24  # classes that are kept by where they lie
KEYS = 1 << 64  # numbers of combinations of groups


@dataclass(frozen=True)
class Recoding:
    """Which records are released under which node.

    Attributes:
        signatures: the levels of each class, the lowest of equal groups.
        row: the tuple of each piece, ascending.
        class_: the class of each piece.
        records: how many records of the tuple go to the class.
        counterfeits: of each class.
    """

    signatures: tuple[Node, ...]
    row: Ints
    class_: Ints
    records: Ints
    counterfeits: Ints

    @property
    def real(self) -> Ints:
        """The real records of each class."""
        sizes = np.zeros(len(self.signatures), np.int64)
        np.add.at(sizes, self.class_, self.records)
        return sizes


def candidates(
    lattice: Lattice,
    tuples: Tuples,
    recoding: Recoding,
    *,
    nodes: Sequence[Node],
    k: int,
    size: int,
) -> Ints | None:
    """The group of each class whose members may be padded for all that a release shows; -1: none.

    Groups are numbered from 0 in the order of their signatures, one a signature at which a class
    is padded. It needs no more than the released regions, the final sizes, and which signatures
    have padded classes.

    Args:
        lattice: the quasi-identifiers.
        tuples: the data.
        recoding: made from them.
        nodes: that `borrow` was given.
        k: records that a class needs.
        size: that smaller ones are padded to.

    Returns:
        None where a padded class has a surplus inside, which would tell that it was not padded.
    """
    cells = Cells(lattice, looked_at(nodes, len(tuples.weights)))
    released = regions_of(tuples, recoding)
    final = recoding.real + recoding.counterfeits
    padded = recoding.counterfeits > 0
    signatures = np.unique(released.levels[padded], axis=0)
    suspects = np.zeros(len(final), np.bool_)
    largest = cells.largest(released)
    for signature in signatures:
        alike = (final == size) & (released.levels == signature).all(axis=1)
        suspects |= alike & (largest | (not largest[alike & padded].all()))
    while True:  # who is no candidate is known to be clean, which may rule out others
        # a class of the padded size may be padded itself, and have no surplus
        facts = Facts(cells, released, np.where(final == size, k, final), k, ~suspects)
        group = np.full(len(final), -1, np.int64)
        for number, signature in enumerate(signatures):
            alike = np.flatnonzero(suspects & (released.levels == signature).all(axis=1))
            known = np.array([facts.true_of(c, alone=largest[c]) for c in alike])
            least = known[padded[alike]].min()
            if not least:
                return None
            group[alike[known >= least]] = number
        if np.array_equal(group >= 0, suspects):
            return group
        suspects = group >= 0


@dataclass(frozen=True)
class Regions:
    """Regions, one a row: the lowest levels that have their groups, and a value of each group."""

    levels: Ints
    codes: Ints

    def at(self, rows: Any) -> Regions:
        """Some of them."""
        return Regions(np.atleast_2d(self.levels[rows]), np.atleast_2d(self.codes[rows]))


def regions_of(tuples: Tuples, recoding: Recoding) -> Regions:
    """The region of each class."""
    first = np.zeros(len(recoding.signatures), np.int64)
    first[recoding.class_[::-1]] = recoding.row[::-1]
    levels = np.array(recoding.signatures, np.int64).reshape(len(first), len(tuples.codes))
    codes = np.stack([column.astype(np.int64)[first] for column in tuples.codes], axis=1)
    return Regions(levels, codes)


def looked_at(nodes: Sequence[Node], rows: int) -> tuple[Node, ...]:
    """The nodes that are looked at, in order: all, or some of them evenly over their order.

    Half of those are maximal ones, which find a class for most records; the rest lie below.
    """
    ordered = sorted(nodes)
    most = max(min(NODES, CELLS // max(rows, 1)), 2)
    if len(ordered) <= most:
        return tuple(ordered)
    top = _evenly(maximal(ordered), most // 2)
    chosen = set(top)
    rest = [node for node in ordered if node not in chosen]
    return tuple(sorted(top + _evenly(rest, most - len(top))))


def maximal(nodes: Sequence[Node]) -> list[Node]:
    """Those with none above among nodes of which all that lie below one of them are some."""
    given = set(nodes)
    return [
        node
        for node in nodes
        if not any((*node[:i], v + 1, *node[i + 1 :]) in given for i, v in enumerate(node))
    ]


def _evenly(nodes: list[Node], most: int) -> list[Node]:
    if len(nodes) <= most:
        return nodes
    return [nodes[i * len(nodes) // most] for i in range(most)]


class Cells:
    """What nodes make of the values of a lattice.

    Attributes:
        lowest: per attribute, by level and value code, the lowest admissible level with the group.
        groups: the same, the group.
        nodes: the maximal ones of those given.
    """

    def __init__(self, lattice: Lattice, nodes: Sequence[Node]) -> None:
        self.groups = [np.stack(a.groups).astype(np.int64) for a in lattice.attributes]
        self.lowest: list[Ints] = []
        for attribute in lattice.attributes:
            levels = range(attribute.height + 1)
            sizes = np.stack([attribute.size(level) for level in levels])
            codes = np.stack([np.bincount(g)[g] for g in attribute.groups])
            lowest = np.zeros(sizes.shape, np.int64)
            for level in levels:
                lowest[level] = level
                if level > attribute.min_level:
                    same = (sizes[level] == sizes[level - 1]) & (codes[level] == codes[level - 1])
                    lowest[level, same] = lowest[level - 1, same]
            self.lowest.append(lowest)
        self._lowest = [low.tolist() for low in self.lowest]
        self._groups = [group.tolist() for group in self.groups]
        self._counts = [[int(group.max()) + 1 for group in groups] for groups in self.groups]
        self.nodes = _undominated(nodes)

    def levels_of(self, node: Node, codes: Sequence[int]) -> Node:
        """The signature of the region of one tuple under a node."""
        found = zip(self._lowest, node, codes, strict=True)
        return tuple([low[v][c] for low, v, c in found])

    def key_of(self, levels: Sequence[int], codes: Sequence[int]) -> int:
        """The key of the groups of one tuple on some levels, as `keys` gives it."""
        key = 0
        for groups, counts, v, code in zip(self._groups, self._counts, levels, codes, strict=True):
            key = key * counts[v] + groups[v][code]
        return key % KEYS

    def keys(self, codes: Ints, levels: Sequence[int]) -> NDArray[np.uint64]:
        """A key of the groups of each tuple on some levels, the same for the same ones.

        Others may have the same where there are more than 2^64 combinations of groups.
        """
        found = np.zeros(len(codes), np.uint64)
        for groups, counts, v, column in zip(
            self.groups, self._counts, levels, codes.T, strict=True
        ):
            found = found * np.uint64(counts[v]) + groups[v, column].astype(np.uint64)
        return found

    def apart(self, levels: Sequence[int]) -> bool:
        """Whether no two combinations of groups on some levels have one key."""
        counts = zip(self._counts, levels, strict=True)
        return prod(of_level[v] for of_level, v in counts) <= KEYS

    def numbers(self, codes: Ints, levels: Sequence[int]) -> Ints:
        """A number of the groups of each tuple on some levels, the same for the same ones."""
        found, space = np.zeros(len(codes), np.int64), 1
        for groups, v, column in zip(self.groups, levels, codes.T, strict=True):
            count = int(groups[v].max(initial=0)) + 1
            if space * count > 1 << 62:
                kinds, found = np.unique(found, return_inverse=True)
                space = len(kinds)
            found = found * count + groups[v, column]
            space *= count
        return found

    def levels(self, node: Node, codes: Ints) -> Ints:
        """The signatures of the regions of some tuples (rows × attributes) under a node."""
        found = [low[v, c] for low, v, c in zip(self.lowest, node, codes.T, strict=True)]
        return np.stack(found, axis=1)

    def inside(self, regions: Regions, node: Node) -> Mask:
        """Which regions lie in one class of a node."""
        return np.asarray((self.levels(node, regions.codes) >= regions.levels).all(axis=1))

    def within(self, regions: Regions, levels: Ints, codes: Ints) -> Mask:
        """Which regions lie inside another, or are it."""
        found = (regions.levels <= levels).all(axis=1)
        for groups, level, column, code in zip(
            self.groups, levels, regions.codes.T, codes, strict=True
        ):
            found &= groups[level, column] == groups[level, code]
        return np.asarray(found)

    def largest(self, regions: Regions) -> Mask:
        """Which regions have no larger one around them under a node."""
        found = np.ones(len(regions.levels), np.bool_)
        for node in self.nodes:
            around = self.levels(node, regions.codes)
            larger = (around >= regions.levels).all(axis=1) & (around > regions.levels).any(axis=1)
            found &= ~larger
        return found


def _undominated(nodes: Sequence[Node]) -> tuple[Node, ...]:
    """Those with none of the others above."""
    levels = np.array(sorted(nodes), np.int64)
    open_ = np.arange(len(levels))
    found: list[Node] = []
    for at in np.lexsort((open_, -levels.sum(axis=1))):  # the most general first
        node = levels[at]
        if not any((node <= other).all() for other in np.array(found, np.int64)):
            found.append(tuple(node.tolist()))
    return tuple(sorted(found))


@dataclass(frozen=True, slots=True)
class _Kept:
    """Classes by the key of their groups on some levels: keys in order, and the class of each."""

    keys: NDArray[np.uint64]
    order: NDArray[np.int32]


class Facts:
    """How many of the facts are true of regions among released ones.

    Args:
        cells: of the nodes that were looked at.
        regions: that are released.
        sizes: their records, counterfeits among them.
        k: records that a class needs.
        clean: which of them are not padded for certain.
    """

    def __init__(self, cells: Cells, regions: Regions, sizes: Ints, k: int, clean: Mask) -> None:
        self._cells = cells
        self._regions = regions
        self._large = sizes > k
        self._clean = regions.at(clean)
        self._taken: dict[Node, NDArray[np.int32]] = {}
        self._met: dict[tuple[Node, Node], _Kept] = {}
        self._kept = 0

    def true_of(self, class_: int, *, alone: bool) -> int:
        """The first so many facts are true of a released class.

        Args:
            class_: its number.
            alone: whether its region lies in no larger one under a node.
        """
        levels, codes = self._regions.levels[class_], self._regions.codes[class_]
        inner = self._cells.within(self._regions, levels, codes)
        inner &= (self._regions.levels != levels).any(axis=1)
        if self._large[inner].any():
            return 0
        if not alone:
            return 1
        if inner.any():
            return 2
        return 4 if self.open(levels, codes) else 3

    def open(self, levels: Ints, codes: Ints) -> bool:
        """Whether some value lies, under no node, in a class that has a released one inside."""
        leaves = [
            np.flatnonzero(groups[level] == groups[level, code])
            for groups, level, code in zip(self._cells.groups, levels, codes, strict=True)
        ]
        while np.prod([float(len(some)) for some in leaves]) > LEAVES:
            widest = max(range(len(leaves)), key=lambda i: len(leaves[i]))
            leaves[widest] = leaves[widest][::2]
        alive = np.ones([len(some) for some in leaves], np.bool_)
        region, cell = tuple(levels.tolist()), codes.tolist()
        for node in self._cells.nodes:
            above = self._cells.levels_of(node, cell)
            if all(v >= level for v, level in zip(above, region, strict=True)):
                continue  # its class is the region itself
            meeting = self._meeting(node, region, cell)
            if len(meeting):
                self._leave_out(alive, node, region, leaves, meeting)
                if not alive.any():
                    return False
        return True

    def _leave_out(
        self, alive: Mask, node: Node, levels: Node, leaves: Sequence[Ints], cells: Ints
    ) -> None:
        """Unmark the values of a region that lie in some classes of a node."""
        finer = [i for i, (v, level) in enumerate(zip(node, levels, strict=True)) if v < level]
        groups = [self._cells.groups[i][node[i]] for i in finer]
        own = [group[leaves[i]] for i, group in zip(finer, groups, strict=True)]
        for cell in cells:
            inside = np.True_
            for i, group, some in zip(finer, groups, own, strict=True):
                shape = [1] * alive.ndim
                shape[i] = len(some)
                inside = inside & (some == group[cell[i]]).reshape(shape)
            alive &= ~inside

    def _meeting(self, node: Node, levels: Node, codes: Sequence[int]) -> Ints:
        """A value of each class of a node that meets a region and has a released one inside."""
        common = tuple([max(v, level) for v, level in zip(node, levels, strict=True)])
        if (node, common) not in self._met:
            taken = self._occupied(node)
            if self._kept + len(taken) > MET:
                self._met, self._kept = {}, 0
            keys = self._cells.keys(self._clean.codes[taken], common)
            order = np.argsort(keys, kind="stable")
            self._met[node, common] = _Kept(keys[order], taken[order])
            self._kept += len(taken)
        kept = self._met[node, common]
        key = np.uint64(self._cells.key_of(common, codes))
        first, last = kept.keys.searchsorted(key), kept.keys.searchsorted(key, "right")
        found: Ints = self._clean.codes[kept.order[first:last]]
        if self._cells.apart(common):
            return found
        same = np.ones(len(found), np.bool_)
        for groups, v, column, code in zip(self._cells.groups, common, found.T, codes, strict=True):
            same &= groups[v, column] == groups[v, code]
        return np.asarray(found[same], np.int64)

    def _occupied(self, node: Node) -> NDArray[np.int32]:
        """A clean region of each class of a node that has one inside, which cannot be padded."""
        if node not in self._taken:
            inside = np.flatnonzero(self._cells.inside(self._clean, node))
            number = self._cells.numbers(self._clean.codes[inside], node)
            first = np.sort(np.unique(number, return_index=True)[1])
            self._taken[node] = inside[first].astype(np.int32)
        return self._taken[node]
