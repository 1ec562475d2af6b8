"""Blocks whose cells are free: tight intervals and sets of values instead of steps of hierarchies.

Records that are alike in all quasi-identifiers and hold as one block lose nothing. The others are
cut in parts of records near each other, and in each part blocks grow by the record that costs
least; or, as Mondrian does, the parts are cut on as long as they hold.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from dbdeid.lattice.rule import Portions
from dbdeid.methods.local_recoding.free.growing import MakeUp, grown
from dbdeid.methods.local_recoding.free.measures import Measure
from dbdeid.methods.local_recoding.free.parts import Cut, Records
from dbdeid.methods.local_recoding.free.settling import merged, settled
from dbdeid.methods.local_recoding.search.blocks import LEFT, Blocks, Demands
from dbdeid.methods.local_recoding.search.stages import Layout
from dbdeid.methods.local_recoding.search.taxonomy import Taxonomy

Ints = NDArray[np.int64]
Mask = NDArray[np.bool_]
Told = Callable[[int], None]

PART = 1024  # records of a part, about, in which blocks grow
VARIED = 256  # the same where values are demanded: more records are left over then
BLOCKS = 16  # blocks that a part has room for at least
WIDER = 3  # times that larger blocks are tried with what is left, in parts twice as large


def blocks_of(
    taxonomy: Taxonomy,
    measures: Sequence[Measure],
    demands: Demands,
    *,
    algorithm: str,
    relaxed: bool,
    classes: Callable[[Blocks], Ints],
    told: Told | None = None,
) -> Blocks:
    """Blocks that all hold, with a place for every record; so do those that read alike together.

    Args:
        taxonomy: of the hierarchies; no block goes beyond a `max_level`.
        measures: of the attributes.
        demands: what every block must hold.
        algorithm: dealing or mondrian.
        relaxed: whether mondrian may part equal records.
        classes: the class of each block, by how it reads.
        told: how many records have a block.

    Raises:
        ValueError: records that may be together do not hold as one block.
    """
    units = demands.units
    count = np.ones(units.records, np.int64)
    row = np.repeat(np.arange(len(units.weights)), units.weights)
    if units.subjects is not None:  # records of a person that are alike stay together
        row, count = np.arange(len(units.weights)), units.weights
    codes = [np.asarray(own, np.int64) for own in units.codes]
    records = Records(row, count, [own[row] for own in codes])
    start = _start(taxonomy, records)
    if algorithm == "mondrian" or units.subjects is not None:
        cut = Cut(measures, demands, max(demands.k, 1), 1, relaxed=relaxed)
        block = part = cut(records, start, told)
    else:
        block, part = _dealt(measures, demands, records, start, told)
    block = settled(measures, demands, records, part, start, block, told)

    def read(block: Ints) -> Ints:
        found = classes(_tidied(records, block))
        return np.asarray(found[np.unique(block, return_inverse=True)[1].ravel()])

    return _tidied(records, merged(measures, demands, records, start, block, read))


def _tidied(records: Records, block: Ints) -> Blocks:
    return Blocks(records.row, block, records.count).tidied()


def _start(taxonomy: Taxonomy, records: Records) -> Ints:
    """What no block may leave: the classes on the highest levels that are allowed."""
    top = [
        attribute.groups[attribute.most_general][own].astype(np.int64)
        for attribute, own in zip(taxonomy.lattice.attributes, records.codes, strict=True)
    ]
    return _numbered(np.stack(top))


def _numbered(keys: Ints) -> Ints:
    """Numbers of columns, the same for columns that are the same."""
    found = np.zeros(keys.shape[1], np.int64)
    for own in keys:
        ahead = found * (int(own.max(initial=0)) + 1) + own
        found = np.unique(ahead, return_inverse=True)[1].ravel()
    return found.astype(np.int64)


def _dealt(
    measures: Sequence[Measure],
    demands: Demands,
    records: Records,
    start: Ints,
    told: Told | None,
) -> tuple[Ints, Ints]:
    """The block of each record, `LEFT` of some, and its part."""
    layout = Layout.of(demands)
    value = np.zeros(len(records), np.int64)
    if layout.attribute is not None:
        value = demands.of_units(layout.attribute)[records.row]
    block = _alike(demands, records)
    number = int(block.max(initial=LEFT)) + 1
    size = max((s.portions[0].size for s in layout.stages), default=max(demands.k, 1))
    most = max(PART if layout.attribute is None else VARIED, BLOCKS * size)
    cut = Cut(measures, None, min(size, most // 4), most, relaxed=True)
    # alike ones go along, and do not count: blocks grow of the others
    part = cut(replace(records, count=records.count * (block < 0)), start)
    for wider in range(WIDER):
        for stage in layout.stages:
            some = np.flatnonzero(block < 0)
            portions = stage.portions[0]
            if wider:
                portions = _times(portions, 1 << wider)
            of = _numbered(np.stack([start, part >> wider])[:, some])
            rare = None if stage.rare is None else stage.rare[value[some]]
            found = grown(
                measures,
                records.some(some),
                of,
                MakeUp(portions, value[some], rare),
            )
            found = _held(demands, records.some(some), found)
            there = found >= 0
            block[some[there]] = found[there] + number
            number = int(block.max(initial=LEFT)) + 1
            if told is not None:
                told(int(np.count_nonzero(block >= 0)))
    return _dense(block), part


def _alike(demands: Demands, records: Records) -> Ints:
    """Blocks of records with the same quasi-identifiers, where these hold; `LEFT` for others."""
    keys = np.stack([*records.codes])
    return _held(demands, records, _numbered(keys))


def _held(demands: Demands, records: Records, block: Ints) -> Ints:
    """The same blocks without those that do not hold."""
    placed = block >= 0
    number = int(block.max(initial=LEFT)) + 1
    held = demands.held(records.row[placed], block[placed], records.count[placed], number)
    return _dense(np.where(placed & np.append(held, False)[block], block, LEFT))


def _dense(block: Ints) -> Ints:
    """The same blocks numbered without gaps."""
    found = np.full(len(block), LEFT)
    placed = block >= 0
    found[placed] = np.unique(block[placed], return_inverse=True)[1].ravel()
    return found


def _times(portions: Portions, number: int) -> Portions:
    """Blocks so many times as large, made up alike."""
    return Portions(
        portions.size * number,
        portions.different,
        portions.most * number,
        portions.least,
    )
