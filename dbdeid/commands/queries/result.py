"""The answer to a question, as a release gives it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property
from typing import TYPE_CHECKING, Any

from dbdeid.data.json import Json, JsonObject
from dbdeid.engine.expressions import Expr
from dbdeid.engine.sqltext import sql as text_of
from dbdeid.query.desk.plan import Plan

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

ROWS_SHOWN = 100


@dataclass(frozen=True, eq=False)
class Script:
    """The SQL that is run on a release, written out only when it is read.

    Attributes:
        views: statements that make its files readable.
        plan: of the answer.
    """

    views: tuple[Expr, ...]
    plan: Plan

    @cached_property
    def text(self) -> str:
        """The statements, laid out for reading."""
        return ";\n\n".join([*(text_of(view, pretty=True) for view in self.views), self.plan.sql])

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Script | str) and self.text == str(other)

    def __hash__(self) -> int:
        return hash(self.text)

    def __str__(self) -> str:
        return self.text

    def __reduce__(self) -> tuple[type[str], tuple[str]]:
        return str, (self.text,)  # nothing of a session goes along with a result


@dataclass(frozen=True, slots=True, repr=False)
class Result:
    """The answer to a question, as a release gives it.

    Attributes:
        columns: names; each aggregate `x` is followed by `x_lower` and `x_upper`.
        types: of the columns, as DuckDB writes them.
        rows: values; a bound is None where none is known.
        script: what was run on the release; `sql` is its text.
        notes: what a reader of the numbers should know.
        suppressed: records of the source that the release lacks; None where that is not known.
        bounds: the places of the columns that are bounds.
    """

    columns: tuple[str, ...]
    types: tuple[str, ...]
    rows: tuple[tuple[Any, ...], ...]
    script: Script | str
    notes: tuple[str, ...]
    suppressed: int | None
    bounds: frozenset[int] = frozenset()

    @property
    def sql(self) -> str:
        """What was run on the release, for any client that has it open."""
        return str(self.script)

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

    def to_arrow(self) -> pa.Table:
        """The answer as an Arrow table, with the types that its columns have in the engine."""
        from dbdeid.engine import arrow

        return arrow.table(self.columns, self.types, self.rows)

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """Let polars, DuckDB and others take the answer as a table of theirs."""
        return self.to_arrow().__arrow_c_stream__(requested_schema)

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
