"""Expressions of one record: what may stand in them, and what the names in them mean.

An expression is taken when every node of it is known to be deterministic and free of side effects.
Reading it replaces each column by what the column stands for, so that subqueries disappear.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import isfinite

from sqlglot import exp

from dbdeid.errors import DataError, did_you_mean

SUPPORTED = (
    "ask for groups and COUNT, SUM, AVG, MIN, MAX, MEDIAN, QUANTILE_CONT, STDDEV, VARIANCE or "
    "CORR of released columns, and what is computed of these; WITH and subqueries in FROM may "
    "rename, compute, filter and group"
)

# What helps where a table of a name is not known.
UNKNOWN = (
    "write the name or the alias that FROM gives the table; a subquery cannot name columns of the "
    "query around it"
)
# What windows there are of groups.
OVER_GROUPS = (
    "of groups there are RANK, DENSE_RANK and ROW_NUMBER by an aggregate, and by keys LAG, LEAD "
    "and sums from the first group to each"
)

# No more nodes take the place of names in one expression: each link of a chain of subqueries may
# double what it is given.
MOST_GROWN = 10_000

# Deterministic and free of side effects: what may be computed from one row's values.
SCALARS = (
    *(exp.And, exp.Or, exp.Not, exp.Paren),
    *(exp.EQ, exp.NEQ, exp.GT, exp.GTE, exp.LT, exp.LTE, exp.NullSafeEQ, exp.NullSafeNEQ),
    *(exp.Between, exp.In, exp.Like, exp.ILike, exp.Escape, exp.Is),
    *(exp.Column, exp.Identifier, exp.Literal, exp.Boolean, exp.Null, exp.Var, exp.Interval),
    *(exp.Neg, exp.Add, exp.Sub, exp.Mul, exp.Div, exp.IntDiv, exp.Mod),
    *(exp.Cast, exp.TryCast, exp.DataType, exp.DataTypeParam, exp.Case, exp.If, exp.Coalesce),
    *(exp.Lower, exp.Upper, exp.Length, exp.Trim, exp.Substring, exp.Left, exp.Right),
    *(exp.DPipe, exp.Concat, exp.StartsWith, exp.EndsWith, exp.Contains, exp.Replace, exp.Nullif),
    *(exp.RegexpLike, exp.RegexpFullMatch, exp.RegexpExtract, exp.RegexpReplace, exp.SimilarTo),
    *(exp.Glob, exp.SplitPart, exp.StrPosition, exp.Greatest, exp.Least),
    *(exp.Floor, exp.Ceil, exp.Round, exp.Trunc, exp.Abs, exp.Sign, exp.IsNan),
    *(exp.Ln, exp.Log, exp.Exp, exp.Sqrt, exp.Cbrt, exp.Pow),
    *(exp.Year, exp.Quarter, exp.Month, exp.Week, exp.Day, exp.Hour, exp.Minute, exp.Second),
    *(exp.DayOfWeek, exp.DayOfWeekIso, exp.DayOfMonth, exp.DayOfYear, exp.WeekOfYear),
    *(exp.Dayname, exp.Monthname, exp.Extract, exp.LastDay),
    *(exp.TimestampTrunc, exp.DateDiff, exp.DateAdd),
    *(exp.DateFromParts, exp.TimeToStr, exp.TimeToUnix),
)
# The same of functions that the parser knows by name only, with their number of arguments: age of
# one date is counted from today.
_NAMED = {
    **{"date_part": 2, "datepart": 2, "date_sub": 3, "datesub": 3, "age": 2, "weekday": 1},
    **{"century": 1, "decade": 1, "yearweek": 1, "strlen": 1, "prefix": 2, "suffix": 2},
}


def is_scalar(node: exp.Expr) -> bool:
    """Whether a node may stand in an expression of one record, whatever is below it."""
    if is_alternatives(node):
        return True
    if isinstance(node, exp.Anonymous):
        return _NAMED.get(node.name.lower()) == len(node.expressions)
    return isinstance(node, SCALARS)


def alternatives(expected: exp.Expr, may: exp.Expr, sure: exp.Expr) -> exp.Expr:
    """A condition that is known in part: as it is expected, where it may hold, where it must.

    No text of a query reads as one.
    """
    made = exp.Anonymous(this="alternatives", expressions=[expected, may, sure])
    made.meta[_ALTERNATIVES] = True
    return made


def is_alternatives(node: exp.Expr) -> bool:
    """Whether a node is what `alternatives` makes."""
    return isinstance(node, exp.Anonymous) and bool(node.meta.get(_ALTERNATIVES))


def has_alternatives(*nodes: exp.Expr | None) -> bool:
    """Whether any of some conditions is known in part."""
    return any(is_alternatives(part) for node in nodes if node is not None for part in node.walk())


_ALTERNATIVES = "alternatives"


def refused(what: str, hint: str = SUPPORTED) -> DataError:
    """The error that says what of a query is not taken."""
    return DataError(f"the query cannot be answered from the release: {what}", hint=hint)


def instead_of(node: exp.Expr, otherwise: str = SUPPORTED) -> str:
    """What to ask in place of a node that is refused."""
    if isinstance(node, exp.IgnoreNulls):
        return instead_of(node.this, otherwise)
    return _INSTEAD.get(node.key, otherwise)


_INSTEAD = {
    "window": "a part of all is COUNT(*) / SUM(COUNT(*)) OVER (), or SUM(x) FILTER (WHERE …) "
    "/ SUM(x)",
    **dict.fromkeys(
        ("select", "subquery", "exists", "in"),
        "JOIN the table, if its key is unique, or ask for what it gives in a query of its own",
    ),
    "placeholder": "compare with it in WHERE or FILTER (WHERE …), or ask for its number first",
    "approxtopk": "ask for the groups: SELECT x, COUNT(*) … GROUP BY x ORDER BY 2 DESC LIMIT 3",
    "currentdate": "write the date: DATE '2026-01-31'",
    **dict.fromkeys(
        ("currenttimestamp", "localtimestamp"), "write the moment: TIMESTAMP '2026-01-31 12:00:00'"
    ),
    **dict.fromkeys(("currenttime", "localtime"), "write the time of day: TIME '12:00:00'"),
    **dict.fromkeys(
        ("groupconcat", "arrayagg"),
        "ask for what it lists as groups, which are known to be there or not: SELECT key, x, "
        "COUNT(*) … GROUP BY key, x",
    ),
    **dict.fromkeys(
        ("anyvalue", "first", "last"),
        "which record is first is no matter of the data: MIN and MAX are the same in any order",
    ),
    **dict.fromkeys(
        ("ntile", "percentrank", "cumedist", "firstvalue", "lastvalue", "nthvalue"), OVER_GROUPS
    ),
    "case": "give a number or NULL in each branch, or a text or NULL in each",
    "star": "name columns, or read the released table itself in place of asking for the source",
}


def is_of_form(hint: str) -> bool:
    """Whether a hint is what to ask in another form, so that other ways to ask go with it."""
    return hint == SUPPORTED or hint in _INSTEAD.values()


def named(node: exp.Expr) -> str:
    """What a refused node is called; never its text."""
    if isinstance(node, exp.IgnoreNulls):
        return named(node.this)
    if node.key in _WORDS:
        return _WORDS[node.key]
    if isinstance(node, exp.Binary) and node.key.startswith("bitwise"):
        return "arithmetic of single bits"
    if isinstance(node, exp.Anonymous):
        return f"the function {node.name}"
    if isinstance(node, exp.AggFunc):
        return f"the aggregate {node.sql_name()}"
    if isinstance(node, exp.Func):
        return f"the function {node.sql_name()}"
    return node.key.upper()


_WORDS = {
    "similarto": "SIMILAR TO",
    "regexplike": "the function REGEXP_MATCHES",
    "rand": "the function RANDOM",
    "logicalor": "the aggregate BOOL_OR",
    "logicaland": "the aggregate BOOL_AND",
    "select": "a subquery",
    "subquery": "a subquery",
    "placeholder": "a subquery",  # parameters are refused before, as what they are
    "parameter": "a parameter",
    "attimezone": "AT TIME ZONE",
    "array": "a list",
    "struct": "a structure",
    "lambda": "a function of its own",
    "dpipe": "||",
    "dot": "a part of a structure",
    "any": "ANY (…)",
    "all": "ALL (…)",
    "window": "a window",
    "star": "*",
    "groupingsets": "GROUPING SETS",
    "bracket": "a list or a part of one",
    "order": "ORDER BY",
    "tuple": "a row (…, …)",
    **dict.fromkeys(("eq", "neq", "gt", "gte", "lt", "lte"), "a comparison"),
    **{"add": "+", "sub": "-", "mul": "*", "div": "/", "intdiv": "//", "mod": "%"},
}


def bare(node: exp.Expr) -> exp.Expr:
    """The expression without the parentheses around it."""
    while isinstance(node, exp.Paren):
        node = node.this
    return node


def constant(node: exp.Expr) -> float | None:
    """The value of a number as it is written; None for anything else."""
    node = bare(node)
    if isinstance(node, exp.Neg):
        inner = constant(node.this)
        return None if inner is None else -inner
    plain = isinstance(node, exp.Literal) and not node.is_string
    return value if plain and isfinite(value := float(node.name)) else None


def substituted(found: Sequence[tuple[exp.Column, exp.Expr]], clause: str) -> None:
    """Put in the place of each reference a copy of what it means.

    Raises:
        DataError: the expression becomes too long.
    """
    grown = sum(len(list(v.walk())) for _, v in found if not isinstance(v, exp.Column))
    if grown > MOST_GROWN:
        raise refused(f"{clause} is too long", "ask several shorter queries")
    for reference, value in found:
        reference.replace(_meant(value))


def _meant(value: exp.Expr) -> exp.Expr:
    """A copy of an expression that can stand where a name stood."""
    return value.copy() if isinstance(value, _ATOMS) else exp.Paren(this=value.copy())


_ATOMS = (exp.Column, exp.Literal, exp.Boolean, exp.Null, exp.Paren)


@dataclass(frozen=True)
class Named:
    """A column as a query may name it: how it is spelled, and what it stands for."""

    name: str
    value: exp.Expr


@dataclass(frozen=True)
class Range:
    """One table of FROM: its qualifiers and the columns it shows, both in lower case.

    `told`: whether an error may list its columns. `withheld`: names of columns that it does not
    show, by which nothing else is meant.
    """

    qualifiers: frozenset[str]
    columns: Mapping[str, Named]
    told: bool = True
    withheld: frozenset[str] = frozenset()

    @classmethod
    def of(
        cls,
        qualifiers: Sequence[str],
        columns: Sequence[Named],
        told: bool = True,
        withheld: frozenset[str] = frozenset(),
    ) -> Range:
        """The range of named columns."""
        by_name = {column.name.lower(): column for column in columns}
        return cls(frozenset(q.lower() for q in qualifiers), by_name, told, withheld)


@dataclass(frozen=True)
class Scope:
    """The tables of FROM, the source first.

    Attributes:
        ranges: the tables.
        shared: columns of a USING, in lower case, which unqualified are those of the source.
    """

    ranges: tuple[Range, ...]
    shared: frozenset[str] = frozenset()

    def scalar(self, node: exp.Expr, clause: str) -> exp.Expr:
        """A checked copy of an expression of one record, its columns replaced by what they mean.

        Raises:
            DataError: it holds something that is not taken, or a name that is not known.
        """
        copy = exp.Paren(this=node.copy())
        for part in copy.walk():
            refuse_strange(part, clause)
        found = [(r, self.find(r, clause).value) for r in copy.find_all(exp.Column)]
        substituted(found, clause)
        for paren in list(copy.this.find_all(exp.Paren)):
            if paren.parent is not copy and isinstance(paren.this, _ATOMS):
                paren.replace(paren.this)
        return bare(copy).copy()

    def knows(self, reference: exp.Column) -> bool:
        """Whether an unqualified name is a column of a table of FROM, shown or not."""
        name = reference.name.lower()
        return any(name in known.columns or name in known.withheld for known in self.ranges)

    def all_columns(self, qualifier: str, clause: str) -> list[Named]:
        """What `*` shows, or `qualifier.*`.

        Raises:
            DataError: the qualifier is not known.
        """
        if qualifier:
            ranges = [r for r in self.ranges if qualifier.lower() in r.qualifiers]
            if not ranges:
                raise refused(f"{clause} names {qualifier}.*: unknown table", UNKNOWN)
            return [c for r in ranges for c in r.columns.values()]
        first, *others = self.ranges
        once = [c for r in others for n, c in r.columns.items() if n not in self.shared]
        return [*first.columns.values(), *once]

    def find(self, reference: exp.Column, clause: str) -> Named:
        """The column that a reference means.

        Raises:
            DataError: there is none, or more than one.
        """
        if not isinstance(reference.this, exp.Identifier):
            raise refused(f"* in {clause}", "name the columns")
        written = ".".join(part.name for part in reference.parts)
        qualifier = written.removesuffix(reference.name).removesuffix(".")
        name = reference.name.lower()
        ranges = self.ranges
        if qualifier:
            ranges = tuple(r for r in ranges if qualifier.lower() in r.qualifiers)
            if not ranges:
                raise refused(f"{clause} names {written}: unknown table", UNKNOWN)
        elif name in self.shared:
            ranges = ranges[:1]
        found = [r.columns[name] for r in ranges if name in r.columns]
        if len(found) > 1:
            hint = "write the table's name before the column's"
            raise refused(f"{clause} names {written}, which several tables have", hint)
        if not found:
            known = {c.name for r in ranges for c in r.columns.values()}
            hint = f"look at the {len(known)} names in its first line"
            if all(r.told for r in ranges):
                hint = did_you_mean(reference.name, known)
            if reference.this.quoted and not qualifier:
                text = "double quotes name columns; a text stands in single quotes"
                hint = f"{text}; {hint[:1].lower()}{hint[1:]}" if hint else text
            raise refused(f"{clause} names {written}, which is not released", hint)
        return found[0]


def refuse_strange(part: exp.Expr, clause: str) -> None:
    """Refuse a node that may not stand in an expression, whatever is below it.

    Raises:
        DataError: what it is.
    """
    if not is_scalar(part):
        raise refused(f"{named(part)} in {clause}", instead_of(part))
    if isinstance(part, exp.DataType) and part.this not in _TYPES:
        raise refused(
            f"a type other than numbers, text, BOOLEAN, dates and times in {clause}",
            "use one of these types",
        )
    if isinstance(part, exp.In) and any(part.args.get(k) for k in ("query", "unnest", "field")):
        what = "a subquery" if part.args.get("query") else "IN with something else than a list"
        raise refused(f"{what} in {clause}", instead_of(part))


NUMERIC_TYPES = frozenset(
    {
        *(exp.DType.TINYINT, exp.DType.SMALLINT, exp.DType.INT, exp.DType.BIGINT),
        *(exp.DType.INT128, exp.DType.UTINYINT, exp.DType.USMALLINT, exp.DType.UINT),
        *(exp.DType.UBIGINT, exp.DType.UINT128, exp.DType.DECIMAL),
        *(exp.DType.FLOAT, exp.DType.DOUBLE),
    }
)
_TYPES = NUMERIC_TYPES | {
    *(exp.DType.TEXT, exp.DType.VARCHAR, exp.DType.CHAR, exp.DType.BOOLEAN, exp.DType.DATE),
    *(exp.DType.TIME, exp.DType.TIMESTAMP, exp.DType.TIMESTAMPNTZ, exp.DType.TIMESTAMPTZ),
    *(exp.DType.TIMESTAMP_S, exp.DType.TIMESTAMP_MS, exp.DType.TIMESTAMP_NS),
    *(exp.DType.DATETIME, exp.DType.INTERVAL),
}
