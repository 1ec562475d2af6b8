"""What blocks read where quasi-identifiers are free, and how these are measured."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dbdeid.bind.bound import Bound
from dbdeid.data.coding import Cell, Coding
from dbdeid.lattice.tuples import Tuples
from dbdeid.methods.attacks import downcoding
from dbdeid.methods.attacks.downcoding import Downcoded
from dbdeid.methods.common.mixed_levels import Mixed
from dbdeid.methods.common.outcome import Shown, top_of
from dbdeid.methods.local_recoding.free.measures import Scale, measures
from dbdeid.methods.local_recoding.free.search import blocks_of
from dbdeid.methods.local_recoding.search.blocks import Blocks, Demands
from dbdeid.methods.local_recoding.search.taxonomy import Regions, Taxonomy
from dbdeid.prepare import free_cells
from dbdeid.prepare.free_cells import FreeCell
from dbdeid.prepare.quasi_identifier import QuasiIdentifier

Ints = NDArray[np.int64]
Limits = tuple[free_cells.Limit, free_cells.Limit]

NONE: Limits = (None, None)


def limits_of(bound: Bound) -> dict[str, Limits]:
    """The free quasi-identifiers, and how far each reaches."""
    specs = ((c.name, c.spec.hierarchy) for c in bound.free)
    return {name: (spec.lower, spec.upper) for name, spec in specs if spec is not None}


class FreeColumns:
    """The quasi-identifiers of a release of which some are free.

    Args:
        quasi_identifiers: all of them, in the order of the search.
        limits: of those that are free.
        taxonomy: of the hierarchies of all.
        units: the records.
    """

    def __init__(
        self,
        quasi_identifiers: Sequence[QuasiIdentifier],
        limits: dict[str, Limits],
        taxonomy: Taxonomy,
        units: Tuples,
    ) -> None:
        self._quasi_identifiers = quasi_identifiers
        self._limits = limits
        self._taxonomy = taxonomy
        self._units = units
        self._scales = [self._scale(q) for q in quasi_identifiers]

    def _scale(self, q: QuasiIdentifier) -> Scale | None:
        if q.name not in self._limits:
            return None
        if free_cells.is_range(q.column):
            return free_cells.positions(q.column, q.coding, self._limits[q.name])
        return len(q.coding.hierarchy.leaves)

    def search(
        self,
        demands: Demands,
        *,
        algorithm: str,
        relaxed: bool,
        told: Callable[[int], None] | None = None,
    ) -> Blocks:
        """Blocks with a place for every record, all of which hold.

        Args:
            demands: what every block must hold.
            algorithm: dealing or mondrian.
            relaxed: whether mondrian may part equal records.
            told: how many records have a block.
        """
        return blocks_of(
            self._taxonomy,
            measures(self._taxonomy, self._scales),
            demands,
            algorithm=algorithm,
            relaxed=relaxed,
            classes=self.classes,
            told=told,
        )

    def classes(self, blocks: Blocks) -> Ints:
        """The class of each block: those that read alike are one."""
        regions = self._taxonomy.regions(self._units, blocks.row, blocks.block, blocks.number)
        attributes = self._taxonomy.lattice.attributes
        marks: list[Ints] = []
        for i, (q, scale) in enumerate(zip(self._quasi_identifiers, self._scales, strict=True)):
            if scale is None:
                level = regions.levels[i]
                groups = np.stack(attributes[i].groups)[level, regions.codes[i]]
                marks += [level, groups.astype(np.int64)]
            else:
                held = self._held(i, scale, blocks)
                null = q.coding.null
                starred = np.array([_starred(null, own) for own in held.codes])
                marks.append(np.where(starred[held.mark], -1, held.mark))
        found = np.unique(np.stack(marks), axis=1, return_inverse=True)[1]
        return found.ravel().astype(np.int64)

    def columns(self, blocks: Blocks, regions: Regions) -> tuple[Mixed, ...]:
        """What each block reads on each quasi-identifier.

        Args:
            blocks: all records of all units.
            regions: of the blocks.

        Raises:
            HierarchyError: a label would be ambiguous, or an interval cannot be told.
        """
        found = []
        for i, (q, scale) in enumerate(zip(self._quasi_identifiers, self._scales, strict=True)):
            if scale is None:
                found.append(Mixed.of(q.coding, regions.levels[i], regions.codes[i]))
                continue
            held = self._held(i, scale, blocks)
            null = q.coding.null
            cells = [_cell(q, scale, null, codes) for codes in held.codes]
            found.append(_mixed(cells, held.mark))
        return tuple(found)

    def _held(self, i: int, scale: Scale, blocks: Blocks) -> _Held:
        """What tells the cells of blocks on a free attribute."""
        codes = self._units.codes[i][blocks.row].astype(np.int64)
        return _members(codes, blocks) if isinstance(scale, int) else _ends(codes, blocks)

    def loss(self, columns: Sequence[Mixed], blocks: Blocks) -> float:
        """The weighted mean of the losses of all cells."""
        weights, total = self._taxonomy.weights, 0.0
        for weight, mixed in zip(weights, columns, strict=True):
            lost = np.array([cell.loss for cell in mixed.cells])
            total += float(weight * (lost[mixed.mark] @ blocks.sizes))
        return total / (len(weights) * max(self._units.records, 1))

    def downcoded(self, columns: Sequence[Mixed], blocks: Blocks, regions: Regions) -> Downcoded:
        """Count the cells that an attacker who knows the method narrows.

        The ends of an interval, and all members of a set, are values of records of the class: so
        many of its cells are replaced by these. Of others, it is as with all hierarchies.
        """
        units, marks = self._units, np.stack([mixed.mark for mixed in columns])
        class_of = np.unique(marks, axis=1, return_inverse=True)[1].ravel()[blocks.block]
        free = [i for i, scale in enumerate(self._scales) if scale is not None]
        kept = [i for i, scale in enumerate(self._scales) if scale is None]
        found = downcoding.of_blocks(
            self._taxonomy, units, blocks, regions, classes=class_of, attributes=kept
        )
        cells, told = found.cells, 0
        for i in free:
            mixed = columns[i]
            chosen = np.array([v.level == free_cells.CHOSEN for v in mixed.shown.values()])
            open_ = np.array([v.level > 0 and v.size > 1 for v in mixed.shown.values()])
            ends = np.array([len(c.leaves) if c.leaves is not None else 2 for c in mixed.cells])
            cells += int(blocks.sizes[open_[mixed.mark]].sum())
            first = np.unique(class_of, return_index=True)[1]
            mark = mixed.mark[blocks.block[first]]
            told += int(ends[mark][chosen[mark]].sum())
        return Downcoded(cells, found.attempted + told, found.right + told)


@dataclass(frozen=True, slots=True)
class _Held:
    """What tells the cells of blocks on a free attribute.

    Attributes:
        mark: of each block, its place in the list.
        codes: the least and the greatest code of an interval, or all codes of a set.
    """

    mark: Ints
    codes: list[tuple[int, ...]]


def _ends(codes: Ints, blocks: Blocks) -> _Held:
    """The least and the greatest code of each block."""
    most = int(codes.max(initial=0))
    low, high = np.full(blocks.number, most), np.zeros(blocks.number, np.int64)
    np.minimum.at(low, blocks.block, codes)
    np.maximum.at(high, blocks.block, codes)
    keys, mark = np.unique(low * (most + 1) + high, return_inverse=True)
    found = [divmod(key, most + 1) for key in keys.tolist()]
    return _Held(mark.ravel(), [own if own[0] < own[1] else own[:1] for own in found])


def _members(codes: Ints, blocks: Blocks) -> _Held:
    """The codes of each block."""
    width = int(codes.max(initial=0)) + 1
    keys = np.unique(blocks.block * width + codes)
    of = keys // width
    parts = np.split(keys - of * width, np.searchsorted(of, np.arange(1, blocks.number)))
    index: dict[tuple[int, ...], int] = {}
    found = [index.setdefault(tuple(part.tolist()), len(index)) for part in parts]
    return _Held(np.array(found, np.int64), [*index])


def _starred(null: int | None, codes: tuple[int, ...]) -> bool:
    """Whether values and NULL, which has the greatest code, meet."""
    return len(codes) > 1 and codes[-1] == null


def _cell(q: QuasiIdentifier, scale: Scale, null: int | None, codes: tuple[int, ...]) -> FreeCell:
    """What a block with these codes reads."""
    if len(codes) == 1:
        return _single(q.coding, codes[0])
    if _starred(null, codes):
        return _top(q.coding)
    if isinstance(scale, int):
        return free_cells.members(q.coding, codes)
    return free_cells.interval(q.column, q.coding, scale, codes[0], codes[1])


def _single(coding: Coding, code: int) -> FreeCell:
    """A value as it is."""
    leaf = int(coding.leaf[code])
    if leaf < 0:
        return FreeCell(0, Cell(None, 0.0, None, None, None), 1)
    level = coding.hierarchy.levels[0]
    own = (level.labels[leaf],) if coding.hierarchy.declared else None
    cell = Cell(level.labels[leaf], 0.0, level.lower[leaf], level.upper[leaf], own)
    return FreeCell(0, cell, 1)


def _top(coding: Coding) -> FreeCell:
    """Values and NULL together."""
    top = top_of(coding)
    return FreeCell(top.level, top.cell, top.size)


def _mixed(cells: Sequence[FreeCell], mark: Ints) -> Mixed:
    """The cells by block, those that read alike once."""
    rows: dict[str | None, int] = {}
    kept: list[FreeCell] = []
    place = np.empty(len(cells), np.int64)
    for i, own in enumerate(cells):
        if own.cell.label not in rows:
            rows[own.cell.label] = len(kept)
            kept.append(own)
        place[i] = rows[own.cell.label]
    shown = {own.cell.label: Shown(own.level, own.cell, own.size) for own in kept}
    labels = [own.cell.label for own in kept]
    return Mixed(place[mark], labels, [own.cell for own in kept], shown)
