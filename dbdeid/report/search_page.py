"""The page of a search: one HTML file without script, network or outside files.

It is for the custodian: what was suppressed and lost at each level tells of the original data. It
holds names of columns, levels and counts, and no cell.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from dbdeid.data.json import JsonObject
from dbdeid.report.charts.search_charts import Point, grid_chart, lattice_chart, trail_chart
from dbdeid.report.content.metric_terms import metric_words
from dbdeid.report.content.proof import decimals
from dbdeid.report.page import environment


def render(
    search: Mapping[str, Any],
    points: Sequence[Point],
    trail: Sequence[tuple[int, float, float]],
) -> str:
    """The page of one search, or of a grid of them, as HTML.

    Args:
        search: as `dbdeid search --json` tells it, with the outcome that is shown in full on the
            top level, `neighbours`, all outcomes in `cells`, and whether subjects count in
            `by_subject`.
        points: of the search that is shown in full, those of its checks that are drawn.
        trail: of the same search: checks, the best score then, the bound that was proven then.
    """
    title = metric_words(search["objective"]).title
    view = {
        "s": search,
        "how": search["search"],
        "score": title,
        "objective": search["objective"],
        "written": _writer(search),
        "grid": len(search["cells"]) > 1,
        "drawn": len(points),
        "lattice": lattice_chart(points, title),
        "trail": trail_chart(trail, title),
        "plot": grid_chart(search["cells"], title) if len(search["cells"]) > 1 else None,
        "neighbours": _neighbours(search),
    }
    return environment().get_template("search.html.j2").render(view)


def _writer(search: Mapping[str, Any]) -> Callable[[float], str]:
    """Writes every score of the page with the same number of digits."""
    shown = (*search["cells"], *search["neighbours"], search)
    digits = decimals(of["score"] for of in shown)
    return lambda score: f"{score:,.{digits}f}"


def _neighbours(search: Mapping[str, Any]) -> list[JsonObject]:
    """The neighbours with the level they change, and by how much they lose more or less."""
    return [
        {
            **neighbour,
            "from": search["transformation"][neighbour["column"]],
            "more": neighbour["score"] - search["score"],
        }
        for neighbour in search["neighbours"]
    ]
