"""Tables of the databases that a specification attaches.

A database of the engine's own is attached as it is. One of another program is attached by an
extension of the engine where that is installed. Else a library reads each table that is asked for
into an empty database of the same name, so that queries find it there.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from dbdeid.data.location.address import (
    Kind,
    Resolved,
    is_server,
    kind_of,
    resolved,
    without_secret,
)
from dbdeid.data.location.file_formats import SHEETS, ending_of
from dbdeid.data.source_files import database_kind
from dbdeid.engine.failure import EngineError
from dbdeid.engine.reading import table_spelled
from dbdeid.engine.relation import Relation
from dbdeid.engine.session import Session
from dbdeid.errors import DataError
from dbdeid.sources import libraries, plain_drivers, postgres
from dbdeid.sources.rows import Rows, Wanted, staged

# Extensions of the engine, and the kind of database as each names it.
_EXTENSIONS: Mapping[str, tuple[str, str]] = {
    "postgres": ("postgres_scanner", "postgres"),
    "mysql": ("mysql_scanner", "mysql"),
    "sqlite": ("sqlite_scanner", "sqlite"),
    "motherduck": ("motherduck", "motherduck"),
    "ducklake": ("ducklake", "ducklake"),
}


@dataclass(frozen=True, slots=True)
class Database:
    """A database that is attached.

    Attributes:
        alias: the name of its catalog.
        address: as it is written, without secrets.
        folder: that a path starts from.
    """

    alias: str
    address: str
    folder: Path

    @property
    def path(self) -> Path | None:
        """The file; None of a server."""
        if is_server(self.address):
            return None
        return self.folder / Path(self.address).expanduser()

    @property
    def place(self) -> str:
        """The key that distinguishes it, kept before the names of its tables: the path of a file
        and `|`, or after that the address of a server, without user and password."""
        if self.path is not None:
            return f"{self.path.resolve()}|"
        return f"|{without_secret(self.address)}/"

    @property
    def kind(self) -> Kind | str:
        """What it is: own, sqlite, workbook or one of the servers.

        Raises:
            DataError: there is no such file, or it is no database.
        """
        path = self.path
        if path is None:
            return kind_of(self.address)
        if not path.is_file():
            raise DataError(f"{self.alias}: no such file {path}", hint="check `attach` in the spec")
        if ending_of(path) in SHEETS:
            return "workbook"
        found = database_kind(path)
        if found is None:
            raise DataError(
                f"{self.alias}: {path.name} is no database of DuckDB or SQLite, and no workbook",
                hint="a file of one table is a source by itself: `source: FILE`",
            )
        return found


def provide(session: Session, database: Database, schema: str | None, name: str) -> Relation:
    """A table of an attached database, to be read in the session.

    Raises:
        DataError: the database or the table is not there, or cannot be read.
        MissingExtra: the library that would read it is not installed.
    """
    kind = database.kind
    if kind == "own":
        _attach_own(session, database)
    elif (extension := _EXTENSIONS.get(kind)) is not None and session.extends(extension[0]):
        _attach_by_extension(session, database, extension[1])
    else:
        return _read(session, database, kind, Wanted(database.alias, schema, name))
    for place in (schema,) if schema else ("main", "public"):
        if session.exists(name, place, database.alias):
            return session.relation(name, place, database.alias)
    raise Wanted(database.alias, schema, name).missing([])


def tables(session: Session, database: Database) -> list[str]:
    """The tables of a database as they are asked for, with their schema where it has several.

    Raises:
        DataError: it cannot be read.
        MissingExtra: the library that would read it is not installed.
    """
    kind = database.kind
    if kind == "postgres":
        return postgres.postgres_tables(_secret(database), database.alias)
    if kind == "mysql":
        return plain_drivers.mysql_tables(_secret(database), database.alias)
    if kind == "sqlite" and database.path is not None:
        return plain_drivers.sqlite_tables(database.path, database.alias)
    if kind == "workbook" and database.path is not None:
        return [table_spelled(name) for name in libraries.sheet_names(database.path)]
    raise DataError(f"{database.alias}: its tables are not listed", hint="name one of them")


def _attach_own(session: Session, database: Database) -> None:
    assert database.path is not None
    if not session.is_attached(database.alias):
        session.attach(database.path, read_only=True, name=database.alias)


def _attach_by_extension(session: Session, database: Database, kind: str) -> None:
    if session.is_attached(database.alias):
        return
    path = database.path
    address = _secret(database) if path is None else Resolved(str(path), ())
    text = address.text.partition(":")[2] if kind == "ducklake" else address.text
    try:
        session.attach_server(kind, text, database.alias)
    except EngineError as error:
        raise DataError(
            f"{database.alias}: cannot be attached ({error.kind}; its text may tell the address)",
            hint="check address, user and password; secrets come from variables: ${DB_PASSWORD}",
        ) from None


def _secret(database: Database) -> Resolved:
    return resolved(database.address, os.environ, database.alias)


def _read(session: Session, database: Database, kind: str, wanted: Wanted) -> Relation:
    """A table read by a library into an empty database of the name."""
    schema = wanted.schema or "main"
    session.attach_empty(database.alias, schema)
    if session.exists(wanted.name, schema, database.alias):
        return session.relation(wanted.name, schema, database.alias)
    place = Relation(wanted.name, (), schema, database.alias)
    return staged(session, place, _rows(session, database, kind, wanted))


def _rows(session: Session, database: Database, kind: str, wanted: Wanted) -> Rows:
    path = database.path
    if kind == "postgres":
        return postgres.postgres_rows(_secret(database), wanted)
    if kind == "mysql":
        return plain_drivers.mysql_rows(_secret(database), wanted)
    if kind == "sqlite" and path is not None:
        return plain_drivers.sqlite_rows(path, wanted)
    if kind == "workbook" and path is not None:
        return libraries.sheet_rows(path, wanted.name)
    extension = _EXTENSIONS[kind][0]
    raise DataError(
        f"{database.alias}: reading it needs DuckDB's extension {extension!r}",
        hint=session.install_hint(extension),
    )
