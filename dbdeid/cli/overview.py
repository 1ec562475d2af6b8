"""The list of commands as `dbdeid --help` shows it: by what they are for, each in one sentence."""

from __future__ import annotations

import inspect
from typing import Any

import typer.core

GROUPS: dict[str, tuple[str, ...]] = {
    "Begin": ("demo", "init", "ui", "risk", "roles"),
    "Release": ("check", "run", "search", "frontier"),
    "Look at a release": ("verify", "evaluate", "report", "query", "serve", "workload"),
    "Give it away": ("export", "sign", "releases", "list"),
    "In a project, and in dbt": ("test", "docs", "plan", "histogram", "dbt"),
    "In SQL": ("sql", "macros"),
}


class Overview(typer.core.TyperGroup):
    """The commands of `GROUPS` under their headings; whatever is in none stands at the end."""

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Write the list."""
        listed = {name for names in GROUPS.values() for name in names}
        others = tuple(name for name in self.commands if name not in listed)
        width = max(map(len, self.commands)) + 2
        for title, names in (*GROUPS.items(), ("Others", others)):
            rows = [(name.ljust(width), _sentence(self.commands[name].help)) for name in names]
            if rows:
                with formatter.section(title):
                    formatter.write_dl(rows, col_spacing=0)


def _sentence(text: str | None) -> str:
    first = inspect.cleandoc(text or "").split("\n\n")[0]
    return " ".join(first.split())
