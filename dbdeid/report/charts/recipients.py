"""The recipient's models in a report: side by side, and drawn as forest plots. Internal only."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from io import StringIO

from dbdeid.data.json import JsonObject
from dbdeid.record.release_record import ReleaseRecord
from dbdeid.record.usefulness import Coefficient, Estimate, RecipientModel, Records, Summary
from dbdeid.report.charts.charts import AXES, slim

_WIDTH, _MARGIN = 340, 8
# A coefficient: its name, and below it the original and the release.
_ROW, _NAME, _ORIGINAL, _RELEASED = 54, 12, 27, 40
_AXIS = 44
_LETTERS = 46
_INTERVAL = 1.96
_KINDS = {
    "cox": "Proportional hazards (Cox) model of {response}, event {event}",
    "linear": "Linear model of {response}",
    "logistic": "Logistic model of {response}",
}


@dataclass(frozen=True, slots=True)
class Row:
    """A coefficient, and what changed of it in words."""

    name: str
    original: Estimate
    released: Estimate | None
    changes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Model:
    """A model as the page shows it.

    Attributes:
        title: what it is of.
        source: records of the original.
        release: records of the release; None where it has no fit.
        reason: why it has none.
        summary: what changed.
        expected: variables that entered by their expected value.
        untold: variables of which only the owner knows what labels stand for.
        references: of categories, what the others are compared with.
        rows: its coefficients.
        chart: their forest plot.
    """

    title: str
    source: Records
    release: Records | None
    reason: str | None
    summary: Summary
    expected: tuple[str, ...]
    untold: tuple[str, ...]
    references: tuple[tuple[str, str], ...]
    rows: tuple[Row, ...]
    chart: str


@dataclass(frozen=True, slots=True)
class Models:
    """The models of a record as the page shows them; `several` tell what changed overall."""

    models: tuple[Model, ...]
    overall: Summary | None
    several: bool


def recipients(record: ReleaseRecord) -> Models | None:
    """The models of a record as the page shows them; None where there are none."""
    found = record.models
    if found is None or not found.models:
        return None
    models = tuple(map(_model, found.models))
    return Models(models, found.overall, len(models) > 1)


def _model(model: RecipientModel) -> Model:
    title = _KINDS.get(model.kind, "Model of {response}")
    where = f", where {model.where}" if model.where else ""
    terms = model.terms
    return Model(
        title=title.format(response=model.response, event=model.event) + where,
        source=model.source,
        release=model.release,
        reason=model.reason,
        summary=model.summary,
        expected=tuple(t.text for t in terms if t.entered == "expected"),
        untold=tuple(t.text for t in terms if not t.told),
        references=tuple((t.text, t.reference) for t in terms if t.reference is not None),
        rows=tuple(
            Row(c.name, c.original, c.released, tuple(_changes(c))) for c in model.coefficients
        ),
        chart=forest_plot(model.coefficients),
    )


def _changes(coefficient: Coefficient) -> Iterator[str]:
    """What changed of a coefficient, in words."""
    if coefficient.released is None:
        yield "cannot be fitted"
        return
    if coefficient.changed_significance:
        yield "significance"
    if coefficient.changed_direction:
        yield "direction"
    if coefficient.outside:
        yield "outside"
    if coefficient.near:
        yield "near"


def forest_plot(coefficients: Sequence[Coefficient]) -> str:
    """Original and released estimates with their 95 % intervals as an SVG element.

    Their unit is the standard error of the original, so that all rows can be compared: there an
    interval reaches 1.96 to both sides. What lies beyond the drawing is drawn at its edge.
    """
    import altair as alt

    height = _ROW * len(coefficients)
    low, high = _range(coefficients)
    x = alt.X(
        "x:Q",
        title="estimate, in standard errors of the original",
        scale=alt.Scale(domain=[low, high], nice=False),
        axis=alt.Axis(format=",~r", tickCount=6, titlePadding=6, grid=False),
    )
    y = alt.Y("y:Q", scale=alt.Scale(domain=[height, 0], nice=False), axis=None)
    marks = [m for i, c in enumerate(coefficients) for m in _marks(c, i * _ROW, low, high)]
    names = [
        {"x": low, "y": i * _ROW + _NAME, "name": _short(c.name)}
        for i, c in enumerate(coefficients)
    ]
    drawn = alt.Chart(alt.InlineData(values=marks)).encode(y=y)
    colour = alt.Stroke("colour:N", scale=None, legend=None)
    fill = alt.Fill("colour:N", scale=None, legend=None)
    shape = alt.Shape("shape:N", scale=None, legend=None)
    zero = alt.Chart(alt.InlineData(values=[{"x": 0}])).encode(x=x)
    named = alt.Chart(alt.InlineData(values=names)).encode(x=x, y=y, text="name:N")
    text = named.mark_text(aria=False, align="left", baseline="middle", fontSize=12, fontWeight=600)
    layers = [
        zero.mark_rule(aria=False, stroke="var(--soft)", strokeDash=[3, 3]),
        drawn.encode(x=alt.X("from:Q"), x2="to:Q", stroke=colour).mark_rule(
            aria=False, strokeWidth=2
        ),
        drawn.encode(x=x, fill=fill, shape=shape).mark_point(
            aria=False, size=55, filled=True, opacity=1
        ),
        text.encode(fill=alt.value("currentColor")),
    ]
    chart = (
        alt.layer(*layers)
        .properties(
            width=_WIDTH - 2 * _MARGIN,
            height=height,
            padding={"left": _MARGIN, "right": _MARGIN, "top": 0, "bottom": _AXIS},
            autosize="none",
        )
        .configure(font="inherit", background="transparent", aria=False)
        .configure_view(stroke=None)
        .configure_axis(**AXES)
    )
    out = StringIO()
    chart.save(out, format="svg")
    return slim(out.getvalue())


def _short(name: str) -> str:
    return name if len(name) <= _LETTERS else f"{name[: _LETTERS - 1]}…"


def _scaled(side: Estimate, error: float) -> tuple[float, float, float]:
    """The ends of an interval and its estimate, in standard errors of the original."""
    return side.lower / error, side.upper / error, side.estimate / error


def _range(coefficients: Sequence[Coefficient]) -> tuple[float, float]:
    """The range of the chart: all of the original, and of the release what is not far."""
    zs = [c.original.estimate / c.original.error for c in coefficients]
    low, high = min(0.0, *zs) - 2 * _INTERVAL, max(0.0, *zs) + 2 * _INTERVAL
    ends = [
        end
        for c in coefficients
        if c.released is not None
        for end in _scaled(c.released, c.original.error)
    ]
    reach = (high - low) / 2
    return (
        max(low - reach, min([low, *ends])),
        min(high + reach, max([high, *ends])),
    )


def _marks(coefficient: Coefficient, top: float, low: float, high: float) -> Iterator[JsonObject]:
    changed = coefficient.outside or coefficient.changed_significance
    colour_of_release = "var(--bad)" if changed else "var(--accent)"
    sides = (
        (coefficient.original, _ORIGINAL, "var(--soft)", "circle"),
        (coefficient.released, _RELEASED, colour_of_release, "diamond"),
    )
    for side, below, colour, shape in sides:
        if side is None:
            continue
        ends = _scaled(side, coefficient.original.error)
        first, last, at = (min(max(end, low), high) for end in ends)
        yield {
            "x": at,
            "from": first,
            "to": last,
            "y": top + below,
            "colour": colour,
            "shape": shape,
        }
