"""Values that go with their class: likely where they were seen, and never where they cannot be."""

from __future__ import annotations

import numpy as np
import pytest

from dbdeid.methods.counterfeit.fitting import chances, values_of


def test_values_are_likely_beside_the_quasi_identifiers_that_they_stand_with() -> None:
    labels = np.array([[a, b] for a in range(2) for b in range(3)])
    counts = np.array([[90, 10] if a == 0 else [10, 90] for a, _ in labels], float)
    share = np.array([0.5, 0.5])
    found = chances(labels, counts, np.array([[0, 1], [1, 2], [2, 2]]), share)
    assert found[0] == pytest.approx([0.9, 0.1], abs=0.02)
    assert found[1] == pytest.approx([0.1, 0.9], abs=0.02)
    assert found[2] == pytest.approx([0.5, 0.5], abs=0.02)  # nothing is known of it
    assert found.sum(axis=1) == pytest.approx(1)


def test_what_another_quasi_identifier_explains_is_not_held_against_one() -> None:
    # all genuine records of town 0 are of adults, which have no value 1
    labels = np.array([[0, 0], [1, 0], [1, 1]])
    counts = np.array([[100, 0], [100, 0], [0, 100]], float)
    found = chances(labels, counts, np.array([[0, 1]]), np.array([0.5, 0.5]))
    assert found[0, 1] > 0.4


@pytest.mark.parametrize("seed", range(5))
def test_each_class_gets_as_many_values_as_it_lacks_and_none_that_is_impossible(seed: int) -> None:
    rng = np.random.default_rng(seed)
    likely = rng.random((30, 6)) * (rng.random((30, 6)) < 0.6)
    likely[:, 0] += 0.01
    missing, real = rng.integers(1, 5, 30), rng.integers(1, 40, 6)
    found = values_of(likely, missing, real, rng)
    assert found is not None
    assert [len(own) for own in found] == missing.tolist()
    assert all((likely[i, own] > 0).all() for i, own in enumerate(found))


def test_values_are_drawn_as_often_as_real_records_have_them() -> None:
    real, missing = np.array([60, 30, 10]), np.full(50, 2)
    found = values_of(np.full((50, 3), 1 / 3), missing, real, np.random.default_rng(1))
    assert found is not None
    drawn = np.bincount(np.concatenate(found), minlength=3)
    assert np.abs(drawn - [60, 30, 10]).max() <= 3


def test_a_class_that_can_have_no_value_has_no_draw() -> None:
    likely = np.array([[0.5, 0.5], [0.0, 0.0]])
    one = np.array([1, 1])
    assert values_of(likely, one, one, np.random.default_rng(1)) is None
