"""Settling against the definitions of what is demanded, record by record."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator
from math import log2

import numpy as np
import pytest
from block_problems import Problem, problems
from hypothesis import given, settings
from hypothesis import strategies as st

from dbdeid.lattice.lattice import Attribute, Lattice
from dbdeid.lattice.tuples import Tuples
from dbdeid.methods.local_recoding.search.blocks import LEFT, Blocks
from dbdeid.methods.local_recoding.search.dealing import deal
from dbdeid.methods.local_recoding.search.repair import Objective, settle

OBJECTIVES: list[tuple[Objective, float]] = [
    ("node_entropy", 0.0),
    ("node_entropy", 1.0),
    ("block_entropy", 0.0),
    ("block_entropy", 1.0),
]


def assert_settled(problem: Problem, blocks: Blocks) -> None:
    parts = problem.split(blocks)
    classes = defaultdict(list)
    for members in parts.values():
        assert problem.holds(members)
        assert problem.within(members)
        classes[problem.read(members)] += members
    assert all(problem.holds(members) for members in classes.values())
    placed = Counter(row for members in parts.values() for row, _ in members)
    assert placed == Counter(row for row, _ in problem.records)
    assert sorted(parts) == list(range(blocks.number))
    assert (blocks.records > 0).all()


@settings(deadline=None)
@given(problem=problems(), way=st.sampled_from(OBJECTIVES))
def test_what_was_dealt_is_settled(problem: Problem, way: tuple[Objective, float]) -> None:
    dealt = deal(problem.taxonomy, problem.demands)
    if problem.possible():
        found = settle(
            problem.taxonomy, problem.demands, dealt, objective=way[0], diversity_weight=way[1]
        )
        assert_settled(problem, found)


@settings(deadline=None)
@given(problem=problems(), data=st.data())
def test_whatever_there_is_is_settled(problem: Problem, data: st.DataObject) -> None:
    pieces = [row for row, _ in problem.records]
    block = data.draw(st.lists(st.integers(LEFT, 5), min_size=len(pieces), max_size=len(pieces)))
    if not problem.possible():
        return
    whole = Blocks(np.array(pieces), np.array(block), np.ones(len(pieces), np.int64)).tidied()
    assert_settled(problem, settle(problem.taxonomy, problem.demands, whole))


@settings(deadline=None)
@given(problem=problems())
def test_what_cannot_hold_is_said(problem: Problem) -> None:
    if problem.units.subjects is not None or problem.possible():
        return
    with pytest.raises(ValueError, match="do not hold as one block"):
        settle(problem.taxonomy, problem.demands, deal(problem.taxonomy, problem.demands))


@pytest.mark.full
@settings(deadline=None)
@given(problem=problems(most_rows=4))
def test_no_blocks_lose_less_than_the_best_partition(problem: Problem) -> None:
    pieces = np.array([row for row, _ in problem.records])
    if len(pieces) > 6 or problem.units.subjects is not None or not problem.possible():
        return
    ones = np.ones(len(pieces), np.int64)
    losses = []
    for labels in partitions(len(pieces)):
        blocks = Blocks(pieces, np.array(labels), ones).tidied()
        parts = problem.split(blocks).values()
        if all(problem.holds(members) and problem.within(members) for members in parts):
            losses.append(lost(problem, blocks))
    found = settle(problem.taxonomy, problem.demands, deal(problem.taxonomy, problem.demands))
    assert lost(problem, found) >= min(losses) - 1e-9


def partitions(records: int) -> Iterator[tuple[int, ...]]:
    """All ways to number the blocks of records."""
    if not records:
        yield ()
        return
    for labels in partitions(records - 1):
        for label in range(max(labels, default=-1) + 2):
            yield (*labels, label)


def lost(problem: Problem, blocks: Blocks) -> float:
    """The sum of node entropies over the records, from counts of what the blocks read."""
    found = 0.0
    everything = [row for row, _ in problem.records]
    for members in problem.split(blocks).values():
        cells = zip(problem.read(members), problem.units.codes, strict=True)
        for weight, (cell, codes) in zip(problem.taxonomy.weights, cells, strict=True):
            inside = Counter(int(codes[row]) for row in everything if int(codes[row]) in cell)
            total = sum(inside.values())
            entropy = -sum(n / total * log2(n / total) for n in inside.values())
            found += float(weight) * entropy * len(members)
    return found


def flat(name: str, values: int) -> Attribute:
    codes = np.arange(values, dtype=np.uint32)
    return Attribute(name, (codes, codes * 0), (np.zeros(values), np.ones(values)))


def test_records_that_are_alike_are_put_into_one_block_that_is_general_then() -> None:
    # records of code 2 fit neither block; where the first has gone, the others cost less
    codes = np.array([0, 1, 2], np.uint16)
    units = Tuples((codes,), np.array([3, 3, 2]))
    problem = Problem(Lattice((flat("a", 3),)), units, 3, ())
    blocks = Blocks(np.arange(3), np.array([0, 1, LEFT]), units.weights)
    found = settle(problem.taxonomy, problem.demands, blocks)
    assert sorted(found.sizes.tolist()) == [3, 5]
