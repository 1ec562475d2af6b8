"""What genuine records rule out, counted again by plain loops."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from dbdeid.methods.attacks.ruled_out import ENOUGH, never_together, ruled_out


def rows(seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    known = np.stack([rng.integers(0, 4, 60), rng.integers(0, 3, 60)], axis=1)
    told = (known[:, 0] + rng.integers(0, 2, 60)) % 5
    return known, told, rng.integers(1, 9, 60)


@pytest.mark.parametrize("seed", range(6))
def test_a_pair_is_ruled_out_where_that_no_record_has_it_is_no_chance(seed: int) -> None:
    known, told, records = rows(seed)
    sizes, values = {"x": 4, "y": 3}, range(5)

    def many(**wanted: int) -> int:
        columns = {"x": known[:, 0], "y": known[:, 1], "s": told}
        fits = np.logical_and.reduce([columns[name] == value for name, value in wanted.items()])
        return int(records[fits].sum())

    def chance(own: str, a: int, s: int) -> float:
        return many(**{own: a}) * many(s=s) / records.sum()

    def given(own: str, a: int, s: int) -> float:
        other = "y" if own == "x" else "x"
        explained = sum(
            many(**{own: a, other: b}) * many(**{other: b, "s": s}) / many(**{other: b})
            for b in range(sizes[other])
            if many(**{other: b})
        )
        return min(chance(own, a, s), explained)

    def told_so(own: str, a: int, s: int, by: Callable[[str, int, int], float]) -> bool:
        def missed(pairs: list[tuple[int, int]]) -> bool:
            both = [many(**{own: b, "s": t}) for b, t in pairs]
            unseen = sum(by(own, b, t) for (b, t), n in zip(pairs, both, strict=True) if n == 0)
            return unseen >= ENOUGH * (1 + both.count(1))

        return many(**{own: a, "s": s}) == 0 and (
            by(own, a, s) >= ENOUGH
            or missed([(a, t) for t in values])
            or missed([(b, s) for b in range(sizes[own])])
        )

    found = ruled_out(known, told, records, (4, 3), 5)
    none = never_together(known, told, records, (4, 3), 5)
    for at, own in enumerate(sizes):
        for a in range(sizes[own]):
            for s in values:
                assert found[at][a, s] == told_so(own, a, s, given)
                assert none[at][a, s] == told_so(own, a, s, chance)


def test_few_records_rule_nothing_out() -> None:
    known, told = np.array([[0], [1]]), np.array([0, 1])
    few, enough = np.array([10, 10]), np.array([12, 12])
    assert not ruled_out(known, told, few, (2,), 2)[0].any()
    assert ruled_out(known, told, enough, (2,), 2)[0].tolist() == [[False, True], [True, False]]


def test_what_a_value_is_never_seen_with_is_ruled_out_for_rare_quasi_identifiers_too() -> None:
    # value 1 stands beside code 0 only, 50 times; code 2 has two records, and never had a chance
    known, told = np.array([[0], [1], [2]]), np.array([1, 0, 0])
    records = np.array([50, 50, 2])
    assert never_together(known, told, records, (3,), 2)[0][:, 1].tolist() == [False, True, True]
    # but not where it is seen once with another one: that measures what is yet to be seen
    seen = [*known.tolist(), *([code] for code in range(3, 20))]
    values, many = [1, 0, 0, *[1] * 17], [50, 50, 2, *[1] * 17]
    found = never_together(np.array(seen), np.array(values), np.array(many), (20,), 2)[0]
    assert found[:3, 1].tolist() == [False, True, False]


def test_without_genuine_records_nothing_is_known() -> None:
    nothing = np.zeros(0, np.int64)
    assert not ruled_out(np.zeros((0, 1), np.int64), nothing, nothing, (2,), 2)[0].any()
