"""Blocks that choose their cells, against the definitions, record by record."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import Literal

import numpy as np
import pytest
from block_problems import Problem, problems
from hypothesis import given, settings
from hypothesis import strategies as st

from dbdeid.lattice.lattice import Attribute, Lattice
from dbdeid.lattice.tuples import Tuples
from dbdeid.methods.local_recoding.baselines.mondrian import mondrian
from dbdeid.methods.local_recoding.free.measures import Measure, Scale, measures
from dbdeid.methods.local_recoding.free.search import blocks_of
from dbdeid.methods.local_recoding.search.blocks import Blocks, Demands
from dbdeid.methods.local_recoding.search.taxonomy import Taxonomy

Algorithm = Literal["dealing", "mondrian"]


def chosen(attribute: Attribute) -> Attribute:
    """The same values without a hierarchy: themselves, and the top."""
    same = np.arange(attribute.cardinality, dtype=np.uint32)
    none = np.zeros(attribute.cardinality)
    groups = (same, same, none.astype(np.uint32))
    found = Attribute(attribute.name, groups, (none, none, none + 1), attribute.weight)
    return replace(found, null=attribute.null)


@st.composite
def free(draw: st.DrawFn) -> tuple[Problem, list[Scale | None]]:
    """A problem, and how each attribute is measured."""
    problem = draw(problems())
    made: list[Attribute] = []
    scales: list[Scale | None] = []
    for attribute in problem.lattice.attributes:
        kind = draw(st.sampled_from(["range", "set", "tree"]))
        made.append(attribute if kind == "tree" else chosen(attribute))
        if kind == "range":
            position = np.linspace(0, 1, attribute.cardinality)
            if attribute.null is not None:
                position[attribute.null] = -1
            scales.append(position)
        else:
            scales.append(attribute.cardinality if kind == "set" else None)
    return replace(problem, lattice=Lattice(tuple(made))), scales


def cost(problem: Problem, scales: list[Scale | None], rows: list[int]) -> float:
    """What the cells of some units cost a record, by definition."""
    total = 0.0
    shares = problem.lattice.shares
    for i, (attribute, scale) in enumerate(zip(problem.lattice.attributes, scales, strict=True)):
        codes = {int(problem.units.codes[i][row]) for row in rows}
        if scale is None:
            level = next(
                v
                for v in range(attribute.min_level, attribute.height + 1)
                if len({int(attribute.groups[v][c]) for c in codes}) == 1
            )
            own = float(attribute.loss[level][min(codes)])
        elif len(codes) == 1:
            own = 0.0
        elif attribute.null in codes:
            own = 1.0
        elif isinstance(scale, int):
            own = (len(codes) - 1) / (scale - 1)
        else:
            own = float(scale[max(codes)] - scale[min(codes)])
        total += shares[i] * own
    return total


def found_by(
    problem: Problem, scales: list[Scale | None], algorithm: Algorithm, *, relaxed: bool = False
) -> Blocks:
    own = measures(problem.taxonomy, scales)

    def classes(blocks: Blocks) -> np.ndarray:
        reads = [read(problem, scales, members) for members in rows_of(blocks)]
        return np.array([reads.index(one) for one in reads])

    return blocks_of(
        problem.taxonomy,
        own,
        problem.demands,
        algorithm=algorithm,
        relaxed=relaxed,
        classes=classes,
    )


def rows_of(blocks: Blocks) -> list[list[int]]:
    return [blocks.row[blocks.block == b].tolist() for b in range(blocks.number)]


def read(problem: Problem, scales: list[Scale | None], rows: list[int]) -> tuple[object, ...]:
    """What some units read together."""
    cells = problem.read([(row, 0) for row in rows])
    found: list[object] = []
    for i, scale in enumerate(scales):
        codes = {int(problem.units.codes[i][row]) for row in rows}
        if scale is None:
            found.append(cells[i])
        elif problem.lattice.attributes[i].null in codes and len(codes) > 1:
            found.append("*")
        else:
            found.append(
                tuple(sorted(codes)) if isinstance(scale, int) else (min(codes), max(codes))
            )
    return tuple(found)


@pytest.mark.parametrize("algorithm", ["dealing", "mondrian"])
@settings(deadline=None, max_examples=40)
@given(given_=free(), relaxed=st.booleans())
def test_every_class_holds_and_no_record_is_lost(
    algorithm: Algorithm, given_: tuple[Problem, list[Scale | None]], relaxed: bool
) -> None:
    problem, scales = given_
    if not problem.possible():
        return
    blocks = found_by(problem, scales, algorithm, relaxed=relaxed)
    parts = problem.split(blocks)
    for members in parts.values():
        assert problem.holds(members)
        assert problem.within(members)
    dealt = [row for members in parts.values() for row, _ in members]
    assert Counter(dealt) == Counter(row for row, _ in problem.records)
    alike: dict[tuple[object, ...], list[tuple[int, int]]] = {}
    for members in parts.values():
        own = read(problem, scales, [row for row, _ in members])
        alike.setdefault(own, []).extend(members)
    assert all(problem.holds(members) for members in alike.values())


@settings(deadline=None, max_examples=40)
@given(given_=free(), data=st.data())
def test_cells_cost_what_they_are_defined_to(
    given_: tuple[Problem, list[Scale | None]], data: st.DataObject
) -> None:
    problem, scales = given_
    rows = len(problem.units.weights)
    some = data.draw(st.lists(st.integers(0, rows - 1), min_size=1, max_size=6))
    more = data.draw(st.integers(0, rows - 1))
    own, first = np.array(some), np.zeros(len(some), np.int64)
    losses = joined = grown = 0.0
    for i, measure in enumerate(measures(problem.taxonomy, scales)):
        codes = problem.units.codes[i].astype(np.int64)
        cells = measure.cells(codes[own], first, 1)
        losses += float(cells.losses()[0])
        joined += float(cells.joined(codes[[more]], np.zeros(1, np.int64))[0])
        grown += _grown(measure, codes[[*some, more]])
    assert losses == pytest.approx(cost(problem, scales, some))
    assert joined == pytest.approx(cost(problem, scales, [*some, more]))
    assert grown == pytest.approx(cost(problem, scales, [*some, more]), abs=1e-5)


def _grown(measure: Measure, codes: np.ndarray) -> float:
    """What a cell costs that takes all records but the last, and then that one."""
    growing, part = measure.growing(codes[None, :]), np.zeros(1, np.int64)
    for place in range(len(codes) - 1):
        (growing.take if place else growing.begin)(part, np.array([place]))
    return float(growing.costs()[0, -1])


def table(rng: np.random.Generator, records: int) -> tuple[Lattice, Tuples, list[Scale | None]]:
    """A number, a date as a number, and two columns of categories."""
    columns = np.stack(
        [
            rng.integers(0, 64, records),
            np.minimum(rng.exponential(12, records), 63).astype(np.int64),
            rng.choice(8, records, p=np.arange(8, 0, -1) / 36),
            rng.integers(0, 3, records),
        ]
    )
    codes, weights = np.unique(columns, axis=1, return_counts=True)
    attributes, scales = [], list[Scale | None]()
    for i, values in enumerate((64, 64, 8, 3)):
        same, top = np.arange(values, dtype=np.uint32), np.zeros(values, np.uint32)
        groups, width = [same], 2
        while width < values:
            groups.append(same // width)
            width *= 2
        sizes = [np.bincount(own)[own] for own in (*groups, top)]
        loss = tuple((size - 1) / (values - 1) for size in sizes)
        attributes.append(Attribute("abcd"[i], (*groups, top), loss))
        scales.append(np.linspace(0, 1, values) if i < 2 else values)
    return Lattice(tuple(attributes)), Tuples(tuple(codes.astype(np.uint32)), weights), scales


def test_blocks_lose_less_than_parts_of_a_hierarchy() -> None:
    lattice, units, scales = table(np.random.default_rng(5), 1500)
    demands = Demands(units, 5, ())
    taxonomy = Taxonomy(lattice, units)
    cut = mondrian(taxonomy, demands, relaxed=False)
    regions = taxonomy.regions(units, cut.row, cut.block, cut.number)
    by_steps = float(taxonomy.losses(regions) @ cut.sizes / units.records)
    flat = Lattice(tuple(map(chosen, lattice.attributes)))
    problem = Problem(flat, units, 5, ())
    lost = {}
    for algorithm in ("dealing", "mondrian"):
        blocks = blocks_of(
            problem.taxonomy,
            measures(problem.taxonomy, scales),
            demands,
            algorithm=algorithm,
            relaxed=False,
            classes=lambda blocks: np.arange(blocks.number),
        )
        losses = [cost(problem, scales, rows) for rows in rows_of(blocks)]
        lost[algorithm] = float(np.array(losses) @ blocks.sizes / units.records)
    assert lost["mondrian"] < by_steps
    assert lost["dealing"] < 0.75 * by_steps
