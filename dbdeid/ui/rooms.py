"""What a server has open: its specifications, each with its desk, and the work for them."""

from __future__ import annotations

import json
import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from dbdeid.data.location.address import is_server
from dbdeid.data.location.file_formats import ending_of, is_pattern
from dbdeid.engine.file_names import holds_table
from dbdeid.errors import DataError
from dbdeid.spec.project_file import NAME, read_project
from dbdeid.ui.background.jobs import Job, Jobs, Worker
from dbdeid.ui.background.work import Task
from dbdeid.ui.sheet.desk import Desk, Sheet
from dbdeid.ui.views.levels_page import Ladders

_SPECS = (".yml", ".yaml", ".json")


@dataclass(frozen=True, slots=True)
class Place:
    """What a server is opened on.

    Attributes:
        folder: that holds all that it reads and writes.
        specs: the specifications, one or those of a project.
        source: of a table that has none yet: what is drafted from.
        table: which of a database.
    """

    folder: Path
    specs: tuple[Path, ...]
    source: str | None = None
    table: str | None = None


def opened(source: Path, table: str | None = None) -> Place:
    """Return the place that a table, a specification or the folder of a project names.

    Raises:
        DataError: it is none of them.
    """
    given = str(source)
    if is_server(given) or is_pattern(given):
        raise DataError(
            f"{given}: the page is opened on a file, a spec or a project",
            hint=f"draft a spec first: dbdeid init '{given}' -o release.yml",
        )
    if not source.exists():
        raise DataError(f"{source} does not exist", hint="give a file, a spec or a project")
    if (source.is_dir() and (source / NAME).is_file()) or source.name == NAME:
        folder = (source if source.is_dir() else source.parent).resolve()
        releases = read_project(folder / NAME).place("releases")
        specs = sorted(p for p in releases.rglob("*") if p.suffix in (".yml", ".yaml"))
        if not specs:
            raise DataError(
                f"{source}: the project has no releases yet",
                hint="dbdeid init TABLE -o releases/first.yml in it, or open a table",
            )
        return Place(folder, tuple(specs))
    if source.suffix.lower() in _SPECS and not source.is_dir() and not holds_table(source):
        if table is not None:
            raise DataError(f"{source} is a spec", hint="leave the table name out")
        path = source.resolve()
        return Place(path.parent, (path,))
    path = source.resolve()
    name = path.name[: len(path.name) - len(ending_of(path))] if ending_of(path) else path.stem
    stem = f"{name}_{table}" if table else name
    safe = "".join(sign if sign.isalnum() or sign in "-_" else "_" for sign in stem)
    return Place(path.parent, (path.parent / f"{safe}.yml",), path.name, table)


@dataclass(slots=True)
class Room:
    """One specification with all that the server knows beside its file.

    Attributes:
        place: what the server was opened on.
        desk: of the specification.
        jobs: what its owner asked for.
        looking: drafting and looking at the columns, which begin by themselves.
        ladders: the levels that were computed.
        notices: what is to be said on the next page: how well it went, and the words.
    """

    place: Place
    desk: Desk
    jobs: Jobs
    looking: Jobs
    options: Mapping[str, Any]
    ladders: Ladders = field(default_factory=Ladders)
    notices: list[tuple[str, str]] = field(default_factory=list)
    _source: str = ""
    _lock: threading.Lock = field(default_factory=threading.Lock)

    @staticmethod
    def of(place: Place, spec: Path, worker: Worker, options: Mapping[str, Any]) -> Room:
        """The room of a specification."""
        return Room(place, Desk(spec), Jobs(worker), Jobs(worker), options)

    def task(self, what: str, **given: Any) -> Task:
        """A piece of work on the specification."""
        return Task(what, self.desk.path, given, **self.options)

    @property
    def drafting(self) -> Job | None:
        """The work on a draft, while there is no specification."""
        return None if self.desk.path.exists() else self.looking.last.get("draft")

    @property
    def looked(self) -> Mapping[str, Any] | None:
        """What the columns are, once that is known."""
        job = self.looking.last.get("look")
        return job.result if job is not None and job.state == "done" else None

    @property
    def chosen(self) -> Mapping[str, int]:
        """The levels of the last run."""
        job = self.jobs.last.get("run")
        found = job.result["result"]["transformation"] if job is not None and job.result else {}
        return dict(found)

    def ensure(self) -> None:
        """Begin what every page needs: a draft where there is no specification, then a look."""
        with self._lock:
            self._begin()

    def _begin(self) -> None:
        if self.looking.running is not None:
            return
        if not self.desk.path.exists():
            if "draft" not in self.looking.last and self.place.source is not None:
                given = {"source": self.place.source, "table": self.place.table}
                self.looking.begin(self.task("draft", **given), "")
            return
        sheet = self.desk.sheet()
        source = self._source_of(sheet)
        if sheet.file is None or source == self._source:
            return
        self._source = source
        self.looking.begin(self.task("look"), sheet.version)

    def _source_of(self, sheet: Sheet) -> str:
        """What the text says of its source: another one is looked at anew."""
        data = sheet.data or {}
        told = {key: data.get(key) for key in ("source", "database", "attach")}
        return json.dumps(told, default=str)

    def inside(self, name: str) -> Path:
        """A new folder beside the specification.

        Raises:
            DataError: the name leads anywhere else.
        """
        odd = not name or name.startswith(".") or len(name) > 100 or not name.isprintable()
        if odd or "/" in name or "\\" in name or name != Path(name).name:
            raise DataError(
                "this is no name of a folder beside the spec", hint="a word, as in to_send"
            )
        return self.desk.folder / name

    def number(self, text: str, names: list[str]) -> str:
        """The name of a column that a page calls by its number.

        Raises:
            DataError: there is none.
        """
        if not text.isascii() or not text.isdigit() or int(text) >= len(names):
            raise DataError("there is no such column", hint="look at the page again")
        return names[int(text)]
