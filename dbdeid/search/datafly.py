"""DataFly: one attribute after the other (Sweeney 1997, 2002).

From the paper: from the bottom, as long as more records than may be suppressed are in classes that
are too small, the attribute with the most distinct values is generalized by one level. Settled
here: of several the first; attributes at their most general level are left out; and a node that is
feasible but not accepted is generalized further.
"""

from __future__ import annotations

from dbdeid.search.exploration import Exploration
from dbdeid.search.flash import distinct_values


def datafly(exploration: Exploration) -> None:
    """The first acceptable node on one path: fast, and no more than a guess at the optimum."""
    lattice = exploration.problem.lattice
    distinct = distinct_values(exploration.problem)
    node = lattice.bottom
    while not (checked := exploration.check(node)).accepted:
        if node == lattice.top:
            if checked.hopeless:
                exploration.finish()
            return
        i = max(
            (i for i, level in enumerate(node) if level < lattice.top[i]),
            key=lambda i: (distinct[i][node[i] - lattice.bottom[i]], -i),
        )
        node = (*node[:i], node[i] + 1, *node[i + 1 :])
