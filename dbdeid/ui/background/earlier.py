"""The remembered releases of a source, and what each reveals together with those before it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from dbdeid.bind.bind import bind
from dbdeid.bind.read import read
from dbdeid.data.json import JsonObject
from dbdeid.engine.catalog import Entry
from dbdeid.engine.session import Settings
from dbdeid.project.remembered import releases
from dbdeid.record.border import record_of
from dbdeid.record.release_record import ReleaseRecord
from dbdeid.workspace.earlier_releases import each_earlier, places_of
from dbdeid.workspace.workplace import workplace


@dataclass(frozen=True, slots=True)
class Run:
    """A run that is remembered.

    Attributes:
        run: its number.
        release: its name.
        created: when, ISO 8601, UTC.
        state: published, trial, withdrawn or preview; others are held against published ones only.
        k: people of its smallest class; None where it has no classes.
        files: that it wrote.
        beside: what it tells together with earlier ones; None where that is not kept.
    """

    run: str
    release: str
    created: str
    state: str
    k: int | None
    files: tuple[str, ...]
    beside: JsonObject | None


def of_source(spec: Path, database: Path | None, settings: Settings) -> list[Run]:
    """All runs of a specification, and the published ones of others of its source; newest first.

    Raises:
        SpecError, DataError: the specification has mistakes, or a book cannot be read.
    """
    own = [
        _run(one.entry, one.state) for one in releases(spec, database=database, settings=settings)
    ]
    file = read(spec, database=database)
    with workplace(file, database=database, settings=settings, writing=False) as work:
        bound = bind(file, work.session)
        others = [
            _run(one.entry, "published")
            for one in each_earlier(work, bound, places_of(bound, work), [])
        ]
    found = {one.run: one for one in (*others, *own)}
    return sorted(found.values(), key=lambda one: one.created, reverse=True)


def beside(record: ReleaseRecord) -> JsonObject | None:
    """What a release reveals together with those before it; None where that is not kept."""
    kept = record.rerelease
    return (
        kept.model_dump(mode="json", include={"k", "found", "together", "words"}) if kept else None
    )


def _run(entry: Entry, state: str) -> Run:
    return Run(
        entry.run,
        entry.release,
        entry.created.isoformat(sep=" ", timespec="minutes"),
        state,
        entry.record.get("smallest_class"),
        tuple(Path(name).name for name in (entry.object, *entry.exports)),
        beside(record_of(entry)),
    )
