"""Days and moments that a query computes of constants, as the constants that they are.

`DATE '2024-01-01' + INTERVAL 1 YEAR` and `date_trunc('month', TIMESTAMP '…' - INTERVAL 30 DAY)` are
the same for all records, so that columns of intervals can be compared with them.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import date, datetime
from typing import Any

from sqlglot import exp

from dbdeid.engine.failure import EngineError
from dbdeid.engine.sqltext import sql
from dbdeid.query.parse.statement import query

_MADE = (exp.Add, exp.Sub, exp.TimestampTrunc, exp.DateTrunc)
_PARTS = (
    *(*_MADE, exp.Paren, exp.Neg, exp.Interval, exp.Literal, exp.Cast, exp.DataType),
    *(exp.Var, exp.Identifier),
)
_DAYS = (exp.DType.DATE, exp.DType.TIMESTAMP, exp.DType.TIMESTAMPNTZ)


def with_constant_dates(text: str, value: Callable[[exp.Expr], Any]) -> str:
    """The query with constants in place of what it computes of days and moments alone.

    Args:
        text: of the query.
        value: what the engine makes of an expression without columns.

    Raises:
        DataError: as for `parse.statement.query`.
    """
    if "interval" not in text.lower() and "trunc" not in text.lower():
        return text
    root = query(text)
    found = False
    for node in list(root.find_all(*_MADE)):
        outermost = node.parent is not None and not _is_of_days(node.parent)
        if not outermost or not _is_of_days(node):
            continue
        try:
            made = value(node.copy())
        except EngineError:
            continue
        if isinstance(made, datetime):
            constant = exp.cast(exp.Literal.string(made.isoformat(sep=" ")), "TIMESTAMP")
        elif isinstance(made, date):
            constant = exp.cast(exp.Literal.string(made.isoformat()), "DATE")
        else:
            continue
        node.replace(constant)
        found = True
    return sql(root) if found else text


def _is_of_days(node: exp.Expr) -> bool:
    """Whether it is made of constants alone, a day or moment among them."""
    if not isinstance(node, (*_MADE, exp.Paren)):
        return False
    days = any(cast.to.this in _DAYS for cast in node.find_all(exp.Cast))
    return days and all(isinstance(part, _PARTS) for part in node.walk())
