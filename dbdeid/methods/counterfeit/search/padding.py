"""What padding takes: the counterfeit records that one transformation needs, and what it costs.

A class of fewer than k records is padded to m ≥ k with counterfeit records, one of k or more never
(Lee et al. 2017). Two classes that meet need no more counterfeits together than apart, so that the
counterfeits only become fewer upwards.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from dbdeid.lattice.checker import seen
from dbdeid.lattice.grouping import Grouped, Grouper
from dbdeid.lattice.lattice import Lattice, Node, outer_sum
from dbdeid.lattice.objectives import LOSS
from dbdeid.lattice.rule import Condition, Rule, Suppression
from dbdeid.lattice.tuples import Marginals, Tuples

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Need:
    """What one transformation needs.

    Attributes:
        node: the transformation.
        degree: max over the records of D, the weighted mean loss of the cells of one.
        counterfeits: records to add.
        loss: mean of D over the real records.
        error: the expected reconstruction error (RCE) of a real record.
        holds: whether all classes of k or more records hold the conditions.
        classes: classes of real records.
        padded: those that get counterfeits.
        candidates: those of final size m, which may be padded for all that a reader can see.
        below: counterfeits that any node below needs whose classes hold the conditions.
    """

    node: Node
    degree: float
    counterfeits: int
    loss: float
    error: float
    holds: bool
    classes: int
    padded: int
    candidates: int
    below: int


@dataclass(frozen=True, slots=True)
class Deficits:
    """The classes of one transformation, and the counterfeits that each of them needs."""

    grouped: Grouped
    of_class: Ints

    @property
    def counterfeits(self) -> int:
        """Those of all classes."""
        return int(self.of_class.sum())


class Padding:
    """Looks at what padding takes under any node of a lattice.

    Args:
        lattice: the coded quasi-identifiers.
        tuples: the data, without subjects.
        k: the classes of fewer records are padded.
        size: m, to how many; None: to k.
        conditions: what classes of k or more records must hold, of each of the first `values`.
        catalog: which of the `values` the catalog tells; None: there is no sensitive column.
        pooled: the catalog has one group of all candidates (`pool`), so that p(s) of a candidate
            is known beforehand; otherwise p is taken as 1 everywhere.

    Raises:
        ValueError: m < k, or subjects are declared.
    """

    def __init__(
        self,
        lattice: Lattice,
        tuples: Tuples,
        k: int,
        *,
        size: int | None = None,
        conditions: Sequence[Condition] = (),
        catalog: int | None = None,
        pooled: bool = True,
    ) -> None:
        self.lattice = lattice
        self.tuples = tuples
        self.k = k
        self.size = k if size is None else size
        if self.size < k:
            raise ValueError(f"padding to {self.size} is less than k = {k}")
        if tuples.subjects is not None:
            raise ValueError("rows of subjects are not padded")
        self._judged = len(conditions)
        self._suppression = Suppression(
            Rule(k, conditions=tuple(conditions)),
            replace(tuples, values=tuples.values[: self._judged]),
        )
        self._catalog = catalog
        self._pooled = pooled
        self._attributes = len(lattice.attributes) + (catalog is not None)
        guesses = [[1 / a.size(level) for level in range(a.height + 1)] for a in lattice.attributes]
        self._grouper = Grouper(lattice, tuples, guesses)

    @cached_property
    def marginals(self) -> Marginals:
        """Counts of the attributes alone."""
        return self.tuples.marginals(self.lattice)

    @cached_property
    def losses(self) -> Floats:
        """The mean of D over the records, by node number."""
        return outer_sum(LOSS.terms(self.lattice, self.marginals))

    @cached_property
    def errors(self) -> Floats:
        """The reconstruction error without counterfeits, by node number: no node has less.

        1 - (2p - p²)/v ≥ 1 - 1/v, and counterfeits add to it. It grows upwards, as v does.
        """
        records = max(self.marginals.records, 1)
        return outer_sum(
            [
                np.array(
                    [
                        float((counts * (1 - 1 / attribute.size(level))).sum()) / records
                        for level in range(attribute.min_level, attribute.most_general + 1)
                    ]
                )
                / self._attributes
                for attribute, counts in zip(
                    self.lattice.attributes, self.marginals.counts, strict=True
                )
            ]
        )

    def count(self, node: Node) -> Deficits:
        """The counterfeits that each class of a node needs.

        Raises:
            ValueError: the node is not in the lattice.
        """
        grouped = self._grouper.group(node)
        counts = grouped.counts
        return Deficits(grouped, np.where(counts < self.k, self.size - counts, 0))

    def need(self, found: Deficits) -> Need:
        """All that a node needs."""
        grouped, deficits, total = found.grouped, found.of_class, found.counterfeits
        counts = grouped.counts
        candidates = (deficits > 0) | (counts == self.size)
        holds, below = self._held(grouped)
        return Need(
            node=grouped.node,
            degree=float(grouped.losses().max(initial=0.0)),
            counterfeits=total,
            loss=float(self.losses[self.lattice.index(grouped.node)]),
            error=self._error(grouped, deficits, candidates),
            holds=holds,
            classes=len(counts),
            padded=int(np.count_nonzero(deficits)),
            candidates=int(np.count_nonzero(candidates)),
            below=total + below,
        )

    def _held(self, grouped: Grouped) -> tuple[bool, int]:
        """Whether the classes of k or more hold, and counterfeits needed below to get around it.

        A class that lacks what is necessary has no part that has it. Below, its parts must then all
        be too small to be asked.
        """
        if not self._judged:
            return True, 0
        counts = grouped.counts
        asked = counts >= self.k
        judged = replace(seen(grouped), values=grouped.rows.values[: self._judged])
        kept = self._suppression(judged)
        lacking = counts[asked & (kept.possible == 0)]
        parts = -(-lacking // max(self.k - 1, 1))
        return bool(np.all(kept.records[asked] > 0)), int((self.size * parts - lacking).sum())

    def _error(self, grouped: Grouped, deficits: Ints, candidates: Mask) -> float:
        """The expected reconstruction error: 1 - (2p - p²) I for a real record of a class, and

        p² I more for each counterfeit of it, where I is the chance of guessing a cell of the class.
        The drawn values fall on the slots of the padded classes in any order.
        """
        sensitive = self._catalog is not None
        guess = (grouped.cells() + sensitive) / self._attributes
        records, total = self.marginals.records, int(deficits.sum())
        slots = float(guess @ deficits)
        if not total or not self._pooled:
            return (records - float(guess @ grouped.counts) + slots) / max(records, 1)
        of_clean = float((guess * grouped.counts)[~candidates].sum())
        real, guessed = self._pool(grouped, candidates, guess)
        drawn = quotas(real, total)
        p = np.divide(real, real + drawn, out=np.ones(len(real)), where=real > 0)
        of_pool = float((2 * p - p * p) @ guessed)
        added = slots / total * float(drawn @ (p * p))
        return (records - of_clean - of_pool + added) / records

    def _pool(self, grouped: Grouped, candidates: Mask, guess: Floats) -> tuple[Ints, Floats]:
        """The real records of the candidates by sensitive value, and the sum of I over them."""
        if self._catalog is None:
            counts = grouped.counts[candidates]
            return np.array([counts.sum()]), np.array([guess[candidates] @ counts])
        values = grouped.rows.values[self._catalog]
        of_entry = grouped.of_rows[values.row]
        pooled = candidates[of_entry]
        value, count = values.value[pooled], values.count[pooled]
        real = np.rint(np.bincount(value, count, values.cardinality)).astype(np.int64)
        guessed = np.bincount(value, count * guess[of_entry[pooled]], values.cardinality)
        return real, np.asarray(guessed, np.float64)


def quotas(real: Ints, total: int) -> Ints:
    """Shares of a total proportional to counts, by largest remainders.

    Ties go to the larger count, then to the lower place.

    Args:
        real: counts, not all 0 where the total is not.
        total: what is shared out.

    >>> quotas(np.array([5, 3, 2]), 4)
    array([2, 1, 1])
    """
    shares = real * total
    whole = max(int(real.sum()), 1)
    drawn = shares // whole
    order = np.lexsort((-real, -(shares - drawn * whole)))  # stable: then the lower place
    drawn[order[: total - int(drawn.sum())]] += 1
    return drawn
