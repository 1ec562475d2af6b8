"""The charts of a search as inline SVG: what it looked at, how it closed in, what demands cost.

As in the report, colours are CSS variables. What a point stands for is its title, which browsers
show where the mouse rests, so that a page needs no script.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from io import StringIO
from typing import Any, TypedDict

from dbdeid.data.json import JsonObject
from dbdeid.report.charts.charts import AXES, slim

_WIDTH, _HEIGHT = 720, 400
_SPREAD = 0.6  # how far points of one height are set apart, in levels
_GOLDEN = 0.618033988749895
_LONG = 1000  # checks from which their axis is logarithmic
_COLOURS = ("var(--accent)", "var(--soft)", "var(--good)", "var(--warn)", "var(--bad)")
_DASHES = ([1, 0], [6, 3], [2, 2])


class Point(TypedDict):
    """One transformation that was checked.

    `suppressed` is a share of records; `mark` is `chosen`, `neighbour` or None.
    """

    transformation: dict[str, int]
    height: int
    score: float
    suppressed: float
    feasible: bool
    accepted: bool
    mark: str | None


def lattice_chart(points: Sequence[Point], score: str) -> str:
    """The checked transformations: total level against the score, as an SVG element."""
    import altair as alt

    values = [_drawn(point, number, score) for number, point in enumerate(points)]
    base = alt.Chart(alt.InlineData(values=values)).encode(
        x=alt.X(
            "x:Q",
            title="total level (more general to the right)",
            scale=alt.Scale(zero=False, nice=False, padding=12),
            axis=alt.Axis(tickMinStep=1, format="d"),
        ),
        y=alt.Y("score:Q", title=score, scale=_scores()),
        description="title:N",
        fill=alt.Fill("colour:N", scale=None),
    )
    drawing = alt.layer(
        base.transform_filter("!datum.mark").mark_circle(size=22, opacity=0.6),
        base.transform_filter("datum.mark == 'neighbour'").mark_point(
            size=90, opacity=1, stroke="currentColor", strokeWidth=1.5
        ),
        base.transform_filter("datum.mark == 'chosen'").mark_point(
            size=260, opacity=1, shape="diamond", stroke="currentColor", strokeWidth=2
        ),
    )
    return _svg(_dressed(drawing))


def trail_chart(trail: Sequence[tuple[int, float, float]], score: str) -> str | None:
    """The best score and the proven bound over the checks; None where nothing was found."""
    import altair as alt

    rows = [
        {"checked": checked, "value": value, "kind": kind}
        for kind, place in (("best so far", 1), ("proven bound", 2))
        for checked, value in ((point[0], point[place]) for point in trail)
        if math.isfinite(value)
    ]
    if not any(row["kind"] == "best so far" for row in rows):
        return None
    long = trail[-1][0] > _LONG
    lines = (
        alt.Chart(alt.InlineData(values=rows))
        .mark_line(interpolate="step-after", strokeWidth=2, aria=False)
        .encode(
            x=alt.X(
                "checked:Q",
                title="transformations checked",
                scale=alt.Scale(type="log" if long else "linear", nice=False),
                axis=alt.Axis(format=",d", tickCount=8, labelOverlap=True),
            ),
            y=alt.Y("value:Q", title=score, scale=_scores()),
            stroke=_series("kind:N", ["best so far", "proven bound"]),
            strokeDash=_dashes("kind:N", ["best so far", "proven bound"]),
        )
    )
    return _svg(_dressed(lines))


def grid_chart(cells: Sequence[Mapping[str, Any]], score: str) -> str | None:
    """The score against k, a line for each limit; with one k against the limit."""
    drawing = grid_drawing(cells, score)
    return None if drawing is None else _svg(drawing)


def grid_drawing(cells: Sequence[Mapping[str, Any]], score: str) -> Any:
    """The same as an altair chart, in the colours of a page; None where nothing was found."""
    import altair as alt

    found = [cell for cell in cells if cell["transformation"] is not None]
    if not found:
        return None
    by_k = len({cell["k"] for cell in cells}) > 1
    rows = [
        {
            "x": _demand(cell, by_k),
            "score": cell["score"],
            "of": _limit(cell) if by_k else f"k = {cell['k']}",
            "title": f"k = {cell['k']}, {_limit(cell)}\n{score} {cell['score']:.4g}\n"
            + _levels(cell["transformation"]),
        }
        for cell in found
    ]
    series = list(dict.fromkeys(row["of"] for row in rows))
    base = alt.Chart(alt.InlineData(values=rows)).encode(
        x=alt.X(
            "x:O",  # evenly spaced: 5, 20 and 1000 would lie upon each other on a scale
            title=f"{'k' if by_k else 'suppression limit'} (evenly spaced)",
            sort=list(dict.fromkeys(_demand(cell, by_k) for cell in cells)),
            scale=alt.Scale(type="point", padding=0.3),
            axis=alt.Axis(labelAngle=0, labelOverlap=False, grid=True),
        ),
        y=alt.Y("score:Q", title=score, scale=_scores()),
    )
    lines = base.mark_line(strokeWidth=2, aria=False).encode(
        stroke=_series("of:N", series), strokeDash=_dashes("of:N", series)
    )
    dots = base.mark_circle(size=70, opacity=1).encode(
        fill=alt.Fill("of:N", scale=_colours(series), legend=None), description="title:N"
    )
    return _dressed(alt.layer(lines, dots))


def _drawn(point: Point, number: int, score: str) -> JsonObject:
    colour = "var(--accent)" if point["accepted"] else "var(--warn)"
    verdict = "within the limit" if point["accepted"] else "within the limit, not allowed"
    if not point["feasible"]:
        colour, verdict = "var(--bad)", "suppresses too much"
    if point["mark"] == "chosen":
        colour, verdict = "var(--good)", "chosen"
    apart = 0.0 if point["mark"] == "chosen" else ((number * _GOLDEN) % 1 - 0.5) * _SPREAD
    return {
        "x": point["height"] + apart,
        "score": point["score"],
        "colour": colour,
        "mark": point["mark"],
        "title": f"{_levels(point['transformation'])}\n{score} {point['score']:.4g}, "
        f"{point['suppressed']:.2%} suppressed: {verdict}",
    }


def _levels(transformation: dict[str, int]) -> str:
    return ", ".join(f"{name} {level}" for name, level in transformation.items())


def _demand(cell: Mapping[str, Any], by_k: bool) -> str:
    return str(cell["k"]) if by_k else f"{100 * cell['suppression_limit']:g}%"


def _limit(cell: Mapping[str, Any]) -> str:
    return f"limit {100 * cell['suppression_limit']:g}%"


def _colours(names: Sequence[str]) -> Any:
    import altair as alt

    colours = [_COLOURS[i % len(_COLOURS)] for i in range(len(names))]
    return alt.Scale(domain=list(names), range=colours)


def _scores() -> Any:
    import altair as alt

    return alt.Scale(zero=False, nice=False, padding=12)


def _series(field: str, names: Sequence[str]) -> Any:
    import altair as alt

    return alt.Stroke(field, scale=_colours(names), legend=alt.Legend(title=None))


def _dashes(field: str, names: Sequence[str]) -> Any:
    import altair as alt

    dashes = [_DASHES[i % len(_DASHES)] for i in range(len(names))]
    return alt.StrokeDash(field, scale=alt.Scale(domain=list(names), range=dashes), title=None)


def _dressed(chart: Any) -> Any:
    return (
        chart.properties(width=_WIDTH, height=_HEIGHT)
        .configure(font="inherit", background="transparent")
        .configure_view(stroke=None)
        .configure_axis(**AXES)
        .configure_legend(aria=False, labelColor="currentColor", labelFontSize=12, orient="top")
    )


def _svg(chart: Any) -> str:
    out = StringIO()
    chart.save(out, format="svg")
    titled = re.sub(
        r'<path aria-label="([^"]*)"([^>]*)/>', r"<path\2><title>\1</title></path>", out.getvalue()
    )
    return slim(titled)
