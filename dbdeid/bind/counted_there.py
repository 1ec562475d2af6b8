"""A specification held against a table of a warehouse: its columns, and what was counted of them.

The whole of it is held against an empty table of the same columns. What a search looks at is then
counted there, and comes here as a histogram; all that follows is as on a table of those columns.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from dbdeid.bind.bind import bind
from dbdeid.bind.bound import Bound, BoundColumn
from dbdeid.bind.histogram import Histogram, counted_columns, records
from dbdeid.engine.expressions import aliased, column, count_rows, select
from dbdeid.engine.relation import Column, Relation
from dbdeid.engine.session import Session
from dbdeid.engine.warehouse import Warehouse
from dbdeid.errors import DataError, Mistake, SpecError
from dbdeid.privacy import OfSensitive
from dbdeid.query.dialects.histogram import COUNTED
from dbdeid.sources.files import Opened
from dbdeid.spec.column.column_spec import given_reason
from dbdeid.spec.file import SpecFile
from dbdeid.spec.release_spec import Evaluate

_COUNTS, _EMPTY = "deid_counted_there", "deid_columns_there"
_ZONED = "TIMESTAMP WITH TIME ZONE"


@dataclass(frozen=True, slots=True)
class CountedThere:
    """A specification on what a warehouse counted.

    Attributes:
        bound: with the counted columns alone, in the order of the table; its source gives each
            combination as often as it was counted.
        counts: the combinations as they were counted, here.
    """

    bound: Bound
    counts: Relation


def held_there(file: SpecFile, warehouse: Warehouse, session: Session) -> Bound:
    """The whole specification on the columns of its table; the source is the table there.

    Args:
        file: the spec.
        warehouse: that has the table.
        session: that knows the types.

    Raises:
        SpecError: columns missing in the table or in the spec, types that cannot be released, and
            columns that leave uncounted without a reason.
        DataError: the table is not there.
    """
    counted_columns(file)  # which refuses what counts do not suffice for
    table = warehouse.source(file.spec.source_name)
    empty = _empty(session, table.columns)
    bound = bind(file, session, Opened(select("*").from_(empty.table)))
    session.drop(empty)
    if mistakes := [*_untyped(bound, table), *_unexplained(bound)]:
        raise SpecError(mistakes, source=file.label)
    return replace(bound, source=select("*").from_(table.table), opened=None)


def _empty(session: Session, columns: tuple[Column, ...]) -> Relation:
    """A table of these columns; one whose type is not known here has another that cannot leave."""
    import pyarrow as pa

    from dbdeid.engine.arrow import type_of

    shape = pa.schema([(c.name, type_of(c.type) or pa.binary()) for c in columns])
    names = [c.name.lower() for c in columns]
    if repeated := next((name for name in names if names.count(name) > 1), None):
        raise DataError(
            f"the source has several columns {repeated!r}", hint="give each its own name in a view"
        )
    place = Relation(_EMPTY, schema="main", catalog=session.catalog)
    return session.stage(place, pa.RecordBatchReader.from_batches(shape, iter(())), {})


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
        elif found.name.lower() == COUNTED:
            yield bound.file.mistake(
                f"a column {COUNTED!r} would meet the counts", "columns", found.name, hint="rename"
            )


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


def counted_there(full: Bound, warehouse: Warehouse, session: Session) -> CountedThere:
    """What a search looks at, counted in the warehouse.

    Args:
        full: the whole specification, as `held_there` gives it.
        warehouse: that has the table.
        session: where the counts are to be.

    Raises:
        SpecError: the counted columns do not suit the spec.
        DataError: the table has no rows.
    """
    columns = {c.name: c.spec for c in full.columns if is_counted(full, c)}
    cells = [column(name) for name in columns]
    query = select(*cells, aliased(count_rows(), COUNTED))
    query = query.from_(full.source.subquery("there")).group_by(*(c.copy() for c in cells))
    place = Relation(_COUNTS, schema="main", catalog=session.catalog)
    counts = session.stage(place, warehouse.arrow(query).to_reader(), {})
    if session.row(select(count_rows()).from_(counts.table))[0] == 0:
        raise DataError("the source has no rows", hint="there is nothing to release")
    spec = full.spec
    alone = {
        "columns": columns,
        "source": _COUNTS,
        "evaluate": Evaluate(metrics=spec.evaluate.metrics),
        "expect": {},
    }
    file = replace(full.file, spec=spec.model_copy(update=alone))
    histogram = Histogram(file, _COUNTS, tuple(columns), ())
    return CountedThere(bind(file, session, records(histogram, session)), counts)
