"""Compute a table or figure of a paper, and write the page of what was found."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from importlib import import_module
from pathlib import Path

from dbdeid.data.json import JsonObject
from dbdeid.errors import DataError
from dbdeid.papers.catalog import Item, Paper, paper
from dbdeid.papers.common.data import Data
from dbdeid.papers.common.outcome import Asked, Outcome


@dataclass(frozen=True, slots=True)
class Reproduced:
    """An item of a paper as it was computed here.

    Attributes:
        paper: of the item.
        item: that was computed.
        outcome: what was found.
        quick: whether it was smaller than the paper's.
        data: whether tables of the user were taken.
        seconds: of a processor.
        page: where it was written; None: nowhere.
    """

    paper: Paper
    item: Item
    outcome: Outcome
    quick: bool
    data: bool
    seconds: float
    page: Path | None = None

    def to_dict(self) -> JsonObject:
        """The item as JSON shows it."""
        return {
            "paper": self.paper.name,
            "citation": self.paper.citation,
            **self.item.to_dict(),
            "label": self.item.label,
            "quick": self.quick,
            "with_data": self.data,
            "cpu_seconds": round(self.seconds, 2),
            **self.outcome.to_dict(),
            "page": None if self.page is None else str(self.page),
        }


def reproduce(
    name: str,
    figure: str,
    *,
    data: Path | None = None,
    quick: bool = False,
    output: Path | None = None,
) -> Reproduced:
    """Compute an item of a paper, and write its page where a folder is given.

    Args:
        name: of the paper.
        figure: of it, or its table.
        data: a folder of tables that the package does not carry.
        quick: fewer records and repetitions than the paper.
        output: a folder for the page; it is made where it is missing.

    Raises:
        DataError: there is no such item, it is not possible, a table is missing, or the folder
            cannot be written.
        MissingExtra: a package that it needs is not installed.
    """
    of = paper(name)
    item = of.item(figure)
    if not item.compute:
        raise DataError(f"{name} {item.name} is not possible: {item.why}", hint=_others(of))
    if data is not None and not data.is_dir():
        raise DataError(f"{data} is no folder", hint="--data takes the folder of the tables")
    asked = Asked(Data(data), quick)
    for file in item.files:
        asked.data.file(file)
    start = time.process_time()
    outcome = _function(item)(asked)
    taken = time.process_time() - start
    found = Reproduced(of, item, outcome, quick, data is not None, taken)
    if output is None:
        return found
    return replace(found, page=_write(found, output))


def _function(item: Item) -> Callable[[Asked], Outcome]:
    module, _, function = item.compute.partition(".")
    found: Callable[[Asked], Outcome] = getattr(import_module(f"dbdeid.papers.{module}"), function)
    return found


def _others(of: Paper) -> str:
    return "possible: " + ", ".join(item.name for item in of.items if item.compute)


def _write(found: Reproduced, folder: Path) -> Path:
    from dbdeid.papers.common.charts import svg
    from dbdeid.report.paper_page import Figure, render

    figures = [Figure(svg(one.chart), one.words) for one in found.outcome.pictures]
    tables = [(table.title, table.head, table.cells) for table in found.outcome.tables]
    text = render(found.to_dict(), tables, figures)
    path = folder / f"{found.paper.name}_{found.item.name}.html"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise DataError(
            f"{folder} cannot be written ({error.strerror})", hint="give another folder"
        ) from None
    return path
