"""Coding: the values of a quasi-identifier that occur, as small integers.

Codes follow the order of the values with NULL last, so they do not depend on the order of rows.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import islice

import numpy as np
from numpy.typing import NDArray

from dbdeid.data.hierarchy import TOP, Hierarchy
from dbdeid.errors import HierarchyError


@dataclass(frozen=True, slots=True)
class Cell:
    """One generalized value as it is released."""

    label: str | None
    loss: float
    lower: str | None
    upper: str | None
    leaves: tuple[str, ...] | None


@dataclass(frozen=True, slots=True)
class Coding:
    """A hierarchy and the leaf of each value code.

    Attributes:
        hierarchy: the levels.
        leaf: leaf index of each code, -1 for NULL (shape: codes).
    """

    hierarchy: Hierarchy
    leaf: NDArray[np.int64]

    @property
    def null(self) -> int | None:
        """The code of NULL, if it occurs."""
        found = np.flatnonzero(self.leaf < 0)
        return int(found[0]) if len(found) else None

    def groups(self, level: int) -> NDArray[np.uint32]:
        """The group of each code on a level, numbered densely as the codes first meet them."""
        _, first, dense = np.unique(self._raw_groups(level), return_index=True, return_inverse=True)
        return np.argsort(np.argsort(first))[dense].astype(np.uint32)

    def loss(self, level: int) -> NDArray[np.float64]:
        """The information loss of each code on a level; NULL loses only at the top."""
        return np.append(self.hierarchy.levels[level].loss, 0.0)[self._raw_groups(level)]

    def sizes(self, level: int) -> NDArray[np.int64]:
        """How many leaves the group of each code has on a level; NULL counts as one that occurs."""
        found = np.bincount(self.hierarchy.levels[level].groups, minlength=1)
        if self.null is not None:
            found = found + 1 if level == self.hierarchy.height else np.append(found, 1)
        return found[self._raw_groups(level)]

    def labels(self, level: int) -> list[str | None]:
        """What each code reads on a level."""
        labels = self.hierarchy.levels[level].labels
        return [None if group < 0 else labels[group] for group in self._raw_groups(level)]

    def cells(self, level: int) -> list[Cell]:
        """What each code is released as on a level, in order of the codes."""
        group_leaves = self._leaves(level)
        found = self.hierarchy.levels[level]
        null = Cell(None, 0.0, None, None, None)
        return [
            null
            if group < 0
            else Cell(
                found.labels[group],
                float(found.loss[group]),
                found.lower[group],
                found.upper[group],
                group_leaves[group] if group_leaves is not None else None,
            )
            for group in self._raw_groups(level)
        ]

    def _raw_groups(self, level: int) -> NDArray[np.int64]:
        # One group more than leaves, so that leaf -1 finds it: NULL is blank below the top.
        null = 0 if level == self.hierarchy.height else -1
        return np.append(self.hierarchy.levels[level].groups, null)[self.leaf]

    def _leaves(self, level: int) -> list[tuple[str, ...]] | None:
        if not self.hierarchy.declared:
            return None
        found = self.hierarchy.levels[level]
        order = np.argsort(found.groups, kind="stable")
        cuts = np.cumsum(np.bincount(found.groups, minlength=len(found.labels)))[:-1]
        leaves = self.hierarchy.leaves
        # Sorted: the order of the owner's file may tell, for example, what is frequent.
        return [tuple(sorted(leaves[i] for i in part)) for part in np.split(order, cuts)]


def code(hierarchy: Hierarchy, values: list[str | None]) -> Coding:
    """The coding of the values that occur.

    Args:
        hierarchy: the levels of the column.
        values: the distinct values as text in code order, NULL last.

    Raises:
        HierarchyError: values without a leaf; the message counts them.
    """
    index = {leaf: i for i, leaf in enumerate(hierarchy.leaves)}
    present = [v for v in values if v is not None]
    missing = [v for v in present if v not in index]
    if missing:
        raise HierarchyError(
            f"column {hierarchy.column!r}: {len(missing)} of {len(present)} values have no leaf "
            f"in its hierarchy ({hierarchy.kind})",
            hint="add a row for each of them; --show-values prints up to ten",
            examples=islice(missing, 10),
        )
    if TOP in values:
        raise HierarchyError(
            f"column {hierarchy.column!r} holds the value '*', which stands for a suppressed "
            "value in a release",
            hint="recode that value in the source",
        )
    leaf = np.array([-1 if v is None else index[v] for v in values], np.int64)
    return Coding(hierarchy, leaf)
