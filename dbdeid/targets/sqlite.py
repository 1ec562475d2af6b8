"""Tables of SQLite, written in one transaction by the driver of Python."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dbdeid.engine.expressions import identifier
from dbdeid.engine.relation import Relation
from dbdeid.engine.sqltext import sql
from dbdeid.errors import DataError
from dbdeid.sources.plain_drivers import no_sqlite, sqlite_table
from dbdeid.sources.rows import Rows, without_cells
from dbdeid.targets.shape import Shape, named
from dbdeid.verify.base.stored_types import Program

if TYPE_CHECKING:
    import pyarrow as pa

_WAIT = 30.0  # seconds for others to finish
_FOUND = "SELECT type FROM sqlite_master WHERE lower(name) = lower(?)"
_SETTINGS = (
    "PRAGMA secure_delete = ON",  # what lay in memory, or in a row before, is overwritten
    # nothing is in the file before the commit: a rollback leaves free pages as they were filled
    "PRAGMA cache_spill = OFF",
    "PRAGMA legacy_alter_table = ON",  # views of the table that is replaced stay as they are
)


class SqliteTarget:
    """A transaction on a file of SQLite, which nobody else reads or writes meanwhile.

    Args:
        path: of the file, which is there.
        alias: how messages call it.
        writing: whether anything will be written.

    Raises:
        DataError: it cannot be opened, or another program holds it.
    """

    program: Program = "sqlite"
    schema = "main"

    def __init__(self, path: Path, alias: str, *, writing: bool) -> None:
        self._path, self._alias = path, alias
        self.identity = str(path.resolve())
        try:
            self._connection = sqlite3.connect(
                f"{path.resolve().as_uri()}?mode={'rw' if writing else 'ro'}",
                uri=True,
                timeout=_WAIT,
                isolation_level=None,
                check_same_thread=False,  # the engine reads from threads of its own
            )
        except sqlite3.Error as error:
            raise without_cells(error, self._refused(error)) from None
        try:
            for setting in _SETTINGS:
                self._run(setting)
            self._run("BEGIN EXCLUSIVE" if writing else "BEGIN")
        except BaseException:
            self.close()
            raise

    def found(self, place: Relation) -> str | None:
        """What has that name: `table`, another word for what else it is, or None."""
        if str(place.schema).lower() != "main":
            raise DataError(
                f"{self._alias}: SQLite has no schema {place.schema!r}",
                hint=f"name the table alone: {self._alias}.{place.name}",
            )
        rows = self._run(_FOUND, [place.name]).fetchall()
        return str(rows[0][0]) if rows else None

    def lock(self, place: Relation) -> None:
        """Nobody else can change the file anyway."""

    def rows(self, place: Relation) -> Rows:
        """The rows of a table, in the order in which they lie."""
        refused = no_sqlite(self._alias, self._path)
        return sqlite_table(self._connection, place.name, refused, closing=False)

    def write(self, place: Relation, shape: Shape, rows: pa.RecordBatchReader) -> None:
        """Make a table, and fill it in the order of the rows."""
        self._run(shape.statement(place))
        marks = ", ".join("?" * len(shape.columns))
        insert = f"INSERT INTO {sql(named(place))} VALUES ({marks})"
        try:
            for batch in rows:
                columns = (values.to_pylist() for values in batch.columns)
                self._connection.executemany(insert, zip(*columns, strict=True))
        except sqlite3.Error as error:
            raise without_cells(error, self._refused(error)) from None

    def rename(self, staged: Relation, place: Relation) -> None:
        """Give a table a name that nothing has."""
        self._run(f"ALTER TABLE {sql(named(staged))} RENAME TO {sql(identifier(place.name))}")

    def swap(self, staged: Relation, place: Relation) -> None:
        """Give a table the place of another, which is dropped."""
        self._run(f"DROP TABLE {sql(named(place))}")
        self.rename(staged, place)

    def commit(self) -> None:
        """Make all of it last."""
        self._run("COMMIT")

    def close(self) -> None:
        """Let go; what was not committed never was."""
        self._connection.close()

    def _run(self, statement: str, values: list[Any] | None = None) -> sqlite3.Cursor:
        try:
            return self._connection.execute(statement, values or [])
        except sqlite3.Error as error:
            raise without_cells(error, self._refused(error)) from None

    def _refused(self, error: sqlite3.Error) -> DataError:
        name = getattr(error, "sqlite_errorname", None)
        told = f"SQLite tells {name}" if name else "SQLite tells no more"
        if name in ("SQLITE_BUSY", "SQLITE_LOCKED"):
            told = "another program holds it"
        if name == "SQLITE_ERROR":  # of the statement: names and numbers of columns alone
            told = "SQLite has no room for so many columns, or does not take their names"
        return DataError(
            f"{self._alias}: {self._path.name} cannot be written ({told})",
            hint="see who may write it and its folder, who holds it, and whether there is room; "
            "what stood there stands",
        )
