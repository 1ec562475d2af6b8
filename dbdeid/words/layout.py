"""How what is printed stands on the screen."""

from __future__ import annotations

from collections.abc import Sequence


def grid(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Columns of equal width, two blanks apart."""
    shown = [list(head), *rows] if any(head) else list(rows)
    widths = [max(len(row[i]) for row in shown) for i in range(len(head))] if shown else []
    lines = ["  ".join(c.ljust(w) for c, w in zip(row, widths, strict=True)) for row in shown]
    return "\n".join("  " + line.rstrip() for line in lines)
