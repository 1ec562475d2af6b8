"""What takes longer than a click: the functions of the command line, called with what a page asks.

It runs in a process of its own, so that the server keeps no data and a cancelled run leaves what
Ctrl-C leaves: nothing half-done.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dbdeid.data.json import JsonObject, plain
from dbdeid.engine.session import Settings
from dbdeid.workspace.progress import Notify
from dbdeid.workspace.progress_line import telling


@dataclass(frozen=True, slots=True)
class Task:
    """One piece of work.

    Attributes:
        what: a key of `WORK`.
        spec: the specification.
        given: what it takes beside that.
        database: in place of the spec's.
        threads: of the engine.
        memory_limit: of the engine.
    """

    what: str
    spec: Path
    given: Mapping[str, Any]
    database: Path | None = None
    threads: int | None = None
    memory_limit: str | None = None

    @property
    def settings(self) -> Settings:
        """Engine limits."""
        return Settings(self.threads, self.memory_limit)

    def to_dict(self) -> JsonObject:
        """As it is sent to the process."""
        return {
            "what": self.what,
            "spec": str(self.spec),
            "given": plain(self.given),
            "database": str(self.database) if self.database else None,
            "threads": self.threads,
            "memory_limit": self.memory_limit,
        }

    @staticmethod
    def of(document: Mapping[str, Any]) -> Task:
        """One that was sent."""
        database = document["database"]
        return Task(
            document["what"],
            Path(document["spec"]),
            document["given"],
            Path(database) if database else None,
            document["threads"],
            document["memory_limit"],
        )


def perform(task: Task, show: Callable[[str], None]) -> JsonObject:
    """Do a piece of work.

    Args:
        task: what.
        show: puts a line about the progress in place of the last.

    Raises:
        DbdeidError: as the command says it.
    """
    return WORK[task.what](task, telling(show))


def _draft(task: Task, notify: Notify) -> JsonObject:
    """Draft a specification for a table that has none yet."""
    from dbdeid.commands.init import drafted, write_draft
    from dbdeid.spec.yaml_text import load
    from dbdeid.ui.sheet.text_edits import rewritten

    notify("read the table, and propose a role for each column", None)
    source = task.spec.parent / task.given["source"]
    made = drafted(source, task.given.get("table"), task.settings)
    data, _ = load(made.text, task.spec.name)
    for key in ("source", "database"):  # relative to the spec, with which they move
        if data.get(key) == str(source):
            data[key] = source.name
    for alias, address in (data.get("attach") or {}).items():
        if address == str(source):
            data["attach"][alias] = source.name
    write_draft(task.spec, rewritten(made.text, data, task.spec.name))
    return {"notes": list(made.notes)}


def _look(task: Task, notify: Notify) -> JsonObject:
    """What the columns are."""
    from dbdeid.commands.columns import columns_of

    found = columns_of(task.spec, database=task.database, settings=task.settings, notify=notify)
    return found.to_dict()


def _check(task: Task, notify: Notify) -> JsonObject:
    """Check the specification against its data."""
    from dbdeid.commands.check import check

    return plain(check(task.spec, database=task.database, settings=task.settings, notify=notify))


def _run(task: Task, notify: Notify) -> JsonObject:
    """Make, verify and publish the release."""
    from dbdeid.release.run import run
    from dbdeid.report.content.remains import sentences, verdict
    from dbdeid.ui.background.earlier import beside

    result = run(
        task.spec,
        database=task.database,
        settings=task.settings,
        notify=notify,
        trial=bool(task.given.get("trial")),
    )
    told, queries = sentences(result.record), result.record.queries
    return {
        "result": plain(result.to_dict()),
        "verdict": verdict(result.record),
        "sentences": {name: list(getattr(told, name)) for name in told.to_dict()},
        "written": result.table,
        "workload": queries.model_dump(mode="json") if queries else None,
        "beside": beside(result.record),
    }


def _search(task: Task, notify: Notify) -> JsonObject:
    """What a run would choose, and what other demands would cost."""
    from dbdeid.commands.search import Grid, search

    grid = Grid.parse(task.given.get("ks") or None, task.given.get("limits") or None)
    found = search(
        task.spec,
        grid=grid,
        database=task.database,
        settings=task.settings,
        notify=notify,
    )
    return plain(found)


def _frontier(task: Task, notify: Notify) -> JsonObject:
    """The policies that a release can be chosen from, with their risk and loss."""
    from dbdeid.commands.frontier import frontier

    return plain(frontier(task.spec, database=task.database, settings=task.settings, notify=notify))


def _workload(task: Task, notify: Notify) -> JsonObject:
    """What the release answers of the analysts' questions, and how far that is from the truth."""
    from dbdeid.commands.verify_evaluate_export import evaluate

    notify("ask the questions of source and release", None)
    found = evaluate(
        task.spec,
        database=task.database,
        settings=task.settings,
        trial=bool(task.given.get("trial")),
    )
    return {"workload": plain(found.queries.to_dict()) if found.queries else None}


def _query(task: Task, notify: Notify) -> JsonObject:
    """Run a query that was written for the source on the release."""
    from dbdeid.commands.queries.query import query

    notify("ask the release", None)
    found = query(
        task.spec,
        task.given["sql"],
        database=task.database,
        settings=task.settings,
        trial=bool(task.given.get("trial")),
    )
    return found.to_dict()


def _report(task: Task, notify: Notify) -> JsonObject:
    """Write the report of the last run."""
    from dbdeid.commands.report import write_report

    notify("write the report", None)
    audience = "public" if task.given["audience"] == "public" else "internal"
    page = write_report(
        task.spec,
        audience,  # type: ignore[arg-type]
        None,
        task.database,
        task.settings,
        trial=bool(task.given.get("trial")),
    )
    return {"page": str(page), "audience": audience}


def _verify(task: Task, notify: Notify) -> JsonObject:
    """Verify the release as it stands."""
    from dbdeid.commands.verify_evaluate_export import verify

    notify("verify", None)
    found = verify(task.spec, database=task.database, settings=task.settings)
    changed, why = found.source_changed, found.unpublishable
    return {
        "verified": found.verified,
        "failures": list(found.failures),
        "changed": changed.message if changed else None,
        "unpublishable": why.message if why else None,
    }


def _hand_out(task: Task, notify: Notify) -> JsonObject:
    """Fill a new folder with what may leave."""
    from dbdeid.commands.handout import hand_out

    notify("write and verify the files", None)
    given = hand_out(
        task.spec,
        Path(task.given["folder"]),
        database=task.database,
        settings=task.settings,
    )
    return given.to_dict()


def _releases(task: Task, notify: Notify) -> JsonObject:
    """The remembered releases of the source, and what they reveal together."""
    from dbdeid.ui.background.earlier import of_source

    notify("look for earlier releases", None)
    return {"releases": plain(of_source(task.spec, task.database, task.settings))}


WORK: Mapping[str, Callable[[Task, Notify], JsonObject]] = {
    "draft": _draft,
    "look": _look,
    "check": _check,
    "run": _run,
    "search": _search,
    "around": _search,
    "frontier": _frontier,
    "workload": _workload,
    "query": _query,
    "report": _report,
    "verify": _verify,
    "hand_out": _hand_out,
    "releases": _releases,
}
