"""Tables and pictures of benchmarks."""

from __future__ import annotations

from pathlib import Path
from typing import Any


def show(title: str, rows: list[dict[str, Any]]) -> None:
    """Print a table in Markdown."""
    print(f"\n### {title}\n")
    print("| " + " | ".join(rows[0]) + " |")
    print("|" + "--|" * len(rows[0]))
    for row in rows:
        print("| " + " | ".join(told(value) for value in row.values()) + " |", flush=True)


def told(value: Any) -> str:
    """A cell of a table."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:,}" if isinstance(value, int) else str(value)


def save(chart: Any, path: Path) -> None:
    """Write a picture, and say where it is."""
    path.parent.mkdir(parents=True, exist_ok=True)
    chart.save(str(path))
    print(f"\n{path}")
