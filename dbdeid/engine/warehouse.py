"""A warehouse: another engine that has the owner's table, and is to have its release.

Counting, applying and verifying happen there; what is chosen of the counts is chosen here. Nothing
of the warehouse's own program is loaded before a connection to it is given.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Literal, Protocol

from dbdeid.engine.expressions import Query
from dbdeid.engine.relation import Relation
from dbdeid.engine.session import Steps

if TYPE_CHECKING:
    import pyarrow as pa

Kind = Literal["table", "view"]
# Columns of profiles: how many records, and the numbers of the subjects, the last one left out.
RECORDS, FIRST, LAST = "deid_records", "deid_first", "deid_last"


class Warehouse(Steps, Protocol):
    """An open connection to a warehouse.

    A statement that it refuses is an `EngineError`, which quotes no cell. Steps are views that are
    gone when it is closed, and so is what was lent.

    Attributes:
        program: what it is called.
        version: of the program.
    """

    program: str
    version: str

    def source(self, name: str) -> Relation:
        """A table or view by the name that a specification gives it, described.

        Raises:
            DataError: there is none of that name.
        """

    def files(self, address: str) -> Relation:
        """Files that hold one table, described, as a view until the connection is closed.

        Args:
            address: of a file, a folder or a pattern, with the scheme of its file system.

        Raises:
            DataError: none are there, they are of no format with types, or cannot be read.
        """

    def overlap(self, source: Relation, place: Relation) -> bool:
        """Whether a source is read from the files of a table."""

    def place(self, name: str) -> Relation:
        """Where a table of this name is made: in the current schema of the connection."""

    def found(self, place: Relation) -> Kind | None:
        """What has that name; None where nothing has."""

    def described(self, place: Relation) -> Relation:
        """A table with its columns, types as `Column.type` spells them."""

    def marks(self, place: Relation) -> Mapping[str, str]:
        """The properties that a table was made with."""

    def arrow(self, query: Query) -> pa.Table:
        """All rows of a query."""

    def profiles(self, rows: Query, subject: str) -> pa.Table:
        """Whose rows are which, as counts: subjects whose rows are all alike are one profile.

        Args:
            rows: a query with the subject of each row.
            subject: its column, without NULL.

        Returns:
            The other columns of the query with RECORDS, FIRST and LAST: each of the subjects that
            are numbered so has that many of these rows. Who has which number means nothing.
        """

    def lend(self, name: str, rows: pa.Table) -> Relation:
        """Rows as a view, until the connection is closed."""

    def write(
        self, place: Relation, rows: Query, together: Sequence[str], marks: Mapping[str, str]
    ) -> None:
        """A new table of the rows of a query.

        Rows that are alike in some columns lie in one file, and those of a file are sorted by all
        columns, so that nothing is left of the order of the source.

        Args:
            place: where nothing is yet.
            rows: the query; its columns get no comments.
            together: columns by which rows are dealt to files; none: there is one.
            marks: properties that the table gets.

        Raises:
            DataError: something is there.
        """

    def rename(self, place: Relation, name: str) -> None:
        """Give a table a name that nothing has, in its schema."""

    def drop(self, place: Relation) -> None:
        """Drop a table when it is there."""

    def unsorted(self, place: Relation) -> int:
        """How many rows of a table come after a greater one in their file."""

    def notes(self, place: Relation) -> tuple[str, ...]:
        """Where a table and its files say more than names, types and rows: places, never texts."""

    def close(self) -> None:
        """Let go of all views; the connection stays open."""
