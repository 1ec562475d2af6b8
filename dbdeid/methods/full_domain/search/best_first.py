"""Best-first branch and bound from the bottom (Prasser, Kohlmayer & Kuhn 2016).

From the paper: the search starts at the bottom; the most promising node found so far is expanded,
that is, its successors are checked and found; a node whose lower bound is not better than the best
is pruned with all above it; and what is known of nodes is kept in antichains. The authors' own
benchmark takes the score with suppression for what is promising, which finds good solutions early.

Settled here: the top is checked first, so that there is a solution from the first check, or the
proof that there is none; nodes that are predicted to suppress too much are not checked, but
expanded in the place of the node that led to them; a bound is known of every node without a check,
so that a node that cannot win is never checked; the frontier's least bound is what is proven; and
where the nodes found would take up too much memory, the search ends with the best so far.
"""

from __future__ import annotations

from heapq import heappop, heappush

from dbdeid.lattice.exploration import Exploration
from dbdeid.lattice.lattice import Node
from dbdeid.methods.full_domain.search.predictions import Predictions

HELD = 1 << 24  # levels of the nodes found; they take up about a gigabyte


def best_first(exploration: Exploration, *, predict: bool = True) -> None:
    """Expand the most promising node first: exact under every rule and objective, and anytime.

    It is exact as long as the nodes that it finds fit into memory.

    Args:
        exploration: where nodes are checked.
        predict: keep antichains; without, only a node's own bound prunes it.
    """
    predictions = Predictions(exploration)
    try:
        hopeless = predictions.check(exploration.problem.lattice.top).hopeless
        if hopeless or _Search(exploration, predictions, predict).run():
            exploration.finish()
    finally:
        if predict:
            exploration.statistics.update(predictions.statistics())


class _Search:
    """The frontier: nodes found, but not expanded."""

    def __init__(self, exploration: Exploration, predictions: Predictions, predict: bool) -> None:
        self._exploration = exploration
        self._problem = exploration.problem
        self._predictions = predictions
        self._predict = predict
        self._queue: list[tuple[float, int, Node]] = []
        self._frontier: set[Node] = set()
        self._bounds: list[tuple[float, Node]] = []
        self._found: set[Node] = set()

    def run(self) -> bool:
        """Expand nodes until none may lead to a better one; False: they became too many before."""
        bottom = self._problem.lattice.bottom
        self._find(bottom, self._problem.known(bottom))
        while self._queue:
            if len(self._found) * len(bottom) > HELD:
                return False
            score, _, node = heappop(self._queue)
            if not self._is_insufficient(node):
                self._tell()
                for successor in self._problem.lattice.successors(node):
                    if successor not in self._found:
                        self._find(successor, score)
            self._frontier.discard(node)
        return True

    def _find(self, node: Node, score: float) -> None:
        """Check a node and queue it, as good as the one that led to it if it is not checked."""
        self._found.add(node)
        if self._is_insufficient(node):
            return
        if not self._predict:
            score = self._exploration.check(node).score
        elif not self._predictions.is_hopeless(node):
            score = self._predictions.check(node).score
        heappush(self._queue, (score, sum(node), node))
        heappush(self._bounds, (self._problem.known(node), node))
        self._frontier.add(node)

    def _is_insufficient(self, node: Node) -> bool:
        if self._predict:
            return self._predictions.is_insufficient(node)
        return not self._exploration.may_win(self._problem.known(node), node)

    def _tell(self) -> None:
        """All that is not found is above the frontier."""
        while self._bounds[0][1] not in self._frontier:
            heappop(self._bounds)
        self._exploration.bound = self._bounds[0][0]
        self._exploration.open = len(self._frontier)
