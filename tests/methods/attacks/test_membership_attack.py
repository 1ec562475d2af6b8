"""The membership attack: it sees copies, and nothing in records that are nobody's."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import rankdata

from dbdeid.data.records import Attribute, Condensed, Records
from dbdeid.methods.attacks.membership import Attempt, trial

Rng = np.random.Generator


def random_records(seed: int, number: int, *, discrete: bool = False) -> Records:
    """Two strata of people: a number, a number with gaps, and a category."""
    rng = np.random.default_rng(seed)
    strata = np.sort(rng.integers(0, 2, number))
    age = rng.normal(50 + 10 * strata, 15)
    weight = np.where(rng.random(number) < 0.1, np.nan, 0.5 * age + rng.normal(0, 5, number))
    if discrete:
        age, weight = np.rint(age / 4), np.rint(weight / 4)
    grid = 1.0 if discrete else 0.0
    return Records(
        (
            Attribute("age", age, grid=grid),
            Attribute("weight", weight, grid=grid),
            Attribute("ward", rng.integers(0, 3, number).astype(float), levels=3),
        ),
        strata,
        None,
    )


def as_condensed(columns: tuple[np.ndarray, ...], strata: np.ndarray) -> Condensed:
    order = np.argsort(strata, kind="stable")
    clusters = strata[order]
    return Condensed(tuple(c[order] for c in columns), strata[order], clusters, strata, {})


def copied(records: Records, rng: Rng) -> Condensed:
    """The records themselves."""
    return as_condensed(tuple(a.values for a in records.attributes), records.strata)


def drawn(records: Records, rng: Rng) -> Condensed:
    """Others of the same kind."""
    fresh = random_records(int(rng.integers(1 << 30)), records.number)
    return as_condensed(tuple(a.values for a in fresh.attributes), fresh.strata)


def drawn_discrete(records: Records, rng: Rng) -> Condensed:
    fresh = random_records(int(rng.integers(1 << 30)), records.number, discrete=True)
    return as_condensed(tuple(a.values for a in fresh.attributes), fresh.strata)


def attacked(records: Records, condense: object, **options: int) -> Attempt:
    found = trial(records, condense, np.random.default_rng(7), **({"k": 5} | options))  # type: ignore[arg-type]
    assert found is not None
    return found


def test_copies_are_known_at_once() -> None:
    found = attacked(random_records(1, 1_000), copied)
    assert found.members + found.others == 1_000
    assert found.auc > 0.99
    assert (found.hit_members, found.hit_others) == (found.unique_members, 0)


def test_records_of_the_same_kind_tell_nothing() -> None:
    found = attacked(random_records(2, 4_000), drawn)
    assert found.auc == pytest.approx(0.5, abs=0.03)
    assert (found.hit_members, found.hit_others) == (0, 0)


def test_records_that_repeat_are_hit_by_chance_on_both_sides() -> None:
    found = attacked(random_records(3, 3_000, discrete=True), drawn_discrete)
    assert found.hit_others > 0
    assert found.unique_members < found.members
    shares = found.hit_members / found.unique_members, found.hit_others / found.unique_others
    assert shares[0] == pytest.approx(shares[1], abs=0.1)


def test_some_copies_are_counted_one_by_one() -> None:
    records = random_records(4, 1_000)

    def some(found: Records, rng: Rng) -> Condensed:
        fresh, columns = drawn(found, rng), []
        copies = np.flatnonzero(found.strata == 0)[:30]
        places = np.flatnonzero(fresh.strata == 0)[:30]
        for column, attribute in zip(fresh.columns, found.attributes, strict=True):
            column[places] = attribute.values[copies]
            columns.append(column)
        return as_condensed(tuple(columns), fresh.strata)

    assert attacked(records, some).hit_members == 30


def test_a_record_of_another_stratum_is_no_hit() -> None:
    records = random_records(5, 1_000)

    def exchanged(found: Records, rng: Rng) -> Condensed:
        return as_condensed(tuple(a.values for a in found.attributes), 1 - found.strata)

    assert attacked(records, exchanged).hit_members == 0


def test_decimals_that_differ_in_their_last_bit_are_equal() -> None:
    values = np.arange(100) / 10
    records = Records((Attribute("x", values, grid=0.1),), np.zeros(100, np.int64), None)

    def tenfold(found: Records, rng: Rng) -> Condensed:
        steps = np.rint(found.attributes[0].values / 0.1)
        return as_condensed((steps * 0.1,), found.strata)

    found = attacked(records, tenfold)
    assert found.hit_members == found.unique_members == 50


def test_half_of_each_stratum_are_members() -> None:
    records = random_records(6, 501)
    seen: list[Records] = []

    def watched(found: Records, rng: Rng) -> Condensed:
        seen.append(found)
        return drawn(found, rng)

    attacked(records, watched)
    sizes, halves = np.bincount(records.strata), np.bincount(seen[0].strata)
    assert halves.tolist() == (sizes // 2).tolist()
    assert [a.levels for a in seen[0].attributes] == [None, None, 3]


@pytest.mark.parametrize(("k", "tried"), [(10, True), (11, False)])
def test_without_k_records_in_half_of_a_stratum_there_is_no_trial(k: int, tried: bool) -> None:
    records = random_records(7, 200)
    strata = np.repeat([0, 1], [180, 20])
    found = trial(Records(records.attributes, strata, None), copied, np.random.default_rng(1), k=k)
    assert (found is not None) is tried


def test_only_so_many_are_looked_for_but_all_are_counted() -> None:
    found = attacked(random_records(8, 2_000), copied, most=100)
    assert (found.members, found.others) == (100, 100)
    assert found.hit_members == found.unique_members == 1_000


def test_the_same_generator_gives_the_same_trial() -> None:
    records = random_records(9, 1_000)
    assert attacked(records, drawn, most=200) == attacked(records, drawn, most=200)


def test_columns_of_one_value_or_none_do_not_matter() -> None:
    records = random_records(10, 400)
    more = (
        Attribute("same", np.full(400, 3.0)),
        Attribute("none", np.full(400, np.nan)),
        Attribute("one", np.zeros(400), levels=1),
    )
    wider = Records((*records.attributes, *more), records.strata, None)
    assert attacked(wider, copied) == attacked(records, copied)


def test_the_auc_is_that_of_ranks() -> None:
    from dbdeid.methods.attacks.membership import nearer

    rng = np.random.default_rng(11)
    members, others = rng.integers(0, 20, 300) / 2, rng.integers(3, 22, 200) / 2
    ranks = rankdata(np.concatenate([-members, -others]))[:300]
    wanted = (ranks.sum() - 300 * 301 / 2) / (300 * 200)
    assert nearer(members, others) == pytest.approx(wanted)


def test_the_nearest_point_is_the_same_by_a_tree_and_by_all() -> None:
    from dbdeid.methods.attacks.membership import _by_all, _by_tree

    rng = np.random.default_rng(12)
    points = rng.normal(5, 1, (3_000, 14))
    asked = np.concatenate([points[:50], rng.normal(5, 1, (200, 14))])
    found = _by_all(points, asked)
    assert found == pytest.approx(_by_tree(points, asked))
    assert not found[:50].any()


def test_copies_of_many_numbers_are_known() -> None:
    rng = np.random.default_rng(13)
    columns = tuple(Attribute(f"x{i}", rng.normal(size=400)) for i in range(14))
    found = attacked(Records(columns, np.zeros(400, np.int64), None), copied)
    assert found.auc == 1
