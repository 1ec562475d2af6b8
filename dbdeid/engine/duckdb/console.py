"""Running a script of SQL statements on a database opened as any DuckDB client opens it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import suppress
from difflib import get_close_matches
from pathlib import Path
from typing import TypeAlias

import duckdb

from dbdeid.engine.duckdb.failure import reason, require_unshadowed
from dbdeid.engine.duckdb.macros import in_release
from dbdeid.engine.duckdb.opening import SEAL
from dbdeid.engine.duckdb.statements import table_of
from dbdeid.engine.session import Settings, Table
from dbdeid.errors import DataError

# What DuckDB takes as the value of a setting.
Config: TypeAlias = dict[str, str | bool | int | float | list[str]]

IN_MEMORY = ":memory:"


def run_script(
    database: Path,
    text: str,
    settings: Settings,
    register: Callable[[duckdb.DuckDBPyConnection], None],
    *,
    read_only: bool = False,
    create: bool = False,
) -> Iterator[Table]:
    """Run every statement of a script and give each result as it comes.

    Args:
        database: the file; `:memory:` for none.
        text: DuckDB SQL.
        settings: engine limits.
        register: prepares the connection.
        read_only: for a published release, which others may have made: it is not changed, and
            reaches no other file; temporary tables can be made.
        create: the file is made where it is missing.

    Raises:
        DataError: the database is missing or cannot be opened, a macro of a published release
            stands for a function of DuckDB, or a statement fails.
    """
    if not (create or database.exists() or str(database) == IN_MEMORY):
        raise DataError(f"{database}: no such database file", hint=_like(database))
    if database.exists() and not database.is_file():  # a pipe would never be opened
        raise DataError(f"{database}: no regular file", hint="give a DuckDB database")
    limits = {"threads": settings.threads, "memory_limit": settings.memory_limit}.items()
    config: Config = {key: value for key, value in limits if value is not None}
    try:
        connection = duckdb.connect(str(database), read_only=read_only, config=config)
    except duckdb.Error as error:
        raise DataError(
            f"{database}: cannot be opened ({reason(error)})", hint="give a DuckDB database"
        ) from None
    try:
        if read_only:
            catalog = connection.execute("SELECT system.main.current_database()").fetchall()[0][0]
            require_unshadowed(connection, catalog)
        register(connection)
        if read_only:
            for setting in SEAL:
                connection.execute(setting)
        yield from _results(connection, text)
    except duckdb.Error as error:
        if read_only and "disabled by configuration" in str(error):
            raise DataError(
                f"{database}: from a published release no other file is read or written",
                hint="attach the release to a database of your own, in DuckDB",
            ) from None
        if read_only and "attached in read-only mode" in str(error):
            raise DataError(
                f"{database}: a published release is not changed",
                hint="make a TEMP table, or attach the release to a database of your own",
            ) from None
        told = _told(error)
        hint = "look at the SQL given with -c, in a file or on standard input"
        if read_only:
            hint += "; a release has no deid.hierarchies, nor what reads it"
        raise DataError(told, hint="" if "Hint: " in told else hint) from None
    finally:
        connection.close()


def _like(database: Path) -> str:
    """A database beside one that is missing, whose name is near; or how to make a new one."""
    with suppress(OSError):
        beside = [p.name for p in database.parent.iterdir() if p.suffix == database.suffix]
        if close := get_close_matches(database.name, beside, n=1):
            return f"did you mean {database.with_name(close[0])}? A new one is made with --create"
    return f"check the path; a new one is made with --create, and {IN_MEMORY} needs none"


def is_release(database: Path) -> bool:
    """Whether a file is a published release, found without changing it."""
    if not database.is_file():
        return False
    try:
        with duckdb.connect(str(database), read_only=True) as connection:
            return in_release(connection)
    except duckdb.Error:  # opening it for work tells why
        return False


def _results(connection: duckdb.DuckDBPyConnection, text: str) -> Iterator[Table]:
    for statement in connection.extract_statements(text):
        connection.execute(statement)
        columns = tuple(c[0] for c in connection.description or ())
        gives = statement.expected_result_type
        counts = duckdb.ExpectedResultType.CHANGED_ROWS in gives and columns == ("Count",)
        if duckdb.ExpectedResultType.QUERY_RESULT in gives and columns and not counts:
            yield table_of(connection)


def _told(error: duckdb.Error) -> str:
    """The text of an error of our own functions and macros, else what is safe to show."""
    text = str(error)
    ours = re.search(r"dbdeid\.errors\.\w+: (.*)|(?:\w+Error): (.*)", text, re.DOTALL)
    if "while executing the UDF" in text and ours:
        return str(ours[1] or ours[2]).strip()
    if text.startswith("Invalid Input Error: deid."):
        return text.removeprefix("Invalid Input Error: ").split("\n")[0]
    return f"SQL: {reason(error)}"
