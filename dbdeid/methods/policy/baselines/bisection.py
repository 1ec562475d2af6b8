"""Bisection on random maximal chains (Benitez, Loukides & Malin 2010).

On a chain from the top to the bottom the risk does not fall and the loss does not rise. So the
policy of least loss among those with no more risk than a reference is the last of them, and found
by bisection.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dbdeid.methods.policy.search.frontier import Log
from dbdeid.methods.policy.search.policies import Bits, Ints


def bisected(log: Log, order: Ints, risk: float) -> Bits:
    """The policy of least loss on a maximal chain, of those within a risk.

    Args:
        log: where the policies are entered that are evaluated; the two ends of the chain are not.
        order: the bits, as the chain sets them from the top on.
        risk: that the top is within and the bottom is not.

    Raises:
        Spent: the budget ends before it is found.
    """

    def policy(level: int) -> Bits:
        bits = log.gauge.space.top
        bits[order[:level]] = True
        return bits

    within, beyond = 0, len(order)
    while beyond - within > 1:
        middle = (within + beyond) // 2
        if log.evaluate(policy(middle))[0] <= risk:
            within = middle
        else:
            beyond = middle
    return policy(within)


@dataclass(frozen=True, slots=True)
class Bisection:
    """Bisection on one random chain after the other; as a `Search`, called with a log and an rng.

    Attributes:
        risk: of the reference, say of Safe Harbor.
    """

    risk: float

    def __call__(self, log: Log, rng: np.random.Generator) -> None:
        """Search until the budget is spent, or at once where one of the two ends is best."""
        gauge, space = log.gauge, log.gauge.space
        if space.length < 2 or not gauge(space.top)[0] <= self.risk < gauge(space.bottom)[0]:
            return
        while True:
            bisected(log, rng.permutation(space.length), self.risk)
