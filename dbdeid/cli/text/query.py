"""Print answers from a release."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from dbdeid.cli.text.layout import grid, left_out

if TYPE_CHECKING:
    from dbdeid.commands.queries.result import Result

ROWS_SHOWN = 1000
DECIMALS = 4


def answered(found: Result) -> str:
    """Format an answer as a table, with its notes below."""
    if not found.rows:
        table = "  no groups: none is expected to satisfy the conditions"
    else:
        rows, estimated = found.rows[:ROWS_SHOWN], _estimated(found.columns)
        columns = [
            _aligned(name, [row[place] for row in rows], key=name not in estimated)
            for place, name in enumerate(found.columns)
        ]
        head, *cells = zip(*columns, strict=True)
        table = grid(head, cells)
    rest = left_out(len(found.rows) - ROWS_SHOWN)
    return "\n".join([table, *rest, *(f"  note: {note}" for note in found.notes)])


def _estimated(columns: Sequence[str]) -> set[str]:
    """Aggregates and their bounds; the others are keys."""
    found = {name for name in columns if f"{name}_lower" in columns and f"{name}_upper" in columns}
    return {name + end for name in found for end in ("", "_lower", "_upper")}


def _aligned(name: str, values: Sequence[Any], *, key: bool) -> list[str]:
    """The name of a column and its cells, numbers to the right; keys may be years or codes."""
    cells = [name, *(_cell(value, "" if key else ",") for value in values)]
    known = [value for value in values if value is not None]
    if not known or not all(_is_number(value) for value in known):
        return cells
    width = max(map(len, cells))
    return [cell.rjust(width) for cell in cells]


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float | Decimal) and not isinstance(value, bool)


def _cell(value: Any, thousands: str) -> str:
    if value is None:
        return "NULL"
    if isinstance(value, float):
        few = f"{value:{thousands}.{DECIMALS}f}"
        if value and not float(few.replace(",", "")):
            return f"{value:.{DECIMALS}g}"
        return few.rstrip("0").rstrip(".") if "." in few else few
    return f"{value:{thousands}}" if _is_number(value) else str(value)


def served(found: Mapping[str, Any]) -> str:
    """Format the address of a server, and the tables and columns that it serves."""
    lines = [found["url"], ""]
    for name, columns in found["tables"].items():
        lines.append(f"{name}: {', '.join(columns)}")
    for path, why in found["skipped"].items():
        lines += ["", f"warning: {path} is not served: {why}"]
    return "\n".join([*lines, "", "Ctrl-C ends it"])
