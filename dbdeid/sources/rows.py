"""Rows that come from a library, as Arrow batches: one way into the session for all of them."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from types import ModuleType
from typing import TYPE_CHECKING, Any

from dbdeid.engine.failure import EngineError
from dbdeid.engine.relation import Relation
from dbdeid.engine.session import Session
from dbdeid.errors import DataError, MissingExtra, did_you_mean

if TYPE_CHECKING:
    import pyarrow as pa

EXTRA = "sources"


@dataclass(frozen=True, slots=True)
class Rows:
    """Rows to be read once.

    Attributes:
        schema: of the batches.
        batches: of Arrow.
        kinds: types of the engine for columns of which Arrow has other ones.
        refused: the error to raise in place of one of the library, which may quote cells.
    """

    schema: pa.Schema
    batches: Iterator[pa.RecordBatch]
    kinds: Mapping[str, str] = field(default_factory=dict)
    refused: Callable[[BaseException], DataError] = field(kw_only=True)


@dataclass(frozen=True, slots=True)
class Wanted:
    """The table that is to be read.

    Attributes:
        alias: under which its database is attached.
        schema: its own; None for the usual one.
        name: its name, in any case of letters.
    """

    alias: str
    schema: str | None
    name: str

    def missing(self, known: Sequence[str]) -> DataError:
        """The error that there is no such table."""
        what = f"{self.schema}.{self.name}" if self.schema else self.name
        hint = did_you_mean(what, known) or "the database holds no tables, or none you may see"
        return DataError(f"{self.alias} has no table or view {what!r}", hint=hint)


def library(module: str, package: str) -> ModuleType:
    """A library that is installed only where it is wanted.

    Raises:
        MissingExtra: it is not installed.
    """
    try:
        return importlib.import_module(module)
    except ImportError:
        raise MissingExtra(package, extra=EXTRA) from None


def staged(session: Session, place: Relation, rows: Rows) -> Relation:
    """Rows as a table of the session.

    Raises:
        DataError: the library or the engine cannot read them; no cell is told.
    """
    import pyarrow as pa

    failed: list[BaseException] = []

    def watched() -> Iterator[pa.RecordBatch]:
        try:
            yield from rows.batches
        except BaseException as error:
            failed.append(error)
            raise

    _require_names(rows.schema.names)
    reader = pa.RecordBatchReader.from_batches(rows.schema, watched())
    try:
        return session.stage(place, reader, rows.kinds)
    except EngineError as error:
        if error.of_memory or not failed:
            raise
        raise without_cells(failed[0], rows.refused(failed[0])) from None


def _require_names(names: Sequence[str]) -> None:
    if not names:
        raise DataError("the source has no columns", hint="look at what makes it")
    twice = next((n for i, n in enumerate(names) if n.lower() in map(str.lower, names[:i])), None)
    if twice is not None:
        raise DataError(
            f"the source has several columns {twice!r}", hint="give each a name of its own"
        )


def without_cells(error: BaseException, told: DataError) -> DataError:
    """The error to raise; that of a library loses its text, for Python carries it along."""
    error.args = (type(error).__name__,)
    return told


def temporary(name: str) -> Relation:
    """The place of a temporary table."""
    return Relation(name, schema="main", catalog="temp")


def of_python(given: Any, name: str) -> Rows:
    """Rows of a DataFrame, an Arrow table, or whatever else gives Arrow batches.

    Raises:
        DataError: it has columns whose values are of several types, or several of a name.
    """
    import pyarrow as pa

    def refused(_: BaseException) -> DataError:
        return DataError(
            f"{name}: its rows do not become an Arrow table",
            hint="give each column values of one type, and look at those of type object",
        )

    try:
        reader = pa.RecordBatchReader.from_stream(given)
    except (pa.ArrowException, TypeError, ValueError) as error:
        if columns := [str(name) for name in getattr(given, "columns", ())]:  # of a DataFrame
            _require_names(columns)
        raise without_cells(error, refused(error)) from None
    return Rows(reader.schema, iter(reader), refused=refused)
