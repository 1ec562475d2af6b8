"""Opening any table: of a database, a file or folder, or a server, as the command line names it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from dbdeid.bind.source import find_table
from dbdeid.data.location.address import holds_secret, is_server
from dbdeid.data.location.file_formats import (
    SHEETS,
    ending_of,
    is_pattern,
    is_text_source,
    names_file,
)
from dbdeid.data.source_files import database_kind, no_source, reading_source, require_table
from dbdeid.engine.engines import ENGINE
from dbdeid.engine.expressions import select
from dbdeid.engine.reading import table_parts, table_spelled
from dbdeid.engine.relation import Relation
from dbdeid.engine.session import Session, Settings, Step
from dbdeid.errors import DataError
from dbdeid.sources.attached import Database, provide, tables
from dbdeid.sources.files import Opened, open_files

READ = "deid_read"


@dataclass(frozen=True, slots=True)
class AnyTable:
    """A table that was opened.

    Attributes:
        session: that reads it.
        opened: its rows.
        keys: what a specification says of it: database or attach, and source.
        path: its file, folder or pattern; None of a database.
        text: whether its first line may hold cells in place of names.
    """

    session: Session
    opened: Opened
    keys: dict[str, object]
    path: Path | None = None
    text: bool = False

    def staged(self, name: str) -> Relation:
        """All its rows as a temporary table.

        Raises:
            DataError: it cannot be read.
        """
        with reading_source(self.path):
            table = self.session.run(Step(name, self.opened.query))
        if self.path is not None:
            require_table(self.path, table.names)
        return table


@contextmanager
def opened(
    source: str | Path, table: str | None, settings: Settings | None = None, *, sealed: bool = False
) -> Iterator[AnyTable]:
    """A table with the session that reads it.

    Args:
        source: a file, folder or pattern, or the address of a server.
        table: which of a database that holds several.
        settings: limits of the engine.
        sealed: whether others may have made the database: its views then reach no other file.

    Raises:
        DataError: the source does not exist or cannot be read, or holds several tables.
        MissingExtra: a library that it needs is not installed.
    """
    path = Path(source)
    if (database := _attached(str(source), table)) is not None:
        with ENGINE.open(None, read_only=True, settings=settings) as session:
            yield _of_database(session, database, table)
        return
    if names_file(str(source)) or path.is_dir() or is_pattern(path):
        if table is not None and (path.exists() or is_pattern(path)):
            hint = "leave the table name out"
            if names_file(table):  # a shell that wrote out a pattern
                hint = (
                    f"for several files, put the pattern in quotes: '{path.parent}/*{path.suffix}'"
                )
            raise DataError(f"{source} is one table", hint=hint)
        with ENGINE.open(None, read_only=True, settings=settings) as session:
            with reading_source(path):
                rows = open_files(session, path, READ)
            named = f"{source}/" if path.is_dir() and not str(source).endswith("/") else str(source)
            yield AnyTable(session, rows, {"source": named}, path, is_text_source(path))
        return
    if (why := no_source(path)) is not None:
        raise why
    with ENGINE.open(path, read_only=True, settings=settings, sealed=sealed) as session:
        session.enter()
        name = table or _only(session.tables(), str(source))
        relation = find_table(session, name, str(source))
        rows = Opened(select("*").from_(relation.table), passing=False)
        yield AnyTable(session, rows, {"database": str(source), "source": name})


def _attached(source: str, table: str | None) -> Database | None:
    """The database that is to be attached; None where the source is none, or the engine's own."""
    if is_server(source):
        if holds_secret(source):
            raise DataError(
                "a password stands in the address, where others can see it",
                hint="leave it out and set PGPASSWORD, or write '${DB_PASSWORD}' in its place",
            )
        name = source.partition("?")[0].rstrip("/").rpartition("/")[2].rpartition(":")[2]
    else:
        path = Path(source)
        sheet = ending_of(path) in SHEETS and table is not None
        if not path.is_file() or not (sheet or database_kind(path) == "sqlite"):
            return None
        name = path.stem
    alias = re.sub(r"\W+", "_", name, flags=re.ASCII).strip("_") or "attached"
    alias = f"{alias}_" if alias.lower() in ("main", "temp", "system", "memory", "deid") else alias
    return Database(f"_{alias}" if alias[0].isdigit() else alias, source, Path())


def _of_database(session: Session, database: Database, table: str | None) -> AnyTable:
    name = table or _only(tables(session, database), database.alias)
    *before, last = table_parts(name)
    relation = provide(session, database, before[-1] if before else None, last)
    keys: dict[str, object] = {
        "attach": {database.alias: database.address},
        "source": table_spelled(database.alias, *before[-1:], last),
    }
    return AnyTable(session, Opened(select("*").from_(relation.table)), keys)


def _only(known: list[str], source: str) -> str:
    names = [name for name in known if not name.startswith("deid.")]
    if len(names) != 1:
        raise DataError(
            f"{source} holds {len(names)} tables", hint=f"name one: {', '.join(names[:20])}"
        )
    return names[0]
