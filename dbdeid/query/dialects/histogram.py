"""The one query that a search needs of a table: how many records have each combination of values.

It is written for the warehouse that has the table. Nothing but counts leaves it. Values may be
generalized on the way: each is then given as one other value of its group, so that whoever reads
the histogram needs to know nothing of that.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Literal, TypeAlias, get_args

from sqlglot import exp

from dbdeid.engine.expressions import (
    Expr,
    Query,
    case,
    cast,
    count_rows,
    identifier,
    is_null,
    literal,
    one_of,
    plus,
    text_of,
)
from dbdeid.engine.reading import table_of

Warehouse = Literal[
    "duckdb", "postgres", "redshift", "snowflake", "bigquery", "databricks", "spark", "trino"
]
WAREHOUSES: tuple[str, ...] = get_args(Warehouse)

# What the days of a column may be given as the first of.
Unit = Literal["month", "quarter", "year"]

# The column of the counts.
COUNTED = "deid_records"
# Stands for a model of dbt until the query is text: dbt reads `{{ … }}` before any engine does.
_MODEL = "deid_model_of_dbt"


@dataclass(frozen=True, slots=True)
class Floored:
    """Whole numbers given as the first of their interval: `width` from `origin` on, between limits.

    What lies below `lower` is given as the number before it, and from `upper` on as `upper`.
    """

    width: int
    origin: int
    lower: int
    upper: int


@dataclass(frozen=True, slots=True)
class Begun:
    """Days given as the first of their month, quarter or year, between limits as of `Floored`."""

    unit: Unit
    lower: date
    upper: date


@dataclass(frozen=True, slots=True)
class Grouped:
    """Texts given as one text of their group, by value; others as they are."""

    first: Mapping[str, str]


Generalized: TypeAlias = Floored | Begun | Grouped


@dataclass(frozen=True, slots=True)
class Counted:
    """A column of a histogram.

    Attributes:
        name: of the column.
        generalized: how its values are given; None: as they are.
    """

    name: str
    generalized: Generalized | None = None


def histogram(source: str | Query, columns: Sequence[Counted], warehouse: Warehouse) -> str:
    """The query, as text in the dialect of a warehouse.

    Args:
        source: a table by its name, `a.b.c` with its schema and catalog; `{{ … }}` is left to
            dbt; or, in DuckDB alone, a query.
        columns: that are counted by.
        warehouse: which dialect.
    """
    cells = [
        exp.alias_(_given(c, warehouse), _name(c.name, warehouse), copy=False) for c in columns
    ]
    counted = exp.alias_(count_rows(), _name(COUNTED, warehouse), copy=False)
    query = exp.select(*cells, counted).from_(_from(source, warehouse))
    query = query.group_by(*(exp.Literal.number(i + 1) for i in range(len(cells))))
    text = query.sql(dialect=warehouse, pretty=True)
    model = source.strip() if isinstance(source, str) else ""
    return re.sub(rf'["`]?{_MODEL}["`]?', lambda _: model, text, flags=re.IGNORECASE)


def _from(source: str | Query, warehouse: Warehouse) -> Expr:
    if not isinstance(source, str):
        return source.copy().subquery("source")
    if source.strip().startswith("{{"):
        return exp.Table(this=identifier(_MODEL))
    table = table_of(source)
    for key in ("this", "db", "catalog"):
        if part := table.args.get(key):
            table.set(key, _name(part.name, warehouse))
    return table


def _name(name: str, warehouse: Warehouse) -> exp.Identifier:
    """A name as the warehouse keeps it: Snowflake has in capitals what was made without quotes."""
    capital = warehouse == "snowflake" and re.fullmatch(r"[a-z_][a-z0-9_]*", name)
    return identifier(name.upper() if capital else name)


def _given(counted: Counted, warehouse: Warehouse) -> Expr:
    value: Expr = exp.Column(this=_name(counted.name, warehouse))
    match counted.generalized:
        case Floored() as floored:
            return _floored(value, floored)
        case Begun() as begun:
            return _begun(value, begun)
        case Grouped() as grouped:
            return _grouped(value, grouped)
        case None:
            return value


def _floored(value: Expr, by: Floored) -> Expr:
    # Exact: a fraction lies in the interval of the whole number below it, and for whole numbers of
    # up to 2^53 a quotient is never rounded up to the next one.
    whole = cast(exp.Floor(this=value.copy()), "BIGINT")
    past = exp.paren(exp.Sub(this=whole, expression=literal(by.origin)))
    quotient = exp.Div(this=cast(past, "DOUBLE"), expression=cast(literal(by.width), "DOUBLE"))
    steps = cast(exp.Floor(this=quotient), "BIGINT")
    start = plus(exp.Mul(this=steps, expression=literal(by.width)), literal(by.origin))
    return case(
        # NULL of the column's own type, which all values then have: a plan knows by it whether an
        # interval holds whole numbers or fractions
        (is_null(value), value.copy()),
        (exp.LT(this=value.copy(), expression=literal(by.lower)), literal(by.lower - 1)),
        (exp.GTE(this=value.copy(), expression=literal(by.upper)), literal(by.upper)),
        (exp.LT(this=start, expression=literal(by.lower)), literal(by.lower)),
        otherwise=start.copy(),
    )


def _begun(value: Expr, by: Begun) -> Expr:
    day = cast(value, "DATE")
    begun = exp.DateTrunc(this=day.copy(), unit=exp.var(by.unit.upper()))  # type: ignore[no-untyped-call]
    start = cast(begun, "DATE")
    lower, upper = (_day(limit) for limit in (by.lower, by.upper))
    return case(
        (is_null(value), exp.null()),
        (exp.LT(this=day.copy(), expression=lower), _day(by.lower - timedelta(days=1))),
        (exp.GTE(this=day.copy(), expression=upper), upper.copy()),
        (exp.LT(this=start, expression=lower.copy()), lower.copy()),
        otherwise=start.copy(),
    )


def _day(of: date) -> Expr:
    return cast(literal(of.isoformat()), "DATE")


def _grouped(value: Expr, by: Grouped) -> Expr:
    text = text_of(value)
    others: dict[str, list[Expr]] = {}
    for value_, first in by.first.items():
        if value_ != first:
            others.setdefault(first, []).append(literal(value_))
    whens = [(one_of(text.copy(), others[first]), literal(first)) for first in sorted(others)]
    return case(*whens, otherwise=text) if whens else text
