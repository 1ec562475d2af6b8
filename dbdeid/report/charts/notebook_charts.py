"""The charts that notebooks show of results, as altair draws them: each titled with the question
that it answers, its axes with their units.

They are for inside the house, as `report.notebook` says.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from dbdeid.record.release_record import ReleaseRecord
from dbdeid.report.charts.charts import AXES, MEASURES, Bar, bar_layers, bars
from dbdeid.report.charts.frontier_charts import frontier_drawing
from dbdeid.report.charts.search_charts import grid_drawing
from dbdeid.report.content.commands import k_of
from dbdeid.report.content.metric_terms import metric_words
from dbdeid.utility.common.metric import Words

if TYPE_CHECKING:
    import altair as alt

# A notebook has no stylesheet of ours; what stands in it is on white, whatever is around it.
COLOURS = {
    "var(--accent)": "#2a65a8",
    "var(--bad)": "#b3261e",
    "var(--good)": "#1b6e3c",
    "var(--good-tint)": "#e8f4ec",
    "var(--line)": "#d9dde3",
    "var(--page)": "#ffffff",
    "var(--soft)": "#566070",
    "var(--warn)": "#7a4b00",
    "currentColor": "#1b2027",
    "inherit": "sans-serif",
    "transparent": "white",
}
# What a neighbour of the chosen transformation is, and how it is drawn.
VERDICTS = {
    "within the limit": "var(--accent)",
    "not allowed": "var(--warn)",
    "suppresses too much": "var(--bad)",
}
_WIDTH, _ROW, _LEAST = 420, 22, 160


def run_charts(record: ReleaseRecord) -> dict[str, alt.TopLevelMixin]:
    """The charts of a release by name: those that it has figures for.

    `classes` and `records` by the size of their class; `loss` of each column; and the `frontier`
    that a policy was chosen from.
    """
    rows = bars(record.histogram, k_of(record))
    found = {name: _sizes_drawing(rows, name, record) for name in MEASURES if rows}
    losses = record.column_loss or {column.name: column.loss for column in record.columns}
    known = {name: loss for name, loss in losses.items() if loss is not None}
    if known:
        found["loss"] = _loss_drawing(known)
    if record.frontier:
        found["frontier"] = _titled(
            frontier_drawing(record.frontier), "Which policies were there to choose from?"
        )
    return {name: alone(drawing) for name, drawing in found.items()}


def search_charts(search: Mapping[str, Any]) -> dict[str, alt.TopLevelMixin]:
    """The charts of a search by name.

    `neighbours` of one search: the score of what is one level apart from what it found; `cost` of
    a grid: the score of each demand, where at least two found something. Else there is none.
    """
    metric = metric_words(search["objective"])
    if "cells" not in search:
        found = {"neighbours": _neighbours_drawing(search, metric)} if search["neighbours"] else {}
    elif sum(cell["transformation"] is not None for cell in search["cells"]) > 1:
        title = f"What would each demand cost in {metric.title.lower()}?"
        found = {"cost": _titled(grid_drawing(search["cells"], _with_range(metric)), title)}
    else:
        found = {}
    return {name: alone(drawing) for name, drawing in found.items()}


def frontier_charts(frontier: Mapping[str, Any]) -> dict[str, alt.TopLevelMixin]:
    """The charts of a frontier: `log` and `linear`, by the scale of the risk."""
    title = "How much must be lost to lower the risk?"
    return {
        "log": alone(_titled(frontier_drawing(frontier, "log"), title)),
        "linear": alone(_titled(frontier_drawing(frontier, "linear"), title)),
    }


def alone(drawing: Any) -> alt.TopLevelMixin:
    """A drawing of a page as a chart that needs no stylesheet around it."""
    import altair as alt

    return alt.Chart.from_dict(_replaced(drawing.to_dict(validate=False)))


def coloured(text: str) -> str:
    """SVG of a page with the colours of a notebook."""
    for name, colour in COLOURS.items():
        written, other = (name, colour) if "(" in name else (f'"{name}"', f'"{colour}"')
        text = text.replace(written, other)
    return text


def _replaced(part: Any) -> Any:
    """The same where each value that is the name of a colour is the colour; data stay."""
    if isinstance(part, dict):
        data = ("values", "datasets")
        return {k: value if k in data else _replaced(value) for k, value in part.items()}
    if isinstance(part, list):
        return [_replaced(value) for value in part]
    return COLOURS.get(part, part) if isinstance(part, str) else part


def _titled(drawing: Any, title: str) -> Any:
    return drawing.properties(title=title).configure_title(
        color="currentColor", fontSize=14, anchor="start"
    )


def _dressed(drawing: Any, rows: int, title: str) -> Any:
    """A drawing of so many rows, tall enough for the title of their axis."""
    sized = (
        drawing.properties(width=_WIDTH, height=max(_LEAST, _ROW * rows))
        .configure(font="inherit", background="transparent")
        .configure_view(stroke=None)
        .configure_axis(**AXES)
    )
    return _titled(sized, title)


def _sizes_drawing(rows: Sequence[Bar], measure: str, record: ReleaseRecord) -> Any:
    """Bars of `classes` or `records` by class size, those below k in another colour."""
    import altair as alt

    people = "subjects" if record.by_subject else "records"
    layers = bar_layers(
        rows,
        measure,
        x=alt.X("value:Q", title=f"number of {measure}", axis=alt.Axis(format="~s")),
        y=alt.Y("sizes:N", sort=None, title=f"size of the class ({people})"),
    )
    return _dressed(layers, len(rows), MEASURES[measure])


def _loss_drawing(losses: Mapping[str, float]) -> Any:
    import altair as alt

    values = [{"column": name, "loss": loss} for name, loss in losses.items()]
    drawing = (
        alt.Chart(alt.InlineData(values=values))
        .mark_bar(color="var(--accent)")
        .encode(
            x=alt.X(
                "loss:Q",
                title=f"information loss, {metric_words('loss').range}",
                scale=alt.Scale(domain=[0, 1]),
            ),
            y=alt.Y("column:N", title="quasi-identifier", sort="-x"),
            tooltip=["column:N", alt.Tooltip("loss:Q", format=".4f")],
        )
    )
    return _dressed(drawing, len(values), "How much of each column's detail was lost?")


def _neighbours_drawing(search: Mapping[str, Any], metric: Words) -> Any:
    """The score of each neighbour as a dot, beside a line at the score of what was chosen."""
    import altair as alt

    of = search["transformation"]
    values = [
        {
            "change": f"{near['column']}: {of[near['column']]} → {near['level']}",
            "score": near["score"],
            "verdict": verdict(near),
        }
        for near in search["neighbours"]
    ]
    score = alt.X("score:Q", title=_with_range(metric), scale=alt.Scale(zero=False, padding=12))
    line = alt.Chart(alt.InlineData(values=[{"score": search["score"]}]))
    dots = (
        alt.Chart(alt.InlineData(values=values))
        .mark_circle(size=90, opacity=1)
        .encode(
            x=score,
            y=alt.Y("change:N", sort=None, title="change of level"),
            color=alt.Color(
                "verdict:N",
                title=None,
                scale=alt.Scale(domain=list(VERDICTS), range=list(VERDICTS.values())),
            ),
            tooltip=["change:N", alt.Tooltip("score:Q", format=".4g"), "verdict:N"],
        )
    )
    chosen = line.mark_rule(color="var(--good)", strokeWidth=2, strokeDash=[4, 3]).encode(x=score)
    title = "What would one level more or less do? (line: as chosen)"
    return _dressed(alt.layer(chosen, dots), len(values), title)


def verdict(near: Mapping[str, Any]) -> str:
    """What a neighbour of the chosen transformation is, one of VERDICTS."""
    if not near["feasible"]:
        return "suppresses too much"
    return "within the limit" if near["accepted"] else "not allowed"


def _with_range(metric: Words) -> str:
    return f"{metric.title}, {metric.range}"
