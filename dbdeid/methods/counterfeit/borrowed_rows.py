"""Classes made one by one under a ceiling, staged: which records show what."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dbdeid.engine.session import Session
from dbdeid.lattice.exploration import Placed
from dbdeid.lattice.lattice import Lattice, Node
from dbdeid.lattice.tuples import Tuples
from dbdeid.lattice.tuples import Values as Held
from dbdeid.methods.common.mixed_levels import Mixed
from dbdeid.methods.common.outcome import Values
from dbdeid.methods.common.searching import Follow, Ground
from dbdeid.methods.counterfeit import padded_rows
from dbdeid.methods.counterfeit.padded_rows import PARTS, PIECES, Names
from dbdeid.methods.counterfeit.search.borrow import borrow
from dbdeid.methods.counterfeit.search.borrowing import Work
from dbdeid.methods.counterfeit.search.recoding import Recoding, Regions, candidates, regions_of
from dbdeid.prepare.problem import Parameters

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
    parameters: Parameters[object],
    nodes: Sequence[Node],
    size: int,
    progress: Follow | None,
    kept: dict[tuple[Node, ...], Work],
) -> Recoded | None:
    """Put every record into a class under one of the nodes, and stage what it shows.

    Args:
        ground: the staged source.
        names: of the released columns.
        parameters: what must hold.
        nodes: the transformations under the ceiling.
        size: that smaller classes are padded to.
        progress: told how many records have a class, and how many have none yet.
        kept: see `borrow`.

    Returns:
        None where some records find no class that holds the models, or a padded one would show.
    """
    units = _Units.of(ground.tuples)
    judged, tuples = [s for s in parameters.sensitive if s.models], units.tuples

    def settled(records: int) -> None:
        if progress is not None:
            progress(Placed(records, tuples.records))

    found = borrow(
        ground.lattice,
        tuples,
        nodes=nodes,
        k=parameters.k,
        size=size,
        conditions=judged,
        progress=settled,
        kept=kept,
    )
    if found is None:
        return None
    group = candidates(ground.lattice, tuples, found, nodes=nodes, k=parameters.k, size=size)
    if group is None:
        return None
    regions = regions_of(tuples, found)
    columns = [
        Mixed.of(q.coding, levels, codes)
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
    columns: Sequence[Mixed],
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
        marks = column.mark.tolist()
        parts[f"k{i}"] = [column.labels[mark] for mark in marks]
        if q.bounds:
            bounds.append([column.cells[mark].lower for mark in marks])
            bounds.append([column.cells[mark].upper for mark in marks])
    parts |= {f"b{i}": cells for i, cells in enumerate(bounds)}
    session.upload(PARTS.name, parts)
