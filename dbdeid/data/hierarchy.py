"""Generalization hierarchies: the levels of one quasi-identifier, from raw value to `*`.

Level 0 is the raw value, the top level is the single value `*`. Meaning (sizes, bounds) comes from
the leaves below a label, never from reading the label.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from dbdeid.errors import HierarchyError

TOP = "*"
Bound = str | None


@dataclass(frozen=True, slots=True)
class Level:
    """One level of a hierarchy.

    Attributes:
        groups: for each leaf the index of its group, dense from 0 (shape: leaves).
        labels: released text of each group.
        loss: information loss of each group in [0, 1].
        lower: smallest value a group can hold, as text; None where it has none.
        upper: largest value a group can hold (its supremum for continuous columns).
    """

    groups: NDArray[np.int64]
    labels: tuple[str, ...]
    loss: NDArray[np.float64]
    lower: tuple[Bound, ...]
    upper: tuple[Bound, ...]


@dataclass(frozen=True, slots=True)
class Hierarchy:
    """The levels of one quasi-identifier.

    Attributes:
        column: the quasi-identifier.
        kind: where it comes from, in words.
        leaves: the text of every value of the domain.
        levels: from raw values to `*`.
        declared: the domain was declared, so its leaves are public.
    """

    column: str
    kind: str
    leaves: tuple[str, ...]
    levels: tuple[Level, ...]
    declared: bool

    @property
    def height(self) -> int:
        """The number of the top level."""
        return len(self.levels) - 1


@dataclass(frozen=True, slots=True)
class Order:
    """How the leaves of a column compare: numbers behind the texts, and how bounds are written."""

    numbers: tuple[Fraction | None, ...]
    texts: tuple[str, ...]


def from_rows(
    column: str,
    kind: str,
    rows: Sequence[Sequence[str]],
    *,
    declared: bool,
    order: Order | None = None,
    fixed_top: bool = False,
) -> Hierarchy:
    """A hierarchy from one row a leaf: the leaf, then its label on each higher level.

    The loss of a group with n of N leaves is (n - 1)/(N - 1) (Iyengar 2002). The last level becomes
    `*` when it has a single value; otherwise, or always with `fixed_top`, `*` is added above it.

    Args:
        column: the quasi-identifier.
        kind: where the rows come from, in words.
        rows: the table, all rows of equal length.
        declared: whether the leaves are a public domain.
        order: numbers behind the leaves of numeric and date columns, for bounds.
        fixed_top: add `*` whatever the values, so that the height never depends on data.

    Raises:
        HierarchyError: see `check_rows`.
    """
    check_rows(column, kind, rows)
    columns = list(zip(*rows, strict=True))
    single = len(columns) > 1 and len(set(columns[-1])) == 1 and not fixed_top
    middle = columns[1:-1] if single else columns[1:]
    leaves = tuple(columns[0])
    levels = [_raw_level(leaves, order)]
    # Without a declared domain, bounds of a group would be the data's own extremes.
    public = order if declared else None
    levels += [_labelled_level(labels, len(leaves), public) for labels in middle]
    levels.append(top_level(len(leaves), _whole(public)))
    return Hierarchy(column, kind, leaves, tuple(levels), declared)


def without_leaves(column: str, kind: str, height: int) -> Hierarchy:
    """The hierarchy of a column that holds only NULL and has no declared domain."""
    empty = Level(np.zeros(0, np.int64), (), np.zeros(0), (), ())
    return Hierarchy(column, kind, (), (*[empty] * height, top_level(0)), declared=False)


def _raw_level(leaves: tuple[str, ...], order: Order | None) -> Level:
    bounds = _leaf_bounds(leaves, order)
    return Level(np.arange(len(leaves)), leaves, np.zeros(len(leaves)), bounds, bounds)


def _leaf_bounds(leaves: tuple[str, ...], order: Order | None) -> tuple[Bound, ...]:
    if order is None:
        return (None,) * len(leaves)
    pairs = zip(order.numbers, order.texts, strict=True)
    return tuple(text if number is not None else None for number, text in pairs)


def _labelled_level(labels: Sequence[str], leaves: int, order: Order | None) -> Level:
    index: dict[str, int] = {}
    groups = np.fromiter((index.setdefault(x, len(index)) for x in labels), np.int64, leaves)
    sizes = np.bincount(groups, minlength=len(index))
    loss = (sizes - 1) / max(leaves - 1, 1)
    lower, upper = _group_bounds(groups, len(index), order)
    return Level(groups, tuple(index), loss, lower, upper)


def _group_bounds(
    groups: NDArray[np.int64], count: int, order: Order | None
) -> tuple[tuple[Bound, ...], tuple[Bound, ...]]:
    low: list[int | None] = [None] * count
    high: list[int | None] = [None] * count
    if order is not None:
        ranked = sorted(
            (number, leaf) for leaf, number in enumerate(order.numbers) if number is not None
        )
        for _, leaf in ranked:
            group = int(groups[leaf])
            low[group] = leaf if low[group] is None else low[group]
            high[group] = leaf
        for leaf, number in enumerate(order.numbers):
            if number is None:  # a group with a leaf outside the order has no honest bounds
                low[int(groups[leaf])] = high[int(groups[leaf])] = None
    texts = order.texts if order is not None else ()
    return (
        tuple(None if leaf is None else texts[leaf] for leaf in low),
        tuple(None if leaf is None else texts[leaf] for leaf in high),
    )


def _whole(order: Order | None) -> tuple[Bound, Bound]:
    if order is None or not order.numbers:
        return None, None
    lower, upper = _group_bounds(np.zeros(len(order.numbers), np.int64), 1, order)
    return lower[0], upper[0]


def top_level(leaves: int, bounds: tuple[Bound, Bound] = (None, None)) -> Level:
    """The level that holds only `*`; its loss is 1."""
    return Level(np.zeros(leaves, np.int64), (TOP,), np.ones(1), (bounds[0],), (bounds[1],))


def check_rows(column: str, kind: str, rows: Sequence[Sequence[str]]) -> None:
    """Refuse a table of leaves and labels that is not a tree of equal depth.

    Raises:
        HierarchyError: empty, ragged, a leaf that occurs twice, a label with two parents, or a
            leaf or label below the top that reads `*`; the message counts, `examples` holds up to
            ten of the values.
    """
    where = f"hierarchy of column {column!r} ({kind})"
    if not rows:
        raise HierarchyError(f"{where} is empty", hint="give one row for each value")
    ragged = [i for i, row in enumerate(rows, start=1) if len(row) != len(rows[0])]
    if ragged:
        raise HierarchyError(
            f"{where}: {len(ragged)} of {len(rows)} rows do not have {len(rows[0])} cells "
            f"like the first (first such row: {ragged[0]})",
            hint="give every leaf the same number of levels",
        )
    problems = _repeated_leaves(rows) + _two_parents(rows)
    if problems:
        text = "; ".join(message for message, _ in problems)
        values = [value for _, found in problems for value in found][:10]
        raise HierarchyError(
            f"{where}: {text}",
            hint="every value needs exactly one row, and every label exactly one parent",
            examples=values,
        )
    if any(row[0] == TOP for row in rows):
        raise HierarchyError(
            f"{where}: a value reads '*', which stands for a suppressed value in a release",
            hint="recode that value in the source",
        )
    if any(TOP in column for column in _below_top(rows)):
        raise HierarchyError(
            f"{where}: a label below the top reads '*', which stands for a suppressed value",
            hint="give the label another name, or make '*' the only label of the last level",
        )


def _below_top(rows: Sequence[Sequence[str]]) -> list[tuple[str, ...]]:
    labels = list(zip(*rows, strict=True))[1:]
    return labels[:-1] if labels and set(labels[-1]) == {TOP} else labels


def _repeated_leaves(rows: Sequence[Sequence[str]]) -> list[tuple[str, list[str]]]:
    seen: dict[str, tuple[str, ...]] = {}
    repeated: dict[str, bool] = {}
    for row in rows:
        path = tuple(row[1:])
        if row[0] in seen:
            repeated[row[0]] = repeated.get(row[0], False) or seen[row[0]] != path
        else:
            seen[row[0]] = path
    if not repeated:
        return []
    torn = sum(repeated.values())
    message = f"{len(repeated)} leaves occur more than once"
    if torn:
        message += f", {torn} of them with two different parents"
    return [(message, list(repeated))]


def _two_parents(rows: Sequence[Sequence[str]]) -> list[tuple[str, list[str]]]:
    problems = []
    for level in range(1, len(rows[0]) - 1):
        parent: dict[str, str] = {}
        torn = {r[level] for r in rows if parent.setdefault(r[level], r[level + 1]) != r[level + 1]}
        if torn:
            message = f"{len(torn)} labels of level {level} have two parents on level {level + 1}"
            problems.append((message, sorted(torn)))
    return problems


def as_rows(hierarchy: Hierarchy, *, with_null: bool) -> dict[str, NDArray[np.object_]]:
    """The hierarchy in long form, one row a value and level, as `deid.hierarchies` stores it.

    Args:
        hierarchy: the levels.
        with_null: the column holds NULL, which is blank below the top and `*` there.
    """
    parts = [_level_rows(hierarchy, number, with_null) for number in range(len(hierarchy.levels))]
    return {key: np.concatenate([part[key] for part in parts]) for key in parts[0]}


def _level_rows(
    hierarchy: Hierarchy, number: int, with_null: bool
) -> dict[str, NDArray[np.object_]]:
    level, top = hierarchy.levels[number], number == hierarchy.height
    null = [None] if with_null else []
    rows = len(hierarchy.leaves) + len(null)
    return {
        "level": np.full(rows, number, np.object_),
        "value": np.array([*hierarchy.leaves, *null], np.object_),
        "label": _spread(level.labels, level, [TOP if top else None] if null else []),
        "loss": _spread(level.loss.tolist(), level, [float(top)] if null else []),
        "lower": _spread(level.lower, level, null),
        "upper": _spread(level.upper, level, null),
    }


def _spread(
    per_group: Sequence[object], level: Level, extra: Sequence[object]
) -> NDArray[np.object_]:
    values = np.empty(len(per_group) + len(extra), np.object_)
    values[:] = [*per_group, *extra]
    index = np.concatenate(
        [level.groups, np.arange(len(per_group), len(per_group) + len(extra), dtype=np.int64)]
    )
    spread: NDArray[np.object_] = values[index]
    return spread
