"""The optimal full-domain generalization, proven, with as few checks as can be.

Three facts close nodes without checking them: where what every node below suppresses too is beyond
the limit, all below are infeasible; a node whose known score is not better than the incumbent's
need not be looked at; and a check bounds the scores below (and for some objectives above) it. The
search first dives from the top to a first incumbent, and then checks what is expected to close most
open nodes, until none is open.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np
from numpy.typing import NDArray

from dbdeid.search.boxes import Boxes, Levels
from dbdeid.search.exploration import SAME, Checked, Exploration, OutOfTime
from dbdeid.search.guide import Guide
from dbdeid.search.lattice import Node
from dbdeid.search.region import Packed, Packing, Region

LISTED = 1 << 21  # nodes up to which all open ones are listed
DRAWN = 1 << 26  # nodes in boxes up to which all open ones among them are looked for
SAMPLED = 1 << 17  # nodes drawn at a time where there are more
WORKED_OFF = 0.25  # share of open nodes in a sample below which another is drawn
BOXES = 2048  # boxes at first
MOST_BOXES = 1 << 16
REFINED = 4096  # boxes more that are made for a last bound


def optimal(exploration: Exploration) -> None:
    """The feasible node of least score, proven.

    Where there are too many nodes to list, it works on samples of the open ones, until few enough
    are left.
    """
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
        self._aim = np.inf  # what the guide measures against without an incumbent

    def run(self) -> None:
        """Search to the end."""
        top = self.check(self._lattice.top)
        self._aim = top.score
        if top.feasible:
            self._dive()
        if not top.hopeless:
            if self._lattice.size <= LISTED:
                self._work(Region(self._packing, self._open_blocks()))
            else:
                self._work_on_samples()
        self._exploration.finish()

    def _work(self, region: Region, until: float = 0) -> None:
        """Close open nodes until no more than so many are left."""
        self._region = region
        for checked in self._exploration.checks:
            if not checked.hopeless:
                self._close(region, checked)
        while len(region) > until:
            if region.whole:
                self._exploration.open = len(region)
                self._exploration.bound = float(region.bound.min())
            best = self._exploration.best
            self.check(self._guide.choose(region, best.score if best else self._aim))
        self._region = None

    def _work_on_samples(self) -> None:
        boxes, most = Boxes(self._problem), BOXES
        random = np.random.default_rng(0)
        try:
            while True:
                boxes.learn(self._exploration.checks, self._exploration.best_score)
                boxes.split(most)
                if not len(boxes):
                    return
                sample, share = boxes.sample(SAMPLED, random)
                expected = boxes.volume * share
                self._exploration.open = round(expected)
                self._exploration.bound = max(self._exploration.bound, boxes.bound)
                if boxes.volume <= DRAWN and expected <= LISTED:
                    self._work(self._region_of(boxes, boxes.nodes(), whole=True))
                    return
                region = self._region_of(boxes, [sample], whole=False)
                self._work(region, until=len(region) * WORKED_OFF)
                most = min(most + most // 2, MOST_BOXES)
        except (OutOfTime, KeyboardInterrupt):
            if self._region is None or not self._region.whole:
                boxes.learn(self._exploration.checks, self._exploration.best_score)
                boxes.refine(len(boxes) + REFINED)
                self._exploration.bound = max(self._exploration.bound, boxes.bound)
            raise

    def _region_of(self, boxes: Boxes, nodes: Iterable[Levels], whole: bool) -> Region:
        blocks = ((self._packing.at(some.T), boxes.known(some)) for some in nodes)
        return Region(self._packing, blocks, whole)

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
