"""The guide to projects is run: its files are laid out, its commands run in their order."""

from __future__ import annotations

from pathlib import Path

import pytest
from guide import follow


@pytest.mark.full
def test_the_project_does_what_the_guide_shows(tmp_path: Path) -> None:
    assert follow("project.md", tmp_path) == 3
    assert {p.name for p in (tmp_path / "site").iterdir()} == {"internal", "public"}
