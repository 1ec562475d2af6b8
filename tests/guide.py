"""Running a guide: its blocks, its commands in a shell, and results as pages show them."""

from __future__ import annotations

import contextlib
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterable, Mapping
from difflib import unified_diff
from pathlib import Path
from typing import Any, NamedTuple

import duckdb
from typer.testing import CliRunner

from dbdeid.cli.app import app

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
_BLOCK = re.compile(r"(?:<!-- ([\w ./:-]+) -->\n)?```(\w+)\n(.*?)```", re.DOTALL)
_EXIT_CODE = re.compile(r"# exit code (\d+)$")


class Block(NamedTuple):
    """A block of code: the comment before it, its language and its text."""

    mark: str
    language: str
    text: str

    @property
    def file(self) -> str | None:
        """The file that it is the text of, if it is one's."""
        return self.mark.removeprefix("file: ") if self.mark.startswith("file: ") else None


def blocks(page: Path) -> list[Block]:
    """All blocks of a page, in order."""
    return [Block(*found) for found in _BLOCK.findall(page.read_text(encoding="utf-8"))]


def write(block: Block, folder: Path) -> None:
    """Write the file that a block is the text of."""
    assert block.file is not None
    place = folder / block.file
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_text(block.text)


def lay_out(found: Iterable[Block], folder: Path) -> None:
    """Write the files of a guide, and make the database of a hospital from its first SQL."""
    found = list(found)
    for block in found:
        if block.file is not None:
            write(block, folder)
    made = next((b.text for b in found if b.language == "sql" and b.file is None), None)
    if made is not None:
        with duckdb.connect(str(folder / "hospital.duckdb")) as con:
            con.execute(made)


def _commands(text: str) -> list[list[str]] | None:
    """The words of each line, where all are commands of ours and nothing is left to a shell."""
    lines = text.replace("\\\n", " ").splitlines()
    words = [shlex.split(line, comments=True) for line in lines]
    ours = all(line[:1] == ["dbdeid"] for line in words)
    return words if ours and not set("|<>&;$*`") & set("".join(lines)) else None


def _printed(commands: Iterable[list[str]], folder: Path) -> tuple[int, str, str]:
    """The exit code of commands, which end at the first that fails, and what they print."""
    out = err = ""
    with contextlib.chdir(folder):
        for _, *words in commands:
            done = CliRunner().invoke(app, words)
            out, err = out + done.stdout, err + done.stderr
            if done.exit_code:
                return done.exit_code, out, err
    return 0, out, err


def shell(
    command: str, folder: Path, *, fails: bool = False, environment: Mapping[str, str] | None = None
) -> str:
    """What a command prints, which ends with 0, or as a comment behind it says.

    Commands of dbdeid alone are run in this process, which has loaded it.

    Args:
        command: for bash.
        folder: where it runs.
        fails: whether it ends with something other than 0.
        environment: in place of ours.
    """
    commands = _commands(command) if environment is None else None
    if commands is not None:
        code, out, err = _printed(commands, folder)
    else:
        path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
        done = subprocess.run(
            ["bash", "-euo", "pipefail", "-c", command],
            cwd=folder,
            env={**os.environ, "PATH": path} if environment is None else environment,
            capture_output=True,
            text=True,
            check=False,
        )
        code, out, err = done.returncode, done.stdout, done.stderr
    told = _EXIT_CODE.search(command)
    if fails:
        assert code, out
    else:
        assert code == (int(told[1]) if told else 0), out + err
    return out


def python(text: str, folder: Path) -> str:
    """What a program prints."""
    return shell(f"python - <<'END'\n{text}\nEND", folder)


def follow(name: str | Path, folder: Path) -> int:
    """Run a guide in a folder and hold what is printed against what it shows.

    Args:
        name: of a page under docs/, or its path.
        folder: where it runs.

    Returns:
        how many texts were compared.
    """
    page = DOCS / name
    found = blocks(page)
    lay_out(found, folder)
    printed, compared = "", 0
    for block in found:
        if block.language == "sh":
            printed = shell(block.text, folder)
        elif block.language == "python":
            printed = python(block.text, folder)
        elif block.language == "text":
            compare = _VARYING.get(block.mark, masked)
            shown, there = compare(block.text), compare(printed)
            assert there == shown, "\n".join(unified_diff(shown, there, "page", "printed", n=1))
            compared += 1
    assert compared == page.read_text(encoding="utf-8").count("```text")
    return compared


def masked(text: str) -> list[str]:
    """Lines without what differs from run to run: seconds, and where the folder is."""
    lines = [re.sub(r"\d+\.\d\d s\b", "0.00 s", line.rstrip()) for line in text.splitlines()]
    lines = [re.sub(r"(?<=  seconds )( +)[\d.]+$", r"\1…", line) for line in lines]
    lines = [re.sub(r" +\d+\.\d\d(?= +(yes|no) +\{)", " …", line) for line in lines]
    return [re.sub(r"(?<![\w.])/\S*/(?=\w)", "", line) for line in lines]


def _without_figures(text: str) -> list[str]:
    """Lines without the figures that differ between processors, and what hangs on them."""
    lines = [re.sub(r"\d[\d,.]*%?", "#", line) for line in masked(text)]
    lines = [re.sub(r"people at risk: .*", "people at risk", line) for line in lines]
    return [re.sub(r" +", " ", line) for line in lines if not line.startswith("  note ")]


def _shape(text: str) -> list[str]:
    """The head of a table, and how many rows it has."""
    head, *rows = text.splitlines()
    return [*head.split(), f"{len(rows)} rows"]


# How a text is compared, by the comment before it.
_VARYING = {"figures differ": _without_figures, "rows differ": _shape}


def shown(rows: Iterable[tuple[Any, ...]]) -> str:
    """The rows of a result, as guides show them."""
    return "".join(" | ".join("NULL" if v is None else str(v) for v in r) + "\n" for r in rows)
