"""The rules by which a rewritten query is written for Spark 3.4 or newer in ANSI mode."""

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
    part,
    retyped,
    rounded,
    same,
    text,
    unit,
)

# -- types ----------------------------------------------------------------------------------------

_type = retyped(
    {
        **{kind: kind for kind in (*FLOATS, *DAYS, *BOOLEAN, *DECIMALS, exp.DType.ARRAY)},
        **{kind: kind for kind in (exp.DType.TINYINT, exp.DType.SMALLINT)},
        **{kind: kind for kind in (exp.DType.INT, exp.DType.BIGINT)},
        **dict.fromkeys(MOMENTS, exp.DType.TIMESTAMPNTZ),
        **dict.fromkeys((exp.DType.TEXT, exp.DType.VARCHAR), exp.DType.TEXT),
        **{exp.DType.UTINYINT: exp.DType.SMALLINT, exp.DType.USMALLINT: exp.DType.INT},
        exp.DType.UINT: exp.DType.BIGINT,
    },
    {exp.DType.UBIGINT: 20, exp.DType.INT128: 38, exp.DType.UINT128: 38},
)


def _cast(node: exp.Expr) -> exp.Expr:
    assert isinstance(node, exp.Cast)
    inner, to = node.this, node.to
    if to.this in TEXTS:
        node.set("this", text(inner))
    elif to.this in INTEGERS and of_type(inner, *FLOATS):  # the cast would cut off
        node.set("this", function("RINT", inner))
    elif to.this in INTEGERS and of_type(inner, *DECIMALS):
        node.set("this", function("ROUND", inner))
    return node


# -- numbers --------------------------------------------------------------------------------------


def _whole_divided(node: exp.Expr) -> exp.Expr:
    return node if is_whole(node) else divided(node)


def _small(number: exp.Expr) -> exp.Expr:
    """Whether a number may have a fraction: FLOOR and CEIL make a BIGINT of it, or end in error."""
    most = exp.cast(exp.Literal.number(2**53), "DOUBLE")
    return exp.LT(this=function("ABS", number.copy()), expression=most)


def _whole(node: exp.Expr) -> exp.Expr:
    """FLOOR and CEIL, which make integers of numbers that are none."""
    number = only(node, "this").this
    if not of_type(number, *FLOATS):
        return node
    of_small = exp.cast(node.copy(), "DOUBLE")
    return exp.case().when(_small(number), of_small).else_(number.copy())


def _cut(node: exp.Expr) -> exp.Expr:
    number = only(node, "this").this
    below = exp.cast(exp.Floor(this=number.copy()), "DOUBLE")
    above = exp.cast(exp.Ceil(this=number.copy()), "DOUBLE")
    negative = exp.LT(this=number.copy(), expression=exp.Literal.number(0))
    large = exp.Not(this=exp.paren(_small(number)))
    found = exp.case().when(large, exp.cast(number, "DOUBLE"))
    return found.when(negative, above).else_(below)


def _logarithm(name: str, number: exp.Expr) -> exp.Expr:
    """Of a positive number; of others Spark says NULL."""
    zero = exp.Literal.number(0)
    lowest = exp.cast(exp.Literal.string("-Infinity"), "DOUBLE")
    none = exp.cast(exp.Literal.string("NaN"), "DOUBLE")
    return (
        exp.case()
        .when(exp.EQ(this=number.copy(), expression=zero), lowest)
        .when(exp.LT(this=number.copy(), expression=zero.copy()), none)
        .else_(function(name, number))
    )


def _extreme(node: exp.Expr) -> exp.Expr:
    only(node, "this", "expressions", "ignore_nulls")
    name = "GREATEST" if isinstance(node, exp.Greatest) else "LEAST"
    return function(name, node.this, *node.expressions)  # which leaves NULL out, as in DuckDB


# -- windows, lists and text ----------------------------------------------------------------------


def _window(node: exp.Expr) -> exp.Expr:
    if isinstance(node.this, exp.RowNumber) and not node.args.get("order"):
        any_order = exp.Ordered(this=exp.null(), nulls_first=True)
        node.set("order", exp.Order(expressions=[any_order]))
    return node


def _series(node: exp.Expr) -> exp.Expr:
    step = node.args.get("step")
    ends = (node.args["start"], node.args["end"])
    return function("SEQUENCE", *ends, *([step] if step else []))


def _like(node: exp.Expr) -> exp.Expr:
    if not means_itself(node):
        raise Unknown("with a backslash in its pattern, or with a pattern that is no constant")
    return node


def _of_two(name: str) -> Rule:
    return lambda node: function(name, *(node.expressions or (node.this, node.expression)))


# -- dates ----------------------------------------------------------------------------------------

_FORMATS = {"%Y": "yyyy", "%m": "MM", "%d": "dd", "%H": "HH", "%M": "mm", "%S": "ss"}
_SUNDAY_FIRST = {"DOW": "DAYOFWEEK", "ISODOW": "DAYOFWEEK_ISO"}


def _part(node: exp.Expr) -> exp.Expr:
    name, of = part(node)
    found: exp.Expr = exp.Extract(this=exp.var(_SUNDAY_FIRST.get(name, name)), expression=of)
    if name == "DOW":  # from 0 on
        found = found - 1
    return exp.cast(function("FLOOR", found) if name == "SECOND" else found, "BIGINT")


def _start() -> exp.Expr:
    return exp.cast(exp.Literal.string("1970-01-01 00:00:00"), "TIMESTAMPNTZ")


def _microseconds(node: exp.Expr) -> exp.Expr:
    """Since 1970, from the parts of an interval: functions of times look at the time zone."""
    since = exp.paren(exp.paren(node.expressions[0]) - _start())
    total: exp.Expr = exp.Literal.number(0)
    for name, length in (("DAY", 86_400), ("HOUR", 3600), ("MINUTE", 60), ("SECOND", 1)):
        kind = "DECIMAL(8, 6)" if name == "SECOND" else "BIGINT"
        found = exp.cast(exp.Extract(this=exp.var(name), expression=since.copy()), kind)
        total = total + exp.cast(found * exp.Literal.number(length * 1_000_000), "BIGINT")
    return exp.paren(total)


def _since_1970(node: exp.Expr) -> exp.Expr:
    microseconds = exp.paren(node.expressions[0])
    a_day, zero = exp.Literal.number(86_400_000_000), exp.Literal.number(0)
    whole = exp.IntDiv(this=microseconds, expression=a_day)
    rest = exp.paren(exp.Mod(this=microseconds.copy(), expression=a_day.copy()))
    seconds = exp.Div(this=rest, expression=exp.Literal.number(1_000_000), typed=True)
    parts = (exp.cast(whole, "INT"), zero, zero.copy(), exp.cast(seconds, "DECIMAL(18, 6)"))
    return exp.paren(_start() + function("MAKE_DT_INTERVAL", *parts))


_NAMED: Mapping[str, Rule] = {
    "error": lambda node: function("RAISE_ERROR", *node.expressions),
    "epoch_us": _microseconds,
    "make_timestamp": _since_1970,
    **dict.fromkeys(("date_part", "datepart", "weekday"), _part),
    "prefix": _of_two("STARTSWITH"),
    "suffix": _of_two("ENDSWITH"),
}


def _named(node: exp.Expr) -> exp.Expr:
    rule = _NAMED.get(node.name.lower())
    if rule is None:
        raise Unknown
    return rule(node)


def _more(node: exp.Expr) -> exp.Expr:
    """With an interval a date becomes a time."""
    sides = {"this": node.this, "expression": node.expression}
    if any(isinstance(operand, exp.Interval) for operand in sides.values()):
        for name, operand in sides.items():
            if of_type(operand, *DAYS):
                node.set(name, exp.cast(operand, "TIMESTAMPNTZ"))
    return node


def _less(node: exp.Expr) -> exp.Expr:
    if of_type(node.this, *MOMENTS) and of_type(node.expression, *MOMENTS, *DAYS):
        raise Unknown("of times")
    if of_type(node.this, *DAYS) and of_type(node.expression, *DAYS):
        return _days(node)
    return _more(node)


def _days(node: exp.Expr) -> exp.Expr:
    return function("DATEDIFF", exp.cast(node.this, "DATE"), exp.cast(node.expression, "DATE"))


def _days_between(node: exp.Expr) -> exp.Expr:
    only(node, "this", "expression", "unit", "date_part_boundary")
    unit(node, "DAY")
    return _days(node)


def _truncated(node: exp.Expr) -> exp.Expr:
    only(node, "this", "unit")
    name = unit(node, "YEAR", "QUARTER", "MONTH", "WEEK", "DAY")
    day = exp.cast(node.this, "DATE")
    first = day if name == "DAY" else function("TRUNC", day, exp.Literal.string(name))
    return exp.cast(first, "TIMESTAMPNTZ")


def _shown(form: str) -> Rule:
    return lambda node: function("DATE_FORMAT", _day(node.this), exp.Literal.string(form))


def _formatted(node: exp.Expr) -> exp.Expr:
    return function("DATE_FORMAT", _day(node.this), date_format(node, _FORMATS))


def _day(node: exp.Expr) -> exp.Expr:
    if of_type(node, *DAYS):
        return node
    raise Unknown("of a time")  # which would be read in the session's time zone


RULES: Mapping[type[exp.Expr], Rule] = {
    **SHARED,
    exp.DataType: _type,
    exp.Cast: _cast,
    exp.Add: _more,
    exp.Sub: _less,
    exp.IntDiv: _whole_divided,
    exp.Mod: same,
    exp.Round: rounded(lambda node: function("ROUND", node)),
    exp.Trunc: _cut,
    exp.Floor: _whole,
    exp.Ceil: _whole,
    exp.Exp: in_double("EXP"),
    exp.Ln: lambda node: _logarithm("LN", double(node.this)),
    exp.Log: lambda node: _logarithm("LOG10", of_ten(node)),
    exp.Greatest: _extreme,
    exp.Least: _extreme,
    **dict.fromkeys((exp.GT, exp.GTE, exp.LT, exp.LTE, exp.Between, exp.Ordered), same),
    exp.Min: same,
    exp.Max: same,
    exp.AnyValue: same,
    exp.Window: _window,
    exp.ArraySize: lambda node: function("ARRAY_SIZE", node.this),
    exp.GenerateSeries: _series,
    exp.Lower: same,
    exp.Upper: same,
    exp.Like: _like,
    exp.ILike: _like,
    exp.StartsWith: _of_two("STARTSWITH"),
    exp.EndsWith: _of_two("ENDSWITH"),
    exp.Contains: _of_two("CONTAINS"),
    **dict.fromkeys((exp.Extract, *PARTS), _part),
    exp.Anonymous: _named,
    exp.DateDiff: _days_between,
    exp.DateTrunc: _truncated,
    exp.TimestampTrunc: _truncated,
    exp.Dayname: _shown("EEEE"),
    exp.Monthname: _shown("MMMM"),
    exp.TimeToStr: _formatted,
    exp.LastDay: lambda node: function("LAST_DAY", exp.cast(only(node, "this").this, "DATE")),
}
