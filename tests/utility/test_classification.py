"""What a model learns from a release: as much as from the source where that is what it is."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import accuracy_score, balanced_accuracy_score
from tiers import examples

from dbdeid.utility.fidelity import classification as module
from dbdeid.utility.fidelity.classification import Classified, Learned, classification
from dbdeid.utility.fidelity.levels import CATEGORIES, CodedSides, Ints
from dbdeid.utility.fidelity.sides import ColumnPair

SIZES = (32, 5, 4)
ALL = ("c0", "c1", "c2")


def sides(source: Ints, released: Ints, **more: Any) -> CodedSides:
    sizes = more.get("sizes", SIZES)
    columns = tuple(ColumnPair(f"c{i}", i, False, False, False) for i in range(len(sizes)))
    spreads = more.get("spreads", tuple(np.eye(size) for size in sizes))
    weights = more.get("weights", np.ones(len(released)))
    return CodedSides(columns, sizes, source, released, spreads, weights)


def people(number: int, seed: int = 1) -> Ints:
    """The second column follows from the first in nine of ten records, the third from nothing."""
    rng = np.random.default_rng(seed)
    one = rng.integers(0, 30, number)
    other = np.where(rng.random(number) < 0.9, one % 3, rng.integers(0, 3, number))
    return np.column_stack((one, other, rng.integers(0, 2, number)))


@pytest.mark.full
def test_the_source_itself_loses_nothing() -> None:
    source = people(3000)
    found = classification(sides(source, source), ALL)
    assert [*found] == [*ALL]
    for one in found.values():  # but that it is asked about what it has learned
        assert -0.06 < one.lost < 0.01
    assert found["c1"].source.balanced == pytest.approx(0.93, abs=0.03)
    assert found["c2"].source.accuracy == pytest.approx(0.5, abs=0.1)
    assert found["c1"].baseline.balanced == pytest.approx(1 / 3)
    assert found["c1"].baseline.accuracy == np.bincount(source[:, 1]).max() / 3000


def test_other_records_of_the_same_kind_are_as_good() -> None:
    found = classification(sides(people(900), people(900, seed=2)), ["c1"])
    assert abs(found["c1"].lost) < 0.02


def test_what_is_shuffled_is_lost() -> None:
    source = people(900)
    released = source.copy()
    np.random.default_rng(3).shuffle(released[:, 1])
    found = classification(sides(source, released), ["c1"])["c1"]
    assert found.release.balanced == pytest.approx(1 / 3, abs=0.12)
    assert found.lost == found.source.balanced - found.release.balanced > 0.4


@pytest.mark.full
def test_labels_are_drawn_and_counterfeit_records_left_out() -> None:
    source = people(900)
    blank = np.vstack((np.eye(32), [*[1 / 30] * 30, 0, 0]))
    labels = source.copy()
    labels[:, 0] = 32  # any of all
    spreads = (blank, np.eye(5), np.eye(4))
    found = classification(sides(source, labels, spreads=spreads), ["c1"])["c1"]
    assert found.release.balanced == pytest.approx(1 / 3, abs=0.12)
    # records that are nobody's, with the wrong class
    false = source.copy()
    false[:, 1] = (false[:, 1] + 1) % 3
    both, weights = np.concatenate((source, false)), np.repeat((1.0, 0.0), 900)
    assert classification(sides(source, both, weights=weights), ["c1"]) == classification(
        sides(source, source), ["c1"]
    )


def test_a_release_of_one_class_tells_the_baseline() -> None:
    source = people(300)
    released = source[source[:, 1] == 1]
    found = classification(sides(source, released), ["c1"])["c1"]
    share = (source[:, 1] == 1).mean()
    assert found.release == Learned(pytest.approx(1 / 3), pytest.approx(share))


def test_a_release_without_a_known_class_tells_nothing() -> None:
    source, released = people(300), people(300)
    released[:, 1] = 4
    found = classification(sides(source, released), ["c1"])["c1"]
    assert found.release == Learned(0, 0)


@pytest.mark.full
def test_rare_and_missing_classes_are_not_asked_about() -> None:
    source = people(600)
    source[:19, 1] = 3  # the level of other values
    assert classification(sides(source, source), ["c1"]) == {}
    source = people(600)
    source[:40, 1] = 4  # missing
    found = classification(sides(source, source), ["c1"])["c1"]
    known = source[source[:, 1] < 4, 1]
    assert found.baseline.accuracy == np.bincount(known).max() / len(known)
    wider = (32, 6, 4)
    source = people(600)
    source[:19, 1] = 3
    rare = classification(sides(source, source, sizes=wider), ["c1"])["c1"]
    assert rare.baseline.balanced == pytest.approx(1 / 3)
    source[:20, 1] = 3
    known_enough = classification(sides(source, source, sizes=wider), ["c1"])["c1"]
    assert known_enough.baseline.balanced == pytest.approx(1 / 4)


def test_what_cannot_be_explained_is_left_out() -> None:
    source = people(100)
    assert classification(sides(source, source), ["c9"]) == {}
    assert classification(sides(source, source[:0]), ["c1"]) == {}
    assert classification(sides(source[:, :1], source[:, :1], sizes=(32,)), ["c0"]) == {}
    source[:, 2] = 0
    assert classification(sides(source, source), ["c2"]) == {}
    assert CATEGORIES == 50


@settings(max_examples=examples(40), deadline=None)
@given(st.lists(st.tuples(st.integers(0, 2), st.integers(-1, 2)), min_size=1), st.integers(1, 5))
def test_answers_are_judged_as_sklearn_does(answers: list[Any], missing: int) -> None:
    truth, told = (np.array(column) for column in zip(*answers, strict=True))
    truth = np.unique(truth, return_inverse=True)[1].reshape(-1)  # each class occurs
    found = module._judged(
        np.concatenate((truth, [-1] * missing)),
        np.column_stack([np.concatenate((told, [0] * missing))] * 2),
    )
    assert found.accuracy == pytest.approx(accuracy_score(truth, told))
    hits = [(told[truth == k] == k).mean() for k in range(truth.max() + 1)]
    assert found.balanced == pytest.approx(np.mean(hits))
    if set(told) <= set(truth) and len(hits) > 1:
        assert found.balanced == pytest.approx(balanced_accuracy_score(truth, told))


def test_what_is_lost_is_between_the_source_and_the_release() -> None:
    one = Classified(Learned(0.4, 0.5), Learned(0.7, 0.8), Learned(0.2, 0.6))
    assert one.lost == pytest.approx(0.3)
