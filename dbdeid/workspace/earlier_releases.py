"""What was released before: in our book, the owner's database, and books beside ours."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from dbdeid.bind.bound import Bound
from dbdeid.bind.source import databases, owners_query, table_in_database
from dbdeid.data.location.file_formats import names_file
from dbdeid.engine.catalog import Book, Entry
from dbdeid.engine.expressions import Expr, select, table_named
from dbdeid.engine.reading import Named, NotSql, common_names, table_parts, tables_in, view_query
from dbdeid.engine.session import Session
from dbdeid.engine.sqltext import statements
from dbdeid.errors import DataError, SpecError
from dbdeid.record.border import record_of
from dbdeid.record.comparison import Rerelease
from dbdeid.record.release_record import ReleaseRecord
from dbdeid.spec.file import read_text
from dbdeid.spec.release_spec import SourceQuery
from dbdeid.workspace.atomic_files import remembered
from dbdeid.workspace.release_files import PRIVATE, source_files
from dbdeid.workspace.workplace import Workplace


@dataclass(frozen=True, slots=True)
class Earlier:
    """A run of a book, which may be another one than ours.

    Attributes:
        entry: the run.
        record: all that is known of it.
        book: where it is remembered.
        folder: that the paths of the book start from; None for one in memory.
        elsewhere: whether its source is another place than ours, whatever lies there.
    """

    entry: Entry
    record: ReleaseRecord
    book: Book
    folder: Path | None
    elsewhere: bool

    @property
    def kept(self) -> Rerelease | None:
        """What the run kept to be compared with; None of earlier versions."""
        return self.record.rerelease


def each_earlier(
    work: Workplace, bound: Bound, places: frozenset[str], unread: list[str]
) -> Iterator[Earlier]:
    """The runs of the same source, and those of others that can be known by their records.

    They come of one book after the other.

    Other books are let go of when the next is asked for, so that their own runs can go on.

    Args:
        work: where the release is made.
        bound: its spec.
        places: what its source reads.
        unread: gets the names of books that could not be read.

    Raises:
        DataError: a record of our own book is damaged.
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
    mine = {work.home.resolve()}
    published = work.places.published.private if work.places.published else None
    if published is not None and work.published is not None:
        mine.add(published.resolve())
        yield from _of(work.published, published.resolve().parent, bound, places)
    folders = dict.fromkeys([work.home.resolve().parent, *work.places.shelves])
    for path in (p for folder in folders for p in sorted(folder.glob(f"*{PRIVATE}"))):
        if path.resolve() in mine:
            continue
        try:
            name = session.attach(path, read_only=True, private=True)
        except DataError:
            unread.append(path.name)
            continue
        try:
            yield from _of(Book(session, name), path.parent, bound, places)
        except DataError:  # of a record of that book
            unread.append(path.name)
        session.detach(name)


def _of(book: Book, folder: Path | None, bound: Bound, places: frozenset[str]) -> Iterator[Earlier]:
    for entry, state in book.states():  # nobody else has a trial, a preview or a withdrawn run
        if state != "published":
            continue
        record = record_of(entry)
        kept = record.rerelease
        elsewhere = not _same_source(entry, kept, folder, bound, places)
        if not elsewhere or (kept is not None and kept.by):
            yield Earlier(entry, record, book, folder, elsewhere)


def _same_source(
    entry: Entry, kept: Rerelease | None, folder: Path | None, bound: Bound, places: frozenset[str]
) -> bool:
    if kept is not None:
        return any(_found(place, folder) in places for place in kept.places)
    try:  # a run of an earlier version: its spec names the source as ours does
        then = read_text(entry.spec).spec
    except SpecError:
        return entry.release.lower() == bound.spec.release.lower()
    return then.source_name.lower() == bound.spec.source_name.lower()


def places_of(bound: Bound, work: Workplace) -> frozenset[str]:
    """The tables and files that the source reads: `file|schema.table`, or the path of a file.

    Of a view what it reads, too.
    """
    file, source, session = bound.file, bound.spec.source, work.session
    if file.source_kind == "rows":
        return frozenset({f"|{bound.spec.source_name}"})
    if isinstance(source, SourceQuery):
        tree = owners_query(file, source)
    elif file.source_kind == "file":
        paths = source_files(file, source)
        return frozenset(f"{path.resolve()}|" for path in paths) or frozenset({f"|{source}"})
    else:
        table = table_in_database(session, source)
        parts = table_parts(source)
        tree = select("*").from_(table.table if table else table_named(*reversed(parts)))
    places = {d.alias.lower(): d.place for d in databases(file)}
    found: set[str] = set()
    _read_by(tree, session, "", found, places)
    return frozenset(found)


def _read_by(
    tree: Expr, session: Session, catalog: str, found: set[str], attached: Mapping[str, str]
) -> None:
    """Add what a query of a catalog reads to what was found.

    Args:
        tree: the query.
        session: that knows what is attached.
        catalog: where names without one are looked up; the owner's database by default.
        found: what is added to.
        attached: places of the databases that the spec attaches.
    """
    named = common_names(tree)
    for table in tables_in(tree):
        if table.given is not None:
            files: Sequence[str] = table.given
        elif _reads_a_file(table, session):
            files = [table.name]
        elif table.schema or table.name.lower() not in named:
            if not table.catalog and table.schema.lower() in attached:  # `clinic.visits`
                table = replace(table, catalog=table.schema, schema="")
            place = table.catalog or catalog or session.catalog
            home = attached.get(place.lower()) or _home(session, place)
            at = f"{home}{(table.schema or 'main').lower()}"
            if (name := f"{at}.{table.name.lower()}") not in found:
                found.add(name)
                query = _of_view(session, table.name, table.schema or "main", place)
                if query is not None:
                    _read_by(query, session, place, found, attached)
            continue
        else:
            continue
        found |= {f"{Path(name).resolve()}|" for name in files}


def _home(session: Session, catalog: str) -> str:
    """The file of a database; of one that has none, or is of another program, its name at most:
    what such a one was attached by may hold a password."""
    if session.is_foreign(catalog):
        return f"|{catalog}."
    file = session.file_of(catalog)
    return f"{file.resolve() if file else ''}|"


def _of_view(session: Session, name: str, schema: str, catalog: str) -> Expr | None:
    """The query of a view; None of a table, and of one whose text cannot be read."""
    text = session.definition(name, schema, catalog)
    try:
        trees = statements(text) if text else []
    except NotSql:
        return None
    return view_query(trees[0]) if trees else None


def _reads_a_file(table: Named, session: Session) -> bool:
    """Whether DuckDB takes the name of a table for that of a file, as in `FROM 'visits.csv'`."""
    alone = not (table.schema or table.catalog) and names_file(table.name)
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
