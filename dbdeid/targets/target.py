"""Tables in a database of another program, written all at once or not at all.

Everything happens in one transaction of that program: new tables are filled under names of their
own, read back as others will read them, and take the place of the old ones. Whatever ends the
process before the commit, the program itself rolls all of it back, and nothing is left; of MySQL,
which has no transaction for tables, an empty one may be, until the next run.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Protocol

from dbdeid.data.location.address import resolved
from dbdeid.engine.relation import Relation
from dbdeid.errors import DataError
from dbdeid.sources.attached import Database
from dbdeid.sources.rows import Rows
from dbdeid.targets.mysql import MysqlTarget
from dbdeid.targets.postgres import PostgresTarget
from dbdeid.targets.shape import Shape
from dbdeid.targets.sqlite import SqliteTarget
from dbdeid.verify.base.stored_types import Program

if TYPE_CHECKING:
    import pyarrow as pa


class Target(Protocol):
    """An open transaction in a database of another program.

    Attributes:
        program: which.
        identity: what another transaction in the same database has, too.
        schema: where tables are that name none.
    """

    program: Program
    schema: str
    identity: str

    def found(self, place: Relation) -> str | None:
        """What has that name: `table`, another word for what else it is, or None."""

    def lock(self, place: Relation) -> None:
        """Keep others from changing a table until the transaction ends, or see that they did."""

    def rows(self, place: Relation) -> Rows:
        """The rows of a table, in the order in which they lie."""

    def write(self, place: Relation, shape: Shape, rows: pa.RecordBatchReader) -> None:
        """Make a table, and fill it in the order of the rows."""

    def rename(self, staged: Relation, place: Relation) -> None:
        """Give a table a name that nothing has."""

    def swap(self, staged: Relation, place: Relation) -> None:
        """Give a table the place of one that is locked, which is dropped, with owner and grants."""

    def commit(self) -> None:
        """Make all of it last."""

    def close(self) -> None:
        """Let go; what was not committed never was."""


@contextmanager
def opened(database: Database, *, writing: bool) -> Iterator[Target]:
    """A transaction in an attached database, rolled back unless it is committed.

    Raises:
        DataError: it is not there, lets nobody in, or releases are not written into its kind.
        MissingExtra: its driver is not installed.
    """
    kind, path = database.kind, database.path
    target: Target
    if kind == "postgres":
        address = resolved(database.address, os.environ, database.alias)
        target = PostgresTarget(address, database.alias, writing=writing)
    elif kind == "mysql":
        address = resolved(database.address, os.environ, database.alias)
        target = MysqlTarget(address, database.alias, writing=writing)
    elif kind == "sqlite" and path is not None:
        target = SqliteTarget(path, database.alias, writing=writing)
    else:
        why, hint = _REFUSED.get(kind, _OTHERS)
        raise DataError(f"{database.alias}: {why}", hint=hint)
    try:
        yield target
    finally:
        target.close()


_OTHERS = (
    "releases are written into tables of PostgreSQL, MySQL and SQLite only",
    "export a file, and load it there",
)
_REFUSED: Mapping[str, tuple[str, str]] = {
    # its blocks keep what lay in the memory of the process that writes them
    "own": (
        "no release is written into a file of DuckDB that holds other tables",
        "export a file of its own, as in public.duckdb, and ATTACH it there",
    ),
    # as its snapshots do, and its catalog keeps the least and the greatest value of each column
    "ducklake": (
        "a lake keeps each release that is replaced, and what a run that was killed has written",
        "export a .parquet file, and CALL ducklake_add_data_files(…) there",
    ),
}
