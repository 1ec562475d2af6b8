"""Optimal Lattice Anonymization (El Emam et al. 2009): bisection of sublattices by level.

From the paper: the nodes of the middle level of a (sub)lattice are looked at; below one that
satisfies, and above one that does not, lie smaller sublattices that are searched in the same way; a
node above one that satisfies satisfies, a node below one that does not does not, and neither is
looked at; of the nodes left when a sublattice cannot be divided the least lossy is chosen.

So it finds the least general nodes that satisfy. The best is among them where quality is monotone;
with suppression it need not be, and then the search claims no more than the bound on what is above
them. Where a node that does not satisfy says nothing of those below it, it claims nothing. Settled
here: to satisfy is to be feasible and accepted; the top is looked at first; a sublattice is left
alone when its ends and their neighbours decide all of it, which the paper would find out piece by
piece; and no sublattice is searched twice.
"""

from __future__ import annotations

from collections.abc import Iterator

from dbdeid.lattice.exploration import Exploration
from dbdeid.lattice.lattice import Node
from dbdeid.methods.full_domain.search.antichain import Antichain
from dbdeid.methods.full_domain.search.predictions import bound_above


def ola(exploration: Exploration) -> None:
    """The best of the least general nodes that satisfy; optimal where quality is monotone."""
    search = _Search(exploration)
    lattice = exploration.problem.lattice
    try:
        if exploration.check(lattice.top).hopeless:
            exploration.finish()
        else:
            search.run(lattice.bottom, lattice.top)
            search.conclude()
    finally:
        exploration.statistics.update(search.statistics())


class _Search:
    """The nodes that satisfy or do not, as far as they are known."""

    def __init__(self, exploration: Exploration) -> None:
        self._exploration = exploration
        self._satisfy = Antichain("above")
        self._do_not = Antichain("below")
        self._searched: set[tuple[Node, Node]] = set()
        self._predicted = 0
        self._is_inherited = True  # that a node does not satisfy, by all below it

    def run(self, low: Node, high: Node) -> None:
        """Find the least general nodes between two that satisfy."""
        self._exploration.require_time()
        if (low, high) in self._searched or self._is_decided(low, high):
            return
        self._searched.add((low, high))
        height = sum(high) - sum(low)
        if height <= 1:
            if not self._satisfies(low) and high != low:
                self._satisfies(high)
            return
        for node in _of_level(low, high, height // 2):
            if self._satisfies(node):
                self.run(low, node)
            else:
                self.run(node, high)

    def _is_decided(self, low: Node, high: Node) -> bool:
        """Whether all nodes between two are known to satisfy or not; it may be so unnoticed."""
        if self._satisfy.covers(low) or self._do_not.covers(high):
            return True
        if self._satisfy.covers(high):
            below = (_moved(high, i, -1) for i in range(len(high)) if high[i] > low[i])
            if all(map(self._do_not.covers, below)):
                return True
        if self._do_not.covers(low):
            above = (_moved(low, i, 1) for i in range(len(low)) if low[i] < high[i])
            return all(map(self._satisfy.covers, above))
        return False

    def _satisfies(self, node: Node) -> bool:
        if self._satisfy.covers(node):
            self._predicted += 1
            return True
        if self._do_not.covers(node):
            self._predicted += 1
            return False
        checked = self._exploration.check(node)
        if checked.accepted:
            self._satisfy.add(node)
            return True
        self._do_not.add(node)
        self._is_inherited &= checked.hopeless
        return False

    def conclude(self) -> None:
        """Every node is below one that does not satisfy, or above one that does."""
        if not self._is_inherited:
            return
        checked = [self._exploration.check(node) for node in self._satisfy]
        bounds = [(bound_above(self._exploration, c), c.node) for c in checked]
        open_ = [bound for bound, node in bounds if self._exploration.may_win(bound, node)]
        if open_:
            self._exploration.bound = min(min(open_), self._exploration.best_score)
        else:
            self._exploration.finish()

    def statistics(self) -> dict[str, int]:
        """Members and tree nodes of the antichains, and how often they have answered."""
        return {
            "satisfy": len(self._satisfy),
            "satisfy_tree": self._satisfy.size,
            "do_not": len(self._do_not),
            "do_not_tree": self._do_not.size,
            "predicted": self._predicted,
            "sublattices": len(self._searched),
        }


def _moved(node: Node, i: int, step: int) -> Node:
    return (*node[:i], node[i] + step, *node[i + 1 :])


def _of_level(low: Node, high: Node, level: int) -> Iterator[Node]:
    """The nodes between two that are so many levels above the lower, lexicographically."""
    if not low:
        if level == 0:
            yield ()
        return
    room = sum(high[1:]) - sum(low[1:])
    for step in range(max(level - room, 0), min(level, high[0] - low[0]) + 1):
        for rest in _of_level(low[1:], high[1:], level - step):
            yield (low[0] + step, *rest)
