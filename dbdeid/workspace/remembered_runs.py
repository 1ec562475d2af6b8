"""What private books remember: every run of a release, what it counts as, and how one is withdrawn.

A book only grows: a withdrawn run keeps its line, and gets a mark with a reason.
"""

from __future__ import annotations

import getpass
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from dbdeid.data.json import JsonObject
from dbdeid.engine.catalog import Book, Entry, State, Withdrawal
from dbdeid.engine.engines import ENGINE
from dbdeid.engine.file_names import names_file
from dbdeid.engine.session import Settings
from dbdeid.errors import DataError, SpecError
from dbdeid.spec.file import read_text
from dbdeid.spec.release_spec import published
from dbdeid.workspace.atomic_files import alone, places_of, recover
from dbdeid.workspace.release_files import PRIVATE, private_of


@dataclass(frozen=True, slots=True)
class Remembered:
    """One run of a release as its book remembers it.

    Attributes:
        entry: the run.
        state: published, trial, withdrawn or preview; only published runs are compared with later
            ones.
        withdrawal: its mark; None where it was not withdrawn.
        book: the file of the book.
    """

    entry: Entry
    state: State
    withdrawal: Withdrawal | None
    book: Path

    @property
    def files(self) -> tuple[str, ...]:
        """What the run wrote: its table or target, then its exports, as the book calls them."""
        return self.entry.object, *self.entry.exports

    @property
    def written(self) -> tuple[str, ...]:
        """Those, and the dictionaries and catalogs of the tables among them."""
        try:
            what = published(read_text(self.entry.spec).spec)
        except SpecError:  # of a version that wrote other specifications
            what = ()
        return tuple(one for name in self.files for one in (name, *_beside(name, what)))

    def to_dict(self) -> JsonObject:
        """The run as JSON shows it; times are UTC."""
        entry, gone = self.entry, self.withdrawal
        return {
            "run": entry.run,
            "release": entry.release,
            "state": self.state,
            "reason": gone.reason if gone else None,
            "withdrawn": gone.withdrawn.isoformat(timespec="seconds") if gone else None,
            "withdrawn_by": gone.withdrawn_by if gone else None,
            "created": entry.created.isoformat(timespec="seconds"),
            "source": entry.record.get("source"),
            "k": entry.record.get("smallest_class"),
            "object": entry.object,
            "kind": entry.kind,
            "exports": list(entry.exports),
            "transformation": dict(entry.transformation),
            "metrics": dict(entry.metrics),
            "spec_hash": entry.spec_hash,
            "version": entry.version,
            "book": str(self.book),
        }


def _beside(name: str, what: Sequence[str]) -> Iterator[str]:
    """What lies beside a table of a release, as the spec would call it; files name theirs."""
    if not names_file(name):
        quote = '"' if name.endswith('"') else ""
        yield from (f"{name.removesuffix(quote)}_{one}{quote}" for one in what)


def book_of(database: Path) -> Path:
    """The file of the book of a database: the private one beside a target, else itself."""
    if database.is_file() and not database.name.endswith(PRIVATE):
        beside = private_of(database)
        return beside if beside.exists() else database
    return database


def remembered(database: Path, settings: Settings | None = None) -> list[Remembered]:
    """The runs that a database, or the private file beside a target, remembers; newest first.

    What a killed run left beside them is put into place or removed.

    Raises:
        DataError: it cannot be opened.
    """
    path = book_of(database)
    with ENGINE.open(path, read_only=True, settings=settings) as session:
        book = Book(session, session.catalog)
        with alone(places_of(book, path), path):
            recover(book, path)
        gone = book.withdrawals()
        return [Remembered(e, state, gone.get(e.run), path) for e, state in book.states()]


def withdraw(
    runs: Sequence[Remembered], reason: str, settings: Settings | None = None
) -> list[Remembered]:
    """Mark runs as withdrawn in their books, those of one book all or none.

    Args:
        runs: which; none of them withdrawn already.
        reason: why, in the owner's words; not empty.
        settings: engine limits.

    Returns:
        The same runs as the books remember them now.

    Raises:
        DataError: a book cannot be written.
    """
    now = datetime.now(UTC).replace(tzinfo=None)
    found: list[Remembered] = []
    for path, those in _by_book(runs).items():
        numbers = {one.entry.run for one in those}
        # attached as a private file, so that the log beside it is for its owner only, too
        with ENGINE.open(None, read_only=False, settings=settings) as session:
            book = Book(session, session.attach(path, private=True))
            with session.transaction():
                book.create()
                for one in those:
                    entry = one.entry
                    book.withdraw(Withdrawal(entry.run, entry.release, reason, _who(), now))
        found += [one for one in remembered(path, settings) if one.entry.run in numbers]
    return found


def _by_book(runs: Sequence[Remembered]) -> Mapping[Path, list[Remembered]]:
    found: dict[Path, list[Remembered]] = {}
    for one in runs:
        found.setdefault(one.book, []).append(one)
    return found


def _who() -> str:
    """The account that this process runs for."""
    try:
        return getpass.getuser()
    except (KeyError, OSError, ImportError):  # an account without a name, as in a container
        return "unknown"


def require_reason(reason: str) -> str:
    """A reason without the blanks around it.

    Raises:
        DataError: nothing is left of it.
    """
    if not reason.strip():
        raise DataError(
            "a withdrawal needs a reason, which stays in the book",
            hint="as in --reason 'a rehearsal; the file was deleted before anybody had it'",
        )
    return reason.strip()
