"""What each quasi-identifier costs: how much detail the others could keep without it.

A transformation is searched for, for as long as there is time. Without a column, the others descend
further from there, each time by the step that wins most detail, while the models hold. The detail
that they win so is a lower bound on what they could win from there.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass

import numpy as np

from dbdeid.lattice.exploration import (
    SAME,
    Exploration,
    Found,
    Interrupted,
    OutOfTime,
    Problem,
    Progress,
    Search,
    explore,
)
from dbdeid.lattice.lattice import Lattice, Node
from dbdeid.lattice.tuples import Marginals

DESCENTS = 60.0  # seconds of the descent from the top, and of those without a column together


@dataclass(frozen=True, slots=True)
class Costs:
    """What was found.

    Attributes:
        node: the transformation with all quasi-identifiers.
        proven: no other has a better score.
        loss: of each quasi-identifier there, the mean over the records.
        without: for each quasi-identifier, the mean loss of the others when it is not released.
        checked: transformations that were looked at.
    """

    node: Node
    proven: bool
    loss: tuple[float, ...]
    without: tuple[float, ...]
    checked: int

    def others(self, number: int) -> float:
        """The mean loss of all quasi-identifiers but one, when all are released."""
        rest = [loss for i, loss in enumerate(self.loss) if i != number]
        return float(np.mean(rest)) if rest else 0.0


def costs(
    problem: Problem,
    search: Search,
    time_limit: float,
    progress: Callable[[Progress], None] | None = None,
) -> Costs | None:
    """The cost of each quasi-identifier; None where not even the top holds the models.

    Args:
        problem: with all quasi-identifiers; its checker should look at no node twice.
        search: finds the transformation that the costs are told of.
        time_limit: seconds for that; the descents have their own, `DESCENTS`.
        progress: called after every check.

    Raises:
        Interrupted: by the user, when a transformation was found.
    """
    exploration = Exploration(problem, DESCENTS, progress)
    try:
        return _costs(exploration, search, time_limit, progress)
    except KeyboardInterrupt as interrupt:
        found = exploration.found()
        if isinstance(interrupt, Interrupted) and interrupt.found.score <= found.score:
            raise
        if found.node is None:
            raise
        raise Interrupted(found) from interrupt


def _costs(
    exploration: Exploration,
    search: Search,
    time_limit: float,
    progress: Callable[[Progress], None] | None,
) -> Costs | None:
    problem, lattice = exploration.problem, exploration.problem.lattice
    if not exploration.check(lattice.top).accepted:
        return None
    greedy = exploration.check(_descended(exploration, lattice.top))
    found = explore(search, problem, time_limit=time_limit, progress=progress)
    searched = found.node is not None and found.score <= greedy.score * (1 + SAME)  # or a tie
    node = found.node if searched and found.node is not None else greedy.node
    losses = _losses(lattice, problem.marginals)
    loss = _at(losses, node)
    without = []
    exploration.allow(DESCENTS)
    for i, attribute in enumerate(lattice.attributes):
        start = (*node[:i], attribute.most_general, *node[i + 1 :])
        # what generalizes further may fail models that are not monotone: then nothing is won
        try:
            accepted = exploration.check(start).accepted
        except OutOfTime:
            accepted = False
        ended = _descended(exploration, start, pinned={i}) if accepted else node
        rest = [one for j, one in enumerate(_at(losses, ended)) if j != i]
        without.append(float(np.mean(rest)) if rest else 0.0)
    checked = len(exploration.checks) + found.checked
    return Costs(node, searched and found.proven_optimal, loss, tuple(without), checked)


def best_of(
    problem: Problem, search: Search, time_limit: float, start: Node | None = None
) -> Found | None:
    """The transformation of least score that is found in a time; None where none is.

    Greedy steps from the start and from the top come first, so that little time finds something.

    Args:
        problem: its checker should look at no node twice.
        search: goes on where greedy steps end.
        time_limit: seconds for the greedy steps, and again for the search.
        start: a node that is likely good.
    """

    def greedy(exploration: Exploration) -> None:
        for node in (start, problem.lattice.top):
            if node is not None and exploration.check(node).accepted:
                _descended(exploration, node)

    found = [
        explore(greedy, problem, time_limit=time_limit),
        explore(search, problem, time_limit=time_limit),
    ]
    known = [one for one in found if one.node is not None]
    # of two that score alike, the one that is proven
    return min(known, key=lambda one: (one.score, not one.proven_optimal), default=None)


def _descended(exploration: Exploration, start: Node, pinned: Collection[int] = ()) -> Node:
    """Where no attribute can be made finer by a level: the greedy end of a path from a node.

    An attribute whose finer level fails is not tried again, for a failing transformation mostly
    fails below, too. When its time is up it ends where it is, which is a bound as well.

    Args:
        exploration: of the problem.
        start: an acceptable node.
        pinned: attributes that stay where they are.
    """
    lattice = exploration.problem.lattice
    losses = _losses(lattice, exploration.problem.marginals)
    weights = [attribute.weight for attribute in lattice.attributes]
    node, open_ = start, [i for i in range(len(start)) if i not in pinned]
    while open_ := [i for i in open_ if node[i] > lattice.bottom[i]]:
        gains = {i: weights[i] * (losses[i][node[i]] - losses[i][node[i] - 1]) for i in open_}
        i = max(open_, key=lambda one: (gains[one], -one))
        finer = (*node[:i], node[i] - 1, *node[i + 1 :])
        try:
            accepted = exploration.check(finer).accepted
        except OutOfTime:
            break
        if accepted:
            node = finer
        else:
            open_.remove(i)
    return node


def _losses(lattice: Lattice, marginals: Marginals) -> list[list[float]]:
    """The mean loss of the cells of each attribute on each level."""
    return [
        [float(loss @ counts) / max(marginals.records, 1) for loss in attribute.loss]
        for attribute, counts in zip(lattice.attributes, marginals.counts, strict=True)
    ]


def _at(losses: list[list[float]], node: Node) -> tuple[float, ...]:
    return tuple(own[level] for own, level in zip(losses, node, strict=True))
