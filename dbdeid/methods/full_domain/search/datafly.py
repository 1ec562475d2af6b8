"""DataFly: one attribute after the other (Sweeney 1997, 2002).

From the paper: from the bottom, as long as more records than may be suppressed are in classes that
are too small, the attribute with the most distinct values is generalized by one level. Settled
here: of several the first; attributes at their most general level are left out; and a node that is
feasible but not accepted is generalized further.
"""

from __future__ import annotations

from collections.abc import Iterator

from dbdeid.lattice.exploration import Exploration, Problem
from dbdeid.lattice.lattice import Node
from dbdeid.lattice.objectives import distinct_values


def datafly(exploration: Exploration) -> None:
    """The first acceptable node on one path: fast, and no more than a guess at the optimum."""
    for node in path(exploration.problem):
        checked = exploration.check(node)
        if checked.accepted:
            return
    if checked.hopeless:
        exploration.finish()


def path(problem: Problem, start: Node | None = None) -> Iterator[Node]:
    """From the bottom to the top, generalizing the attribute with the most distinct values.

    Args:
        problem: what is searched for.
        start: where the path begins instead of the bottom.
    """
    lattice = problem.lattice
    distinct = distinct_values(lattice, problem.marginals)
    node = lattice.bottom if start is None else start
    yield node
    while node != lattice.top:
        i = max(
            (i for i, level in enumerate(node) if level < lattice.top[i]),
            key=lambda i: (distinct[i][node[i] - lattice.bottom[i]], -i),
        )
        node = (*node[:i], node[i] + 1, *node[i + 1 :])
        yield node
