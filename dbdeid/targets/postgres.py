"""Tables of PostgreSQL, written by COPY in one transaction."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dbdeid.data.location.address import Resolved
from dbdeid.engine.expressions import identifier, select
from dbdeid.engine.relation import Relation
from dbdeid.engine.sqltext import sql
from dbdeid.errors import DataError
from dbdeid.sources.postgres import Postgres, numerics
from dbdeid.sources.rows import Rows, without_cells
from dbdeid.targets.shape import Shape, named
from dbdeid.verify.base.stored_types import Program

if TYPE_CHECKING:
    import pyarrow as pa

_LONGEST = 63  # bytes of a name; the rest is cut off without a word
# Each statement sees what was committed before it; types are PostgreSQL's own; rows in the order in
# which they lie; a wait that ends; no end while the verifier reads.
_SETTINGS = (
    "SET TRANSACTION ISOLATION LEVEL READ COMMITTED",
    "SET LOCAL search_path = pg_catalog, pg_temp",
    "SET LOCAL synchronize_seqscans = off",
    "SET LOCAL max_parallel_workers_per_gather = 0",
    "SET LOCAL lock_timeout = '60s'",
    "SET LOCAL idle_in_transaction_session_timeout = 0",
)
# When its server was started, and which database: nothing that it takes a right to see.
_IDENTITY = (
    "SELECT pg_catalog.date_part('epoch', pg_catalog.pg_postmaster_start_time()), d.oid "
    "FROM pg_catalog.pg_database d WHERE d.datname = pg_catalog.current_database()"
)
_FOUND = (
    "SELECT c.relkind::pg_catalog.text, c.relrowsecurity FROM pg_catalog.pg_class c "
    "JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace "
    "WHERE n.nspname = $1 AND c.relname = $2"
)
_MAY = (
    "SELECT pg_catalog.has_schema_privilege(n.oid, 'USAGE') "
    "AND pg_catalog.has_schema_privilege(n.oid, 'CREATE') "
    "FROM pg_catalog.pg_namespace n WHERE n.nspname = $1"
)
# What gives a new table the rights of an old one, and no others: statements, written by the server.
# A new table has those of ALTER DEFAULT PRIVILEGES, which its owner may have revoked from the old.
_RIGHTS = """
WITH new AS (
  SELECT c.relacl, c.relowner
  FROM pg_catalog.pg_class c
  JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
  WHERE n.nspname = $1 AND c.relname = $3
), old AS (
  SELECT c.relacl, c.relowner, pg_catalog.pg_get_userbyid(c.relowner) AS owner
  FROM pg_catalog.pg_class c
  JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
  WHERE n.nspname = $1 AND c.relname = $2
)
SELECT DISTINCT
  0 AS place,
  pg_catalog.format(
    'REVOKE ALL ON TABLE %I.%I FROM %s',
    $1::pg_catalog.text,
    $2::pg_catalog.text,
    CASE
      WHEN a.grantee = 0 THEN 'PUBLIC'
      ELSE pg_catalog.quote_ident(pg_catalog.pg_get_userbyid(a.grantee))
    END
  ) AS statement
FROM new CROSS JOIN LATERAL pg_catalog.aclexplode(new.relacl) a
WHERE a.grantee <> new.relowner
UNION ALL
SELECT
  1,
  pg_catalog.format(
    'GRANT %s ON TABLE %I.%I TO %s%s',
    a.privilege_type,
    $1::pg_catalog.text,
    $2::pg_catalog.text,
    CASE
      WHEN a.grantee = 0 THEN 'PUBLIC'
      ELSE pg_catalog.quote_ident(pg_catalog.pg_get_userbyid(a.grantee))
    END,
    CASE WHEN a.is_grantable THEN ' WITH GRANT OPTION' ELSE '' END
  )
FROM old CROSS JOIN LATERAL pg_catalog.aclexplode(old.relacl) a
WHERE a.grantee <> old.relowner
UNION ALL
SELECT
  2,
  pg_catalog.format(
    'ALTER TABLE %I.%I OWNER TO %I', $1::pg_catalog.text, $2::pg_catalog.text, owner
  )
FROM old
WHERE owner <> current_user
ORDER BY 1, 2
"""
_KINDS = {
    **{"v": "view", "m": "materialized view", "p": "partitioned table", "f": "foreign table"},
    **{"i": "index", "S": "sequence", "c": "type"},
}


class PostgresTarget:
    """A transaction on a server.

    Args:
        address: with its secrets.
        alias: how messages call the database.
        writing: whether anything will be written.

    Raises:
        DataError: the server cannot be reached, or lets nobody in.
        MissingExtra: the driver is not installed.
    """

    program: Program = "postgres"
    schema = "public"

    def __init__(self, address: Resolved, alias: str, *, writing: bool) -> None:
        self._alias, self._writing = alias, writing
        self._server = Postgres(address, alias, writing=writing)
        try:
            for setting in _SETTINGS:
                self._run(setting)
            self.identity = str(self._run(_IDENTITY).fetchall())
        except BaseException:
            self.close()
            raise

    def found(self, place: Relation) -> str | None:
        """What has that name: `table`, another word for what else it is, or None."""
        for name in (place.name, str(place.schema)):
            self._require_short(name)
        if self._writing:
            may = self._run(_MAY, (place.schema,)).fetchall()
            if not may:
                raise DataError(
                    f"{self._alias}: PostgreSQL has no schema {place.schema!r}",
                    hint="check the name in `export`; a schema is made by its owner",
                )
            if not may[0][0]:
                why, hint = _WHY["42501"]
                raise DataError(f"{self._alias}: {why}", hint=hint)
        rows = self._run(_FOUND, (place.schema, place.name)).fetchall()
        if not rows:
            return None
        kind, by_row = rows[0]
        if kind != "r":
            return _KINDS.get(kind, "object")
        return "table with policies of its rows" if by_row else "table"

    def lock(self, place: Relation) -> None:
        """Keep others from changing a table until the transaction ends."""
        self._run(f"LOCK TABLE {sql(named(place))} IN SHARE MODE")

    def rows(self, place: Relation) -> Rows:
        """The rows of a table, in the order in which they lie."""
        reader = self._server.read(sql(select("*").from_(named(place))))
        return Rows(reader.schema, iter(reader), numerics(reader), refused=self._server.refused)

    def write(self, place: Relation, shape: Shape, rows: pa.RecordBatchReader) -> None:
        """Make a table, and fill it in the order of the rows."""
        for name, _ in shape.columns:
            self._require_short(name)
        self._run(shape.statement(place))
        try:
            self._server.cursor.adbc_ingest(
                place.name, rows, mode="append", db_schema_name=place.schema
            )
        except self._server.errors as error:
            raise without_cells(error, self._refused(error)) from None

    def rename(self, staged: Relation, place: Relation) -> None:
        """Give a table a name that nothing has."""
        self._run(f"ALTER TABLE {sql(named(staged))} RENAME TO {sql(identifier(place.name))}")

    def swap(self, staged: Relation, place: Relation) -> None:
        """Give a table the place of one that is locked, which is dropped, with owner and grants."""
        rights = self._run(_RIGHTS, (place.schema, place.name, staged.name)).fetchall()
        self._run(f"DROP TABLE {sql(named(place))}")
        self.rename(staged, place)
        for _, statement in rights:
            self._run(statement)

    def commit(self) -> None:
        """Make all of it last."""
        try:
            self._server.connection.commit()
        except self._server.errors as error:
            raise without_cells(error, self._refused(error)) from None

    def close(self) -> None:
        """Let go; what was not committed never was."""
        self._server.close()

    def _run(self, statement: str, values: tuple[Any, ...] | None = None) -> Any:
        cursor = self._server.cursor
        try:
            cursor.execute(statement, values) if values else cursor.execute(statement)
        except self._server.errors as error:
            raise without_cells(error, self._refused(error)) from None
        return cursor

    def _require_short(self, name: str) -> None:
        if len(name.encode()) > _LONGEST:
            raise DataError(
                f"{self._alias}: PostgreSQL cuts names after {_LONGEST} bytes, and {name!r} is "
                "longer",
                hint="name the table, or the column in the source, otherwise",
            )

    def _refused(self, error: BaseException) -> DataError:
        """What the server refused, without a cell."""
        state = str(getattr(error, "sqlstate", None) or "")
        for start, (why, hint) in _WHY.items():
            if state.startswith(start):
                return DataError(f"{self._alias}: {why}", hint=hint)
        if state.startswith("42"):
            return DataError(
                f"{self._alias}: PostgreSQL refused it: {self._server.words(error)}",
                hint="check the names in `export`, and those of the columns",
            )
        told = f"PostgreSQL error {state}" if state else "the connection ended"
        return DataError(
            f"{self._alias}: the release was not written ({told}; text withheld: it may quote "
            "data)",
            hint="see the log of the server; what stood there stands, so run it again",
        )


_MEANWHILE = (
    "another session made a table of that name meanwhile",
    "see whose it is; choose another name, or remove it, and run it again",
)
_NO_TEXT = (
    "PostgreSQL has no text with a NUL character, or of signs outside of its encoding",
    "replace them in the source, and use a database in UTF-8",
)
_WHY = {
    **dict.fromkeys(("42P07", "23505"), _MEANWHILE),
    "42501": (
        "the user may not write this table",
        "ask for the right: GRANT USAGE, CREATE ON SCHEMA …; a table is replaced by its owner only",
    ),
    "25006": ("the server takes no changes now", "name the server that does, not a copy of it"),
    "2BP01": (
        "views or keys there depend on the table that would be replaced",
        "drop them, run it again, and make them anew; or let them read a view of your own",
    ),
    "55P03": ("another session holds the table", "run it again when that has ended"),
    "40P01": ("another session holds the table", "run it again when that has ended"),
    "54": (
        "PostgreSQL has no room for so many columns in a table, or for so long a row",
        "release fewer columns, or export a file",
    ),
    **dict.fromkeys(("22021", "22P05"), _NO_TEXT),
    "53": ("the server has no room", "make room there, and run it again"),
}
