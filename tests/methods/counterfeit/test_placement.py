"""Drawn values change places until no class gives its counterfeit records away."""

from __future__ import annotations

import numpy as np
import pytest

from dbdeid.methods.counterfeit.placement import Places, place


def random_places(seed: int, classes: int, size: int, values: int) -> Places:
    """Padded classes of one size, their drawn values in proportion to the real ones."""
    rng = np.random.default_rng(seed)
    group = np.sort(rng.integers(0, 2, classes))
    real = np.zeros((classes, values), np.int64)
    deficits = rng.integers(0, size, classes)
    for c, missing in enumerate(deficits):
        np.add.at(real[c], rng.integers(0, values, size - missing), 1)
    place_class, place_code = [], []
    for g in (0, 1):
        own = np.flatnonzero(group == g)
        totals = real[own].sum(axis=0)
        slots = np.repeat(own, deficits[own])
        if totals.sum():
            share = totals * len(slots) / totals.sum()
            drawn = np.floor(share).astype(int)
            drawn[np.argsort(drawn - share)[: len(slots) - drawn.sum()]] += 1
            place_class.append(slots)
            place_code.append(rng.permutation(np.repeat(np.arange(values), drawn)))
    row, code = np.nonzero(real)
    where = np.concatenate(place_class) if place_class else np.zeros(0, np.int64)
    return Places(
        group,
        row,
        code,
        real[row, code],
        where,
        np.concatenate(place_code) if place_code else np.zeros(0, np.int64),
        values,
        np.zeros((classes, values), np.bool_),
        np.full((classes, values), -1.0),
        np.zeros(len(where), np.bool_),
    )


def tables(places: Places, code: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Real and drawn records of each class and value."""
    shape = (len(places.group), places.codes)
    real, drawn = np.zeros(shape, np.int64), np.zeros(shape, np.int64)
    np.add.at(real, (places.real_class, places.real_code), places.real_count)
    np.add.at(drawn, (places.place_class, code), 1)
    return real, drawn


@pytest.mark.sampled(5)
@pytest.mark.parametrize("seed", range(40))
def test_bounds_hold_and_nothing_else_changes(seed: int) -> None:
    places = random_places(seed, 40, 4, 6)
    bound = 1.3 / 4
    found = place(places, bound, (), np.random.default_rng(seed))
    if found is None:
        return
    worst = 0.0
    for group in (0, 1):
        own = np.flatnonzero(places.group == group)
        real, drawn = (table[own] for table in tables(places, found.code))
        before = tables(places, places.place_code)[1][own]
        assert (drawn.sum(axis=0) == before.sum(axis=0)).all()  # what was drawn is drawn
        assert (drawn.sum(axis=1) == before.sum(axis=1)).all()  # where something was missing
        for c in range(len(own)):
            held = real[c] + drawn[c]
            others = real.sum(axis=0) + drawn.sum(axis=0) - held
            counterfeit = (held > 0) & (drawn.sum(axis=0) > 0)
            assert (drawn.sum(axis=0) <= others)[counterfeit].all()  # Lemma 1
            share = real.sum(axis=0) / np.maximum((real + drawn).sum(axis=0), 1)
            weights = (held * share).sum()
            worst = max(worst, share[held > 0].max() / weights)
    assert worst <= bound + 1e-9
    assert found.risk == pytest.approx(worst)


@pytest.mark.full
def test_most_draws_find_a_place() -> None:
    found = [
        place(random_places(seed, 60, 4, 5), 1.3 / 4, (), np.random.default_rng(seed))
        for seed in range(30)
    ]
    assert sum(f is not None for f in found) >= 25


def test_a_lone_class_has_no_place() -> None:
    # one class of two records, padded by a third of the value that both have: it would be known
    none = np.zeros((1, 1), np.bool_)
    given = (np.array(x) for x in ([0], [0], [0], [2], [0], [0]))
    lone = Places(*given, codes=1, impossible=none, share=none - 1.0, fixed=none[0])
    assert place(lone, 1.0, (), np.random.default_rng(1)) is None


def test_values_move_out_of_the_class_that_has_them_all() -> None:
    # class 0 has the only real record of value 0, and drew another one: Lemma 1 fails there
    places = Places(
        group=np.array([0, 0, 0]),
        real_class=np.array([0, 1, 2]),
        real_code=np.array([0, 1, 1]),
        real_count=np.array([1, 1, 1]),
        place_class=np.array([0, 1, 2]),
        place_code=np.array([0, 1, 1]),
        codes=2,
        impossible=np.zeros((3, 2), np.bool_),
        share=np.full((3, 2), -1.0),
        fixed=np.zeros(3, np.bool_),
    )
    found = place(places, 1.0, (), np.random.default_rng(1))
    assert found is not None
    _, drawn = tables(places, found.code)
    assert drawn[0, 0] == 0
    assert drawn.sum(axis=0).tolist() == [1, 2]


def test_what_is_impossible_moves_to_where_it_is_not_and_certain_records_count_in_full() -> None:
    places = Places(
        group=np.zeros(3, np.int64),
        real_class=np.array([0, 1, 2, 0, 1, 2]),
        real_code=np.array([0, 0, 0, 1, 1, 1]),
        real_count=np.array([1, 2, 2, 1, 2, 2]),
        place_class=np.array([0, 1]),
        place_code=np.array([1, 0]),
        codes=2,
        impossible=np.array([[False, True], [False, False], [False, False]]),
        share=np.array([[-1.0, 1.0], [-1.0, -1.0], [-1.0, -1.0]]),
        fixed=np.zeros(2, np.bool_),
    )
    found = place(places, 1.0, (), np.random.default_rng(1))
    assert found is not None
    assert found.code.tolist() == [0, 1]
    # in class 0 the record of value 1 is certainly real; each of value 0 is with 5 of 6
    assert found.risk == pytest.approx(1 / (1 + 2 * 5 / 6))


def test_what_is_fixed_stays_and_counts_as_often_as_it_is_real() -> None:
    places = Places(
        group=np.zeros(3, np.int64),
        real_class=np.array([0, 1, 2, 0, 1, 2]),
        real_code=np.array([0, 0, 0, 1, 1, 1]),
        real_count=np.array([2, 2, 2, 1, 2, 2]),
        place_class=np.array([0, 1, 2]),
        place_code=np.array([1, 0, 1]),
        codes=2,
        impossible=np.zeros((3, 2), np.bool_),
        share=np.array([[-1.0, 0.5], [-1.0, -1.0], [-1.0, -1.0]]),
        fixed=np.array([True, False, False]),
    )
    for seed in range(5):
        found = place(places, 1.0, (), np.random.default_rng(seed))
        assert found is not None
        assert found.code[0] == 1
        # of value 1 in class 0 each is real with 1/2; of the others 4 of 5, and of value 0 6 of 7
        assert found.risk == pytest.approx(max(0.8, 6 / 7) / (2 * 6 / 7 + 2 * 0.5))
