"""Who learns from a release: right where values go with quasi-identifiers, blind where not."""

from __future__ import annotations

import math

import numpy as np
import pytest

from dbdeid.methods.attacks.counterfeit_suspicion import Rows, suspected, suspicions
from dbdeid.methods.attacks.learner import learned

K = 4
VALUES = 6


def padded(seed: int, *, fit: bool, classes: int = 400) -> Rows:
    """Classes of two quasi-identifiers; those of fewer than K are filled up from the pool."""
    rng = np.random.default_rng(seed)
    shares = rng.dirichlet(np.full(VALUES, 0.4), 8) if fit else np.full((8, VALUES), 1 / VALUES)
    known = np.stack([np.arange(classes) % 8, np.arange(classes) // 8], axis=1)
    sizes = np.where(rng.random(classes) < 0.3, rng.integers(1, K + 1, classes), 20)
    real = np.stack(
        [rng.multinomial(n, shares[x]) for n, x in zip(sizes, known[:, 0], strict=True)]
    )
    candidates = sizes <= K
    lacking = np.where(candidates, K - sizes, 0)
    of_pool = real[candidates].sum(axis=0)
    quota = np.round(of_pool * lacking.sum() / of_pool.sum()).astype(int)
    quota[np.argmax(quota)] += lacking.sum() - quota.sum()
    values = rng.permutation(np.repeat(np.arange(VALUES), quota))
    false = np.zeros_like(real)
    np.add.at(false, (np.repeat(np.arange(classes), lacking), values), 1)
    held = real + false
    genuine = np.ones(held.shape)
    genuine[candidates] = 1 - quota / np.maximum(held[candidates].sum(axis=0), 1)
    class_, value = np.nonzero(held)
    return Rows(
        class_,
        known[class_],
        value[:, None],
        held[class_, value],
        false[class_, value],
        genuine[class_, value],
    )


def test_values_that_do_not_fit_their_class_give_counterfeits_away() -> None:
    rows = padded(1, fit=True)
    found = suspected(rows)
    assert found is not None
    assert found.counterfeits == rows.counterfeits.sum()
    assert found.auc > 0.75
    assert found.among_most > 0.9 > 2 * found.counterfeits / found.records
    assert found.surest > found.success > 1.10 / K


def test_values_that_go_with_nothing_tell_nothing() -> None:
    found = suspected(padded(2, fit=False, classes=800))
    assert found is not None
    false, real = found.counterfeits, found.records - found.counterfeits
    error = math.sqrt((false + real + 1) / (12 * false * real))  # Mann & Whitney 1947
    assert found.auc == pytest.approx(0.5, abs=4 * error)
    assert found.success == pytest.approx(1 / K, abs=0.04)


def test_who_knows_that_values_were_fitted_takes_what_others_rule_out_to_be_real() -> None:
    # value 0 goes with 0 and value 1 with 1, but for one record of a class that may be padded
    rows = Rows(
        classes=np.array([0, 1, 2, 2, 3, 3, 4, 4]),
        known=np.array([[0], [1], [0], [0], [0], [0], [1], [1]]),
        told=np.array([[0], [1], [0], [1], [0], [0], [1], [1]]),
        records=np.array([60, 60, 3, 1, 2, 2, 2, 2]),
        counterfeits=np.array([0, 0, 2, 0, 1, 0, 0, 1]),
        genuine=np.array([1, 1, 0.6, 0.6, 0.6, 0.6, 0.6, 0.6]),
    )
    within = rows.genuine < 1
    naive, knowing = suspicions(rows, within, fitted=True)
    assert naive[1] == naive.max()
    assert knowing[1] == 0
    assert (np.delete(knowing, 1) > 0.2).all()
    found = suspected(rows, K, fitted=True)
    assert found is not None
    assert found.surest == found.success > (suspected(rows) or found).success
    assert found.impossible == 0  # a real record has this pair


def test_counterfeits_that_no_real_record_is_like_are_proven() -> None:
    rows = Rows(
        classes=np.array([0, 1, 2, 2]),
        known=np.array([[0], [1], [0], [0]]),
        told=np.array([[0], [1], [0], [1]]),
        records=np.array([60, 60, 3, 1]),
        counterfeits=np.array([0, 0, 0, 1]),
        genuine=np.array([1, 1, 0.6, 0.6]),
    )
    found = suspected(rows, K, fitted=True)
    assert found is not None
    assert (found.impossible, found.below) == (1, 1)
    assert found.left == pytest.approx(1 / 3)


def test_where_nothing_may_be_counterfeit_there_is_no_attack() -> None:
    rows = padded(3, fit=True)
    certain = Rows(
        rows.classes, rows.known, rows.told, rows.records, 0 * rows.records, 0 * rows.genuine + 1
    )
    assert suspected(certain) is None


def test_the_figures_are_those_of_plain_loops() -> None:
    rows = padded(4, fit=True, classes=120)
    found = suspected(rows)
    assert found is not None
    may = sorted({int(c) for c, g in zip(rows.classes, rows.genuine, strict=True) if g < 1})
    places = [i for i in range(len(rows.classes)) if rows.classes[i] in may]
    weights = rows.records * rows.genuine
    chances = learned(rows.known, rows.told[:, 0], weights, rows.known, VALUES)
    real = sum(weights[i] for i in places)
    false = sum(rows.records[i] - weights[i] for i in places)
    suspicion = {}
    for i in places:
        value = rows.told[i, 0]
        own = sum(rows.records[j] - weights[j] for j in places if rows.told[j, 0] == value)
        share = (own + own / false) / (false + 1)
        odds = false / real * share / chances[i, value]
        suspicion[i] = odds / (1 + odds) if rows.genuine[i] < 1 else 0.0
    within = np.isin(rows.classes, may)
    (naive,) = suspicions(rows, within)
    assert naive == pytest.approx([suspicion[i] for i in places])
    better = ties = pairs = 0.0
    for i in places:
        for j in places:
            both = rows.counterfeits[i] * (rows.records[j] - rows.counterfeits[j])
            pairs += both
            better += both * (suspicion[i] > suspicion[j])
            ties += both * (suspicion[i] == suspicion[j])
    assert found.auc == pytest.approx((better + ties / 2) / pairs, abs=1e-9)
    hits = people = 0.0
    for class_ in may:
        members = [i for i in places if rows.classes[i] == class_]
        best = min(members, key=lambda i: suspicion[i])
        # every real person of the class is looked for once, and one of them at most is found
        hits += 1 - rows.counterfeits[best] / rows.records[best]
        people += sum(rows.records[i] - rows.counterfeits[i] for i in members)
    assert found.success == pytest.approx(hits / people)


@pytest.mark.full
def test_chances_are_the_shares_where_there_is_enough_to_learn() -> None:
    rng = np.random.default_rng(5)
    shares = np.array([[0.7, 0.2, 0.1], [0.1, 0.3, 0.6]])
    feature = rng.integers(0, 2, 20_000)
    target = np.array([rng.choice(3, p=shares[x]) for x in feature])
    asked = np.array([[0], [1], [0]])
    found = learned(feature[:, None], target, np.ones(20_000), asked, 4)
    assert found[:, :3] == pytest.approx(shares[[0, 1, 0]], abs=0.02)
    assert not found[:, 3].any()


def test_one_value_and_no_columns_are_learned_as_they_are() -> None:
    ones = np.ones(5)
    same = learned(np.zeros((5, 1), int), np.ones(5, int), ones, np.zeros((2, 1), int), 3)
    assert same.tolist() == [[0, 1, 0]] * 2
    target = np.array([0, 0, 0, 1, 2])
    margins = learned(np.zeros((5, 0), int), target, ones, np.zeros((1, 0), int), 3)
    assert margins == pytest.approx(np.array([[0.6, 0.2, 0.2]]))
