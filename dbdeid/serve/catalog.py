"""The catalog that clients of PostgreSQL see of the tables that they may query, without any rows
of a release, in a database of its own that reads no file.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

from dbdeid.engine import sqltext
from dbdeid.engine.engines import ENGINE
from dbdeid.engine.session import Session, Settings, Table
from dbdeid.query.clients.catalog import macros
from dbdeid.serve.settings import initial
from dbdeid.serve.types import SHOWN, TYPES, modifier_of, type_of

# As little as it needs: whoever asks it is not to slow down those who ask a release.
_SETTINGS = Settings(threads=1, memory_limit="512MB")
_OURS = "WHERE table_schema IN ('pg', 'inf')"
_FIRST = 16_384  # PostgreSQL's first number for what users make


@dataclass(frozen=True, slots=True)
class ServedTable:
    """A table that can be queried.

    Attributes:
        name: under which it is asked.
        columns: the types of its columns, as DuckDB writes them.
        comment: what it is.
        comments: what columns are, as far as that is to be told.
    """

    name: str
    columns: Mapping[str, str]
    comment: str
    comments: Mapping[str, str]


class Catalog:
    """The catalog of the served tables.

    Args:
        tables: what is served.
        database: how their database is called.
        role: how the client is called.

    Attributes:
        turn: who holds it may ask.
        functions: the names of its functions.
        relations: those of its tables.
        columns: the types of their columns, as DuckDB writes them.
    """

    def __init__(self, tables: Sequence[ServedTable], database: str, role: str) -> None:
        self.turn = threading.Lock()
        self._session: Session = ENGINE.open(None, read_only=False, settings=_SETTINGS, sealed=True)
        functions = sqltext.text("serve/functions.sql")
        self.functions = macros(functions)
        try:
            self._fill(tables, database, role, functions)
        except BaseException:
            self._session.close()
            raise
        names = self._session.rows(f"SELECT table_name FROM information_schema.tables {_OURS}")
        self.relations = frozenset(str(name) for (name,) in names)
        columns = self._session.rows(
            f"SELECT column_name, max(data_type) FROM information_schema.columns {_OURS} "
            "GROUP BY ALL"
        )
        self.columns = {str(name): str(kind) for name, kind in columns}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Let go of the database."""
        self._session.close()

    def answer(self, query: str) -> Table:
        """The answer to a question about tables, for who holds the turn.

        Raises:
            EngineError: it is none that DuckDB can answer.
        """
        self._session.execute("BEGIN TRANSACTION READ ONLY")
        try:
            return self._session.result(query)
        finally:
            self._session.execute("ROLLBACK")

    def interrupt(self) -> None:
        """Stop the question that another thread asks."""
        self._session.interrupt()

    def _fill(
        self, tables: Sequence[ServedTable], database: str, role: str, functions: str
    ) -> None:
        session = self._session
        for statement in ("CREATE SCHEMA pg", "CREATE SCHEMA inf"):
            session.execute(statement)
        session.execute(sqltext.text("serve/relations.sql"))
        for number, table in enumerate(tables, _FIRST):
            self._insert("served", number, table.name, table.comment)
            for place, (name, written) in enumerate(table.columns.items(), 1):
                kind, told = type_of(written), table.comments.get(name)
                of_type = (kind.oid, kind.size, modifier_of(written))
                self._insert("served_columns", number, place, name, *of_type, told)
        for kind in TYPES.values():
            (shown, category), member = SHOWN[kind.oid], kind.of.oid if kind.of else 0
            row = (kind.oid, kind.name, kind.size, category, member, kind.array, shown)
            self._insert("served_types", *row)
        self._insert("served_as", database, role)
        for name, value in initial(bounds=True).items():
            self._insert("pg_settings (name, setting)", name, value)
        session.execute(functions)
        session.execute(sqltext.text("serve/content.sql"))

    def _insert(self, table: str, *values: Any) -> None:
        holes = ", ".join("?" * len(values))
        self._session.execute_with(f"INSERT INTO pg.{table} VALUES ({holes})", list(values))
