"""Asking a release what one would have asked its source: by its spec, or by an exported file."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dbdeid.bind.read import Source, read
from dbdeid.commands.verify_evaluate_export import Existing, existing
from dbdeid.data.json import Json, JsonObject
from dbdeid.engine.expressions import Expr
from dbdeid.engine.failure import EngineError
from dbdeid.engine.session import Session, Settings
from dbdeid.engine.sqltext import sql as text_of
from dbdeid.errors import DataError
from dbdeid.external import foreign_release
from dbdeid.external.foreign_release import Foreign
from dbdeid.external.metrics import count
from dbdeid.publish import queryable_file
from dbdeid.publish.queryable import answerable
from dbdeid.query.dialects.dialects import Dialect, transpiled, unplaced
from dbdeid.query.parse.answerable import Answerable
from dbdeid.query.parse.as_written import chooses
from dbdeid.query.parse.statement import names_of_tables
from dbdeid.query.rewrite.answer import Plan, answered, hollow, planned, spread_keys
from dbdeid.query.rewrite.rewrite import SuppressedRecords
from dbdeid.record.border import record_of
from dbdeid.record.release_record import ReleaseRecord
from dbdeid.release.reuse_levels import require_same
from dbdeid.spec.method_spec import capabilities_of
from dbdeid.spec.names import is_external
from dbdeid.workspace.standing import unpublishable

if TYPE_CHECKING:
    import pandas as pd

ROWS_SHOWN = 100


@dataclass(frozen=True, slots=True, repr=False)
class Result:
    """The answer to a question, as a release gives it.

    Attributes:
        columns: names; each aggregate `x` is followed by `x_lower` and `x_upper`.
        rows: values; a bound is None where none is known.
        sql: what was run on the release.
        notes: what a reader of the numbers should know.
        suppressed: records of the source that the release lacks; None where that is not known.
    """

    columns: tuple[str, ...]
    rows: tuple[tuple[Any, ...], ...]
    sql: str
    notes: tuple[str, ...]
    suppressed: int | None

    def to_dict(self) -> JsonObject:
        """The answer as JSON shows it: numbers as numbers, dates as text, NaN as null."""
        return {
            "columns": list(self.columns),
            "rows": [
                {name: _plain(value) for name, value in zip(self.columns, row, strict=True)}
                for row in self.rows
            ],
            "sql": self.sql,
            "notes": list(self.notes),
            "suppressed": self.suppressed,
        }

    def to_df(self) -> pd.DataFrame:
        """The answer as a pandas frame."""
        import pandas as pd

        return pd.DataFrame.from_records(list(self.rows), columns=list(self.columns))

    def __repr__(self) -> str:
        table = self.to_df().to_string(index=False, max_rows=ROWS_SHOWN)
        return "\n".join([table, *(f"note: {note}" for note in self.notes)])

    def _repr_html_(self) -> str:
        from dbdeid.report.notebook import answer_html

        return answer_html(self.columns, self.rows, self.notes)


def _plain(value: object) -> Json:
    if isinstance(value, Decimal):
        value = int(value) if value == value.to_integral_value() else float(value)
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    return value if value is None or isinstance(value, bool | int | str) else str(value)


def query(
    source: Source,
    sql: str,
    connection: Any = None,
    *,
    database: Path | None = None,
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
    with _asked(source, sql, connection, database, settings, trial=trial) as asked:
        missing = asked.missing(spread=spread_suppressed)
        with _refusing():
            plan = planned(asked.session, sql, asked.target, missing)
            found = answered(asked.session, plan)
        statements = [text_of(view, pretty=True) for view in asked.views]
        whole = ";\n\n".join([*statements, found.sql])
        notes = (
            *asked.notes,
            *asked.of_suppressed(spread=spread_suppressed),
            *_of_plan(plan, sql, asked),
        )
        return Result(found.columns, found.rows, whole, notes, asked.suppressed)


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
    with _asked(source, sql, connection, database, settings, trial=trial) as asked:
        missing = asked.missing(spread=spread_suppressed)
        with _refusing():
            plan = planned(asked.session, sql, asked.target, missing)
        if dialect == "duckdb":
            queries = (*asked.views, plan.query)
            return ";\n\n".join(text_of(query, pretty=True) for query in queries)
        if plan.question is None:
            raise DataError(
                "the query is run as it is written, which is known to be right in DuckDB only",
                hint="run it on the released table, all of whose columns it names hold the "
                "values of the source",
            )
        return transpiled(unplaced(plan.query), dialect)


def _of_plan(plan: Plan, sql: str, asked: _Asked) -> Iterator[str]:
    """What a reader should know of how the numbers came about."""
    if plan.question is not None:
        for name in hollow(asked.session, plan.question, asked.target):
            yield (
                f"{name} has one value in all records, which stands for several: groups by it "
                "tell nothing about the data"
            )
        if not plan.question.aggregates and spread_keys(plan.question, asked.target):
            yield "the groups that records may be of; COUNT(*) tells how many are certain to be"
        joined = {join.table.name for join in plan.question.every_join}
    else:
        read = {name.lower() for name in names_of_tables(sql, asked.session.catalog)}
        joined = {t.name for t in asked.target.tables if t.name.lower() in read}
        if asked.target.truthful:
            yield "exact of the records released: all columns asked for are released as they are"
        if chooses(plan.query):
            yield "records have another order than in the source: of equals, another may come first"
    for name in sorted(joined):
        yield f"{name} is read as it is: no release protects it"


@dataclass(frozen=True, slots=True)
class _Asked:
    """A release that is open for a question.

    Attributes:
        session: where it is.
        target: what can be asked.
        notes: what a reader of answers should know.
        views: statements that made its files readable.
        records: of the source; None where that is not known.
        released: how many of them there are in the release.
    """

    session: Session
    target: Answerable
    notes: tuple[str, ...]
    views: tuple[Expr, ...] = ()
    records: int | None = None
    released: int = 0

    @property
    def suppressed(self) -> int | None:
        return None if self.records is None else self.records - self.released

    def missing(self, *, spread: bool) -> SuppressedRecords | None:
        """The suppressed records, where they are to be spread."""
        if not spread:
            return None
        if self.records is None or self.suppressed is None:
            raise DataError(
                "how many records were suppressed is known only where the original is: not from an "
                "exported file, nor from a release made elsewhere whose `source` is missing",
                hint="ask the spec of the release, or leave --spread-suppressed out",
            )
        return SuppressedRecords(self.suppressed, self.records)

    def of_suppressed(self, *, spread: bool) -> Iterator[str]:
        """What suppression means for the answer."""
        if self.records is None or not self.suppressed:
            return
        one = self.suppressed == 1
        were, they, them = ("was", "it is", "it") if one else ("were", "they are", "them")
        share = f"{self.suppressed:,} of {self.records:,} records {were} suppressed"
        if spread:
            yield f"{share}; counts and sums are spread over {them} like over those released"
        else:
            yield (
                f"{share}: {they} in no number here, and bounds hold of the others only; "
                f"--spread-suppressed counts {them} too"
            )


@contextmanager
def _asked(
    source: Source,
    sql: str,
    connection: Any,
    database: Path | None,
    settings: Settings | None,
    *,
    trial: bool,
) -> Iterator[_Asked]:
    path = _exported(source)
    if path is not None:
        if trial:
            raise DataError(f"{path}: --trial goes with a spec", hint="leave it out for a file")
        if database is not None:
            raise DataError(
                f"{path}: --database goes with a spec", hint="leave it out for an exported file"
            )
        with queryable_file.opened(path, sql, connection, settings) as (session, found):
            yield _Asked(session, found.target, found.notes, found.views)
        return
    file = read(source, connection, database, trial=trial)
    if is_external(file):
        with foreign_release.opened(
            file, connection, database=database, settings=settings
        ) as foreign:
            yield _of_foreign(foreign)
        return
    with existing(file, connection, database=database, settings=settings) as release:
        yield _of_spec(release)


def _exported(source: Source) -> Path | None:
    """The file that is asked, if it is no spec."""
    if isinstance(source, Mapping) or (isinstance(source, str) and "\n" in source):
        return None
    path = Path(source)
    return path if path.suffix.lower() in queryable_file.KINDS else None


def _of_spec(found: Existing) -> _Asked:
    """The release of a spec, as its last run left it."""
    if found.entry.kind == "view":
        raise DataError(
            "a preview view has no dictionary to answer from", hint="release it as a table"
        )
    require_same(found.file, found.entry, besides=("privacy",))
    session, bound, record = found.work.session, found.bound(), record_of(found.entry)
    why = unpublishable(found.book, found.entry)
    target = answerable(bound, session, found.public, found.declared(bound), staged=False)
    return _Asked(
        session,
        target,
        (*([why.message] if why else ()), *_untold(record, target)),
        records=record.source_rows,
        released=record.released_rows - (record.counterfeit_rows or 0),
    )


def _of_foreign(found: Foreign) -> _Asked:
    """A release made elsewhere; how many records were suppressed, only the original tells."""
    notes = ["made elsewhere: bounds are as good as its dictionary; `dbdeid verify` looks at both"]
    if not found.truthful:
        notes = ["no bounds: the records are declared untruthful"]
    records = None if found.original is None else count(found.session, found.original)
    released = count(found.session, found.table)
    if records is not None and records < released:
        records = None
    return _Asked(
        found.session, found.answerable(), tuple(notes), records=records, released=released
    )


def _untold(record: ReleaseRecord, target: Answerable) -> Iterator[str]:
    """Why a release has no bounds to give, and what its numbers are of."""
    if record.synthetic is not None:
        yield "no bounds: the records are synthetic"
    elif record.masked is not None:
        yield "no bounds: quasi-identifiers are the means of groups"
    elif capabilities_of(record.method).moves:
        yield f"no bounds: {record.relocated_rows:,} records have quasi-identifiers of others"
    elif not target.truthful:
        yield (
            f"no bounds: {record.counterfeit_rows:,} of {record.released_rows:,} records "
            "are counterfeit, which ones is not told, and all are counted"
        )


# What a mistake in a question looks like; anything else is a defect or a missing file.
_OF_THE_QUESTION = (
    "BinderException",
    "ConversionException",
    "InvalidInputException",
    "OutOfRangeException",
)


@contextmanager
def _refusing() -> Iterator[None]:
    try:
        yield
    except EngineError as error:
        if error.kind not in _OF_THE_QUESTION:
            raise
        raise DataError(
            f"the query cannot be answered from the release: {error.message}",
            hint="compare columns with constants of their own type; -vv logs the statement",
        ) from None
