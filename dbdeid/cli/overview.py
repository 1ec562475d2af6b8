"""The list of commands as `dbdeid --help` shows it: by what they are for, each in one sentence."""

from __future__ import annotations

import inspect
import io
import sys
from collections.abc import Sequence
from itertools import takewhile
from typing import Any

import typer.core

from dbdeid.cli.command import print_json
from dbdeid.errors import Failure

GROUPS: dict[str, tuple[str, ...]] = {
    "Start": ("demo", "init", "ui", "risk", "roles"),
    "Release": ("check", "run", "search", "frontier"),
    "Check and use": ("verify", "evaluate", "report", "query", "serve", "workload"),
    "Hand out": ("export", "sign", "releases", "list"),
    "Projects and dbt": ("test", "docs", "dbt"),
    "SQL": ("sql", "macros"),
    "Papers": ("reproduce",),
}

# What words that make no command end in: of click, of which some versions of typer have a copy.
_Refused: Any = next(c for c in typer.BadParameter.__mro__ if c.__name__ == "ClickException")


class Overview(typer.core.TyperGroup):
    """The commands of `GROUPS` under their headings; whatever is in none stands at the end."""

    def main(self, *args: Any, **given: Any) -> Any:
        """Run the command line; under `--json`, print usage errors as a JSON document too."""
        if not given.get("standalone_mode", True):
            return super().main(*args, **given)
        words = next(iter(args), given.get("args"))
        try:
            code = super().main(*args, **(given | {"standalone_mode": False}))
        except typer.Abort:
            typer.echo("aborted", err=True)
            sys.exit(1)
        except _Refused as error:
            error.show()
            failure = Failure(error.format_message(), error.exit_code)
            if _asks_json(sys.argv[1:] if words is None else words):
                print_json(failure.document)
            sys.exit(failure.exit_code)
        sys.exit(code or 0)

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Write the list."""
        listed = {name for names in GROUPS.values() for name in names}
        shown = [name for name, command in self.commands.items() if not command.hidden]
        others = tuple(name for name in shown if name not in listed)
        width = max(map(len, shown)) + 2
        for title, names in (*GROUPS.items(), ("Others", others)):
            rows = [(name.ljust(width), _sentence(self.commands[name].help)) for name in names]
            if rows:
                with formatter.section(title):
                    formatter.write_dl(rows, col_spacing=0)


def _asks_json(words: Sequence[str]) -> bool:
    """Whether `--json` is among the options: what follows `--` is an argument."""
    return "--json" in takewhile(lambda word: word != "--", words)


def speak_utf8() -> None:
    """Give files and programs UTF-8; on a terminal that lacks a letter it is escaped."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            encoding = stream.encoding if stream.isatty() else "utf-8"
            stream.reconfigure(encoding=encoding, errors="backslashreplace")


def _sentence(text: str | None) -> str:
    first = inspect.cleandoc(text or "").split("\n\n")[0]
    return " ".join(first.split())
