"""Guesses that choose the next node to look at; they cannot make a search wrong, only longer.

A node is worth checking for the open nodes that its check would close: all below it when it turns
out infeasible; when not, those that a better incumbent or bound rules out. What a check will find
is predicted by ridge regression on the entropies of the attributes at their levels.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from dbdeid.search.checker import Check
from dbdeid.search.lattice import Lattice, Node, outer_sum
from dbdeid.search.objectives import Objective
from dbdeid.search.region import Packed, Packing, Region
from dbdeid.search.tuples import Marginals

Floats = NDArray[np.floating]

REMEMBERED = 300  # checks that a regression sees
REACH = 2.0  # distance from the target over which the weight of a check falls by 1/e
FAR_WEIGHT = 0.02  # least weight of a check
DOUBT = 0.6  # spread assumed of a first prediction
SHORTLIST = 64  # candidates compared closely
WITNESSES = 2048  # open nodes that they are compared on
LASTING = 0.5  # share of its best value below which a shortlist is drawn up anew


class Guide:
    """Chooses the nodes to check.

    Args:
        lattice: the lattice.
        packing: its nodes as integers.
        marginals: counts of the attributes alone.
        objective: what is minimized.
        limit: most records that may be suppressed.
    """

    def __init__(
        self,
        lattice: Lattice,
        packing: Packing,
        marginals: Marginals,
        objective: Objective,
        limit: int,
    ) -> None:
        self._lattice = lattice
        self._packing = packing
        self._records = marginals.records
        self._objective = objective
        self._limit = limit
        self._terms = objective.terms(lattice, marginals)
        self._entropies = _entropies(lattice, marginals)
        self._suppression = _Regression()
        self._score = _Regression()
        self._above = _Regression()
        self._feasible = np.zeros(lattice.shape, dtype=np.bool_)
        self._checked: list[np.uint64] = []
        self._shortlist: Packed = np.zeros(0, dtype=np.uint64)
        self._cutoff = np.inf

    def observe(self, check: Check, score: float) -> None:
        """Learn from a check and its score."""
        packed = self._packing.pack(check.node)
        self._checked.append(packed)
        self._shortlist = self._shortlist[self._shortlist != packed]
        row = self._rows(np.array([packed]))[0]
        self._suppression.observe(row, self._log_odds(check.suppressed))
        if self._objective.estimate is None:
            self._score.observe(row, _log(score))
        if self._objective.above is not None:
            self._above.observe(row, _log(self._objective.above(check, self._records)))
        if check.suppressed <= self._limit:
            lows = zip(check.node, self._lattice.bottom, strict=True)
            self._feasible[tuple(slice(level - low, None) for level, low in lows)] = True

    def choose(self, region: Region, best: float) -> Node:
        """The node whose check promises most; the region must not be empty."""
        self._suppression.fit(self._log_odds(self._limit + 0.5))
        self._score.fit(_log(best))
        self._above.fit(_log(best))
        values = self._values(region, best)
        if not values.max(initial=0) > self._cutoff:
            self._draw_up(region, best)
            values = self._values(region, best)
            self._cutoff = LASTING * float(values.max(initial=0))
        if not values.max(initial=0) > 0:
            return self._packing.node(region.packed[region.bound.argmin()])
        return self._packing.node(self._shortlist[values.argmax()])

    def _log_odds(self, suppressed: float) -> float:
        kept = max(self._records - suppressed, 0)
        return float(np.log((suppressed + 0.5) / (kept + 0.5)))

    def _rows(self, packed: Packed) -> Floats:
        """Features of nodes: 1, H, H²/10 and each H_a."""
        offsets = self._packing.offsets(packed)
        parts = np.array([h[o] for h, o in zip(self._entropies, offsets, strict=True)])
        total = parts.sum(axis=0)
        return np.array([np.ones(len(packed)), total, total * total / 10, *parts]).T

    def _values(self, region: Region, best: float) -> Floats:
        """How many open nodes the check of each shortlisted node is expected to close."""
        candidates, objective = self._shortlist, self._objective
        if not len(candidates):
            return np.zeros(0)
        step = -(-len(region) // WITNESSES)
        packed, known, bound = (a[::step] for a in (region.packed, region.known, region.bound))
        rows = self._rows(candidates)
        odds = self._suppression.predict(rows)
        infeasible = self._infeasible(odds)
        infeasible[self._is_feasible(candidates)] = 0
        own = self._known(candidates)
        share = np.minimum(_sigmoid(odds), self._limit / max(self._records, 1))
        below = self._packing.at_most(packed, candidates[:, None])
        values = infeasible * below.sum(axis=1)
        if objective.below is not None:
            records = (share * self._records)[:, None]
            bounds = objective.below(known, records, records * own[:, None], self._records)
            values += (1 - infeasible) * 0.8 * (below & (bounds >= best)).sum(axis=1)
        if objective.above is not None:
            above = self._packing.at_most(candidates[:, None], packed)
            values += self._rules_out(rows, best) * above.sum(axis=1)
        guess = self._guess(rows, own, share)
        position = np.minimum(np.searchsorted(region.packed, candidates), len(region) - 1)
        open_ = region.packed[position] == candidates
        worse = len(bound) - np.searchsorted(np.sort(bound), guess)
        values += (1 - infeasible) * open_ * (worse + 1)
        return values * step

    def _infeasible(self, odds: Floats) -> Floats:
        return _sigmoid(
            (odds - self._log_odds(self._limit + 0.5)) * (1.7 / self._suppression.spread)
        )

    def _rules_out(self, rows: Floats, best: float) -> Floats:
        return _sigmoid((self._above.predict(rows) - _log(best)) * (1.7 / self._above.spread))

    def _guess(self, rows: Floats, known: Floats, share: Floats) -> Floats:
        if self._objective.estimate is None:
            return np.exp(self._score.predict(rows))
        return self._objective.estimate(known, share)

    def _is_feasible(self, packed: Packed) -> NDArray[np.bool_]:
        return self._feasible[tuple(self._packing.offsets(packed))]

    def _known(self, packed: Packed) -> Floats:
        offsets = self._packing.offsets(packed)
        total = sum(term[o] for term, o in zip(self._terms, offsets, strict=True))
        return self._objective.known(np.asarray(total), self._records)

    def _draw_up(self, region: Region, best: float) -> None:
        """Shortlist the most promising nodes between the meet and the join of the open ones."""
        offsets = [*self._packing.offsets(region.packed)]
        lows, highs = [int(o.min()) for o in offsets], [int(o.max()) + 1 for o in offsets]
        shape = tuple(high - low for low, high in zip(lows, highs, strict=True))
        box = [slice(low, high) for low, high in zip(lows, highs, strict=True)]
        open_ = np.zeros(shape, dtype=np.bool_)
        open_[tuple(o - low for o, low in zip(offsets, lows, strict=True))] = True

        def over_box(terms: Sequence[Floats]) -> Floats:
            return outer_sum([t[b].astype(np.float32) for t, b in zip(terms, box, strict=True)])

        total = over_box(self._entropies)

        def predict(model: _Regression) -> Floats:
            first, linear, square, *parts = model.weights.astype(np.float32)
            sums = over_box([w * h for w, h in zip(parts, self._entropies, strict=True)])
            return sums + (total * (linear + total * (square / 10)) + first)

        odds = predict(self._suppression)
        infeasible = self._infeasible(odds)
        infeasible[self._feasible[tuple(box)].ravel()] = 0
        below = _count_below(open_)
        values = infeasible * below
        if self._objective.above is not None:
            rules_out = (predict(self._above) - _log(best)) * (1.7 / self._above.spread)
            values += _sigmoid(rules_out) * _count_below(np.flip(open_))[::-1]
        if self._objective.estimate is None:
            guess = np.exp(predict(self._score))
        else:
            known = self._objective.known(over_box(self._terms), self._records)
            share = np.minimum(_sigmoid(odds), self._limit / max(self._records, 1))
            guess = self._objective.estimate(known, share)
        opened = np.flatnonzero(open_)
        worse = len(region) - np.searchsorted(np.sort(region.bound), guess[opened])
        values[opened] += (1 - infeasible[opened]) * (worse + 1 + 0.3 * below[opened])
        values[self._checked_in(lows, shape)] = 0
        chosen = np.flatnonzero(values > 0)
        if len(chosen) > SHORTLIST:
            chosen = np.argpartition(values, -SHORTLIST)[-SHORTLIST:]
        places = zip(np.unravel_index(chosen, shape), lows, strict=True)
        self._shortlist = np.sort(self._packing.at([place + low for place, low in places]))

    def _checked_in(self, lows: list[int], shape: tuple[int, ...]) -> NDArray[np.intp]:
        """The places in a box of the checked nodes that are in it."""
        offsets = self._packing.offsets(np.array(self._checked, dtype=np.uint64))
        places = np.array([o - low for o, low in zip(offsets, lows, strict=True)])
        inside = ((places >= 0) & (places < np.array(shape)[:, None])).all(axis=0)
        return np.ravel_multi_index(tuple(places[:, inside]), shape)


class _Regression:
    """Ridge regression on the features of nodes, closest where it matters."""

    def __init__(self) -> None:
        self._rows: list[Floats] = []
        self._values: list[float] = []
        self.weights: Floats = np.zeros(0)
        self.spread = DOUBT

    def observe(self, row: Floats, value: float) -> None:
        self._rows.append(row)
        self._values.append(value)

    def fit(self, target: float) -> None:
        """Fit what was observed, most closely around a value of interest."""
        if not self._rows:
            return
        rows, values = np.array(self._rows[-REMEMBERED:]), np.array(self._values[-REMEMBERED:])
        importance = np.exp(-np.abs(values - target) / REACH) + FAR_WEIGHT
        weighted = rows.T * importance
        penalty = np.ones(rows.shape[1])
        penalty[:2] = 1e-6, 1e-3
        self.weights = np.linalg.solve(weighted @ rows + np.diag(penalty), weighted @ values)
        errors = values - rows @ self.weights
        variance = float((importance * errors**2).sum() / importance.sum())
        self.spread = float(np.sqrt(variance + DOUBT**2 / np.sqrt(len(values))))

    def predict(self, rows: Floats) -> Floats:
        return rows @ self.weights


def _entropies(lattice: Lattice, marginals: Marginals) -> list[Floats]:
    """Per attribute and admissible level, the entropy of its groups in nats."""
    return [
        np.array(
            [
                _entropy(np.bincount(attribute.groups[level], weights=counts))
                for level in range(attribute.min_level, attribute.most_general + 1)
            ]
        )
        for attribute, counts in zip(lattice.attributes, marginals.counts, strict=True)
    ]


def _entropy(counts: Floats) -> float:
    shares = counts[counts > 0] / max(counts.sum(), 1)
    return float(-(shares * np.log(shares)).sum())


def _count_below(flags: NDArray[np.bool_]) -> NDArray[np.int32]:
    """For every cell, the number of flags at or below it in every direction, flat."""
    counts = flags.astype(np.int32)
    for axis in range(counts.ndim):
        np.cumsum(counts, axis=axis, out=counts)
    return counts.ravel()


def _sigmoid(x: Floats) -> Floats:
    return 1 / (1 + np.exp(-np.clip(x, -30, 30)))


def _log(x: float) -> float:
    return float(np.log(max(x, 1e-300)))
