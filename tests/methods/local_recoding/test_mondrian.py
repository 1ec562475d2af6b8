"""Multidimensional partitioning against the paper's example and record by record."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from random_problems import (
    Mixed,
    Record,
    attributes,
    attributes_with_null,
    random_problem,
    random_values,
)

from dbdeid.lattice.lattice import Attribute, Lattice
from dbdeid.lattice.tuples import Tuples, Values
from dbdeid.methods.local_recoding.baselines.mondrian import mondrian
from dbdeid.methods.local_recoding.search.blocks import Blocks, Demands
from dbdeid.methods.local_recoding.search.taxonomy import Taxonomy, block_entropy


def flat(name: str, values: int) -> Attribute:
    codes = np.arange(values, dtype=np.uint32)
    return Attribute(name, (codes, codes * 0), (np.zeros(values), np.ones(values)))


def table(*columns: list[int]) -> Tuples:
    """A table of records as units, without sensitive values."""
    codes, weights = np.unique(np.array(columns), axis=1, return_counts=True)
    return Tuples(tuple(codes.astype(np.uint16)), weights)


def members(blocks: Blocks) -> set[tuple[tuple[int, int], ...]]:
    """The units of each block with the records it has of them."""
    found = defaultdict(list)
    for row, block, records in zip(blocks.row, blocks.block, blocks.records, strict=True):
        found[int(block)].append((int(row), int(records)))
    return {tuple(sorted(rows)) for rows in found.values()}


def test_patients_of_the_paper_come_out_as_in_its_figure_of_the_multidimensional_recoding() -> None:
    # LeFevre, DeWitt & Ramakrishnan 2006, table Patients, k = 2: {[25-26] Male 53711},
    # {[25-27] Female 53712}, {[27-28] Male [53710-53711]}
    age = [0, 0, 1, 2, 2, 3]  # 25 25 26 27 27 28
    sex = [1, 0, 1, 1, 0, 1]  # Male is 1
    zip_code = [1, 2, 1, 0, 2, 1]  # 53711 53712 53711 53710 53712 53711
    lattice = Lattice((flat("age", 4), flat("sex", 2), flat("zip", 3)))
    units = table(age, sex, zip_code)
    found = mondrian(Taxonomy(lattice, units), Demands(units, 2, ()), relaxed=False)
    people = [*zip(age, sex, zip_code, strict=True)]
    rows = [*zip(*(codes.tolist() for codes in units.codes), strict=True)]
    classes = {frozenset(people.index(rows[r]) for r, _ in block) for block in members(found)}
    assert classes == {frozenset({0, 2}), frozenset({1, 4}), frozenset({3, 5})}


def test_relaxed_cuts_take_records_of_one_value_apart() -> None:
    lattice = Lattice((flat("age", 3),))
    units = Tuples((np.arange(3, dtype=np.uint16),), np.array([1, 6, 1]))
    taxonomy, demands = Taxonomy(lattice, units), Demands(units, 2, ())
    assert members(mondrian(taxonomy, demands, relaxed=False)) == {((0, 1), (1, 6), (2, 1))}
    # 0 1 1 1 | 1 1 1 2 and then 0 1 | 1 1 and 1 1 | 1 2
    relaxed = {((0, 1), (1, 1)), ((1, 2),), ((1, 1), (2, 1))}
    assert members(mondrian(taxonomy, demands, relaxed=True)) == relaxed


def test_cuts_beside_the_median_are_tried_where_demands_fail_there() -> None:
    lattice = Lattice((flat("age", 3),))
    of = Values(np.arange(4), np.array([0, 1, 1, 0]), np.array([1, 1, 3, 3]), 2)
    units = Tuples((np.array([0, 0, 1, 2], np.uint16),), of.count, None, (of,))
    demands = Demands(units, 1, (Mixed(2, 1.0),))  # age 2, nearest to the median, has one value
    found = mondrian(Taxonomy(lattice, units), demands, relaxed=False)
    assert members(found) == {((0, 1), (1, 1)), ((2, 3), (3, 3))}


@dataclass(frozen=True)
class Problem:
    lattice: Lattice
    units: Tuples
    demands: Demands

    @property
    def taxonomy(self) -> Taxonomy:
        return Taxonomy(self.lattice, self.units)

    def parts_hold(self, parts: list[Counter[int]]) -> bool:
        """Whether each of some sets of records, as numbers by unit, holds."""
        return all(self.holds(part) for part in parts)

    def holds(self, part: Counter[int]) -> bool:
        members = [*self._records(part)]
        enough = len({r.subject for r in members}) >= max(self.demands.k, 1)
        return enough and all(c.holds(members) for c in self.demands.conditions)

    def _records(self, part: Counter[int]) -> Iterator[Record]:
        number = 10**6
        for row, records in part.items():
            for _ in range(records):
                number += 1
                people = self.units.subjects
                subject = number if people is None else int(people[row])
                value = int(self.units.values[0].value[row]) if self.units.values else 0
                yield Record((), subject, 0.0, value, ())

    def strict_cuts(self, part: Counter[int]) -> Iterator[list[Counter[int]]]:
        """Into children and, in the order of the leaves, in two; on every attribute."""
        for attribute, codes in zip(self.lattice.attributes, self.units.codes, strict=True):
            low = attribute.min_level
            shared = [
                level
                for level in range(low, attribute.height + 1)
                if len({attribute.groups[level][codes[row]] for row in part}) == 1
            ]
            if shared[0] == low:
                continue
            yield split(part, {row: attribute.groups[shared[0] - 1][codes[row]] for row in part})
            path = {
                row: tuple(int(g[codes[row]]) for g in attribute.groups[low:][::-1]) for row in part
            }
            for first in sorted(set(path.values()))[1:]:
                yield split(part, {row: path[row] >= first for row in part})


def split(part: Counter[int], label: dict[int, object]) -> list[Counter[int]]:
    found: dict[object, Counter[int]] = defaultdict(Counter)
    for row, records in part.items():
        found[label[row]][row] = records
    return [*found.values()]


@st.composite
def problems(draw: st.DrawFn) -> Problem:
    made = st.sampled_from([attributes, attributes_with_null])
    width = draw(st.integers(1, 3))
    lattice = Lattice(tuple(draw(draw(made)(name)) for name in "abc"[:width]))
    by_subject, sensitive = draw(st.booleans()), draw(st.booleans())
    people, values = 6 if by_subject else 1, 3 if sensitive else 1
    row = st.tuples(
        *(st.integers(0, a.cardinality - 1) for a in lattice.attributes),
        st.integers(0, values - 1),
        st.integers(0, people - 1),
    )
    rows = sorted(set(draw(st.lists(row, max_size=25))))
    weights = np.array(draw(st.lists(st.integers(1, 4), min_size=len(rows), max_size=len(rows))))
    *codes, value, subject = np.array(rows, np.uint16).reshape(len(rows), width + 2).T
    numbered = np.unique(subject, return_inverse=True)[1] if by_subject else None
    of = Values(np.arange(len(rows)), value.astype(np.int64), weights.astype(np.int64), values)
    share = draw(st.sampled_from([0.5, 0.7, 1.0]))
    conditions = (Mixed(draw(st.integers(1, 2)), share),) if sensitive else ()
    units = Tuples(tuple(codes), weights.astype(np.int64), numbered, (of,) if sensitive else ())
    return Problem(lattice, units, Demands(units, draw(st.integers(1, 4)), conditions))


def by_block(blocks: Blocks) -> dict[int, Counter[int]]:
    found: dict[int, Counter[int]] = defaultdict(Counter)
    for row, block, records in zip(blocks.row, blocks.block, blocks.records, strict=True):
        found[int(block)][int(row)] += int(records)
    return found


@pytest.mark.full
@settings(deadline=None)
@given(problems(), st.booleans())
def test_blocks_hold_and_all_records_are_placed_that_can_be(
    problem: Problem, relaxed: bool
) -> None:
    blocks = mondrian(problem.taxonomy, problem.demands, relaxed=relaxed)
    placed = np.bincount(blocks.row, blocks.records, len(problem.units.weights))
    assert placed.tolist() == problem.units.weights.tolist()
    found = by_block(blocks)
    left = found.pop(-1, Counter())
    assert problem.parts_hold([*found.values()])
    assert sorted(found) == list(range(blocks.number))
    kept = blocks.block >= 0
    regions = problem.taxonomy.regions(
        problem.units, blocks.row[kept], blocks.block[kept], blocks.number
    )
    assert problem.taxonomy.allowed(regions).all()
    columns = [
        a.groups[a.most_general][c]
        for a, c in zip(problem.lattice.attributes, problem.units.codes, strict=True)
    ]
    everything = Counter(dict(enumerate(problem.units.weights.tolist())))
    tops = split(everything, {row: tuple(int(c[row]) for c in columns) for row in everything})
    failing = [top for top in tops if not problem.holds(top)]
    assert left == sum(failing, Counter())


@pytest.mark.full
@settings(deadline=None)
@given(problems())
def test_no_strict_cut_is_left_over(problem: Problem) -> None:
    blocks = mondrian(problem.taxonomy, problem.demands, relaxed=False)
    found = by_block(blocks)
    assert sum(map(len, found.values())) == len(problem.units.weights)  # no unit in two blocks
    found.pop(-1, None)
    for part in found.values():
        assert not any(problem.parts_hold(parts) for parts in problem.strict_cuts(part))


@pytest.mark.full
@settings(deadline=None)
@given(problems())
def test_relaxed_blocks_are_parts_of_strict_ones(problem: Problem) -> None:
    taxonomy = problem.taxonomy
    strict, relaxed = (mondrian(taxonomy, problem.demands, relaxed=kind) for kind in (False, True))
    of = dict(zip(strict.row.tolist(), strict.block.tolist(), strict=True))
    for block, part in by_block(relaxed).items():
        wholes = {of[row] for row in part}
        assert len(wholes) == 1
        assert (block == -1) == (wholes == {-1})


@pytest.mark.full
@settings(deadline=None)
@given(problems())
def test_relaxed_blocks_of_k_alone_have_fewer_than_two_k_records_or_one_value(
    problem: Problem,
) -> None:
    units = Tuples(problem.units.codes, problem.units.weights)
    taxonomy, demands = Taxonomy(problem.lattice, units), Demands(units, problem.demands.k, ())
    blocks = mondrian(taxonomy, demands, relaxed=True)
    kept = blocks.block >= 0
    regions = taxonomy.regions(units, blocks.row[kept], blocks.block[kept], blocks.number)
    lowest = (regions.levels == np.array(problem.lattice.bottom)[:, None]).all(axis=0)
    assert (lowest | (blocks.sizes < 2 * demands.k)).all()


@pytest.mark.sampled(2)
@pytest.mark.parametrize("k", [3, 10])
def test_relaxing_loses_less_by_every_measure(k: int) -> None:
    lattice, tuples = random_problem(seed=5, width=4, rows=3000)
    values = random_values(tuples, 6)
    units = Tuples(
        tuple(c[values.row] for c in tuples.codes),
        values.count,
        None,
        (Values(np.arange(len(values.row)), values.value, values.count, values.cardinality),),
    )
    taxonomy, demands = Taxonomy(lattice, units), Demands(units, k, (Mixed(3, 0.6),))
    told: list[int] = []
    losses = []
    for relaxed in (False, True):
        blocks = mondrian(taxonomy, demands, relaxed=relaxed, settled=told.append)
        assert blocks.left == 0
        assert told[-1] == units.records
        regions = taxonomy.regions(units, blocks.row, blocks.block, blocks.number)
        inside = block_entropy(taxonomy, units, blocks.row, blocks.block, blocks.records)
        nodes = float((taxonomy.entropies(regions) * blocks.sizes).sum())
        cells = float((taxonomy.losses(regions) * blocks.sizes).sum())
        losses.append((inside, nodes, cells, -blocks.number))
    strict, refined = losses
    assert all(a < b for a, b in zip(refined, strict, strict=True))
