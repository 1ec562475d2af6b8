"""Class sizes in ranges, and their drawing."""

from __future__ import annotations

import re
from xml.etree import ElementTree

from hypothesis import given
from hypothesis import strategies as st

from dbdeid.record.findings import SizeCount
from dbdeid.report.charts.charts import Bar, bar_chart, bars


def rows(sizes: dict[int, int]) -> list[dict[str, int]]:
    return [
        SizeCount(class_size=size, classes=classes, records=size * classes)
        for size, classes in sizes.items()
    ]


def test_ranges_start_at_1_2_5_10_and_at_k() -> None:
    found = bars(rows({3: 1, 6: 2, 7: 4, 25: 1, 1000: 1}), k=7)
    assert [(bar.sizes, bar.low, bar.classes) for bar in found] == [
        ("2–4", True, 1),
        ("5–6", True, 2),
        ("7–9", False, 4),
        ("10–19", False, 0),
        ("20–49", False, 1),
        ("50–99", False, 0),
        ("100–199", False, 0),
        ("200–499", False, 0),
        ("500–999", False, 0),
        ("1,000–1,999", False, 1),
    ]


def test_no_classes_no_bars() -> None:
    assert bars([], k=5) == []


@given(
    st.dictionaries(st.integers(1, 10**7), st.integers(1, 10**6), min_size=1),
    st.one_of(st.none(), st.integers(1, 10**5)),
)
def test_every_class_is_in_one_range_and_only_those_below_k_are_low(
    sizes: dict[int, int], k: int | None
) -> None:
    found = bars(rows(sizes), k)
    assert sum(bar.classes for bar in found) == sum(sizes.values())
    assert sum(bar.records for bar in found) == sum(n * c for n, c in sizes.items())
    assert found[0].classes
    assert found[-1].classes
    low = sum(c for size, c in sizes.items() if k is not None and size < k)
    assert sum(bar.classes for bar in found if bar.low) == low


def test_chart_is_small_plain_svg_that_follows_the_page() -> None:
    svg = bar_chart([Bar("1", True, 3, 3), Bar("5–9", False, 1_200, 7_500)], "records")
    tree = ElementTree.fromstring(svg)
    assert tree.get("viewBox") == "0 0 340 48"
    assert [text.text for text in tree.iter("text")] == ["1", "5–9", "3 < k", "7,500"]
    assert {path.get("fill") for path in tree.iter("path")} == {"var(--bad)", "var(--accent)"}
    assert not re.search(r"http|url\(|<style|<image|href", svg)
    assert set(re.findall(r'font-family="([^"]*)"', svg)) == {"inherit"}
    assert len(svg) < 3_000


def test_empty_ranges_and_huge_classes_are_drawn() -> None:
    svg = bar_chart(bars(rows({5: 1, 1_200_000: 1}), 5), "classes")
    assert "1,000,000–1,999,999" in svg
