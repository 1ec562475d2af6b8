"""What is printed of papers: the list of their figures, and one that was computed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from dbdeid.cli.text.layout import grid
from dbdeid.papers.catalog import Item, Paper

if TYPE_CHECKING:
    from dbdeid.papers.reproduce import Reproduced


def listed(papers: Sequence[Paper]) -> str:
    """The papers with their items."""
    parts = []
    for paper in papers:
        rows = [[i.name, i.status, _time(i), f"{i.title}{paper.remark(i)}"] for i in paper.items]
        head = ["item", "status", "seconds", "what it shows: what differs"]
        notes = [f"  ({number}) {why}" for number, why in enumerate(paper.shared, 1)]
        parts.append("\n".join([f"{paper.name}: {paper.citation}", grid(head, rows), *notes]))
    last = "seconds of a processor: --quick / whole. Compute one: dbdeid reproduce PAPER ITEM"
    return "\n\n".join([*parts, last])


def _time(item: Item) -> str:
    return " / ".join(f"{n:,}" if n else "–" for n in item.seconds) if item.compute else "–"


def reproduced(done: Reproduced) -> str:
    """An item that was computed."""
    found, item = done.outcome, done.item
    lines = [
        f"{done.paper.name}, {item.label}: {item.title}",
        f"  {item.status}: {item.why}",
        f"  computed on {found.data}" + ("; --quick" if done.quick else ""),
    ]
    if found.beside:
        rows = [[b.what, b.published, b.found] for b in found.beside]
        lines += ["", "published and found", grid(["measured", "published", "found"], rows)]
        lines += [f"  why they differ: {why}" for why in dict.fromkeys(b.why for b in found.beside)]
    for table in found.tables:
        lines += ["", table.title, grid(table.head, table.cells)]
    lines += [f"  note: {note}" for note in found.notes]
    lines += ["", f"{done.seconds:.1f} CPU seconds"]
    return "\n".join([*lines, *([f"page: {done.page}"] if done.page else [])])
