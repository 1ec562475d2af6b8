"""What contributors are told is there: files, links, commands, and a page for each decision."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from guide import ROOT

CONTRIBUTING = ROOT / "CONTRIBUTING.md"
DECISIONS = sorted((ROOT / "docs" / "decisions").glob("*.md"))
INDEX = ROOT / "docs" / "decisions" / "index.md"
PAGES = (CONTRIBUTING, ROOT / "SECURITY.md", *DECISIONS)


@pytest.mark.parametrize("page", PAGES, ids=lambda p: p.name)
def test_every_file_that_is_named_exists(page: Path) -> None:
    named = re.findall(
        r"`((?:dbdeid|docs|sql|tests|udfs|\.github)/[\w./-]+)`", page.read_text(encoding="utf-8")
    )
    assert not [name for name in named if not (ROOT / name).exists()]


@pytest.mark.parametrize("page", PAGES, ids=lambda p: p.name)
def test_every_link_of_these_pages_leads_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\(([^)#]+)", page.read_text(encoding="utf-8")):
        assert target.startswith("https://") or (page.parent / target).exists(), target


def test_every_module_that_a_docstring_names_exists() -> None:
    package = ROOT / "dbdeid"
    folders = "|".join(p.name for p in sorted(package.iterdir()) if (p / "__init__.py").exists())
    gone = []
    for path in sorted(package.rglob("*.py")):
        for name in re.findall(rf"`((?:{folders})\.[\w.]+)`", path.read_text(encoding="utf-8")):
            at = package
            for part in name.split("."):
                if (at / f"{part}.py").exists():
                    break
                at /= part
                if not at.is_dir():
                    gone.append((path.relative_to(ROOT).as_posix(), name))
                    break
    assert not gone


def test_every_folder_of_tests_has_a_line_that_says_what_it_proves() -> None:
    folders = {path.parent.name for path in (ROOT / "tests").glob("*/test_*.py")}
    named = re.findall(r"^\| (.*?) \|", (ROOT / "tests" / "TIERS.md").read_text(), re.MULTILINE)
    assert folders <= {name for cell in named for name in re.findall(r"`(\w+)`", cell)}


def test_every_test_that_is_named_exists() -> None:
    tests = "\n".join(
        path.read_text(encoding="utf-8") for path in sorted((ROOT / "tests").rglob("test_*.py"))
    )
    for page in PAGES:
        for name in re.findall(r"`(test_\w+)`", page.read_text(encoding="utf-8")):
            assert f"def {name}(" in tests, (page.name, name)


def test_just_says_what_the_plain_commands_say() -> None:
    rows = re.findall(r"^\| `(.+?)` \| `just ([\w-]+)` \|", CONTRIBUTING.read_text(), re.MULTILINE)
    recipes = dict(
        re.findall(
            r"^([a-z-]+)(?: \*arguments)?:\n((?: {4}.+\n)+)",
            (ROOT / "justfile").read_text().replace(" {{ arguments }}", ""),
            re.MULTILINE,
        )
    )
    assert {name for _, name in rows} == {*recipes} - {"default"}
    for command, name in rows:
        lines = [line.strip().removeprefix(".venv/bin/") for line in recipes[name].splitlines()]
        assert lines[-len(command.split(" && ")) :] == command.split(" && "), name


@pytest.mark.parametrize("page", [p for p in DECISIONS if p != INDEX], ids=lambda p: p.stem)
def test_a_decision_has_a_context_consequences_and_a_line_in_the_index(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    assert re.findall(r"^## (.+)$", text, re.MULTILINE) == ["Context", "Decision", "Consequences"]
    title = text.splitlines()[0].removeprefix("# ")
    assert f"| [{title}]({page.name}) |" in INDEX.read_text(encoding="utf-8")
