"""Whether measures are monotone: a merge may not raise the risk, nor lower the loss.

The searches rest on it, and so does what the frontier means: a policy that says less would dominate
one that says more (Xia et al. 2013, section 2, where measures are order-homomorphic).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from dbdeid.methods.policy.search.merges import Walk
from dbdeid.methods.policy.search.policies import Gauge
from dbdeid.methods.policy.search.random_chain import merges

CHAINS = 5
ROUNDING = 1e-9  # of the greatest value that a measure had on the chain so far


@dataclass(frozen=True, slots=True)
class Violation:
    """A merge after which a measure is on the wrong side.

    Attributes:
        measure: its name.
        attribute: whose intervals merged.
        cut: the place in the domain of the last value of the first of the two.
        before, after: the measure, not normalised.
    """

    measure: str
    attribute: str
    cut: int
    before: float
    after: float


def violations(gauge: Gauge, rng: np.random.Generator, chains: int = CHAINS) -> Iterator[Violation]:
    """Merges on random maximal chains that raise the risk or lower the loss beyond rounding."""

    def measured(walk: Walk) -> tuple[float, float]:
        records = gauge.cells.count
        return gauge.risk.value(walk.risk_sum, records), gauge.loss.value(walk.loss_sum, records)

    signs = (gauge.risk.name, 1), (gauge.loss.name, -1)
    bottom = Walk(gauge, gauge.space.bottom)
    for _ in range(chains):
        walk = bottom.copy()
        before = measured(walk)
        scale = [abs(value) for value in before]
        for step in merges(walk, rng.permutation(gauge.space.length)):
            after = measured(walk)
            for i, (name, sign) in enumerate(signs):
                scale[i] = max(scale[i], abs(after[i]))
                if sign * (after[i] - before[i]) > ROUNDING * scale[i]:
                    attribute = gauge.cells.domains[step.attribute].name
                    yield Violation(name, attribute, step.cut, before[i], after[i])
            before = after
