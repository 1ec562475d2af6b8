"""The rules by which a rewritten query is written for PostgreSQL.

Text is compared by its bytes there too, whatever the collation of the database; letters change case
as in Unicode, which needs a server with ICU, as nearly all are.
"""

from __future__ import annotations

from collections.abc import Mapping

from sqlglot import exp

from dbdeid.query.dialects.translation import (
    BOOLEAN,
    DAYS,
    DECIMALS,
    FLOATS,
    INTEGERS,
    MOMENTS,
    PARTS,
    SHARED,
    TEXTS,
    Rule,
    Unknown,
    date_format,
    divided,
    double,
    function,
    in_double,
    is_whole,
    means_itself,
    of_ten,
    of_type,
    only,
    only_of,
    part,
    retyped,
    rounded,
    same,
    text,
    unit,
)
from dbdeid.query.groups.held import STEP

_BYTES = exp.Identifier(this="C", quoted=True)
_UNICODE = exp.Identifier(this="und-x-icu", quoted=True)


def _collated(node: exp.Expr, collation: exp.Identifier) -> exp.Expr:
    return exp.paren(exp.Collate(this=node.copy(), expression=collation.copy()), copy=False)


def _ordered(node: exp.Expr) -> exp.Expr:
    """What puts its operands in order: text by bytes."""
    if all(of_type(operand, *TEXTS) for operand in node.iter_expressions()):
        node.set("this", _collated(node.this, _BYTES))
    return node


# -- types ----------------------------------------------------------------------------------------

_type = retyped(
    {
        **{kind: kind for kind in (*FLOATS, *DAYS, *BOOLEAN, *DECIMALS, *MOMENTS)},
        **{kind: kind for kind in (exp.DType.SMALLINT, exp.DType.INT, exp.DType.BIGINT)},
        **{kind: kind for kind in (exp.DType.TEXT, exp.DType.VARCHAR, exp.DType.ARRAY)},
        **{exp.DType.TINYINT: exp.DType.SMALLINT, exp.DType.UTINYINT: exp.DType.SMALLINT},
        **{exp.DType.USMALLINT: exp.DType.INT, exp.DType.UINT: exp.DType.BIGINT},
    },
    {exp.DType.UBIGINT: 20, exp.DType.INT128: 39, exp.DType.UINT128: 39},
)


def _cast(node: exp.Expr) -> exp.Expr:
    assert isinstance(node, exp.Cast)
    inner, to = node.this, node.to
    if isinstance(inner, exp.Anonymous) and inner.name.lower() == "error":
        # text that no type takes, and that is not known before the query runs
        nothing = function("LEFT", exp.cast(function("RANDOM"), "TEXT"), exp.Literal.number(0))
        node.set("this", exp.DPipe(this=inner.expressions[0], expression=nothing))
    elif to.this in TEXTS:
        node.set("this", text(inner))
    elif of_type(inner, *BOOLEAN) and to.this in (*INTEGERS, *FLOATS, *DECIMALS):
        node.set("this", exp.cast(inner, "INT"))
    return node


# -- numbers --------------------------------------------------------------------------------------


def _whole_divided(node: exp.Expr) -> exp.Expr:
    if not is_whole(node):
        return divided(node)
    return exp.Div(this=node.this, expression=node.expression, typed=True, safe=False)


def _remainder(node: exp.Expr) -> exp.Expr:
    for operand in (node.this, node.expression):
        if not of_type(operand, *INTEGERS, *DECIMALS):
            raise Unknown("of numbers that are not exact")
    return node


def _to_whole(node: exp.Expr) -> exp.Expr:
    """Rounded half away from zero, as only exact numbers are: as the shortest for that DOUBLE."""
    shortest = exp.cast(exp.cast(exp.paren(node), "TEXT"), "DECIMAL")
    return exp.cast(function("ROUND", shortest), "DOUBLE")


def _exponential(node: exp.Expr) -> exp.Expr:
    """What is too small for a DOUBLE is 0, not an error."""
    small = exp.LT(this=exp.paren(node.this), expression=exp.Literal.number(-700))
    return exp.case().when(small, double(exp.Literal.number(0))).else_(in_double("EXP")(node))


def _extreme(node: exp.Expr) -> exp.Expr:
    only(node, "this", "expressions", "ignore_nulls")
    operands = [node.this, *node.expressions]
    if all(of_type(operand, *TEXTS) for operand in operands):
        operands[0] = _collated(node.this, _BYTES)
    name = "GREATEST" if isinstance(node, exp.Greatest) else "LEAST"
    return function(name, *operands)  # which leaves NULL out, as in DuckDB


# -- aggregates and lists -------------------------------------------------------------------------


def _least(node: exp.Expr) -> exp.Expr:
    return exp.LogicalAnd(this=node.this) if of_type(node.this, *BOOLEAN) else _ordered(node)


def _greatest(node: exp.Expr) -> exp.Expr:
    return exp.LogicalOr(this=node.this) if of_type(node.this, *BOOLEAN) else _ordered(node)


def _any(node: exp.Expr) -> exp.Expr:
    """Before version 16 there is no ANY_VALUE."""
    every = exp.paren(function("ARRAY_AGG", node.this))
    return exp.Bracket(this=every, expressions=[exp.Literal.number(1)], offset=1)


def _series(node: exp.Expr) -> exp.Expr:
    ends = [node.args["start"], node.args["end"]]
    step = node.args.get("step")
    member: exp.Expr = exp.column("member", "series")
    if step:  # of dates it makes times
        ends = [*(exp.cast(end, "TIMESTAMP") for end in ends), step]
        member = exp.cast(member, "DATE")
    alias = exp.TableAlias(this=exp.to_identifier("series"), columns=[exp.to_identifier("member")])
    table = exp.Table(this=function("GENERATE_SERIES", *ends), alias=alias)
    return function("ARRAY", exp.select(member).from_(table))


# -- text -----------------------------------------------------------------------------------------


def _cased(node: exp.Expr) -> exp.Expr:
    node.set("this", _collated(node.this, _UNICODE))
    return _collated(node, _BYTES)


def _like(node: exp.Expr) -> exp.Expr:
    if isinstance(node, exp.ILike):
        node.set("this", _collated(node.this, _UNICODE))
    if means_itself(node):
        return node
    return exp.Escape(this=node.copy(), expression=exp.Literal.string(""))


def _affix(of: str) -> Rule:
    def rule(node: exp.Expr) -> exp.Expr:
        whole, affix = node.expressions or (node.this, node.expression)
        found = function(of, whole, function("LENGTH", affix.copy()))
        return exp.paren(exp.EQ(this=found, expression=affix))

    return rule


def _contains(node: exp.Expr) -> exp.Expr:
    return exp.paren(function("STRPOS", node.this, node.expression) > 0)


# -- dates ----------------------------------------------------------------------------------------

_FORMATS = {"%Y": "YYYY", "%m": "MM", "%d": "DD", "%H": "HH24", "%M": "MI", "%S": "SS"}


def _part(node: exp.Expr) -> exp.Expr:
    name, of = part(node)
    found: exp.Expr = exp.Extract(this=exp.var(name), expression=of)
    return exp.cast(function("FLOOR", found) if name == "SECOND" else found, "BIGINT")


def _microseconds(node: exp.Expr) -> exp.Expr:
    seconds = exp.Extract(this=exp.var("EPOCH"), expression=node.expressions[0])
    return exp.cast(exp.paren(seconds * 1_000_000), "BIGINT")


def _since_1970(node: exp.Expr) -> exp.Expr:
    """Days and microseconds apart: their product with an interval is a DOUBLE."""
    microseconds = exp.paren(node.expressions[0])
    a_day = exp.Literal.number(86_400_000_000)
    whole = exp.Div(this=microseconds, expression=a_day, typed=True, safe=False)
    rest = exp.Mod(this=microseconds.copy(), expression=a_day.copy())
    start = exp.cast(exp.Literal.string("1970-01-01"), "TIMESTAMP")
    return exp.paren(start + _times(whole, "DAY") + _times(rest, "MICROSECOND"))


def _times(count: exp.Expr, name: str) -> exp.Expr:
    return exp.paren(count) * exp.Interval(this=exp.Literal.string("1"), unit=exp.var(name))


_NAMED: Mapping[str, Rule] = {
    "error": same,  # written with the type to which it is cast
    "epoch_us": _microseconds,
    "make_timestamp": _since_1970,
    **dict.fromkeys(("date_part", "datepart", "weekday"), _part),
    "prefix": _affix("LEFT"),
    "suffix": _affix("RIGHT"),
}


def _named(node: exp.Expr) -> exp.Expr:
    rule = _NAMED.get(node.name.lower())
    if rule is None:
        raise Unknown
    return rule(node)


def _days_between(node: exp.Expr) -> exp.Expr:
    only(node, "this", "expression", "unit", "date_part_boundary")
    unit(node, "DAY")
    return exp.paren(exp.cast(node.this, "DATE") - exp.cast(node.expression, "DATE"))


def _less(node: exp.Expr) -> exp.Expr:
    if of_type(node.this, *MOMENTS) and of_type(node.expression, *MOMENTS, *DAYS):
        raise Unknown("of times")
    return node


def _truncated(node: exp.Expr) -> exp.Expr:
    only(node, "this", "unit")
    name = unit(node, "YEAR", "QUARTER", "MONTH", "WEEK", "DAY", "HOUR", "MINUTE", "SECOND")
    moment = exp.cast(node.this, "TIMESTAMP")
    return function("DATE_TRUNC", exp.Literal.string(name.lower()), moment)


def _shown(form: str) -> Rule:
    return lambda node: function("TO_CHAR", node.this, exp.Literal.string(form))


def _formatted(node: exp.Expr) -> exp.Expr:
    return function("TO_CHAR", node.this, date_format(node, _FORMATS))


def _last_day(node: exp.Expr) -> exp.Expr:
    only(node, "this")
    month = function("DATE_TRUNC", exp.Literal.string("month"), exp.cast(node.this, "TIMESTAMP"))
    rest = exp.Interval(this=exp.Literal.string("1 MONTH - 1 DAY"))
    return exp.cast(exp.paren(month + rest), "DATE")


def _common_table(node: exp.Expr) -> exp.Expr:
    """A table of WITH; steps are kept apart, for the planner would write each into all later ones.

    Of steps that each name the one before several times, it runs out of memory.
    """
    if node.alias == STEP or node.alias.startswith(f"{STEP}_of_"):
        node.set("materialized", True)
    return node


def _epoch(node: exp.Expr) -> exp.Expr:
    moment = exp.cast(only(node, "this").this, "TIMESTAMP")
    return exp.cast(exp.Extract(this=exp.var("EPOCH"), expression=moment), "DOUBLE")


RULES: Mapping[type[exp.Expr], Rule] = {
    **SHARED,
    exp.CTE: _common_table,
    exp.DataType: _type,
    exp.Cast: _cast,
    exp.Add: same,
    exp.Sub: _less,
    exp.IntDiv: _whole_divided,
    exp.Mod: _remainder,
    exp.Round: rounded(_to_whole),
    exp.Trunc: only_of("this"),
    exp.Floor: only_of("this"),
    exp.Ceil: only_of("this"),
    exp.Exp: _exponential,
    exp.Ln: in_double("LN"),
    exp.Log: lambda node: function("LOG", of_ten(node)),
    exp.Greatest: _extreme,
    exp.Least: _extreme,
    **dict.fromkeys((exp.GT, exp.GTE, exp.LT, exp.LTE, exp.Between, exp.Ordered), _ordered),
    exp.Min: _least,
    exp.Max: _greatest,
    exp.AnyValue: _any,
    exp.Window: same,
    exp.ArraySize: lambda node: function("CARDINALITY", node.this),
    exp.GenerateSeries: _series,
    exp.Lower: _cased,
    exp.Upper: _cased,
    exp.Like: _like,
    exp.ILike: _like,
    exp.StartsWith: _affix("LEFT"),
    exp.EndsWith: _affix("RIGHT"),
    exp.Contains: _contains,
    **dict.fromkeys((exp.Extract, *PARTS), _part),
    exp.Anonymous: _named,
    exp.DateDiff: _days_between,
    exp.DateTrunc: _truncated,
    exp.TimestampTrunc: _truncated,
    exp.Dayname: _shown("FMDay"),
    exp.Monthname: _shown("FMMonth"),
    exp.TimeToStr: _formatted,
    exp.LastDay: _last_day,
    exp.TimeToUnix: _epoch,
}
