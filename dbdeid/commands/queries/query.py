"""Answer one query of a release: open it, run the query, close it again."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from dbdeid.bind.read import Source
from dbdeid.commands.queries.answers import Answers
from dbdeid.commands.queries.opened import opened
from dbdeid.commands.queries.result import Result
from dbdeid.engine.file_names import given_path
from dbdeid.engine.session import Settings
from dbdeid.query.dialects.dialects import Dialect


def query(
    source: Source,
    sql: str,
    connection: Any = None,
    *,
    database: str | Path | None = None,
    settings: Settings | None = None,
    spread_suppressed: bool = False,
    trial: bool = False,
) -> Result:
    """Answer SQL that was written for the source of a release from the release alone.

    Nothing is written.

    Args:
        source: the spec of a release (path, text or dict), or an exported file.
        sql: one SELECT; its FROM names the source.
        connection: an open DuckDB connection to work on.
        database: in place of the spec's `database`.
        settings: limits of an opened connection.
        spread_suppressed: count suppressed records as well, spread like those that are released.
        trial: ask the trial of a spec, not what it published.

    Raises:
        DataError: there is no such release, or it cannot answer that.
    """
    database = given_path(database)
    with opened(source, connection, database, settings, trial=trial) as release:
        return Answers(release).answer(sql, spread=spread_suppressed)


def rewritten(
    source: Source,
    sql: str,
    connection: Any = None,
    *,
    database: Path | None = None,
    settings: Settings | None = None,
    spread_suppressed: bool = False,
    trial: bool = False,
    dialect: Dialect = "duckdb",
) -> str:
    """What `query` would run, not run: a script in the dialect of an engine.

    In other dialects than DuckDB's it reads the released tables by their plain names.

    Raises:
        DataError: there is no such release, or it cannot answer that.
    """
    with opened(source, connection, database, settings, trial=trial) as release:
        return Answers(release).script(sql, dialect, spread=spread_suppressed)
