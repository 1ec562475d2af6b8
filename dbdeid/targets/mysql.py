"""Tables of MySQL and MariaDB, filled aside in one transaction and renamed in one statement.

There a statement that makes, renames or drops a table commits whatever was open, so two
connections are used: one makes and renames tables, the other writes and reads rows in a
transaction. A new table stands there from the beginning, empty to everybody else until the
verifier has read it; then one RENAME TABLE puts all tables of a run into their places, or none.

The server does not roll back a table that was made. What a killed run leaves is known by its name
and by a lock of that name, which the server let go with the connection: the next run drops it.
"""

from __future__ import annotations

import re
import secrets
from collections.abc import Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from dbdeid.data.location.address import Resolved
from dbdeid.engine.relation import Relation
from dbdeid.engine.sqltext import sql
from dbdeid.errors import DataError
from dbdeid.sources.plain_drivers import (
    mysql_connection,
    mysql_database,
    mysql_table,
    no_mysql,
)
from dbdeid.sources.rows import Rows, library, without_cells
from dbdeid.targets.shape import Shape, named
from dbdeid.verify.base.stored_types import Program

if TYPE_CHECKING:
    import pyarrow as pa

_LONGEST = 64  # signs of a name
_ASIDE = "deid_old_"
_OURS = re.compile(r"deid_(new|old)_[0-9a-f]{16}")
# Versions from which a RENAME of several tables is all or nothing when the server falls, too.
_OLDEST = {"MariaDB": (10, 6), "MySQL": (8, 0)}
# A wait that ends; no end while the verifier reads; values that do not fit are refused.
_SETTINGS = (
    "SET SESSION sql_mode = 'ANSI_QUOTES,STRICT_ALL_TABLES,NO_ENGINE_SUBSTITUTION'",
    "SET SESSION lock_wait_timeout = 60",
    "SET SESSION innodb_lock_wait_timeout = 60",
    "SET SESSION wait_timeout = 604800",
    # the tables are made by the other connection, after a snapshot would have been taken
    "SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED",
)
_KIND = "ENGINE=InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin"
_IDENTITY = "SELECT @@hostname, @@port, @@datadir, @@socket"
_TABLES = "SELECT table_name, table_type FROM information_schema.tables WHERE table_schema = %s"
_KEYS = (
    "SELECT count(*) FROM information_schema.key_column_usage "
    "WHERE referenced_table_schema = %s AND referenced_table_name = %s"
)


class MysqlTarget:
    """A transaction on a server, and a connection beside it that makes and renames tables.

    Args:
        address: with its secrets.
        alias: how messages call the server.
        writing: whether anything will be written.

    Raises:
        DataError: the server cannot be reached, lets nobody in, or is too old.
        MissingExtra: the driver is not installed.
    """

    program: Program = "mysql"

    def __init__(self, address: Resolved, alias: str, *, writing: bool) -> None:
        self._alias, self._writing = alias, writing
        self._errors = (library("pymysql.err", "pymysql").Error, OSError)
        self.schema = mysql_database(address) or ""
        self._looked_at: set[str] = set()
        self._staged: list[Relation] = []
        self._moves: list[tuple[Relation, Relation, Relation | None]] = []
        self._sums: dict[Relation, object] = {}
        self._tables = mysql_connection(address, alias, ("SET SESSION autocommit = 1", *_SETTINGS))
        try:
            self._rows = mysql_connection(address, alias, _SETTINGS)
        except BaseException:
            self._tables.close()
            raise
        try:
            if writing:
                self._require_recent()
            self.identity = str(self._asked(_IDENTITY))
        except BaseException:
            self.close()
            raise

    def found(self, place: Relation) -> str | None:
        """What has that name: `table`, another word for what else it is, or None."""
        schema = self._schema(place)
        for name in (place.name, schema):
            self._require_short(name)
        if self._writing and schema not in self._looked_at:
            self._sweep(schema)
            self._require_rights(schema)
            self._looked_at.add(schema)
        exact = not self._asked("SELECT @@lower_case_table_names")[0][0]
        kinds = [
            str(kind)
            for name, kind in self._asked(_TABLES, (schema,))
            if name == place.name or (not exact and name.lower() == place.name.lower())
        ]
        if not kinds:
            return None
        if kinds[0] != "BASE TABLE":
            return kinds[0].lower()
        keys = self._asked(_KEYS, (schema, place.name))[0][0]
        return "table that foreign keys point to" if keys else "table"

    def lock(self, place: Relation) -> None:
        """Remember what a table holds: the server has no lock that a RENAME would keep."""
        self._sums[place] = self._sum(place)

    def rows(self, place: Relation) -> Rows:
        """The rows of a table, in the order in which they lie."""
        where = (self._schema(place), place.name)
        return mysql_table(self._rows, where, no_mysql(self._alias), closing=False)

    def write(self, place: Relation, shape: Shape, rows: pa.RecordBatchReader) -> None:
        """Make a table, and fill it in the order of the rows."""
        for name, _ in shape.columns:
            self._require_short(name)
        self._claim(place.name)
        self._staged.append(place)
        self._run(f"{shape.statement(place)} {_KIND}")
        marks = ", ".join(["%s"] * len(shape.columns))
        insert = f"INSERT INTO {sql(named(place)).replace('%', '%%')} VALUES ({marks})"
        try:
            with self._rows.cursor() as cursor:
                for batch in rows:
                    columns = (values.to_pylist() for values in batch.columns)
                    cursor.executemany(insert, list(zip(*columns, strict=True)))
        except self._errors as error:
            raise without_cells(error, self._refused(error)) from None

    def rename(self, staged: Relation, place: Relation) -> None:
        """Give a table a name that nothing has, when it is committed."""
        if self.found(place) is not None:
            why, hint = _MEANWHILE
            raise DataError(f"{self._alias}: {why}", hint=hint)
        self._moves.append((staged, place, None))

    def swap(self, staged: Relation, place: Relation) -> None:
        """Give a table the place of one that is locked, when it is committed."""
        aside = f"{_ASIDE}{secrets.token_hex(8)}"
        self._claim(aside)
        self._moves.append((staged, place, Relation(aside, schema=place.schema)))

    def commit(self) -> None:
        """Make all of it last."""
        try:
            self._rows.commit()
        except self._errors as error:
            raise without_cells(error, self._refused(error)) from None
        self._rename([pair for move in self._moves for pair in _forth(move)])
        replaced = [(place, old) for _, place, old in self._moves if old is not None]
        try:
            if any(self._sum(old) != self._sums[place] for place, old in replaced):
                raise DataError(
                    f"{self._alias}: another session changed the table that was to be replaced",
                    hint="see what it wrote; rename or drop the table, and run it again",
                )
        except DataError:
            self._rename([pair for move in reversed(self._moves) for pair in _back(move)])
            raise
        self._staged = []
        for place, old in replaced:
            try:
                self._run(f"DROP TABLE {sql(named(old))}")
            except DataError as error:
                raise DataError(
                    f"{error.message}; {place.name!r} was replaced, and what it was is now "
                    f"{old.name!r}",
                    hint="drop it when nothing needs it",
                ) from None

    def close(self) -> None:
        """Let go; what was not committed is dropped."""
        with suppress(*self._errors):
            self._rows.rollback()
        with suppress(*self._errors):
            self._rows.close()
        for place in self._staged:
            with suppress(DataError):
                self._run(f"DROP TABLE IF EXISTS {sql(named(place))}")
        self._staged = []
        with suppress(*self._errors):
            self._tables.close()

    # -- before anything is written ----------------------------------------------------------------

    def _require_recent(self) -> None:
        told = str(self._asked("SELECT version()")[0][0])
        name = "MariaDB" if "mariadb" in told.lower() else "MySQL"
        numbers = tuple(map(int, re.findall(r"\d+", told)[:2]))
        if numbers < _OLDEST[name]:
            least = ".".join(map(str, _OLDEST[name]))
            raise DataError(
                f"{self._alias}: {name} {told.partition('-')[0]} does not rename several tables at "
                "once when it is stopped meanwhile",
                hint=f"use {name} {least} or later, or export a file",
            )

    def _sweep(self, schema: str) -> None:
        """Drop what runs that were killed left there: nobody holds the lock of its name."""
        for name, _ in self._asked(_TABLES, (schema,)):
            if _OURS.fullmatch(name) and self._asked("SELECT IS_FREE_LOCK(%s)", (name,))[0][0]:
                with suppress(DataError):  # another run drops it, too
                    self._run(f"DROP TABLE {sql(named(Relation(name, schema=schema)))}")

    def _require_rights(self, schema: str) -> None:
        """Do to an empty table what will be done to the release, and drop it."""
        one, other = (Relation(f"deid_new_{secrets.token_hex(8)}", schema=schema) for _ in range(2))
        for table in (one, other):
            self._claim(table.name)
        self._run(f"CREATE TABLE {sql(named(one))} (a INTEGER) {_KIND}")
        last = one
        try:
            self._rename([(one, other)])
            last = other
            self._asked(f"SELECT count(*) FROM {sql(named(other))}")
        finally:
            self._run(f"DROP TABLE {sql(named(last))}")

    def _claim(self, name: str) -> None:
        """Tell other runs that a table of that name is in use, until the connection ends."""
        self._asked("SELECT GET_LOCK(%s, 0)", (name,))

    def _schema(self, place: Relation) -> str:
        if not place.schema:
            raise DataError(
                f"{self._alias}: its address names no database",
                hint=f"add one to it, or name the table {self._alias}.DATABASE.{place.name}",
            )
        return place.schema

    def _require_short(self, name: str) -> None:
        if len(name) > _LONGEST:
            raise DataError(
                f"{self._alias}: MySQL takes names of {_LONGEST} signs, and {name!r} is longer",
                hint="name the table, or the column in the source, otherwise",
            )

    # -- statements --------------------------------------------------------------------------------

    def _rename(self, pairs: Sequence[tuple[Relation, Relation]]) -> None:
        """Rename all of the tables, or none."""
        if pairs:
            moves = (f"{sql(named(one))} TO {sql(named(other))}" for one, other in pairs)
            self._run(f"RENAME TABLE {', '.join(moves)}")

    def _sum(self, place: Relation) -> object:
        """A sum over the rows of a table, by the server."""
        return self._asked(f"CHECKSUM TABLE {sql(named(place))}")[0][1]

    def _run(self, statement: str) -> None:
        self._asked(statement)

    def _asked(self, statement: str, values: tuple[Any, ...] | None = None) -> list[Any]:
        try:
            with self._tables.cursor() as cursor:
                cursor.execute(statement, values)
                return list(cursor.fetchall())
        except self._errors as error:
            raise without_cells(error, self._refused(error)) from None

    def _refused(self, error: BaseException) -> DataError:
        """What the server refused, without a cell."""
        code = error.args[0] if error.args else None
        if code == _NOT_MADE and str(error.args[-1]).find(_TOO_MANY) >= 0:
            code = 1117
        if code in _WHY:
            why, hint = _WHY[code]
            return DataError(f"{self._alias}: {why}", hint=hint)
        told = f"MySQL error {code}" if isinstance(code, int) and code else "the connection ended"
        return DataError(
            f"{self._alias}: the release was not written ({told}; text withheld: it may quote "
            "data)",
            hint="see the log of the server; what stood there stands, so run it again",
        )


def _forth(
    move: tuple[Relation, Relation, Relation | None],
) -> tuple[tuple[Relation, Relation], ...]:
    staged, place, old = move
    return ((staged, place),) if old is None else ((place, old), (staged, place))


def _back(
    move: tuple[Relation, Relation, Relation | None],
) -> tuple[tuple[Relation, Relation], ...]:
    staged, place, old = move
    return ((place, staged),) if old is None else ((place, staged), (old, place))


_MEANWHILE = (
    "another session made a table of that name meanwhile",
    "see whose it is; choose another name, or remove it, and run it again",
)
_NO_RIGHT = (
    "the user may not write tables in this database",
    "ask for the rights: GRANT SELECT, INSERT, CREATE, ALTER, DROP ON DATABASE.* TO …",
)
_HELD = ("another session holds the table", "run it again when that has ended")
_NO_CHANGES = (
    "the server takes no changes now",
    "name the server that does, not a copy of it",
)
_WIDE = (
    "MySQL has no room for so many columns in a table, or for so long a row",
    "release fewer columns, or export a file",
)
_NAMES = (
    "MySQL does not take the name of the table or of a column, or takes two of them for the same",
    "name the table, or the column in the source, otherwise",
)
_FULL = ("the server has no room", "make room there, and run it again")
_ENDED = (
    "the connection ended, and the release was not written (text withheld: it may quote data)",
    "see the log of the server; it ends connections, too, that send a text beyond its "
    "max_allowed_packet; what stood there stands, so run it again",
)
_NOT_MADE, _TOO_MANY = 1005, "errno: 185"  # how InnoDB of MariaDB says that of columns
_WHY: dict[object, tuple[str, str]] = {
    1050: _MEANWHILE,
    **dict.fromkeys((1044, 1142, 1143, 1227, 1370), _NO_RIGHT),
    **dict.fromkeys((1205, 1213), _HELD),
    **dict.fromkeys((1290, 1792, 1836, 3100), _NO_CHANGES),
    **dict.fromkeys((1117, 1118), _WIDE),
    **dict.fromkeys((1059, 1060, 1103, 1166, 1300), _NAMES),
    **dict.fromkeys((1021, 1114), _FULL),
    **dict.fromkeys((2006, 2013), _ENDED),
    1049: ("MySQL has no such database", "check the name in `export`; its owner makes it"),
    1153: (
        "a part of the release is longer than the server takes at once",
        "raise max_allowed_packet there, or export a file",
    ),
    3750: (
        "the server wants a primary key in every table, and releases have none",
        "set sql_require_primary_key to OFF for this user, or export a file",
    ),
}
