"""What checks say of nodes that were not checked, kept in antichains.

Two properties are inherited (Prasser, Kohlmayer & Kuhn 2016): that a node suppresses too much, by
those below it; that it is not good enough, by those above it. The first holds here only of what is
suppressed further down whatever the rule is (`Checked.hopeless`), the second of a bound that no
node above falls short of.
"""

from __future__ import annotations

from heapq import heappop, heappush

from dbdeid.lattice.exploration import Checked, Exploration
from dbdeid.lattice.lattice import Node
from dbdeid.methods.full_domain.search.antichain import Antichain


class Predictions:
    """The knowledge of a search, or of one part of it.

    Args:
        exploration: where nodes are checked.

    Attributes:
        hopeless: the greatest nodes below which all suppress too much.
        insufficient: the least nodes above which none is better than the best.
    """

    def __init__(self, exploration: Exploration) -> None:
        self.hopeless = Antichain("below")
        self.insufficient = Antichain("above")
        self._exploration = exploration
        self._predicted = [0, 0]
        # by the bound on what is above them, the highest first: they wait for a better best
        self._waiting: list[tuple[float, Node]] = []

    def check(self, node: Node) -> Checked:
        """Look at a node and draw the conclusions.

        Raises:
            OutOfTime: the time is up.
        """
        checked = self._exploration.check(node)
        if checked.hopeless:
            self.hopeless.add(node)
        bound = bound_above(self._exploration, checked)
        heappush(self._waiting, (-bound, node))
        while self._waiting and not self._exploration.may_win(
            -self._waiting[0][0], self._waiting[0][1]
        ):
            self.insufficient.add(heappop(self._waiting)[1])
        return checked

    def is_hopeless(self, node: Node) -> bool:
        """Whether the node is known to suppress too much, and all below it."""
        hopeless = self.hopeless.covers(node)
        self._predicted[0] += hopeless
        return hopeless

    def is_insufficient(self, node: Node) -> bool:
        """Whether neither the node nor one above it is better than the best.

        Raises:
            OutOfTime: the time is up.
        """
        self._exploration.require_time()
        if self.insufficient.covers(node):
            self._predicted[1] += 1
            return True
        if self._exploration.may_win(self._exploration.problem.known(node), node):
            return False
        self.insufficient.add(node)
        return True

    def closes(self, node: Node) -> bool:
        """Whether the node need not be looked at."""
        return self.is_insufficient(node) or self.is_hopeless(node)

    def statistics(self) -> dict[str, int]:
        """Members and tree nodes of the antichains, and what they have predicted."""
        return {
            "hopeless": len(self.hopeless),
            "hopeless_tree": self.hopeless.size,
            "hopeless_predicted": self._predicted[0],
            "insufficient": len(self.insufficient),
            "insufficient_tree": self.insufficient.size,
            "insufficient_predicted": self._predicted[1],
        }


def bound_above(exploration: Exploration, checked: Checked) -> float:
    """No node above a checked one scores less."""
    problem = exploration.problem
    known = problem.known(checked.node)
    above = problem.objective.above
    return known if above is None else max(known, above(checked.check, problem.records))
