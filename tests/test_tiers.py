"""The list of what each tier proves names tests that are there, and proofs that run by default."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

HERE = Path(__file__).parent
NAMED = re.compile(r"`(?:[\w/]*/)?(test_[\w…]+?)(\.py)?`")


def written() -> Iterator[tuple[str, str, bool]]:
    """File, name, and whether it waits for the full tier, of each test."""
    for path in HERE.rglob("test_*.py"):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.FunctionDef) and node.name.startswith("test_"):
                marks = [ast.unparse(mark) for mark in node.decorator_list]
                yield path.stem, node.name, any(m.startswith("pytest.mark.full") for m in marks)


def proofs() -> Iterator[tuple[str, str, bool]]:
    """What a row is about, a test that it names as a proof by default, and whether it is a file."""
    for row in (HERE / "TIERS.md").read_text("utf-8").splitlines():
        cells = [cell.strip() for cell in row.strip("|").split("|")]
        for cell in cells[1:2] if len(cells) == 2 else cells[1:2] + cells[3:]:
            for name, file in NAMED.findall(cell):
                yield cells[0], name, bool(file)


def test_what_proves_a_promise_by_default_runs_by_default() -> None:
    found, wrong = list(written()), []
    for about, name, is_file in proofs():
        place = 0 if is_file else 1
        start = name.removesuffix("…")
        meant = [
            t for t in found if t[place] == start or (name != start and t[place].startswith(start))
        ]
        if all(full for *_, full in meant):
            wrong.append(f"{name}: {'only in the full tier' if meant else 'not there'} ({about})")
    assert not wrong, "\n".join(wrong)
