"""The risk-utility frontier, drawn once for the page that has a script, and as inline SVG.

As in the report, colours are CSS variables, so that a chart follows the page.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from io import StringIO
from typing import Any, Literal

from dbdeid.data.json import JsonObject
from dbdeid.report.charts.charts import AXES, slim
from dbdeid.report.content import terms
from dbdeid.report.content.landmarks import chosen
from dbdeid.report.content.policies import in_words, single_values

Scale = Literal["log", "linear"]

POINTS = "points"  # what the drawing of a page calls its data
_WIDTH, _HEIGHT = 720, 420
_APART = 3.0  # pixels between two points of a chart that stands still


def frontier_chart(frontier: Mapping[str, Any], scale: Scale = "log") -> str:
    """The frontier as an SVG element that says of each point what it is.

    Points that would lie upon each other are drawn once.

    Args:
        frontier: as `dbdeid frontier` tells it, or as the record of a release keeps it, whose
            points have no more than number, risk and loss.
        scale: of the risk.
    """
    out = StringIO()
    frontier_drawing(frontier, scale).save(out, format="svg")
    titled = re.sub(
        r'<path aria-label="([^"]*)"([^>]*)/>', r"<path\2><title>\1</title></path>", out.getvalue()
    )
    return slim(titled)


def frontier_drawing(frontier: Mapping[str, Any], scale: Scale = "log") -> Any:
    """The same as an altair chart, in the colours of a page."""
    import altair as alt

    low = least(frontier, scale)
    whole = "policy" in frontier["points"][0]
    singles = single_values(frontier) if whole else {}
    values = []
    for point in _thinned(frontier, scale, low):
        words = f"\n{in_words(point['policy'], singles)}" if whole else ""
        values.append({**placed(point, low), "title": f"{_title(point)}{words}"})
    return _drawing(frontier, scale, alt.InlineData(values=values), still=True)


def specification(frontier: Mapping[str, Any], scale: Scale) -> JsonObject:
    """What the script of a page draws, in Vega-Lite, without the points, which both scales share.

    Its parameters `rested` and `selected` are numbers of points that are ringed.
    """
    import altair as alt

    drawing = _drawing(frontier, scale, alt.NamedData(name=POINTS), still=False)
    found: JsonObject = drawing.to_dict(validate=False)
    return found


def placed(point: Mapping[str, Any], low: float) -> JsonObject:
    """Where a point is drawn; without any risk at the left end, where a logarithm has none."""
    return {"point": point["point"], "x": max(point["risk"], low), "y": point["loss"]}


def least(frontier: Mapping[str, Any], scale: Scale) -> float:
    """Where the scale of the risk starts."""
    if scale == "linear":
        return 0.0
    risks = [point["risk"] for point in (*frontier["points"], *frontier["reference"].values())]
    first = min((risk for risk in risks if risk > 0), default=1.0)
    step = 10 ** math.floor(math.log10(first))
    start = step * math.floor(first / step * 2) / 2
    return 0.1 if start >= 1 else start if start < first else start / 2


def _title(point: Mapping[str, Any]) -> str:
    """A point in a line: its number and what is known of it."""
    known = [f"Point {point['point']}: risk {point['risk']:.4g}", f"loss {point['loss']:.4g}"]
    if "kl" in point:
        known += [f"KL {point['kl']:.4g} nats", f"{point['classes']:,} classes"]
    return ", ".join(known)


def drawn(frontier: Mapping[str, Any]) -> Sequence[Mapping[str, Any]]:
    """The points that a chart shows which stands still, as many as a record needs to keep."""
    return _thinned(frontier, "log", least(frontier, "log"))


def _thinned(frontier: Mapping[str, Any], scale: Scale, low: float) -> Sequence[Mapping[str, Any]]:
    """Points that are apart on the paper, the first, the last and the chosen one among them."""
    points = frontier["points"]
    kept = [points[0]]
    for point in points[1:]:
        across, down = _paper(point, scale, low), _paper(kept[-1], scale, low)
        if math.dist(across, down) >= _APART or point["point"] == frontier["chosen"]:
            kept.append(point)
    return kept if kept[-1] is points[-1] else [*kept, points[-1]]


def _paper(point: Mapping[str, Any], scale: Scale, low: float) -> tuple[float, float]:
    """Where a point lies on the paper, in pixels."""
    risk = max(point["risk"], low)
    share = risk if scale == "linear" else 1 - math.log(risk) / math.log(low)
    return _WIDTH * share, _HEIGHT * float(point["loss"])


def _drawing(frontier: Mapping[str, Any], scale: Scale, points: Any, *, still: bool) -> Any:
    """All layers, from the back to the front."""
    import altair as alt

    low = least(frontier, scale)
    base = _base(alt.Chart(points), frontier, scale, low)
    rule = frontier["reference"].get("safe_harbor")
    layers = [
        base.mark_line(
            interpolate="step-after",
            strokeWidth=1.5,
            stroke="var(--accent)",
            opacity=0.6,
            aria=False,
        ),
        base.mark_point(
            shape="circle", size=20, filled=True, fill="var(--accent)", opacity=0.85, aria=still
        ).encode(**({"description": "title:N"} if still else {})),
    ]
    if rule is not None:
        layers.insert(0, _dominating(frontier, scale, low, rule))
    if not still:
        for name, size in (("rested", 110), ("selected", 190)):
            ringed = base.transform_filter(f"datum.point == {name}")
            layers.append(_mark(ringed, "circle", size, "transparent", "var(--text)", aria=False))
    of_spec = chosen(frontier)
    if rule is not None:
        layers.extend(_named(frontier, scale, rule, "Safe Harbor", "var(--warn)", still=still))
    if of_spec is not None:
        layers.extend(_named(frontier, scale, of_spec, "chosen", "var(--good)", still=still))
    drawn = alt.layer(*layers).properties(width=_WIDTH if still else "container", height=_HEIGHT)
    if not still:
        drawn = drawn.add_params(
            alt.param(name="rested", value=0), alt.param(name="selected", value=0)
        )
    return _dressed(drawn, still=still)


def _base(chart: Any, frontier: Mapping[str, Any], scale: Scale, low: float) -> Any:
    import altair as alt

    loss = terms.FRONTIER_LOSSES.get(frontier["utility"], (frontier["utility"], ""))[0]
    ticks = alt.Axis(format="~g", tickCount=6, labelFlush=False, titlePadding=8)
    if scale == "log":
        ticks = alt.Axis(format="~g", values=_ticks(low), labelFlush=False, titlePadding=8)
    return chart.encode(
        x=alt.X(
            "x:Q",
            title=f"risk, as a share of the most ({'logarithmic' if scale == 'log' else scale})",
            scale=alt.Scale(type=scale, domain=[low, 1], nice=False, clamp=True),
            axis=ticks,
        ),
        y=alt.Y(
            "y:Q",
            title=f"loss: {loss}, as a share of the most",
            scale=alt.Scale(domain=[0, 1], nice=False),
            # fonts are inherited, so their widths are not known where the title is placed
            axis=alt.Axis(format="~g", tickCount=6, titlePadding=16),
        ),
    )


def _ticks(low: float) -> list[float]:
    """1, 2, 5 of each decade; over many decades only 1."""
    decades = range(math.floor(math.log10(low)), 1)
    steps = (1, 2, 5) if len(decades) <= 4 else (1,)
    values = (float(f"{step}e{decade}") for decade in decades for step in steps)
    return [value for value in values if low <= value <= 1]


def _dominating(
    frontier: Mapping[str, Any], scale: Scale, low: float, rule: Mapping[str, Any]
) -> Any:
    """Where policies are that dominate Safe Harbor."""
    import altair as alt

    corner = [{"x": low, "x2": max(rule["risk"], low), "y": 0, "y2": rule["loss"]}]
    area = _base(alt.Chart(alt.InlineData(values=corner)), frontier, scale, low)
    return area.mark_rect(
        fill="var(--good-tint)", stroke="var(--good)", strokeDash=[3, 3], aria=False
    ).encode(x2="x2:Q", y2="y2:Q")


def _named(
    frontier: Mapping[str, Any],
    scale: Scale,
    point: Mapping[str, Any],
    name: str,
    colour: str,
    *,
    still: bool,
) -> tuple[Any, Any]:
    """A mark with its name beside it: of the frontier below, where nothing is, else above."""
    import altair as alt

    low = least(frontier, scale)
    own = {"x": max(point["risk"], low), "y": point["loss"], "name": name}
    own["title"] = f"{name}: risk {point['risk']:.4g}, loss {point['loss']:.4g}"
    on = _base(alt.Chart(alt.InlineData(values=[own])), frontier, scale, low)
    across, up = _paper(point, scale, low)
    below = "point" in point
    left = across > (0.15 if below else 0.85) * _WIDTH
    over = not below and not left and across > 0.6 * _WIDTH  # beside it, a phone cuts it off
    down = below and up > 0.08 * _HEIGHT
    text = on.mark_text(
        align="center" if over else "right" if left else "left",
        dx=0 if over else -10 if left else 10,
        dy=14 if down else -12,
        fontSize=13,
        fontWeight=600,
        fill=colour,
        aria=False,
    ).encode(text="name:N")
    mark = _mark(on, "diamond", 150, colour, "var(--page)", aria=still)
    return (mark.encode(description="title:N") if still else mark), text


def _mark(chart: Any, shape: str, size: int, fill: str, stroke: str, *, aria: bool) -> Any:
    drawn = {"shape": shape, "size": size, "fill": fill, "stroke": stroke}
    return chart.mark_point(**drawn, filled=True, strokeWidth=2, opacity=1, aria=aria)


def _dressed(chart: Any, *, still: bool) -> Any:
    """The chart in the colours of the page; where it stands still, marks say what they are."""
    quiet = {} if still else {"aria": False}
    return (
        chart.configure(font="inherit", background="transparent", **quiet)
        .configure_view(stroke=None)
        .configure_axis(**AXES)
    )
