"""Look-ups in `deid.hierarchies`; the twins of `deid.generalize`, `deid.lca`, `deid.label_loss`.

They read on a cursor of the connection, so they see what is committed.
"""

from __future__ import annotations

import weakref
from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

from dbdeid.errors import HierarchyError

_TOP = "*"
_NAMED = "(h.hierarchy = $name OR h.release || '.' || h.hierarchy = $name)"


@dataclass(frozen=True, slots=True)
class Step:
    """The label of one value at one level, in one release."""

    release: str
    level: int
    value: str | None
    label: str | None


class Store:
    """The table `deid.hierarchies` of one database.

    Args:
        con: an open connection, held weakly: a function it knows must not keep it alive.
        catalog: the database that holds the table.
    """

    def __init__(self, con: Any, catalog: str) -> None:
        self._con = weakref.ref(con)
        quoted = catalog.replace('"', '""')
        self._table = f'"{quoted}".deid.hierarchies AS h'

    def _rows(self, query: str, **values: object) -> list[tuple[Any, ...]]:
        con = self._con()
        if con is None:
            raise HierarchyError("the connection that registered the functions of dbdeid is closed")
        with con.cursor() as cursor:
            found: list[tuple[Any, ...]] = cursor.execute(query, values).fetchall()
        return found

    def tops(self, name: str) -> dict[str, int]:
        """The top level of the hierarchy of that name in each release that has it."""
        rows = self._rows(
            f"SELECT h.release, max(h.level) FROM {self._table} WHERE {_NAMED} GROUP BY h.release",
            name=name,
        )
        if not rows:
            raise HierarchyError(f"no hierarchy {name} in deid.hierarchies")
        return dict(rows)

    def steps(self, name: str, values: Collection[str], level: int | None = None) -> list[Step]:
        """The labels of some values, at one level or at all."""
        rows = self._rows(
            f"SELECT h.release, h.level, h.value, h.label FROM {self._table} WHERE {_NAMED} "
            "AND h.level = coalesce($level, h.level) AND list_contains($values, h.value)",
            name=name,
            level=level,
            values=list(values),
        )
        return [Step(*row) for row in rows]

    def levels(self, name: str, level: int) -> list[str]:
        """The releases whose hierarchy of that name has the level."""
        rows = self._rows(
            f"SELECT DISTINCT h.release FROM {self._table} WHERE {_NAMED} AND h.level = $level",
            name=name,
            level=level,
        )
        return [str(release) for (release,) in rows]

    def losses(self, name: str, labels: Collection[str]) -> dict[str, set[float]]:
        """The losses of some labels, written plainly or as label@level."""
        rows = self._rows(
            f"SELECT DISTINCT h.label, h.level, h.loss FROM {self._table} WHERE {_NAMED} AND ("
            "list_contains($labels, h.label) OR list_contains($labels, h.label || '@' || h.level))",
            name=name,
            labels=list(labels),
        )
        found: dict[str, set[float]] = {}
        for label, level, loss in rows:
            for spelled in (label, f"{label}@{level}"):
                found.setdefault(spelled, set()).add(loss)
        return found


def generalize(
    store: Store, name: str | None, level: int | None, values: Collection[str | None]
) -> dict[str | None, str | None]:
    """The label of each value at a level of the stored hierarchy.

    Raises:
        HierarchyError: the hierarchy or level is unknown, a value has no label, or releases that
            share the name differ.
    """
    missing = HierarchyError(f"no hierarchy {name} with a level {level} in deid.hierarchies")
    if name is None or level is None:
        raise missing
    releases = store.levels(name, level)
    if not releases:
        raise missing
    labels: dict[str | None, set[str | None]] = {}
    for step in store.steps(name, [v for v in values if v is not None], level):
        labels.setdefault(step.value, set()).add(step.label)
    if None in values:
        tops = store.tops(name)
        labels[None] = {_TOP if tops[release] == level else None for release in releases}
    return {value: _only(labels, value, name, level) for value in values}


def _only(
    labels: dict[str | None, set[str | None]], value: str | None, name: str, level: int
) -> str | None:
    known = labels.get(value, set())
    if value is not None:
        known = known - {None}
    if not known:
        raise HierarchyError(f"hierarchy {name} has no label at level {level} for a value")
    if len(known) > 1:
        raise _ambiguous(name)
    return next(iter(known))


def _ambiguous(name: str) -> HierarchyError:
    return HierarchyError(
        f"hierarchy {name} is ambiguous, releases differ", hint="name it release.hierarchy"
    )


Leaves = frozenset[str | None]


def lowest_common_ancestors(
    store: Store, name: str | None, groups: Collection[Leaves]
) -> dict[Leaves, str | None]:
    """For each group of values the label at the lowest level where all have the same one.

    None for no values and where all are None; None and a value meet at the top.

    Raises:
        HierarchyError: the hierarchy is unknown, a value has no label, or releases differ.
    """
    if name is None:
        raise HierarchyError("no hierarchy NULL in deid.hierarchies")
    store.tops(name)
    # one look-up for all groups: a query for each would take minutes on a large table
    paths: dict[str | None, dict[int, set[str | None]]] = {}
    for step in store.steps(name, sorted({v for group in groups for v in group if v is not None})):
        paths.setdefault(step.value, {}).setdefault(step.level, set()).add(step.label)
    return {group: _meeting(name, group, paths) for group in groups}


def _meeting(
    name: str, group: Leaves, paths: dict[str | None, dict[int, set[str | None]]]
) -> str | None:
    leaves = group - {None}
    if not leaves:
        return None
    if not leaves <= paths.keys():
        raise HierarchyError(f"hierarchy {name} lacks one of the values")
    if any(len(labels - {None}) > 1 for leaf in leaves for labels in paths[leaf].values()):
        raise _ambiguous(name)
    if None in group:
        return _TOP
    for level in sorted(set.intersection(*(set(paths[leaf]) for leaf in leaves))):
        shared = set().union(*(paths[leaf][level] for leaf in leaves)) - {None}
        if len(shared) == 1:
            return next(iter(shared))
    raise HierarchyError(f"hierarchy {name} has no single top")


def label_losses(
    store: Store, name: str | None, labels: Collection[str | None]
) -> dict[str | None, float]:
    """The loss of each label, 0 for None.

    Raises:
        HierarchyError: the hierarchy or a label is unknown, or a label has several losses.
    """
    if name is None:
        raise HierarchyError("no hierarchy NULL in deid.hierarchies")
    store.tops(name)
    losses = store.losses(name, [label for label in labels if label is not None])
    found: dict[str | None, float] = {}
    for label in labels:
        known = {0.0} if label is None else losses.get(label, set())
        if not known:
            raise HierarchyError(f"hierarchy {name} has no such label")
        if len(known) > 1:
            raise HierarchyError(
                f"hierarchy {name} has the label with several meanings",
                hint="write it label@level, or name the hierarchy release.hierarchy",
            )
        found[label] = next(iter(known))
    return found
