"""The guide to roles in comments is run."""

from __future__ import annotations

from pathlib import Path

import pytest
from guide import follow


@pytest.mark.full
def test_every_command_prints_what_the_guide_shows(tmp_path: Path) -> None:
    assert follow("roles.md", tmp_path) == 3
