"""Where a run works: the session on the owner's database, the book, and the files it may write."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dbdeid.bind.bound import Bound
from dbdeid.engine import regular
from dbdeid.engine.catalog import Book, BookedFile, Entry
from dbdeid.engine.engines import ENGINE
from dbdeid.engine.failure import EngineError
from dbdeid.engine.reading import common_names, tables_in
from dbdeid.engine.session import Session, Settings
from dbdeid.errors import DataError, SpecError
from dbdeid.record.border import record_of
from dbdeid.spec.file import SpecFile
from dbdeid.spec.names import dictionary_name, frontier_of, objects_of
from dbdeid.spec.release_spec import ReleaseSpec
from dbdeid.workspace.atomic_files import Stage, alone, place_new, recover, remembered
from dbdeid.workspace.release_files import Places, companions, of_trial, places


@dataclass(frozen=True, slots=True)
class Workplace:
    """An open session with the book of the release and the resolved files.

    Attributes:
        session: on the owner's database.
        book: of the release; None while there is none beside the target.
        places: the files of the spec.
        home: the file of the book, there or not yet; None for one in memory.
        runs: how many runs the book remembered when it was opened.
        connection: the caller's own, when one was given.
        published: the book of what the spec publishes: of a trial another one, which is only read;
            None while there is none.
    """

    session: Session
    book: Book | None
    places: Places
    home: Path | None = None
    runs: int = 0
    connection: Any = None
    published: Book | None = None

    @property
    def passing(self) -> bool:
        """Whether the database is in memory and our own, so that it ends with the session."""
        return self.home is None and self.connection is None

    @property
    def entries(self) -> Sequence[Entry]:
        """The runs that are remembered, newest first."""
        return self.book.entries() if self.book else ()

    def keep_book(self, stage: Stage) -> Book:
        """The book, made aside when it is not there yet; `place_book` then gives it its place."""
        if self.book is not None:
            return self.book
        assert self.home is not None  # a book that is missing belongs beside a target
        unfinished = stage.unfinished(self.home)
        return Book(self.session, self.session.attach(unfinished, private=True))

    def place_book(self, book: Book, stage: Stage) -> None:
        """Give a new book its place, which books its run.

        Raises:
            DataError: another run has made one meanwhile.
        """
        if self.book is not None or self.home is None:
            return
        try:
            self.session.detach(book.catalog)
            place_new(stage.unfinished(self.home), self.home)
        except EngineError as error:
            stage.booked = False
            raise DataError(
                f"{self.home.name} cannot be written ({error.message})",
                hint="see whether there is room left for it",
            ) from None
        except DataError:
            stage.booked = False
            raise

    def last(self, spec: ReleaseSpec) -> Entry | None:
        """The last run of this release."""
        return self.book.latest(spec.release) if self.book else None

    def last_published(self, spec: ReleaseSpec) -> Entry | None:
        """The last run of this release that others may have: no trial, and not withdrawn."""
        return self.published.last_published(spec.release) if self.published else None


def never_run(file: SpecFile, work: Workplace) -> DataError:
    """That nothing is remembered of a release, or of its trial: to be raised."""
    name = file.spec.release
    if file.trial:
        hint = "make one: `dbdeid run` with --trial"
        return DataError(f"no trial of release {name!r} is here", hint=hint)
    tried = of_trial(work.places, file).target
    if tried is not None and tried.exists():
        return DataError(
            f"release {name!r} was never published here, there is only a trial of it",
            hint="look at the trial with --trial; to publish, `dbdeid run` without --trial",
        )
    return DataError(f"release {name!r} was never run here", hint="run the spec first")


@contextmanager
def reading(
    file: SpecFile,
    connection: Any = None,
    *,
    database: Path | None = None,
    settings: Settings | None = None,
) -> Iterator[Session]:
    """A session that only reads the owner's database."""
    found = places(file, database)
    if connection is None:
        session = ENGINE.open(found.database, read_only=True, settings=settings)
    else:
        session = ENGINE.over(connection, found.database, read_only=True)
    with session:
        yield session


@contextmanager
def workplace(
    file: SpecFile,
    connection: Any = None,
    *,
    database: Path | None = None,
    settings: Settings | None = None,
    writing: bool,
) -> Iterator[Workplace]:
    """Open what a run needs, and close it again.

    With a target the owner's database is only read, and the book is a private file beside the
    target; without one, both are in the owner's database.

    Args:
        file: the spec.
        connection: an open DuckDB connection to work on; None opens the database.
        database: in place of the spec's `database`.
        settings: limits of an opened connection.
        writing: whether anything will be written.
    """
    found = places(file, database)
    read_only = not writing or found.target is not None
    _require_database(file, found)
    if connection is None:
        # before the first run on a file there is nothing to open
        there = found.database if writing or _exists(found.database) else None
        session = ENGINE.open(there, read_only=read_only and there is not None, settings=settings)
    else:
        session = ENGINE.over(connection, found.database, read_only=read_only)
    with session, _folders_of_project(file, found, writing=writing):
        if writing and not session.can_write(session.catalog if found.target is None else None):
            raise DataError("the connection is read-only", hint="open it for writing")
        home = found.private or found.database or session.file_of(session.catalog)
        book = _recovered(session, found, home, writing=writing)
        runs = book.count() if book else 0
        published = _book(session, found.published, writing=False) if found.published else book
        yield Workplace(session, book, found, home, runs, connection, published)


@contextmanager
def _folders_of_project(file: SpecFile, found: Places, *, writing: bool) -> Iterator[None]:
    """The folders where a project has its targets and private files are made for the first, and go
    if that fails; that of private files is for its owner only.

    git keeps no empty folder, and so none before the first run.
    """
    wanted = []
    if writing and found.private is not None and found.private.parent == found.shelf:
        wanted.append((found.private.parent, 0o700, "paths: {private: …}"))
    if writing and found.target is not None and "target" in file.shared:
        wanted.append((found.target.parent, 0o777, "target"))
    made: list[Path] = []
    try:
        for folder, mode, key in wanted:
            if not folder.is_dir():
                _make(folder, mode, key)
                made.append(folder)
        yield
    except BaseException:
        for folder in reversed(made):
            with suppress(OSError):
                folder.rmdir()
        raise


def _make(folder: Path, mode: int, key: str) -> None:
    try:
        folder.mkdir(mode=mode, parents=True)
    except OSError as error:
        raise DataError(
            f"{folder} cannot be made ({error.strerror})", hint=f"check `{key}` in dbdeid.yml"
        ) from None


def _recovered(session: Session, found: Places, home: Path | None, *, writing: bool) -> Book | None:
    """The book, after what a killed run left is put into place or removed."""
    written = [p for p in (home, found.target, *found.exports) if p]
    with alone((p.parent for p in written), home):
        book = _book(session, found, writing=writing)
        if book is not None and home is not None:
            recover(book, home)
    return book


def _require_database(file: SpecFile, found: Places) -> None:
    # Only a run on what lies elsewhere may start a new database; a misspelt name must not leave an
    # empty one.
    path = found.database
    elsewhere = file.source_kind in ("file", "attached", "rows")
    if path is not None and not _exists(path) and not elsewhere:
        raise DataError(f"{path}: no such database file", hint="check `database` in the spec")


def _exists(database: Path | None) -> bool:
    return database is not None and database.exists()


def _book(session: Session, found: Places, *, writing: bool) -> Book | None:
    if found.private is None:
        return Book(session, session.catalog)
    if not found.private.exists():
        return None
    name = session.attach(found.private, read_only=not writing, private=True)
    return Book(session, name)


def require_unchanged(work: Workplace, spec: ReleaseSpec) -> None:
    """Refuse to book a run when another was booked since this one began.

    Raises:
        DataError: the book, or what the run would replace, is not as it was.
    """
    if work.book is not None and work.book.count() != work.runs:
        raise _meanwhile()
    check_owned(work, spec)


def _meanwhile() -> DataError:
    return DataError(
        "another run was booked meanwhile", hint="nothing was replaced; run the spec again"
    )


def check_owned(work: Workplace, spec: ReleaseSpec) -> None:
    """Refuse to replace anything that dbdeid did not write for this release, or that has changed.

    Files are known by their content. A table is known by its name: what is done to it in the
    database of its owner is the owner's doing.

    Raises:
        DataError: a table, view or file of that name exists and is not in the book.
    """
    if work.book is None and work.home is not None and work.home.exists():
        raise _meanwhile()
    books = work.book.files() if work.book else ()
    targets = (work.places.target,) if work.places.target else ()
    for path in (*targets, *(p for e in work.places.exports for p in companions(e, spec))):
        if path.exists():
            known = [f for f in books if f.path == remembered(path, work.home)]
            _check_file(path, known, spec.release)
        if path.with_name(f"{path.name}.wal").exists():
            raise DataError(
                f"{path.name} has a write-ahead log beside it: somebody writes into it, or has",
                hint=f"close it there, or remove {path.name}.wal if it is of no use",
            )
    if work.places.target is None:
        _check_objects(work, spec)


def _check_file(path: Path, known: Sequence[BookedFile], release: str) -> None:
    if not known:
        raise DataError(
            f"{path.name} exists and was not written by dbdeid for this database",
            hint="choose another name, or remove the file first",
        )
    if known[0].release.lower() != release.lower():
        raise DataError(
            f"{path.name} holds the release {known[0].release!r}",
            hint="give each release files of its own, or remove this one first",
        )
    if regular.digest(path) not in {file.sha256 for file in known}:
        raise DataError(
            f"{path.name} was changed since dbdeid wrote it",
            hint="move it elsewhere if it is still wanted, or remove it",
        )


def _check_objects(work: Workplace, spec: ReleaseSpec) -> None:
    owned = set(map(str.lower, previous_objects(work, spec.release)))
    for name in {*objects_of(spec.release, spec), dictionary_name(spec.release)}:
        kind = work.session.exists(name)
        if kind and name.lower() not in owned:
            raise DataError(
                f"the {kind} {name!r} exists and was not written by dbdeid for this release",
                hint="choose another release name, or drop it first",
            )


def previous_objects(work: Workplace, release: str) -> tuple[str, ...]:
    """What the last run of a release wrote into its database: the release, then all beside it."""
    last = work.book.latest(release) if work.book else None
    if last is None:
        return ()
    if last.kind != "table":
        return (last.release,)
    return last.release, *(f"{last.release}_{what}" for what in record_of(last).companions)


def check_source(work: Workplace, bound: Bound) -> None:
    """Refuse to replace the table that a release is made of.

    Raises:
        SpecError: the source reads a table of the release's name, or of its dictionary's.
    """
    if (work.places.published or work.places).target is not None:
        return
    release = bound.spec.release
    names = (*objects_of(release, bound.spec), dictionary_name(release), *frontier_of(bound.spec))
    replaced = {name.lower() for name in names}
    named = common_names(bound.source)
    for table in tables_in(bound.source):
        if table.name.lower() in replaced - named:
            message = f"the source reads {table.name!r}, which it would replace"
            mistake = bound.file.mistake(message, "release", hint="choose another release name")
            raise SpecError([mistake], source=bound.file.label)
