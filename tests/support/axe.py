"""The rules of accessibility of axe-core, of which axe-playwright-python brings a copy."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

WRONG = """
axe.run(document).then((found) => JSON.stringify({
  passes: found.passes.length,
  wrong: found.violations.filter((one) => ["serious", "critical"].includes(one.impact))
    .map((one) => [one.id, one.nodes.length, one.nodes[0].html, one.nodes[0].failureSummary]),
}))
"""


def axe() -> str:
    """The script of axe-core; the test is skipped where it is not installed."""
    found = importlib.util.find_spec("axe_playwright_python")  # not imported: it wants Playwright
    if found is None or not found.submodule_search_locations:
        pytest.skip("no axe-core: pip install --no-deps axe-playwright-python")
    return (Path(found.submodule_search_locations[0]) / "axe.min.js").read_text(encoding="utf-8")
