"""The optimal full-domain generalization, proven, with as few checks as can be.

Three facts close nodes without checking them: where what every node below suppresses too is beyond
the limit, all below are infeasible; a node whose known score is not better than the incumbent's
need not be looked at; and a check bounds the scores below (and for some objectives above) it. The
search first dives from the top to a first incumbent, and then checks what is expected to close most
open nodes, until none is open.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from math import inf

import numpy as np
from numpy.typing import NDArray

from dbdeid.errors import DbdeidError
from dbdeid.search.check import Check, Checker
from dbdeid.search.guide import Guide
from dbdeid.search.lattice import Lattice, Node
from dbdeid.search.objectives import Data, Objective, marginals_of, sum_of_terms
from dbdeid.search.region import Packed, Packing, Region

LARGEST = 50_000_000  # nodes that a search can hold
SAME = 1e-12  # relative difference below which two scores are a tie


@dataclass(frozen=True)
class Found:
    """What a search found.

    Args:
        node: the best transformation; None when none satisfies.
        score: its score under the objective, infinite when there is none.
        check: what the check of it found.
        lattice_size: nodes in the lattice.
        checked: nodes that were checked.
        proven_optimal: whether no node can be better.
        lower_bound: no node scores less.
    """

    node: Node | None
    score: float
    check: Check | None
    lattice_size: int
    checked: int
    proven_optimal: bool
    lower_bound: float


@dataclass(frozen=True)
class Progress:
    """How far a search is: checks made, nodes still open, the incumbent's score, a bound."""

    checked: int
    open: int
    best: float
    lower_bound: float


def require_size(size: int) -> None:
    """Refuse a lattice that cannot be searched yet.

    Raises:
        DbdeidError: more than 50 million nodes.
    """
    if size > LARGEST:
        raise DbdeidError(
            f"{size:,} transformations are too many to search, at most {LARGEST:,} are",
            hint="raise min_level or lower max_level of some quasi-identifiers, or drop some; "
            "searches of larger lattices are not yet available",
        )


def optimal(
    lattice: Lattice,
    data: Data,
    checker: Checker,
    *,
    limit: int,
    objective: Objective,
    accept: Callable[[Check], bool] = lambda _: True,
    convex: bool = False,
    progress: Callable[[Progress], None] | None = None,
) -> Found:
    """The feasible node of least score; ties go to the lower total level, then lexicographically.

    Args:
        lattice: the transformations.
        data: the tuples, or their marginal counts.
        checker: looks at one transformation; every look is counted.
        limit: most subjects who may lose a record.
        objective: what is minimized.
        accept: rules out single feasible nodes, and says nothing of those above or below.
        convex: a class of parts that all hold the rule holds it too. Then what suppresses nothing
            has nothing above it that does.
        progress: called after every check.

    Raises:
        DbdeidError: the lattice is too large.
    """
    require_size(lattice.size)
    return _Search(lattice, data, checker, limit, objective, accept, convex, progress).run()


def exhaustive(
    lattice: Lattice,
    data: Data,
    checker: Checker,
    *,
    limit: int,
    objective: Objective,
    accept: Callable[[Check], bool] = lambda _: True,
) -> Found:
    """As `optimal`, by checking every node: the judge in tests, and slow."""
    search = _Search(lattice, data, checker, limit, objective, accept, False, None)
    for node in lattice.nodes():
        search.check(node)
    return search.found()


class _Search:
    """The state of one search."""

    def __init__(
        self,
        lattice: Lattice,
        data: Data,
        checker: Checker,
        limit: int,
        objective: Objective,
        accept: Callable[[Check], bool],
        convex: bool,
        progress: Callable[[Progress], None] | None,
    ) -> None:
        marginals = marginals_of(lattice, data)
        self._lattice = lattice
        self._checker = checker
        self._limit = limit
        self._objective = objective
        self._accept = accept
        self._inherited = convex and limit == 0
        self._progress = progress
        self._records = marginals.records
        self._terms = objective.terms(lattice, marginals)
        self._packing = Packing(lattice)
        self._guide = Guide(lattice, self._packing, marginals, objective, limit)
        self._checks: list[Check] = []
        self._best: tuple[float, Check] | None = None
        self._top_score = inf
        self._region: Region | None = None

    def run(self) -> Found:
        """Search to the end."""
        feasible = self.check(self._lattice.top)
        if feasible:
            self._dive()
        if feasible or self._lost_below(self._checks[0]) <= self._limit:
            self._region = region = Region(self._packing, self._open_blocks())
            for check in self._checks:
                self._close(region, check)
            while len(region):
                self.check(self._guide.choose(region, self._aim))
        return self.found()

    def found(self) -> Found:
        """What was found so far, if that is all there is."""
        score, check = self._best or (inf, None)
        return Found(
            node=check.node if check else None,
            score=score,
            check=check,
            lattice_size=self._lattice.size,
            checked=len(self._checks),
            proven_optimal=True,
            lower_bound=score,
        )

    @property
    def _score(self) -> float:
        return self._best[0] if self._best else inf

    @property
    def _aim(self) -> float:
        """What the guide measures against; without an incumbent the score of the top."""
        return self._best[0] if self._best else self._top_score

    def _dive(self) -> None:
        """From the top always to the cheapest feasible child."""
        at = self._lattice.top
        while (child := self._cheapest_child(at)) is not None:
            at = child

    def _cheapest_child(self, node: Node) -> Node | None:
        for child in sorted(self._lattice.predecessors(node), key=self._known_at):
            if not self._known_infeasible(child) and self.check(child):
                return child
        return None

    def _known_at(self, node: Node) -> float:
        total = np.array([sum_of_terms(self._lattice, self._terms, node)])
        return float(self._objective.known(total, self._records)[0])

    def _lost_below(self, check: Check) -> int:
        """How many subjects every node below a checked one suppresses at least."""
        return check.suppressed_subjects if self._inherited else check.below.subjects

    def _known_infeasible(self, node: Node) -> bool:
        return any(
            self._lost_below(check) > self._limit
            and all(a <= b for a, b in zip(node, check.node, strict=True))
            for check in self._checks
        )

    def check(self, node: Node) -> bool:
        """Look at a node and draw the conclusions; whether it is feasible."""
        check = self._checker.check(node)
        self._checks.append(check)
        total = sum_of_terms(self._lattice, self._terms, node)
        score = self._objective.score(total, check, self._records)
        if len(self._checks) == 1:
            self._top_score = score
        self._guide.observe(check, score, self._lost_below(check))
        feasible = check.suppressed_subjects <= self._limit
        if feasible and self._accept(check) and self._beats(score, node):
            self._best = score, check
        if self._region is not None:
            self._close(self._region, check)
        if self._progress is not None:
            self._progress(self._state())
        return feasible

    def _beats(self, score: float, node: Node) -> bool:
        if self._best is None:
            return True
        best, check = self._best
        if abs(score - best) > SAME * abs(best):
            return score < best
        return (sum(node), node) < (sum(check.node), check.node)

    def _open_blocks(self) -> Iterator[tuple[Packed, NDArray[np.float64]]]:
        infeasible = [c.node for c in self._checks if self._lost_below(c) > self._limit]
        for packed, total in self._packing.blocks(self._terms):
            known = self._objective.known(total, self._records)
            open_ = known <= self._score * (1 + SAME)
            for node in infeasible:
                open_ &= ~self._packing.at_most(packed, self._packing.pack(node))
            yield packed[open_], known[open_]

    def _close(self, region: Region, check: Check) -> None:
        """Close what the check and the incumbent rule out."""
        packed = self._packing.pack(check.node)
        below = region.below(packed)
        if self._lost_below(check) > self._limit:
            region.keep(~below)
        else:
            if self._objective.below is not None:
                charged = self._objective.charged(check.below, self._records)
                bounds = self._objective.below(
                    region.known[below], check.below.records, charged, self._records
                )
                region.bound[below] = np.maximum(region.bound[below], bounds)
            region.keep(region.packed != packed)
        if self._objective.above is not None:
            above = region.above(packed)
            bound = self._objective.above(check, self._records)
            region.bound[above] = np.maximum(region.bound[above], bound)
        region.keep(self._may_win(region))

    def _may_win(self, region: Region) -> NDArray[np.bool_]:
        if self._best is None:
            return np.ones(len(region), np.bool_)
        best, check = self._best
        may = region.bound < best - SAME * abs(best)
        tied = np.flatnonzero(~may & (region.bound <= best + SAME * abs(best)))
        if len(tied):
            packed = region.packed[tied]
            rank = sum(self._lattice.bottom) + sum(self._packing.offsets(packed))
            own = sum(check.node)
            first = packed < self._packing.pack(check.node)
            may[tied] = (rank < own) | ((rank == own) & first)
        return may

    def _state(self) -> Progress:
        region = self._region
        if region is None:
            return Progress(len(self._checks), self._lattice.size, self._score, 0.0)
        bound = min(float(region.bound.min(initial=inf)), self._score)
        return Progress(len(self._checks), len(region), self._score, bound)
