"""Coding: values in their own order as small integers, NULL last."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tiers import examples

from dbdeid.data.coding import Cell, code
from dbdeid.data.hierarchy import from_rows, without_leaves
from dbdeid.errors import HierarchyError

ROWS = [["a", "x", "*"], ["b", "x", "*"], ["c", "y", "*"], ["beyond", "y", "*"]]
TREE = from_rows("c", "file", ROWS, declared=True)
NULL = Cell(None, 0.0, None, None, None)


def test_null_is_blank_below_the_top_and_star_at_it() -> None:
    coding = code(TREE, ["a", "b", "c", None])
    assert coding.groups(0).tolist() == [0, 1, 2, 3]
    assert coding.groups(1).tolist() == [0, 0, 1, 2]
    assert coding.groups(2).tolist() == [0, 0, 0, 0]
    assert coding.loss(1).tolist() == [1 / 3, 1 / 3, 1 / 3, 0]
    assert coding.loss(2).tolist() == [1, 1, 1, 1]
    assert [cell.label for cell in coding.cells(1)] == ["x", "x", "y", None]
    assert coding.cells(1)[3] == NULL
    assert {cell.label for cell in coding.cells(2)} == {"*"}
    assert coding.cells(1)[2].leaves == ("beyond", "c")


@settings(deadline=None, max_examples=examples(50))
@given(st.lists(st.sampled_from("abc"), unique=True, max_size=3), st.booleans())
def test_groups_are_dense_and_meet_in_order(values: list[str], null: bool) -> None:
    present: list[str | None] = [*sorted(values), *([None] if null else [])]
    coding = code(TREE, present)
    for level in range(TREE.height + 1):
        groups = coding.groups(level)
        assert groups.dtype == np.uint32
        assert list(dict.fromkeys(groups.tolist())) == list(range(len(set(groups.tolist()))))
        labels = [cell.label for cell in coding.cells(level)]
        same = {(g, label) for g, label in zip(groups.tolist(), labels, strict=True)}
        assert len(same) == len({g for g, _ in same}) == len({label for _, label in same})


def test_sizes_are_those_of_the_domain() -> None:
    coding = code(TREE, ["a", "c"])
    assert [coding.sizes(level).tolist() for level in range(3)] == [[1, 1], [2, 2], [4, 4]]
    coding = code(TREE, ["a", "c", None])
    assert [coding.sizes(level).tolist() for level in range(3)] == [
        [1, 1, 1],
        [2, 2, 1],
        [5, 5, 5],
    ]
    nulls = code(without_leaves("c", "suppress", 2), [None])
    assert [nulls.sizes(level).tolist() for level in range(3)] == [[1], [1], [1]]
    assert code(TREE, []).sizes(1).tolist() == []


@pytest.mark.parametrize("hierarchy", [TREE, without_leaves("c", "suppress", 2)])
def test_a_column_of_nulls(hierarchy) -> None:
    coding = code(hierarchy, [None])
    for level in range(2):
        assert (coding.groups(level).tolist(), coding.loss(level).tolist()) == ([0], [0.0])
        assert coding.cells(level) == [NULL]
    assert coding.loss(2).tolist() == [1.0]
    assert coding.cells(2)[0].label == "*"


def test_one_value_and_no_value() -> None:
    one = code(from_rows("c", "f", [["a", "*"]], declared=True), ["a"])
    assert (one.loss(0).tolist(), one.loss(1).tolist()) == ([0.0], [1.0])
    assert code(TREE, []).groups(1).tolist() == []


def test_values_without_a_leaf_are_counted_not_quoted() -> None:
    with pytest.raises(HierarchyError, match=r"12 of 13 values have no leaf") as refused:
        code(TREE, ["a", *(f"secret{i}" for i in range(12)), None])
    assert "secret" not in str(refused.value)
    assert refused.value.examples == tuple(f"secret{i}" for i in range(10))
