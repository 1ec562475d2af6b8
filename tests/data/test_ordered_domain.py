"""What intervals of an ordered domain read, and the level that they make in a hierarchy."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tiers import examples

from dbdeid.data.hierarchy import TOP, Order, from_rows
from dbdeid.data.ordered_domain import OrderedDomain, is_code, labels, with_intervals
from dbdeid.errors import HierarchyError
from dbdeid.prepare.hierarchies import rank

ZIPS = ("37010", "37013", "37110", "37115", "38001", "38002")
WORDS = st.lists(
    st.text("abcdefghij", min_size=1, max_size=4), min_size=2, max_size=12, unique=True
)
CODES = st.lists(
    st.text("0123456789", min_size=1, max_size=4), min_size=2, max_size=30, unique=True
)


def ages(last: int) -> OrderedDomain:
    return OrderedDomain(tuple(map(str, range(last + 1))), "range", "a declared domain")


def codes(*values: str) -> OrderedDomain:
    return OrderedDomain(tuple(sorted(values, key=str.encode)), "code", "population town")


def listed(*values: str) -> OrderedDomain:
    return OrderedDomain(values, "listed", "a declared order")


@pytest.mark.parametrize(
    ("domain", "starts", "expected"),
    [
        (ages(9), [0, 1, 5], ("0", "1 to 4", "5 to 9")),
        (ages(9), [0], (TOP,)),
        (ages(0), [0], ("0",)),
        (ages(2), [0, 1, 2], ("0", "1", "2")),
        (OrderedDomain(("-2", "-1", "0"), "range", ""), [0, 2], ("-2 to -1", "0")),
        (
            OrderedDomain(("2020-01-31", "2020-02-01"), "range", ""),
            [0, 1],
            ("2020-01-31", "2020-02-01"),
        ),
        (codes(*ZIPS), [0, 4], ("37***", "3800*")),
        (codes(*ZIPS), [0, 2, 4], ("3701*", "3711*", "3800*")),
        # neither interval is all of a prefix
        (codes(*ZIPS), [0, 3], ("37010 to 37110", "37115 to 38002")),
        (codes(*ZIPS), [0, 1, 4], ("37010", "37013 to 37115", "3800*")),
        (codes("1", "10", "11", "2"), [0, 3], ("1 to 11", "2")),
        (codes("A09", "A09.1", "A10"), [0, 2], ("A09 to A09.1", "A10")),
        (codes("A01", "A02", "A021"), [0, 2], ("A01 to A02", "A021")),
        (codes("37*", "371", "372", "38"), [0, 1, 3], ("37*", "371 to 372", "38")),
        (listed("mild", "severe", "fatal"), [0, 2], ("mild | severe", "fatal")),
        (listed("mild", "severe", "fatal"), [0, 1], ("mild", "severe | fatal")),
        (listed(*"acb"), [0], (TOP,)),
    ],
)
def test_what_intervals_read(
    domain: OrderedDomain, starts: Sequence[int], expected: tuple[str, ...]
) -> None:
    assert labels(domain, starts) == expected
    assert labels(domain, np.array(starts)) == expected


def test_long_lists_read_as_their_ends() -> None:
    values = [f"{letter * 20}" for letter in "abcde"]
    assert labels(listed(*values), [0, 4])[0] == f"{values[0]} to {values[3]}"
    assert labels(listed(*values), [0, 3])[0] == " | ".join(values[:3])


@pytest.mark.parametrize(
    ("domain", "starts"),
    [
        (listed("a", "b", "a | b"), [0, 2]),
        (listed("a", "b | c", "a | b", "c"), [0, 2]),
        (listed("x" * 50, "y" * 50, "x" * 50 + " to " + "y" * 50), [0, 2]),
    ],
)
def test_labels_that_would_be_taken_for_others(domain: OrderedDomain, starts: list[int]) -> None:
    with pytest.raises(HierarchyError, match="read as another value of its domain") as error:
        labels(domain, starts)
    assert "recode" in error.value.hint


@st.composite
def cut(draw: st.DrawFn) -> tuple[OrderedDomain, list[int]]:
    """A domain of any style, and where its intervals start."""
    values, style = draw(
        st.one_of(
            st.integers(1, 40).map(lambda n: (list(map(str, range(n))), "range")),
            CODES.map(lambda found: (sorted(found), "code")),
            WORDS.map(lambda found: (found, "listed")),
        )
    )
    starts = draw(st.lists(st.integers(1, len(values)), unique=True).map(sorted))
    return OrderedDomain(tuple(values), style, "any"), [0, *(s for s in starts if s < len(values))]


@pytest.mark.full
@settings(max_examples=examples(300))
@given(cut())
def test_a_label_stands_for_one_interval(drawn: tuple[OrderedDomain, list[int]]) -> None:
    """No two intervals read alike, a single value reads as itself, and no interval as a value."""
    domain, starts = drawn
    found = labels(domain, starts)
    assert len(set(found)) == len(found) == len(starts)
    ends = [*starts[1:], len(domain.values)]
    for label, start, end in zip(found, starts, ends, strict=True):
        inside = domain.values[start:end]
        if len(inside) == 1:
            assert label == inside[0]
            continue
        assert label not in domain.values
        if label == TOP:
            assert len(starts) == 1
        elif label.endswith(TOP):
            known = [v for v in domain.values if v.startswith(label.rstrip(TOP))]
            assert known == list(inside)
            assert {len(v) for v in inside} == {len(label)}
        elif " to " in label:
            assert label == f"{inside[0]} to {inside[-1]}"
        else:
            assert label == " | ".join(inside)


@pytest.mark.parametrize(
    ("value", "code"),
    [("37010", True), ("A09.1", True), ("1-2", True), ("White", False), ("", False),
     ("10 to 20", False), ("٣٤", False), ("5é", False)],
)  # fmt: skip
def test_what_is_a_code(value: str, code: bool) -> None:
    assert is_code(value) == code


# -- the level of a hierarchy -------------------------------------------------------------------


@settings(max_examples=examples(100))
@given(cut())
def test_intervals_are_a_level(drawn: tuple[OrderedDomain, list[int]]) -> None:
    domain, starts = drawn
    if len(starts) == 1 or len(starts) == len(domain.values):
        return  # never a level of their own: these are the top and the values themselves
    numbers = tuple(map(rank, domain.values)) if domain.style == "range" else None
    order = Order(numbers, domain.values) if numbers else None
    rows = [[value] for value in domain.values]
    values = from_rows("x", domain.kind, rows, declared=True, order=order, fixed_top=True)
    found = with_intervals(values, domain, np.array(starts))
    assert found.height == 2
    assert (found.levels[0], found.levels[2]) == (values.levels[0], values.levels[1])
    level, size = found.levels[1], len(domain.values)
    ends = [*starts[1:], size]
    assert level.labels == labels(domain, starts)
    for number, (start, end) in enumerate(zip(starts, ends, strict=True)):
        assert (level.groups[start:end] == number).all()
        assert level.loss[number] == (end - start - 1) / (size - 1)
        bounds = level.lower[number], level.upper[number]
        if numbers:
            assert bounds == (domain.values[start], domain.values[end - 1])
        else:
            assert bounds == (None, None)
