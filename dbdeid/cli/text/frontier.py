"""Print a frontier."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from dbdeid.cli.text.layout import grid
from dbdeid.report.content.landmarks import choices, chosen, landmarks
from dbdeid.report.content.policies import in_words, single_values


def frontier(told: Mapping[str, Any]) -> str:
    """The points to look at first, Safe Harbor, how all were found, and what to do next.

    Args:
        told: as `dbdeid frontier --json` tells it.
    """
    return "\n".join(_lines(told))


def _lines(told: Mapping[str, Any]) -> Iterator[str]:
    points = told["points"]
    many = "1 policy" if len(points) == 1 else f"{len(points):,} policies"
    yield f"{told['release']}: nothing was released; {many} on the frontier"
    yield grid(
        ("point", "risk", "loss", "KL", "classes", ""),
        [(str(p["point"]), *_figures(p), f"{p['classes']:,}", why) for p, why in landmarks(told)],
    )
    yield from _safe_harbor(told)
    yield f"  area         {told['area']:.4f} under the frontier (smaller is better)"
    yield (
        f"  search       {told['search']}: {told['evaluated']:,} policies evaluated, "
        f"{told['spent']:,} of a budget of {told['budget']:,} spent"
    )
    yield f"  records      {told['source_rows']:,}, {_population(told)}"
    yield from _next(told)
    yield from (f"  note: {text}" for text in told["warnings"])
    if told["page"]:
        yield f"  page: {told['page']} (internal)"


def _figures(point: Mapping[str, Any]) -> tuple[str, str, str]:
    return f"{point['risk']:.4g}", f"{point['loss']:.4f}", f"{point['kl']:.3f}"


def _safe_harbor(told: Mapping[str, Any]) -> Iterator[str]:
    rule = told["reference"].get("safe_harbor")
    if rule is None:
        return
    risk, loss, kl = _figures(rule)
    number = told["dominating_safe_harbor"]
    who = {0: "no point dominates", 1: "1 point dominates"}.get(
        number, f"{number:,} points dominate"
    )
    yield f"  Safe Harbor  risk {risk}, loss {loss}, KL {kl} nats; {who} it"
    yield from (f"               {text}" for text in told["not_representable"])


def _population(told: Mapping[str, Any]) -> str:
    if told["people"] is None:
        return "which are the population themselves"
    among = f" of {told['population']}" if told["population"] else ""
    return f"among {told['people']:,} people{among}"


def _next(told: Mapping[str, Any]) -> Iterator[str]:
    point = chosen(told)
    if point is not None:
        yield f"  chosen       point {point['point']}, which dbdeid run releases:"
        yield f"               {in_words(point['policy'], single_values(told))}"
        return
    if told["choose"]:
        yield "  chosen       none: no point does what `choose` asks for"
    yield "To release one, choose it under `method` in the spec, such as"
    yield from (f"  {line}" for line in choices(told))
