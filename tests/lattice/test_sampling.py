from __future__ import annotations

import numpy as np
import pytest

from dbdeid.lattice.sampling import sampled
from dbdeid.lattice.tuples import Tuples, Values


def tuples_of(rows: int, *, by_subject: bool = False) -> Tuples:
    random = np.random.default_rng(rows)
    number = np.arange(rows)
    row = np.repeat(number, 2)
    values = Values(row, np.tile([0, 1], rows), 1 + row % 3, 2)
    return Tuples(
        (number.astype(np.uint32), random.integers(0, 50, rows).astype(np.uint16)),
        1 + number % 4,
        number // 5 if by_subject else None,
        (values,),
    )


def rows_of(tuples: Tuples) -> dict[tuple[int, ...], tuple[int, list[tuple[int, int]]]]:
    """The records and the values of each tuple."""
    (of,) = tuples.values
    entries: dict[int, list[tuple[int, int]]] = {}
    for row, value, count in zip(of.row, of.value, of.count, strict=True):
        entries.setdefault(int(row), []).append((int(value), int(count)))
    codes = zip(*tuples.codes, strict=True)
    return {
        tuple(map(int, code)): (int(weight), entries[i])
        for i, (code, weight) in enumerate(zip(codes, tuples.weights, strict=True))
    }


@pytest.mark.sampled(2)
@pytest.mark.parametrize("by_subject", [False, True])
@pytest.mark.parametrize("share", [1 / 64, 1 / 8, 0.5])
def test_a_sample_has_about_its_share_of_the_tuples_with_all_that_belongs_to_them(
    share: float, by_subject: bool
) -> None:
    tuples = tuples_of(20_000, by_subject=by_subject)
    part = sampled(tuples, share)
    everything, some = rows_of(tuples), rows_of(part)
    assert all(everything[code] == of for code, of in some.items())
    assert len(some) == pytest.approx(share * 20_000, rel=0.3)
    assert len(part.values[0].row) == 2 * len(some)


def test_samples_are_the_same_in_any_order_and_smaller_ones_are_part_of_larger_ones() -> None:
    tuples = tuples_of(5000)
    order = np.random.default_rng(0).permutation(5000)
    shuffled = Tuples(tuple(c[order] for c in tuples.codes), tuples.weights[order])
    plain = Tuples(tuples.codes, tuples.weights)
    chosen = [{*zip(*sampled(plain, share).codes, strict=True)} for share in (0.1, 0.4)]
    assert chosen[0] < chosen[1]
    assert {*zip(*sampled(shuffled, 0.1).codes, strict=True)} == chosen[0]


def test_a_subject_is_in_a_sample_with_all_its_rows_and_numbered_anew() -> None:
    tuples = tuples_of(5000, by_subject=True)
    part = sampled(tuples, 0.2)
    assert part.subjects is not None
    assert np.array_equal(np.unique(part.subjects), np.arange(part.people))
    assert (np.bincount(part.subjects) == 5).all()
    assert part.people < tuples.people
