"""A search problem, and what has been looked at so far: the ground that all searches stand on.

A search is a function of an `Exploration`. It looks at nodes with `check`, which counts them, keeps
the best, and ends the search when its time is up; it says in `bound` what it has proven. `explore`
runs one.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property
from math import inf
from time import monotonic, perf_counter

import numpy as np

from dbdeid.lattice.check import Check, Checker
from dbdeid.lattice.lattice import Lattice, Node
from dbdeid.lattice.objectives import Data, Floats, Objective, marginals_of, sum_of_terms
from dbdeid.lattice.tuples import Marginals

SAME = 1e-12  # relative difference below which two scores are a tie


@dataclass(frozen=True)
class Problem:
    """A search problem: find the feasible node of least score.

    Ties go to the lower total level, then to the lexicographically first.

    Args:
        lattice: the transformations.
        data: the tuples, or their marginal counts.
        checker: looks at one transformation.
        limit: most subjects who may lose a record.
        objective: what is minimized.
        accept: rules out single feasible nodes, and says nothing of those above or below.
        convex: a class of parts that all hold the rule holds it too. Then what suppresses nothing
            has nothing above it that does.
    """

    lattice: Lattice
    data: Data
    checker: Checker
    limit: int
    objective: Objective
    accept: Callable[[Check], bool] = lambda _: True
    convex: bool = False

    @cached_property
    def marginals(self) -> Marginals:
        """Counts of the attributes alone."""
        return marginals_of(self.lattice, self.data)

    @cached_property
    def records(self) -> int:
        """How many records there are."""
        return self.marginals.records

    @cached_property
    def terms(self) -> list[Floats]:
        """Per attribute, by level - min_level, what a level adds to the objective's known sum."""
        return self.objective.terms(self.lattice, self.marginals)

    @cached_property
    def inherited(self) -> bool:
        """Whether a node that suppresses nothing has nothing above it that does."""
        return self.convex and self.limit == 0

    def total(self, node: Node) -> float:
        """The sum of a node's terms."""
        return sum_of_terms(self.lattice, self.terms, node)

    def known(self, node: Node) -> float:
        """A lower bound on the node's score before any check."""
        return float(self.objective.known(np.array([self.total(node)]), self.records)[0])

    def lost_below(self, check: Check) -> int:
        """How many subjects every node below a checked one suppresses at least."""
        return check.suppressed_subjects if self.inherited else check.below.subjects


@dataclass(frozen=True, slots=True)
class Checked:
    """A node that was checked.

    Args:
        check: what was found.
        score: under the objective.
        feasible: whether it suppresses no more than the limit.
        accepted: whether it is feasible and may be released.
        hopeless: whether every node below it suppresses too much.
    """

    check: Check
    score: float
    feasible: bool
    accepted: bool
    hopeless: bool

    @property
    def node(self) -> Node:
        """The transformation."""
        return self.check.node


@dataclass(frozen=True)
class Found:
    """What a search found.

    Args:
        node: the best transformation; None when none was found that satisfies.
        score: its score under the objective, infinite when there is none.
        check: what the check of it found.
        lattice_size: nodes in the lattice.
        checked: nodes that were checked.
        proven_optimal: whether no node can be better; without a node, whether none satisfies.
        lower_bound: no node scores less.
        out_of_time: whether the search ended because its time was up, or its checks were made.
        seconds: since it began, the start among them.
        explored: the nodes that were checked, in order.
        statistics: further counts that the search made, by name.
    """

    node: Node | None
    score: float
    check: Check | None
    lattice_size: int
    checked: int
    proven_optimal: bool
    lower_bound: float
    out_of_time: bool = False
    seconds: float = field(default=0.0, compare=False)
    explored: tuple[Checked, ...] = field(default=(), compare=False, repr=False)
    statistics: dict[str, int] = field(default_factory=dict, compare=False, repr=False)

    @property
    def gap(self) -> float:
        """How far the score may be from the optimum, as a share of it: 0 when that is proven."""
        if self.proven_optimal or self.score <= self.lower_bound:
            return 0.0
        return (self.score - self.lower_bound) / abs(self.score)


@dataclass(frozen=True)
class Progress:
    """How far a search is: checks made, nodes still open, the incumbent's score, a bound, seconds
    since it began."""

    checked: int
    open: int
    best: float
    lower_bound: float
    seconds: float = field(default=0.0, compare=False)


@dataclass(frozen=True, slots=True)
class Placed:
    """How far a recoding class by class is: records that have a class, of all."""

    records: int
    total: int


class OutOfTime(Exception):
    """The time of a search is up; `explore` catches it."""


class Interrupted(KeyboardInterrupt):
    """The user interrupted a search that had found something.

    Args:
        found: the best so far, with what was proven until then.
    """

    def __init__(self, found: Found) -> None:
        super().__init__()
        self.found = found


class Exploration:
    """What a search has looked at so far.

    Args:
        problem: what is searched for.
        time_limit: seconds until it ends; None: it does not. One check is always made.
        progress: called after every check, and at the end.
        most_checks: after which it ends, too; None: any number.

    Attributes:
        checks: the nodes that were looked at, in order.
        best: the best that is feasible and acceptable.
        bound: no node that was not checked scores less, or can win a tie; the search says so.
        open: nodes that may still be the optimum, as far as the search tells.
        statistics: further counts that the search makes, by name.
    """

    def __init__(
        self,
        problem: Problem,
        time_limit: float | None = None,
        progress: Callable[[Progress], None] | None = None,
        most_checks: int | None = None,
    ) -> None:
        self.problem = problem
        self.checks: list[Checked] = []
        self.best: Checked | None = None
        self.bound = -inf
        self.open = problem.lattice.size
        self.statistics: dict[str, int] = {}
        self._by_node: dict[Node, Checked] = {}
        self._least = problem.known(problem.lattice.bottom)
        self._deadline: float | None = None
        self._most_checks = most_checks
        self._progress = progress
        self._started = perf_counter()
        self.allow(time_limit)

    def allow(self, seconds: float | None) -> None:
        """Let the search go on for so long from now; None: as long as it takes."""
        self._deadline = None if seconds is None else monotonic() + seconds

    def hold_back(self, share: float) -> float | None:
        """Let the search end earlier by a share of the time that is left, and give that time.

        None where it has no limit.
        """
        left = self.time_left
        if left is None:
            return None
        self.allow(left * (1 - share))
        return left * share

    @property
    def time_left(self) -> float | None:
        """The seconds that are left; None: as many as it takes."""
        return None if self._deadline is None else max(self._deadline - monotonic(), 0.0)

    @property
    def is_short(self) -> bool:
        """Whether only so many checks may be made, and nothing is to be proven."""
        return self._most_checks is not None

    @property
    def best_score(self) -> float:
        """The score of the best, infinite when there is none."""
        return self.best.score if self.best else inf

    def check(self, node: Node) -> Checked:
        """Look at a node; a node that was looked at before is not looked at again.

        Raises:
            OutOfTime: the time is up.
        """
        if node in self._by_node:
            return self._by_node[node]
        self.require_time()
        problem = self.problem
        check = problem.checker.check(node)
        score = problem.objective.score(problem.total(node), check, problem.records)
        feasible = check.suppressed_subjects <= problem.limit
        accepted = feasible and problem.accept(check)
        hopeless = problem.lost_below(check) > problem.limit
        checked = Checked(check, score, feasible, accepted, hopeless)
        # first, so that an interrupt in between leaves no check that is better than the best
        if accepted and self.may_win(score, node):
            self.best = checked
        self.checks.append(checked)
        self._by_node[node] = checked
        self._tell()
        return checked

    def require_time(self) -> None:
        """End the search when its time is up; for one that thinks long between two checks.

        Raises:
            OutOfTime: the time is up, and there was a check; or there were as many as may be.
        """
        if self._deadline is not None and self.checks and monotonic() >= self._deadline:
            raise OutOfTime
        if self._most_checks is not None and len(self.checks) >= self._most_checks:
            raise OutOfTime

    def may_win(self, bound: float, node: Node) -> bool:
        """Whether a node that scores no less than the bound may be better than the best.

        What holds of a node and of a bound on all above it holds of these: a tie goes to the lower.
        """
        if self.best is None:
            return True
        best = self.best.score
        if abs(bound - best) > SAME * abs(best):
            return bound < best
        return (sum(node), node) < (sum(self.best.node), self.best.node)

    def seen(self, node: Node) -> Checked | None:
        """What was found of a node, if it was looked at."""
        return self._by_node.get(node)

    def finish(self) -> None:
        """Say that no other node can be better."""
        self.bound, self.open = inf, 0
        self._tell()

    def found(self) -> Found:
        """What was found so far."""
        score = self.best_score
        return Found(
            node=self.best.node if self.best else None,
            score=score,
            check=self.best.check if self.best else None,
            lattice_size=self.problem.lattice.size,
            checked=len(self.checks),
            # a bound that is higher by rounding alone still lets a tie win
            proven_optimal=self.bound == inf or self.bound > score + 2 * SAME * abs(score),
            lower_bound=self._proven,
            seconds=perf_counter() - self._started,
            explored=tuple(self.checks),
            statistics=dict(self.statistics),
        )

    @property
    def _proven(self) -> float:
        """No node scores less; before a search says more, what is known of the least general."""
        return min(max(self.bound, self._least), self.best_score)

    def _tell(self) -> None:
        if self._progress is not None:
            seconds = perf_counter() - self._started
            self._progress(
                Progress(len(self.checks), self.open, self.best_score, self._proven, seconds)
            )


Search = Callable[[Exploration], None]


def explore(
    search: Search,
    problem: Problem,
    *,
    time_limit: float | None = None,
    progress: Callable[[Progress], None] | None = None,
    start: Search | None = None,
    most_checks: int | None = None,
) -> Found:
    """Run a search to its end, or until its time is up.

    Args:
        search: one of `SEARCHES`.
        problem: what is searched for.
        time_limit: seconds; None: as long as it takes.
        progress: called after every check.
        start: what looks for a first solution; its time does not count.
        most_checks: after which it ends, too; None: any number.

    Raises:
        Interrupted: by the user, when something was found.
        DbdeidError: the search cannot take the problem.
    """
    exploration = Exploration(problem, None, progress, most_checks)
    try:
        if start is not None:
            start(exploration)
        exploration.allow(time_limit)
        if exploration.open:
            search(exploration)
    except OutOfTime:
        return replace(exploration.found(), out_of_time=True)
    except KeyboardInterrupt as interrupt:
        if exploration.best is None:  # of a sample, perhaps, but not of all data
            raise KeyboardInterrupt from interrupt
        raise Interrupted(exploration.found()) from interrupt
    return exploration.found()


def exhaustive(exploration: Exploration) -> None:
    """Check every node: the judge in tests, and slow."""
    for node in exploration.problem.lattice.nodes():
        exploration.check(node)
    exploration.finish()
