"""Tables of PostgreSQL, read by a driver where the engine has no extension for it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from dbdeid.data.location.address import Resolved
from dbdeid.engine.expressions import select, table_named
from dbdeid.engine.reading import table_spelled
from dbdeid.engine.sqltext import sql
from dbdeid.errors import DataError
from dbdeid.sources.rows import Rows, Wanted, library, without_cells

if TYPE_CHECKING:
    import pyarrow as pa

# What PostgreSQL says of the statement and the login, never of a cell: classes of SQLSTATE.
_TOLD = ("28", "3D", "42")


_TABLES = (
    "SELECT n.nspname, c.relname FROM pg_catalog.pg_class c "
    "JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace "
    "WHERE c.relkind IN ('r', 'v', 'm', 'f', 'p') AND n.nspname NOT LIKE 'pg_%' "
    "AND n.nspname <> 'information_schema' ORDER BY 1, 2"
)


def postgres_tables(address: Resolved, alias: str) -> list[str]:
    """The tables and views of a database, with their schema.

    Raises:
        DataError: the database cannot be read.
        MissingExtra: the driver is not installed.
    """
    with Postgres(address, alias) as server:
        return [table_spelled(*table) for table in server.tables()]


def postgres_rows(address: Resolved, wanted: Wanted) -> Rows:
    """The rows of a table or view of PostgreSQL, as one statement sees them.

    Raises:
        DataError: the server cannot be reached, lets nobody in, or has no such table.
        MissingExtra: the driver is not installed.
    """
    server = Postgres(address, wanted.alias)
    try:
        tables = server.tables()
        schema = (wanted.schema or "public").lower()
        found = [t for t in tables if (t[0].lower(), t[1].lower()) == (schema, wanted.name.lower())]
        if not found:
            raise wanted.missing([table_spelled(*table) for table in tables])
        exact = [t for t in found if t == (wanted.schema or "public", wanted.name)]
        place = (exact or found)[0]
        query = select("*").from_(table_named(place[1], place[0]))
        reader = server.read(sql(query))
    except BaseException:
        server.close()
        raise
    return Rows(reader.schema, server.batches(reader), numerics(reader), refused=server.refused)


def numerics(reader: Any) -> dict[str, str]:
    """The types of columns that come as text."""
    return {field.name: kind for field in reader.schema if (kind := _numeric(field))}


def _numeric(field: pa.Field) -> str | None:
    """The type of a NUMERIC, which comes as text; one without a scale is a DOUBLE."""
    told = {key.decode(): value.decode() for key, value in (field.metadata or {}).items()}
    if told.get("POSTGRESQL:type") != "numeric":
        return None
    given = int(told.get("POSTGRESQL:typmod", "-1")) - 4
    digits, places = given >> 16, given & 0x7FF
    return f"DECIMAL({digits},{places})" if given >= 0 and places <= digits <= 38 else "DOUBLE"


class Postgres:
    """A connection, in one transaction, that only reads unless it is to write."""

    def __init__(self, address: Resolved, alias: str, *, writing: bool = False) -> None:
        driver = library("adbc_driver_postgresql.dbapi", "adbc-driver-postgresql")
        self.errors = (driver.Error, OSError)
        self._address, self._alias = address, alias
        try:
            self.connection = driver.connect(address.text)
            self.cursor = self.connection.cursor()
            # the driver takes and gives UTF-8, whatever server and environment agree upon
            self.cursor.execute("SET client_encoding TO 'UTF8'")
            if not writing:
                self.cursor.execute("SET TRANSACTION READ ONLY")
        except self.errors as error:
            told = DataError(
                f"{alias}: no connection to PostgreSQL: {self.words(error)}",
                hint="check address, user and password; a password comes from PGPASSWORD, "
                "~/.pgpass, or a variable in the address",
            )
            raise without_cells(error, told) from None

    def __enter__(self) -> Postgres:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Let go of the server."""
        for part in (self.cursor, self.connection):
            try:
                part.close()
            except self.errors:  # it is gone
                continue

    def tables(self) -> list[tuple[str, str]]:
        """Schema and name of each table and view."""
        return [(str(row[0]), str(row[1])) for row in self._asked(_TABLES).fetchall()]

    def read(self, query: str) -> Any:
        """The batches of a query."""
        return self._asked(query).fetch_record_batch()

    def _asked(self, query: str) -> Any:
        try:
            self.cursor.execute(query)
        except self.errors as error:
            raise without_cells(error, self.refused(error)) from None
        return self.cursor

    def batches(self, reader: Any) -> Iterator[pa.RecordBatch]:
        """The batches of a reader; the connection is closed after the last one."""
        with self:
            yield from reader

    def refused(self, error: BaseException) -> DataError:
        """The error of a server that did not give all rows."""
        state = str(getattr(error, "sqlstate", None) or "")
        if state == "42501":
            return DataError(
                f"{self._alias}: the user may not read this table",
                hint="ask for the right: GRANT SELECT ON … (and USAGE on its schema)",
            )
        if state.startswith(_TOLD):
            return DataError(
                f"{self._alias}: PostgreSQL refused the query: {self.words(error)}",
                hint="check the names in the spec, and the view if it is one",
            )
        told = f"PostgreSQL error {state}" if state else "the connection ended"
        return DataError(
            f"{self._alias}: not all rows could be read ({told}; text withheld: it may quote data)",
            hint="see the log of the server; nothing was written, so run it again",
        )

    def words(self, error: BaseException) -> str:
        """Return the first line of the driver's message, without values from the environment."""
        lines = self._address.hidden(str(error)).strip().splitlines() or [type(error).__name__]
        return _said(lines[0])


def _said(line: str) -> str:
    """What the server says in a line of the driver, without the driver's own statement.

    >>> _said("IO: [libpq] Failed to execute query 'SELECT 1': FATAL:  terminating connection")
    'FATAL:  terminating connection'
    """
    _, sign, rest = line.partition("FATAL: ")
    return f"{sign}{rest}" if sign else line.partition("failed: ")[2] or line
