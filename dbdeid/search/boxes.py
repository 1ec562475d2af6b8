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

from dbdeid.search.exploration import SAME, Checked, Problem
from dbdeid.search.lattice import Node

Levels = NDArray[np.int16]  # one row a node: per attribute, level - min_level
Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]

LISTED_AT_A_TIME = 1 << 20  # nodes of a box
SLACK = 1e-9  # more than rounding moves a sum
REFINED_AT_A_TIME = 256  # boxes that are halved for a better bound


@dataclass(frozen=True)
class _Cover:
    """Boxes by their ends, one row each, with lower bounds on the scores of what they hold."""

    low: Levels
    high: Levels
    bound: Floats

    def of(self, chosen: Mask | NDArray[np.intp]) -> _Cover:
        return _Cover(self.low[chosen], self.high[chosen], self.bound[chosen])

    def with_others(self, others: _Cover) -> _Cover:
        return _Cover(
            np.concatenate([self.low, others.low]),
            np.concatenate([self.high, others.high]),
            np.concatenate([self.bound, others.bound]),
        )

    @property
    def volumes(self) -> Floats:
        return np.asarray(np.prod(self.high - self.low + 1.0, axis=1))


class Boxes:
    """Disjoint boxes with all nodes that may still be the optimum.

    Args:
        problem: what is searched for.
    """

    def __init__(self, problem: Problem) -> None:
        self._problem = problem
        self._bottom = np.array(problem.lattice.bottom, np.int16)
        ends = np.array([problem.lattice.shape], np.int16) - 1
        self._terms = np.full((len(self._bottom), int(ends.max()) + 1), np.nan)
        for row, term in zip(self._terms, problem.terms, strict=True):
            row[: len(term)] = term
        self._cover = _Cover(np.zeros_like(ends), ends, np.full(1, -np.inf))
        self._hopeless: list[Levels] = []  # maximal nodes with nothing but infeasible ones below
        self._bounding: list[Checked] = []  # the other checks
        self._seen = 0  # checks that were learned from
        self._best = np.inf

    def __len__(self) -> int:
        return len(self._cover.bound)

    @property
    def volume(self) -> float:
        """How many nodes the boxes hold."""
        return float(self._cover.volumes.sum())

    @property
    def bound(self) -> float:
        """No node in a box scores less."""
        return float(self._cover.bound.min(initial=np.inf))

    def learn(self, checks: Sequence[Checked], best: float) -> None:
        """Draw conclusions from all checks so far, and from the best score."""
        new, self._seen = checks[self._seen :], len(checks)
        hopeless = _maximal([self._place(c.node) for c in new if c.hopeless])
        bounding = [c for c in new if not c.hopeless]
        self._hopeless = _maximal([*self._hopeless, *hopeless])
        self._bounding += bounding
        self._best = best
        self._cover = self._learned(self._cover, hopeless, bounding)

    def split(self, most: int) -> None:
        """Halve the largest boxes until there are about so many."""
        while 0 < len(self) < most:
            volumes = self._cover.volumes
            chosen = np.argsort(-volumes, kind="stable")[: most - len(self)]
            chosen = chosen[volumes[chosen] > 1]
            if not len(chosen):
                return
            self._halve(chosen)

    def refine(self, most: int) -> None:
        """Halve boxes of the least bound until there are about so many, to raise it."""
        while 0 < len(self) < most:
            lowest = np.argsort(self._cover.bound, kind="stable")[:REFINED_AT_A_TIME]
            lowest = lowest[self._cover.volumes[lowest] > 1]
            if not len(lowest):
                return
            self._halve(lowest)

    def sample(self, count: int, random: np.random.Generator) -> tuple[Levels, float]:
        """Open nodes drawn from the boxes, and the share of the draws that was open."""
        volumes = self._cover.volumes
        box = np.sort(random.choice(len(self), size=count, p=volumes / volumes.sum()))
        low, high = self._cover.low[box], self._cover.high[box]
        nodes = (low + random.random(low.shape) * (high - low + 1)).astype(np.int16)
        found = self._open(nodes, self._hopeless)
        return found, len(found) / count

    def nodes(self) -> Iterator[Levels]:
        """All open nodes, some at a time."""
        hopeless = np.array(self._hopeless).reshape(-1, len(self._bottom))
        for low, high in zip(self._cover.low, self._cover.high, strict=True):
            near = hopeless[(hopeless >= low).all(axis=1)]
            for nodes in _inside(low, high):
                yield self._open(nodes, near)

    def known(self, nodes: Levels) -> Floats:
        """What is known of the scores of nodes before any check."""
        total = np.zeros(len(nodes))
        for term, levels in zip(self._terms[::-1], nodes.T[::-1], strict=True):
            total += term[levels]
        return self._problem.objective.known(total, self._problem.records)

    def _place(self, node: Node) -> Levels:
        return np.array(node, np.int16) - self._bottom

    def _open(self, nodes: Levels, hopeless: Iterable[Levels]) -> Levels:
        """Those of the nodes that may be the optimum."""
        nodes = nodes[self.known(nodes) <= self._affordable]
        for node in hopeless:
            nodes = nodes[(nodes > node).any(axis=1)]
        return nodes

    @property
    def _affordable(self) -> float:
        return self._best * (1 + SAME)

    def _halve(self, chosen: NDArray[np.intp]) -> None:
        """Halve boxes across the attribute whose ends differ most in what is known."""
        whole = self._cover.of(chosen)
        attributes = np.arange(len(self._bottom))
        spread = np.abs(self._terms[attributes, whole.high] - self._terms[attributes, whole.low])
        spread[whole.low == whole.high] = -1
        row, at = np.arange(len(chosen)), spread.argmax(axis=1)
        middle = (whole.low[row, at] + whole.high[row, at]) // 2
        low, high = whole.low.copy(), whole.high.copy()
        low[row, at], high[row, at] = middle + 1, middle
        lower = _Cover(whole.low, high, whole.bound)
        halves = lower.with_others(_Cover(low, whole.high, whole.bound))
        halves = self._learned(halves, self._hopeless, self._bounding)
        others = np.ones(len(self), np.bool_)
        others[chosen] = False
        self._cover = self._cover.of(others).with_others(halves)

    def _learned(
        self, cover: _Cover, hopeless: Iterable[Levels], bounding: Iterable[Checked]
    ) -> _Cover:
        cover = self._limited(cover)
        for node in hopeless:
            cover = _above(cover, node)
        return self._limited(self._bounded(cover, bounding))

    def _bounded(self, cover: _Cover, checks: Iterable[Checked]) -> _Cover:
        objective, records = self._problem.objective, self._problem.records
        known, bound = self.known(cover.low), cover.bound.copy()
        for checked in checks:
            check, node = checked.check, self._place(checked.node)
            if objective.below is not None and check.below.records:
                below = np.flatnonzero((cover.high <= node).all(axis=1))
                if len(below):
                    charged = objective.charged(check.below, records)
                    bounds = objective.below(known[below], check.below.records, charged, records)
                    bound[below] = np.maximum(bound[below], bounds)
            if objective.above is not None:
                above = (cover.low >= node).all(axis=1)
                bound[above] = np.maximum(bound[above], objective.above(check, records))
        return _Cover(cover.low, cover.high, bound)

    def _limited(self, cover: _Cover) -> _Cover:
        """Without what cannot be as good as the best, by what is known."""
        bound = np.maximum(cover.bound, self.known(cover.low))
        cover = _Cover(cover.low, cover.high, bound).of(bound <= self._affordable)
        if self._best == np.inf:
            return cover
        least = np.stack([term[low] for term, low in zip(self._terms, cover.low.T, strict=True)])
        whole, high = least.sum(axis=0), cover.high.copy()
        for at, term in enumerate(self._terms):
            totals = (whole - least[at])[:, None] + term
            known = self._problem.objective.known(totals, self._problem.records)
            highest = (known <= self._affordable * (1 + SLACK)).cumsum(axis=1).argmax(axis=1)
            high[:, at] = np.minimum(high[:, at], np.maximum(highest, cover.low[:, at]))
        return _Cover(cover.low, high, cover.bound)


def _above(cover: _Cover, node: Levels) -> _Cover:
    """Without what is below a node, where a box is left."""
    out = cover.high > node
    ways = out.sum(axis=1)
    some = np.flatnonzero(ways <= 1)
    some = some[(cover.low[some] <= node).all(axis=1)]
    if not len(some):
        return cover
    low = cover.low.copy()
    raised = some[ways[some] == 1]
    at = out[raised].argmax(axis=1)
    low[raised, at] = node[at] + 1
    keep = np.ones(len(low), np.bool_)
    keep[some[ways[some] == 0]] = False
    return _Cover(low, cover.high, cover.bound).of(keep)


def _inside(low: Levels, high: Levels) -> Iterator[Levels]:
    """All nodes between two, some at a time."""
    counts = [int(n) for n in high - low + 1]
    total = int(np.prod(np.array(counts, float)))
    for start in range(0, total, LISTED_AT_A_TIME):
        number = np.arange(start, min(start + LISTED_AT_A_TIME, total))
        yield np.stack(np.unravel_index(number, counts), axis=1).astype(np.int16) + low


def _maximal(nodes: Sequence[Levels]) -> list[Levels]:
    """The nodes that are below no other, the most general first."""
    if not nodes:
        return []
    unique = np.unique(np.stack(nodes), axis=0)
    unique = unique[np.argsort(-unique.sum(axis=1, dtype=np.int64), kind="stable")]
    kept: list[Levels] = []
    for node in unique:
        if not kept or not (np.stack(kept) >= node).all(axis=1).any():
            kept.append(node)
    return kept
