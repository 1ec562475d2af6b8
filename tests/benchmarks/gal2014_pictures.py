"""The pictures of `gal2014.py`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pandas as pd
from gal2014_ways import DRAWN, WAYS
from survival import TABLES

PHASES = ("clustering", "balancing", "synthesis", "mapping", "calibration")

Found = dict[str, Any]

COLOURS = dict(
    zip(
        (*DRAWN, "TFRP", "MDAV", "bootstrap", "improved, z"),
        ("#e45756", "#f58518", "#4c78a8", "#54a24b", "#9d755d", "#b279a2", "#bab0ac", "#eeca3b"),
        strict=True,
    )
)


def _coloured(rows: Sequence[Found]) -> Any:
    import altair as alt

    present = [way for way in COLOURS if any(row["method"] == way for row in rows)]
    scale = alt.Scale(domain=present, range=[COLOURS[way] for way in present])
    return alt.Color("method", type="nominal", scale=scale, title=None)


def bars(rows: Sequence[Found]) -> Any:
    """Coefficients outside the interval, by method."""
    import altair as alt

    return (
        alt.Chart(pd.DataFrame(rows))
        .mark_bar()
        .encode(
            x=alt.X("outside", type="quantitative", title="% outside the interval"),
            y=alt.Y("method", type="nominal", title=None, sort=[*WAYS]),
            color=_coloured(rows).legend(None),
            row=alt.Row("model", type="nominal", title=None, sort=["OLS", "logistic", "Cox"]),
            column=alt.Column("table", type="nominal", title=None, sort=[*TABLES]),
        )
        .properties(width=220, height=130)
        # a page shows the picture as an image, whose parts have no voice
        .configure(aria=False)
    )


def curves(rows: Sequence[Found], measure: str, title: str) -> Any:
    """A measure against K, a panel a table."""
    import altair as alt

    return (
        alt.Chart(pd.DataFrame(rows))
        .mark_line(point=True)
        .encode(
            x=alt.X(
                "k",
                type="quantitative",
                scale=alt.Scale(type="log", nice=False),
                axis=alt.Axis(values=sorted({row["k"] for row in rows})),
                title="K",
            ),
            y=alt.Y(measure, type="quantitative", title=title),
            color=_coloured(rows),
        )
        .properties(width=260, height=240)
        .facet(column=alt.Column("table", type="nominal", title=None, sort=[*TABLES]))
        .configure(aria=False)
    )


def phases(rows: Sequence[Found]) -> Any:
    """Seconds of the phases against records, a panel a method."""
    import altair as alt

    flat = [
        {"records": row["at"], "method": row["method"], "phase": phase, "seconds": row[phase]}
        for row in rows
        if row["sweep"] == "records"
        for phase in PHASES
        if row.get(phase)
    ]
    return (
        alt.Chart(pd.DataFrame(flat))
        .mark_bar()
        .encode(
            x=alt.X("records", type="ordinal", title="records"),
            y=alt.Y("seconds", type="quantitative", title="CPU seconds"),
            color=alt.Color("phase", type="nominal", sort=[*PHASES], title=None),
        )
        .properties(width=150, height=220)
        .facet(column=alt.Column("method", type="nominal", title=None, sort=[*DRAWN]))
        .resolve_scale(x="independent", y="independent")
        .configure(aria=False)
    )


def swept(rows: Sequence[Found]) -> Any:
    """Seconds against records, cluster size and columns."""
    import altair as alt

    parts = []
    for sweep, scale in (("records", "log"), ("cluster size", "log"), ("columns", "linear")):
        own = [row for row in rows if row["sweep"] == sweep and row["method"] != "k-means"]
        parts.append(
            alt.Chart(pd.DataFrame(own))
            .mark_line(point=True)
            .encode(
                x=alt.X(
                    "at",
                    type="quantitative",
                    scale=alt.Scale(type=scale, nice=False),
                    axis=alt.Axis(values=sorted({row["at"] for row in own}), labelOverlap=True),
                    title=sweep,
                ),
                y=alt.Y(
                    "all",
                    type="quantitative",
                    title="CPU seconds",
                    scale=alt.Scale(type="log" if scale == "log" else "linear"),
                ),
                color=_coloured(own),
            )
            .properties(width=250, height=240)
        )
    return alt.hconcat(*parts).configure(aria=False)
