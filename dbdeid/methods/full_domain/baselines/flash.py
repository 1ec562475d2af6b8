"""Flash: binary search on paths through the lattice (Kohlmayer, Prasser et al. 2012).

From the paper: nodes are ordered by total level, then by mean relative level, then by the share of
distinct values that is lost; in this order, bottom-up, a path is built greedily from each node that
is not decided to the top; the least general feasible node of the path is found by bisection; and
the successors of what turned out infeasible are where further paths start, in the same order.

The paper holds all above a feasible node to be decided, which is so where quality is monotone. Here
they are decided by the bound on their quality; where that is not enough, as with suppression, paths
go on through them, as in the two phases that the authors added later (Kohlmayer, Prasser & Kuhn,
"The cost of quality", 2015). So it is exact under every rule and objective. Also settled here: the
top is checked first; the nodes of a level are found one by one, not listed, and those above a node
that was decided with all above it are not even found.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from heapq import heappop, heappush

from dbdeid.lattice.exploration import Exploration
from dbdeid.lattice.lattice import Node
from dbdeid.lattice.objectives import distinct_values
from dbdeid.methods.full_domain.search.predictions import Predictions

Place = tuple[float, ...]


def flash(exploration: Exploration) -> None:
    """Bisect paths, bottom-up: exact under every rule and objective."""
    lattice = exploration.problem.lattice
    predictions = Predictions(exploration)
    try:
        bisect_paths(exploration, predictions, lattice.bottom, lattice.top)
        exploration.finish()
    finally:
        exploration.statistics.update(predictions.statistics())


def bisect_paths(exploration: Exploration, predictions: Predictions, low: Node, high: Node) -> None:
    """Decide all nodes between two.

    Raises:
        OutOfTime: the time is up.
    """
    _Paths(exploration, predictions, low, high).run()


def bottom_up(
    low: Node, high: Node, place: Callable[[Node], Place], closes: Callable[[Node], bool]
) -> Iterator[Node]:
    """Nodes between two, in the order of their places, each once.

    Args:
        low: the least general.
        high: the most general.
        place: grows with each attribute's level.
        closes: what is asked when a node has been dealt with: whether to leave out all above it.
    """
    queue = [(place(low), low, 0)]
    while queue:
        _, node, first = heappop(queue)
        yield node
        if closes(node):
            continue
        for i in range(first, len(node)):  # each node from the one that is less in its last
            if node[i] < high[i]:
                successor = (*node[:i], node[i] + 1, *node[i + 1 :])
                heappush(queue, (place(successor), successor, i))


class _Paths:
    """The search between two nodes."""

    def __init__(
        self, exploration: Exploration, predictions: Predictions, low: Node, high: Node
    ) -> None:
        self._exploration = exploration
        self._predictions = predictions
        self._low = low
        self._high = high
        lattice, marginals = exploration.problem.lattice, exploration.problem.marginals
        width = len(low)
        self._relative = [
            [level / max(attribute.height, 1) / width for level in range(attribute.height + 1)]
            for attribute in lattice.attributes
        ]
        self._lost = [
            [*[0.0] * attribute.min_level, *(1 - n / max(found[0], 1) for n in found)]
            for attribute, found in zip(
                lattice.attributes, distinct_values(lattice, marginals), strict=True
            )
        ]

    def run(self) -> None:
        """Decide all nodes."""
        if self._predictions.check(self._high).hopeless:
            return
        for node in bottom_up(
            self._low, self._high, self._place, self._predictions.is_insufficient
        ):
            self._search_from(node)

    def _place(self, node: Node) -> Place:
        relative = sum([self._relative[i][level] for i, level in enumerate(node)])
        lost = sum([self._lost[i][level] for i, level in enumerate(node)])
        return sum(node), relative, lost

    def _search_from(self, node: Node) -> None:
        queue = [(self._place(node), node)]
        while queue:
            node = heappop(queue)[1]
            if not self._is_decided(node):
                for start in self._bisect(self._path(node)):
                    heappush(queue, (self._place(start), start))

    def _path(self, node: Node) -> list[Node]:
        path = [node]
        while node := self._undecided_successor(node):
            path.append(node)
        return path

    def _undecided_successor(self, node: Node) -> Node:
        undecided = (n for n in self._successors(node) if not self._is_decided(n))
        return next(undecided, ())

    def _bisect(self, path: list[Node]) -> Iterator[Node]:
        """Find the least general node that decides none below; gives where more paths start."""
        low, high = 0, len(path) - 1
        while low <= high:
            middle = (low + high) // 2
            node = path[middle]
            if not self._is_decided(node) and self._predictions.check(node).hopeless:
                low = middle + 1
                yield from self._successors(node)
            else:
                high = middle - 1

    def _successors(self, node: Node) -> list[Node]:
        above = (
            (*node[:i], level + 1, *node[i + 1 :])
            for i, level in enumerate(node)
            if level < self._high[i]
        )
        return sorted(above, key=self._place)

    def _is_decided(self, node: Node) -> bool:
        return self._exploration.seen(node) is not None or self._predictions.closes(node)
