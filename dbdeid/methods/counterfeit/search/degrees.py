"""The degrees of all nodes of a lattice: the largest D of a record under each.

D is the weighted mean loss of the cells of a record (Lee et al. 2017).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from dbdeid.errors import DbdeidError
from dbdeid.lattice.lattice import Attribute, Lattice
from dbdeid.lattice.tuples import Tuples

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Codes = NDArray[np.unsignedinteger[Any]]

LISTED = 1 << 21  # most nodes of a lattice: some numbers of each are held


class TooManyNodes(DbdeidError):
    """The lattice has more nodes than can be listed."""


def degrees(lattice: Lattice, tuples: Tuples) -> Floats:
    """The largest D of a record under every node, by node number (`Lattice.index`).

    Values of an attribute with the same losses on all levels are one profile. The maximum over the
    tuples is that over the profiles of the first attribute, of their losses plus the maximum over
    what follows; what follows in many tuples is looked at once.

    Raises:
        TooManyNodes: above 2^21 nodes.
    """
    if lattice.size > LISTED:
        raise TooManyNodes(
            f"the lattice has {lattice.size:,} nodes, and a ceiling takes at most {LISTED:,}",
            hint="fewer quasi-identifiers, or a `max_level` for some",
        )
    if not len(tuples.weights):
        return np.zeros(lattice.size)
    found = [
        _profiles(attribute, share, codes)
        for attribute, share, codes in zip(
            lattice.attributes, lattice.shares, tuples.codes, strict=True
        )
    ]
    rows = np.unique(np.array([of_tuple for _, of_tuple in found]).T, axis=0)
    return _Maxima([losses for losses, _ in found]).of(0, rows)


def _profiles(attribute: Attribute, share: float, codes: Codes) -> tuple[Floats, Ints]:
    """The distinct losses on the admissible levels (profiles, levels), and each tuple's."""
    levels = attribute.loss[attribute.min_level : attribute.most_general + 1]
    profiles, of_value = np.unique(share * np.array(levels).T, axis=0, return_inverse=True)
    return profiles, of_value.astype(np.int64)[codes.astype(np.int64)]


class _Maxima:
    """Maxima over rows of profiles, from one attribute on."""

    def __init__(self, losses: list[Floats]) -> None:
        self._losses = losses
        self._over: list[NDArray[np.bool_]] = [
            np.all(a[:, None] <= a[None], axis=2) for a in losses
        ]  # [p, q]: p loses no more than q on any level
        self._known: dict[tuple[int, bytes], Floats] = {}

    def of(self, at: int, rows: Ints) -> Floats:
        """The maxima for all levels of the attributes from `at` on; rows are distinct, sorted."""
        if at == len(self._losses) - 1:
            return np.asarray(self._losses[at][rows[:, 0]].max(axis=0))
        key = at, rows.tobytes()
        if key not in self._known:
            first, starts = np.unique(rows[:, 0], return_index=True)
            rests = dict(zip(first.tolist(), np.split(rows[:, 1:], starts[1:]), strict=True))
            total = None
            for profile, rest in self._undominated(at, rests).items():
                follows = self.of(at + 1, np.ascontiguousarray(rest))
                one = np.add.outer(self._losses[at][profile], follows).ravel()
                total = one if total is None else np.maximum(total, one, out=total)
            assert total is not None
            self._known[key] = total
        return self._known[key]

    def _undominated(self, at: int, rests: dict[int, Ints]) -> dict[int, Ints]:
        """Without what follows a profile if all of it follows one that loses no less."""
        sets = {p: frozenset(map(bytes, np.ascontiguousarray(rest))) for p, rest in rests.items()}
        return {
            p: rests[p]
            for p in rests
            if not any(self._over[at][p, q] and p != q and sets[p] <= sets[q] for q in rests)
        }
