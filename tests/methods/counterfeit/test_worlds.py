"""What all ways together tell of a small pool, against going through them one by one."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from dbdeid.methods.counterfeit.worlds import prosecutor_risk


def by_hand(held: np.ndarray, drawn: np.ndarray, k: int) -> float:
    """Every set of records that could be the counterfeits, one by one."""
    size = int(held[0].sum())
    records = [(c, v) for c, row in enumerate(held) for v, n in enumerate(row) for _ in range(n)]
    chance, worlds = np.zeros(len(records)), 0
    for made in combinations(range(len(records)), int(drawn.sum())):
        found = np.zeros_like(drawn)
        missing = np.zeros(len(held), np.int64)
        for i in made:
            class_, value = records[i]
            found[value] += 1
            missing[class_] += 1
        real = size - missing
        if (found != drawn).any() or ((missing > 0) & ((real < 1) | (real >= k))).any():
            continue
        worlds += 1
        for i, (class_, _) in enumerate(records):
            chance[i] += (i not in made) / real[class_]
    return float(chance.max() / worlds)


@pytest.mark.sampled(3)
@pytest.mark.parametrize("seed", range(20))
def test_risk_is_that_of_all_sets_of_records(seed: int) -> None:
    rng = np.random.default_rng(seed)
    k = int(rng.integers(2, 4))
    size = k + int(rng.integers(0, 2))
    held = rng.multinomial(size, [0.5, 0.3, 0.2], 3)
    padded = held[0].copy()
    padded[np.flatnonzero(padded)[0]] -= 1
    found = prosecutor_risk(held, padded, k)  # all but one of the first class: a way there is
    assert found == pytest.approx(by_hand(held, padded, k))


def test_one_class_alone_can_hold_all_counterfeits() -> None:
    """Padded to 4 for k = 3, a class has two or three counterfeits: only one has all three values.

    So its records of values 0 and 2 are counterfeit for certain, and one of its two others is real.
    """
    held = np.array([[3, 0, 1], [1, 2, 1], [1, 0, 3], [2, 2, 0], [2, 2, 0], [0, 2, 2]])
    assert prosecutor_risk(held, np.array([1, 1, 1]), 3) == pytest.approx(1 / 2)


def test_many_ways_are_not_gone_through() -> None:
    held = np.tile([2, 2, 1], (400, 1))
    assert prosecutor_risk(held, np.array([90, 80, 40]), 5) is None
