"""The vocabulary in which rooms above say what an engine is to compute.

Whoever builds a query builds it from these words, each of which is written below as SQL; a second
engine has to be able to say all of them, and the functions that `Function` lists. Names are always
quoted, so that no name of an owner can become anything else. What is built is a tree, chained by
the methods that queries have (`from_`, `join`, `where`, `group_by`, `order_by`, `limit`,
`subquery`), and is written as text by the engine alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import date, datetime
from functools import lru_cache
from typing import Literal

from sqlglot import exp

Expr = exp.Expr
Query = exp.Query
Select = exp.Select
Table = exp.Table

Type = exp.DataType

Value = str | int | float | bool | date | datetime | None

# What every engine must offer beside standard aggregates, by DuckDB's names and meanings.
Function = Literal[
    # numbers
    "floor", "isfinite", "isnan", "round", "sqrt",
    # texts and their bytes
    "concat", "decode", "encode", "from_json", "json_keys", "json_valid", "length", "lower",
    "nfc_normalize", "regexp_full_match", "strlen", "substring", "to_json", "trim",
    # days and moments
    "date_diff", "date_part", "epoch", "epoch_us", "make_timestamp", "timezone", "try_strptime",
    # lists and tuples; `unnest` gives a row for each item
    "array_to_string", "len", "list_contains", "list_extract", "list_transform", "range", "row",
    "unnest",
    # digests: `hash` is fast and of 64 bits, the others are not to be forged
    "hash", "md5_number_lower", "sha256",
    # what a file of DuckDB keeps of a column beside its rows
    "stats",
]  # fmt: skip

# Readers of files, which stand where a table may, and what an engine keeps of a column.
FileReader = Literal[
    "delta_scan", "iceberg_scan", "read_blob", "read_csv", "read_json", "read_parquet",
    "read_text", "sniff_csv",
]  # fmt: skip


# -- names and values ----------------------------------------------------------------------


def identifier(name: str) -> exp.Identifier:
    """A name where no column may stand: `"name"`."""
    return exp.to_identifier(name, quoted=True)


def column(name: str, table: str | None = None) -> exp.Column:
    """A column: `"birth year"`, or `"s"."birth year"` of a table.

    >>> column("birth year", "s").sql("duckdb")
    '"s"."birth year"'
    """
    return exp.Column(this=identifier(name), table=identifier(table) if table else None)


def every_column(table: str | None = None, replace: Sequence[Expr] = ()) -> Expr:
    """All columns: `*`, or `"s".* REPLACE (1 AS "a")`.

    Args:
        table: of which they are; None for all tables.
        replace: aliased expressions that stand for the columns of their names.
    """
    star = exp.Star(replace=list(replace)) if replace else exp.Star()
    return exp.Column(this=star, table=identifier(table)) if table else star


def literal(value: Value) -> Expr:
    """A value as it is written: `'a'`, `1`, `1.5`, `TRUE`, `NULL`."""
    return exp.convert(value)


def null() -> Expr:
    """`NULL`."""
    return exp.null()


def list_of(*items: Expr) -> Expr:
    """A list of values of one type: `[a, b]`."""
    return exp.Array(expressions=list(items))


def struct_of(fields: Mapping[str, Expr]) -> Expr:
    """Values by name: `{'a': 1, 'b': 2}`."""
    named = (
        exp.PropertyEQ(this=exp.Literal.string(name), expression=value)
        for name, value in fields.items()
    )
    return exp.Struct(expressions=list(named))


def mapped(items: Expr, name: str, value: Expr) -> Expr:
    """A list with each item as another: `LIST_TRANSFORM(a, LAMBDA "x" : f("x"))`.

    Args:
        items: the list.
        name: of an item, a column in `value`.
        value: what stands for it.
    """
    each = exp.Lambda(this=value, expressions=[identifier(name)])
    return exp.Anonymous(this="list_transform", expressions=[items, each])


def cast(value: Expr, kind: str | Type) -> Expr:
    """A value as another type, an error where it is none: `CAST(a AS BIGINT)`.

    Args:
        value: what is read.
        kind: the type, as `Column.type` spells it.
    """
    made = exp.cast(value.copy(), type_named(kind), copy=False)
    made._type = None  # said once more, which each copy of a tree would copy
    return made


def text_of(value: Expr) -> Expr:
    """Cast a value to text, even where it is text already: `CAST(a AS TEXT)`."""
    return exp.Cast(this=value, to=exp.DataType.build("VARCHAR"))


def try_cast(value: Expr, kind: str | Type) -> Expr:
    """A value as another type, NULL where it is none: `TRY_CAST(a AS BIGINT)`."""
    return exp.TryCast(this=value, to=type_named(kind))


def type_named(kind: str | Type) -> Type:
    """A type, of whatever `Column.type` says."""
    return (_parsed_type(kind) if isinstance(kind, str) else kind).copy()


@lru_cache(maxsize=1000)
def _parsed_type(kind: str) -> Type:
    """To be copied: to read a type takes longer than all else that is done to cast to it."""
    return exp.DataType.build(kind, dialect="duckdb")


def type_name(kind: str) -> str:
    """A type as it is spelled in SQL, of whatever `Column.type` says."""
    return _parsed_type(kind).sql("duckdb")


def plus(first: Expr, *others: Expr) -> Expr:
    """The sum of some values of a row: `a + b + c`."""
    for other in others:
        first = exp.Add(this=first, expression=other)
    return first


def concatenated(value: Expr, other: Expr) -> Expr:
    """Two texts as one: `a || b`."""
    return exp.DPipe(this=value, expression=other)


def function(name: Function, *given: Expr) -> Expr:
    """A function of the engine: `HASH(a, b)`."""
    return exp.Anonymous(this=name, expressions=list(given))


def digest_of(*texts: Expr) -> Expr:
    """A digest of some texts that is not to be forged: `SHA256(CONCAT_WS('|', a, b))`.

    NULL is left out.
    """
    joined = exp.ConcatWs(expressions=[exp.Literal.string("|"), *texts])
    return exp.SHA2(this=joined, length=literal(256))


def paren(value: Expr) -> Expr:
    """`(a)`."""
    return exp.paren(value)


# -- conditions ----------------------------------------------------------------------------


def is_null(value: Expr) -> Expr:
    """`a IS NULL`."""
    return value.is_(exp.null())


def not_null(value: Expr) -> Expr:
    """`NOT a IS NULL`."""
    return exp.not_(is_null(value))


def same_value(value: Expr, other: Expr) -> Expr:
    """Whether two values are the same, NULL being like NULL: `a IS NOT DISTINCT FROM b`."""
    return exp.NullSafeEQ(this=value, expression=other)


def not_same_value(value: Expr, other: Expr) -> Expr:
    """Whether two values differ, NULL being like NULL: `a IS DISTINCT FROM b`."""
    return exp.NullSafeNEQ(this=value, expression=other)


def one_of(value: Expr, these: Sequence[Expr] | Query) -> Expr:
    """Whether a value is one of some: `a IN (1, 2)`, or of those of a query."""
    if isinstance(these, exp.Query):
        return exp.In(this=value, query=these.subquery())
    return exp.In(this=value, expressions=list(these))


def all_of(*conditions: Expr) -> Expr:
    """`a AND b`, of one condition or more."""
    return exp.and_(*conditions)


def any_of(*conditions: Expr) -> Expr:
    """`a OR b`, of one condition or more."""
    return exp.or_(*conditions)


def not_(condition: Expr) -> Expr:
    """`NOT a`."""
    return exp.not_(condition)


def case(*branches: tuple[Expr, Expr], otherwise: Expr | None = None) -> Expr:
    """The value of the first condition that holds: `CASE WHEN a THEN b ELSE c END`.

    Args:
        branches: each condition, and the value.
        otherwise: the value where none holds; NULL by default.
    """
    whens = [exp.If(this=condition, true=value) for condition, value in branches]
    return exp.Case(ifs=whens, default=otherwise)


def coalesce(value: Expr, *others: Expr) -> Expr:
    """The first that is not NULL: `COALESCE(a, b)`."""
    return exp.Coalesce(this=value, expressions=list(others))


def null_if(value: Expr, other: Expr) -> Expr:
    """NULL where two are equal: `NULLIF(a, b)`."""
    return exp.Nullif(this=value, expression=other)


def greatest_of(value: Expr, *others: Expr) -> Expr:
    """The greatest of a row, NULLs left out: `GREATEST(a, b)`."""
    return exp.Greatest(this=value, expressions=list(others), ignore_nulls=True)


def least_of(value: Expr, *others: Expr) -> Expr:
    """The least of a row, NULLs left out: `LEAST(a, b)`."""
    return exp.Least(this=value, expressions=list(others), ignore_nulls=True)


# -- aggregates and windows ----------------------------------------------------------------


def count_rows() -> Expr:
    """`COUNT(*)`."""
    return exp.Count(this=exp.Star())


def count_of(value: Expr) -> Expr:
    """How many are not NULL: `COUNT(a)`."""
    return exp.Count(this=value)


def each_once(value: Expr) -> Expr:
    """`DISTINCT a`, to be counted."""
    return exp.Distinct(expressions=[value])


def count_distinct(value: Expr) -> Expr:
    """How many different ones there are, NULL left out: `COUNT(DISTINCT a)`."""
    return count_of(each_once(value))


def count_where(condition: Expr) -> Expr:
    """How many rows meet a condition: 0 of no rows, where COUNT_IF is NULL.

    >>> count_where(is_null(column("age"))).sql("duckdb")
    'COUNT(CASE WHEN "age" IS NULL THEN 1 END)'
    """
    return exp.Count(this=exp.Case().when(condition, exp.convert(1)))


def sum_of(value: Expr) -> Expr:
    """`SUM(a)`, NULL of no rows."""
    return exp.Sum(this=value)


def average_of(value: Expr) -> Expr:
    """`AVG(a)`."""
    return exp.Avg(this=value)


def min_of(value: Expr) -> Expr:
    """`MIN(a)`."""
    return exp.Min(this=value)


def max_of(value: Expr) -> Expr:
    """`MAX(a)`."""
    return exp.Max(this=value)


def any_value_of(value: Expr) -> Expr:
    """One of the values that are not NULL, whichever: `ANY_VALUE(a)`."""
    return exp.AnyValue(this=value)


def true_for_any(condition: Expr) -> Expr:
    """Whether a condition holds in any row: `BOOL_OR(a)`."""
    return exp.LogicalOr(this=condition)


def filtered(aggregate: Expr, condition: Expr) -> Expr:
    """An aggregate of the rows that meet a condition: `SUM(a) FILTER(WHERE b)`."""
    return exp.Filter(this=aggregate, expression=exp.Where(this=condition))


def row_number() -> Expr:
    """`ROW_NUMBER()`, to be said `over` something."""
    return exp.RowNumber()


def dense_rank() -> Expr:
    """`DENSE_RANK()`, to be said `over` something."""
    return exp.DenseRank()


def lag(value: Expr) -> Expr:
    """The value of the row before: `LAG(a)`, to be said `over` something."""
    return exp.Lag(this=value)


def over(what: Expr, by: Iterable[Expr] = (), order: Iterable[Expr] = ()) -> Expr:
    """An aggregate or rank as each row sees it: `… OVER (PARTITION BY a ORDER BY b)`.

    Args:
        what: the aggregate, or rank.
        by: what rows must share to be seen together; none for all rows.
        order: in which order they are ranked.
    """
    parts, ordered = list(by), list(order)
    return exp.Window(
        this=what,
        partition_by=parts or None,
        order=exp.Order(expressions=ordered) if ordered else None,
    )


def ascending(value: Expr, *, nulls_first: bool = False) -> Expr:
    """`a` in an order: NULLs last unless they are to be first."""
    return exp.Ordered(this=value, nulls_first=nulls_first)


def descending(value: Expr) -> Expr:
    """`a DESC` in an order, NULLs last."""
    return exp.Ordered(this=value, desc=True, nulls_first=False)


# -- tables and queries --------------------------------------------------------------------


def table_named(name: str, schema: str | None = None, catalog: str | None = None) -> Table:
    """A table or view: `"catalog"."schema"."name"`."""
    # Not by `exp.table_`, which copies each name.
    return exp.Table(
        this=identifier(name),
        db=identifier(schema) if schema else None,
        catalog=identifier(catalog) if catalog else None,
    )


def select(*what: Expr | str) -> Select:
    """`SELECT …`: names of columns, `*` for all of them, and expressions."""
    return exp.select(*(_picked(one) for one in what))


def _picked(one: Expr | str) -> Expr:
    if isinstance(one, exp.Expr):
        return one
    return exp.Star() if one == "*" else column(one)


def aliased(value: Expr, name: str) -> Expr:
    """`… AS "name"`: of an expression its column, of a table or a query in FROM its name there."""
    return exp.alias_(value, identifier(name), table=isinstance(value, exp.Table | exp.Subquery))


def union_all(*queries: Query) -> Query:
    """The rows of all the queries, in no order: one statement costs less than many."""
    whole, *others = queries
    for query in others:
        whole = exp.union(whole, query, distinct=False, copy=False)
    return whole


def row_by_row(query: Select, other: Expr) -> Select:
    """The rows of a query beside those of a table, in their order: `… POSITIONAL JOIN b`."""
    return query.join(exp.Join(this=other, method="POSITIONAL"))


def table_function(reader: FileReader, *given: Expr, **named: Expr) -> exp.Table:
    """What a reader gives, where a table may stand: `READ_CSV('a.csv', "header" = TRUE)`."""
    options = [
        exp.EQ(this=identifier(key), expression=value.copy()) for key, value in named.items()
    ]
    return exp.Table(this=exp.Anonymous(this=reader, expressions=[*given, *options]))


# -- statements ----------------------------------------------------------------------------


def as_often(rows: Expr, cells: Sequence[Expr], count: Expr) -> Select:
    """Some cells of each row as often as it counts.

    Args:
        rows: a table or a subquery.
        cells: of its columns.
        count: a whole number above 0.
    """
    copies = function("unnest", function("range", cast(count.copy(), "BIGINT")))
    each = select("*", aliased(copies, "deid_copy")).from_(rows)
    return select(*cells).from_(each.subquery("each"))


def creation(
    place: Expr,
    kind: Literal["TABLE", "VIEW"],
    rows: Query,
    *,
    temporary: bool = False,
    replace: bool = False,
) -> Expr:
    """`CREATE TABLE a AS SELECT …`, or a view.

    Args:
        place: what is made.
        kind: of it.
        rows: which it holds, or shows.
        temporary: it is gone with the session: `CREATE TEMPORARY TABLE …`.
        replace: one of that name is replaced: `CREATE OR REPLACE TABLE …`.
    """
    only = exp.Properties(expressions=[exp.TemporaryProperty()]) if temporary else None
    return exp.Create(
        this=place, kind=kind, expression=rows, properties=only, replace=replace or None
    )
