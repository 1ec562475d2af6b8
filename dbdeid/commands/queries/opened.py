"""A release opened for questions: of a spec, made elsewhere, or in an exported file alone."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from dbdeid.bind.read import Source, read
from dbdeid.bind.source import open_source, table_in_database
from dbdeid.commands.queries.busy import file_instead
from dbdeid.commands.queries.watched import Watched
from dbdeid.commands.verify_evaluate_export import Existing, existing
from dbdeid.engine import file_names
from dbdeid.engine.expressions import Expr
from dbdeid.engine.failure import LockedError
from dbdeid.engine.session import Session, Settings
from dbdeid.errors import DataError, DbdeidError
from dbdeid.external import foreign_release
from dbdeid.external.foreign_release import Foreign
from dbdeid.external.metrics import count
from dbdeid.publish import queryable_file
from dbdeid.publish.queryable import answerable
from dbdeid.publish.queryable_file import OpenFile
from dbdeid.query.parse.answerable import Answerable
from dbdeid.query.rewrite.rewrite import SuppressedRecords
from dbdeid.record.border import record_of
from dbdeid.record.release_record import ReleaseRecord
from dbdeid.release.reuse_levels import require_same
from dbdeid.spec import project_file
from dbdeid.spec.file import SpecFile, as_path
from dbdeid.spec.files import located
from dbdeid.spec.method.external import external
from dbdeid.spec.method_spec import capabilities_of
from dbdeid.spec.names import is_external
from dbdeid.workspace.release_files import PRIVATE, TRIAL, inputs, places
from dbdeid.workspace.standing import Unpublishable, unpublishable

DATABASES = (".duckdb", ".db")


@dataclass(frozen=True, slots=True)
class Asked:
    """A release as one question means it.

    Attributes:
        target: what can be asked.
        notes: what a reader of answers should know.
        views: statements that made its files readable.
        records: of the source; None where that is not known.
        released: how many of them there are in the release.
    """

    target: Answerable
    notes: tuple[str, ...]
    views: tuple[Expr, ...] = ()
    records: int | None = None
    released: int = 0

    @property
    def suppressed(self) -> int | None:
        """How many records the release lacks; None where that is not known."""
        return None if self.records is None else self.records - self.released

    def missing(self, *, spread: bool) -> SuppressedRecords | None:
        """The suppressed records, where they are to be spread."""
        if not spread:
            return None
        if self.records is None or self.suppressed is None:
            raise DataError(
                "how many records were suppressed is known only where the original is: not from an "
                "exported file, nor from a release made elsewhere whose `source` is missing",
                hint="ask the spec of the release, or leave --spread-suppressed out",
            )
        return SuppressedRecords(self.suppressed, self.records)

    def of_suppressed(self, *, spread: bool, how: str) -> Iterator[str]:
        """What suppression means for the answer; `how`: what counts suppressed records too."""
        if self.records is None or not self.suppressed:
            return
        one = self.suppressed == 1
        were, they, them = ("was", "It is", "it") if one else ("were", "They are", "them")
        share = f"{self.suppressed:,} of {self.records:,} records {were} suppressed"
        if spread:
            yield f"{share}; counts and sums are spread over {them} like over those released"
        else:
            yield (
                f"{share}. {they} not counted here, and bounds cover only the other "
                f"{self.records - self.suppressed:,}; {how} counts {them} too"
            )


@dataclass(frozen=True, slots=True)
class Opened:
    """A release that is open.

    Attributes:
        session: where it is.
        releases: its name; several where a file holds several.
        source_names: how FROM may name the source.
        asked: the release as a question means it.
        target: what can be asked of one of `releases`.
        watched: the files that were read.
        same: whether what no file tells of is as it was.
        unpublishable: why it may not be published; None where it may be.
    """

    session: Session
    releases: tuple[str, ...]
    source_names: tuple[str, ...]
    asked: Callable[[str], Asked]
    target: Callable[[str], Answerable]
    watched: Watched
    same: Callable[[], bool] = lambda: True
    unpublishable: Unpublishable | None = None

    @property
    def changed(self) -> bool:
        """Whether it may be another one by now."""
        return self.watched.changed or not self.same()


@contextmanager
def opened(
    source: Source,
    connection: Any,
    database: Path | None,
    settings: Settings | None,
    *,
    trial: bool,
    for_others: bool = False,
) -> Iterator[Opened]:
    """Open a release for questions.

    Args:
        source: a spec, or an exported file.
        connection: an open DuckDB connection to work on.
        database: in place of the spec's.
        settings: limits of an opened connection.
        trial: whether the trial of a spec is meant, not what it published.
        for_others: whether those who ask may see the release alone: no table that lies beside it
            can be joined, and what may not be published, or holds more, is refused.

    Raises:
        DataError: there is no such release, or it may not be published and is for others.
    """
    with _opened(source, connection, database, settings, trial=trial) as release:
        if not for_others:
            yield release
            return
        if release.unpublishable is not None:
            raise DataError(release.unpublishable.message, hint=release.unpublishable.hint)
        path = _exported(source)
        if path is not None and _owned(path, release.session):
            raise DataError(
                f"{path} holds more than a published release",
                hint="name the spec of the release, which tells whether it may be published",
            )
        yield _alone(release)


def _owned(path: Path, session: Session) -> bool:
    """Whether a file is an owner's own database, without a spec that says what may be released."""
    return path.suffix.lower() in DATABASES and not session.is_release()


def _alone(release: Opened) -> Opened:
    """The release without what lies beside it."""

    def asked(text: str) -> Asked:
        found = release.asked(text)
        return replace(found, target=replace(found.target, tables=()))

    def target(name: str) -> Answerable:
        return replace(release.target(name), tables=())

    return replace(release, asked=asked, target=target)


@contextmanager
def _opened(
    source: Source,
    connection: Any,
    database: Path | None,
    settings: Settings | None,
    *,
    trial: bool,
) -> Iterator[Opened]:
    path = _exported(source)
    if path is not None:
        if trial:
            raise DataError(f"{path}: --trial goes with a spec", hint="leave it out for a file")
        if database is not None:
            raise DataError(
                f"{path}: --database goes with a spec", hint="leave it out for an exported file"
            )
        watched = Watched.of(queryable_file.files_of(path))
        with queryable_file.opened(path, connection, settings) as file:
            yield _of_file(file, watched)
        return
    watched = Watched.of(_specs(source))
    file_of_spec = read(source, connection, database, trial=trial)
    watched = watched.with_(_read_of(file_of_spec, database))
    if is_external(file_of_spec):
        with foreign_release.opened(
            file_of_spec, connection, database=database, settings=settings
        ) as foreign:
            yield _of_foreign(foreign, watched)
        return
    with ExitStack() as undo:
        asked_of = existing(file_of_spec, connection, database=database, settings=settings)
        try:
            release = undo.enter_context(asked_of)
        except LockedError as error:
            locked = error
        else:
            yield _of_spec(release, watched)
            return
        instead = file_instead(file_of_spec, database, settings, undo)
        if instead is None:
            raise locked
        file, notes = instead
        yield _of_file(file, watched, notes, lasting=False)


def databases_of(folder: Path) -> list[Path]:
    """The databases of a folder that may be exported releases: none that a release keeps private.

    Raises:
        DataError: there is none.
    """
    own = (PRIVATE, TRIAL)
    found = [p for p in sorted(folder.iterdir()) if p.suffix.lower() in DATABASES]
    found = [p for p in found if not p.name.endswith(own)]
    if not found:
        raise DataError(
            f"{folder} holds no exported database",
            hint="name the spec of a release, an exported file, or a folder of exported databases",
        )
    return found


def _exported(source: Source) -> Path | None:
    """The exported file to query; None where the source is a spec."""
    if isinstance(source, Mapping) or (isinstance(source, str) and "\n" in source):
        return None
    path = Path(source)
    return path if file_names.holds_table(path) else None


# -- what is watched -----------------------------------------------------------------------------


def _specs(source: Source) -> Iterator[Path]:
    """The spec, and every place where the file of its project may be."""
    path = as_path(source) if isinstance(source, str | Path) else None
    if path is not None:
        yield path
        yield from (folder / project_file.NAME for folder in path.absolute().parents)


def _read_of(file: SpecFile, database: Path | None) -> Iterator[Path]:
    """The files that are read to query a release by its spec, whether they exist or not."""
    found = places(file, database)
    yield from inputs(file, found)
    for place in (found, found.published):
        if place is not None:
            yield from (p for p in (place.target, place.private) if p is not None)
    if is_external(file):
        method = external(file.spec.method)
        for key, name in (("table", method.table), ("dictionary", method.dictionary)):
            if name is not None and file_names.of_one_table(name):
                yield located(file, name, "method", key)


def _same_source(file: SpecFile, session: Session) -> Callable[[], bool]:
    """Whether the source has the columns that it has now: a view or a query may take them from
    anywhere, what is stored in a file that is watched may not."""
    name, kind = file.spec.source, file.source_kind
    if kind in ("file", "attached", "rows"):  # it was read when it was opened
        return lambda: True
    if isinstance(name, str):
        table = table_in_database(session, name)
        if table is None or session.exists(table.name, table.schema or "main") == "table":
            return lambda: True

    def described() -> object:
        try:
            return session.describe(open_source(file, session, again=True).query)
        except DbdeidError:
            return None

    seen = described()
    return lambda: described() == seen


# -- kinds of releases ---------------------------------------------------------------------------


def _of_file(
    file: OpenFile, watched: Watched, notes: tuple[str, ...] = (), *, lasting: bool = True
) -> Opened:
    """An exported file, opened; the name in FROM says which of its releases a query means.

    Args:
        file: the file.
        watched: the files that were read.
        notes: what is to be said beside the notes of the file.
        lasting: whether it is asked until it changes; not so where it stands for a database.
    """

    def asked(text: str) -> Asked:
        found = file.asked(text)
        return Asked(found.target, (*notes, *found.notes), found.views)

    names = file.releases
    return Opened(file.session, names, names, asked, file.target, watched, lambda: lasting)


def _of_spec(found: Existing, watched: Watched) -> Opened:
    """The release of a spec, as its last run left it."""
    if found.entry.kind == "view":
        raise DataError(
            "a preview view has no dictionary to answer from", hint="release it as a table"
        )
    require_same(found.file, found.entry, besides=("privacy",))
    session, bound, record = found.work.session, found.bound(), record_of(found.entry)
    why = unpublishable(found.book, found.entry)
    target = answerable(bound, session, found.public, found.declared(bound), staged=False)
    asked = Asked(
        target,
        (*([why.message] if why else ()), *_untold(record, target)),
        records=record.source_rows,
        released=record.released_rows - (record.counterfeit_rows or 0),
    )
    # private files are read: held open, they would keep others from running the spec
    books = {book.catalog for book in (found.book, found.work.published) if book is not None}
    for name in books - {session.catalog, found.public.released.catalog}:
        session.detach(name)
    return Opened(
        session,
        (found.entry.release,),
        target.source_names,
        lambda _: asked,
        lambda _: target,
        watched,
        _same_source(found.file, session),
        why,
    )


def _of_foreign(found: Foreign, watched: Watched) -> Opened:
    """A release made elsewhere; only its original shows how many records were suppressed."""
    notes = ["made elsewhere: bounds are as good as its dictionary; `dbdeid verify` looks at both"]
    if not found.truthful:
        notes = ["no bounds: the records are declared untruthful"]
    records = None if found.original is None else count(found.session, found.original)
    released = count(found.session, found.table)
    if records is not None and records < released:
        records = None
    target = found.answerable()
    asked = Asked(target, tuple(notes), records=records, released=released)
    stored = found.file.spec.source
    return Opened(
        found.session,
        (found.file.spec.release,),
        target.source_names,
        lambda _: asked,
        lambda _: target,
        watched,
        lambda: isinstance(stored, str),  # rows of a query are counted, and may come from anywhere
    )


def _untold(record: ReleaseRecord, target: Answerable) -> Iterator[str]:
    """Why a release has no bounds to give, and what its numbers are of."""
    if record.synthetic is not None:
        yield "no bounds: the records are synthetic"
    elif record.masked is not None:
        yield "no bounds: quasi-identifiers are the means of groups"
    elif capabilities_of(record.method).moves:
        yield f"no bounds: {record.relocated_rows:,} records have quasi-identifiers of others"
    elif not target.truthful:
        yield (
            f"no bounds: {record.counterfeit_rows:,} of {record.released_rows:,} records "
            "are counterfeit, which ones is not told, and all are counted"
        )
