"""The page of questions: SQL for the original, each answer of the release drawn in its range."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from dbdeid.ui.background.jobs import Jobs
from dbdeid.ui.sheet.desk import Sheet
from dbdeid.ui.views.release_page import outcome

SHOWN = 200  # rows
WIDTH = 200.0  # of a drawn range


@dataclass(frozen=True, slots=True)
class Range:
    """A number between its bounds, drawn on the scale of its column.

    Attributes:
        value: in words.
        told: the range, in words.
        left: where it begins, from 0 to `WIDTH`; None: it has no bounds.
        width: of the range.
        at: where the number is.
    """

    value: str
    told: str
    left: float | None = None
    width: float = 0.0
    at: float = 0.0


def view(sheet: Sheet, jobs: Jobs) -> dict[str, Any]:
    """All that the page shows."""
    job = jobs.last.get("query")
    asked = job.task.given["sql"] if job is not None else _first(sheet)
    found = outcome(jobs, "query", sheet)
    done = found["result"] if found and found["state"] == "done" else None
    head, rows = _drawn(done["columns"], done["rows"]) if done else ([], [])
    return {
        "sql": asked,
        "trial": bool(job is not None and job.task.given.get("trial")),
        "answered": found,
        "head": head,
        "answers": rows[:SHOWN],
        "more": max(len(rows) - SHOWN, 0),
        "notes": done["notes"] if done else (),
        "width": WIDTH,
    }


def _first(sheet: Sheet) -> str:
    """A question to begin with."""
    if sheet.file is None:
        return ""
    names = [n for n, c in sheet.file.spec.columns.items() if c.role == "quasi_identifier"]
    table = sheet.file.spec.source_name
    name = f'"{names[0]}"' if names else "1"
    return f'SELECT {name}, COUNT(*) AS n\nFROM "{table}"\nGROUP BY {name}'


def _drawn(
    columns: Sequence[str], rows: Sequence[Mapping[str, Any]]
) -> tuple[list[str], list[list[Range]]]:
    """The columns without those of bounds, which are drawn beside their number."""
    bounded = [c for c in columns if f"{c}_lower" in columns and f"{c}_upper" in columns]
    ends = {f"{c}{end}" for c in bounded for end in ("_lower", "_upper")}
    head = [c for c in columns if c not in ends]
    scales = {c: _scale(c, rows) for c in bounded}
    made = [
        [_range(row, c, scales[c]) if c in scales else Range(_text(row[c]), "") for c in head]
        for row in rows
    ]
    return head, made


def _scale(name: str, rows: Sequence[Mapping[str, Any]]) -> tuple[float, float]:
    ends = [row[key] for row in rows for key in (f"{name}_lower", name, f"{name}_upper")]
    known = [float(end) for end in ends if _is_number(end)]
    low, high = min(known, default=0.0), max(known, default=1.0)
    low = min(low, 0.0) if low >= 0 and low < high / 2 else low
    return (low, high) if high > low else (low, low + 1)


def _range(row: Mapping[str, Any], name: str, scale: tuple[float, float]) -> Range:
    value, low, high = row[name], row[f"{name}_lower"], row[f"{name}_upper"]
    exact = value is not None and low == value == high
    told = "exact" if exact else f"{_text(low)} to {_text(high)}"
    if not (_is_number(value) and _is_number(low) and _is_number(high)):
        return Range(_text(value), told)
    start, span = scale[0], (scale[1] - scale[0]) / WIDTH
    left = (low - start) / span
    return Range(_text(value), told, left, max((high - low) / span, 1.0), (value - start) / span)


def _is_number(value: object) -> bool:
    number = isinstance(value, int | float) and not isinstance(value, bool)
    return number and math.isfinite(value)  # type: ignore[arg-type]


def _text(value: object) -> str:
    if value is None:
        return "–"
    if isinstance(value, float):
        return f"{value:,.4g}" if abs(value) < 10_000 else f"{value:,.0f}"
    return f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else str(value)
