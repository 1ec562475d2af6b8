"""Groups of Algorithm 2: Lemma 1 holds in every group, whatever was drawn."""

from __future__ import annotations

import numpy as np
import pytest

from dbdeid.methods.counterfeit.paper_catalog import groups, risk


def drawn_tables(seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Classes with values drawn uniformly up to five records."""
    rng = np.random.default_rng(seed)
    real = rng.poisson(rng.uniform(0.2, 2, (60, 1)), (60, 5))
    real[:, 4] = rng.random(60) < 0.1  # a rare value
    drawn = np.zeros_like(real)
    for c, missing in enumerate(np.maximum(0, 5 - real.sum(axis=1))):
        np.add.at(drawn[c], rng.integers(0, 5, missing), 1)
    return real, drawn


@pytest.mark.parametrize("seed", range(30))
def test_lemma_1_holds_in_every_group(seed: int) -> None:
    real, drawn = drawn_tables(seed)
    found = groups(real, drawn)
    if found is None:  # not even all classes together have what a class needs
        assert (drawn > real.sum(axis=0) - real).any()
        return
    assert (found[drawn.any(axis=1)] >= 0).all()
    for number in range(found.max() + 1):
        own = np.flatnonzero(found == number)
        assert drawn[own].any()  # no group without a counterfeit record
        for c in own:
            others = real[own].sum(axis=0) - real[c]
            assert (drawn[c] <= others).all()


def test_classes_without_counterfeits_stay_out_where_they_are_not_needed() -> None:
    real = np.array([[1, 0], [1, 2], [5, 5]])
    drawn = np.array([[1, 0], [0, 0], [0, 0]])
    # class 2 has as much of value 0 as is missing, as class 1 has, and the lower number wins
    assert groups(real, drawn).tolist() == [0, 0, -1]


def test_what_no_other_class_has_cannot_be_covered() -> None:
    assert groups(np.array([[1, 0], [0, 3]]), np.array([[1, 0], [0, 0]])) is None


def test_risk_of_who_knows_that_only_small_classes_were_padded() -> None:
    real = np.array([[1], [4]])
    drawn = np.array([[1], [0]])
    # of the two records of the padded class one is genuine: a person there is one of them
    assert risk(real, drawn, np.array([0, 0]), np.array([0, -1])) == pytest.approx(1.0 / 1.0 * 0.5)
