"""Where a run works: the session on the owner's database, the book, and the files it may write."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sqlglot import exp

from dbdeid.engine.catalog import Book, BookedFile, Entry
from dbdeid.engine.failure import EngineError
from dbdeid.engine.scratch import abandoned
from dbdeid.engine.session import Session, Settings
from dbdeid.errors import DataError, Mistake, SpecError
from dbdeid.privacy import population_of
from dbdeid.release.bind import FILES, Bound, located, relative
from dbdeid.release.journal import Stage, digest, place_new, recover, remembered
from dbdeid.release.method_spec import Policy
from dbdeid.release.spec import ReleaseSpec, beside, published
from dbdeid.release.specfile import SpecFile

# The private tables of a frontier of policies, by what follows the release's name.
FRONTIER, EVALUATIONS = "frontier", "evaluations"


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
    target = _followed(target)
    return target.with_name(f"{target.stem}.private.duckdb")


def places(file: SpecFile, database: Path | None = None) -> Places:
    """Resolve the files of a spec and refuse to write over one of its inputs.

    Raises:
        SpecError: a target or export is an input, or listed twice.
    """
    spec = file.spec
    found = Places(
        database or (relative(file, spec.database, "database") if spec.database else None),
        _followed(relative(file, spec.target, "target")) if spec.target else None,
        tuple(_followed(relative(file, path, "output", "export")) for path in spec.output.export),
    )
    _check(file, found)
    return found


def _followed(path: Path) -> Path:
    """Where a symbolic link leads: a rename would replace the link itself."""
    return path.resolve() if path.is_symlink() else path


def require_lasting(file: SpecFile, label: str, database: Path | None, *, hint: str) -> None:
    """Refuse a run that writes nothing, and that nobody can ask when it has ended.

    Raises:
        SpecError, DataError: nothing would remain of it, or its places are wrong.
    """
    found = places(file, database)
    if not (found.database or found.target or found.exports):
        raise DataError(f"{label}: nothing would remain of this release", hint=hint)


def _identity(path: Path) -> tuple[int, int] | Path:
    """What tells files apart, however they are spelled or linked."""
    try:
        found = path.stat()
    except OSError:
        return path.resolve()
    return found.st_dev, found.st_ino


def _check(file: SpecFile, found: Places) -> None:
    inputs = {_identity(path) for path in _inputs(file, found)}
    written = [("target", p) for p in (found.target, found.private) if p]
    written += [("output.export", p) for e in found.exports for p in companions(e, file.spec)]
    mistakes, seen = [], set()
    for place, path in written:
        if _identity(path) in inputs:
            message = f"{path.name} is an input of this spec and would be overwritten"
            mistakes.append(Mistake(message, place, hint="choose another file name"))
        elif _identity(path) in seen:
            message = f"{path.name} would be written twice"
            mistakes.append(Mistake(message, place, hint="choose another file name"))
        elif not path.parent.is_dir() and not (place == "target" and place in file.shared):
            message = f"the folder {path.parent} does not exist"
            mistakes.append(Mistake(message, place, hint="create it first"))
        seen.add(_identity(path))
    if mistakes:  # each once, however many files lie in a folder
        raise SpecError(list(dict.fromkeys(mistakes)), source=file.label)


def _inputs(file: SpecFile, found: Places) -> Iterator[Path]:
    spec = file.spec
    if file.path is not None:
        yield file.path
    if found.database is not None:
        yield found.database
    if isinstance(spec.source, str) and spec.source.lower().endswith(tuple(FILES)):
        yield located(file, spec.source, "source")
    for name, column in spec.columns.items():
        if column.hierarchy is not None and column.hierarchy.path is not None:
            yield located(file, column.hierarchy.path, "columns", name, "hierarchy")
    for number, model in enumerate(spec.privacy):
        population = population_of(model)
        if population is not None and population.lower().endswith(tuple(FILES)):
            yield located(file, population, "privacy", number, "population")


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
    """

    session: Session
    book: Book | None
    places: Places
    home: Path | None = None
    runs: int = 0
    connection: Any = None

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
        # before the first run on a file there is nothing to open
        there = found.database if writing or _exists(found.database) else None
        session = Session.open(there, read_only=read_only and there is not None, settings=settings)
    else:
        session = Session.over(connection, found.database, read_only=read_only)
    with session, _folder_of_target(file, found, writing=writing):
        if writing and not session.can_write(session.catalog if found.target is None else None):
            raise DataError("the connection is read-only", hint="open it for writing")
        home = found.private or found.database or session.file_of(session.catalog)
        book = _recovered(session, found, home, writing=writing)
        runs = len(book.entries()) if book else 0
        yield Workplace(session, book, found, home, runs, connection)


@contextmanager
def _folder_of_target(file: SpecFile, found: Places, *, writing: bool) -> Iterator[None]:
    """The folder where a project has its targets is made for the first, and goes if that fails.

    git keeps no empty folder, and so none before the first run.
    """
    folder = found.target.parent if found.target and "target" in file.shared else None
    if not writing or folder is None or folder.is_dir():
        yield
        return
    try:
        folder.mkdir(parents=True)
    except OSError as error:
        raise DataError(
            f"{folder} cannot be made ({error.strerror})", hint="check `target` in dbdeid.yml"
        ) from None
    try:
        yield
    except BaseException:
        with suppress(OSError):
            folder.rmdir()
        raise


def _recovered(session: Session, found: Places, home: Path | None, *, writing: bool) -> Book | None:
    """The book, after what a killed run left is put into place or removed.

    Locks of abandoned folders come first: no run can book files in them after that.
    """
    written = [p for p in (home, found.target, *found.exports) if p]
    left = [s for folder in {p.resolve().parent for p in written} for s in abandoned(folder, home)]
    try:
        book = _book(session, found, writing=writing)
        if book is not None and home is not None:
            recover(book, home)
    except BaseException:
        for scratch in left:
            scratch.leave()
        raise
    for scratch in left:
        scratch.remove()
    return book


def _require_database(file: SpecFile, found: Places) -> None:
    # Only a run on a file may start a new database; a misspelt name must not leave an empty one.
    source, path = file.spec.source, found.database
    on_file = isinstance(source, str) and source.lower().endswith(tuple(FILES))
    if path is not None and not _exists(path) and not on_file:
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
    if work.book is not None and len(work.entries) != work.runs:
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
    if digest(path) not in {file.sha256 for file in known}:
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
    kept = last.record.get("companions", ["dictionary"])
    return last.release, *(f"{last.release}_{what}" for what in kept)


def check_source(work: Workplace, bound: Bound) -> None:
    """Refuse to replace the table that a release is made of.

    Raises:
        SpecError: the source reads a table of the release's name, or of its dictionary's.
    """
    if work.places.target is not None:
        return
    release = bound.spec.release
    names = (*objects_of(release, bound.spec), dictionary_name(release), *frontier_of(bound.spec))
    replaced = {name.lower() for name in names}
    named = {cte.alias.lower() for cte in bound.source.find_all(exp.CTE)}
    for table in bound.source.find_all(exp.Table):
        if table.name.lower() in replaced - named:
            message = f"the source reads {table.name!r}, which it would replace"
            mistake = bound.file.mistake(message, "release", hint="choose another release name")
            raise SpecError([mistake], source=bound.file.label)


def dictionary_name(release: str) -> str:
    """The name of the public companion that explains released values."""
    return f"{release}_dictionary"


def frontier_of(spec: ReleaseSpec) -> tuple[str, ...]:
    """The names of the private tables that keep a frontier of policies; other methods have none."""
    if not isinstance(spec.method, Policy):
        return ()
    return tuple(f"{spec.release}_{what}" for what in (FRONTIER, EVALUATIONS))


def catalog_name(release: str) -> str:
    """The name of the public companion that counts counterfeit records."""
    return f"{release}_catalog"


def objects_of(release: str, spec: ReleaseSpec) -> tuple[str, ...]:
    """The names of a release and of all that is public beside it: tables, then views."""
    if spec.output.kind == "view":
        return (release,)
    return release, *(f"{release}_{what}" for what in beside(spec))


def companions(export: Path, spec: ReleaseSpec) -> tuple[Path, ...]:
    """The files of one export: a .duckdb holds all its tables, others have one file for each."""
    if export.suffix == ".duckdb":
        return (export,)
    names = (f"{export.stem}_{what}{export.suffix}" for what in published(spec))
    return export, *(export.with_name(name) for name in names)
