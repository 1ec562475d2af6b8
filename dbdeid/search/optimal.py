"""The optimal full-domain generalization, proven, with as few checks as can be.

Three facts close nodes without checking them: where what every node below suppresses too is beyond
the limit, all below are infeasible; a node whose known score is not better than the incumbent's
need not be looked at; and a check bounds the scores below (and for some objectives above) it. The
search first dives from the top to a first incumbent, and then checks what is expected to close most
open nodes, until none is open.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from dbdeid.errors import DbdeidError
from dbdeid.search.exploration import SAME, Checked, Exploration
from dbdeid.search.guide import Guide
from dbdeid.search.lattice import Node
from dbdeid.search.region import Packed, Packing, Region

LARGEST = 50_000_000  # nodes that a search can hold


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


def optimal(exploration: Exploration) -> None:
    """The feasible node of least score, proven.

    Raises:
        DbdeidError: the lattice is too large.
    """
    require_size(exploration.problem.lattice.size)
    _Search(exploration).run()


class _Search:
    """The state of one search."""

    def __init__(self, exploration: Exploration) -> None:
        problem = exploration.problem
        self._exploration = exploration
        self._problem = problem
        self._lattice = problem.lattice
        self._objective = problem.objective
        self._records = problem.records
        self._packing = Packing(problem.lattice)
        self._guide = Guide(
            problem.lattice, self._packing, problem.marginals, problem.objective, problem.limit
        )
        self._region: Region | None = None

    def run(self) -> None:
        """Search to the end."""
        top = self.check(self._lattice.top)
        if top.feasible:
            self._dive()
        if not top.hopeless:
            self._region = region = Region(self._packing, self._open_blocks())
            for checked in self._exploration.checks:
                self._close(region, checked)
            aim = top.score
            while len(region):
                self._tell(region)
                best = self._exploration.best
                self.check(self._guide.choose(region, best.score if best else aim))
        self._exploration.finish()

    def _dive(self) -> None:
        """From the top always to the cheapest feasible child."""
        at = self._lattice.top
        while (child := self._cheapest_child(at)) is not None:
            at = child

    def _cheapest_child(self, node: Node) -> Node | None:
        for child in sorted(self._lattice.predecessors(node), key=self._problem.known):
            if not self._known_infeasible(child) and self.check(child).feasible:
                return child
        return None

    def _known_infeasible(self, node: Node) -> bool:
        return any(
            checked.hopeless and all(a <= b for a, b in zip(node, checked.node, strict=True))
            for checked in self._exploration.checks
        )

    def check(self, node: Node) -> Checked:
        """Look at a node and draw the conclusions."""
        checked = self._exploration.check(node)
        lost_below = self._problem.lost_below(checked.check)
        self._guide.observe(checked.check, checked.score, lost_below)
        if self._region is not None:
            self._close(self._region, checked)
        return checked

    def _open_blocks(self) -> Iterator[tuple[Packed, NDArray[np.float64]]]:
        infeasible = [c.node for c in self._exploration.checks if c.hopeless]
        for packed, total in self._packing.blocks(self._problem.terms):
            known = self._objective.known(total, self._records)
            open_ = known <= self._exploration.best_score * (1 + SAME)
            for node in infeasible:
                open_ &= ~self._packing.at_most(packed, self._packing.pack(node))
            yield packed[open_], known[open_]

    def _close(self, region: Region, checked: Checked) -> None:
        """Close what the check and the incumbent rule out."""
        check = checked.check
        packed = self._packing.pack(check.node)
        below = region.below(packed)
        if checked.hopeless:
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
        incumbent = self._exploration.best
        if incumbent is None:
            return np.ones(len(region), np.bool_)
        best, node = incumbent.score, incumbent.node
        may = region.bound < best - SAME * abs(best)
        tied = np.flatnonzero(~may & (region.bound <= best + SAME * abs(best)))
        if len(tied):
            packed = region.packed[tied]
            rank = sum(self._lattice.bottom) + sum(self._packing.offsets(packed))
            own = sum(node)
            first = packed < self._packing.pack(node)
            may[tied] = (rank < own) | ((rank == own) & first)
        return may

    def _tell(self, region: Region) -> None:
        self._exploration.open = len(region)
        self._exploration.bound = float(region.bound.min())
