"""Classes made one by one under a ceiling, staged: which records show what."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from math import inf

import numpy as np
from numpy.typing import NDArray

from dbdeid.data.coding import Cell, Coding
from dbdeid.engine.session import Session
from dbdeid.errors import HierarchyError
from dbdeid.methods import padded_rows
from dbdeid.methods.outcome import Shown, Values
from dbdeid.methods.padded_rows import PARTS, PIECES, Names
from dbdeid.methods.parameters import Parameters
from dbdeid.methods.searching import Ground
from dbdeid.search.borrow import borrow
from dbdeid.search.exploration import Progress
from dbdeid.search.lattice import Lattice, Node
from dbdeid.search.recoding import Recoding, Regions, candidates, regions_of
from dbdeid.search.tuples import Tuples
from dbdeid.search.tuples import Values as Held

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Recoded:
    """What is known of the classes that were staged.

    Attributes:
        shown: of each quasi-identifier, what its released values stand for.
        counterfeits: records that the classes lack.
        degree: the greatest degree of generalization of a record.
        loss: the mean of it.
        looked_at: transformations that classes were made under.
    """

    shown: tuple[Values, ...]
    counterfeits: int
    degree: float
    loss: float
    looked_at: int


def recode(
    ground: Ground,
    names: Names,
    parameters: Parameters,
    nodes: Sequence[Node],
    size: int,
    progress: Callable[[Progress], None] | None,
) -> Recoded | None:
    """Put every record into a class under one of the nodes, and stage what it shows.

    Args:
        ground: the staged source.
        names: of the released columns.
        parameters: what must hold.
        nodes: the transformations under the ceiling.
        size: that smaller classes are padded to.
        progress: told how many records have a class, and how many have none yet.

    Returns:
        None where some records find no class that holds the models, or a padded one would show.
    """
    units = _Units.of(ground.tuples)
    judged, tuples = [s for s in parameters.sensitive if s.models], units.tuples

    def settled(records: int) -> None:
        if progress is not None:
            progress(Progress(records, tuples.records - records, inf, 0.0))

    found = borrow(
        ground.lattice,
        tuples,
        nodes=nodes,
        k=parameters.k,
        size=size,
        conditions=judged,
        progress=settled,
    )
    if found is None:
        return None
    group = candidates(ground.lattice, tuples, found, nodes=nodes, k=parameters.k, size=size)
    if group is None:
        return None
    regions = regions_of(tuples, found)
    columns = [
        _Column.of(q.coding, levels.tolist(), codes)
        for q, levels, codes in zip(
            names.quasi_identifiers, regions.levels.T, regions.codes.T, strict=True
        )
    ]
    _stage(ground.session, names, units, found, columns)
    # one group of all candidates: with one for each signature the catalog would tell more
    suspected = np.flatnonzero(group >= 0)
    padded_rows.upload_groups(ground.session, suspected, np.zeros_like(suspected))
    unchanged = [
        q.name
        for q, levels in zip(names.quasi_identifiers, regions.levels.T, strict=True)
        if not levels.any()
    ]
    ground.session.run(padded_rows.pieces_step(names, unchanged))
    degrees = _degrees(ground.lattice, regions)
    return Recoded(
        tuple(column.shown for column in columns),
        int(found.counterfeits.sum()),
        float(degrees.max(initial=0.0)),
        float(degrees @ found.real / max(found.real.sum(), 1)),
        len(nodes),
    )


@dataclass(frozen=True, slots=True)
class _Units:
    """Tuples with one sensitive value each, and where they are in the staged tables."""

    tuples: Tuples
    row: Ints
    code: Ints

    @classmethod
    def of(cls, tuples: Tuples) -> _Units:
        if not tuples.values:
            rows = np.arange(len(tuples.weights))
            return cls(tuples, rows, np.zeros(len(rows), np.int64))
        held = tuples.values[0]
        one = Held(np.arange(len(held.row)), held.value, held.count, held.cardinality)
        codes = tuple(own[held.row] for own in tuples.codes)
        return cls(Tuples(codes, held.count, None, (one,)), held.row, held.value)


@dataclass(frozen=True, slots=True)
class _Column:
    """What one quasi-identifier shows in each class, and what its values stand for."""

    labels: list[str | None]
    cells: list[Cell]
    shown: Values

    @classmethod
    def of(cls, coding: Coding, levels: Sequence[int], codes: Ints) -> _Column:
        mixed = mixed_labels(coding)
        at = {level: coding.cells(level) for level in set(levels)}
        sizes = {level: coding.sizes(level) for level in at}
        labels: list[str | None] = []
        cells: list[Cell] = []
        shown: dict[str | None, Shown] = {}
        for level, code in zip(levels, codes.tolist(), strict=True):
            cell = at[level][code]
            label = cell.label
            if level > 0 and label in mixed:
                label = f"{label}@{level}"
            shown[label] = Shown(level, replace(cell, label=label), int(sizes[level][code]))
            labels.append(label)
            cells.append(cell)
        return cls(labels, cells, shown)


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
        cuts = np.cumsum(np.bincount(level.groups, minlength=len(level.labels)))[:-1]
        for label, leaves in zip(level.labels, np.split(order, cuts), strict=True):
            if label is not None:
                yield label, tuple(leaves.tolist())


def _degrees(lattice: Lattice, regions: Regions) -> Floats:
    """The degree of generalization of each class."""
    total = np.zeros(len(regions.levels))
    for attribute, share, levels, codes in zip(
        lattice.attributes, lattice.shares, regions.levels.T, regions.codes.T, strict=True
    ):
        total += share * np.stack(attribute.loss)[levels, codes]
    return total


def _stage(
    session: Session,
    names: Names,
    units: _Units,
    recoding: Recoding,
    columns: Sequence[_Column],
) -> None:
    """What a class shows, and how many records of a tuple and a value go to it."""
    order = np.lexsort((recoding.class_, recoding.row))
    row, class_, records = (own[order] for own in (recoding.row, recoding.class_, recoding.records))
    ends = np.cumsum(records)
    starts = ends - records
    first_of_row = np.searchsorted(row, row)
    offset = starts[first_of_row]
    session.upload(
        PIECES.name,
        {
            "tuple": units.row[row],
            "code": units.code[row],
            "first": starts - offset + 1,
            "last": ends - offset,
            "part": class_,
        },
    )
    parts: dict[str, object] = {"part": np.arange(len(recoding.signatures))}
    bounds = []
    for i, (q, column) in enumerate(zip(names.quasi_identifiers, columns, strict=True)):
        parts[f"k{i}"] = column.labels
        if q.bounds:
            bounds.append([cell.lower for cell in column.cells])
            bounds.append([cell.upper for cell in column.cells])
    parts |= {f"b{i}": cells for i, cells in enumerate(bounds)}
    session.upload(PARTS.name, parts)
