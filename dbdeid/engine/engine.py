"""An engine, as rooms above see it: what opens sessions and runs scripts of people."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from dbdeid.engine.catalog import SCHEMA
from dbdeid.engine.session import Session, Settings, Table


@dataclass(frozen=True, slots=True)
class Macro:
    """One macro as its file describes it.

    Attributes:
        name: without the schema.
        parameters: as written, with their defaults: ``tbl, qis, k := 5``.
        kind: ``table`` (for FROM) or ``scalar``.
        description: one sentence.
        private: whether it reads `deid.hierarchies`, so that it is of no use in an export.
        reads: what goes in, from the header.
        gives: what comes out, from the header.
        example: a statement that calls it, from the header; of a scalar with ``-- its result``.
        definition: the statement that creates it.
    """

    name: str
    parameters: str
    kind: str
    description: str
    private: bool
    reads: str
    gives: str
    example: str
    definition: str

    @property
    def signature(self) -> str:
        """The call: ``deid.risk(tbl, qis, k := 5)``."""
        return f"{SCHEMA}.{self.name}({self.parameters})"


class Engine(Protocol):
    """What a second engine would have to be, with the sessions that it opens."""

    def open(
        self,
        database: Path | None,
        *,
        read_only: bool,
        settings: Settings | None = None,
        sealed: bool = False,
    ) -> Session:
        """A session over a database file, or over an empty in-memory database.

        Args:
            database: the file; None for none.
            read_only: whether it is only read.
            settings: limits of the engine.
            sealed: for a file that others may have written: nothing without a catalog is looked up
                in it, no other file can be read or written, no extension is loaded, and no setting
                changed.

        Raises:
            DataError: the file is missing, not a database, or locked by another process.
        """

    def over(self, connection: Any, database: Path | None, *, read_only: bool) -> Session:
        """A session over an open connection.

        The database file is looked for among the connection's attached databases and attached for
        the session's life when it is not there. Without a file the connection's current database
        is the owner's.

        Raises:
            DataError: the database cannot be opened, or the connection sorts or compares otherwise
                than the engine does by itself.
        """

    def run_script(
        self,
        database: Path,
        text: str,
        settings: Settings,
        register: Callable[[Any], None],
        *,
        read_only: bool = False,
        create: bool = False,
    ) -> Iterator[Table]:
        """Run every statement of a script and give each result as it comes.

        Args:
            database: the file; `:memory:` for none.
            text: SQL.
            settings: engine limits.
            register: prepares the connection.
            read_only: for a published release, which others may have made: it is not changed, and
                reaches no other file; temporary tables can be made.
            create: the file is made where it is missing.

        Raises:
            DataError: the database is missing or cannot be opened, a macro of a published release
                stands for a built-in function, or a statement fails.
        """

    def is_release(self, database: Path) -> bool:
        """Whether a file is a published release, found without changing it."""

    def macros(self) -> tuple[Macro, ...]:
        """All macros, for people who speak SQL."""

    def macro_script(self, *, private: bool = True) -> str:
        """All macros as one SQL script that makes the schema (and `deid.hierarchies`) first.

        Args:
            private: also those that read `deid.hierarchies`, and the table itself.
        """

    def install_macros(self, connection: Any) -> None:
        """Install the macros in the current database of an open connection.

        Raises:
            DataError: it is none, closed, or still holds rows; or its database is read-only, or a
                published release, which is not changed.
        """
