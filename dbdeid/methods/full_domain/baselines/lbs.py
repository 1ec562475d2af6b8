"""Lattice-based search, sublattice by sublattice, each with knowledge of its own.

Prasser, Kohlmayer & Kuhn (2016) compare with searches whose predictions reach no further than the
part of the lattice at hand; how these divide the lattice was not to be had. Settled here: the first
attributes, as many as it takes for the square root of the nodes, are held at one vector of levels
after the other, bottom-up, and what remains is searched by bisecting paths as in `flash`, with
antichains that are forgotten with the sublattice. Only the best node found so far is remembered.
"""

from __future__ import annotations

from math import prod

from dbdeid.lattice.exploration import Exploration
from dbdeid.lattice.lattice import Node
from dbdeid.methods.full_domain.baselines.flash import bisect_paths, bottom_up
from dbdeid.methods.full_domain.search.predictions import Predictions


def lbs(exploration: Exploration) -> None:
    """Search one sublattice after the other: exact under every rule and objective."""
    problem = exploration.problem
    lattice = problem.lattice
    split = next(
        i for i in range(len(lattice.shape) + 1) if prod(lattice.shape[:i]) ** 2 >= lattice.size
    )

    def cannot_win(held: Node) -> bool:
        exploration.require_time()
        low = held + lattice.bottom[split:]
        return not exploration.may_win(problem.known(low), low)

    if not exploration.check(lattice.top).hopeless:
        for held in bottom_up(lattice.bottom[:split], lattice.top[:split], _rank, cannot_win):
            if not cannot_win(held):
                low, high = held + lattice.bottom[split:], held + lattice.top[split:]
                _search(exploration, low, high)
    exploration.finish()


def _rank(node: Node) -> tuple[float, ...]:
    return (float(sum(node)),)


def _search(exploration: Exploration, low: Node, high: Node) -> None:
    """Search one sublattice, and count what was predicted and how large the antichains became."""
    predictions = Predictions(exploration)
    try:
        bisect_paths(exploration, predictions, low, high)
    finally:
        counts = exploration.statistics
        counts["sublattices"] = counts.get("sublattices", 0) + 1
        for name, count in predictions.statistics().items():
            before = counts.get(name, 0)
            counts[name] = before + count if name.endswith("_predicted") else max(before, count)
