"""The page of a frontier: one HTML file with its script, without network or outside files.

It is for the custodian, inside the house: what each policy risks and loses tells of the original
data. The script draws the frontier and says what the point means that the mouse rests on or that is
selected. The browser runs only the scripts that the page was made with (they are told to it by
their hashes), so that no label can bring one in; without script the frontier stands still.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dbdeid.data.json import JsonObject
from dbdeid.report.charts.frontier_charts import frontier_chart, least, specification
from dbdeid.report.content import terms
from dbdeid.report.content.landmarks import choices, chosen, knee, landmarks, worth
from dbdeid.report.content.policies import (
    Singles,
    changes,
    counted,
    hunks,
    in_words,
    pieces,
    single_values,
)
from dbdeid.report.page import environment

if TYPE_CHECKING:
    from markupsafe import Markup

NEIGHBOURS = 12  # merges that are shown at once, those first that lose least for the risk they take
CHANGES = 8  # sentences on what changes from one point to the next
_HERE = Path(__file__).parent


def render(frontier: Mapping[str, Any]) -> str:
    """The page of one frontier as HTML.

    Args:
        frontier: as `dbdeid frontier --json` tells it; `seconds` may be missing.
    """
    from jinja2.utils import htmlsafe_json_dumps
    from markupsafe import Markup

    singles = single_values(frontier)
    told = htmlsafe_json_dumps(
        _told(frontier, singles), ensure_ascii=False, separators=(",", ":"), sort_keys=False
    )
    scripts = (_drawing(), Markup((_HERE / "frontier.js").read_text(encoding="utf-8")))
    base = chosen(frontier) or frontier["reference"].get("safe_harbor")
    view = {
        "f": frontier,
        "risk": terms.FRONTIER_RISKS.get(frontier["risk"], (frontier["risk"], "")),
        "loss": terms.FRONTIER_LOSSES.get(frontier["utility"], (frontier["utility"], "")),
        "rule": frontier["reference"].get("safe_harbor"),
        "chosen": chosen(frontier),
        "landmarks": landmarks(frontier),
        "choices": choices(frontier),
        "seconds": frontier.get("seconds", {}).get("search"),
        "neighbours": _neighbours(frontier, base),
        "shown": NEIGHBOURS,
        "words": lambda policy: in_words(policy, singles),
        "whole": lambda name, labels: pieces(labels, singles[name]),
        "plot": Markup(frontier_chart(frontier)),
        "told": told,
        "scripts": scripts,
        "hashes": " ".join(map(_hash, scripts)),
    }
    return environment().get_template("frontier.html.j2").render(view)


@cache
def _drawing() -> Markup:
    """Vega, Vega-Lite and Vega-Embed, as vl_convert bundles them."""
    from markupsafe import Markup
    from vl_convert import javascript_bundle

    return Markup(javascript_bundle("window.vegaEmbed = vegaEmbed;"))


def _hash(script: str) -> str:
    """A script as a content security policy names it."""
    digest = hashlib.sha256(script.encode()).digest()
    return f"'sha256-{base64.b64encode(digest).decode()}'"


def _told(frontier: Mapping[str, Any], singles: Singles) -> Mapping[str, object]:
    """What the script reads: the points, their policies step by step, and the drawings.

    A policy is told by what differs from that of the point before it, in places of `texts`: a
    column that stays as it was is 0, another is its brief text, its number of intervals, and for
    each place that differs where it starts, how many pieces go, how many come, and which.
    """
    texts = _Texts()
    points = frontier["points"]
    known = knee(points)
    start = chosen(frontier) or known or points[0]
    return {
        "columns": [column["name"] for column in frontier["columns"]],
        "points": [[p["point"], p["risk"], p["loss"], p["kl"], p["classes"]] for p in points],
        "steps": list(_steps(frontier, singles, texts)),
        "changes": [
            _to_next(changes(one["policy"], other["policy"], singles))
            for one, other in pairwise(points)
        ],
        "texts": list(texts.places),
        "start": points.index(start),
        "drawings": {
            scale: {"least": least(frontier, scale), "drawing": specification(frontier, scale)}
            for scale in ("log", "linear")
        },
    }


class _Texts:
    """Numbers texts in the order of their first use."""

    def __init__(self) -> None:
        self.places: dict[str, int] = {}

    def __call__(self, text: str) -> int:
        return self.places.setdefault(text, len(self.places))


def _steps(
    frontier: Mapping[str, Any], singles: Singles, texts: _Texts
) -> Iterator[list[list[int] | int]]:
    labels: dict[str, Sequence[str]] = {column["name"]: () for column in frontier["columns"]}
    before: dict[str, list[str]] = {name: [] for name in labels}
    for point in frontier["points"]:
        step: list[list[int] | int] = []
        for name, old in labels.items():
            own = point["policy"][name]
            if own == old:
                step.append(0)
                continue
            found = pieces(own, singles[name])
            told = [texts(counted(found, len(own))), len(own)]
            for at, gone, come in hunks(before[name], found):
                told += [at, len(gone), len(come), *map(texts, come)]
            labels[name], before[name] = own, found
            step.append(told)
        yield step


def _to_next(sentences: Sequence[str]) -> list[str]:
    more = len(sentences) - CHANGES
    return (
        list(sentences)
        if more <= 0
        else [*sentences[:CHANGES], f"and {more:,} more {'change' if more == 1 else 'changes'}"]
    )


def _neighbours(frontier: Mapping[str, Any], base: Mapping[str, Any] | None) -> list[JsonObject]:
    """The merges, those first that lose least for the risk that they take away."""
    if base is None:
        return []
    found = sorted(frontier["neighbours"], key=lambda n: (worth(n, base), n["loss"]))
    return [
        {**n, "less": n["risk"] - base["risk"], "more": n["loss"] - base["loss"]} for n in found
    ]
