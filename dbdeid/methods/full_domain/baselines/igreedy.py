"""The improved greedy heuristic (Babu, Reddy, Kumar, Elliot & Jena 2013).

From the paper, as Prasser et al. ran it: from the bottom, all generalizations by one level are
looked at, and the search moves to the one whose smallest class is largest, until one satisfies;
ties are settled as in DataFly, by generalizing the attribute with the most distinct values.

Settled here: a check does not tell how small the classes are that it suppresses, so nodes that
suppress any are ties, as they are in nearly all data, where that is a single record; and of several
acceptable generalizations in the last step the best is taken.
"""

from __future__ import annotations

from functools import partial

from dbdeid.lattice.exploration import Checked, Exploration
from dbdeid.lattice.lattice import Node
from dbdeid.lattice.objectives import distinct_values


def igreedy(exploration: Exploration) -> None:
    """The best acceptable node at the end of a greedy path: no more than a guess at the optimum."""
    lattice = exploration.problem.lattice
    distinct = distinct_values(lattice, exploration.problem.marginals)
    at = exploration.check(lattice.bottom)
    while not at.accepted and at.node != lattice.top:
        above = [exploration.check(node) for node in lattice.successors(at.node)]
        if any(checked.accepted for checked in above):
            return
        at = max(above, key=partial(_merit, at.node, lattice.bottom, distinct))
    if at.hopeless:
        exploration.finish()


def _merit(
    origin: Node, bottom: Node, distinct: list[list[int]], checked: Checked
) -> tuple[int, int, int]:
    """The smallest class, the distinct values that were generalized, the first attribute."""
    i = next(i for i, level in enumerate(checked.node) if level > origin[i])
    smallest = 0 if checked.check.suppressed else checked.check.smallest
    return smallest, distinct[i][origin[i] - bottom[i]], -i
