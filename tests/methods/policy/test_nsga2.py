from __future__ import annotations

import sys

import numpy as np
import pytest
from random_cells import random_cells

from dbdeid.errors import MissingExtra
from dbdeid.methods.policy.baselines.nsga2 import Nsga2
from dbdeid.methods.policy.search.frontier import Log, explore
from dbdeid.methods.policy.search.policies import Gauge

GAUGE = Gauge(random_cells(np.random.default_rng(1), (12, 8, 5), 300))


def found(seed: int, budget: int, population: int = 20) -> Log:
    return explore(Nsga2(population), GAUGE, budget, np.random.default_rng(seed))


def test_every_evaluation_is_in_the_log_until_the_budget_is_spent() -> None:
    log = found(1, 107)
    assert log.spent == len(log.risks) == 107
    for risk, loss, policy in zip(log.risks, log.losses, log.policies, strict=True):
        assert GAUGE(GAUGE.space.unpack(policy)) == (risk, loss)


@pytest.mark.full
def test_the_seed_says_what_is_found_and_more_budget_is_no_worse() -> None:
    log = found(1, 200)
    assert found(1, 200).policies == log.policies
    assert found(2, 200).policies != log.policies
    assert found(1, 107).policies == log.policies[:107]
    assert (np.diff(log.areas(np.arange(0, 201, 20))) <= 0).all()


@pytest.mark.full
def test_it_learns() -> None:
    """From the same first generation it gets further than policies at random."""
    bred = np.mean([found(seed, 400).frontier.area for seed in range(5)])
    drawn = np.mean([found(seed, 400, population=400).frontier.area for seed in range(5)])
    assert bred < drawn


@pytest.mark.parametrize("sizes", [(1,), (2,), (2, 2), (3,)], ids=str)
def test_a_search_of_few_policies_ends(sizes: tuple[int, ...]) -> None:
    gauge = Gauge(random_cells(np.random.default_rng(5), sizes, 20))
    log = explore(Nsga2(4), gauge, 30, np.random.default_rng(6))
    assert log.spent <= 30


def test_without_pymoo_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pymoo.optimize", None)
    with pytest.raises(MissingExtra, match=r"pip install 'dbdeid\[nsga2\]'"):
        found(1, 10)
