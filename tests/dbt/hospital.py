"""A project of dbt in a folder: run it, read its results and its tables."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import duckdb

ROOT = Path(__file__).parents[2]


@dataclass(frozen=True)
class Done:
    """A command of dbt that has ended: exit code, all it printed, and what came of each node."""

    code: int
    output: str
    results: dict[str, tuple[str, str, int | None]]

    def status(self, node: str) -> str:
        return self.results[node][0]

    def message(self, node: str) -> str:
        return self.results[node][1]

    def failures(self, node: str) -> int | None:
        return self.results[node][2]


@dataclass(frozen=True)
class Project:
    """A project; `python` is that of dbt."""

    MADE: ClassVar = shutil.ignore_patterns(
        "dbt_packages", "logs", "target", "package-lock.yml", "*.duckdb*"
    )
    folder: Path
    python: Path

    def copied(self, folder: Path) -> Project:
        shutil.copytree(self.folder, folder, symlinks=True)
        return Project(folder, self.python)

    def link(self) -> None:
        """Have the package where `dbt deps`, which takes as long as a small build, links it."""
        packages = self.folder / "dbt_packages"
        packages.mkdir()
        (packages / "deid").symlink_to(ROOT / "sql" / "dbt")

    def run(self, *arguments: str, code: int = 0) -> Done:
        """Run a command of dbt, which ends with this code."""
        hidden = ("PYTHONPATH", "PYTHONWARNINGS")
        done = subprocess.run(
            [str(self.python.with_name("dbt")), "--no-use-colors", *arguments],
            cwd=self.folder,
            env={k: v for k, v in os.environ.items() if k not in hidden}
            | {"DBDEID_DBT": str(ROOT / "sql" / "dbt"), "DO_NOT_TRACK": "1"},
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == code, done.stdout + done.stderr
        return Done(done.returncode, done.stdout, self._results())

    def _results(self) -> dict[str, tuple[str, str, int | None]]:
        """What came of each node: status, message, and how many rows failed."""
        file = self.folder / "target" / "run_results.json"
        found = json.loads(file.read_text())["results"] if file.exists() else []
        return {
            r["unique_id"].split(".")[2]: (r["status"], r["message"] or "", r["failures"])
            for r in found
        }

    def write(self, path: str, text: str) -> None:
        (self.folder / path).write_text(text, encoding="utf-8")

    def plant(self, *rows: str) -> None:
        """Add rows to the visits."""
        with (self.folder / "seeds" / "visits.csv").open("a") as file:
            file.write("".join(f"{row}\n" for row in rows))

    @property
    def database(self) -> Path:
        return self.folder / "hospital.duckdb"

    def rows(self, query: str) -> list[tuple[Any, ...]]:
        with duckdb.connect(str(self.database), read_only=True) as con:
            return con.execute(query).fetchall()

    @property
    def tables(self) -> set[str]:
        return {name for (name,) in self.rows("SELECT table_name FROM duckdb_tables()")}

    def compiled(self, *under: str) -> str:
        """The SQL that dbt made of a file."""
        return self.folder.joinpath("target", "compiled", "hospital", *under).read_text()
