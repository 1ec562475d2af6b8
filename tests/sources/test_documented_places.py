"""Each source and target that the documentation lists as tried is held by the test it names."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

HERE = Path(__file__).parents[1]
DOCS = HERE.parent / "docs"
NAMED = re.compile(r"`(test_\w+(?:\.py)?)`")


def known(*folders: str) -> set[str]:
    """The test files of some folders, and the tests in them."""
    found = set()
    for path in (path for folder in folders for path in (HERE / folder).glob("test_*.py")):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        found |= {path.name} | {n.name for n in tree.body if isinstance(n, ast.FunctionDef)}
    return found


def tried(page: str, head: str) -> list[list[str]]:
    """The rows of the table whose last column tells where something was tried."""
    _, _, rest = (DOCS / page).read_text(encoding="utf-8").partition(head)
    assert rest, f"{page} has no table {head}"
    rows = [line for line in rest.partition("\n\n")[0].splitlines()[2:] if line]
    return [[cell.strip() for cell in row.strip("|").split("|")] for row in rows]


@pytest.mark.parametrize(
    ("page", "head", "folders"),
    [
        ("sources.md", "| Format | Read by | How often | Tried here |", ("sources", "warehouse")),
        ("exports.md", "| Database | Written by | Tried here |", ("targets",)),
        (
            "exports.md",
            "| Ending | What it is | Beside it | Tried here |",
            ("publish", "release", "verify"),
        ),
    ],
)
def test_each_place_is_tried_or_said_not_to_be(
    page: str, head: str, folders: tuple[str, ...]
) -> None:
    rows, tests = tried(page, head), known(*folders)
    assert len(rows) > 5
    for row in rows:
        names = NAMED.findall(row[-1])
        assert names or row[-1] in ("no", "[below](#tables-of-other-databases)"), row
        assert set(names) <= tests, row


@pytest.mark.parametrize("page", ["sources.md", "exports.md"])
def test_each_test_that_a_page_names_is_there(page: str) -> None:
    text = (DOCS / page).read_text(encoding="utf-8")
    folders = ("sources", "targets", "publish", "release", "verify", "warehouse")
    assert set(NAMED.findall(text)) <= known(*folders)
