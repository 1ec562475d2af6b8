"""Answer from a file of the release while another process has its database open."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

from dbdeid.engine.catalog import Book
from dbdeid.engine.engines import ENGINE
from dbdeid.engine.failure import LockedError
from dbdeid.engine.session import Settings
from dbdeid.publish import queryable_file
from dbdeid.publish.queryable_file import OpenFile
from dbdeid.release.reuse_levels import require_same
from dbdeid.spec.file import SpecFile
from dbdeid.workspace.release_files import Places, places
from dbdeid.workspace.standing import unpublishable


def file_instead(
    file: SpecFile, database: Path | None, settings: Settings | None, undo: ExitStack
) -> tuple[OpenFile, tuple[str, ...]] | None:
    """Open a file of the release in place of its locked database, with notes for the reader.

    Args:
        file: the spec.
        database: in place of the spec's `database`.
        settings: limits of an opened connection.
        undo: closes the file.

    Returns:
        None where there is no such file, or all of them are locked, too. A trial has none.

    Raises:
        DataError: the spec is not the one that made the release, or the file cannot be read.
    """
    if file.trial:
        return None
    found = places(file, database)
    for path in filter(None, (found.target, *found.exports)):
        if not path.exists():
            continue
        notes = tuple(_notes(file, found, path, settings))
        try:
            return undo.enter_context(queryable_file.opened(path, None, settings)), notes
        except LockedError:
            continue
    return None


def _notes(file: SpecFile, found: Places, path: Path, settings: Settings | None) -> Iterator[str]:
    """That the file answers, and what the private file beside a target says of the release."""
    yield (
        f"another process has the database open: {path.name} answers, without tables to join and "
        "without what only the database tells; ask again later to ask the database"
    )
    unknown = (
        f"whether {path.name} is of the last run, of this spec, and still published is not known "
        "until then"
    )
    if found.private is None or not found.private.exists():
        yield unknown
        return
    with ENGINE.open(None, read_only=False, settings=settings) as session:
        try:
            book = Book(session, session.attach(found.private, read_only=True, private=True))
        except LockedError:
            yield unknown
            return
        entry = book.latest(file.spec.release)
        if entry is None:
            yield unknown
            return
        require_same(file, entry, besides=("privacy",))
        why = unpublishable(book, entry)
        if why is not None:
            yield why.message
