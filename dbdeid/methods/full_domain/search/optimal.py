"""The optimal full-domain generalization, proven, with as few checks as can be.

Three facts close nodes without checking them: where what every node below suppresses too is beyond
the limit, all below are infeasible; a node whose known score is not better than the incumbent's
need not be looked at; and a check bounds the scores below (and for some objectives above) it. The
search bisects a greedy path for a first incumbent, and then checks what is expected to close most
open nodes, and what is next to every new incumbent, until none is open. Levels that were found on
samples take the place of that path.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from operator import ge

import numpy as np
from numpy.typing import NDArray

from dbdeid.lattice.exploration import SAME, Checked, Exploration, OutOfTime, Problem
from dbdeid.lattice.lattice import Lattice, Node
from dbdeid.methods.full_domain.search.blocks import Blocks
from dbdeid.methods.full_domain.search.boxes import Boxes
from dbdeid.methods.full_domain.search.datafly import path
from dbdeid.methods.full_domain.search.exchange import Exchange
from dbdeid.methods.full_domain.search.guide import Guide
from dbdeid.methods.full_domain.search.region import Packed, Packing, Region, may_win

LISTED = 1 << 21  # nodes up to which all open ones are listed
DRAWN = 1 << 26  # nodes in boxes up to which all open ones among them are looked for
SAMPLED = 1 << 17  # nodes drawn at a time where there are more
WORKED_OFF = 0.25  # share of open nodes in a sample below which another is drawn
BOXES = 2048  # boxes at first
MOST_BOXES = 1 << 16
WINDOW = 1 << 15  # nodes near the best that are searched at a time
PATIENCE = 3  # times as many of them as attributes that may fail to help
REFINED = 1024  # boxes that are made at a time for a last bound
HELD_BACK = 0.15  # of the time of a search, for that


def optimal(exploration: Exploration) -> None:
    """The feasible node of least score, proven.

    Where there are too many nodes to list, it works on samples of the open ones, until few enough
    are left. Where a node does not even fit 64 bits (more than twenty quasi-identifiers of three
    levels), no result is proven: from the greedily best it looks for the best that differs in some
    quasi-identifiers, time and again in others, until none of them helps. What is then known of the
    optimum are bounds by blocks.
    """
    problem = exploration.problem
    if not _is_begun(exploration) and exploration.check(problem.lattice.top).hopeless:
        exploration.finish()
        return
    start(exploration)
    if Packing.fits(problem.lattice):
        _Search(exploration, problem).run()
        exploration.finish()
    else:
        _improve(exploration)


def start(exploration: Exploration) -> Checked:
    """A first solution in few checks: bisects DataFly's path, and goes down from where that ends.

    Returns:
        The last that was feasible, or the most general node.
    """
    problem, best = exploration.problem, exploration.best
    if best is not None and _is_begun(exploration):
        at = best
    else:
        at = exploration.check(problem.lattice.top)
        if not at.feasible:
            return at
        at = bisected(exploration, list(path(problem)))
    while (below := cheapest_below(exploration, at)) is not None:
        at = below
    return at


def _is_begun(exploration: Exploration) -> bool:
    """Whether something acceptable was found without looking at the most general node."""
    return exploration.best is not None and not exploration.seen(exploration.problem.lattice.top)


def bisected(exploration: Exploration, nodes: Sequence[Node]) -> Checked:
    """The first feasible of ever more general nodes, at least one; the last, where none is."""
    low, high = 0, len(nodes) - 1
    while low < high:
        middle = (low + high) // 2
        if exploration.check(nodes[middle]).feasible:
            high = middle
        else:
            low = middle + 1
    return exploration.check(nodes[low])


def cheapest_below(exploration: Exploration, at: Checked) -> Checked | None:
    """Of the nodes one level below, the feasible one of which the least loss is known."""
    problem = exploration.problem
    for node in sorted(problem.lattice.predecessors(at.node), key=problem.known):
        if not _known_infeasible(exploration, node):
            below = exploration.check(node)
            if below.feasible:
                return below
    return None


def _known_infeasible(exploration: Exploration, node: Node) -> bool:
    return any(
        checked.hopeless and all(map(ge, checked.node, node)) for checked in exploration.checks
    )


def _improve(exploration: Exploration) -> None:
    """Search the nodes that differ from the best in some attributes, until no choice helps.

    Between two such searches the bound is raised.
    """
    problem = exploration.problem
    attributes = problem.lattice.attributes
    random, failed = np.random.default_rng(0), 0
    exchange, blocks = Exchange(exploration), Blocks(exploration, optimal)
    while failed < PATIENCE * len(attributes):
        best = exploration.best
        at = best.node if best else problem.lattice.top
        free: set[int] = set()
        size = 1
        for i in map(int, random.permutation(len(attributes))):
            size *= problem.lattice.shape[i]
            if size > WINDOW:
                break
            free.add(i)
        near = tuple(
            a if i in free else replace(a, min_level=level, max_level=level)
            for i, (a, level) in enumerate(zip(attributes, at, strict=True))
        )
        part = replace(problem, lattice=Lattice(near), data=problem.marginals)
        _Search(exploration, part).run()
        if exploration.best is best:
            blocks.begin()
            exchange.run(exploration.check)
        if exploration.best is best:
            blocks.step()
        failed = 0 if exploration.best is not best else failed + 1
    while blocks.step():
        exploration.require_time()


class _Search:
    """The state of one search.

    Args:
        exploration: counts the checks, and knows the best.
        problem: that of the exploration, or the same on a part of the lattice.
    """

    def __init__(self, exploration: Exploration, problem: Problem) -> None:
        self._exploration = exploration
        self._problem = problem
        self._lattice = problem.lattice
        self._objective = problem.objective
        self._records = problem.records
        self._packing = Packing(problem.lattice)
        self._guide = Guide(problem, self._packing)
        self._region: Region | None = None
        self._exchange = Exchange(exploration)
        self._aim = np.inf  # what the guide measures against without an incumbent
        for checked in exploration.checks:
            if checked.node in problem.lattice:
                self._observe(checked)

    def run(self) -> None:
        """Search to the end."""
        if self._partial or not _is_begun(self._exploration):
            top = self._check(self._lattice.top)
            self._aim = top.score
            if top.hopeless:
                return
        if self._lattice.size <= LISTED:
            self._work(Region(self._packing, self._open_blocks()))
        else:
            self._work_on_samples()

    @property
    def _exchanges(self) -> bool:
        """Whether there are so many nodes that the best may be far from the optimum for long."""
        large = self._lattice.size > LISTED and not self._exploration.is_short
        return large and not self._partial

    @property
    def _partial(self) -> bool:
        return self._problem is not self._exploration.problem

    def _work(self, region: Region, until: float = 0) -> None:
        """Close open nodes until no more than so many are left."""
        for checked in self._exploration.checks:
            if not checked.hopeless and checked.node in self._lattice:
                self._exploration.require_time()
                self._bound(region, checked)
        self._drop(region)
        self._region = region
        while len(region) > until:
            if region.whole and not self._partial:
                self._exploration.open = len(region)
                self._exploration.bound = float(max(self._exploration.bound, region.bound.min()))
            best = self._exploration.best
            self.check(self._guide.choose(region, best.score if best else self._aim))
        self._region = None

    def _work_on_samples(self) -> None:
        boxes, most = Boxes(self._problem, self._packing), BOXES
        random = np.random.default_rng(0)
        limited = self._exploration.time_left is not None and not self._partial
        blocks = Blocks(self._exploration, optimal) if limited else None
        held_back = self._exploration.hold_back(HELD_BACK)
        try:
            while True:
                if blocks is not None:
                    blocks.step()
                boxes.learn(self._exploration.checks, self._exploration.best)
                boxes.split(most)
                if not len(boxes):
                    return
                self._exploration.require_time()
                sample, share = boxes.sample(SAMPLED, random)
                expected = boxes.volume * share
                self._exploration.open = round(expected)
                self._exploration.bound = max(self._exploration.bound, boxes.bound)
                if boxes.volume <= DRAWN and expected <= LISTED:
                    self._work(self._region_of(boxes, boxes.nodes(), whole=True))
                    return
                before = len(self._exploration.checks)
                region = self._region_of(boxes, [sample], whole=False)
                self._work(region, until=len(region) * WORKED_OFF)
                if self._exchanges:
                    self._exchange.run(self._check)
                if len(self._exploration.checks) == before:
                    most *= 2  # what is left is too rare to be drawn from such boxes
                elif most < MOST_BOXES:
                    most += most // 2
        except (OutOfTime, KeyboardInterrupt) as ended:
            if self._region is None or not self._region.whole:
                boxes.learn(self._exploration.checks, self._exploration.best)
                # who interrupts does not want to wait
                self._exploration.allow(held_back if isinstance(ended, OutOfTime) else 0.0)
                self._refine(boxes)
            raise

    def _refine(self, boxes: Boxes) -> None:
        """Raise the bound of what was not looked at, in the time that was held back for it."""
        before = -1
        while len(boxes) != before:
            before = len(boxes)
            boxes.refine(before + REFINED)
            self._exploration.bound = max(self._exploration.bound, boxes.bound)
            if not self._exploration.time_left:
                return

    def _region_of(self, boxes: Boxes, nodes: Iterable[Packed], whole: bool) -> Region:
        def blocks() -> Iterator[tuple[Packed, NDArray[np.float64]]]:
            for some in nodes:
                self._exploration.require_time()
                yield some, boxes.known(some)

        return Region(self._packing, blocks(), whole)

    def check(self, node: Node) -> None:
        """Look at a node, and for as long as that finds a better one at those a level away."""
        best = self._exploration.best
        self._check(node)
        while (better := self._exploration.best) is not best and better is not None:
            best = better
            for near in self._promising(best):
                self._check(near)
                if self._exploration.best is not best:
                    break

    def _promising(self, best: Checked) -> Iterator[Node]:
        """The nodes a level away that may be better, by what is known of them."""
        near = (*self._lattice.predecessors(best.node), *self._lattice.successors(best.node))
        known = {node: self._problem.known(node) for node in near}
        better = (node for node in near if known[node] < best.score)
        for node in sorted(better, key=known.__getitem__):
            seen = self._exploration.seen(node) or _known_infeasible(self._exploration, node)
            if not seen:
                yield node

    def _check(self, node: Node) -> Checked:
        """Look at a node and draw the conclusions."""
        before = len(self._exploration.checks)
        checked = self._exploration.check(node)
        if len(self._exploration.checks) > before:
            self._observe(checked)
        if self._region is not None:
            self._close(self._region, checked)
        return checked

    def _observe(self, checked: Checked) -> None:
        self._guide.observe(checked.check, checked.score, self._problem.lost_below(checked.check))

    def _open_blocks(self) -> Iterator[tuple[Packed, NDArray[np.float64]]]:
        infeasible = [
            self._packing.pack(tuple(map(min, c.node, self._lattice.top)))
            for c in self._exploration.checks
            if c.hopeless and all(map(ge, c.node, self._lattice.bottom))
        ]
        for packed, total in self._packing.blocks(self._problem.terms):
            known = self._objective.known(total, self._records)
            open_ = known <= self._exploration.best_score * (1 + SAME)
            for node in infeasible:
                open_ &= ~self._packing.at_most(packed, node)
            yield packed[open_], known[open_]

    def _close(self, region: Region, checked: Checked) -> None:
        """Close what the check and the incumbent rule out."""
        if self._bound(region, checked):
            self._drop(region)

    def _drop(self, region: Region) -> None:
        """Close what cannot be better than the incumbent."""
        region.keep(may_win(self._packing, region.packed, region.bound, self._exploration.best))

    def _bound(self, region: Region, checked: Checked) -> bool:
        """Close the node, and all below if these are hopeless, and raise the bounds of others.

        Returns:
            Whether bounds were raised, or there may be a new incumbent.
        """
        check = checked.check
        packed = self._packing.pack(check.node)
        below = region.below(packed)
        if checked.hopeless:
            region.keep(~below)
        else:
            if self._objective.below is not None and check.below.records:
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
        return not checked.hopeless or self._objective.above is not None
