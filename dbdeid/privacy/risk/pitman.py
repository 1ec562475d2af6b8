"""Pitman's sampling model: population uniques from the class sizes of a sample.

Pitman 1995; Hoshino 2001, "Applying Pitman's sampling formula to microdata disclosure risk
assessment", Journal of Official Statistics 17(4). The likelihood of the class sizes has parameters
theta and alpha; a population of N then has about Γ(θ+1)/Γ(θ+α) · N^α unique members.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from dbdeid.privacy.risk.newton import Equations, newton, starts

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

ITERATIONS = 50


def population_uniques(
    sizes: NDArray[np.int64], classes: NDArray[np.int64], population: int
) -> float | None:
    """Unique members of the population; None where the likelihood has no maximum to be found.

    Args:
        sizes: class sizes of the sample, ascending and distinct.
        classes: how many classes have each size.
        population: members of the population.
    """
    found = fit(sizes, classes)
    if found is None:
        return None
    theta, alpha = found
    if alpha == 0 or theta + alpha <= 0:
        return None
    uniques = math.lgamma(theta + 1) - math.lgamma(theta + alpha) + alpha * math.log(population)
    return math.exp(uniques) if uniques <= math.log(population) else None


def fit(sizes: NDArray[np.int64], classes: NDArray[np.int64]) -> tuple[float, float] | None:
    """The most likely theta and alpha; None where no start leads to them."""
    score = _score(sizes, classes)
    for start in (_guess(sizes, classes), *starts()):
        found = newton(score, start, ITERATIONS, lambda theta, alpha: theta >= 0)
        if found is not None:
            return found
    return None


def _guess(sizes: NDArray[np.int64], classes: NDArray[np.int64]) -> tuple[float, float]:
    """Where to start: the estimate from the uniques and pairs alone (Hoshino 2001, section 4)."""
    number = dict(zip(sizes.tolist(), classes.tolist(), strict=True))
    records, total = float(sizes @ classes), float(classes.sum())
    uniques = float(number.get(1, 0))
    ratio = uniques * (uniques - 1) / (number.get(2, 0) or 1)
    below = 2 * uniques * total + uniques * ratio - records * ratio
    above = records * total * ratio - uniques * (records - 1) * (2 * total + ratio)
    theta = above / below if below else math.nan
    alpha = (theta * (uniques - records) + (records - 1) * uniques) / (records * total)
    return theta, alpha


def _score(sizes: NDArray[np.int64], classes: NDArray[np.int64]) -> Equations:
    """The derivatives of the log-likelihood by theta and alpha, with theirs."""
    import numpy as np

    records, total = int(sizes @ classes), int(classes.sum())
    rank = np.arange(1, total, dtype=float)
    member = np.arange(1, records, dtype=float)
    # classes that have more than 1, 2, … members
    within = np.arange(1, int(sizes[-1]), dtype=float)
    larger = total - np.concatenate(([0], np.cumsum(classes)))[np.searchsorted(sizes, within + 1)]

    def equations(theta: float, alpha: float) -> tuple[tuple[float, ...], tuple[float, ...]]:
        by_rank, by_member = 1 / (theta + rank * alpha), 1 / (theta + member)
        inside = 1 / (within - alpha)
        by_theta = float(by_rank.sum() - by_member.sum())
        by_alpha = float(rank @ by_rank - larger @ inside)
        squares = by_rank * by_rank
        mixed = -float(rank @ squares)
        first = float(by_member @ by_member - squares.sum())
        second = -float((rank * rank) @ squares + larger @ (inside * inside))
        return (by_theta, by_alpha), (first, mixed, mixed, second)

    return equations
