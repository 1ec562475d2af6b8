"""The guide to the shelf is run: its table, its specification and its commands."""

from __future__ import annotations

from pathlib import Path

import pytest
from guide import DOCS, blocks, lay_out, shell

from dbdeid.data.shelf import NAMES, zips
from dbdeid.data.shelf.tables import read

PAGE = DOCS / "shelf.md"
GUIDE = PAGE.read_text(encoding="utf-8")
BLOCKS = blocks(PAGE)


@pytest.mark.full
def test_the_release_reads_as_the_guide_shows(tmp_path: Path) -> None:
    lay_out(BLOCKS, tmp_path)
    printed, compared = "", 0
    for _, language, text in BLOCKS:
        if language == "sh":
            for line in text.splitlines():
                printed = shell(line, tmp_path)
        elif language == "text":
            assert printed.strip("\n") == text.strip("\n")
            compared += 1
    assert compared == 1


def test_every_name_has_a_section_and_every_small_area_is_named() -> None:
    for name in NAMES:
        assert f"\n## {name}\n" in GUIDE
    small = {row["zip3"] for row in read("zip3.csv")} - zips.named_areas()
    assert all(f"{area}," in GUIDE or f"{area} |" in GUIDE for area in small)
