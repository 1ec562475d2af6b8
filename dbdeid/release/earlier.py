"""Which runs released the same source: in our book, the owner's database, and books beside ours."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sqlglot import exp

from dbdeid.engine.catalog import Book, Entry
from dbdeid.engine.session import Session
from dbdeid.errors import DataError, SpecError
from dbdeid.release.bind import FILES, Bound, resolve_source
from dbdeid.release.journal import remembered
from dbdeid.release.specfile import read_text
from dbdeid.release.workplace import Workplace

KEY = "rerelease"  # of the record of a run


@dataclass(frozen=True, slots=True)
class Earlier:
    """A run of a book, which may be another one than ours.

    Attributes:
        entry: the run.
        book: where it is remembered.
        folder: that the paths of the book start from; None for one in memory.
    """

    entry: Entry
    book: Book
    folder: Path | None

    @property
    def kept(self) -> Mapping[str, Any] | None:
        """What the run kept to be compared with; None of earlier versions."""
        kept: Mapping[str, Any] | None = self.entry.record.get(KEY)
        return kept


def each_earlier(
    work: Workplace, bound: Bound, places: frozenset[str], unread: list[str]
) -> Iterator[Earlier]:
    """The runs of the same source, of one book after the other.

    Other books are let go of when the next is asked for, so that their own runs can go on.

    Args:
        work: where the release is made.
        bound: its spec.
        places: what its source reads.
        unread: gets the names of books that could not be read.
    """
    session = work.session
    if work.book is not None:
        folder = work.home.resolve().parent if work.home else None
        yield from _of(work.book, folder, bound, places)
    if work.places.target is not None:
        file = work.places.database
        folder = file.resolve().parent if file else None
        yield from _of(Book(session, session.catalog), folder, bound, places)
    if work.home is None:
        return
    mine = work.home.resolve()
    for path in sorted(mine.parent.glob("*.private.duckdb")):
        if path.resolve() == mine:
            continue
        try:
            name = session.attach(path, read_only=True, private=True)
        except DataError:
            unread.append(path.name)
            continue
        yield from _of(Book(session, name), mine.parent, bound, places)
        session.detach(name)


def _of(book: Book, folder: Path | None, bound: Bound, places: frozenset[str]) -> Iterator[Earlier]:
    for entry in book.entries():
        if entry.kind != "view" and _same_source(entry, folder, bound, places):
            yield Earlier(entry, book, folder)


def _same_source(entry: Entry, folder: Path | None, bound: Bound, places: frozenset[str]) -> bool:
    kept = entry.record.get(KEY)
    if kept is not None:
        return any(_found(place, folder) in places for place in kept["places"])
    try:  # a run of an earlier version: its spec names the source as ours does
        then = read_text(entry.spec).spec
    except SpecError:
        return entry.release.lower() == bound.spec.release.lower()
    return then.source_name.lower() == bound.spec.source_name.lower()


def places_of(bound: Bound, work: Workplace) -> frozenset[str]:
    """The tables and files that the source reads: `file|schema.table`, or the path of a file."""
    session = work.session
    source = resolve_source(bound.file, session)
    named = {cte.alias.lower() for cte in source.find_all(exp.CTE)}
    found = set()
    for table in source.find_all(exp.Table):
        if not isinstance(table.this, exp.Identifier):
            files = [one.name for one in table.this.find_all(exp.Literal) if one.is_string]
        elif _reads_a_file(table, session):
            files = [table.name]
        elif table.db or table.name.lower() not in named:
            file = session.file_of(table.catalog or session.catalog)
            at = str(file.resolve()) if file else ""
            found.add(f"{at}|{(table.db or 'main').lower()}.{table.name.lower()}")
            continue
        else:
            continue
        found |= {f"{Path(name).resolve()}|" for name in files}
    return frozenset(found)


def _reads_a_file(table: exp.Table, session: Session) -> bool:
    """Whether DuckDB takes the name of a table for that of a file, as in `FROM 'visits.csv'`."""
    alone = not (table.db or table.catalog) and table.name.lower().endswith(tuple(FILES))
    return alone and session.exists(table.name) is None


def kept_place(place: str, home: Path | None) -> str:
    """A place as a book keeps it: relative to its own folder, so that both may move."""
    file, _, table = place.partition("|")
    return f"{remembered(Path(file), home) if file else ''}|{table}"


def _found(place: str, folder: Path | None) -> str:
    file, _, table = place.partition("|")
    if file and folder is not None:
        file = os.path.normpath(folder / file)
    return f"{file}|{table}"
