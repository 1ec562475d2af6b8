"""NSGA-II (Deb et al. 2002) on policies: how far a genetic algorithm for any problem gets.

Settled here: the first generation spreads over all densities, as policies of random bits alone are
much alike in risk and loss; a policy is crossed over at two bits, and each of its bits is flipped
with the chance 1 / length.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dbdeid.errors import MissingExtra
from dbdeid.methods.policy.search.frontier import Log
from dbdeid.methods.policy.search.policies import Bits, Space

POPULATION = 100


@dataclass(frozen=True, slots=True)
class Nsga2:
    """NSGA-II of pymoo; as a `Search`, called with a log and a generator.

    Attributes:
        population: policies of a generation, at least 2.
    """

    population: int = POPULATION

    def __call__(self, log: Log, rng: np.random.Generator) -> None:
        """Breed policies until the budget is spent, or no new ones are bred.

        Raises:
            MissingExtra: pymoo is not installed.
        """
        try:
            from pymoo.algorithms.moo.nsga2 import NSGA2
            from pymoo.core.problem import Problem
            from pymoo.core.termination import NoTermination
            from pymoo.operators.crossover.pntx import TwoPointCrossover
            from pymoo.operators.mutation.bitflip import BitflipMutation
            from pymoo.optimize import minimize
        except ImportError as error:
            raise MissingExtra("pymoo", extra="nsga2") from error

        class Policies(Problem):  # type: ignore[misc]
            def _evaluate(self, x: NDArray[np.bool_], out: dict[str, object]) -> None:
                out["F"] = np.array([log.evaluate(bits) for bits in x])

        space = log.gauge.space
        if space.length < 2:  # nothing is between the ends, and nothing to cross over
            return
        minimize(
            Policies(n_var=space.length, n_obj=2, xl=0, xu=1, vtype=bool),
            NSGA2(
                self.population,
                sampling=np.stack([_scattered(space, rng) for _ in range(self.population)]),
                crossover=TwoPointCrossover(),
                mutation=BitflipMutation(),
            ),
            NoTermination(),
            seed=int(rng.integers(1 << 31)),
        )


def _scattered(space: Space, rng: np.random.Generator) -> Bits:
    """A policy of random bits, its attributes of any density."""
    bits = space.top
    for own in space.slices:
        bits[own] = rng.random(own.stop - own.start) < rng.random()
    return bits
