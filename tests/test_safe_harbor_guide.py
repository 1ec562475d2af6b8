"""The guide to HIPAA Safe Harbor is run: its table, its specification and its commands."""

from __future__ import annotations

from pathlib import Path

import pytest
from guide import DOCS, blocks, lay_out, shell

PAGE = DOCS / "safe_harbor.md"
BLOCKS = blocks(PAGE)


@pytest.mark.full
def test_the_release_is_verified_as_the_guide_shows(tmp_path: Path) -> None:
    lay_out(BLOCKS, tmp_path)
    printed, compared = "", 0
    for _, language, text in BLOCKS:
        if language == "sh":
            for line in text.splitlines():
                printed = shell(line, tmp_path)
        elif language == "text":
            assert printed == text
            compared += 1
    assert compared == 1
