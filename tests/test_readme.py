"""The README is run: every block, in order, in one folder."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import duckdb
import pytest

from dbdeid.engine.macros import MACROS

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
COMMANDS = ("pip install . && dbdeid demo", "pip install -e '.[dev]' && pytest")


@dataclass(frozen=True)
class Block:
    label: str
    language: str
    text: str


def blocks() -> list[Block]:
    pattern = r"(?:<!-- ([\w ./:-]+) -->\n)?```(\w+)\n(.*?)```"
    return [Block(*found) for found in re.findall(pattern, README, re.DOTALL)]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("readme")


def shell(command: str, folder: Path) -> str:
    bin_ = str(Path(sys.executable).parent)
    environment = {**os.environ, "PATH": f"{bin_}:{os.environ['PATH']}"}
    done = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", command],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_every_block_runs(folder: Path) -> None:
    """Both installation commands are run by the continuous integration, here only their job."""
    printed = ""
    for block in blocks():
        if block.language == "sh":
            for line in block.text.strip().splitlines():
                if line == COMMANDS[0]:
                    printed = shell("dbdeid demo", folder)
                elif line == "cd dbdeid-demo":
                    folder = folder / "dbdeid-demo"
                elif line != COMMANDS[1]:
                    shell(line, folder)
        elif block.language == "text":
            assert masked(block.text) == masked(printed)
        elif block.language == "yaml":
            (folder / Path(block.label.removeprefix("file: ")).name).write_text(block.text)
        elif block.language == "sql":
            with duckdb.connect(str(folder / "adult.duckdb")) as con:
                con.execute(f"SET file_search_path = '{folder}'")
                con.execute(block.text)
                assert con.fetchall() == [(True,)]
        elif block.language == "python":
            shell(f"python - <<'END'\n{block.text}\nEND", folder)
        else:
            raise AssertionError(f"a block nobody runs: {block}")


def masked(text: str) -> list[str]:
    """The lines without what differs: seconds, the folder, how many checks the search took."""
    lines = [
        re.sub(r"(seconds +|search +)[\d.]+", r"\1…", line.rstrip()) for line in text.splitlines()
    ]
    return [re.sub(r"written +(\S+/)?(?=dbdeid-demo)", "written ", line) for line in lines]


def test_the_two_commands_are_there() -> None:
    shells = [block.text.strip() for block in blocks() if block.language == "sh"]
    assert all(command in shells for command in COMMANDS)


def test_every_macro_is_listed_with_its_file() -> None:
    for macro in MACROS:
        row = f"| [`{macro.signature}`](sql/macros/{macro.name}.sql) |"
        assert row in README, row


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_link_leads_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\(([^)#]+)", page.read_text(encoding="utf-8")):
        assert target.startswith("https://") or (page.parent / target).exists(), target
