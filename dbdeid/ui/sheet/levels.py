"""Looking at the levels of one quasi-identifier: what its values become, and what that costs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dbdeid.bind.bind import bound_column
from dbdeid.bind.bound import Bound
from dbdeid.data.coding import Coding
from dbdeid.engine.engines import ENGINE
from dbdeid.engine.expressions import select
from dbdeid.engine.relation import Column
from dbdeid.engine.session import Settings
from dbdeid.prepare.hierarchies import coding_of
from dbdeid.spec.column.column_spec import ColumnSpec
from dbdeid.spec.file import SpecFile


@dataclass(frozen=True, slots=True)
class LevelShown:
    """One level of a quasi-identifier.

    Attributes:
        number: 0 as it is, the highest `*`.
        groups: how many labels there are among the values.
        smallest: records of the rarest label.
        few: records whose label fewer than k have, by this column alone.
        loss: mean information loss of its cells, in [0, 1].
        labels: with their records, the most frequent first.
    """

    number: int
    groups: int
    smallest: int
    few: int
    loss: float
    labels: tuple[tuple[str, int], ...]


@dataclass(frozen=True, slots=True)
class Levels:
    """The levels of a quasi-identifier.

    Attributes:
        kind: of its hierarchy, in words.
        records: that have a value.
        levels: from the finest to `*`.
        values: each value with its label on each level, the most frequent first.
    """

    kind: str
    records: int
    levels: tuple[LevelShown, ...]
    values: tuple[tuple[str, ...], ...]

    @property
    def height(self) -> int:
        """The number of the highest level."""
        return len(self.levels) - 1


def levels_of(
    file: SpecFile,
    column: Column,
    spec: ColumnSpec,
    counted: Sequence[tuple[str, int]],
    k: int,
    settings: Settings | None = None,
) -> Levels:
    """The levels of a quasi-identifier over its counted values.

    Args:
        file: the specification, beside which hierarchy files lie.
        column: name and type as in the source.
        spec: what is said of it.
        counted: its values with their records, without NULL.
        k: below which a label is told to be rare.
        settings: engine limits.

    Raises:
        HierarchyError: the hierarchy is broken, or does not cover the values.
        DataError: it is in a database, which is not opened here.
    """
    bound = Bound(file, select(), (bound_column(column, spec),), None, ())
    values: list[str | None] = [value for value, _ in counted]
    with ENGINE.open(None, read_only=False, settings=settings) as session:
        coding = coding_of(bound, session, bound.columns[0], values)
    records = np.array([n for _, n in counted], dtype=np.int64)
    height = coding.hierarchy.height
    texts = [coding.labels(level) for level in range(height + 1)]
    rows = ((str(v), *(str(t[i]) for t in texts)) for i, v in enumerate(values))
    return Levels(
        coding.hierarchy.kind,
        int(records.sum()),
        tuple(_level(coding, level, records, texts[level], k) for level in range(height + 1)),
        tuple(rows),
    )


def _level(
    coding: Coding, level: int, records: NDArray[np.int64], texts: Sequence[str | None], k: int
) -> LevelShown:
    groups = coding.groups(level).astype(np.int64)
    found = np.bincount(groups, weights=records).astype(np.int64)
    words: dict[int, str] = {}
    for group, text in zip(groups.tolist(), texts, strict=True):
        words.setdefault(group, str(text))
    order = np.argsort(-found, kind="stable").tolist()
    total = int(records.sum())
    return LevelShown(
        level,
        len(found),
        int(found.min()) if len(found) else 0,
        int(found[found < k].sum()),
        float((coding.loss(level) * records).sum() / total) if total else 0.0,
        tuple((words[group], int(found[group])) for group in order),
    )
