"""Tables of SQLite and MySQL, read by plain drivers of Python where the engine has no extension.

Their rows come as values of Python, and become Arrow batches by the types that columns declare.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl, unquote, urlsplit

from dbdeid.data.location.address import Resolved
from dbdeid.engine import arrow
from dbdeid.engine.expressions import Expr, aliased, column, literal, select, table_named
from dbdeid.engine.reading import table_spelled
from dbdeid.engine.sqltext import sql
from dbdeid.errors import DataError
from dbdeid.sources.rows import Rows, Wanted, library, without_cells

if TYPE_CHECKING:
    import pyarrow as pa

_AT_ONCE = 20_000  # rows in one batch


def _batched(
    connection: Any, found: Any, kinds: Mapping[str, str], as_text: tuple[str, ...] = ()
) -> tuple[pa.Schema, Iterator[pa.RecordBatch]]:
    """The rows of a cursor, in batches; what they come from is closed after the last one.

    Args:
        connection: what is closed at the end: that of the cursor, or the cursor.
        found: the cursor.
        kinds: the type of each column.
        as_text: types whose values come as text.
    """
    import pyarrow as pa

    fields = [(name, arrow.type_of(k) if k not in as_text else None) for name, k in kinds.items()]
    schema = pa.schema([(name, kind or pa.string()) for name, kind in fields])

    def batches() -> Iterator[pa.RecordBatch]:
        with closing(connection):
            while rows := found.fetchmany(_AT_ONCE):
                columns = zip(*rows, strict=True)
                arrays = [pa.array(c, f.type) for c, f in zip(columns, schema, strict=True)]
                yield pa.record_batch(arrays, schema=schema)

    return schema, batches()


# -- SQLite ----------------------------------------------------------------------------------------

_SQLITE_TABLES = "SELECT name FROM sqlite_master WHERE type IN ('table', 'view') ORDER BY name"
# Types as SQLite's extension for the engine reads them: by a part of what the column declares.
_DECLARED = (
    *(("int", "BIGINT"), ("bool", "BIGINT"), ("char", "VARCHAR"), ("clob", "VARCHAR")),
    *(("text", "VARCHAR"), ("blob", "BLOB"), ("real", "DOUBLE"), ("floa", "DOUBLE")),
    *(("doub", "DOUBLE"), ("dec", "DOUBLE"), ("num", "DOUBLE"), ("datetime", "TIMESTAMP")),
    *(("date", "DATE"), ("time", "TIMESTAMP")),
)


_AS_TEXT = ("DATE", "TIMESTAMP")


def sqlite_tables(path: Path, alias: str) -> list[str]:
    """The tables and views of a file of SQLite.

    Raises:
        DataError: it cannot be read.
    """
    try:
        with closing(_sqlite(path)) as connection:
            return [table_spelled(name) for name in _names(connection)]
    except sqlite3.Error as error:
        raise without_cells(error, no_sqlite(alias, path)(error)) from None


def _names(connection: sqlite3.Connection) -> list[str]:
    found = connection.execute(_SQLITE_TABLES).fetchall()
    return [str(name) for (name,) in found if not str(name).startswith("sqlite_")]


def sqlite_rows(path: Path, wanted: Wanted) -> Rows:
    """The rows of a table or view of SQLite, each column in the type that it declares.

    Raises:
        DataError: it cannot be read, or has no such table.
    """
    refused = no_sqlite(wanted.alias, path)
    try:
        connection = _sqlite(path)
        known = _names(connection)
        name = next((one for one in known if one.lower() == wanted.name.lower()), None)
        if name is None or (wanted.schema or "main").lower() != "main":
            connection.close()
            raise wanted.missing([table_spelled(one) for one in known])
        return sqlite_table(connection, name, refused)
    except sqlite3.Error as error:
        raise without_cells(error, refused(error)) from None


def sqlite_table(
    connection: sqlite3.Connection,
    name: str,
    refused: Callable[[BaseException], DataError],
    *,
    closing: bool = True,
) -> Rows:
    """The rows of a table of an open connection, each column in the type that it declares.

    Args:
        connection: which any thread may use.
        name: of the table, as it is spelled.
        refused: the error of a row that is not read.
        closing: whether the connection ends with the last row.

    Raises:
        DataError: it cannot be read.
    """
    try:
        declared = connection.execute(
            "SELECT name, type FROM pragma_table_info(?)", [name]
        ).fetchall()
        found = connection.execute(sql(select("*").from_(table_named(name))))
    except sqlite3.Error as error:
        raise without_cells(error, refused(error)) from None
    kinds = {str(column): _kind(str(kind)) for column, kind in declared}
    last = connection if closing else found
    schema, batches = _batched(last, found, kinds, _AS_TEXT)
    days = {name: kind for name, kind in kinds.items() if kind in _AS_TEXT}
    return Rows(schema, batches, days, refused=refused)


def _kind(declared: str) -> str:
    return next((kind for part, kind in _DECLARED if part in declared.lower()), "VARCHAR")


def _sqlite(path: Path) -> sqlite3.Connection:
    connection = sqlite3.connect(
        f"{path.resolve().as_uri()}?mode=ro", uri=True, check_same_thread=False
    )  # the engine asks for rows from threads of its own, one after another
    connection.execute("BEGIN")  # tables, columns and rows of one moment
    return connection


def no_sqlite(alias: str, path: Path) -> Callable[[BaseException], DataError]:
    """The error of a file of SQLite that cannot be read, without its cells."""

    def refused(error: BaseException) -> DataError:
        if isinstance(error, sqlite3.Error):
            why = f"SQLite tells {getattr(error, 'sqlite_errorname', 'no more')}"
            hint = "see whether it is whole, and who may read it"
        else:
            why = "a value is not of the type that its column declares"
            hint = "mend the value, or make a view in which a CAST gives all of them one type"
        return DataError(f"{alias}: {path.name} cannot be read ({why})", hint=hint)

    return refused


# -- MySQL and MariaDB -----------------------------------------------------------------------------

_MYSQL_TABLES = (
    "SELECT table_schema, table_name FROM information_schema.tables WHERE table_schema NOT IN "
    "('information_schema', 'mysql', 'performance_schema', 'sys') ORDER BY 1, 2"
)
_MYSQL_COLUMNS = (
    "SELECT column_name, data_type, column_type, numeric_precision, numeric_scale "
    "FROM information_schema.columns WHERE table_schema = %s AND table_name = %s "
    "AND extra NOT LIKE '%%INVISIBLE%%' ORDER BY ordinal_position"  # * would leave them out, too
)
_WHOLE = {
    **{"tinyint": "TINYINT", "smallint": "SMALLINT", "mediumint": "INTEGER", "int": "INTEGER"},
    **{"bigint": "BIGINT", "year": "INTEGER"},
}
_OTHERS = {
    **{"float": "FLOAT", "double": "DOUBLE", "date": "DATE", "datetime": "TIMESTAMP"},
    **{"timestamp": "TIMESTAMP", "time": "INTERVAL", "bit": "BLOB", "binary": "BLOB"},
    **{"varbinary": "BLOB", "tinyblob": "BLOB", "blob": "BLOB", "mediumblob": "BLOB"},
    "longblob": "BLOB",
}
_NO_RIGHT = (1044, 1142, 1143)


def mysql_tables(address: Resolved, alias: str) -> list[str]:
    """The tables and views of a server, with their database.

    Raises:
        DataError: the server cannot be reached, or lets nobody in.
        MissingExtra: the driver is not installed.
    """
    with closing(mysql_connection(address, alias)) as connection, connection.cursor() as cursor:
        cursor.execute(_MYSQL_TABLES)
        return [table_spelled(*map(str, row)) for row in cursor.fetchall()]


def mysql_rows(address: Resolved, wanted: Wanted) -> Rows:
    """The rows of a table or view of MySQL or MariaDB, each column in the type that it declares.

    Raises:
        DataError: the server cannot be reached, lets nobody in, or has no such table.
        MissingExtra: the driver is not installed.
    """
    errors = library("pymysql.err", "pymysql")
    refused = no_mysql(wanted.alias)
    connection = mysql_connection(address, wanted.alias)
    try:
        with connection.cursor() as cursor:
            cursor.execute(_MYSQL_TABLES)
            tables = [(str(one[0]), str(one[1])) for one in cursor.fetchall()]
        schema = wanted.schema or mysql_database(address) or ""
        place = (schema.lower(), wanted.name.lower())
        found = [table for table in tables if (table[0].lower(), table[1].lower()) == place]
        if not found:
            raise wanted.missing([table_spelled(*table) for table in tables])
        exact = next((table for table in found if table == (schema, wanted.name)), found[0])
        return mysql_table(connection, exact, refused)
    except errors.MySQLError as error:
        connection.close()
        raise without_cells(error, refused(error)) from None
    except BaseException:
        connection.close()
        raise


def mysql_table(
    connection: Any,
    place: tuple[str, str],
    refused: Callable[[BaseException], DataError],
    *,
    closing: bool = True,
) -> Rows:
    """The rows of a table of an open connection, each column in the type that it declares.

    Args:
        connection: that takes names in double quotes.
        place: the database and the table, as they are spelled.
        refused: the error of a row that is not read.
        closing: whether the connection ends with the last row.

    Raises:
        DataError: it cannot be read.
    """
    errors = library("pymysql.err", "pymysql")
    cursors = library("pymysql.cursors", "pymysql")
    try:
        cursor = connection.cursor(cursors.SSCursor)  # which does not hold all rows at once
        cursor.execute(_MYSQL_COLUMNS, place)
        kinds = {str(row[0]): _mysql_kind(*row[1:]) for row in cursor.fetchall()}
        given = (_whole(name, kind) for name, kind in kinds.items())
        cursor.execute(sql(select(*given).from_(table_named(place[1], place[0]))))
    except errors.MySQLError as error:
        raise without_cells(error, refused(error)) from None
    schema, batches = _batched(connection if closing else cursor, cursor, kinds)
    return Rows(schema, _to_the_end(cursor, batches), refused=refused)


def _whole(name: str, kind: str) -> Expr:
    """A column with all of its digits: the server gives six of a FLOAT, and all of a product."""
    value = column(name)
    return aliased(value * literal(1.0), name) if kind == "FLOAT" else value


def _to_the_end(cursor: Any, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """The batches; where there are more, the driver asks a closed connection for none of them."""
    result = cursor._result
    try:
        yield from batches
    finally:
        result.unbuffered_active = False


def _mysql_kind(data: str, whole: str, digits: int | None, places: int | None) -> str:
    """The type of a column, by what it declares."""
    if data in _WHOLE:
        return f"U{_WHOLE[data]}" if "unsigned" in whole else _WHOLE[data]
    if data == "decimal":
        fits = digits is not None and digits <= 38
        return f"DECIMAL({digits},{places})" if fits else "DOUBLE"
    return _OTHERS.get(data, "VARCHAR")


_READING = ("START TRANSACTION WITH CONSISTENT SNAPSHOT, READ ONLY",)  # all of one moment


def mysql_connection(address: Resolved, alias: str, first: Sequence[str] = _READING) -> Any:
    """A connection that takes names in quotes as the standard has them.

    Args:
        address: with its secrets.
        alias: how messages call the server.
        first: statements to begin with.

    Raises:
        DataError: the server cannot be reached, or lets nobody in.
        MissingExtra: the driver is not installed.
    """
    driver = library("pymysql", "pymysql")
    parts = urlsplit(address.text)
    options = dict(parse_qsl(parts.query))
    password = unquote(parts.password) if parts.password else os.environ.get("MYSQL_PWD", "")
    where = {"unix_socket": options["socket"]} if "socket" in options else {}
    try:
        connection = driver.connect(
            **{"host": parts.hostname or "localhost", "port": parts.port or 3306, **where},
            user=unquote(parts.username or "") or None,
            password=password,
            database=mysql_database(address),
            charset="utf8mb4",
            ssl_ca=options.get("ssl_ca"),
        )
        with connection.cursor() as cursor:
            cursor.execute("SET SESSION sql_mode = CONCAT(@@sql_mode, ',ANSI_QUOTES')")
            for statement in first:
                cursor.execute(statement)
    except (driver.err.MySQLError, ValueError) as error:
        words = str(error.args[-1]) if isinstance(error, driver.err.MySQLError) else "no address"
        told = DataError(
            f"{alias}: no connection to MySQL: {address.hidden(words).splitlines()[0]}",
            hint="check address, user and password; a password comes from MYSQL_PWD, or a variable "
            "in the address",
        )
        raise without_cells(error, told) from None
    return connection


def mysql_database(address: Resolved) -> str | None:
    """The database that an address names; None: it names only the server."""
    return unquote(urlsplit(address.text).path.strip("/")) or None


def no_mysql(alias: str) -> Callable[[BaseException], DataError]:
    """The error of a table of MySQL that cannot be read, without its cells."""

    def refused(error: BaseException) -> DataError:
        code = error.args[0] if error.args else None
        if code in _NO_RIGHT:
            return DataError(
                f"{alias}: the user may not read this table", hint="ask for it: GRANT SELECT ON …"
            )
        told = f"MySQL error {code}" if isinstance(code, int) else "a value is not of its type"
        return DataError(
            f"{alias}: not all rows could be read ({told}; text withheld: it may quote data)",
            hint="see the log of the server, and zero dates; nothing was written, so run it again",
        )

    return refused
