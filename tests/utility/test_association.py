"""Changes of Cramér's V against scipy's, and of labels against the records they may stand for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np
import pytest
from both_sides import Both, Pieces, compared
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats.contingency import association as scipys
from scipy.stats.contingency import crosstab
from tiers import examples

from dbdeid.utility.fidelity.association import association, cramers_v
from dbdeid.utility.fidelity.levels import coded_sides


def changes(**columns: Both) -> dict[tuple[str, str], float]:
    with compared(**columns) as (session, sides):
        return association(coded_sides(session, sides))


def expected(one: Sequence[Any], other: Sequence[Any]) -> float:
    table = crosstab(np.array(one, str), np.array(other, str)).count
    return 0.0 if min(table.shape) < 2 else float(scipys(table, method="cramer"))


rows = st.lists(
    st.tuples(st.sampled_from("abc"), st.sampled_from(["x", "y", None]), st.integers(0, 4)),
    min_size=3,
    max_size=40,
)


@pytest.mark.full
@settings(max_examples=examples(12), deadline=None)
@given(rows, rows)
def test_of_values_it_is_scipys(source: list[Any], released: list[Any]) -> None:
    before, after = [*zip(*source, strict=True)], [*zip(*released, strict=True)]
    # values that only the release has would share a level
    known = [set(column) for column in before]
    released = [r for r in released if all(v in k for v, k in zip(r, known, strict=True))]
    after = [*zip(*(released or source), strict=True)]
    p, q, r = (Both(b, a) for b, a in zip(before, after, strict=True))
    with compared(p=p, q=q, r=replace(r, number=True)) as (session, sides):
        coded = coded_sides(session, sides)
        found = association(coded)
    assert [*found] == [("p", "q"), ("p", "r"), ("q", "r")]
    for (i, j), change in zip([(0, 1), (0, 2), (1, 2)], found.values(), strict=True):
        one, other = (before, after) if j < 2 else (coded.source.T, coded.labels.T)
        # rare numbers share a level, so that levels of numbers are compared, and else values
        own = abs(expected(other[i], other[j]) - expected(one[i], one[j]))
        assert change == pytest.approx(own, abs=1e-9)
        assert 0 <= change <= 1


def test_what_is_unchanged_has_the_same_associations() -> None:
    rng = np.random.default_rng(3)
    x, y = rng.normal(size=300), rng.integers(0, 5, 300)
    found = changes(
        x=Both(x.tolist(), x.tolist(), number=True),
        y=Both([*map(str, y)], [*map(str, y)]),
    )
    assert found == {("x", "y"): 0.0}


pairs = st.tuples(st.sampled_from(["ab", "c", "abc"]), st.sampled_from(["u", "uv"]))


@pytest.mark.full
@settings(max_examples=10, deadline=None)
@given(st.lists(pairs, min_size=1, max_size=20))
def test_a_record_is_each_of_its_combinations_in_part(labels: list[Any]) -> None:
    one: Pieces = {"ab": ["a", "b"], "c": ["c"], "abc": ["a", "b", "c"]}
    other: Pieces = {"u": ["u"], "uv": ["u", "v"]}
    source = [*product("abc", "uv"), ("a", "u"), ("b", "v")]
    first, second = zip(*source, strict=True)
    shown = [*zip(*labels, strict=True)]
    found = changes(x=Both(first, shown[0], one), y=Both(second, shown[1], other))
    # as many copies of a record as are a multiple of all its combinations
    copies = [
        pair
        for p, q in labels
        for pair in product(one[p], other[q])
        for _ in range(12 // (len(one[p]) * len(other[q])))
    ]
    own = abs(expected(*zip(*copies, strict=True)) - expected(first, second))
    assert found["x", "y"] == pytest.approx(own, abs=1e-9)


def test_records_count_by_their_weight() -> None:
    source = (["a", "a", "b", "b"], ["u", "u", "v", "v"])
    released = (["a", "a", "b", "b", "a"], ["u", "u", "v", "v", "v"])
    weights = [1, 1, 1, 1, 0]
    x, y = (Both(s, r, weights=weights) for s, r in zip(source, released, strict=True))
    assert changes(x=x, y=y) == {("x", "y"): pytest.approx(0)}


def test_of_nothing_nothing_is_associated() -> None:
    found = changes(x=Both(["a", "b"], []), y=Both(["u", "v"], []))
    assert found == {("x", "y"): pytest.approx(1)}
    assert changes(x=Both(["a", "b"], ["a"])) == {}


def test_independence_and_dependence() -> None:
    assert cramers_v(np.ones((3, 4))) == pytest.approx(0)
    assert cramers_v(np.eye(4) * 7) == pytest.approx(1)
    assert cramers_v(np.ones((1, 4))) == 0
    assert cramers_v(np.zeros((2, 2))) == 0
