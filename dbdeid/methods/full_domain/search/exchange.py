"""What an exchange between attributes makes of the best: one becomes finer, another more general.

Where an optimum is not proven, the nodes one level away say little: finer ones suppress too much,
more general ones lose more. Those that are no better by what is known of them are left out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import permutations, product

from dbdeid.lattice.exploration import Checked, Exploration
from dbdeid.lattice.lattice import Node
from dbdeid.methods.full_domain.search.antichain import Antichain

REACH = 2  # levels that an attribute is moved by


class Exchange:
    """Looks at what is an exchange away from the best, as long as that is better.

    Args:
        exploration: what was found so far.
    """

    def __init__(self, exploration: Exploration) -> None:
        self._exploration = exploration
        self._hopeless = Antichain("below")
        self._learned = 0

    def run(self, check: Callable[[Node], Checked]) -> None:
        """Go on until no exchange is better.

        Args:
            check: looks at a node.

        Raises:
            OutOfTime: the time is up.
        """
        while (best := self._exploration.best) is not None:
            if not any(self._improves(check, node, best) for node in self._near(best)):
                return

    def _improves(self, check: Callable[[Node], Checked], node: Node, best: Checked) -> bool:
        if self._exploration.seen(node) or self._is_hopeless(node):
            return False
        check(node)
        return self._exploration.best is not best

    def _is_hopeless(self, node: Node) -> bool:
        for checked in self._exploration.checks[self._learned :]:
            if checked.hopeless:
                self._hopeless.add(checked.node)
        self._learned = len(self._exploration.checks)
        return self._hopeless.covers(node)

    def _near(self, best: Checked) -> Iterator[Node]:
        """What may be better, the most certain first: that of which the most loss is known."""
        problem = self._exploration.problem
        known = {node: problem.known(node) for node in self._moved(best.node)}
        may = [node for node, bound in known.items() if bound < best.score]
        return iter(sorted(may, key=lambda node: (-known[node], node)))

    def _moved(self, node: Node) -> Iterator[Node]:
        """One attribute finer, and another finer or more general, each by a level or two."""
        lattice = self._exploration.problem.lattice
        steps = [step for step in range(-REACH, REACH + 1) if step]
        for (i, j), down, step in product(
            permutations(range(len(node)), 2), range(1, REACH + 1), steps
        ):
            moved = [*node]
            moved[i] -= down
            moved[j] += step
            if moved[i] >= lattice.bottom[i] and lattice.bottom[j] <= moved[j] <= lattice.top[j]:
                yield tuple(moved)
