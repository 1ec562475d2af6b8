"""How what is printed stands on the screen."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any


def grid(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Columns of equal width, two blanks apart."""
    shown = [list(head), *rows] if any(head) else list(rows)
    widths = [max(len(row[i]) for row in shown) for i in range(len(head))] if shown else []
    lines = ["  ".join(c.ljust(w) for c, w in zip(row, widths, strict=True)) for row in shown]
    return "\n".join("  " + line.rstrip() for line in lines)


def flat(value: Any, digits: int = 4) -> str:
    """A declared or found value in one line."""
    if isinstance(value, Mapping):
        if not value:
            return "none"
        return ", ".join(f"{key} {flat(item, digits)}" for key, item in value.items())
    if isinstance(value, list | tuple):
        if not value:
            return "none"
        return " and ".join(flat(item, digits) for item in value)
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:.{digits}g}" if isinstance(value, float) else str(value)
