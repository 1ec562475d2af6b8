"""A specification bound to a warehouse table: its columns, and the counts of their values.

The whole of it is held against an empty table of the same columns. What a search looks at is then
counted there, and comes here as a histogram, which stays one: no row is made of it for each record.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial

from dbdeid.bind.bind import bind
from dbdeid.bind.bound import Bound, BoundColumn, Counts
from dbdeid.data.classes import subjects_here
from dbdeid.data.location.file_formats import is_pattern, is_remote
from dbdeid.engine.expressions import Expr, Query, aliased, as_often, column, count_rows, select
from dbdeid.engine.relation import Column, Relation
from dbdeid.engine.session import Session
from dbdeid.engine.warehouse import FIRST, LAST, RECORDS, Warehouse
from dbdeid.errors import DataError, Mistake, SpecError
from dbdeid.privacy import OfSensitive, population_of
from dbdeid.sources.files import Opened
from dbdeid.spec.column.column_spec import given_reason
from dbdeid.spec.file import SpecFile
from dbdeid.spec.files import located
from dbdeid.spec.names import dictionary_name
from dbdeid.spec.release_spec import Evaluate

_COUNTS, _EMPTY = "deid_counted_there", "deid_columns_there"
PEOPLE = "people"  # the column of a population that says how many a row stands for
_ZONED = "TIMESTAMP WITH TIME ZONE"


def source_there(file: SpecFile, warehouse: Warehouse) -> Relation:
    """The source in a warehouse: a table or view of it, or files that it reads.

    A path stands beside the spec, as everywhere, or is an address of the warehouse's own.

    Raises:
        SpecError: no file can have the path.
        DataError: it is not there, or cannot be read.
    """
    name = file.spec.source_name
    if file.source_kind != "file":
        return warehouse.source(name)
    if is_remote(name):
        return warehouse.files(name)
    path = located(file, name, "source").absolute()
    literally = not is_pattern(name) or path.exists()
    return warehouse.files(f"file://{_PATTERN.sub(_AS_IT_IS, str(path)) if literally else path}")


_PATTERN, _AS_IT_IS = re.compile(r"[\\\[\]{}*?]"), r"\\\g<0>"


def held_there(file: SpecFile, table: Relation, session: Session) -> Bound:
    """The whole specification on the columns of its table; the source is the table there.

    Args:
        file: the spec.
        table: its source, as `source_there` finds it.
        session: that knows the types.

    Raises:
        SpecError: columns missing in the table or in the spec, types that cannot be released, and
            columns that leave uncounted without a reason.
    """
    empty = _empty(session, table.columns)
    unread = replace(file, spec=file.spec.model_copy(update={"source": _EMPTY}))
    bound = replace(bind(unread, session, Opened(select("*").from_(empty.table))), file=file)
    session.drop_temp(empty.name)
    if mistakes := [*_untyped(bound, table), *_unexplained(bound)]:
        raise SpecError(mistakes, source=file.label)
    return replace(bound, source=select("*").from_(table.table), opened=None)


def _empty(session: Session, columns: tuple[Column, ...], name: str = _EMPTY) -> Relation:
    """A table of these columns; one whose type is not known here has another that cannot leave."""
    import pyarrow as pa

    from dbdeid.engine.arrow import type_of

    shape = pa.schema([(c.name, type_of(c.type) or pa.binary()) for c in columns])
    names = [c.name.lower() for c in columns]
    if repeated := next((name for name in names if names.count(name) > 1), None):
        raise DataError(
            f"the source has several columns {repeated!r}", hint="give each its own name in a view"
        )
    place = Relation(name, schema="main", catalog="temp")
    return session.stage(place, pa.RecordBatchReader.from_batches(shape, iter(())), {})


def is_there(bound: Bound, name: str) -> bool:
    """Whether a table that a spec names is in the warehouse, where the source is counted in one."""
    there = bound.spec.kind_of(name) == "table" or is_remote(name)
    return bound.counts is not None and there


def is_counted(bound: Bound, found: BoundColumn) -> bool:
    """Whether a column is counted: one that models, or what remains beside them, are about."""
    modelled = {
        name.lower() for m in bound.models if isinstance(m, OfSensitive) for name in m.columns
    }
    return found.spec.role in ("quasi_identifier", "sensitive") or found.name.lower() in modelled


def _untyped(bound: Bound, table: Relation) -> Iterator[Mistake]:
    """Columns that would leave in another type than their own, which each engine writes its way."""
    for found, there in zip(bound.columns, table.columns, strict=True):
        if not found.spec.released:
            continue
        told = f"column {found.name!r} is {there.shown_type}"
        if there.type == _ZONED:
            yield bound.file.mistake(
                f"{told}, whose values depend on who reads them",
                "columns",
                found.name,
                hint="make it a DATE, or a TIMESTAMP_NTZ, in a view, and release that",
            )
        elif found.spec.role != "quasi_identifier" and found.released_type != there.type:
            yield bound.file.mistake(
                f"{told}, and would be released as {found.released_type}",
                "columns",
                found.name,
                hint="cast it in a view, and release that",
            )
        elif found.name.lower() in (RECORDS, FIRST, LAST):
            name = found.name
            message = f"a column {name!r} would meet the counts"
            yield bound.file.mistake(message, "columns", name, hint="rename it in a view")


def _unexplained(bound: Bound) -> Iterator[Mistake]:
    """Columns that leave as they are, and that nobody looks at or has spoken for."""
    for found in bound.released:
        if not is_counted(bound, found) and not given_reason(found.spec.reason):
            yield bound.file.mistake(
                f"column {found.name!r} leaves as it is, and is not counted: nobody looks at it",
                "columns",
                found.name,
                hint="say in `reason: …` why nobody outside can use it against a person, or drop "
                "it",
            )


def counted_there(full: Bound, warehouse: Warehouse, session: Session) -> Bound:
    """The specification with those columns alone that a search looks at, counted in the warehouse.

    Args:
        full: the whole specification, as `held_there` gives it.
        warehouse: that has the table.
        session: where the counts are to be.

    Raises:
        SpecError: the counted columns do not suit the spec.
    """
    columns = {c.name: c.spec for c in full.columns if is_counted(full, c)}
    rows, subject = full.source.subquery("there"), full.subject
    if subject is None:
        counts = _counts(warehouse, session, rows, list(columns), _COUNTS)
    else:
        query = select(*map(column, [*columns, subject.name])).from_(rows)
        found = warehouse.profiles(query, subject.name)
        counts = subjects_here(session, found, subject.name, _COUNTS)
        columns |= {c.name: c.spec for c in full.columns if c.column == subject}
    spec = full.spec
    alone = {
        "columns": columns,
        "source": _COUNTS,
        "evaluate": Evaluate(metrics=spec.evaluate.metrics),
        "expect": {},
    }
    file = replace(full.file, spec=spec.model_copy(update=alone))
    bound = bind(file, session, Opened(_each(counts, list(columns))))
    population = partial(_population, full, warehouse, session)
    return replace(bound, counts=Counts(counts, RECORDS, population))


def _counts(
    warehouse: Warehouse, session: Session, rows: Expr, names: Sequence[str], place: str
) -> Relation:
    """How often each combination of some columns is there, here."""
    cells = [column(name) for name in names]
    query = select(*cells, aliased(count_rows(), RECORDS)).from_(rows)
    found = warehouse.arrow(query.group_by(*(c.copy() for c in cells)))
    return session.stage(Relation(place, schema="main", catalog="temp"), found.to_reader(), {})


def _each(counts: Relation, names: Sequence[str]) -> Query:
    """Each combination as often as it was counted."""
    return as_often(counts.table, [column(name) for name in names], column(RECORDS))


def _population(full: Bound, warehouse: Warehouse, session: Session, name: str) -> Query:
    """The rows of a population in the warehouse, counted there.

    Raises:
        DataError: it is not there, or the release would replace it.
    """
    table = warehouse.files(name) if is_remote(name) else warehouse.source(name)
    for replaced in (full.spec.release, dictionary_name(full.spec.release)):
        place = warehouse.place(replaced)
        written = warehouse.found(place) == "table" and warehouse.overlap(table, place)
        if written or table.name.lower() == replaced.lower():
            raise DataError("the release would replace it", hint="choose another release name")
    number = list(map(population_of, full.models)).index(name)
    here = f"deid_population_there_{number}"
    needed = {c.name.lower() for c in full.quasi_identifiers}
    if not needed <= {c.name.lower() for c in table.columns}:  # which is told of its columns
        return select("*").from_(_empty(session, table.columns, here).table)
    names = [c.name for c in table.columns if c.name.lower() in needed | {PEOPLE}]
    return _each(_counts(warehouse, session, table.table, names, here), names)
