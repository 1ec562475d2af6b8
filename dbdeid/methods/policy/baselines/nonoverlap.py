"""Sublattices that have nothing in common with those pruned (Xia et al. 2013, SNL).

A sublattice is all policies between its top and its bottom: bits set in the top are set in all of
them, bits cleared in the bottom are cleared in all. A policy is outside if it differs in one of
these bits, which is a clause; to be outside of all that are pruned is to satisfy every clause.

Settled here: the paper takes literals out of clauses while it goes on to use them, here they are
left as they are; where nothing is pruned there is nothing to satisfy, which is not the same as
that nothing satisfies; and the clause with the fewest literals that are left comes first.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from dbdeid.methods.policy.search.policies import Bits

Ints = NDArray[np.int64]
Signs = NDArray[np.int8]


class Pruned:
    """Sublattices that are not looked at again.

    Args:
        length: bits of a policy.
    """

    def __init__(self, length: int) -> None:
        # by sublattice and bit: the value that leads out of it, 1 or -1 for cleared; 0 is neither
        self._clauses: Signs = np.zeros((0, length), np.int8)

    def __len__(self) -> int:
        return len(self._clauses)

    def add(self, top: Bits, bottom: Bits) -> None:
        """Prune all policies between two of which the top is the more general."""
        outside = np.where(top, -1, np.where(bottom, 0, 1)).astype(np.int8)
        self._clauses = np.vstack([self._clauses, outside])

    def covers(self, policy: Bits) -> bool:
        """Whether a policy is in one of them."""
        signs = np.where(policy, 1, -1)
        return not (self._clauses == signs).any(axis=1).all()

    def outside(self, rng: np.random.Generator) -> Mapping[int, bool] | None:
        """Bits at random which, set or cleared like this, lead out of all that is pruned.

        Returns:
            the value of each such bit, none where nothing is pruned; None where every policy is
            in one of them.
        """
        signs = np.zeros(self._clauses.shape[1], np.int8)
        found = self._satisfied(signs, np.arange(len(self)), rng)
        if found is None:
            return None
        return {int(bit): bool(found[bit] > 0) for bit in np.flatnonzero(found)}

    def _satisfied(self, signs: Signs, rows: Ints, rng: np.random.Generator) -> Signs | None:
        """Signs with more bits, so that these clauses are satisfied as well."""
        if not len(rows):
            return signs
        left = (self._clauses[rows] != 0) & (signs == 0)
        shortest = int(left.sum(axis=1).argmin())
        clause = self._clauses[rows[shortest]]
        signs = signs.copy()
        for bit in rng.permutation(np.flatnonzero(left[shortest])):
            signs[bit] = clause[bit]
            rest = rows[self._clauses[rows, bit] != clause[bit]]
            found = self._satisfied(signs, rest, rng)
            if found is not None:
                return found
            # all are tried that have this value: the others have the other one
            signs[bit] = -clause[bit]
            rows = rows[self._clauses[rows, bit] != -clause[bit]]
        return None
