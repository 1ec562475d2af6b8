"""The charts of a report as inline SVG, drawn by altair and vl_convert.

Colours are CSS variables and fonts are inherited, so that a chart follows the page: light, dark
and print. Nothing in the SVG refers to anything outside.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from io import StringIO
from itertools import pairwise
from typing import Any, NamedTuple

from dbdeid.data.json import JsonObject
from dbdeid.record.findings import SizeCount

# How the axes of a chart on a page are drawn.
AXES: dict[str, Any] = {
    "aria": False,
    "labelColor": "currentColor",
    "titleColor": "currentColor",
    "gridColor": "var(--line)",
    "domainColor": "var(--line)",
    "tickColor": "var(--line)",
    "labelFontSize": 12,
    "titleFontSize": 12,
    "titleFontWeight": "normal",
}

# What can be counted by class size, and the question that it answers.
MEASURES = {
    "classes": "How small are the classes?",
    "records": "Among how many does a record hide?",
}

_WIDTH = 340
_VALUES = 72
_ROW = 24
_LETTER = 7


class Bar(NamedTuple):
    """All classes whose size lies in one range."""

    sizes: str
    low: bool
    classes: int
    records: int


def bars(histogram: Iterable[SizeCount], k: int | None) -> list[Bar]:
    """A histogram by class size, gathered into ranges that start at 1, 2, 5, 10, … and at k.

    The empty ranges between the first and the last class are kept: a gap is a fact.
    """
    sizes = sorted(histogram, key=lambda row: row.class_size)
    if not sizes:
        return []
    edges = _edges(sizes[-1].class_size, k)
    found = []
    for low, after in pairwise(edges):
        inside = [row for row in sizes if low <= row.class_size < after]
        label = f"{low:,}" if after == low + 1 else f"{low:,}–{after - 1:,}"
        found.append(
            Bar(
                label,
                k is not None and after <= k,
                sum(row.classes for row in inside),
                sum(row.records for row in inside),
            )
        )
    first = next(i for i, bar in enumerate(found) if bar.classes)
    return found[first:]


def bar_chart(rows: Iterable[Bar], measure: str) -> str:
    """Horizontal bars of `classes` or `records` by class size, as an SVG element.

    Its size is fixed and does not depend on the fonts of the machine that draws it.
    """
    import altair as alt

    shown = list(rows)
    labels = 14 + _LETTER * max(len(row.sizes) for row in shown)
    longest = max(row._asdict()[measure] for row in shown)
    drawing = (
        bar_layers(
            shown,
            measure,
            x=alt.X("value:Q", axis=None, scale=alt.Scale(domain=[0, longest or 1], nice=False)),
            y=alt.Y("sizes:N", sort=None, title=None),
        )
        .properties(
            width=_WIDTH - labels - _VALUES,
            height=_ROW * len(shown),
            padding={"left": labels, "right": _VALUES, "top": 0, "bottom": 0},
            autosize="none",
        )
        .configure(font="inherit", background="transparent", aria=False)
        .configure_view(stroke=None)
        .configure_axis(
            labelColor="currentColor", labelFontSize=12, labelPadding=6, domain=False, ticks=False
        )
    )
    out = StringIO()
    drawing.save(out, format="svg")
    return slim(out.getvalue())


def bar_layers(rows: Iterable[Bar], measure: str, *, x: Any, y: Any) -> Any:
    """The bars as layers of an altair chart, each with its number behind it.

    Args:
        rows: at least one.
        measure: `classes` or `records`.
        x, y: the axes, of the fields `value` and `sizes`.
    """
    import altair as alt

    base = alt.Chart(alt.InlineData(values=[_labelled(row, measure) for row in rows]))
    base = base.encode(x=x, y=y)
    marks = base.mark_bar(aria=False).encode(
        color=alt.condition("datum.low", alt.value("var(--bad)"), alt.value("var(--accent)"))
    )
    text = base.mark_text(aria=False, align="left", dx=5, color="currentColor", fontSize=12)
    return alt.layer(marks, text.encode(text="text:N"))


def _edges(largest: int, k: int | None) -> list[int]:
    """1, 2, 5, 10, 20, 50, … and k, up to the first that exceeds the largest class."""
    series = {k} if k else set()
    step = 1
    while step <= largest:
        series |= {step, 2 * step, 5 * step}
        step *= 10
    series.add(step)
    edges = sorted(series)
    past = next(i for i, edge in enumerate(edges) if edge > largest)
    return edges[: past + 1]


def _labelled(row: Bar, measure: str) -> JsonObject:
    value = row._asdict()[measure]
    # in words too: colour alone is lost on paper, and to some readers
    text = f"{value:,} < k" if row.low and value else f"{value:,}"
    return {"sizes": row.sizes, "low": row.low, "value": value, "text": text}


def slim(svg: str) -> str:
    """The SVG without namespaces, which HTML does not need, and without empty marks."""
    svg = re.sub(r' xmlns(:xlink)?="[^"]*"', "", svg)
    svg = re.sub(r' (aria-[a-z]+|role|pointer-events)="[^"]*"', "", svg)
    svg = re.sub(r'<path class="(background|foreground)"[^>]*/>', "", svg)
    return re.sub(r"(\.\d\d)\d{6,}", r"\1", svg).replace("<svg ", '<svg aria-hidden="true" ', 1)
