"""Counterfeit records beside the real ones which they could not have been."""

from __future__ import annotations

import numpy as np
import pytest

from dbdeid.methods.counterfeit.covers import covers, shares

# two quasi-identifiers of six classes, and what they have for real of three values
LABELS = np.array([[0, 0], [0, 1], [0, 1], [1, 0], [1, 0], [1, 1]])
REAL = np.array([[1, 0, 0], [1, 1, 0], [0, 1, 0], [0, 0, 2], [0, 1, 1], [0, 0, 2]])
MISSING = np.array([3, 2, 3, 2, 2, 3])


def scarce(*pairs: tuple[int, int, int]) -> tuple[np.ndarray, ...]:
    tables = tuple(np.zeros((2, 3), np.bool_) for _ in range(2))
    for at, label, value in pairs:
        tables[at][label, value] = True
    return tables


@pytest.mark.parametrize("seed", range(5))
def test_as_many_are_counterfeit_as_of_all_values(seed: int) -> None:
    # 10 real and 15 counterfeit records: of 2 with the pair 3 more are made, of 1 two
    wanted = scarce((0, 0, 1), (1, 0, 0))
    allowed = np.ones((6, 3), np.bool_)
    rng = np.random.default_rng(seed)
    class_, code = covers(LABELS, wanted, allowed, REAL, MISSING, rng)
    made = np.zeros_like(REAL)
    np.add.at(made, (class_, code), 1)
    assert (made.sum(axis=1) <= MISSING).all()
    assert made[LABELS[:, 0] == 0, 1].sum() == 3
    assert made[LABELS[:, 1] == 0, 0].sum() == 2
    found = shares(LABELS, wanted, np.zeros((6, 3), np.bool_), REAL, made)
    assert found[:3, 1] == pytest.approx(2 / 5)
    assert found[[0, 3, 4], 0] == pytest.approx(1 / 3)
    assert (found[3:, 1] == -1).all()
    assert (found[:, 2] == -1).all()


def test_what_cannot_be_covers_nothing_and_then_a_record_is_known_to_be_real() -> None:
    wanted = scarce((1, 0, 0))
    allowed = np.ones((6, 3), np.bool_)
    allowed[:, 0] = False
    class_, code = covers(LABELS, wanted, allowed, REAL, MISSING, np.random.default_rng(1))
    assert not len(class_)
    assert not len(code)
    none = np.zeros_like(REAL)
    assert shares(LABELS, wanted, ~allowed & False, REAL, none)[0, 0] == 1
    certain = np.zeros((6, 3), np.bool_)
    certain[3, 2] = True
    assert shares(LABELS, scarce(), certain, REAL, none)[3, 2] == 1
