"""A session of Spark, classic or over Spark Connect, as a warehouse.

Tables are Parquet in the session's catalog. Views of a run have names that nobody guesses, and are
dropped at its end; its statements have a tag, by which they are stopped when the run is.
"""

from __future__ import annotations

import secrets
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from pyspark.logger import PySparkLogger
from pyspark.sql import functions as f
from sqlglot import exp
from sqlglot.errors import ErrorLevel, UnsupportedError

from dbdeid.engine.expressions import Expr, Query
from dbdeid.engine.failure import EngineError
from dbdeid.engine.process import uninterrupted
from dbdeid.engine.reading import table_parts
from dbdeid.engine.relation import Column, Relation
from dbdeid.engine.session import Step
from dbdeid.engine.spark.failure import ERRORS, kind_of
from dbdeid.engine.spark.files import notes_in
from dbdeid.engine.spark.profiles import profiles
from dbdeid.engine.spark.reading import files_of
from dbdeid.engine.spark.types import plain, shape_of, type_name
from dbdeid.engine.warehouse import Kind
from dbdeid.errors import DataError

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_LEAST = 4  # of pyspark, by which rows come and go as Arrow
# What the program itself writes into the properties of a table.
_ITS_OWN = ("transient_lastDdlTime", "numFiles", "totalSize", "numRows", "spark.sql.")
_PAUSE = 0.2  # seconds between two attempts to stop a statement
_SMALL = 64 * 2**20  # bytes that are sent to each machine of a cluster for a join
_SOURCE = "name a table, or a view: visits.createOrReplaceTempView('visits'), source: visits"
# Loggers of pyspark that write the text of an error, with the cells in it, to the terminal.
_QUOTING = ("SQLQueryContextLogger", "DataFrameQueryContextLogger")
_THERE = ("TABLE_OR_VIEW_ALREADY_EXISTS", "TABLE_ALREADY_EXISTS", "LOCATION_ALREADY_EXISTS")


class Spark:
    """See `engine.warehouse.Warehouse`.

    Args:
        session: the caller's own; it is neither stopped nor given other settings.

    Raises:
        DataError: it is too old, or not in ANSI mode, in which nothing becomes NULL unseen.
    """

    program = "Spark"

    def __init__(self, session: SparkSession) -> None:
        self._spark = session
        self._own = f"deid_{secrets.token_hex(8)}"
        self._views: dict[str, str] = {}
        with self._told():
            self.version = str(session.version)
            ansi = str(session.conf.get("spark.sql.ansi.enabled"))
        if int(self.version.partition(".")[0]) < _LEAST:
            raise DataError(
                f"Spark {self.version} is too old for a release",
                hint=f"use Spark {_LEAST} or newer",
            )
        if ansi.lower() != "true":
            raise DataError(
                "this session of Spark makes NULL of what it cannot read (no ANSI mode)",
                hint="SET spark.sql.ansi.enabled = true",
            )

    # -- steps -----------------------------------------------------------------------------

    def run(self, step: Step) -> Relation:
        """Run a step into a view and describe what comes out."""
        with self._told():
            return self._kept(step.name, self._frame(step.query))

    def row(self, query: Expr | str) -> tuple[Any, ...]:
        """The only row of a query."""
        assert isinstance(query, exp.Query)
        with self._told():
            (found,) = self._frame(query).collect()
            return tuple(found)

    def drop_temp(self, name: str) -> None:
        """Drop a view of a step when it is there."""
        if (view := self._views.pop(name, None)) is not None:
            with self._told():
                self._spark.catalog.dropTempView(view)

    def arrow(self, query: Query) -> pa.Table:
        """All rows of a query."""
        with self._told():
            return self._frame(query).toArrow()

    def profiles(self, rows: Query, subject: str) -> pa.Table:
        """Whose rows are which, as counts."""
        with self._told():
            return profiles(self._frame(rows), subject)

    def lend(self, name: str, rows: pa.Table) -> Relation:
        """Rows as a view, until the connection is closed."""
        given = plain(rows)
        with self._told():
            frame = self._spark.createDataFrame(given, schema=shape_of(given))
            # of what is lent Spark knows no size, and would deal the whole other table for a join
            small = given.nbytes <= _SMALL
            return self._kept(name, f.broadcast(frame) if small else frame)

    def _kept(self, name: str, frame: DataFrame) -> Relation:
        view = f"{self._own}_{name}"
        frame.createOrReplaceTempView(view)
        self._views[name] = view
        return Relation(view, _columns(frame))

    def _frame(self, query: Query) -> DataFrame:
        return self._spark.sql(_text(query))

    # -- tables ----------------------------------------------------------------------------

    def source(self, name: str) -> Relation:
        """A table or view by the name that a specification gives it, described."""
        parts = table_parts(name)
        catalog, schema = (*(None,) * (3 - len(parts)), *parts[:-1])[-2:] if parts else (None, None)
        place = Relation(parts[-1], (), schema, catalog)
        with self._told():
            if not self._spark.catalog.tableExists(_quoted(place)):
                raise DataError(f"source: Spark has no table or view {name!r}", hint=_SOURCE)
        return self.described(place)

    def files(self, address: str) -> Relation:
        """Files that hold one table, described, as a view until the connection is closed."""
        with self._told():
            return self._kept(f"files_{len(self._views)}", files_of(self._spark, address))

    def overlap(self, source: Relation, place: Relation) -> bool:
        """Whether a source is read from the files of a table."""
        with self._told():
            files = (self._spark.table(_quoted(one)).inputFiles() for one in (source, place))
            return not set(next(files)).isdisjoint(next(files))

    def place(self, name: str) -> Relation:
        """Where a table of this name is made: in the current schema of the session."""
        with self._told():
            catalog = self._spark.catalog
            return Relation(name, (), catalog.currentDatabase(), catalog.currentCatalog())

    def found(self, place: Relation) -> Kind | None:
        """What has that name; None where nothing has."""
        with self._told():
            name = _quoted(place)
            if not self._spark.catalog.tableExists(name):
                return None
            kind = self._spark.catalog.getTable(name).tableType
            return "view" if kind == "VIEW" else "table"

    def described(self, place: Relation) -> Relation:
        """A table with its columns."""
        with self._told():
            found = _columns(self._spark.table(_quoted(place)))
        return Relation(place.name, found, place.schema, place.catalog)

    def marks(self, place: Relation) -> Mapping[str, str]:
        """The properties that a table was made with."""
        with self._told():
            rows = self._spark.sql(f"SHOW TBLPROPERTIES {_quoted(place)}").collect()
        return {row[0]: row[1] for row in rows if not row[0].startswith(_ITS_OWN)}

    def write(
        self, place: Relation, rows: Query, together: Sequence[str], marks: Mapping[str, str]
    ) -> None:
        """A new table of the rows of a query."""
        with self._told():
            frame = self._frame(rows)
            names = frame.columns
            cells = {name: f"c{i}" for i, name in enumerate(names)}  # as any name can be said
            numbered = frame.toDF(*cells.values())
            by = [cells[name] for name in together]
            dealt = numbered.repartition(*map(f.col, by)) if by else numbered.repartition(1)
            rows_in_files = dealt.sortWithinPartitions(*cells.values())
            # comments of the source would stand in each file
            named = [f.col(c).alias(name, metadata={}) for name, c in cells.items()]
            writer = rows_in_files.select(*named).writeTo(_quoted(place))
            writer = writer.using("parquet")
            for name, value in marks.items():
                writer = writer.tableProperty(name, value)
            self._whole(writer.create)

    def _whole(self, work: Callable[[], None]) -> None:
        """Do what makes a table, and come back when it has ended, even if that is interrupted.

        Else Spark would go on, and make the table when nobody drops it any more.
        """
        failed: list[BaseException] = []

        def run() -> None:
            self._spark.addTag(self._own)  # those of a thread are its own
            try:
                work()
            except BaseException as error:
                failed.append(error)

        worker = threading.Thread(target=run, daemon=True)
        worker.start()
        try:
            worker.join()
        except BaseException:
            with uninterrupted():
                while worker.is_alive():
                    with suppress(*ERRORS):
                        self._spark.interruptTag(self._own)
                    worker.join(_PAUSE)
            raise
        if failed:
            raise failed[0]

    def rename(self, place: Relation, name: str) -> None:
        """Give a table a name that nothing has, in its schema."""
        new = Relation(name, (), place.schema)  # in which Spark takes no catalog
        with self._told():
            self._spark.sql(f"ALTER TABLE {_quoted(place)} RENAME TO {_quoted(new)}")

    def drop(self, place: Relation) -> None:
        """Drop a table when it is there."""
        with self._told():
            self._spark.sql(f"DROP TABLE IF EXISTS {_quoted(place)} PURGE")

    def unsorted(self, place: Relation) -> int:
        """How many rows of a table come after a greater one in their file."""
        with self._told():
            table = self._spark.table(_quoted(place))
            names = [f"c{i}" for i in range(len(table.columns))]
            row = f.struct(*names)
            where = (f.input_file_name(), f.expr("input_file_block_start()"))
            told = (
                table.toDF(*names)
                .select(row, *where, f.monotonically_increasing_id())
                .toDF(*"rfbi")
            )
            told.createOrReplaceTempView(view := f"{self._own}_order")
            self._views["order"] = view
        before = "lag(r) OVER (PARTITION BY f, b ORDER BY i)"
        query = f"SELECT count(*) FROM (SELECT r, {before} AS p FROM {view}) WHERE p > r"
        with self._told():
            found = int(self._spark.sql(query).collect()[0][0])
        self.drop_temp("order")
        return found

    def notes(self, place: Relation) -> tuple[str, ...]:
        """Where a table and its files say more than names, types and rows."""
        with self._told():
            return tuple(notes_in(self._spark, _quoted(place)))

    def close(self) -> None:
        """Let go of all views."""
        for name in list(self._views):
            with suppress(EngineError):
                self.drop_temp(name)

    # -- errors ----------------------------------------------------------------------------

    @contextmanager
    def _told(self) -> Iterator[None]:
        """Errors of Spark may quote cells: their kind is told alone. An interrupt ends its work."""
        # made by Spark's own class, or its next error of the caller's would be one of ours
        loggers = [PySparkLogger.getLogger(name) for name in _QUOTING]
        before = [logger.disabled for logger in loggers]
        for logger in loggers:
            logger.disabled = True
        try:
            self._spark.addTag(self._own)
            yield
        except ERRORS as error:
            if _interrupted(error):
                raise KeyboardInterrupt from None
            raise _refused(kind_of(error)) from None
        except DataError:
            raise
        except BaseException:
            with suppress(*ERRORS):
                self._spark.interruptTag(self._own)
            raise
        finally:
            with suppress(*ERRORS):
                self._spark.removeTag(self._own)
            for logger, disabled in zip(loggers, before, strict=True):
                logger.disabled = disabled


def _interrupted(error: BaseException) -> bool:
    """Whether an error came while an interrupt was on its way, which it stands for then."""
    before: BaseException | None = error
    while before is not None:
        if isinstance(before, KeyboardInterrupt):
            return True
        before = before.__context__
    return False


def _refused(kind: str) -> DataError | EngineError:
    if kind in _THERE:
        return DataError(
            "something is where a table is to be written",
            hint="another run may write there now: wait for it; else remove what a killed run left",
        )
    return EngineError(
        f"Spark refused a statement: {kind}",
        hint="its own log tells more, and may quote cells",
        kind=kind,
        of_memory=False,
    )


def _columns(frame: DataFrame) -> tuple[Column, ...]:
    return tuple(Column(one.name, type_name(one.dataType)) for one in frame.schema.fields)


def _quoted(place: Relation) -> str:
    return place.table.sql(dialect="spark")


def _text(query: Query) -> str:
    """A query as Spark reads it.

    Raises:
        EngineError: it holds something that Spark has not.
    """
    tree = query.copy()
    for node in tree.find_all(exp.TryCast):
        node.set("safe", True)  # else it is written as a cast that fails
    try:
        return tree.sql(dialect="spark", unsupported_level=ErrorLevel.RAISE)
    except UnsupportedError as error:
        raise EngineError(
            f"the query cannot be written for Spark: {error}",
            hint="please report this as a defect of dbdeid",
            kind="UnsupportedError",
            of_memory=False,
        ) from None
