"""Relations: where a table is and which columns it has."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from dbdeid.engine.expressions import Expr, Table, aliased, table_named


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
        """The type as it may be shown, without the members of an ENUM: they are values.

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
    def table(self) -> Table:
        """The relation as a node of a syntax tree, every part quoted."""
        return table_named(self.name, self.schema, self.catalog)

    def aliased(self, name: str) -> Expr:
        """The relation in FROM, under an alias that qualifies its columns: `… AS "s"`."""
        return aliased(self.table, name)

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


_DECIMAL = re.compile(r"DECIMAL\((\d+), ?(\d+)\)")


def digits_of(kind: str) -> tuple[int, int] | None:
    """The digits of a DECIMAL, and how many of them are decimal places; None for other types.

    >>> digits_of("DECIMAL(10,2)")
    (10, 2)
    """
    found = _DECIMAL.fullmatch(kind)
    return (int(found[1]), int(found[2])) if found else None
