"""Opening any table: of a DuckDB database, or a Parquet or CSV file."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from dbdeid.bind.source import find_table
from dbdeid.data.source_files import file_query, no_source
from dbdeid.engine.engines import ENGINE
from dbdeid.engine.expressions import Query, select
from dbdeid.engine.session import Session, Settings
from dbdeid.errors import DataError


@contextmanager
def opened(
    source: Path, table: str | None, settings: Settings | None = None, *, sealed: bool = False
) -> Iterator[tuple[Session, Query]]:
    """A session and a query for all rows of a source.

    Args:
        source: the file.
        table: which of a database that holds several.
        settings: limits of the engine.
        sealed: whether others may have made the database: its views then reach no other file.

    Raises:
        DataError: the source does not exist or cannot be read, or holds several tables.
    """
    query = file_query(source)
    if query is not None:
        if table is not None:
            raise DataError(f"{source} is one table", hint="leave the table name out")
        with ENGINE.open(None, read_only=True, settings=settings) as session:
            yield session, query
        return
    if (why := no_source(source)) is not None:
        raise why
    with ENGINE.open(source, read_only=True, settings=settings, sealed=sealed) as session:
        session.enter()
        relation = find_table(session, table or _only_table(session, source), str(source))
        yield session, select("*").from_(relation.table)


def _only_table(session: Session, source: Path) -> str:
    names = [name for name in session.tables() if not name.startswith("deid.")]
    if len(names) != 1:
        raise DataError(
            f"{source} holds {len(names)} tables", hint=f"name one: {', '.join(names[:20])}"
        )
    return names[0]
