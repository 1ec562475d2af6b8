"""The tables that the shelf is computed from, as they ship."""

from __future__ import annotations

import csv
from importlib.resources import files


def read(name: str) -> list[dict[str, str]]:
    """The rows of a table, by the names of its columns."""
    text = files(__package__).joinpath(name).read_text(encoding="utf-8")
    return list(csv.DictReader(text.splitlines()))
