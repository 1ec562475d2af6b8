"""The page on security names tests for what it says: they exist."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "security.md").read_text("utf-8")


def test_every_test_it_names_exists() -> None:
    named = set(re.findall(r"`(test_\w+)`", PAGE))
    texts = [path.read_text("utf-8") for path in (ROOT / "tests").rglob("test_*.py")]
    defined = set(re.findall(r"^def (test_\w+)", "\n".join(texts), re.MULTILINE))
    assert len(named) > 10
    assert named <= defined


def test_every_file_it_names_exists() -> None:
    named = set(re.findall(r"`((?:dbdeid|tests)/[\w/]+\.py)`", PAGE))
    assert named
    assert all((ROOT / name).is_file() for name in named)


def test_it_is_linked_from_where_people_look() -> None:
    for name in ("README.md", "CONTRIBUTING.md"):
        assert "docs/security.md" in (ROOT / name).read_text("utf-8")
