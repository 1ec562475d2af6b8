"""Trees of labels: what is refused, what is lost on each level, which bounds are honest."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tiers import examples

from dbdeid.data.hierarchy import Order, as_rows, from_rows
from dbdeid.errors import HierarchyError


@pytest.mark.parametrize(
    ("rows", "words", "examples"),
    [
        ([], "is empty", set()),
        ([["s1", "x"], ["s2"]], "1 of 2 rows do not have 2 cells", set()),
        ([["s1", "x"], ["s1", "x"]], "1 leaves occur more than once", {"s1"}),
        ([["s1", "x"], ["s1", "y"]], "1 of them with two different parents", {"s1"}),
        ([["s1", "sx", "1"], ["s2", "sx", "2"]], "1 labels of level 1 have two parents", {"sx"}),
        ([["*", "x"], ["s1", "y"]], "a value reads '[*]'", set()),
        ([["s1", "*", "y"], ["s2", "sz", "y"]], "a label below the top reads '[*]'", set()),
        ([["s1", "*"], ["s2", "sx"]], "a label below the top reads '[*]'", set()),
    ],
)
def test_broken_tables(rows: list[list[str]], words: str, examples: set[str]) -> None:
    with pytest.raises(HierarchyError, match=words) as refused:
        from_rows("c", "file", rows, declared=True)
    assert set(refused.value.examples) == examples
    assert not any(cell in str(refused.value) for row in rows for cell in row if cell[0] == "s")


def test_all_problems_at_once_and_at_most_ten_examples() -> None:
    rows = [[str(i // 2), str(i), "t"] for i in range(40)] + [["z", "0", "u"]]
    with pytest.raises(HierarchyError, match=r"20 leaves .*; 1 labels of level 1") as refused:
        from_rows("c", "file", rows, declared=True)
    assert len(refused.value.examples) == 10


@pytest.mark.parametrize(
    ("rows", "labels"),
    [
        ([["a", "x", "all"], ["b", "y", "all"]], [("a", "b"), ("x", "y"), ("*",)]),
        ([["a", "x"], ["b", "y"]], [("a", "b"), ("x", "y"), ("*",)]),
        ([["a"], ["b"]], [("a", "b"), ("*",)]),
        ([["a", "x", "all", "*"]], [("a",), ("x",), ("all",), ("*",)]),
        ([["", "none"], ["a", "none"]], [("", "a"), ("*",)]),
    ],
)
def test_one_top_is_star_and_added_only_where_it_is_missing(
    rows: list[list[str]], labels: list[tuple[str, ...]]
) -> None:
    hierarchy = from_rows("c", "file", rows, declared=True)
    assert [level.labels for level in hierarchy.levels] == labels
    assert hierarchy.height == len(labels) - 1


def test_fixed_top_is_above_a_single_label() -> None:
    hierarchy = from_rows("c", "p", [["ab", "a*"], ["ac", "a*"]], declared=False, fixed_top=True)
    assert [level.labels for level in hierarchy.levels] == [("ab", "ac"), ("a*",), ("*",)]


@st.composite
def trees(draw: st.DrawFn) -> list[list[str]]:
    leaves = draw(st.integers(1, 12))
    paths = [[f"v{i}"] for i in range(leaves)]
    group = list(range(leaves))
    for level in range(draw(st.integers(0, 3))):
        parent = {g: draw(st.integers(0, 3)) for g in set(group)}
        group = [parent[g] for g in group]
        for path, g in zip(paths, group, strict=True):
            path.append(f"l{level}g{g}")
    return paths


@settings(deadline=None, max_examples=examples(50))
@given(trees())
def test_loss_counts_leaves_and_grows_to_one(rows: list[list[str]]) -> None:
    hierarchy = from_rows("c", "tree", rows, declared=True)
    n, before = len(rows), np.zeros(len(rows))
    for number, level in enumerate(hierarchy.levels):
        names = [level.labels[g] for g in level.groups]
        if 0 < number < hierarchy.height:
            assert names == [row[number] for row in rows]
            expected = [(names.count(x) - 1) / max(n - 1, 1) for x in names]
            assert level.loss[level.groups].tolist() == expected
        assert (level.loss[level.groups] >= before).all()
        before = level.loss[level.groups]
    assert before.tolist() == [1.0] * n


def test_bounds_come_from_declared_leaves_and_only_where_all_have_an_order() -> None:
    rows = [["10", "x"], ["9", "x"], ["?", "y"], ["3", "y"]]
    order = Order((Fraction(10), Fraction(9), None, Fraction(3)), ("10", "9", "?", "3"))
    hierarchy = from_rows("c", "file", rows, declared=True, order=order)
    assert hierarchy.levels[0].lower == ("10", "9", None, "3")
    assert (hierarchy.levels[1].lower, hierarchy.levels[1].upper) == (("9", None), ("10", None))
    assert hierarchy.levels[2].lower == (None,)
    undeclared = from_rows("c", "file", rows, declared=False, order=order)
    assert undeclared.levels[1].lower == (None, None)


def test_long_form_spells_null() -> None:
    found = as_rows(from_rows("c", "f", [["a", "x"], ["b", "y"]], declared=True), with_null=True)
    rows = list(zip(found["level"], found["value"], found["label"], found["loss"], strict=True))
    assert rows == [
        (0, "a", "a", 0.0),
        (0, "b", "b", 0.0),
        (0, None, None, 0.0),
        (1, "a", "x", 0.0),
        (1, "b", "y", 0.0),
        (1, None, None, 0.0),
        (2, "a", "*", 1.0),
        (2, "b", "*", 1.0),
        (2, None, "*", 1.0),
    ]
