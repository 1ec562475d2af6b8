"""Xia et al. (2013): how far their search for the risk-utility frontier gets, on Tennessee.

Adult records with ZIP codes of the state against its people. The paper's own data were drawn anew
for each of its states; what holds is what it claims: the share of a box that is not dominated
tells how many policies of a sublattice are new, and the search by it beats random chains.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path

import numpy as np
import pytest
import tiers

from dbdeid.methods.policy.baselines.nonoverlap import Pruned
from dbdeid.methods.policy.baselines.sublattice import SublatticeSearch, random_sublattice
from dbdeid.methods.policy.search.frontier import Search, explore
from dbdeid.methods.policy.search.policies import Gauge
from dbdeid.methods.policy.search.random_chain import random_chain
from dbdeid.papers import tennessee
from dbdeid.papers.common.data import Data
from dbdeid.papers.tennessee import share_of_new, under

STATES = ("synthetic", "modelled")
LOW = 100  # evaluations
RUNS = 24


@cache
def gauge_of(shared: Path, which: str) -> Gauge:
    return Gauge(tennessee.cells(Data(shared / "data"), which))


@pytest.mark.full
def test_a_policy_is_the_same_from_fewer_cells(shared: Path) -> None:
    gauge, rng = gauge_of(shared, "modelled"), np.random.default_rng(1)
    drawn = random_sublattice(gauge.space, Pruned(gauge.space.length), rng)
    assert drawn is not None
    weigh = under(gauge, drawn.bottom)
    for bits in drawn:
        assert weigh(bits) == pytest.approx(gauge(bits), abs=1e-11)
    assert len(weigh.cells.records) < len(gauge.cells.records)


@pytest.mark.full
def test_what_a_sublattice_promises_tells_what_it_keeps(shared: Path) -> None:
    """The paper has a correlation of .864 over sublattices."""
    gauge = gauge_of(shared, "synthetic")
    log = explore(SublatticeSearch(), gauge, 400, np.random.default_rng(1))
    promised, kept = share_of_new(gauge, log.frontier, 250, np.random.default_rng(2))
    assert np.corrcoef(promised, kept)[0, 1] >= 0.70


@pytest.mark.full
@pytest.mark.parametrize("which", STATES)
def test_the_search_beats_random_chains_from_the_start(shared: Path, which: str) -> None:
    gauge = gauge_of(shared, which)

    def area(search: Search) -> float:
        seeds = tiers.some(range(RUNS), 3)
        logs = (explore(search, gauge, LOW, np.random.default_rng(seed)) for seed in seeds)
        return float(np.mean([log.frontier.area for log in logs]))

    assert area(SublatticeSearch()) <= 0.85 * area(random_chain)
