"""Ridge regression of what checks find on the entropies of the attributes at their levels."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dbdeid.lattice.lattice import Lattice, Node, outer_sum
from dbdeid.lattice.tuples import Marginals

Floats = NDArray[Any]

REMEMBERED = 300  # checks that a regression sees
FAR_WEIGHT = 0.02  # least weight of a check


class Features:
    """1, H, H²/10, and per attribute its entropy at the level and one step per level reached.

    H is the sum of the entropies of the attributes alone, in nats.

    Args:
        lattice: the lattice.
        marginals: counts of the attributes alone.
    """

    def __init__(self, lattice: Lattice, marginals: Marginals) -> None:
        self._bottom = lattice.bottom
        self._entropies = [
            np.array(
                [
                    _entropy(np.bincount(attribute.groups[level], weights=counts))
                    for level in range(attribute.min_level, attribute.most_general + 1)
                ]
            )
            for attribute, counts in zip(lattice.attributes, marginals.counts, strict=True)
        ]
        self._parts = [
            np.column_stack([entropies, np.tri(len(entropies))[:, 1:]])
            for entropies in self._entropies
        ]

    @property
    def least_general(self) -> list[float]:
        """The entropy of each attribute at its least general level."""
        return [float(entropies[0]) for entropies in self._entropies]

    def row(self, node: Node) -> Floats:
        """The features of one node."""
        offsets = [level - low for level, low in zip(node, self._bottom, strict=True)]
        parts = [part[offset] for part, offset in zip(self._parts, offsets, strict=True)]
        total = sum(float(part[0]) for part in parts)
        return np.concatenate([[1.0, total, total * total / 10], *parts])

    def rows(self, offsets: Sequence[NDArray[np.int64]]) -> Floats:
        """One row per node, given by level - min_level per attribute."""
        parts = [part[offset] for part, offset in zip(self._parts, offsets, strict=True)]
        total = np.sum([part[:, 0] for part in parts], axis=0)
        return np.column_stack([np.ones(len(total)), total, total * total / 10, *parts])

    def over_box(self, box: Sequence[slice], weights: Floats) -> Floats:
        """The weighted sum of the features for all nodes of a box, in order."""
        first, linear, square = weights[:3].astype(np.float32)
        ends = np.cumsum([3, *(part.shape[1] for part in self._parts)])
        own = [weights[start:end] for start, end in pairwise(ends)]
        sums = box_sum(box, [part @ w for part, w in zip(self._parts, own, strict=True)])
        total = box_sum(box, self._entropies)
        return np.asarray(sums + total * (total * (square / 10) + linear) + first)


class Regression:
    """Weights of the features for one quantity, closest where it is near a target.

    Args:
        reach: distance from the target over which the weight of a check falls by 1/e.
        doubt: spread assumed of a first prediction.
    """

    def __init__(self, reach: float, doubt: float) -> None:
        self._reach = reach
        self._doubt = doubt
        self._rows: Floats = np.zeros((0, 0))
        self._values: Floats = np.zeros(0)
        self._seen = 0
        self._target: float | None = None
        # the normal equations of what is remembered, weighted for the target
        self._left: Floats = np.zeros((0, 0))
        self._right: Floats = np.zeros(0)
        self.weights: Floats = np.zeros(0)
        self.spread = doubt

    def observe(self, row: Floats, value: float) -> None:
        """Learn the value at a node with these features."""
        if not self._seen:
            self._rows = np.zeros((REMEMBERED, len(row)))
            self._values = np.zeros(REMEMBERED)
        at = self._seen % REMEMBERED
        if self._target is not None:
            if self._seen >= REMEMBERED:
                self._add(self._rows[at], float(self._values[at]), -1)
            self._add(row, value, 1)
        self._rows[at], self._values[at] = row, value
        self._seen += 1

    def fit(self, target: float) -> None:
        """Fit what was observed, and find the spread around it, most closely at the target."""
        if not self._seen:
            return
        count = min(self._seen, REMEMBERED)
        rows, values = self._rows[:count], self._values[:count]
        if target != self._target:
            self._target = target
            weighted = rows.T * self._importance(values)
            penalty = np.ones(rows.shape[1])
            penalty[:2] = 1e-6, 1e-3
            self._left, self._right = weighted @ rows + np.diag(penalty), weighted @ values
        self.weights = np.linalg.solve(self._left, self._right)
        errors = values - rows @ self.weights
        importance = self._importance(values)
        variance = float((importance * errors**2).sum() / importance.sum())
        self.spread = float(np.sqrt(variance + self._doubt**2 / np.sqrt(count)))

    def _importance(self, values: Floats) -> Floats:
        assert self._target is not None
        return np.asarray(np.exp(-np.abs(values - self._target) / self._reach) + FAR_WEIGHT)

    def _add(self, row: Floats, value: float, times: int) -> None:
        weighted = row * (times * float(self._importance(np.array(value))))
        self._left += np.outer(weighted, row)
        self._right += weighted * value


def box_sum(box: Sequence[slice], terms: Sequence[Floats]) -> Floats:
    """The sum of one term per attribute for all nodes of a box, in single precision."""
    return outer_sum([term[part].astype(np.float32) for term, part in zip(terms, box, strict=True)])


def _entropy(counts: Floats) -> float:
    shares = counts[counts > 0] / max(counts.sum(), 1)
    return float(-(shares * np.log(shares)).sum())
