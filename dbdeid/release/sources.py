"""Opening any table: of a DuckDB database, or a Parquet or CSV file."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from sqlglot import exp

from dbdeid.engine.session import Session, Settings
from dbdeid.errors import DataError
from dbdeid.release.bind import file_query, find_table


@contextmanager
def opened(
    source: Path, table: str | None, settings: Settings | None = None
) -> Iterator[tuple[Session, exp.Query]]:
    """A session and a query for all rows of a source.

    Raises:
        DataError: the source does not exist or cannot be read, or holds several tables.
    """
    query = file_query(source)
    if query is not None:
        if table is not None:
            raise DataError(f"{source} is one table", hint="leave the table name out")
        with Session.open(None, read_only=True, settings=settings) as session:
            yield session, query
        return
    with Session.open(source, read_only=True, settings=settings) as session:
        relation = find_table(session, table or _only_table(session, source), str(source))
        yield session, exp.select("*").from_(relation.table)


def _only_table(session: Session, source: Path) -> str:
    names = [name for name in session.tables() if not name.startswith("deid.")]
    if len(names) != 1:
        raise DataError(
            f"{source} holds {len(names)} tables", hint=f"name one: {', '.join(names[:20])}"
        )
    return names[0]
