"""Types under which databases of other programs hold the values of a release, each whole."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from dbdeid.engine.relation import digits_of

Program = Literal["postgres", "sqlite", "mysql"]

_ALIKE = (
    *("BOOLEAN", "SMALLINT", "INTEGER", "BIGINT", "FLOAT", "DOUBLE", "VARCHAR", "DATE"),
    *("TIMESTAMP", "TIMESTAMP WITH TIME ZONE", "VARCHAR[]", "BIGINT[]"),
)
_COARSE = dict.fromkeys(("TIMESTAMP_S", "TIMESTAMP_MS"), "TIMESTAMP")
_WHOLE = ("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "UTINYINT", "USMALLINT", "UINTEGER")
_READ: Mapping[Program, Mapping[str, str]] = {
    "postgres": {
        **{kind: kind for kind in _ALIKE},
        **{"TINYINT": "SMALLINT", "UTINYINT": "SMALLINT", "USMALLINT": "INTEGER"},
        **{"UINTEGER": "BIGINT", "UBIGINT": "DECIMAL(20,0)"},
        **dict.fromkeys(("HUGEINT", "UHUGEINT"), "DECIMAL(38,0)"),
        **_COARSE,
    },
    "sqlite": {
        **dict.fromkeys((*_WHOLE, "BOOLEAN"), "BIGINT"),
        **dict.fromkeys(("FLOAT", "DOUBLE"), "DOUBLE"),
        **{kind: kind for kind in ("VARCHAR", "DATE", "TIMESTAMP")},
        **dict.fromkeys(("VARCHAR[]", "BIGINT[]"), "VARCHAR"),  # as JSON
        **_COARSE,
    },
    "mysql": {
        **{kind: kind for kind in (*_WHOLE, "UBIGINT", "VARCHAR", "DATE", "TIMESTAMP")},
        "BOOLEAN": "TINYINT",
        **dict.fromkeys(("HUGEINT", "UHUGEINT"), "DECIMAL(38,0)"),
        **dict.fromkeys(("FLOAT", "DOUBLE"), "DOUBLE"),  # it tells six digits of a FLOAT
        **dict.fromkeys(("VARCHAR[]", "BIGINT[]"), "VARCHAR"),  # as JSON
        **_COARSE,
    },
}
_SCALE = 30  # digits behind the point that a decimal of MySQL has at most
_OF_DOUBLES = 15  # digits of a decimal that a double tells apart


def read_as(program: Program, kind: str) -> str | None:
    """The type in which a value of a released type is read back; None: the program has none for it.

    >>> read_as("postgres", "DECIMAL(5,2)"), read_as("sqlite", "DECIMAL(5,2)")
    ('DECIMAL(5,2)', 'DOUBLE')
    >>> read_as("sqlite", "DECIMAL(16,2)") is None
    True
    """
    if (digits := digits_of(kind)) is not None:
        if program == "postgres":
            return kind
        if program == "mysql":
            return kind if digits[1] <= _SCALE else None
        return "DOUBLE" if digits[0] <= _OF_DOUBLES else None
    return _READ[program].get(kind)
