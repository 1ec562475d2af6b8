"""What a remembered run counts as, and whether others may have it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from dbdeid.engine.catalog import Book, Entry
from dbdeid.errors import DataError


@dataclass(frozen=True, slots=True)
class Unpublishable:
    """Why nobody else is to have a run.

    Attributes:
        state: what it counts as.
        message: the same in a sentence.
        hint: what to do where it is to be given away.
    """

    state: Literal["trial", "withdrawn"]
    message: str
    hint: str

    def to_dict(self) -> dict[str, str]:
        """As JSON shows it."""
        return {"state": self.state, "message": self.message}


def require_publishable(book: Book, entry: Entry, what: str) -> None:
    """Refuse to give away a run that nobody else is to have.

    Args:
        book: where the run is remembered.
        entry: the last run of a release.
        what: is refused, as in "it is not exported".

    Raises:
        DataError: the run was a trial, or it was withdrawn.
    """
    why = unpublishable(book, entry)
    if why is not None:
        raise DataError(f"{why.message}: {what}", hint=why.hint)


def unpublishable(book: Book, entry: Entry) -> Unpublishable | None:
    """Why nobody else is to have a run; None where nothing says so."""
    called = f"the last run of release {entry.release!r}, of {entry.created:%Y-%m-%d %H:%M} UTC,"
    withdrawn = book.withdrawals().get(entry.run)
    if withdrawn is not None:
        told = f"{called} was withdrawn ({withdrawn.reason!r})"
        hint = "`dbdeid run` makes another one, which is compared with what others may have"
        return Unpublishable("withdrawn", told, hint)
    if entry.trial:
        hint = "to publish, `dbdeid run` without --trial"
        return Unpublishable("trial", f"{called} was a trial", hint)
    return None
