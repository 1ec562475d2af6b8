"""What an engine refuses, as an error without cells."""

from __future__ import annotations

from dbdeid.errors import DataError, DbdeidError


class EngineError(DbdeidError):
    """The engine refused a statement: its kind, and its text only where that quotes no cell.

    Attributes:
        kind: of the error, as the engine names it.
        of_memory: whether it says nothing of the statement, but that there was no memory for it.
    """

    def __init__(self, message: str, *, hint: str, kind: str, of_memory: bool) -> None:
        self.kind = kind
        self.of_memory = of_memory
        super().__init__(message, hint=hint)


class LockedError(DataError):
    """A database cannot be opened now: another process, or another connection, has it open."""


AS_UTF8 = (
    'save the file as UTF-8, or read it by `source: {name: …, sql: "SELECT * FROM '
    "read_csv('FILE', encoding = 'latin-1')\"}`"
)
