"""What rooms above ask of an engine, once it is open: a session, and the steps that it runs.

A session is the owner's database under one catalog name, and a working place beside it. Temporary
tables, search path and transaction are its own and never meet those of the caller. Originals are
staged in temporary tables only.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Protocol, Self

from dbdeid.engine.expressions import Expr, Query, creation, table_named
from dbdeid.engine.relation import Column, Relation
from dbdeid.engine.sqltext import sql

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa
    from numpy.typing import NDArray


@dataclass(frozen=True)
class Step:
    """One named step: the temporary table it makes, and the query that makes it.

    Attributes:
        name: of the table.
        query: its rows.
        stored: whether the rows are kept; of a temporary view they are made whenever it is read.
    """

    name: str
    query: Query
    stored: bool = True

    @cached_property
    def statement(self) -> str:
        """The step as it is executed; many times over it is written only once."""
        return sql(self._made(), own=True)

    def text(self) -> str:
        """The step as it is executed, laid out for reading."""
        return sql(self._made(), pretty=True, own=True)

    def _made(self) -> Expr:
        kind: Literal["TABLE", "VIEW"] = "TABLE" if self.stored else "VIEW"
        place = table_named(self.name)
        return creation(place, kind, self.query.copy(), temporary=True, replace=True)


@dataclass(frozen=True)
class ViewStep(Step):
    """A step that makes a view beside the release, where that is written."""

    def text(self) -> str:
        """The step as it is executed, laid out for reading."""
        return sql(creation(table_named(self.name), "VIEW", self.query.copy()), pretty=True)


@dataclass(frozen=True, slots=True)
class Settings:
    """Limits of the engine; None leaves its own (or the caller's) value.

    Attributes:
        threads: how many it uses.
        memory_limit: as in `2GB`.
    """

    threads: int | None = None
    memory_limit: str | None = None


@dataclass(frozen=True, slots=True)
class Table:
    """The result of one statement.

    Attributes:
        columns: their names.
        types: of the columns, as the engine writes them.
        rows: the values.
    """

    columns: tuple[str, ...]
    types: tuple[str, ...]
    rows: tuple[tuple[Any, ...], ...]

    def to_dict(self) -> dict[str, Any]:
        """The result as JSON shows it."""
        names = self.columns
        return {
            "columns": list(names),
            "rows": [dict(zip(names, row, strict=True)) for row in self.rows],
        }


class Steps(Protocol):
    """What runs named steps and answers queries: a session, or a warehouse that has the tables."""

    def run(self, step: Step) -> Relation:
        """Run a step into its temporary table or view and describe what came out."""

    def row(self, query: Expr | str) -> tuple[Any, ...]:
        """The only row of a query."""

    def drop_temp(self, name: str) -> None:
        """Drop a temporary table or view when it is there."""


class Session(Steps, Protocol):
    """The owner's database under one catalog name, and a place to work beside it.

    A statement that the engine refuses is an `EngineError`, which quotes no cell; an interrupt of
    the keyboard stays one.

    Attributes:
        catalog: the attached database that holds the owner's tables.
    """

    catalog: str

    # -- opening and closing ---------------------------------------------------------------

    def __enter__(self) -> Self:
        """The session itself."""

    def __exit__(self, *_: object) -> None:
        """Close it."""

    def close(self) -> None:
        """Drop the session's temporary tables and detach its databases."""

    def enter(self) -> None:
        """Look names up in the database, as queries of people do.

        Raises:
            DataError: a macro of it stands for a function that is built in.
        """

    @property
    def scratch(self) -> Path | None:
        """The private folder of a session that opened its own connection."""

    @property
    def version(self) -> str:
        """Of the engine: fast hashes depend on it."""

    # -- running ---------------------------------------------------------------------------

    def execute(self, query: Expr | str) -> object:
        """Run one statement."""

    def execute_with(self, statement: str, values: list[Any]) -> object:
        """Run one statement with a value for each `?`; it is not logged."""

    def rows(self, query: Expr | str, values: list[Any] | None = None) -> list[tuple[Any, ...]]:
        """All rows of a query; `values` for each `?` of a text."""

    def result(self, query: Expr | str) -> Table:
        """All rows of a query, with the names and types of its columns."""

    def repeated(self, query: str) -> Callable[[], Table]:
        """A query that is read once, to be run at each call: its result, as above."""

    def arrays(self, query: Expr | str, values: list[Any] | None = None) -> dict[str, NDArray[Any]]:
        """The columns of a query without NULLs as numpy arrays; `values` for each `?` of a text."""

    def table(self, relation: Relation) -> pa.Table:
        """A table as an Arrow table."""

    def batches(self, query: Query) -> pa.RecordBatchReader:
        """The rows of a query as Arrow batches, in its order, read as they are consumed."""

    def frame(self, relation: Relation) -> pd.DataFrame:
        """A table as a pandas frame."""

    def fill(self, step: Step) -> int:
        """Run a step into its temporary table and return the number of its rows."""

    def interrupt(self) -> None:
        """Stop the statement that another thread runs here, which ends it with an interrupt."""

    def settle(self) -> None:
        """Let go of the rows that an interrupt left unread, which would bar other work."""

    def transaction(self) -> AbstractContextManager[None]:
        """All or nothing; what cannot be committed is an error, never a silent rollback."""

    # -- tables ----------------------------------------------------------------------------

    def upload(self, name: str, columns: Mapping[str, Any]) -> Relation:
        """A temporary table from columns of one length, as `engine.arrow.array` takes them."""

    def stage(
        self, place: Relation, rows: pa.RecordBatchReader, kinds: Mapping[str, str]
    ) -> Relation:
        """A new table from Arrow batches, which are read once.

        Args:
            place: of the table: a temporary one, or one in a database of `attach_empty`.
            rows: the batches.
            kinds: types of the engine for columns that are to be read as such.
        """

    def borrowed(self, name: str) -> pa.RecordBatchReader | None:
        """The rows of a temporary table or view of the connection that the session was opened over.

        None where there is none of that name, or the connection is the session's own.

        Raises:
            DataError: the connection has a result that its owner has not fetched.
        """

    def temp(self, name: str) -> Relation:
        """A temporary table of this session."""

    def drop(self, relation: Relation) -> None:
        """Drop a table or view when it is there."""

    def create_sorted(self, target: Relation, rows: Query, columns: Sequence[Column]) -> None:
        """Write a table afresh, sorted by all its columns."""

    def describe(self, source: Expr) -> tuple[Column, ...]:
        """Names and types of the columns of a table or query."""

    def relation(self, name: str, schema: str = "main", catalog: str | None = None) -> Relation:
        """A table or view of the owner's database (or of another attached one), described."""

    def tables(self) -> list[str]:
        """Tables and views of the owner's database, schema-qualified outside `main`."""

    def stored_tables(self) -> list[str]:
        """The tables of the owner's main schema, without views."""

    def exists(self, name: str, schema: str = "main", catalog: str | None = None) -> str | None:
        """'table' or 'view' when an object of that name exists, else None."""

    def definition(self, name: str, schema: str, catalog: str) -> str | None:
        """The statement that made a view; None where there is none of that name."""

    def views(self, catalog: str) -> dict[str, str]:
        """The statements that made the views of a database, by name."""

    def created(self, table: Relation) -> str:
        """The statement that would make a table as it is, collations and all; empty if unknown."""

    def comments(self, table: Relation) -> dict[str, str | None]:
        """The comment of each column of a table or view, in order."""

    def comment(self, table: Relation, name: str, comment: str) -> None:
        """Set the comment of a column of a table or view."""

    # -- files and settings ----------------------------------------------------------------

    def can_write(self, catalog: str | None = None) -> bool:
        """Whether the engine may write files, and into this attached database if one is named."""

    def compares_by_bytes(self) -> bool:
        """Whether text without a collation of its own is compared byte by byte."""

    def keep_order(self) -> None:
        """Give the rows of files in the order in which they stand there."""

    def is_release(self) -> bool:
        """Whether the owner's database is a published release: it holds no more than one does."""

    def file_of(self, catalog: str) -> Path | None:
        """The file of an attached database; None when it is in memory."""

    def attach(
        self,
        path: Path,
        *,
        read_only: bool = False,
        private: bool = False,
        name: str | None = None,
    ) -> str:
        """Attach a file for the session's life and give the catalog name it got.

        A private one, and what the engine keeps beside it, are for their owner only.

        Raises:
            DataError: it cannot be opened, or the name that is asked for is taken.
        """

    def extends(self, extension: str) -> bool:
        """Whether an extension of the engine is here to be used; none is ever downloaded."""

    def install_hint(self, extension: str) -> str:
        """How an extension is installed, with a network and without."""

    def attach_server(self, kind: str, address: str, name: str) -> None:
        """Attach a database of another program by an extension, to be read only.

        Args:
            kind: of it, as the extension names it.
            address: with its secrets: it is neither logged nor told.
            name: the catalog name that it gets.

        Raises:
            EngineError: it cannot be attached; the text may tell the address.
        """

    def attach_empty(self, name: str, schema: str) -> None:
        """Attach an empty database in memory for the session's life, with a schema.

        One that was attached so before gets another schema.

        Raises:
            DataError: the name is taken.
        """

    def is_attached(self, name: str) -> bool:
        """Whether the session has attached a database under a name that it was given."""

    def is_foreign(self, catalog: str) -> bool:
        """Whether an attached database is of another program, and may change at any time."""

    def attach_new(self, path: Path) -> str:
        """Attach a file to be published, under a name that reveals nothing, and return the name."""

    def detach(self, name: str) -> None:
        """Let go of an attached file; its content is then whole on disk."""

    def export(self, rows: Query, path: Path) -> None:
        """Write the rows of a query into a new file of one table, by its ending."""

    def publish(
        self,
        path: Path,
        tables: Mapping[str, Relation],
        views: Mapping[str, Query],
        files: Mapping[str, Path],
    ) -> None:
        """Write verified tables, views of them and the public macros into a new database file.

        Equal releases are equal files, and nothing else of this process is in them.

        Args:
            path: the file, which does not exist yet; what is passed on lies beside it meanwhile.
            tables: each table by the name it gets.
            views: queries of these names, by the name that each view gets.
            files: of some tables, by the name, a Parquet file that holds what is verified.

        Raises:
            DataError: the file cannot be written.
        """

    def install_macros(self) -> None:
        """Install the macros in the owner's database: all of them or none."""
