"""The page of a figure of a paper: one HTML file without script, network or outside files.

It stands on public or simulated tables, so that it may be given away.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from dbdeid.report.page import environment


class Figure(NamedTuple):
    """A chart as an SVG element, and what it shows."""

    svg: str
    words: str


def render(
    found: Mapping[str, Any],
    tables: Sequence[tuple[str, Sequence[str], Sequence[Sequence[str]]]],
    figures: Sequence[Figure],
) -> str:
    """The page as HTML.

    Args:
        found: as `dbdeid reproduce --json` tells it.
        tables: of what was found: title, headings, and cells as they are read.
        figures: of the same.
    """
    view = {"r": found, "tables": tables, "figures": figures}
    return environment().get_template("paper.html.j2").render(view)
