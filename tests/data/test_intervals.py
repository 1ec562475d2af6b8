"""Intervals, against a brute force in exact fractions."""

from __future__ import annotations

import re
from fractions import Fraction as F
from math import ceil

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tiers import examples

from dbdeid.data.intervals import (
    Intervals,
    build,
    decimal,
    fractional,
    labelled,
    of_values,
)
from dbdeid.errors import HierarchyError

VALUES = st.lists(st.decimals(-1000, 1000, places=2).map(str), min_size=1, max_size=12, unique_by=F)
WHOLE = st.lists(st.integers(-1000, 1000).map(str), min_size=1, max_size=12, unique=True)
SCALES = st.tuples(
    st.sampled_from([F(1), F(5), F("0.1"), F("0.25"), F(7), F(100)]),
    st.lists(st.integers(2, 5), max_size=2),
    st.sampled_from([F(0), F(3), F("-0.5"), F("0.05")]),
    st.none() | st.integers(-500, 0).map(F),
    st.none() | st.integers(1, 500).map(F),
)


def scale_of(drawn: tuple[F, list[int], F, F | None, F | None]) -> Intervals:
    width, factors, origin, lower, upper = drawn
    widths = [width]
    for factor in factors:
        widths.append(widths[-1] * factor)
    return Intervals(tuple(widths), origin, lower, upper)


def expected(number: F, width: F, scale: Intervals) -> tuple[F | None, F | None]:
    """The interval of a number, by walking from the origin."""
    if scale.lower is not None and number < scale.lower:
        return None, scale.lower
    if scale.upper is not None and number >= scale.upper:
        return scale.upper, None
    start = scale.origin + ((number - scale.origin) // width) * width
    end = start + width
    assert start <= number < end
    return (
        start if scale.lower is None else max(start, scale.lower),
        end if scale.upper is None else min(end, scale.upper),
    )


def parsed(label: str) -> tuple[F | None, F | None]:
    if label.startswith("< "):
        return None, F(label[2:])
    if label.startswith(">= "):
        return F(label[3:]), None
    start, end = re.fullmatch(r"\[(\S+), (\S+)\)", label).groups()  # type: ignore[union-attr]
    return F(start), F(end)


@settings(deadline=None, max_examples=examples(50))
@given(VALUES, SCALES)
def test_every_label_is_the_exact_interval(values: list[str], drawn: tuple) -> None:
    scale = scale_of(drawn)
    hierarchy = build("c", values, scale, discrete=False)
    assert hierarchy.height == len(scale.widths) + 1
    for level, width in zip(hierarchy.levels[1:-1], scale.widths, strict=True):
        for value, group in zip(values, level.groups, strict=True):
            start, end = expected(F(value), width, scale)
            assert parsed(level.labels[group]) == (start, end)
            assert level.lower[group] == (None if start is None else fractional(start))
            assert level.upper[group] == (None if end is None else fractional(end))
            assert all("." in bound for bound in (level.lower[group], level.upper[group]) if bound)


@settings(deadline=None, max_examples=examples(50))
@given(VALUES, SCALES)
def test_levels_nest_and_loss_grows(values: list[str], drawn: tuple) -> None:
    hierarchy = build("c", values, scale_of(drawn), discrete=False)
    for finer, coarser in zip(hierarchy.levels, hierarchy.levels[1:], strict=False):
        pairs = set(zip(finer.groups, coarser.groups, strict=True))
        assert len(pairs) == len(finer.labels)
        assert (finer.loss[finer.groups] <= coarser.loss[coarser.groups]).all()
    assert hierarchy.levels[-1].loss.tolist() == [1.0]


@settings(deadline=None, max_examples=examples(50))
@given(WHOLE, SCALES)
def test_whole_numbers_count_their_members(values: list[str], drawn: tuple) -> None:
    scale = scale_of(drawn)
    hierarchy = build("c", values, scale, discrete=True)
    numbers = [F(v) for v in values]
    widest = [expected(n, scale.widths[-1], scale) for n in numbers]
    inside = [cell for cell in widest if None not in cell]
    low = scale.lower if scale.lower is not None else min((c[0] for c in inside), default=None)
    high = scale.upper if scale.upper is not None else max((c[1] for c in inside), default=None)
    for level, width in zip(hierarchy.levels[1:-1], scale.widths, strict=True):
        for number, group in zip(numbers, level.groups, strict=True):
            start, end = expected(number, width, scale)
            if start is None or end is None:
                assert level.loss[group] == 1
                continue
            members = range(ceil(start), ceil(end))
            domain = range(ceil(low), ceil(high))
            assert (level.lower[group], level.upper[group]) == (str(members[0]), str(members[-1]))
            if len(domain) > 1:
                assert level.loss[group] == float(F(len(members) - 1, len(domain) - 1))


def test_known_facts() -> None:
    tenth = build("c", ["0.3", "0.1", "-0.05"], Intervals((F("0.1"),)), discrete=False)
    assert tenth.levels[1].labels == ("[0.3, 0.4)", "[0.1, 0.2)", "[-0.1, 0)")
    ages = build(
        "c", ["20", "24", "25"], Intervals((F(5), F(10)), F(0), F(10), F(60)), discrete=True
    )
    assert ages.levels[1].labels == ("[20, 25)", "[25, 30)")
    assert ages.levels[1].loss.tolist() == [4 / 49, 4 / 49]
    assert ages.levels[2].loss.tolist() == [9 / 49]
    bmi = build("c", ["20.5", "9", "60"], Intervals((F(5),), F(0), F(10), F(60)), discrete=False)
    assert bmi.levels[1].labels == ("[20, 25)", "< 10", ">= 60")
    assert bmi.levels[1].loss.tolist() == [5 / 50, 1, 1]


def test_ends_are_never_cut_at_the_data() -> None:
    found = build("c", ["17", "43"], Intervals((F(10), F(20))), discrete=True)
    assert found.levels[1].labels == ("[10, 20)", "[40, 50)")
    assert found.levels[1].loss.tolist() == [9 / 59, 9 / 59]  # of [0, 60), not of 17-43
    assert (found.levels[-1].lower, found.levels[-1].upper) == ((None,), (None,))


def test_large_numbers_are_exact() -> None:
    big = str(2**127 - 1)
    found = build("c", [big], Intervals((F(10),)), discrete=True)
    assert found.levels[1].labels == (f"[{2**127 - 8}, {2**127 + 2})",)
    assert decimal(F("1e-30")) == "0." + "0" * 29 + "1"


@pytest.mark.parametrize("value", ["nan", "inf", "-inf", "secret"])
def test_what_is_no_finite_number(value: str) -> None:
    with pytest.raises(HierarchyError, match="finite numbers") as refused:
        build("c", ["1", value], Intervals((F(5),)), discrete=False)
    assert "secret" not in str(refused.value)


@pytest.mark.parametrize("value", ["-5e-324", "5e-324", "1e-291", "-2.2250738585072014e-308"])
def test_what_is_nearer_to_nothing_than_a_bin_can_tell(value: str) -> None:
    """FLOOR(-5e-324 / 5) is 0 in DuckDB: the number would be in the bin above its interval."""
    with pytest.raises(HierarchyError, match="1e-290") as refused:
        build("c", ["1", value], Intervals((F(5),)), discrete=False)
    assert value not in str(refused.value)
    assert build("c", ["1e-290", "-1e-290"], Intervals((F(5),)), discrete=False).leaves


@pytest.mark.full
@settings(max_examples=examples(150), deadline=None)
@given(VALUES, SCALES)
def test_a_label_is_found_again(
    values: list[str], drawn: tuple[F, list[int], F, F | None, F | None]
) -> None:
    scale = scale_of(drawn)
    hierarchy = build("x", values, scale, discrete=False)
    for number, level in enumerate(hierarchy.levels[1:-1], start=1):
        for label, low, high in zip(level.labels, level.lower, level.upper, strict=True):
            found = labelled(label, scale)
            assert found is not None
            lowest, cell = found
            assert lowest <= number
            assert of_values(cell, discrete=False) == (low, high)


def test_a_label_of_another_scale_is_none() -> None:
    scale = Intervals((F(5), F(10)), lower=F(10), upper=F(60))
    for label in (
        "[12, 17)",
        "[20, 25]",
        "[5, 10)",
        "< 11",
        "> 60",
        ">= 70",
        "20",
        "",
        "*",
        "[x, y)",
    ):
        assert labelled(label, scale) is None
