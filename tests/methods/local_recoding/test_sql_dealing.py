"""Dealing in the database beside dealing in arrays: the same blocks, piece by piece."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import get_args

import numpy as np
import pytest
from block_problems import Problem, problems
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from realdata import load
from tiers import examples

from dbdeid.engine.duckdb.session import Session
from dbdeid.lattice.lattice import Attribute, Lattice
from dbdeid.lattice.tuples import Tuples, Values
from dbdeid.methods.local_recoding import sql_dealing
from dbdeid.methods.local_recoding.recoded_rows import UNIT_ROWS
from dbdeid.methods.local_recoding.search.blocks import Blocks
from dbdeid.methods.local_recoding.search.dealing import deal
from dbdeid.methods.local_recoding.search.stages import Layout
from dbdeid.methods.local_recoding.search.taxonomy import Cost
from dbdeid.privacy import BasicBeta, LDiversity, SensitiveModel

COSTS: tuple[Cost, ...] = get_args(Cost)


@pytest.fixture(scope="module")
def session() -> Iterator[Session]:
    with Session.open(None, read_only=False) as session:
        yield session


def pieces(blocks: Blocks) -> list[list[int]]:
    return [blocks.row.tolist(), blocks.block.tolist(), blocks.records.tolist()]


def in_database(
    session: Session, problem: Problem, cost: Cost = "balanced", told: list[int] | None = None
) -> list[list[int]]:
    """The pieces of the blocks that the database deals."""
    units = problem.units
    row = np.repeat(np.arange(len(units.weights)), units.weights)
    codes = {f"q{i}": own[row].astype(np.int64) for i, own in enumerate(units.codes)}
    values = {f"v{i}": own.value[row] for i, own in enumerate(units.values)}
    session.upload(UNIT_ROWS.name, {"unit": row} | codes | values)
    taxonomy, demands = problem.taxonomy, problem.demands
    settled = None if told is None else told.append
    return pieces(sql_dealing.deal(session, taxonomy, demands, objective=cost, settled=settled))


@settings(deadline=None, derandomize=True, max_examples=examples(25))
@given(problem=problems(), cost=st.sampled_from(COSTS))
def test_the_database_deals_the_same_blocks(problem: Problem, cost: Cost, session: Session) -> None:
    assume(problem.units.subjects is None)
    told: list[int] = []
    again: list[int] = []
    dealt = deal(problem.taxonomy, problem.demands, objective=cost, settled=told.append)
    assert in_database(session, problem, cost, again) == pieces(dealt)
    assert again == told


def flat(name: str, values: int) -> Attribute:
    codes = np.arange(values, dtype=np.uint32)
    return Attribute(name, (codes, codes * 0), (np.zeros(values), np.ones(values)))


def test_values_too_rare_for_small_blocks_are_dealt_first(session: Session) -> None:
    # of 120 people one or two have it, so that of 60 in a block one may, and others are cut to 59
    rows = [(0, 0, 40), (0, 1, 20), (0, 2, 1), (0, 3, 1), (1, 0, 20), (1, 1, 37), (1, 3, 1)]
    code, value, count = np.array(rows).T
    of = Values(np.arange(len(rows)), value, count, 4)
    units = Tuples((code.astype(np.uint16),), count, None, (of,))
    beta = BasicBeta(model="basic_beta", column="s", beta=1.0)
    problem = Problem(Lattice((flat("a", 2),)), units, 2, ((beta,),))
    assert any(stage.rare is not None for stage in Layout.of(problem.demands).stages)
    found = in_database(session, problem)
    assert found == pieces(deal(problem.taxonomy, problem.demands))
    first = {value[unit] for unit, block in zip(found[0], found[1], strict=True) if block == 0}
    assert first & {2, 3}


def test_subjects_are_not_dealt(session: Session) -> None:
    units = Tuples((np.zeros(2, np.uint16),), np.ones(2, np.int64), np.array([0, 1]))
    problem = Problem(Lattice((flat("a", 1),)), units, 1, ())
    with pytest.raises(ValueError, match="subjects"):
        sql_dealing.deal(session, problem.taxonomy, problem.demands, objective="loss")


ADULT = (
    "sex",
    "race",
    "marital-status",
    "education",
    "native-country",
    "workclass",
    "salary-class",
)


def diverse(least: float, kind: str) -> tuple[SensitiveModel, ...]:
    given = {"model": "l_diversity", "column": "s", "l": least, "kind": kind}
    return (LDiversity.model_validate(given),)


@pytest.mark.full
@pytest.mark.parametrize(
    "models",
    [
        (),
        diverse(3, "entropy"),
    ],
    ids=["k", "entropy 3"],
)
def test_the_database_deals_the_same_blocks_of_the_reference(
    shared: Path, models: tuple[SensitiveModel, ...], session: Session
) -> None:
    lattice, tuples = load(shared, "adult.csv", (*ADULT, "occupation"))
    *codes, occupation = tuples.codes
    names, value = np.unique(occupation, return_inverse=True)
    of = Values(np.arange(len(value)), value, tuples.weights, len(names))
    units = Tuples(tuple(codes), tuples.weights, None, (of,))
    problem = Problem(Lattice(lattice.attributes[:-1]), units, 3, (models,))
    found = in_database(session, problem)
    assert found == pieces(deal(problem.taxonomy, problem.demands))
    assert max(found[1]) > 8000
