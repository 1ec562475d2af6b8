"""Values of several levels beside each other: what they read, and what they stand for."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from dbdeid.data.coding import Cell, Coding
from dbdeid.errors import HierarchyError
from dbdeid.methods.common.outcome import Shown, Values

Ints = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Mixed:
    """What one quasi-identifier shows in each class.

    Attributes:
        mark: of each class, its row in the lists below.
        labels: what is shown, each once.
        cells: what it stands for.
        shown: both as an outcome has them.
    """

    mark: Ints
    labels: list[str | None]
    cells: list[Cell]
    shown: Values

    @classmethod
    def of(cls, coding: Coding, levels: Ints, codes: Ints) -> Mixed:
        """Of each class its level, and a code of it.

        Raises:
            HierarchyError: a label would be ambiguous.
        """
        mixed = mixed_labels(coding)
        pairs, mark = np.unique(np.stack([levels, codes]), axis=1, return_inverse=True)
        at = {level: coding.cells(level) for level in np.unique(levels).tolist()}
        sizes = {level: coding.sizes(level) for level in at}
        rows: dict[tuple[int, str | None], int] = {}
        labels: list[str | None] = []
        cells: list[Cell] = []
        shown: dict[str | None, Shown] = {}
        place = np.empty(pairs.shape[1], np.int64)
        for i, (level, code) in enumerate(pairs.T.tolist()):
            cell = at[level][code]
            label = cell.label
            if level > 0 and label in mixed:
                label = f"{label}@{level}"
            shown[label] = Shown(level, replace(cell, label=label), int(sizes[level][code]))
            if (level, label) not in rows:
                rows[level, label] = len(labels)
                labels.append(label)
                cells.append(cell)
            place[i] = rows[level, label]
        return cls(place[mark.ravel()], labels, cells, shown)


def mixed_labels(coding: Coding) -> frozenset[str]:
    """Labels that name other leaves on another level; they are shown with their level.

    Raises:
        HierarchyError: what is shown then is another label already.
    """
    held: dict[str, set[tuple[int, ...]]] = {}
    for label, leaves in _named(coding):
        held.setdefault(label, set()).add(leaves)
    mixed = frozenset(label for label, sets in held.items() if len(sets) > 1)
    for number, level in enumerate(coding.hierarchy.levels):
        if number and any(
            f"{label}@{number}" in held for label in mixed.intersection(level.labels)
        ):
            raise HierarchyError(
                f"hierarchy of column {coding.hierarchy.column!r}: level {number} has a label of "
                f"other values than on another level, and with @{number} added it is a label too",
                hint="give groups labels of their own",
            )
    return mixed


def _named(coding: Coding) -> Iterator[tuple[str, tuple[int, ...]]]:
    """Each label of each level with its leaves."""
    for level in coding.hierarchy.levels:
        order = np.argsort(level.groups, kind="stable")
        cuts = np.cumsum(np.bincount(level.groups, minlength=len(level.labels)))
        # what is behind the last cut is empty, and all there is of a column without a value
        for label, leaves in zip(level.labels, np.split(order, cuts)[:-1], strict=True):
            if label is not None:
                yield label, tuple(leaves.tolist())
