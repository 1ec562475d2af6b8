"""Lay out printed text on a terminal."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Mapping, Sequence
from typing import Any


def grid(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Columns of equal width, two blanks apart; on a narrow terminal cells are folded."""
    shown = [list(head), *rows] if any(head) else list(rows)
    widths = [max(len(row[i]) for row in shown) for i in range(len(head))] if shown else []
    room = shutil.get_terminal_size().columns if sys.stdout.isatty() else None
    if room is not None and sum(widths) + 2 * len(widths) > room:
        return _folded(shown, room)
    lines = ["  ".join(c.ljust(w) for c, w in zip(row, widths, strict=True)) for row in shown]
    return "\n".join("  " + line.rstrip() for line in lines)


def _folded(rows: Sequence[Sequence[str]], width: int) -> str:
    from rich.console import Console
    from rich.padding import Padding
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, show_header=False, pad_edge=False, padding=(0, 2, 0, 0))
    for _ in rows[0]:
        table.add_column(overflow="fold")
    for row in rows:
        table.add_row(*map(Text, row))
    console = Console(width=max(width, 2 * len(rows[0])), no_color=True, highlight=False)
    with console.capture() as captured:
        console.print(Padding(table, (0, 0, 0, 2)))
    return "\n".join(line.rstrip() for line in captured.get().rstrip("\n").split("\n"))


def left_out(rows: int) -> list[str]:
    """Count the rows that a table leaves out, in a line; no line where it shows all."""
    if rows <= 0:
        return []
    return [f"  … {rows:,} more {'row' if rows == 1 else 'rows'}; --json prints all"]


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
