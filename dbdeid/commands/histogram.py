"""The one query whose result stands for the source where dbdeid cannot read it: in a warehouse."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from fractions import Fraction
from typing import cast

from dbdeid.bind.histogram import counted_columns
from dbdeid.bind.read import Source, read
from dbdeid.bind.source import owners_query
from dbdeid.commands.plan import not_in_dbt
from dbdeid.data import hierarchy_file
from dbdeid.data.json import JsonObject
from dbdeid.data.source_files import file_query
from dbdeid.engine.expressions import Query
from dbdeid.errors import DataError, did_you_mean
from dbdeid.prepare.hierarchies import Rows, group_rows
from dbdeid.query.dialects import histogram as dialects
from dbdeid.query.dialects.histogram import (
    WAREHOUSES,
    Begun,
    Counted,
    Floored,
    Generalized,
    Grouped,
    Unit,
    Warehouse,
)
from dbdeid.spec.column.column_spec import ColumnSpec
from dbdeid.spec.column.hierarchy_spec import HierarchySpec
from dbdeid.spec.file import SpecFile
from dbdeid.spec.files import located
from dbdeid.spec.names import refuse
from dbdeid.spec.open_decisions import require_decided
from dbdeid.spec.release_spec import SourceQuery

# Values of a hierarchy that a query lists; with more of them it counts the values as they are.
MOST_LISTED = 1_000
# The unit of days that lies in each unit of dates, and is written alike everywhere.
_UNITS: Mapping[str, Unit] = {
    **{"month": "month", "quarter": "quarter", "year": "year"},
    "decade": "year",
}


@dataclass(frozen=True, slots=True)
class HistogramQuery:
    """What was written.

    Attributes:
        sql: the query.
        dialect: of which warehouse.
        columns: that it counts by.
        generalized: the level at which it gives columns that have a `min_level`.
        unplanned: why `dbdeid dbt plan` would refuse the spec; `dbdeid search` takes it.
    """

    sql: str
    dialect: str
    columns: tuple[str, ...]
    generalized: Mapping[str, int]
    unplanned: tuple[str, ...]

    def to_dict(self) -> JsonObject:
        """As plain values."""
        return {
            "sql": self.sql,
            "dialect": self.dialect,
            "columns": list(self.columns),
            "generalized": dict(self.generalized),
            "unplanned": list(self.unplanned),
        }


def histogram(
    source: Source, *, dialect: str = "duckdb", table: str | None = None
) -> HistogramQuery:
    """The query that counts what a search of this release looks at, for a warehouse to answer.

    No source is opened. Columns with a `min_level` are generalized to it in the query where their
    hierarchy says all of its values: `groups`, a file, intervals and dates with `lower` and
    `upper`. What dbdeid chooses of the result is what it would choose of the table.

    Args:
        source: path of a spec, its text, or a dict.
        dialect: one of `WAREHOUSES`.
        table: in place of the spec's source: `database.schema.table`, or `{{ ref('model') }}`,
            which is left to dbt.

    Raises:
        SpecError, HierarchyError, DataError: bad input, or a release that counts do not suffice
            for.
    """
    if dialect not in WAREHOUSES:
        hint = did_you_mean(dialect, WAREHOUSES)
        raise DataError(f"no dialect {dialect!r}", hint=hint)
    file = read(source)
    refuse(file, "nothing is chosen of it", "verify, evaluate, query or report it")
    require_decided(file)
    columns, warehouse = counted_columns(file), cast("Warehouse", dialect)
    counted = [Counted(name, _generalized(file, name, c)) for name, c in columns.items()]
    return HistogramQuery(
        dialects.histogram(_source(file, table, warehouse), counted, warehouse),
        dialect,
        tuple(columns),
        {c.name: columns[c.name].min_level for c in counted if c.generalized is not None},
        tuple(str(mistake) for mistake in not_in_dbt(file)),
    )


def _source(file: SpecFile, table: str | None, warehouse: Warehouse) -> str | Query:
    """The table that is counted, as the warehouse knows it."""
    if table is not None:
        return table
    source = file.spec.source
    if isinstance(source, str) and file.spec.kind_of(source) != "file":
        return source
    if warehouse != "duckdb":
        what = "a query of DuckDB" if isinstance(source, SourceQuery) else f"the file {source}"
        raise DataError(
            f"the source is {what}, which {warehouse} cannot read",
            hint="name the table, or a view of it, there: --table schema.name",
        )
    if isinstance(source, SourceQuery):
        return owners_query(file, source)
    if (query := file_query(located(file, source, "source"))) is None:
        raise DataError(
            f"DuckDB cannot read {source} by itself",
            hint="name a table of its rows: --table name",
        )
    return query


def _generalized(file: SpecFile, name: str, column: ColumnSpec) -> Generalized | None:
    """How a query gives the values of a column at its `min_level`; None: as they are.

    The values that are given must have the losses of those that they stand for, so the hierarchy
    has to say all values itself.
    """
    level, spec = column.min_level, column.hierarchy
    if level == 0 or spec is None or column.role != "quasi_identifier":
        return None
    if spec.intervals is not None:
        return _floored(spec, level)
    if spec.dates is not None:
        return _begun(spec, level)
    rows: Rows = ()
    if spec.path is not None:
        rows = hierarchy_file.read(name, located(file, spec.path, "columns", name, "hierarchy"))
    elif spec.groups is not None:
        rows = group_rows(name, spec.groups)
    if not rows or len(rows) > MOST_LISTED or level >= len(rows[0]):
        return None
    first: dict[str, str] = {}
    for leaf, *labels in rows:
        first.setdefault(labels[level - 1], leaf)
    return Grouped({leaf: first[labels[level - 1]] for leaf, *labels in rows})


def _floored(spec: HierarchySpec, level: int) -> Floored | None:
    assert spec.intervals is not None
    if level > len(spec.intervals):
        return None
    given = (spec.intervals[level - 1], spec.origin or Fraction(0), spec.lower, spec.upper)
    if not all(isinstance(n, Fraction) and n.denominator == 1 for n in given):
        return None
    return Floored(*(int(cast("Fraction", n)) for n in given))


def _begun(spec: HierarchySpec, level: int) -> Begun | None:
    assert spec.dates is not None
    lower, upper = spec.lower, spec.upper
    if level > len(spec.dates) or not isinstance(lower, date) or not isinstance(upper, date):
        return None
    unit = _UNITS.get(spec.dates[level - 1])
    return None if unit is None else Begun(unit, lower, upper)
