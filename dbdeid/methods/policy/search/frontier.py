"""The risk-utility frontier: policies that no other policy dominates (Xia et al. 2013, section 2).

One policy dominates another when it has no more risk, no more loss, and less of one of them.
"""

from __future__ import annotations

import contextlib
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dbdeid.methods.policy.search.policies import Bits, Gauge


class Point(NamedTuple):
    """A policy in the plane of risk and loss; `policy` is its packed bits."""

    risk: float
    loss: float
    policy: bytes


def dominates(one: tuple[float, float], other: tuple[float, float]) -> bool:
    """Whether one pair of risk and loss strictly dominates another.

    >>> dominates((0.1, 0.5), (0.2, 0.5)), dominates((0.1, 0.5), (0.1, 0.5))
    (True, False)
    """
    return one[0] <= other[0] and one[1] <= other[1] and one != other


class Frontier:
    """Undominated points, in order of risk; policies with equal risk and loss are all kept."""

    def __init__(self) -> None:
        self.risks: list[float] = []
        self.losses: list[float] = []
        self._policies: list[dict[bytes, None]] = []

    def add(self, risk: float, loss: float, policy: bytes) -> bool:
        """Take a policy in unless one here dominates it, and drop those that it dominates.

        Returns:
            whether it is on the frontier now.
        """
        at = bisect_left(self.risks, risk)
        if at < len(self.risks) and self.risks[at] == risk and self.losses[at] == loss:
            self._policies[at].setdefault(policy)
            return True
        if self.dominated(risk, loss):
            return False
        end = at
        while end < len(self.risks) and self.losses[end] >= loss:
            end += 1
        self.risks[at:end], self.losses[at:end] = [risk], [loss]
        self._policies[at:end] = [{policy: None}]
        return True

    def least_loss(self, risk: float) -> float:
        """The least loss of a policy with at most this risk; infinite where there is none."""
        at = bisect_right(self.risks, risk)
        return self.losses[at - 1] if at else float("inf")

    def dominated(self, risk: float, loss: float) -> bool:
        """Whether a point here strictly dominates this one."""
        at = bisect_right(self.risks, risk)
        if not at or self.losses[at - 1] > loss:
            return False
        return self.losses[at - 1] < loss or self.risks[at - 1] < risk

    def __iter__(self) -> Iterator[Point]:
        """The points in ascending risk; equal ones in the order in which they were added."""
        for risk, loss, policies in zip(self.risks, self.losses, self._policies, strict=True):
            for policy in policies:
                yield Point(risk, loss, policy)

    def __len__(self) -> int:
        """How many different points there are."""
        return len(self.risks)

    @property
    def policies(self) -> int:
        """How many different policies there are."""
        return sum(map(len, self._policies))

    @property
    def area(self) -> float:
        """The area under the least loss by risk from 0 to 1: smaller is better.

        Where no policy has so little risk, the loss is 1.
        """
        risks = np.clip([0.0, *self.risks, 1.0], 0.0, 1.0)
        losses = np.minimum([1.0, *self.losses], 1.0)
        return float(np.diff(risks) @ losses)


class Spent(Exception):
    """The budget of a search is used up; `Log` raises it and `explore` catches it."""


@dataclass(frozen=True, slots=True)
class Weighed:
    """How far a search for the frontier is: policies that were evaluated, of the budget."""

    evaluated: int
    budget: int


class Log:
    """Every policy that a search evaluated, in order, and the frontier of them.

    The top and the bottom are on the frontier from the start, and cost nothing.

    Args:
        gauge: what is evaluated.
        budget: policies that may be.
        progress: called now and then.

    Attributes:
        risks, losses, policies: of each evaluation, policies packed.
        spent: of the budget: evaluations and what else was charged.
    """

    EVERY = 128  # evaluations between two calls of `progress`

    def __init__(
        self, gauge: Gauge, budget: int, progress: Callable[[Weighed], None] | None = None
    ) -> None:
        self.gauge, self.budget = gauge, budget
        self.risks: list[float] = []
        self.losses: list[float] = []
        self.policies: list[bytes] = []
        self.spent = 0
        self.frontier = Frontier()
        self._progress = progress
        space = gauge.space
        for bits in (space.top, space.bottom):
            self.frontier.add(*gauge(bits), space.pack(bits))

    @property
    def left(self) -> int:
        """The budget that is left."""
        return self.budget - self.spent

    def evaluate(self, bits: Bits) -> tuple[float, float]:
        """Evaluate a policy from its cells.

        Raises:
            Spent: nothing is left for it.
        """
        self.charge()
        found = self.gauge(bits)
        self._add(*found, self.gauge.space.pack(bits))
        return found

    def note(self, bits: Bits, risk: float, loss: float) -> bool:
        """Enter a policy whose risk and loss were found step by step from another's.

        Returns:
            whether it is on the frontier now.

        Raises:
            Spent: nothing is left for it.
        """
        self.charge()
        return self._add(risk, loss, self.gauge.space.pack(bits))

    def charge(self, number: int = 1) -> None:
        """Use up some of the budget.

        Raises:
            Spent: so much is not left.
        """
        if number > self.left:
            raise Spent
        self.spent += number

    def _add(self, risk: float, loss: float, policy: bytes) -> bool:
        self.risks.append(risk)
        self.losses.append(loss)
        self.policies.append(policy)
        if self._progress is not None and len(self.risks) % self.EVERY == 0:
            self._progress(Weighed(self.spent, self.budget))
        return self.frontier.add(risk, loss, policy)

    def areas(self, budgets: NDArray[np.int64]) -> NDArray[np.float64]:
        """The area of the frontier after each of these numbers of evaluations, ascending."""
        frontier, done, found = Frontier(), 0, []
        space = self.gauge.space
        for bits in (space.top, space.bottom):
            frontier.add(*self.gauge(bits), space.pack(bits))
        for budget in budgets:
            for i in range(done, min(int(budget), len(self.risks))):
                frontier.add(self.risks[i], self.losses[i], self.policies[i])
            done = max(done, int(budget))
            found.append(frontier.area)
        return np.array(found)


# A search evaluates policies in a log until its budget is spent or it has nothing left to try.
Search = Callable[[Log, np.random.Generator], None]


def explore(
    search: Search,
    gauge: Gauge,
    budget: int,
    rng: np.random.Generator,
    progress: Callable[[Weighed], None] | None = None,
) -> Log:
    """What a search finds within its budget."""
    log = Log(gauge, budget, progress)
    with contextlib.suppress(Spent):
        search(log, rng)
    return log
