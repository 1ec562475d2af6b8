"""The pictures of `answers.py`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pandas as pd
from answers_ways import WAYS

from dbdeid.papers import hospital

# Okabe & Ito, apart for the colour-blind as well.
SEXES = {"Female": "#d55e00", "Male": "#0072b2"}
COLOURS = (
    "#000000",
    "#e69f00",
    "#56b4e9",
    "#0072b2",
    "#009e73",
    "#94d3a2",
    "#d55e00",
    "#cc79a7",
    "#8c564b",
    "#999999",
)
SHORT = {
    "Q1": "patients, circulatory",
    "Q2": "mean days, circulatory",
    "Q3": "patients, procedure",
    "Q4": "mean days, procedure",
}
SHAPES = ("circle", "square", "triangle-up", "triangle-down", "diamond", "cross")

Found = dict[str, Any]


def counts(found: Sequence[Found]) -> Any:
    """Q1 and Q3: patients by age and sex, on a logarithmic axis that has a 0."""
    return _answers(found, hospital.COUNTED, "patients", logarithmic=True)


def stays(found: Sequence[Found]) -> Any:
    """Q2 and Q4: mean days by age and sex."""
    return _answers(found, [*hospital.QUESTIONS.keys() - {*hospital.COUNTED}], "days")


def _answers(
    found: Sequence[Found], questions: Sequence[str], unit: str, *, logarithmic: bool = False
) -> Any:
    """A panel a release and question: bars from bound to bound, points expected, ticks true."""
    import altair as alt

    ages = list(dict.fromkeys(age for age, *_ in hospital.HIERARCHIES["age"]))
    most = max(
        own
        for one in found
        if one["question"] in questions
        for group in one["groups"]
        for own in (group["truth"], group["value"], group["upper"])
        if own is not None
    )
    if logarithmic:
        scale = alt.Scale(type="symlog", constant=1, domain=[0, most], nice=False)
        axis = alt.Axis(
            values=[0, 1, 10, 100, 1000, 10000, 100000],
            labelExpr="format(datum.value, ',')",
            title=unit,
        )
    else:
        scale, axis = alt.Scale(domain=[0, most]), alt.Axis(title=unit, tickCount=4)
    sexes = alt.Color(
        "sex",
        type="nominal",
        title="expected, with bounds",
        scale=alt.Scale(domain=[*SEXES], range=[*SEXES.values()]),
    )
    beside = alt.XOffset("sex", type="nominal")
    rows = []
    ways = list(dict.fromkeys(one["way"] for one in found))
    for way in ways:
        x = alt.X(
            "age",
            type="nominal",
            title=None,
            scale=alt.Scale(domain=ages),
            # only under the last row, the panels are alike
            axis=alt.Axis(labelAngle=-45, labels=way == ways[-1], ticks=way == ways[-1]),
        )
        panels = []
        for question in sorted(questions):
            (own,) = (o for o in found if (o["way"], o["question"]) == (way, question))
            base = alt.Chart(pd.DataFrame(own["groups"])).encode(x=x, xOffset=beside)
            bounds = base.mark_bar(size=7, opacity=0.35).encode(
                y=alt.Y("lower", type="quantitative", scale=scale, axis=axis),
                y2="upper",
                color=sexes,
            )
            true = base.mark_tick(size=11, thickness=2, color="black").encode(
                y=alt.Y("truth", type="quantitative", scale=scale, axis=axis)
            )
            expected = base.mark_point(filled=True, size=36, opacity=1).encode(
                y=alt.Y("value", type="quantitative", scale=scale, axis=axis), color=sexes
            )
            title = f"{way} · {question}: {SHORT[question]}"
            layers = alt.layer(bounds, true, expected)
            panels.append(layers.properties(width=360, height=110, title=title))
        rows.append(alt.hconcat(*panels))
    return alt.vconcat(*rows).configure(aria=False).configure_title(fontSize=11, anchor="start")


def curves(found: Sequence[Found], dimensions: int, selectivity: float) -> Any:
    """Median errors of workloads against dimensions and against selectivity."""
    import altair as alt

    frame = pd.DataFrame(found)
    frame["median"] = frame["median"].clip(lower=0.001)
    frame["percent"] = 100 * frame["selectivity"]
    fixed = {
        "dimensions": frame[frame["selectivity"] == selectivity],
        "percent": frame[frame["dimensions"] == dimensions],
    }
    titles = {
        "dimensions": f"dimensions, selectivity {100 * selectivity:g} %",
        "percent": f"selectivity in %, {dimensions} dimensions",
    }
    ways = [*WAYS]
    shapes = [SHAPES[i % len(SHAPES)] for i in range(len(ways))]
    colour = alt.Color(
        "way",
        type="nominal",
        title=None,
        sort=ways,
        scale=alt.Scale(domain=ways, range=list(COLOURS[: len(ways)])),
    )
    shape = alt.Shape(
        "way", type="nominal", title=None, sort=ways, scale=alt.Scale(domain=ways, range=shapes)
    )
    panels = []
    for over, rows in fixed.items():
        x = alt.X(over, type="ordinal", title=titles[over], axis=alt.Axis(labelAngle=0))
        y = alt.Y(
            "median",
            type="quantitative",
            scale=alt.Scale(type="log"),
            title="median of |e − t| / t" if over == "dimensions" else None,
        )
        base = alt.Chart(rows).encode(x=x, y=y, color=colour)
        points = base.mark_point(filled=True, size=60, opacity=1).encode(shape=shape)
        panels.append((base.mark_line() + points).properties(width=300, height=300))
    return alt.hconcat(*panels).resolve_scale(y="shared").configure(aria=False)
