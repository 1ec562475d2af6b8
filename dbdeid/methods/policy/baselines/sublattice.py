"""The sublattice heuristic search, SHS (Xia et al. 2013, section 4).

A sublattice is all policies between a top and a bottom. As risk and loss are monotone, all of it
lies in the box between the two ends in the plane of risk and loss. If all of the box is dominated
by the frontier, nothing in the sublattice is new, and it is pruned. Otherwise the share of the box
that is not dominated is how promising it is, and where that is above a threshold, a random maximal
chain of the sublattice is evaluated.

Settled here, where the paper is silent or does not work as it stands:

- In eq. 1 the losses of the frontier are capped by that of the top; otherwise a box could promise
  more than all of itself.
- A box without an area promises all if the corner of least risk and least loss is not dominated,
  and nothing if it is.
- A sublattice is drawn as two levels of a random maximal chain, and then the bits are fixed that
  lead out of what is pruned. Only what promises nothing is pruned.
- The search starts from the top and the bottom, or from a random maximal chain; the threshold is a
  quarter.
- A sublattice that is rejected costs its two ends, one that is not the policies of its chain.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np

from dbdeid.methods.policy.baselines.nonoverlap import Pruned
from dbdeid.methods.policy.search.frontier import Frontier, Log
from dbdeid.methods.policy.search.merges import Walk
from dbdeid.methods.policy.search.policies import Bits, Space
from dbdeid.methods.policy.search.random_chain import chain, maximal_chain

THRESHOLD = 0.25


class Sublattice(NamedTuple):
    """All policies that set the bits of the top, and none that the bottom does not set."""

    top: Bits
    bottom: Bits


def promise(frontier: Frontier, top: tuple[float, float], bottom: tuple[float, float]) -> float:
    """The share of a box that no policy of the frontier dominates: H (eq. 1).

    Args:
        frontier: with its risks ascending.
        top: the risk and the loss of the most general policy of a sublattice.
        bottom: those of the most specific one; no less risk, no more loss.

    Returns:
        between 0 and 1.

    >>> frontier = Frontier()
    >>> _ = frontier.add(0.5, 0.5, b"")
    >>> promise(frontier, (0.0, 1.0), (1.0, 0.0))
    0.75
    """
    (least_risk, most_loss), (most_risk, least_loss) = top, bottom
    area = (most_risk - least_risk) * (most_loss - least_loss)
    if area <= 0:
        return float(frontier.least_loss(least_risk) > least_loss)
    first = bisect_right(frontier.risks, least_risk)
    last = bisect_left(frontier.risks, most_risk)
    risks = np.array([least_risk, *frontier.risks[first:last], most_risk])
    losses = np.array([frontier.least_loss(least_risk), *frontier.losses[first:last]])
    heights = np.clip(losses, least_loss, most_loss) - least_loss
    return min(float(np.diff(risks) @ heights) / area, 1.0)


def random_sublattice(space: Space, pruned: Pruned, rng: np.random.Generator) -> Sublattice | None:
    """A sublattice that has no policy in common with those pruned.

    Returns:
        None where every policy is pruned.
    """
    outside = pruned.outside(rng)
    if outside is None:
        return None
    order = rng.permutation(space.length)
    levels = np.sort(rng.choice(space.length + 1, 2, replace=False))
    found = Sublattice(space.top, space.top)
    for bits, level in zip(found, levels, strict=True):
        bits[order[:level]] = True
        bits[list(outside)] = list(outside.values())
    return found


@dataclass(frozen=True, slots=True)
class SublatticeSearch:
    """SHS with these parameters; as a `Search`, called with a log and a generator.

    Attributes:
        threshold: the promise above which a sublattice is searched; from 0, below 1.
        start: what the frontier is at first: the two ends of all policies, which cost nothing, or
            a random maximal chain.
    """

    threshold: float = THRESHOLD
    start: Literal["ends", "chain"] = "ends"

    def __call__(self, log: Log, rng: np.random.Generator) -> None:
        """Search until the budget is spent, or every policy is pruned."""
        gauge, space = log.gauge, log.gauge.space
        if not space.length:
            return
        if self.start == "chain":
            maximal_chain(log, Walk(gauge, space.bottom), rng)
        pruned = Pruned(space.length)
        while (drawn := random_sublattice(space, pruned, rng)) is not None:
            ends = gauge(drawn.top), gauge(drawn.bottom)
            # before they are on the frontier themselves
            hope = promise(log.frontier, *ends)
            for bits, end in zip(drawn, ends, strict=True):
                log.note(bits, *end)
            if not hope:
                pruned.add(*drawn)
            elif hope > self.threshold:
                free = rng.permutation(np.flatnonzero(drawn.top != drawn.bottom))
                # the last merge would lead to the top, which is there
                chain(log, Walk(gauge, drawn.bottom), free[:-1])
