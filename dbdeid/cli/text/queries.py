"""What people read of a workload of queries."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from dbdeid.cli.text.layout import grid

if TYPE_CHECKING:
    from dbdeid.commands.queries.workload import Written

HEAD = ("query", "groups", "relative error", "within bounds", "lost", "invented")
WITHIN = HEAD.index("within bounds")


def workload(found: Mapping[str, Any]) -> str:
    """The error of each query of a workload, and of each aggregate where it has several."""
    rows = [row for query in found["queries"] for row in _rows(query)]
    reasons = [
        f"  {query['name']}: " + query["refused"].replace("\n", "\n  ")
        for query in found["queries"]
        if query["refused"]
    ]
    bounded = found["within_bounds"] is not None
    kept = [i for i in range(len(HEAD)) if bounded or i != WITHIN]
    table = grid([HEAD[i] for i in kept], [[row[i] for i in kept] for row in rows])
    return "\n".join([table, f"  {_total(found, len(reasons))}", *reasons])


def _rows(query: Mapping[str, Any]) -> Iterator[tuple[str, ...]]:
    if query["refused"]:
        yield query["name"], "", "refused", "", "", ""
        return
    counts = (str(query[key]) for key in ("lost", "invented"))
    yield query["name"], str(query["groups"]), *_figures(query), *counts
    if len(query["aggregates"]) > 1:
        for aggregate in query["aggregates"]:
            yield f"  {aggregate['name']}", "", *_figures(aggregate), "", ""


def _figures(found: Mapping[str, Any]) -> tuple[str, str]:
    return share(found["relative_error"]), share(found["within_bounds"])


def _total(found: Mapping[str, Any], refused: int) -> str:
    asked = len(found["queries"])
    if refused == asked:
        return "no query was answered"
    error, within = found["mean_relative_error"], found["within_bounds"]
    known = sum(query["relative_error"] is not None for query in found["queries"])
    some = f" over {known} queries" if known < found["answered"] else ""
    parts = ["no relative errors" if error is None else f"mean relative error {share(error)}{some}"]
    if within is not None:
        parts.append(f"{share(within)} of the true values within their bounds")
    over = f" over the {found['answered']} of {asked} queries that were answered" if refused else ""
    return ", ".join(parts) + over


def share(value: float | None) -> str:
    """Format a share in percent; an empty text where there is none."""
    return "" if value is None else f"{value:.2%}"


def drawn(made: Written) -> str:
    """A workload that was written."""
    asked, (least, most) = made.drawing, made.reached
    what = "1 query" if asked.queries == 1 else f"{asked.queries:,} queries"
    lines = [
        f"{made.directory}: {what}",
        f"  columns      {', '.join(made.columns)}; {asked.dimensions} for each query",
        f"  selectivity  {share(least)} to {share(most)} of records spread evenly, where "
        f"{share(asked.selectivity)} is asked for",
        *(f"  left out     {name}: {why}" for name, why in made.left_out.items()),
        "  private      the queries hold values of the columns",
        f"  next         evaluate: {{queries: {made.directory}/*.sql}} in the spec, then dbdeid "
        "evaluate; dbdeid run has it in the report too",
    ]
    return "\n".join(lines)
