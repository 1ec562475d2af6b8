"""Classes of k under several nodes: passes, and leftovers that borrow from what these fixed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dbdeid.lattice.lattice import Attribute, Lattice, Node
from dbdeid.lattice.rule import Condition
from dbdeid.lattice.sensitive_counts import Entries
from dbdeid.lattice.tuples import Tuples
from dbdeid.methods.counterfeit.search.recoding import Cells

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]

PASSES = 3  # more cover little, and leave less to borrow from


class ClassesByNode:
    """What does not change: the tuples in an order of their own, and their classes by node."""

    def __init__(
        self,
        lattice: Lattice,
        tuples: Tuples,
        nodes: tuple[Node, ...],
        conditions: tuple[Condition, ...],
    ) -> None:
        rows = len(tuples.weights)
        if any(not np.array_equal(values.row, np.arange(rows)) for values in tuples.values):
            raise ValueError("a tuple has more than one value of a sensitive attribute")
        columns = [*tuples.codes, *(values.value for values in tuples.values), tuples.weights]
        self.order = np.lexsort(columns[::-1])
        self.codes = np.stack([c.astype(np.int64)[self.order] for c in tuples.codes], axis=1)
        self.weights = tuples.weights[self.order]
        of_values = tuples.values if conditions else ()
        self.values = [values.value[self.order] for values in of_values]
        self.conditions = conditions
        self.nodes = nodes
        self.cells = Cells(lattice, nodes)
        top = set(self.cells.nodes)
        self.maximal = [i for i, node in enumerate(nodes) if node in top]
        self._costs = [
            (share * np.stack(a.loss) + _blur(a) / len(lattice.attributes))[:, codes] / 2
            for a, share, codes in zip(
                lattice.attributes, lattice.shares, self.codes.T, strict=True
            )
        ]
        self._nodes = np.array(nodes, np.int64)
        self.keys = np.empty((len(nodes), rows), np.int32)
        for i, node in enumerate(nodes):
            self.keys[i] = self._key(node)
        self._inside: dict[int, tuple[NDArray[np.int32], Ints]] = {}  # rows in order of their keys
        self.row = np.repeat(np.arange(rows), self.weights)  # of each record
        self.start = np.cumsum(self.weights) - self.weights  # first record of each row

    def _key(self, node: Node) -> Ints:
        key, space = np.zeros(len(self.weights), np.int64), 1
        for groups, v, codes in zip(self.cells.groups, node, self.codes.T, strict=True):
            count = int(groups[v].max(initial=0)) + 1
            if space * count > 1 << 62:
                found, key = np.unique(key, return_inverse=True)
                space = len(found)
            key = key * count + groups[v, codes]
            space *= count
        return np.unique(key, return_inverse=True)[1]

    def cost(self, at: int) -> Floats:
        """The cost of every row under a node: the mean of its degree and its blur, in [0, 1]."""
        parts = (cost[v] for cost, v in zip(self._costs, self.nodes[at], strict=True))
        return np.asarray(sum(parts))

    def costs(self, levels: Ints, rows: Ints) -> Floats:
        """The costs of rows, each under levels of its own (rows × attributes)."""
        parts = (cost[v, rows] for cost, v in zip(self._costs, levels.T, strict=True))
        return np.asarray(sum(parts))

    def by_cost(self, row: int) -> Ints:
        """The nodes, the cheapest for a row first."""
        parts = (cost[v, row] for cost, v in zip(self._costs, self._nodes.T, strict=True))
        return np.argsort(np.asarray(sum(parts)), kind="stable")

    def records(self, rows: Ints) -> Ints:
        """The records of some rows."""
        weights = self.weights[rows]
        ends = np.cumsum(weights)
        firsts = np.repeat(self.start[rows] - ends + weights, weights)
        return np.asarray(np.arange(len(firsts)) + firsts, np.int64)

    def around(self, at: int, row: int) -> Ints:
        """The records in the class of a row under a node."""
        if at not in self._inside:
            key = self.keys[at]
            order = np.argsort(key, kind="stable").astype(np.int32)
            self._inside[at] = order, np.append(0, np.cumsum(np.bincount(key)))
        rows, ends = self._inside[at]
        own = self.keys[at][row]
        return self.records(rows[ends[own] : ends[own + 1]].astype(np.int64))

    def levels(self, at: int, row: int) -> Node:
        """The signature of the region of a row under a node."""
        return self.cells.levels_of(self.nodes[at], self.codes[row].tolist())

    def top_levels(self, row: int) -> Ints:
        """The signatures of the regions of a row under the maximal nodes (nodes × attributes)."""
        nodes = self._nodes[self.maximal]
        found = [
            low[column, code]
            for low, column, code in zip(self.cells.lowest, nodes.T, self.codes[row], strict=True)
        ]
        return np.stack(found, axis=1)

    def region(self, levels: Node, row: int) -> tuple[Node, Node]:
        """The signature and the groups of a region around a row."""
        groups = zip(self.cells.groups, levels, self.codes[row], strict=True)
        return levels, tuple(int(group[v, code]) for group, v, code in groups)

    def holds(self, records: Ints) -> bool:
        """Whether some records hold the conditions as a class."""
        size, rows = np.array([len(records)]), self.row[records]
        for condition, values in zip(self.conditions, self.values, strict=True):
            value, count = np.unique(values[rows], return_counts=True)
            if not condition(size, Entries(np.zeros_like(value), value, count))[0][0]:
                return False
        return True


def _blur(attribute: Attribute) -> Floats:
    """1 - 1/leaves of each value's group on each level: what reconstruction from it errs by."""
    return 1 - 1 / np.stack([attribute.size(level) for level in range(attribute.height + 1)])


@dataclass(frozen=True)
class Around:
    """The class of a row under a node as it stands.

    Attributes:
        free: its records that are in no class yet.
        taken: its other records.
        owner: the class of each of these.
        ids: these classes, ascending.
        inside: how many of their records are here.
        sizes: how many they have.
    """

    free: Ints
    taken: Ints
    owner: Ints
    ids: Ints
    inside: Ints
    sizes: Ints


class Work:
    """The classes as they are made."""

    def __init__(self, ground: ClassesByNode, k: int, progress: Callable[[int], None]) -> None:
        self.ground = ground
        self.k = k
        self._progress = progress
        self.owner = np.full(len(ground.row), -1, np.int64)  # of each record
        self.sizes: list[int] = []
        self.levels: list[Node] = []
        self.first: list[int] = []  # a row in the region of each class
        self._regions: dict[tuple[Node, Node], int] = {}
        self.locked: set[int] = set()  # classes that lend nothing

    def copy(self) -> Work:
        """The classes as they are now, to be changed apart."""
        found = Work(self.ground, self.k, self._progress)
        found.owner, found.sizes = self.owner.copy(), list(self.sizes)
        found.levels, found.first = list(self.levels), list(self.first)
        found._regions, found.locked = dict(self._regions), set(self.locked)
        return found

    # -- moving records

    def class_of(self, levels: Node, row: int) -> int:
        """The class of a region around a row, a new one if there is none."""
        region = self.ground.region(levels, row)
        if region not in self._regions:
            self._regions[region] = len(self.sizes)
            self.sizes.append(0)
            self.levels.append(levels)
            self.first.append(row)
        return self._regions[region]

    def move(self, records: Ints, class_: int) -> None:
        """Put records into a class, whatever class they were in."""
        old = self.owner[records]
        for left, count in zip(*np.unique(old[old >= 0], return_counts=True), strict=True):
            self.sizes[left] -= int(count)
            if not self.sizes[left]:
                del self._regions[self.ground.region(self.levels[left], self.first[left])]
        self.owner[records] = class_
        self.sizes[class_] += len(records)

    def members(self, class_: int) -> Ints:
        """The records of a class."""
        return np.flatnonzero(self.owner == class_)

    def existing(self, levels: Node, row: int) -> Ints:
        """The records of the class that has the region already."""
        class_ = self._regions.get(self.ground.region(levels, row))
        return np.zeros(0, np.int64) if class_ is None else self.members(class_)

    def tell(self) -> None:
        """Report progress."""
        self._progress(int((self.owner >= 0).sum()))

    # -- passes

    def passes(self) -> None:
        """Fix the classes of the nodes that save most."""
        free = self.ground.weights.copy()
        for _ in range(PASSES):
            best, at, rows = 0.0, -1, np.zeros(0, np.bool_)
            for i in range(len(self.ground.nodes)):
                own = free * (1 - self.ground.cost(i))
                kept = self._large(i, free)
                if (own * kept).sum() > best * (1 + 1e-12):
                    if self.ground.conditions:
                        kept &= self._holding(i, kept)
                    if (saved := float((own * kept).sum())) > best * (1 + 1e-12):
                        best, at, rows = saved, i, kept
            if at < 0:
                return
            self._fix(at, np.flatnonzero(rows))
            taken = self.owner[self.ground.start] >= 0
            free = np.where(taken, 0, self.ground.weights)
            self.tell()

    def _large(self, at: int, free: Ints) -> Mask:
        key = self.ground.keys[at]
        counts = np.bincount(key, free)
        return np.asarray((counts >= self.k)[key] & (free > 0))

    def _holding(self, at: int, rows: Mask) -> Mask:
        """Which of the rows are in classes that hold the conditions."""
        ground = self.ground
        chosen = np.flatnonzero(rows)
        keys, key = np.unique(ground.keys[at][chosen], return_inverse=True)
        sizes = np.bincount(key, ground.weights[chosen]).astype(np.int64)
        hold = np.ones(len(keys), np.bool_)
        for condition, values in zip(ground.conditions, ground.values, strict=True):
            pair = key * (int(values.max()) + 1) + values[chosen]
            found, of = np.unique(pair, return_inverse=True)
            count = np.bincount(of, ground.weights[chosen]).astype(np.int64)
            of_class, value = np.divmod(found, int(values.max()) + 1)
            hold &= condition(sizes, Entries(of_class, value, count))[0]
        holding = np.zeros(len(rows), np.bool_)
        holding[chosen] = hold[key]
        return holding

    def _fix(self, at: int, rows: Ints) -> None:
        """Make classes of rows; one may join a class of the same region, if they hold together."""
        key = self.ground.keys[at][rows]
        by_key = np.argsort(key, kind="stable")
        for part in np.split(rows[by_key], np.flatnonzero(np.diff(key[by_key])) + 1):
            records, levels = self.ground.records(part), self.ground.levels(at, int(part[0]))
            existing = self.existing(levels, int(part[0]))
            if not len(existing) or self.ground.holds(np.append(existing, records)):
                self.move(records, self.class_of(levels, int(part[0])))

    # -- leftovers

    def leftovers(self) -> None:
        """Find classes for the records left over, hardest first.

        What a node offers a record only shrinks, so that one look at all nodes tells where to try.
        """
        rows = np.array(self.open_rows(), np.int64)
        reach = np.zeros(len(rows), np.int64)
        may = np.empty((len(self.ground.nodes), len(rows)), np.bool_)
        for at in range(len(may)):
            offered = self._offered(at, rows)
            np.maximum(reach, offered, out=reach)
            may[at] = offered >= self.k
        hardest = np.argsort(reach, kind="stable").tolist()
        for i in hardest:
            row = int(rows[i])
            if self.is_open(row) and self._first_of(self._lend, row, may[:, i]):
                self.tell()
        for i in hardest:
            row = int(rows[i])
            if self.is_open(row) and self._first_of(self._absorb, row, np.ones(len(may), np.bool_)):
                self.tell()

    def _first_of(self, step: Callable[[int, int], bool], row: int, may: Mask) -> bool:
        nodes = self.ground.by_cost(row)
        return any(step(at, row) for at in nodes[may[nodes]].tolist())

    def _offered(self, at: int, rows: Ints) -> Ints:
        """Free and surplus records around each row under a node, while rows are not divided."""
        key = self.ground.keys[at]
        owner = self.owner[self.ground.start]
        spare = np.maximum(np.array(self.sizes, np.int64) - self.k, 0)
        wanted = np.zeros(int(key.max()) + 1, np.bool_)
        wanted[key[rows]] = True
        found = np.bincount(key, np.where(owner < 0, self.ground.weights, 0))
        lending = np.flatnonzero(wanted[key] & (owner >= 0) & (np.append(spare, 0)[owner] > 0))
        pair = key[lending].astype(np.int64) * max(len(spare), 1) + owner[lending]
        pairs, of = np.unique(pair, return_inverse=True)
        where, class_ = np.divmod(pairs, max(len(spare), 1))
        inside = np.bincount(of, self.ground.weights[lending], minlength=len(pairs))
        np.add.at(found, where, np.minimum(inside, spare[class_]))
        offered: Ints = found[key[rows]].astype(np.int64)
        return offered

    def any_open(self) -> bool:
        """Whether some record is in no class."""
        return bool((self.owner < 0).any())

    def open_rows(self) -> list[int]:
        """Rows with records in no class."""
        rows: list[int] = np.unique(self.ground.row[self.owner < 0]).tolist()
        return rows

    def is_open(self, row: int) -> bool:
        """Whether a row has records in no class."""
        start = self.ground.start[row]
        return bool((self.owner[start : start + self.ground.weights[row]] < 0).any())

    def around(self, at: int, row: int) -> Around:
        """The class of a row under a node as it stands."""
        records = self.ground.around(at, row)
        owner = self.owner[records]
        free, taken = records[owner < 0], records[owner >= 0]
        owner = owner[owner >= 0]
        ids, inside = np.unique(owner, return_counts=True)
        sizes = np.array([self.sizes[c] for c in ids], np.int64)
        return Around(free, taken, owner, ids, inside, sizes)

    def surplus(self, here: Around) -> Ints:
        """How many records each class around could give."""
        spare = np.array([c not in self.locked for c in here.ids], np.int64)
        return np.minimum(here.inside, spare * np.maximum(here.sizes - self.k, 0))

    def within_reach(self, here: Around) -> int:
        """Free and surplus records."""
        return len(here.free) + int(self.surplus(here).sum())

    def borrowed(self, here: Around, need: int) -> Ints:
        """At most so many records that classes around can give, from the largest surplus first.

        Classes must still hold the conditions without them.
        """
        found = [np.zeros(0, np.int64)]
        surplus = self.surplus(here)
        for i in np.lexsort((here.ids, here.inside, -surplus)):
            count = min(need, int(surplus[i]))
            if not count:
                continue
            own = here.taken[here.owner == here.ids[i]]
            if self.ground.conditions:
                own = self._dispensable(own, self.members(int(here.ids[i])), count)
            found.append(own[:count])
            need -= len(found[-1])
        return np.concatenate(found)

    def _dispensable(self, some: Ints, members: Ints, count: int) -> Ints:
        """Up to so many of the records without which a class still holds the conditions."""
        lent: list[int] = []
        for record in some.tolist():
            if len(lent) < count:
                rest = np.setdiff1d(members, [*lent, record], assume_unique=True)
                if self.ground.holds(rest):
                    lent.append(record)
        return np.array(lent, np.int64)

    def _lend(self, at: int, row: int) -> bool:
        """Make a class of free and lent records, or join the one that has the region."""
        levels = self.ground.levels(at, row)
        here = self.around(at, row)
        if len(existing := self.existing(levels, row)):
            return self._settle(here.free, existing, levels, row)
        if self.within_reach(here) < self.k:
            return False
        lent = self.borrowed(here, self.k - len(here.free))
        chosen = np.append(here.free, lent)
        if len(chosen) < self.k:
            return False
        if self._settle(chosen, existing, levels, row):
            return True
        more = np.append(here.free, self.borrowed(here, len(here.taken)))
        return len(more) > len(chosen) and self._settle(more, existing, levels, row)

    def _absorb(self, at: int, row: int) -> bool:
        """Make a class of free records and a class around that is taken whole."""
        levels = self.ground.levels(at, row)
        if len(existing := self.existing(levels, row)):
            return self._settle(self.around(at, row).free, existing, levels, row)
        here = self.around(at, row)
        whole = np.flatnonzero((here.inside == here.sizes) & (here.sizes >= self.k))
        for i in whole[np.lexsort((here.ids[whole], here.sizes[whole]))]:
            members = here.taken[here.owner == here.ids[i]]
            if self._settle(np.append(here.free, members), existing, levels, row):
                return True
        return False

    def _settle(self, records: Ints, existing: Ints, levels: Node, row: int) -> bool:
        if self.ground.conditions and not self.ground.holds(np.append(existing, records)):
            return False
        self.move(records, self.class_of(levels, row))
        return True
