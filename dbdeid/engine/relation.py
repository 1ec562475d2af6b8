"""Relations: where a table is and which columns it has."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from sqlglot import exp


@dataclass(frozen=True, slots=True)
class Column:
    """A column: its name and its DuckDB type as DESCRIBE prints it."""

    name: str
    type: str

    @property
    def family(self) -> str:
        """One of integer, decimal, float, date, timestamp, boolean, text, enum, other."""
        if self.type.endswith("]"):  # a list, whatever its elements are
            return "other"
        return _FAMILIES.get(self.type.split("(")[0].upper(), "other")

    @property
    def shown_type(self) -> str:
        """The type as it may be told: the members of an ENUM are values of the column.

        >>> Column("kin", "STRUCT(a ENUM('Ann', 'O''Hara'), b INTEGER)").shown_type
        'STRUCT(a ENUM, b INTEGER)'
        """
        return without_members(self.type)


def without_members(text: str) -> str:
    """A text of the engine without the members of the ENUM types that it names."""
    return _MEMBERS.sub("ENUM", text)


_MEMBERS = re.compile(r"ENUM\((?:'(?:[^']|'')*'(?:, )?)*\)")


# Families whose values are numbers, and those whose values have bounds.
NUMBERS = ("integer", "decimal", "float")
MEASURED = (*NUMBERS, "date", "timestamp")

_INTEGERS = "TINYINT SMALLINT INTEGER BIGINT HUGEINT UTINYINT USMALLINT UINTEGER UBIGINT UHUGEINT"
_TIMESTAMPS = ("TIMESTAMP", "TIMESTAMP_S", "TIMESTAMP_MS", "TIMESTAMP_NS")
_FAMILIES = (
    dict.fromkeys(_INTEGERS.split(), "integer")
    | dict.fromkeys(_TIMESTAMPS, "timestamp")
    | {
        "DECIMAL": "decimal",
        "FLOAT": "float",
        "DOUBLE": "float",
        "DATE": "date",
        "TIMESTAMP WITH TIME ZONE": "timestamp",
        "BOOLEAN": "boolean",
        "VARCHAR": "text",
        "ENUM": "enum",
    }
)


@dataclass(frozen=True, slots=True)
class Relation:
    """A named table or view with its columns; without catalog or schema it is searched for."""

    name: str
    columns: tuple[Column, ...] = ()
    schema: str | None = None
    catalog: str | None = None

    @property
    def table(self) -> exp.Table:
        """The relation as a node of a syntax tree, every part quoted."""
        return exp.table_(
            exp.to_identifier(self.name, quoted=True),
            db=exp.to_identifier(self.schema, quoted=True) if self.schema else None,
            catalog=exp.to_identifier(self.catalog, quoted=True) if self.catalog else None,
        )

    @property
    def names(self) -> tuple[str, ...]:
        """The column names in order."""
        return tuple(column.name for column in self.columns)

    def find(self, name: str) -> Column | None:
        """The column of that name, compared as DuckDB compares names: without case."""
        return next((c for c in self.columns if c.name.lower() == name.lower()), None)


def free_name(name: str, taken: Iterable[str]) -> str:
    """A name in lower case that is not taken in any case, and begins as the given one."""
    known = {other.lower() for other in taken}
    while name in known:
        name += "_"
    return name


def identifier(name: str) -> exp.Identifier:
    """A quoted identifier."""
    return exp.to_identifier(name, quoted=True)


def column(name: str, table: str | None = None) -> exp.Column:
    """A quoted column reference, for example ``column("birth year", "s")``."""
    return exp.column(identifier(name), table=identifier(table) if table else None)


def typed(held: Column, table: str | None = None) -> exp.Column:
    """A reference to a column that knows its type; ENUM as the text it holds."""
    reference = column(held.name, table)
    if held.family != "other":
        name = "VARCHAR" if held.family == "enum" else held.type
        reference.type = exp.DataType.build(name, dialect="duckdb")
    return reference


def count_where(condition: exp.Expr) -> exp.Count:
    """How many rows meet a condition: 0 of no rows, where COUNT_IF is NULL.

    >>> count_where(column("age").is_(exp.null())).sql("duckdb")
    'COUNT(CASE WHEN "age" IS NULL THEN 1 END)'
    """
    return exp.Count(this=exp.Case().when(condition, exp.convert(1)))


def cast(value: exp.Expr, duckdb_type: str) -> exp.Cast:
    """A cast to a type as DuckDB spells it."""
    return exp.cast(value, exp.DataType.build(duckdb_type, dialect="duckdb"))
