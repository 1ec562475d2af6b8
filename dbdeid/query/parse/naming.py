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
    **{exp.Coalesce: "COALESCE", exp.Nullif: '"nullif"', exp.Sqrt: "sqrt", exp.Ln: "ln"},
}
_TYPES = {
    **{exp.DType.INT: "INTEGER", exp.DType.TEXT: "VARCHAR", exp.DType.INT128: "HUGEINT"},
    exp.DType.FLOAT: "FLOAT",
}
_PLAIN = re.compile(r"[A-Za-z_]\w*", re.ASCII)


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
    return ".".join(n if _PLAIN.fullmatch(n) else sql(identifier(n)) for n in names)


def _function(node: exp.Expr) -> str:
    return f"{node.name}({_listed(node.expressions)})"


def _truncated(node: exp.Expr) -> str:
    return f"date_trunc('{node.text('unit').lower()}', {_printed(node.this)})"


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
}
