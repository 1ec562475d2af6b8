"""How figures are drawn: lines, points and bars of altair, in panels."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from io import StringIO
from typing import Any, Literal

from dbdeid.papers.common.outcome import Row
from dbdeid.report.charts.charts import AXES, slim

_SCHEME: Literal["tableau20"] = "tableau20"


@dataclass(frozen=True, slots=True)
class Look:
    """How a chart is laid out.

    Attributes:
        column, row: the fields that panels stand beside and below each other by.
        order: of the colours, the first of the legend first.
        colours: of them; none: those of a scheme.
        log_x, log_y: whether axes are logarithmic; an axis with zeros is then nearly so.
        ticks: of the horizontal axis; none: chosen by the chart.
        own_axes: the axes, `x` and `y`, that each panel has for itself.
        steps: whether a line keeps its height up to the next point.
        size: of a panel, in pixels.
    """

    column: str | None = None
    row: str | None = None
    order: Sequence[str] = ()
    colours: Sequence[str] = ()
    log_x: bool = False
    log_y: bool = False
    ticks: Sequence[float] = ()
    own_axes: str = ""
    steps: bool = False
    size: tuple[int, int] = (320, 260)


def lines(rows: Sequence[Row], x: str, y: str, colour: str, look: Look) -> Any:
    """A measure against another, a line for each colour."""
    axes = {
        "x": _axis("x", x, [row[x] for row in rows], look.log_x, look.ticks),
        "y": _axis("y", y, [row[y] for row in rows], look.log_y),
        "color": _colour(colour, rows, look),
    }
    if look.row:  # whose panels say what is drawn
        axes["y"] = axes["y"].title(None)
    way = "step-after" if look.steps else "linear"
    drawn = _chart(rows).mark_line(point=not look.steps, interpolate=way).encode(**axes)
    return _paneled(drawn, rows, look)


def dots(rows: Sequence[Row], x: str, y: str, colour: str, look: Look) -> Any:
    """Points beside each other by name, each colour with a shape of its own."""
    import altair as alt

    axes = {
        "x": alt.X(x, type="nominal", sort=_seen(rows, x), title=None),
        "y": _axis("y", y, [row[y] for row in rows], look.log_y),
        "color": _colour(colour, rows, look),
        "shape": alt.Shape(colour, type="nominal", sort=list(look.order) or _seen(rows, colour)),
    }
    return _paneled(_chart(rows).mark_point(filled=True, size=70).encode(**axes), rows, look)


def scatter(rows: Sequence[Row], x: str, y: str, look: Look) -> Any:
    """A cloud of points."""
    axes = {
        "x": _axis("x", x, [row[x] for row in rows], look.log_x),
        "y": _axis("y", y, [row[y] for row in rows], look.log_y),
    }
    return _paneled(_chart(rows).mark_circle(size=12, opacity=0.35).encode(**axes), rows, look)


def bars(rows: Sequence[Row], x: str, y: str, colour: str, look: Look) -> Any:
    """Bars, stacked where there are several of a colour at one place."""
    import altair as alt

    sideways = isinstance(rows[0][y], str)
    axes = {
        "x": alt.X(x, type="quantitative" if sideways else "ordinal", title=x),
        "y": alt.Y(y, type="nominal", sort=_seen(rows, y), title=None)
        if sideways
        else alt.Y(y, type="quantitative", title=y),
        "color": _colour(colour, rows, look),
    }
    return _paneled(_chart(rows).mark_bar().encode(**axes), rows, look)


def beside(*charts: Any) -> Any:
    """Charts from left to right."""
    import altair as alt

    return alt.hconcat(*charts)


def svg(chart: Any) -> str:
    """A chart as an SVG element in the colours of a page."""
    out = StringIO()
    dressed = (
        chart.configure(font="inherit", background="transparent", aria=False)
        .configure_view(stroke="var(--line)")
        .configure_axis(**AXES)
        .configure_legend(aria=False, labelColor="currentColor", titleColor="currentColor")
        .configure_header(labelColor="currentColor", titleColor="currentColor")
    )
    dressed.save(out, format="svg")
    return slim(re.sub(r' aria-label="[^"]*"', "", out.getvalue()))


def _chart(rows: Sequence[Row]) -> Any:
    import altair as alt

    return alt.Chart(alt.InlineData(values=[dict(row) for row in rows]))


def _axis(
    kind: str, field: str, values: Sequence[float], log: bool, ticks: Sequence[float] = ()
) -> Any:
    import altair as alt

    positive = all(value > 0 for value in values)
    scale = (
        alt.Scale(type="log" if positive else "symlog", nice=False)
        if log
        else (alt.Scale(zero=kind == "y" and not positive, nice=True))
    )
    shown: dict[str, Any] = {"values": list(ticks), "labelOverlap": True} if ticks else {}
    axis = alt.Axis(grid=not log, **shown)
    of = alt.X if kind == "x" else alt.Y
    return of(_escaped(field), type="quantitative", scale=scale, axis=axis, title=field)


def _escaped(field: str) -> str:
    return re.sub(r"([.\[\]])", r"\\\1", field)


def _colour(field: str, rows: Sequence[Row], look: Look) -> Any:
    import altair as alt

    present = set(_seen(rows, field))
    order = [name for name in look.order or _seen(rows, field) if name in present]
    scale = alt.Scale(domain=order, scheme=_SCHEME)
    if look.colours:
        chosen = dict(zip(look.order, look.colours, strict=True))
        scale = alt.Scale(domain=order, range=[chosen[name] for name in order])
    return alt.Color(field, type="nominal", scale=scale, title=None)


def _paneled(chart: Any, rows: Sequence[Row], look: Look) -> Any:
    import altair as alt

    width, height = look.size
    found = chart.properties(width=width, height=height)
    panels = {
        kind: of(field, type="nominal", title=None, sort=_seen(rows, field))
        for kind, field, of in (("column", look.column, alt.Column), ("row", look.row, alt.Row))
        if field is not None
    }
    if panels:
        found = found.facet(**panels)
        if look.own_axes:
            found = found.resolve_scale(**dict.fromkeys(look.own_axes, "independent"))
    return found


def _seen(rows: Sequence[Row], field: str) -> list[str]:
    return list(dict.fromkeys(row[field] for row in rows))
