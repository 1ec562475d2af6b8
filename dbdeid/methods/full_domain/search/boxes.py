"""The open nodes of a lattice too large to list: boxes that cover them.

A box holds all nodes between two, its ends. Checks and the incumbent empty boxes, narrow them, or
bound their scores; splitting lets them do more. What is left bounds the optimum, can be sampled,
and in the end be listed.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dbdeid.lattice.exploration import Checked, Problem
from dbdeid.methods.full_domain.search.region import Packed, Packing, may_win

Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]

LISTED_AT_A_TIME = 1 << 20  # nodes of a box
LISTED_TOGETHER, BOXES_TOGETHER = 1 << 16, 500  # nodes of several boxes, and how many
REFINED_AT_A_TIME = 256  # boxes that are halved for a better bound
SLACK = 1e-9  # more than rounding moves a sum


@dataclass(frozen=True)
class _Cover:
    """Boxes by their ends, with lower bounds on the scores of what they hold."""

    low: Packed
    high: Packed
    bound: Floats

    def of(self, chosen: Mask | NDArray[np.intp]) -> _Cover:
        return _Cover(self.low[chosen], self.high[chosen], self.bound[chosen])

    def with_others(self, others: _Cover) -> _Cover:
        return _Cover(
            np.concatenate([self.low, others.low]),
            np.concatenate([self.high, others.high]),
            np.concatenate([self.bound, others.bound]),
        )


class Boxes:
    """Disjoint boxes with all nodes that may still be the optimum.

    Args:
        problem: what is searched for.
        packing: of its nodes.
    """

    def __init__(self, problem: Problem, packing: Packing) -> None:
        self._problem = problem
        self._packing = packing
        ends = (problem.lattice.bottom, problem.lattice.top)
        low, high = (np.array([packing.pack(end)]) for end in ends)
        self._cover = _Cover(low, high, np.full(1, -np.inf))
        self._hopeless = low[:0]  # maximal nodes with nothing but infeasible ones below
        self._bounding: list[Checked] = []  # the other checks
        self._checked = low[:0]
        self._best: Checked | None = None

    def __len__(self) -> int:
        return len(self._cover.bound)

    @property
    def volume(self) -> float:
        """How many nodes the boxes hold."""
        return float(self._volumes.sum())

    @property
    def bound(self) -> float:
        """No node in a box scores less."""
        return float(self._cover.bound.min(initial=np.inf))

    def learn(self, checks: Sequence[Checked], best: Checked | None) -> None:
        """Draw conclusions from all checks so far, and from the best of them."""
        new = checks[len(self._checked) :]
        packed = np.array([self._packing.pack(c.node) for c in new], np.uint64)
        self._checked = np.append(self._checked, packed)
        hopeless = self._maximal(packed[[c.hopeless for c in new]])
        bounding = [c for c in new if not c.hopeless]
        self._hopeless = self._maximal([*self._hopeless, *hopeless])
        self._bounding += bounding
        self._best = best
        self._cover = self._learned(self._cover, hopeless, bounding)

    def split(self, most: int) -> None:
        """Halve the largest boxes until there are about so many."""
        while 0 < len(self) < most:
            volumes = self._volumes
            chosen = np.argsort(-volumes, kind="stable")[: most - len(self)]
            chosen = chosen[volumes[chosen] > 1]
            if not len(chosen):
                return
            self._halve(chosen)

    def refine(self, most: int) -> None:
        """Halve boxes of the least bound until there are about so many, to raise it."""
        while 0 < len(self) < most:
            lowest = np.argsort(self._cover.bound, kind="stable")[:REFINED_AT_A_TIME]
            lowest = lowest[self._volumes[lowest] > 1]
            if not len(lowest):
                return
            self._halve(lowest)

    def sample(self, count: int, random: np.random.Generator) -> tuple[Packed, float]:
        """Open nodes drawn from the boxes, and the share of the draws that was open."""
        volumes = self._volumes
        box = np.sort(random.choice(len(self), size=count, p=volumes / volumes.sum()))
        ends = zip(*map(self._packing.offsets, (self._cover.low, self._cover.high)), strict=True)
        nodes = self._packing.at([random.integers(low[box], high[box] + 1) for low, high in ends])
        found = self._not_below(self._undecided(nodes), self._hopeless)
        return found, len(found) / count

    def nodes(self) -> Iterator[Packed]:
        """All open nodes, some at a time."""
        ends = [np.stack([*self._packing.offsets(e)]) for e in (self._cover.low, self._cover.high)]
        batch, size = [self._cover.low[:0]], 0
        for i, least in enumerate(self._cover.low):
            near = self._hopeless[self._packing.at_most(least, self._hopeless)]
            for nodes in self._inside(ends[0][:, i], ends[1][:, i]):
                batch.append(self._not_below(nodes, near))
                size += len(batch[-1])
                if size >= LISTED_TOGETHER or len(batch) > BOXES_TOGETHER:
                    yield self._undecided(np.concatenate(batch))
                    batch, size = [self._cover.low[:0]], 0
        yield self._undecided(np.concatenate(batch))

    def known(self, nodes: Packed) -> Floats:
        """Bounds of the scores of nodes before any check."""
        return self._problem.objective.known(self._totals(nodes).sum(axis=0), self._problem.records)

    @property
    def _volumes(self) -> Floats:
        volumes = np.ones(len(self))
        ends = map(self._packing.offsets, (self._cover.low, self._cover.high))
        for low, high in zip(*ends, strict=True):
            volumes *= high - low + 1
        return volumes

    def _totals(self, nodes: Packed) -> Floats:
        """What each attribute adds to what is known of nodes (attributes, nodes)."""
        terms = zip(self._problem.terms, self._packing.offsets(nodes), strict=True)
        return np.stack([term[offset] for term, offset in terms])

    def _may_win(self, nodes: Packed, bound: Floats) -> Mask:
        """Of nodes, or of boxes by their low ends, which all others in them tie behind."""
        return may_win(self._packing, nodes, bound, self._best)

    def _undecided(self, nodes: Packed) -> Packed:
        """Those of the nodes that may win, by what is known of them, and were not checked."""
        nodes = nodes[self._may_win(nodes, self.known(nodes))]
        return nodes[~np.isin(nodes, self._checked)]

    def _not_below(self, nodes: Packed, hopeless: Packed) -> Packed:
        for node in hopeless:
            nodes = nodes[~self._packing.at_most(nodes, node)]
        return nodes

    def _inside(self, low: NDArray[np.int64], high: NDArray[np.int64]) -> Iterator[Packed]:
        """All nodes between two, some at a time."""
        counts = [int(n) for n in high - low + 1]
        total = int(np.prod(np.array(counts, float)))
        for start in range(0, total, LISTED_AT_A_TIME):
            number = np.arange(start, min(start + LISTED_AT_A_TIME, total))
            offsets = np.unravel_index(number, counts)
            yield self._packing.at([o + least for o, least in zip(offsets, low, strict=True)])

    def _halve(self, chosen: NDArray[np.intp]) -> None:
        """Halve boxes across the attribute whose ends differ most in what is known."""
        whole = self._cover.of(chosen)
        low, high = (np.stack([*self._packing.offsets(end)]) for end in (whole.low, whole.high))
        spread = np.abs(self._totals(whole.high) - self._totals(whole.low))
        spread[low == high] = -1
        box, at = np.arange(len(chosen)), spread.argmax(axis=0)
        middle = (low[at, box] + high[at, box]) // 2
        low[at, box], high[at, box] = middle + 1, middle
        lower = _Cover(whole.low, self._packing.at(high), whole.bound)
        halves = lower.with_others(_Cover(self._packing.at(low), whole.high, whole.bound))
        halves = self._learned(halves, self._hopeless, self._bounding)
        others = np.ones(len(self), np.bool_)
        others[chosen] = False
        self._cover = self._cover.of(others).with_others(halves)

    def _learned(self, cover: _Cover, hopeless: Packed, bounding: Iterable[Checked]) -> _Cover:
        cover = self._limited(cover)
        for node in hopeless:
            cover = self._above(cover, node)
        return self._limited(self._bounded(cover, bounding))

    def _above(self, cover: _Cover, node: np.uint64) -> _Cover:
        """Without what is below a node, where a box is left: it stuck out in one attribute."""
        out = self._packing.exceeding(cover.high, node)
        some = np.flatnonzero((out & (out - np.uint64(1))) == 0)  # at most one
        some = some[self._packing.at_most(cover.low[some], node)]
        if not len(some):
            return cover
        low = cover.low.copy()
        for guard in np.unique(out[some]):
            if guard:
                raised = some[out[some] == guard]
                low[raised] = self._packing.just_above(low[raised], node, guard)
        keep = np.ones(len(low), np.bool_)
        keep[some[out[some] == 0]] = False
        return _Cover(low, cover.high, cover.bound).of(keep)

    def _bounded(self, cover: _Cover, checks: Iterable[Checked]) -> _Cover:
        objective, records = self._problem.objective, self._problem.records
        known, bound = self.known(cover.low), cover.bound.copy()
        for checked in checks:
            check, node = checked.check, self._packing.pack(checked.node)
            if objective.below is not None and check.below.records:
                below = np.flatnonzero(self._packing.at_most(cover.high, node))
                if len(below):
                    charged = objective.charged(check.below, records)
                    bounds = objective.below(known[below], check.below.records, charged, records)
                    bound[below] = np.maximum(bound[below], bounds)
            if objective.above is not None:
                above = self._packing.at_most(node, cover.low)
                bound[above] = np.maximum(bound[above], objective.above(check, records))
        return _Cover(cover.low, cover.high, bound)

    def _limited(self, cover: _Cover) -> _Cover:
        """Without what cannot be as good as the best, by what is known."""
        bound = np.maximum(cover.bound, self.known(cover.low))
        done = (cover.low == cover.high) & np.isin(cover.low, self._checked)
        may = self._may_win(cover.low, bound) & ~done
        cover = _Cover(cover.low, cover.high, bound).of(may)
        if self._best is None:
            return cover
        affordable = self._best.score + SLACK * abs(self._best.score)
        least = self._totals(cover.low)
        whole, ends = least.sum(axis=0), []
        offsets = zip(*map(self._packing.offsets, (cover.low, cover.high)), strict=True)
        for term, own, (low, high) in zip(self._problem.terms, least, offsets, strict=True):
            totals = (whole - own)[:, None] + term
            known = self._problem.objective.known(totals, self._problem.records)
            highest = (known <= affordable).cumsum(axis=1).argmax(axis=1)
            ends.append(np.minimum(high, np.maximum(highest, low)))
        return _Cover(cover.low, self._packing.at(ends), cover.bound)

    def _maximal(self, nodes: Iterable[np.uint64]) -> Packed:
        """The nodes that are below no other."""
        unique = np.unique(np.fromiter(nodes, np.uint64))[::-1]
        kept = unique[:0]
        for node in unique:  # what is above a node has a larger number
            if not self._packing.at_most(node, kept).any():
                kept = np.append(kept, node)
        return kept
