"""How DuckDB names a column of an answer that has no alias."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable

from sqlglot import exp

from dbdeid.engine.expressions import identifier
from dbdeid.engine.sqltext import sql
from dbdeid.query.parse.expressions import bare

_OPERATORS: dict[type[exp.Expr], str] = {
    **{exp.Add: "+", exp.Sub: "-", exp.Mul: "*", exp.Div: "/", exp.IntDiv: "//", exp.Mod: "%"},
    **{exp.EQ: "=", exp.NEQ: "!=", exp.GT: ">", exp.GTE: ">=", exp.LT: "<", exp.LTE: "<="},
    exp.DPipe: "||",
}
# Names that are keywords of SQL are quoted.
_FUNCTIONS: dict[type[exp.Expr], str] = {
    **{exp.Count: "count", exp.Sum: "sum", exp.Avg: "avg", exp.Min: "min", exp.Max: "max"},
    **{exp.CountIf: "count_if", exp.Round: "round", exp.Floor: "floor", exp.Ceil: "ceil"},
    **{exp.Abs: "abs", exp.Lower: "lower", exp.Upper: "upper", exp.Length: "length"},
    **{exp.Year: '"year"', exp.Month: '"month"', exp.Day: '"day"', exp.Quarter: '"quarter"'},
    **{exp.Left: '"left"', exp.Right: '"right"', exp.Substring: '"substring"'},
    **{exp.Stddev: "stddev", exp.StddevSamp: "stddev_samp", exp.StddevPop: "stddev_pop"},
    **{exp.Variance: "variance", exp.VariancePop: "var_pop", exp.Median: "median"},
    **{exp.Quantile: "quantile", exp.PercentileCont: "quantile_cont"},
    **{exp.PercentileDisc: "quantile_disc", exp.Mode: '"mode"', exp.AnyValue: "any_value"},
    **{exp.ApproxDistinct: "approx_count_distinct", exp.ApproxQuantile: "approx_quantile"},
    **{exp.Corr: "corr", exp.ArgMax: "arg_max", exp.ArgMin: "arg_min"},
    **{exp.GroupConcat: "string_agg", exp.Dayname: "dayname", exp.Monthname: "monthname"},
    **{exp.Hour: '"hour"', exp.Minute: '"minute"', exp.Second: '"second"', exp.Week: '"week"'},
    **{exp.Coalesce: "COALESCE", exp.Nullif: '"nullif"', exp.Sqrt: "sqrt", exp.Ln: "ln"},
    **{exp.Greatest: "greatest", exp.Least: "least", exp.Trunc: "trunc", exp.Exp: "exp"},
    **{exp.Pow: "power"},
}
_TYPES = {
    **{exp.DType.INT: "INTEGER", exp.DType.TEXT: "VARCHAR", exp.DType.INT128: "HUGEINT"},
    exp.DType.FLOAT: "FLOAT",
}
_PLAIN = re.compile(r"[A-Za-z_]\w*", re.ASCII)
# Of DuckDB, which quotes them wherever they are names.
_WORDS = """
abort absolute access action add admin after aggregate all also alter always analyse analyze and
anti any approx array as asc asof assertion assignment asymmetric at attach attribute
authorization backward before begin between bigint binary bit boolean both by cache call called
cascade cascaded case cast catalog centuries century chain char character characteristics check
checkpoint class close cluster coalesce collate collation column columns comment comments commit
committed compression concurrently configuration conflict connect connection constraint
constraints content continue conversion copy cost create cross csv cube current cursor cycle data
database day days deallocate dec decade decades decimal declare default defaults deferrable
deferred definer delete delimiter delimiters depends desc describe destroy detach dictionary
disable discard disconnect distance distinct do document domain double drop each else enable
encoding encrypted end enum error escape event exact except exclude excluding exclusive execute
exists explain export export_state extension extensions external extract false family fetch filter
first float following for force foreign forward freeze from full function functions generated glob
global grant granted group grouping grouping_id groups handler having header hold hour hours
identity if ignore ilike immediate immutable implicit import in include including increment index
indexes inherit inherits initially inline inner inout input insensitive insert install instead int
integer intersect interval into invoker is isnull isolation join json key label lambda language
large last lateral leading leakproof left level like limit listen load local location lock locked
logged macro map mapping match matched materialized maxvalue merge method microsecond microseconds
millennia millennium millisecond milliseconds minute minutes minvalue mode month months move name
names national natural nchar nearest new next no none not nothing notify notnull nowait null
nullif nulls numeric object of off offset oids old on only operator option options or order
ordinality others out outer over overlaps overlay overriding owned owner parallel parser partial
partition partitioned passing password percent persistent pivot pivot_longer pivot_wider placing
plans policy position positional pragma preceding precision prepare prepared preserve primary
prior privileges procedural procedure program publication qualify quarter quarters quote range
read real reassign recheck recursive ref references referencing refresh register reindex relative
release rename repeatable replace replica reset resource resources respect restart restrict
returning returns revoke right role rollback rollup row rows rule sample savepoint schema schemas
scope scroll search second seconds secret secure security select semi sequence sequences
serializable server session set setof sets share show similar similarity simple skip smallint
snapshot some sorted source sql stable standalone start statement statistics stdin stdout storage
stored strict strip struct subscription substring summarize symmetric sysid system table tables
tablesample tablespace target temp template temporary text then ties time timestamp to trailing
transaction transform treat trigger trim true truncate trusted try_cast tuple type types unbounded
uncommitted unencrypted union unique unknown unlisten unlogged unpack unpivot until update use
user using vacuum valid validate validator value values varchar variable variadic varying verbose
version view views virtual volatile week weeks when where whitespace window with within without
work wrapper write xml xmlattributes xmlconcat xmlelement xmlexists xmlforest xmlnamespaces
xmlparse xmlpi xmlroot xmlserialize xmltable year years yes zone
"""
_KEYWORDS = frozenset(_WORDS.split())


def shown_name(node: exp.Expr) -> str:
    """The name of an unnamed expression: as DuckDB prints it, rare functions as SQL writes them.

    >>> import sqlglot
    >>> shown_name(sqlglot.parse_one("ROUND(AVG(Age), 1) * 100", dialect="duckdb"))
    '(round(avg(Age), 1) * 100)'
    """
    return node.name if isinstance(node, exp.Column) else _printed(node)


def _printed(node: exp.Expr) -> str:
    if printer := _PRINTERS.get(type(node)):
        return printer(node)
    if operator := _OPERATORS.get(type(node)):
        return f"({_printed(node.this)} {operator} {_printed(node.expression)})"
    if function := _FUNCTIONS.get(type(node)):
        return f"{function}({_listed(node.iter_expressions())})"
    return sql(node)


def _listed(nodes: Iterable[exp.Expr]) -> str:
    return ", ".join(map(_printed, nodes))


def _column(node: exp.Expr) -> str:
    names = [part.name for part in node.parts] if isinstance(node, exp.Column) else []
    return ".".join(map(_name, names))


def _name(name: str) -> str:
    plain = _PLAIN.fullmatch(name) and name.lower() not in _KEYWORDS
    return name if plain else sql(identifier(name))


def _function(node: exp.Expr) -> str:
    return f"{node.name}({_listed(node.expressions)})"


def _truncated(node: exp.Expr) -> str:
    return f"date_trunc('{node.text('unit').lower()}', {_printed(node.this)})"


def _within_group(node: exp.Expr) -> str:
    """DuckDB prints the order inside of the function."""
    inner = _printed(node.this).removesuffix(")")
    return f"{inner} ORDER BY {_listed(term.this for term in node.expression.expressions)})"


def _of_truth(node: exp.Expr) -> str:
    """BOOL_OR and BOOL_AND, whose argument the parser casts."""
    inner = node.this.this if isinstance(node.this, exp.Cast) else node.this
    return f"{'bool_or' if isinstance(node, exp.LogicalOr) else 'bool_and'}({_printed(inner)})"


def _count(node: exp.Expr) -> str:
    everything = node.this is None or isinstance(node.this, exp.Star)
    return "count_star()" if everything else f"count({_printed(node.this)})"


def _negative(node: exp.Expr) -> str:
    inner = _printed(node.this)
    return f"-{inner}" if isinstance(node.this, exp.Literal) else f"(-({inner}))"


def _not(node: exp.Expr) -> str:
    inner = node.this
    if isinstance(inner, exp.Is) and isinstance(inner.expression, exp.Null):
        return f"({_printed(inner.this)} IS NOT NULL)"
    return f"(NOT {_printed(inner)})"


def _chain(node: exp.Expr) -> str:
    """AND and OR of several conditions have one pair of parentheses."""
    word = "AND" if isinstance(node, exp.And) else "OR"
    parts: list[exp.Expr] = []
    pending = [node]
    while pending:
        part = bare(pending.pop())
        if type(part) is type(node):
            pending += [part.args["expression"], part.this]
        else:
            parts.append(part)
    return f"({f' {word} '.join(map(_printed, parts))})"


def _cast(node: exp.Expr) -> str:
    word = "TRY_CAST" if isinstance(node, exp.TryCast) else "CAST"
    to = node.args["to"]
    return f"{word}({_printed(node.this)} AS {_TYPES.get(to.this) or sql(to)})"


def _case(node: exp.Expr) -> str:
    operand = f"{_printed(node.this)} = " if node.this is not None else ""
    whens = [
        f" WHEN (({operand}{_printed(when.this)})) THEN ({_printed(when.args['true'])})"
        if operand
        else f" WHEN ({_printed(when.this)}) THEN ({_printed(when.args['true'])})"
        for when in node.args["ifs"]
    ]
    default = node.args.get("default")
    return f"CASE {''.join(whens)} ELSE {'NULL' if default is None else _printed(default)} END"


def _log(node: exp.Expr) -> str:
    if node.expression is None:
        return f"log({_printed(node.this)})"
    base = node.this.name
    if base in ("2", "10"):  # as LOG2 and LOG10 are read
        return f"log{base}({_printed(node.expression)})"
    return f"log({_listed([node.this, node.expression])})"


def _between(node: exp.Expr) -> str:
    low, high = _printed(node.args["low"]), _printed(node.args["high"])
    return f"({_printed(node.this)} BETWEEN {low} AND {high})"


_PRINTERS: dict[type[exp.Expr], Callable[[exp.Expr], str]] = {
    exp.Paren: lambda node: _printed(node.this),
    exp.Column: _column,
    exp.Anonymous: _function,
    exp.TimestampTrunc: _truncated,
    exp.Boolean: lambda node: "true" if node.this else "false",
    exp.Count: _count,
    exp.Distinct: lambda node: f"DISTINCT {_listed(node.expressions)}",
    exp.Filter: lambda n: f"{_printed(n.this)} FILTER (WHERE {_printed(n.expression.this)})",
    exp.Neg: _negative,
    exp.Not: _not,
    exp.And: _chain,
    exp.Or: _chain,
    exp.Cast: _cast,
    exp.TryCast: _cast,
    exp.Case: _case,
    exp.If: lambda node: f'"if"({_listed(node.iter_expressions())})',
    exp.Is: lambda node: f"({_printed(node.this)} IS {_printed(node.expression)})",
    exp.In: lambda node: f"({_printed(node.this)} IN ({_listed(node.expressions)}))",
    exp.Between: _between,
    exp.WithinGroup: _within_group,
    exp.LogicalOr: _of_truth,
    exp.LogicalAnd: _of_truth,
    exp.Log: _log,
    exp.Extract: lambda n: f"date_part('{n.name}', {_printed(n.expression)})",
}
