"""Progressive dealing against the definitions of what is demanded, record by record."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Literal

import numpy as np
import pytest
from block_problems import Problem, problems
from hypothesis import given, settings
from hypothesis import strategies as st
from realdata import load

from dbdeid.lattice.lattice import Attribute, Lattice
from dbdeid.lattice.tuples import Tuples, Values
from dbdeid.methods.local_recoding.baselines.mondrian import mondrian
from dbdeid.methods.local_recoding.search.blocks import LEFT, Blocks
from dbdeid.methods.local_recoding.search.dealing import deal
from dbdeid.methods.local_recoding.search.repair import settle
from dbdeid.methods.local_recoding.search.taxonomy import block_entropy
from dbdeid.privacy import BasicBeta, LDiversity, SensitiveModel

TAILS: list[Literal["append", "eligible"]] = ["append", "eligible"]


@pytest.mark.parametrize("tail", TAILS)
@settings(deadline=None)
@given(problem=problems())
def test_every_dealt_block_holds_and_no_record_is_lost(
    tail: Literal["append", "eligible"], problem: Problem
) -> None:
    told: list[int] = []
    blocks = deal(problem.taxonomy, problem.demands, tail=tail, settled=told.append)
    parts = problem.split(blocks)
    left = parts.pop(LEFT, [])
    for members in parts.values():
        assert problem.holds(members)
        assert problem.within(members)
    dealt = [row for members in [left, *parts.values()] for row, _ in members]
    assert Counter(dealt) == Counter(row for row, _ in problem.records)
    assert sorted(parts) == list(range(blocks.number))
    assert told == sorted(told)
    assert not told or told[-1] == len(dealt) - len(left)


@pytest.mark.parametrize("tail", TAILS)
@settings(deadline=None)
@given(problem=problems(), data=st.data())
def test_the_order_of_the_units_does_not_matter(
    tail: Literal["append", "eligible"], problem: Problem, data: st.DataObject
) -> None:
    units = problem.units
    if units.subjects is not None:
        return
    rows = len(units.weights)
    order = np.array(data.draw(st.permutations(range(rows))))
    values = (replace(v, value=v.value[order], count=v.count[order]) for v in units.values)
    mixed = Tuples(
        tuple(codes[order] for codes in units.codes), units.weights[order], None, tuple(values)
    )
    found = deal(problem.taxonomy, problem.demands, tail=tail)
    other = replace(problem, units=mixed)
    again = deal(other.taxonomy, other.demands, tail=tail)
    assert members(replace(again, row=order[again.row])) == members(found)


def members(blocks: Blocks) -> Counter[tuple[tuple[int, int], ...]]:
    """The units and records of the blocks, with what is left."""
    rows = zip(blocks.block.tolist(), blocks.row.tolist(), blocks.records.tolist(), strict=True)
    found: dict[int, list[tuple[int, int]]] = {}
    for block, row, records in rows:
        found.setdefault(block, []).append((row, records))
    return Counter(tuple(sorted(own)) for own in found.values())


def flat(name: str, values: int) -> Attribute:
    codes = np.arange(values, dtype=np.uint32)
    return Attribute(name, (codes, codes * 0), (np.zeros(values), np.ones(values)))


def table(rows: list[tuple[int, int, int]]) -> Tuples:
    """Units from codes, sensitive values and records."""
    code, value, count = np.array(rows).T
    of = Values(np.arange(len(rows)), value, count, int(value.max()) + 1)
    return Tuples((code.astype(np.uint16),), count, None, (of,))


def diverse(least: float, kind: Literal["distinct", "entropy"]) -> tuple[SensitiveModel, ...]:
    return (LDiversity(model="l_diversity", column="s", l=least, kind=kind),)


def test_a_class_gives_as_many_blocks_as_its_values_allow() -> None:
    # five of one value and five of others: each block has one of it and one of the others
    units = table([(0, 0, 5), (0, 1, 2), (0, 2, 2), (0, 3, 1)])
    problem = Problem(Lattice((flat("a", 1),)), units, 2, (diverse(2, "distinct"),))
    blocks = deal(problem.taxonomy, problem.demands)
    assert (blocks.number, blocks.left) == (5, 0)
    assert blocks.sizes.tolist() == [2] * 5


def test_what_a_class_cannot_deal_waits_for_a_more_general_one() -> None:
    # two of a value on code 0 need others, who are on code 1
    units = table([(0, 0, 4), (0, 1, 2), (1, 1, 2), (1, 2, 2)])
    problem = Problem(Lattice((flat("a", 2),)), units, 2, (diverse(2, "entropy"),))
    blocks = deal(problem.taxonomy, problem.demands)
    regions = problem.taxonomy.regions(
        units, blocks.row[blocks.block >= 0], blocks.block[blocks.block >= 0], blocks.number
    )
    assert blocks.number == 4
    assert (regions.levels == 0).all()
    assert blocks.left == 2


def test_a_value_too_rare_for_small_blocks_gets_a_large_one_first() -> None:
    units = table([(0, 0, 30), (0, 1, 29), (0, 2, 1)])
    models = ((BasicBeta(model="basic_beta", column="s", beta=1.0),),)
    problem = Problem(Lattice((flat("a", 1),)), units, 2, models)
    blocks = deal(problem.taxonomy, problem.demands)
    rare = int(blocks.block[blocks.row == 2][0])
    # of 60 people one has it, so that of 30 in a block one may
    assert rare != LEFT
    assert blocks.sizes[rare] == 30
    assert blocks.number == 16


ADULT = (
    "sex",
    "race",
    "marital-status",
    "education",
    "native-country",
    "workclass",
    "salary-class",
)


def adult(shared: Path, k: int, *models: SensitiveModel) -> Problem:
    """The reference with occupation as sensitive attribute."""
    lattice, tuples = load(shared, "adult.csv", (*ADULT, "occupation"))
    *codes, occupation = tuples.codes
    names, value = np.unique(occupation, return_inverse=True)
    of = Values(np.arange(len(value)), value, tuples.weights, len(names))
    units = Tuples(tuple(codes), tuples.weights, None, (of,))
    return Problem(Lattice(lattice.attributes[:-1]), units, k, (models,))


@pytest.mark.sampled(4)
@pytest.mark.parametrize(
    ("models", "least", "most"),
    [
        ((), 1, 0.24),
        (diverse(2, "distinct"), 1, 0.24),
        (diverse(2, "entropy"), 2, 0.32),
        (diverse(3, "entropy"), 3, 0.50),
    ],
    ids=["k", "distinct 2", "entropy 2", "entropy 3"],
)
def test_blocks_of_the_reference_lose_little(
    shared: Path, models: tuple[SensitiveModel, ...], least: float, most: float
) -> None:
    problem = adult(shared, 3, *models)
    taxonomy, units = problem.taxonomy, problem.units
    blocks = settle(taxonomy, problem.demands, deal(taxonomy, problem.demands))
    assert blocks.records.sum() == 30_162
    assert (blocks.sizes >= 3).all()
    counts = np.zeros((blocks.number, units.values[0].cardinality))
    np.add.at(counts, (blocks.block, units.values[0].value[blocks.row]), blocks.records)
    share = counts / counts.sum(axis=1, keepdims=True)
    entropy = -(share * np.log(np.where(share, share, 1))).sum(axis=1)
    assert (np.exp(entropy) >= least - 1e-9).all()
    assert block_entropy(taxonomy, units, blocks.row, blocks.block, blocks.records) <= most


@pytest.mark.full
@pytest.mark.parametrize("relaxed", [False, True], ids=["strict", "relaxed"])
@pytest.mark.parametrize(
    ("k", "models"),
    [(3, ()), (5, diverse(3, "distinct")), (10, diverse(2, "entropy"))],
    ids=["k 3", "distinct 3", "entropy 2"],
)
def test_dealing_loses_less_than_mondrian(
    shared: Path, k: int, models: tuple[SensitiveModel, ...], relaxed: bool
) -> None:
    problem = adult(shared, k, *models)
    taxonomy, units, demands = problem.taxonomy, problem.units, problem.demands

    def lost(found: Blocks) -> np.ndarray:
        blocks = settle(taxonomy, demands, found)
        regions = taxonomy.regions(units, blocks.row, blocks.block, blocks.number)
        own = np.stack([taxonomy.entropies(regions), taxonomy.losses(regions)])
        return own @ blocks.sizes / units.records

    cut = mondrian(taxonomy, demands, relaxed=relaxed)
    assert (lost(deal(taxonomy, demands)) < lost(cut)).all()


@pytest.mark.full
def test_an_eligible_tail_leaves_less_than_a_block(shared: Path) -> None:
    problem = adult(shared, 3, *diverse(2, "entropy"))
    blocks = deal(problem.taxonomy, problem.demands, tail="eligible")
    assert blocks.left < 3
    assert set(blocks.sizes.tolist()) <= {3, 4, 5, 6}
