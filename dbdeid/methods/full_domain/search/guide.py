"""Guesses that choose the next node to look at; they cannot make a search wrong, only longer.

A node is worth checking for the open nodes that its check would close: all below it when it turns
out infeasible; when not, those that a better incumbent or a bound rules out. What a check will
find is predicted from the checks made so far.

All nodes between the meet and the join of the open ones are rated roughly, with one cumulative
count of the open nodes; the best are put on a shortlist and rated closely for as long as that
lasts. Choices depend on counts alone, so that searches repeat exactly.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dbdeid.lattice.check import Check
from dbdeid.lattice.exploration import Problem
from dbdeid.lattice.lattice import Node
from dbdeid.methods.full_domain.search.region import BLOCK, Packed, Packing, Region
from dbdeid.methods.full_domain.search.regression import Features, Regression, box_sum

Floats = NDArray[Any]
Mask = NDArray[np.bool_]

SHORTLIST = 64  # nodes rated closely
WITNESSES = 2048  # open nodes that they are rated on
ROUGH_WITNESSES = 1 << 18  # the same for rough ratings
WORTHWHILE = 0.1  # least share of the best rough rating on a shortlist
LASTING = 0.5  # share of its first best rating below which a shortlist is drawn up anew
RATED_ROUGHLY = 1 << 20  # nodes between the meet and the join of the open ones that all are rated
CLIMBERS = 32  # nodes that a climb goes on from
CLIMBS = 12  # most steps of a climb
CLIMBING_WITNESSES = 1024  # open nodes that a climb rates on
LEVEL = np.uint16  # of levels, which take up less memory like that
BOUND_WORTH = 0.8  # what a node is worth that an expected bound would close
ROUGH_WORTH = 0.3  # the same where the bound is not looked at


@dataclass(frozen=True)
class _Outlook:
    """What is expected of the checks of some nodes."""

    infeasible: Floats  # probability
    share: Floats  # of subjects suppressed, if feasible; of records it is about the same
    score: Floats  # if feasible
    rules_out: Floats  # probability that all above cannot be better than the incumbent


@dataclass(frozen=True)
class _Shortlist:
    """Nodes that are rated closely, with what does not change about them."""

    packed: Packed
    rows: Floats  # features
    known: Floats

    def without(self, packed: np.uint64) -> _Shortlist:
        others = self.packed != packed
        if others.all():
            return self
        return _Shortlist(
            self.packed[others],
            self.rows[others],
            self.known[others],
        )


class Guide:
    """Chooses the nodes to check.

    Args:
        problem: what is searched for.
        packing: its nodes as integers.
    """

    def __init__(self, problem: Problem, packing: Packing) -> None:
        lattice, marginals = problem.lattice, problem.marginals
        self._packing = packing
        self._records = marginals.records
        self._people = marginals.people
        self._objective = problem.objective
        self._limit: float = problem.limit
        self._terms = problem.terms
        self._features = Features(lattice, marginals)
        self._odds = Regression(reach=2.0, doubt=0.6)
        self._score = Regression(reach=0.5, doubt=0.1)
        self._above = Regression(reach=0.5, doubt=0.1)
        self._checked: list[np.uint64] = []
        # minimal nodes above which little is lost: no node there is infeasible
        self._spared = np.zeros(0, dtype=np.uint64)
        # maximal nodes below which all are infeasible
        self._doomed = np.zeros(0, dtype=np.uint64)
        self._shortlist = self._listed(np.zeros(0, dtype=np.uint64))
        self._cutoff = np.inf

    def observe(self, check: Check, score: float, lost_below: int) -> None:
        """Learn from a check, its score, and the subjects that every node below suppresses."""
        packed = self._packing.pack(check.node)
        self._checked.append(packed)
        self._shortlist = self._shortlist.without(packed)
        row = self._features.row(check.node)
        self._odds.observe(row, self._log_odds(lost_below))
        if self._objective.estimate is None:
            self._score.observe(row, _log(score))
        if self._objective.above is not None:
            self._above.observe(row, _log(self._objective.above(check, self._records)))
        if lost_below > self._limit:
            others = ~self._packing.at_most(self._doomed, packed)
            self._doomed = np.append(self._doomed[others], packed)
        elif not self._packing.at_most(self._spared, packed).any():
            others = ~self._packing.at_most(packed, self._spared)
            self._spared = np.append(self._spared[others], packed)

    def choose(self, region: Region, best: float) -> Node:
        """The node whose check promises most.

        Args:
            region: the open nodes, at least one.
            best: the incumbent's score.
        """
        if self._objective.affordable is not None:
            self._limit = min(self._limit, self._objective.affordable(best, self._records))
        self._odds.fit(self._log_odds(self._limit + 0.5))
        self._score.fit(_log(best))
        self._above.fit(_log(best))
        ratings = self._rate(self._shortlist, region, best)
        if not ratings.max(initial=0) > self._cutoff:
            self._shortlist = self._draw_up(region, best)
            ratings = self._rate(self._shortlist, region, best)
            self._cutoff = LASTING * float(ratings.max(initial=0))
        if not ratings.max(initial=0) > 0:
            return self._packing.node(region.packed[region.bound.argmin()])
        return self._packing.node(self._shortlist.packed[ratings.argmax()])

    def _rate(
        self, listed: _Shortlist, region: Region, best: float, witnesses: int = WITNESSES
    ) -> Floats:
        """How many open nodes the check of each listed node is expected to close."""
        nodes, own, rows = listed.packed, listed.known, listed.rows
        step = -(-len(region) // witnesses)
        packed, bound = region.packed[::step], region.bound[::step]
        outlook = self._outlook(lambda regression: rows @ regression.weights, own, best)
        spared = self._packing.at_most(self._spared, nodes[:, None]).any(axis=1)
        infeasible = np.where(spared, 0, outlook.infeasible)

        below = self._packing.at_most(packed, nodes[:, None])
        ratings = infeasible * below.sum(axis=1)
        closed = self._is_open(listed, region, best) * _count_at_least(bound, outlook.score, step)
        if self._objective.below is not None and self._limit >= 1:  # else nothing is suppressed
            records: Floats = (outlook.share * self._records)[:, None]
            bounds = self._objective.below(
                region.known[::step], records, records * own[:, None], self._records
            )
            closed = closed + BOUND_WORTH * (below & (bounds >= best)).sum(axis=1)
        ratings += (1 - infeasible) * closed
        if self._objective.above is not None:
            above = self._packing.at_most(nodes[:, None], packed)
            ratings += outlook.rules_out * above.sum(axis=1)
        return np.asarray(ratings * step)

    def _is_open(self, listed: _Shortlist, region: Region, best: float) -> Mask:
        if region.whole:
            return region.contains(listed.packed)
        doomed = self._packing.at_most(listed.packed[:, None], self._doomed).any(axis=1)
        return np.asarray((listed.known <= best) & ~doomed)

    def _draw_up(self, region: Region, best: float) -> _Shortlist:
        """The most promising nodes between the meet and the join of the open ones."""
        offsets = [o.astype(LEVEL) for o in self._packing.offsets(region.packed)]
        lows, highs = ([int(end(o)) for o in offsets] for end in (np.min, np.max))
        if prod(high - low + 1 for low, high in zip(lows, highs, strict=True)) > RATED_ROUGHLY:
            return self._climb(region, best, lows, highs)
        flags = _flags(offsets, lows, highs)
        below = _count_below(flags)
        above = np.flip(_count_below(np.flip(flags))) if self._objective.above else None
        bounds = np.sort(region.bound[:: -(-len(region) // ROUGH_WITNESSES)])
        packed, ratings = [np.zeros(0, np.uint64)], [np.zeros(0, np.float32)]
        for part in _parts(flags.shape):
            box = tuple(slice(s.start + i, s.stop + i) for s, i in zip(part, lows, strict=True))
            rated = self._rate_roughly(
                box,
                flags[part].reshape(-1),
                below[part].reshape(-1),
                None if above is None else above[part].reshape(-1),
                (bounds, len(region)),
                best,
            )
            chosen = _largest(rated)
            places = np.unravel_index(chosen, flags[part].shape)
            packed.append(self._packing.at([p + s.start for p, s in zip(places, box, strict=True)]))
            ratings.append(rated[chosen])
        nodes, rated = np.concatenate(packed), np.concatenate(ratings)
        return self._listed(np.sort(nodes[_largest(rated)]))

    def _climb(self, region: Region, best: float, lows: list[int], highs: list[int]) -> _Shortlist:
        """The most promising nodes found by climbing from open nodes and joins of them.

        The cost of it does not depend on how many nodes there are.
        """
        random = np.random.default_rng(len(self._checked))
        better = self._expected_to_improve(region, best)
        some = region.packed[random.integers(len(region), size=(2, CLIMBERS))]
        first, second = (np.stack([*self._packing.offsets(part)]) for part in some)
        starts = np.concatenate([first, np.maximum(first, second)], axis=1)
        seen = np.unique(np.concatenate([self._packing.at(starts), better, self._shortlist.packed]))
        ratings = self._rate(self._listed(seen), region, best, CLIMBING_WITNESSES)
        for _ in range(CLIMBS):
            leaders = seen[np.argsort(-ratings, kind="stable")[:CLIMBERS]]
            nearby = np.setdiff1d(self._neighbours(leaders, lows, highs), seen)
            if not len(nearby):
                break
            rated = self._rate(self._listed(nearby), region, best, CLIMBING_WITNESSES)
            top = ratings.max()
            seen, ratings = np.concatenate([seen, nearby]), np.concatenate([ratings, rated])
            if not ratings.max() > top:
                break
        ratings[np.isin(seen, np.array(self._checked, dtype=np.uint64))] = 0
        return self._listed(np.sort(seen[_largest(ratings)]))

    def _expected_to_improve(self, region: Region, best: float) -> Packed:
        """The open nodes that most likely rule out most by being better."""
        step = -(-len(region) // WITNESSES)
        some = self._listed(region.packed[::step])
        outlook = self._outlook(lambda regression: some.rows @ regression.weights, some.known, best)
        closed = _count_at_least(region.bound[::step], outlook.score, step)
        ratings: Floats = (1 - outlook.infeasible) * closed
        return np.asarray(some.packed[np.argsort(-ratings, kind="stable")[:CLIMBERS]])

    def _neighbours(self, nodes: Packed, lows: list[int], highs: list[int]) -> Packed:
        """The nodes one level away in one attribute, between bounds."""
        places = np.stack([*self._packing.offsets(nodes)])
        found = []
        for i, (low, high) in enumerate(zip(lows, highs, strict=True)):
            for step in (-1, 1):
                moved = places[:, (places[i] + step >= low) & (places[i] + step <= high)]
                moved[i] += step
                found.append(self._packing.at(moved))
        return np.concatenate(found)

    def _rate_roughly(
        self,
        box: tuple[slice, ...],
        is_open: Mask,
        below: NDArray[np.int32],
        above: NDArray[np.int32] | None,
        bounds: tuple[Floats, int],
        best: float,
    ) -> Floats:
        """As `_rate` for all nodes of a box, without looking at bounds one by one."""

        def predict(regression: Regression) -> Floats:
            return self._features.over_box(box, regression.weights)

        odds, opened = predict(self._odds), np.flatnonzero(is_open)
        infeasible = self._infeasible(odds)
        ratings: Floats = infeasible * below.astype(np.float32)
        known = self._objective.known(box_sum(box, self._terms)[opened], self._records)
        score = self._scores(
            lambda regression: predict(regression)[opened], known, self._share(odds[opened])
        )
        sample, count = bounds
        worse: Floats = len(sample) - np.searchsorted(sample, score)
        closed: Floats = worse * (count / len(sample)) + 1 + ROUGH_WORTH * below[opened]
        ratings[opened] += (1 - infeasible[opened]) * closed
        if above is not None:
            ratings += self._rules_out(predict, best) * above.astype(np.float32)
        ratings[self._checked_in(box)] = 0
        return ratings

    def _listed(self, packed: Packed) -> _Shortlist:
        places = tuple(self._packing.offsets(packed))
        total = np.zeros(len(packed))
        for term, place in zip(self._terms, places, strict=True):
            total += term[place]
        known = self._objective.known(total, self._records)
        return _Shortlist(packed, self._features.rows(places), known)

    def _outlook(
        self, predict: Callable[[Regression], Floats], known: Floats, best: float
    ) -> _Outlook:
        odds = predict(self._odds)
        share = self._share(odds)
        return _Outlook(
            self._infeasible(odds),
            share,
            self._scores(predict, known, share),
            self._rules_out(predict, best),
        )

    def _infeasible(self, odds: Floats) -> Floats:
        return _probability(odds - self._log_odds(self._limit + 0.5), self._odds.spread)

    def _share(self, odds: Floats) -> Floats:
        if self._limit < 1:  # a node that suppresses any is infeasible
            return np.zeros(len(odds))
        return np.minimum(_sigmoid(odds), self._limit / max(self._people, 1))

    def _scores(
        self, predict: Callable[[Regression], Floats], known: Floats, share: Floats
    ) -> Floats:
        if self._objective.estimate is not None:
            return self._objective.estimate(known, share)
        return np.asarray(np.exp(np.clip(predict(self._score), -80, 80)))

    def _rules_out(self, predict: Callable[[Regression], Floats], best: float) -> Floats:
        if self._objective.above is None:
            return np.zeros(1)
        return _probability(predict(self._above) - _log(best), self._above.spread)

    def _log_odds(self, suppressed: float) -> float:
        kept = max(self._people - suppressed, 0)
        return float(np.log((suppressed + 0.5) / (kept + 0.5)))

    def _checked_in(self, box: tuple[slice, ...]) -> NDArray[np.intp]:
        """The places in a box of the checked nodes that are in it."""
        offsets = self._packing.offsets(np.array(self._checked, dtype=np.uint64))
        places = np.array([o - part.start for o, part in zip(offsets, box, strict=True)])
        shape = tuple(part.stop - part.start for part in box)
        inside = ((places >= 0) & (places < np.array(shape)[:, None])).all(axis=0)
        return np.asarray(np.ravel_multi_index(tuple(places[:, inside]), shape))


def _flags(offsets: Sequence[NDArray[Any]], lows: list[int], highs: list[int]) -> Mask:
    """Flags for the open nodes in the box between their meet and their join."""
    shape = [high - low + 1 for low, high in zip(lows, highs, strict=True)]
    flags = np.zeros(shape, dtype=np.bool_)
    place = np.zeros(len(offsets[0]), dtype=np.int64)
    for offset, low, step in zip(offsets, lows, flags.strides, strict=True):
        place += (offset - LEVEL(low)).astype(np.int64) * step
    flags.reshape(-1)[place] = True
    return flags


def _parts(shape: tuple[int, ...]) -> Iterator[tuple[slice, ...]]:
    """Cut a box into boxes of at most about BLOCK nodes, or single ones in the first axes."""
    split, size = len(shape), 1
    while split > 0 and size * shape[split - 1] <= BLOCK:
        split -= 1
        size *= shape[split]
    whole = tuple(slice(0, n) for n in shape[split:])
    for lead in np.ndindex(shape[:split]):
        yield (*(slice(i, i + 1) for i in lead), *whole)


def _count_below(flags: Mask) -> NDArray[np.int32]:
    """For every cell, the number of flags at or below it in every direction."""
    counts = flags.astype(np.int32)
    inner = counts.size
    for levels in counts.shape:
        inner //= levels
        lines = counts.reshape(-1, levels, inner)
        for level in range(1, levels):
            lines[:, level] += lines[:, level - 1]
    return counts


def _count_at_least(bounds: Floats, scores: Floats, step: int) -> Floats:
    """How many bounds are at least each score, and one `step`-th for the node itself."""
    return len(bounds) - np.searchsorted(np.sort(bounds), scores) + 1 / step


def _largest(ratings: Floats) -> NDArray[np.intp]:
    """The places of the largest positive ratings, at most as many as a shortlist takes."""
    chosen = np.flatnonzero(ratings > WORTHWHILE * ratings.max(initial=0))
    if len(chosen) > SHORTLIST:
        chosen = chosen[np.argpartition(ratings[chosen], -SHORTLIST)[-SHORTLIST:]]
    return chosen


def _probability(excess: Floats, spread: float) -> Floats:
    """Of a quantity exceeding its target, in nearly normal doubt."""
    return _sigmoid(excess * (1.7 / spread))


def _sigmoid(x: Floats) -> Floats:
    return np.asarray(1 / (1 + np.exp(-np.minimum(np.maximum(x, -30), 30))))


def _log(x: float) -> float:
    return float(np.log(max(x, 1e-300)))
