"""The committed notebook shows what its cells give, run one after another without a kernel."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from guide import ROOT, python

EXAMPLE = ROOT / "examples" / "diabetes130"
NOTEBOOK = json.loads((EXAMPLE / "notebook.ipynb").read_text(encoding="utf-8"))
CELLS = [cell for cell in NOTEBOOK["cells"] if cell["cell_type"] == "code"]
RUN = """
import ast, json, sys
names, shown = {}, []
for cell in json.load(open("cells.json")):
    tree = ast.parse(cell)
    last = tree.body.pop() if isinstance(tree.body[-1], ast.Expr) else None
    exec(compile(tree, "cell", "exec"), names)
    found = eval(compile(ast.Expression(last.value), "cell", "eval"), names) if last else None
    html = getattr(found, "_repr_html_", None)
    shown.append(html() if html else type(found).__name__)
json.dump(shown, sys.stdout)
"""


@pytest.mark.full
def test_every_cell_gives_what_is_shown(tmp_path: Path) -> None:
    folder = Path(shutil.copytree(EXAMPLE, tmp_path / "example"))
    (folder / "cells.json").write_text(json.dumps(["".join(cell["source"]) for cell in CELLS]))
    given = json.loads(python(RUN, folder).splitlines()[-1])
    committed = [cell["outputs"][0]["data"] if cell["outputs"] else {} for cell in CELLS]
    shown = {
        i: "".join(data["text/html"]) for i, data in enumerate(committed) if "text/html" in data
    }
    assert {i: given[i] for i in shown} == shown
    assert len(shown) == 4
    assert ["image/svg+xml" in data for data in committed].count(True) == given.count("Chart") == 1


def test_it_holds_no_place_of_the_machine_it_was_made_on() -> None:
    outputs = json.dumps([cell["outputs"] for cell in CELLS])
    assert not [word for word in ("/tmp", "/home", "/root", "jsdelivr") if word in outputs]
