"""A first solution in few checks of all data: levels are found on samples, and then checked.

Of much data a single check takes seconds, and a search that starts from the bottom or the top may
have nothing but the top when its time is up. So levels are searched on a small sample, made finer
on each larger one, and generalized on all data until they are feasible there: mostly they are at
once, for a class is smaller in a sample than in the data. Where there are few data all of it is
their sample, and DataFly's path is bisected for its first feasible node.
"""

from __future__ import annotations

from collections.abc import Iterable

from dbdeid.lattice.exploration import Checked, Exploration, Problem, explore
from dbdeid.lattice.lattice import Node
from dbdeid.methods.full_domain.search.datafly import path
from dbdeid.methods.full_domain.search.optimal import bisected, cheapest_below, optimal

SEARCHED = 400  # checks of the smallest sample
REFINED = 100  # checks of each larger one


def start(exploration: Exploration, samples: Iterable[Problem] = ()) -> None:
    """Check an acceptable node under which not all records are alike, if one is found.

    Under rules that only keep more records as levels grow it is found if there is any, for then
    some node one level below one where all are alike is feasible too.

    Args:
        exploration: of all data.
        samples: the same problem on ever larger parts of the data.
    """
    lattice = exploration.problem.lattice
    node: Node | None = None
    for sample in samples:
        node = _refined(sample, node) if node is not None else _searched(sample)
    if node is not None:
        _generalized(exploration, node)
        _compared(exploration)
    if exploration.best is None and exploration.check(lattice.top).feasible:
        bisected(exploration, list(path(exploration.problem)))
    at = exploration.best
    while at is not None and at.check.all_classes == 1 and at.node != lattice.bottom:
        below = cheapest_below(exploration, at)
        if below is None and at.node == lattice.top and _all_hopeless(exploration):
            exploration.finish()
        at = below


def _all_hopeless(exploration: Exploration) -> bool:
    """Whether there is nothing but the most general node, by what was found one level below it."""
    lattice = exploration.problem.lattice
    below = (exploration.seen(node) for node in lattice.predecessors(lattice.top))
    return all(checked is not None and checked.hopeless for checked in below)


def _searched(problem: Problem) -> Node | None:
    """The best levels for a sample, as far as so many checks find them."""
    return explore(optimal, problem, most_checks=SEARCHED).node


def _refined(problem: Problem, node: Node) -> Node | None:
    """Levels for a sample, from those for a smaller one: generalized until they are acceptable,
    and then made finer, each time at the least known loss."""
    return explore(lambda e: _descend(e, node), problem, most_checks=REFINED).node


def _compared(exploration: Exploration) -> None:
    """Look at those nodes of DataFly's path that may still be better: mostly one check closes them,
    for where the last is infeasible all are."""
    problem, least = exploration.problem, exploration.best_score
    nodes = [node for node in path(problem) if problem.known(node) < least]
    if exploration.best is not None and nodes and exploration.check(nodes[-1]).feasible:
        bisected(exploration, nodes)


def _descend(exploration: Exploration, node: Node) -> None:
    below = _generalized(exploration, node)
    while below is not None:
        below = cheapest_below(exploration, below)


def _generalized(exploration: Exploration, node: Node) -> Checked | None:
    """The first acceptable node on DataFly's path from a node, in about as many checks as the
    length of the path has digits; None: there is none."""
    checked = exploration.check(node)
    nodes = list(path(exploration.problem, node))[1:]
    if checked.accepted or not nodes:
        return exploration.best
    reach = 1
    while reach < len(nodes) and not exploration.check(nodes[reach - 1]).accepted:
        reach *= 2
    bisected(exploration, nodes[reach // 2 : reach])
    return exploration.best
