"""The documentation as a site: it builds without a warning, and its pages need nobody else."""

from __future__ import annotations

import importlib.util
import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from html import unescape
from html.parser import HTMLParser
from pathlib import Path
from typing import Any, get_args
from urllib.parse import unquote, urlsplit

import pytest
from axe import WRONG, axe
from browser import CHROMIUM, browser
from dbdeid.udfs.functions import FUNCTIONS
from dbdeid.udfs.procedures import PROCEDURES
from guide import ROOT
from pydantic import BaseModel
from typer.main import get_command

import dbdeid
from dbdeid.cli.app import app
from dbdeid.engine.duckdb.macros import MACROS
from dbdeid.record.release_record import ReleaseRecord
from dbdeid.record.schema import schema
from dbdeid.spec.release_spec import ReleaseSpec


class Links(HTMLParser):
    """What a page refers to, what can be referred to in it, and its paragraphs."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.links: list[str] = []
        self.loaded: list[str] = []
        self.places: set[str] = set()
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        found = {name: value or "" for name, value in attrs}
        self.places |= {found[name] for name in ("id", "name") if name in found}
        if tag == "a" and "href" in found:
            self.links.append(found["href"])
        elif tag == "link" and found.get("rel") not in ("canonical", "prev", "next"):
            self.loaded.append(found.get("href", ""))
        elif tag in ("script", "img", "iframe", "source") and "src" in found:
            self.loaded.append(found["src"])


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    done = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(folder)],
        cwd=ROOT,
        env={**os.environ, "NO_MKDOCS_2_WARNING": "1", "PYTHONWARNINGS": "ignore"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "WARNING" not in done.stderr
    return folder


@pytest.fixture(scope="module")
def pages(site: Path) -> dict[Path, Links]:
    """All pages but the one for addresses that there are not, whose links are of a server's."""
    found = (path for path in site.rglob("*.html") if path.name != "404.html")
    return {path: Links(path.read_text(encoding="utf-8")) for path in found}


@pytest.mark.full
def test_every_link_leads_to_a_place_that_there_is(pages: dict[Path, Links]) -> None:
    broken = []
    for page, found in pages.items():
        for link in (*found.links, *found.loaded):
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            target = (page.parent / unquote(parts.path)).resolve() if parts.path else page
            target = target / "index.html" if target.is_dir() else target
            if not target.exists():
                broken.append((page.name, link))
            elif parts.fragment and target in pages:
                there = unquote(parts.fragment) in pages[target].places
                broken += [] if there else [(page.name, link)]
    assert not broken
    assert sum(len(found.links) for found in pages.values()) > 1000


@pytest.mark.full
def test_nothing_is_loaded_from_elsewhere(site: Path, pages: dict[Path, Links]) -> None:
    assert not [(p.name, u) for p, found in pages.items() for u in found.loaded if "//" in u]
    for sheet in site.rglob("*.css"):
        assert not re.search(r"(@import|url\()\s*['\"]?(https?:)?//", sheet.read_text())


@pytest.mark.full
def test_markdown_is_read_as_github_reads_it(pages: dict[Path, Links]) -> None:
    """Lists and tables need a blank line before them here; formulas are drawn."""
    for page in pages:
        text = page.read_text(encoding="utf-8")
        assert not re.search(r"<p>[^<]*\n([-*] |\d+\. |\|)", text), page.name
        assert "arithmatex" not in text, page.name
    assert "<math" in next(p for p in pages if p.name == "rerelease.html").read_text()


def test_every_page_has_its_place_in_the_navigation() -> None:
    nav = re.findall(r"[\w/]+\.md", (ROOT / "mkdocs.yml").read_text().split("\nnav:\n")[1])
    pages = {p.relative_to(ROOT / "docs").as_posix() for p in (ROOT / "docs").rglob("*.md")}
    assert pages <= set(nav)
    assert len(nav) == len(set(nav))


def test_every_link_between_pages_leads_into_the_site() -> None:
    """What a page links to is under docs/, written from the code, or taken from elsewhere."""
    pages = hook()
    docs = {path.resolve() for path in (ROOT / "docs").rglob("*") if path.is_file()}
    taken = {path.resolve() for path in pages.elsewhere()}
    broken, seen = [], 0
    for page in sorted(path for path in docs | taken if path.suffix == ".md"):
        text = re.sub(r"^```.*?^```", "", page.read_text(encoding="utf-8"), flags=re.S | re.M)
        for link in re.findall(r"\]\((?![a-z]+:|#)([^)#\s]+)(?=[)#])", text):
            seen += 1
            target = (page.parent / unquote(link)).resolve()
            if target not in docs | taken and target.parent != (ROOT / "docs" / "reference"):
                broken.append((page.relative_to(ROOT).as_posix(), link))
    assert not broken
    assert seen > 300


def hook() -> Any:
    """The module that MkDocs loads from a file."""
    found = importlib.util.spec_from_file_location("pages", ROOT / "docs" / "_site" / "pages.py")
    assert found is not None
    assert found.loader is not None
    module = importlib.util.module_from_spec(found)
    found.loader.exec_module(module)
    return module


def keys(part: Any) -> Iterator[str]:
    """The keys of a part of the specification, and of all parts in it."""
    if isinstance(part, type) and issubclass(part, BaseModel):
        for name, field in part.model_fields.items():
            yield field.alias or name
            yield from keys(field.annotation)
    for inner in get_args(part):
        yield from keys(inner)


def test_every_key_of_a_specification_is_explained() -> None:
    found = (ROOT / "docs").glob("specification*/**/*.md")
    pages = [ROOT / "docs" / "specification.md", *sorted(found)]
    text = "\n".join(page.read_text(encoding="utf-8") for page in pages)
    code = "\n".join(re.findall(r"```yaml\n.*?```|`[^`\n]+`", text, re.DOTALL))
    filled_in = {"found", "doubts", "first_years"}  # of a preset, by dbdeid
    known = set(keys(ReleaseSpec)) - filled_in
    assert {"release", "hierarchy", "suppression_limit", "ties", "bounds"} <= known
    assert not {key for key in known if not re.search(rf"\b{re.escape(key)}\b", code)}


@pytest.mark.full
def test_the_reference_has_everything(site: Path) -> None:
    cli, macros, functions, python, record = (
        (site / "reference" / f"{name}.html").read_text(encoding="utf-8")
        for name in ("cli", "macros", "functions", "python", "record")
    )
    commands = get_command(app).commands  # type: ignore[attr-defined]
    assert all(f'id="dbdeid-{name}' in cli for name, one in commands.items() if not one.hidden)
    assert "--suppression" in cli
    assert "<td></td>" not in cli  # an argument or option without a meaning
    sections = cli.split('<h2 id="dbdeid-')[1:]
    assert not [s for s in sections if s.count('class="highlight') < 2]  # call and example
    assert all(f"deid.{macro.name}" in macros for macro in MACROS)
    assert all(function.name in functions for function in FUNCTIONS)
    assert all(f"SELECT {name}(" in functions for name in PROCEDURES)
    shown = unescape(re.sub(r"<[^>]*>", "", macros + functions))
    assert all(macro.example in shown for macro in MACROS)
    assert all(function.example in shown for function in FUNCTIONS)
    assert all(f"dbdeid.{name}" in python for name in dbdeid.__all__)
    parts: Any = schema()["$defs"]
    assert all(f'id="{name.lower()}"' in record for name in parts)
    assert all(f"<code>{key}</code>" in record for key in ReleaseRecord.model_fields)
    assert "record_version" in record


# -- in a browser, from a folder -------------------------------------------------------------------

in_chromium = pytest.mark.skipif(CHROMIUM is None, reason="no chromium: apt-get install chromium")


@pytest.mark.full
@in_chromium
def test_search_works_from_a_folder_and_asks_nobody(site: Path, tmp_path: Path) -> None:
    with browser(tmp_path / "profile") as page:
        page.load(site / "index.html", 1280)
        page.evaluate(
            "(box => { box.focus(); box.value = 'suppression';"
            "box.dispatchEvent(new KeyboardEvent('keyup', {bubbles: true})) })"
            "(document.querySelector('.md-search__input'))"
        )
        found = "document.querySelectorAll('.md-search-result__item').length"
        for _ in range(20_000):  # each question lets the page go on
            if page.evaluate(found):
                break
        assert page.evaluate(found) > 3
        assert {url.split(":")[0] for url in page.requests} <= {"file", "data", "blob"}


@pytest.mark.full
@in_chromium
@pytest.mark.parametrize("name", ["index", "tutorial", "specification/columns", "reference/record"])
def test_axe_finds_nothing_serious(site: Path, tmp_path: Path, name: str) -> None:
    script = axe()
    with browser(tmp_path / "profile") as page:
        for width, scheme in ((390, "dark"), (1280, "light")):
            page.load(site / f"{name}.html", width, scheme=scheme)
            page.evaluate(f"{script};0")
            found = json.loads(page.evaluate(WRONG))
            assert found["passes"] > 10  # it did look
            assert not found["wrong"], (width, scheme)
            assert page.evaluate("document.documentElement.scrollWidth") == width
