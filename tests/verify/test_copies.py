"""What is beyond chance: the limits of rows that a release reproduces."""

from __future__ import annotations

import numpy as np
import pytest

from dbdeid.verify.base.declaration import Chance
from dbdeid.verify.records.copies import limit, of_release, of_trial


@pytest.mark.parametrize("rate", [0.0, 0.001, 0.01, 0.05])
@pytest.mark.parametrize("of", [50, 500, 5_000])
def test_counts_of_one_rate_stay_within_the_limit(rate: float, of: int) -> None:
    rng = np.random.default_rng(1)
    hits, later = rng.binomial(of, rate, 20_000), rng.binomial(2 * of, rate, 20_000)
    limits = np.array([limit(h, of, 1.0, 2 * of) for h in range(hits.max() + 1)])
    assert (later > limits[hits]).sum() <= 2


@pytest.mark.parametrize(("rate", "beyond"), [(0.0, 0.05), (0.01, 0.06), (0.05, 0.18)])
def test_counts_of_a_larger_rate_do_not(rate: float, beyond: float) -> None:
    rng = np.random.default_rng(1)
    hits, later = rng.binomial(4_000, rate, 1_000), rng.binomial(8_000, beyond, 1_000)
    found = [x > limit(h, 4_000, 2.0, 8_000) for h, x in zip(hits.tolist(), later, strict=True)]
    assert all(found)


def test_a_limit_is_never_more_than_all_rows() -> None:
    assert limit(3, 4, 2.0, 10) == 10
    assert limit(0, 0, 2.0, 0) == 0


def test_a_release_may_reproduce_what_twice_the_draws_of_the_trial_do() -> None:
    chance = Chance(others=5_000, hit_others=300, members=5_000, hit_members=400)
    expected = 10_000 * (1 - (1 - 0.08) ** 2)
    promise = of_release(10_000, round(expected), chance)
    assert promise.holds
    assert expected < promise.declared["reproduced_at_most"] < 1.25 * expected
    assert not of_release(10_000, round(1.25 * expected), chance).holds


@pytest.mark.parametrize(("k", "holds"), [(5, True), (10, True), (20, False), (100, False)])
def test_small_clusters_let_more_members_come_back(k: int, holds: bool) -> None:
    assert of_trial(k, Chance(4_000, 20, 4_000, 600)).holds is holds


def test_without_unique_rows_nothing_is_beyond_chance() -> None:
    chance = Chance(0, 0, 0, 0)
    assert of_release(0, 0, chance).holds
    assert of_trial(10, chance).holds
