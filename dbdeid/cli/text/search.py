"""Print searches: as they run, when they end, and when they are interrupted."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from dbdeid.cli.text.layout import grid
from dbdeid.report.content.proof import apart, briefly, decimals
from dbdeid.workspace.progress_line import following

if TYPE_CHECKING:
    from dbdeid.workspace.progress import BestSoFar, Placed, Progress, Weighed


def how(search: Mapping[str, Any], objective: str = "score") -> str:
    """Say how a search ended: the number of checks, and whether the result is proven optimal."""
    checked = f"{search['checked']:,} of {search['lattice_size']:,} transformations checked"
    by = "" if search["name"] in (None, "optimal") else f" by {search['name']}"
    return f"{checked}{by}{_end(search)}, {proven(search, objective)}"


def _end(search: Mapping[str, Any]) -> str:
    """Why a search ended before it had proven anything."""
    if search["interrupted"]:
        return ", interrupted"
    if search["proven_optimal"]:
        return ""
    if search["out_of_time"]:
        return ", until its time was up"
    return ", too many for a proof" if search["name"] in ("optimal", "best_first") else ""


def proven(search: Mapping[str, Any], objective: str) -> str:
    """Say whether the result of a search is proven optimal, or how far off it may be."""
    if search["proven_optimal"]:
        return "proven optimal"
    known = apart(search.get("gap"), search.get("lower_bound"), objective)
    return f"not proven optimal{known}"


def where_interrupted(phase: str, found: Progress | Placed | Weighed | None) -> str:
    """How far a command was that was interrupted before it had something to take."""
    return f"It was interrupted here: {following(phase, found)}"


def best_so_far(best: BestSoFar) -> str:
    """What an interrupted search has found, with a line for the spec."""
    checks = "1 check" if best.checked == 1 else f"{best.checked:,} checks"
    bound = best.score - best.gap * abs(best.score)
    known = apart(best.gap, bound, best.objective)
    return (
        f"Interrupted after {checks}. Best so far: {best.objective} "
        f"{best.score:.{decimals([best.score])}f}, not proven optimal{known}. "
        "To apply it, write into `method`:\n"
        f"  transformation: {levels(best.transformation)}"
    )


def levels(transformation: Mapping[str, int]) -> str:
    """A transformation as a spec has it."""
    return "{" + ", ".join(f"{_key(n)}: {level}" for n, level in transformation.items()) + "}"


def _key(name: str) -> str:
    """A name as a key of YAML, in quotes where it needs them."""
    plain = re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", name)
    return name if plain and name.lower() not in ("null", "true", "false") else json.dumps(name)


def found(told: Mapping[str, Any]) -> str:
    """Format the result of one search, and its neighbours."""
    people = _people(told)
    digits = decimals([told["score"], *(n["score"] for n in told["neighbours"])])
    lines = [
        f"{told['release']}: nothing was released; a run would choose",
        f"  transformation {levels(told['transformation'])}",
        f"  {told['objective']:<14} {told['score']:.{digits}f}",
        f"  suppressed     {_suppressed(told, told)} of {told['source_subjects']:,} {people}",
        f"  classes        {told['classes']:,}, the smallest of {told['smallest_class']} {people}",
        f"  search         {how(told['search'], told['objective'])}",
        "One level more or less in a single quasi-identifier:",
        grid(
            ("column", "level", f"{people} suppressed", told["objective"], ""),
            [
                (
                    n["column"],
                    f"{told['transformation'][n['column']]} -> {n['level']}",
                    _suppressed(n, told),
                    f"{n['score']:.{digits}f}",
                    _verdict(n, told),
                )
                for n in told["neighbours"]
            ],
        ),
    ]
    return "\n".join([*lines, *_noted(told)])


def table(told: Mapping[str, Any]) -> str:
    """What each demand costs."""
    rows, digits = [], decimals(cell["score"] for cell in told["cells"])
    for cell in told["cells"]:
        ended = cell["search"]
        result = "none satisfies" if ended["proven_optimal"] else "none found"
        score = lost = "-"
        if cell["transformation"] is not None:
            score, lost = f"{cell['score']:.{digits}f}", _suppressed(cell, told)
            result = levels(cell["transformation"])
        limit, seconds = f"{100 * cell['suppression_limit']:g}%", f"{cell['seconds']:.2f}"
        checks = f"{ended['checked']:,}"
        rows.append((str(cell["k"]), limit, score, lost, checks, seconds, briefly(ended), result))
    head = (
        *("k", "limit", told["objective"], f"{_people(told)} suppressed"),
        *("checks", "seconds", "proven", "transformation"),
    )
    lines = [f"{told['release']}: nothing was released; each demand would cost", grid(head, rows)]
    return "\n".join([*lines, *_noted(told)])


def _people(told: Mapping[str, Any]) -> str:
    return "subjects" if told["by_subject"] else "records"


def _suppressed(measured: Mapping[str, Any], told: Mapping[str, Any]) -> str:
    lost = measured["suppressed_subjects" if told["by_subject"] else "suppressed_rows"]
    return f"{lost:,} ({lost / told['source_subjects']:.1%})"


def _verdict(neighbour: Mapping[str, Any], told: Mapping[str, Any]) -> str:
    if not neighbour["feasible"]:
        return "suppresses too much"
    if not neighbour["accepted"]:
        return "not allowed"
    better = not told["search"]["proven_optimal"] and neighbour["score"] < told["score"]
    return "better: the search did not get to it" if better else ""


def _noted(told: Mapping[str, Any]) -> Iterator[str]:
    yield from (f"  note: {text}" for text in told["warnings"])
    if told["page"]:
        yield f"  page: {told['page']} (internal)"
