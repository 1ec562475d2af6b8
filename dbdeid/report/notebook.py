"""Results as notebooks show them: small pieces of HTML, and charts to look at and to change.

They are for inside the house: what was searched and what was lost tells of the original. They name
columns, levels and counts, and hold no cell of the original.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any

from dbdeid.report import terms
from dbdeid.report.charts import bar_chart, bar_drawing, bars
from dbdeid.report.commands import k_of
from dbdeid.report.frontier_charts import frontier_chart, frontier_drawing
from dbdeid.report.landmarks import landmarks
from dbdeid.report.page import environment
from dbdeid.report.proof import decimals
from dbdeid.report.search_charts import grid_drawing

ROWS_SHOWN = 100
DECIMALS = 4
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


def run_html(record: Mapping[str, Any]) -> str:
    """A release: how many records, what was promised and found, what was lost, and how large
    classes are.

    Args:
        record: as the book keeps it.
    """
    rows = bars(record.get("histogram") or (), k_of(record))
    checks = (record.get("verification") or {}).get("promises") or ()
    return _rendered(
        "run",
        r=record,
        promises=sorted(checks, key=lambda check: bool(check["holds"])),
        levels=_levels(record["transformation"]),
        plot=_coloured(bar_chart(rows, "records")) if rows else None,
    )


def run_charts(record: Mapping[str, Any]) -> dict[str, Any]:
    """The charts of a release as altair draws them, by name: those that it has figures for.

    `classes` and `records` by the size of their class; `loss` of each column; and the `frontier`
    that a policy was chosen from.
    """
    rows = bars(record.get("histogram") or (), k_of(record))
    found = {name: bar_drawing(rows, name) for name in ("classes", "records") if rows}
    losses = record.get("column_loss") or {
        column["name"]: column.get("loss") for column in record.get("columns") or ()
    }
    known = {name: loss for name, loss in losses.items() if loss is not None}
    if known:
        found["loss"] = _loss_drawing(known)
    if record.get("frontier"):
        found["frontier"] = frontier_drawing(record["frontier"])
    return {name: alone(drawing) for name, drawing in found.items()}


def search_html(search: Mapping[str, Any]) -> str:
    """What a search found, and what is next to it; or what each demand would cost.

    Args:
        search: as `dbdeid search --json` tells it.
    """
    cells = search.get("cells")
    outcomes = [{**of, "levels": _levels(of["transformation"])} for of in cells or [search]]
    for near in () if cells else search["neighbours"]:
        verdict = "" if near["accepted"] else ", not accepted"
        outcomes.append({**near, "levels": f"{near['column']} at {near['level']}{verdict}"})
    digits = decimals(of["score"] for of in outcomes)
    return _rendered(
        "search",
        s=search,
        title=terms.METRICS[search["objective"]].title,
        outcomes=outcomes,
        score=lambda value: "–" if value is None else f"{value:,.{digits}f}",
    )


def search_charts(search: Mapping[str, Any]) -> dict[str, Any]:
    """The charts of a search: `cost`, the score of each demand, where there are several."""
    cells = search.get("cells") or ()
    drawing = grid_drawing(cells, terms.METRICS[search["objective"]].title) if cells else None
    return {} if drawing is None else {"cost": alone(drawing)}


def frontier_html(frontier: Mapping[str, Any]) -> str:
    """A frontier: its drawing, and the points that are worth a look.

    Args:
        frontier: as `dbdeid frontier --json` tells it.
    """
    return _rendered(
        "frontier",
        f=frontier,
        plot=_coloured(frontier_chart(frontier)),
        landmarks=landmarks(frontier),
        loss=terms.FRONTIER_LOSSES.get(frontier["utility"], (frontier["utility"], ""))[0],
        risk=terms.FRONTIER_RISKS.get(frontier["risk"], (frontier["risk"], ""))[0],
    )


def frontier_drawn(frontier: Mapping[str, Any]) -> dict[str, Any]:
    """The charts of a frontier: `log` and `linear`, by the scale of the risk."""
    return {
        "log": alone(frontier_drawing(frontier, "log")),
        "linear": alone(frontier_drawing(frontier, "linear")),
    }


def answer_html(columns: Sequence[str], rows: Sequence[Sequence[Any]], notes: Sequence[str]) -> str:
    """An answer from a release as a table, then what a reader of it should know."""
    return _rendered(
        "answer",
        columns=columns,
        rows=[[_cell(value) for value in row] for row in rows[:ROWS_SHOWN]],
        more=max(0, len(rows) - ROWS_SHOWN),
        notes_of=notes,
    )


def alone(drawing: Any) -> Any:
    """A drawing of a page as a chart that needs no stylesheet around it."""
    import altair as alt

    return alt.Chart.from_json(_coloured(json.dumps(drawing.to_dict(validate=False))))


def _coloured(text: str) -> str:
    for name, colour in COLOURS.items():
        written, other = (name, colour) if "(" in name else (f'"{name}"', f'"{colour}"')
        text = text.replace(written, other)
    return text


def _loss_drawing(losses: Mapping[str, float]) -> Any:
    import altair as alt

    values = [{"column": name, "loss": loss} for name, loss in losses.items()]
    return (
        alt.Chart(alt.InlineData(values=values))
        .mark_bar(color="var(--accent)")
        .encode(
            x=alt.X("loss:Q", title="loss", scale=alt.Scale(domain=[0, 1])),
            y=alt.Y("column:N", title=None, sort="-x"),
            tooltip=["column:N", alt.Tooltip("loss:Q", format=".4f")],
        )
    )


def _rendered(kind: str, **view: Any) -> str:
    template = environment().get_template("notebook.html.j2")
    html: str = template.render(kind=kind, **view)
    return html


def _levels(transformation: Mapping[str, int] | None) -> str:
    if transformation is None:
        return "none found"
    return ", ".join(f"{name} {level}" for name, level in transformation.items())


def _cell(value: Any) -> tuple[str, bool]:
    """The text of a cell, and whether it is a number."""
    if value is None:
        return "NULL", False
    if isinstance(value, bool):
        return str(value), False
    if isinstance(value, float):
        whole = math.isfinite(value) and value.is_integer()
        return (f"{value:,.0f}" if whole else f"{value:,.{DECIMALS}f}"), True
    if isinstance(value, int | Decimal):
        return f"{value:,}", True
    return str(value), False
