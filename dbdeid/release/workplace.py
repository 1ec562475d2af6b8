"""Where a run works: the session on the owner's database, the book, and the files it may write."""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dbdeid.engine.catalog import Book, Entry
from dbdeid.engine.session import Session, Settings
from dbdeid.errors import DataError, Mistake, SpecError
from dbdeid.release.bind import FILES, relative
from dbdeid.release.spec import ReleaseSpec
from dbdeid.release.specfile import SpecFile


@dataclass(frozen=True, slots=True)
class Places:
    """The files of a spec, resolved.

    Attributes:
        database: the owner's database; None for in-memory or the caller's own.
        target: the file of the release; None: the release is written into the database.
        exports: files to export.
    """

    database: Path | None
    target: Path | None
    exports: tuple[Path, ...]

    @property
    def private(self) -> Path | None:
        """The private file beside the target."""
        return private_of(self.target) if self.target else None


def private_of(target: Path) -> Path:
    """The private book-keeping file beside a target file.

    >>> private_of(Path("adult_public.duckdb")).name
    'adult_public.private.duckdb'
    """
    return target.with_name(f"{target.stem}.private.duckdb")


def places(file: SpecFile, database: Path | None = None) -> Places:
    """Resolve the files of a spec and refuse to write over one of its inputs.

    Raises:
        SpecError: a target or export is an input, or listed twice.
    """
    spec = file.spec
    found = Places(
        database or (relative(file, spec.database, "database") if spec.database else None),
        relative(file, spec.target, "target") if spec.target else None,
        tuple(relative(file, path, "output", "export") for path in spec.output.export),
    )
    _check(file, found)
    return found


def _check(file: SpecFile, found: Places) -> None:
    inputs = {path.resolve() for path in _inputs(file, found)}
    written = [("target", p) for p in (found.target, found.private) if p]
    written += [("output.export", p) for export in found.exports for p in companions(export)]
    mistakes, seen = [], set()
    for place, path in written:
        if path.resolve() in inputs:
            message = f"{path.name} is an input of this spec and would be overwritten"
            mistakes.append(Mistake(message, place, hint="choose another file name"))
        elif path.resolve() in seen:
            message = f"{path.name} would be written twice"
            mistakes.append(Mistake(message, place, hint="choose another file name"))
        elif not path.parent.is_dir():
            message = f"the folder {path.parent} does not exist"
            mistakes.append(Mistake(message, place, hint="create it first"))
        seen.add(path.resolve())
    if mistakes:
        raise SpecError(mistakes, source=file.label)


def _inputs(file: SpecFile, found: Places) -> Iterator[Path]:
    spec = file.spec
    if file.path is not None:
        yield file.path
    if found.database is not None:
        yield found.database
    if isinstance(spec.source, str) and spec.source.lower().endswith(tuple(FILES)):
        yield relative(file, spec.source, "source")
    for name, column in spec.columns.items():
        if column.hierarchy is not None and column.hierarchy.path is not None:
            yield relative(file, column.hierarchy.path, "columns", name, "hierarchy")


@dataclass(frozen=True, slots=True)
class Workplace:
    """An open session with the book of the release and the resolved files.

    `connection` is the caller's own, when one was given.
    """

    session: Session
    book: Book | None
    places: Places
    connection: Any = None

    @property
    def entries(self) -> Sequence[Entry]:
        """The runs that are remembered, newest first."""
        return self.book.entries() if self.book else ()

    def keep_book(self) -> Book:
        """The book, made when it is not there yet."""
        private = self.places.private
        if self.book is not None or private is None:
            return self.book or Book(self.session, self.session.catalog)
        old = os.umask(0o077)  # the book holds values of the source: for its owner only
        try:
            return Book(self.session, self.session.attach(private))
        finally:
            os.umask(old)

    def remembered(self, path: Path) -> str:
        """How the book calls a file: relative to the book's own folder, so both may move."""
        home = self.places.private or self.places.database
        if home is None:
            return str(path.resolve())
        return os.path.relpath(path.resolve(), home.resolve().parent)

    def last(self, spec: ReleaseSpec) -> Entry | None:
        """The last run of this release."""
        return self.book.latest(spec.release) if self.book else None


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
        session = Session.open(found.database, read_only=True, settings=settings)
    else:
        session = Session.over(connection, found.database, read_only=True)
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
        session = Session.open(found.database, read_only=read_only, settings=settings)
    else:
        session = Session.over(connection, found.database, read_only=read_only)
    with session:
        if writing and not session.can_write(session.catalog if found.target is None else None):
            raise DataError("the connection is read-only", hint="open it for writing")
        yield Workplace(session, _book(session, found, writing=writing), found, connection)


def _require_database(file: SpecFile, found: Places) -> None:
    # Only a run on a file may start a new database; a misspelt name must not leave an empty one.
    source, path = file.spec.source, found.database
    on_file = isinstance(source, str) and source.lower().endswith(tuple(FILES))
    if path is not None and not path.exists() and not on_file:
        raise DataError(f"{path}: no such database file", hint="check `database` in the spec")


def _book(session: Session, found: Places, *, writing: bool) -> Book | None:
    if found.private is None:
        return Book(session, session.catalog)
    if not found.private.exists():
        return None
    return Book(session, session.attach(found.private, read_only=not writing))


def beside(path: Path) -> Path:
    """A name for an unfinished file in the same folder, so that a rename finishes it."""
    return path.with_name(f".{path.stem}.{secrets.token_hex(6)}{path.suffix}")


def check_owned(work: Workplace, spec: ReleaseSpec) -> None:
    """Refuse to replace anything that dbdeid did not write itself.

    Raises:
        DataError: a table, view or file of that name exists and is not in the book.
    """
    files = {name for entry in work.entries for name in (entry.object, *entry.exports)}
    targets = (work.places.target,) if work.places.target else ()
    for path in (*targets, *(p for e in work.places.exports for p in companions(e))):
        if path.exists() and work.remembered(path) not in files:
            raise DataError(
                f"{path.name} exists and was not written by dbdeid for this database",
                hint="choose another name, or remove the file first",
            )
    if work.places.target is None:
        _check_objects(work, spec, {e.object.lower() for e in work.entries})


def _check_objects(work: Workplace, spec: ReleaseSpec, owned: set[str]) -> None:
    for name in (spec.release, dictionary_name(spec.release)):
        kind = work.session.exists(name)
        if kind and spec.release.lower() not in owned:
            raise DataError(
                f"the {kind} {name!r} exists and was not written by dbdeid",
                hint="choose another release name, or drop it first",
            )


def dictionary_name(release: str) -> str:
    """The name of the public companion that explains released values."""
    return f"{release}_dictionary"


def companions(export: Path) -> tuple[Path, ...]:
    """The files of one export: a .duckdb holds its dictionary, others have it beside them."""
    if export.suffix == ".duckdb":
        return (export,)
    return export, export.with_name(f"{export.stem}_dictionary{export.suffix}")
