"""Functions of other engines, and approximate ones, as what they mean in words that are taken.

What is exact is as good as any approximation of it. `WIDTH_BUCKET` is a CASE of comparisons, which
are known of columns that are released as intervals.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from decimal import Decimal
from fractions import Fraction
from math import ceil, floor

from sqlglot import exp
from sqlglot.errors import SqlglotError

from dbdeid.engine import sqltext
from dbdeid.query.parse.expressions import bare, refused
from dbdeid.query.parse.naming import shown_name

MOST_BUCKETS = 100
_PLACES = 10**12  # of the ends of buckets, of which some have no last digit
_APPROXIMATE = re.compile(r"approx", re.IGNORECASE)
_KINDS = (exp.ApproxDistinct, exp.ApproxQuantile, exp.WidthBucket)
# By the names of those that the parser does not know, Spark's, Trino's and Databricks', with the
# number of their arguments; how exact they are to be may come last.
_NAMED = {"approx_percentile": 2, "percentile_approx": 2, "approx_median": 1}


def place_counterparts(root: exp.Query) -> None:
    """Put into a query what its approximate functions and WIDTH_BUCKET mean.

    Raises:
        DataError: the buckets are not a plain number of equal ones, between two different numbers.
    """
    found = list(_found(root))
    for select in root.find_all(exp.Select) if found else ():
        for node in list(select.expressions):  # a column is called as it was asked for
            inner = any(one is node or one.find_ancestor(exp.Select) is select for one in found)
            if not isinstance(node, exp.Alias) and inner and any(_found(node)):
                called = exp.to_identifier(shown_name(node), quoted=True)
                node.replace(exp.alias_(node.copy(), called))
    for node in list(_found(root)):
        made = _bucket(node) if isinstance(node, exp.WidthBucket) else _exact(node)
        node.replace(made)


def approximated(text: str) -> bool:
    """Whether a text that can be read asks for approximate numbers."""
    if _APPROXIMATE.search(text) is None:
        return False
    try:
        roots = [root for root in sqltext.statements(text) if root is not None]
    except (SqlglotError, RecursionError):
        return False
    found = (n for root in roots for n in _found(root))
    return any(
        not isinstance(n, (exp.WidthBucket, exp.WithinGroup)) and not _is_every(n) for n in found
    )


def _found(root: exp.Expr) -> Iterator[exp.Expr]:
    """The nodes that have a counterpart."""
    for node in root.find_all(*_KINDS, exp.Anonymous, exp.WithinGroup):
        if isinstance(node, exp.WithinGroup):
            known = isinstance(node.this, exp.Mode) and len(node.expression.expressions) == 1
        elif _is_every(node):
            known = True
        elif isinstance(node, exp.Anonymous):
            few = _NAMED.get(node.name.lower())
            known = few is not None and 0 <= len(node.expressions) - few <= 1
        else:
            known = not any(node.args.get(name) for name in ("weight", "threshold"))
        if known:
            yield node


def _is_every(node: exp.Expr) -> bool:
    """Whether it is the standard's name of BOOL_AND."""
    named = isinstance(node, exp.Anonymous) and node.name.lower() == "every"
    return named and len(node.expressions) == 1


def _exact(node: exp.Expr) -> exp.Expr:
    """An approximate aggregate as the exact one; how near it need be does not matter."""
    if isinstance(node, exp.WithinGroup):  # MODE, of which the order decides nothing but ties
        (order,) = node.expression.expressions
        return exp.Mode(this=order.this.copy())
    if _is_every(node):
        return exp.LogicalAnd(this=node.expressions[0].copy())
    if isinstance(node, exp.ApproxDistinct):
        return exp.Count(this=exp.Distinct(expressions=[node.this.copy()]))
    if isinstance(node, exp.ApproxQuantile):
        return exp.PercentileCont(this=node.this.copy(), expression=node.args["quantile"].copy())
    value, *fraction = node.expressions
    if node.name.lower() == "approx_median":
        return exp.Median(this=value.copy())
    return exp.PercentileCont(this=value.copy(), expression=fraction[0].copy())


def _bucket(node: exp.WidthBucket) -> exp.Expr:
    """The number of the bucket, from 1; 0 before all, one more than there are after them.

    Where the ends fall buckets are counted from the greatest, and each holds its greater end.
    """
    names = ("min_value", "max_value", "num_buckets")
    low, high, many = (_number(node.args.get(name)) for name in names)
    if low is None or high is None or many is None or low == high:
        raise refused(_OF_BUCKETS, "write WIDTH_BUCKET(x, 0, 100, 10)")
    if many.denominator != 1 or not 1 <= many <= MOST_BUCKETS:
        raise refused(_OF_BUCKETS, f"ask for 1 to {MOST_BUCKETS} of them")
    if node.this.find(exp.WidthBucket) is not None:
        raise refused("WIDTH_BUCKET of itself")
    value, case = exp.paren(node.this.copy()), exp.case()
    rises = low < high
    within, beyond = (exp.LT, exp.GTE) if rises else (exp.GT, exp.LTE)
    for place in range(int(many) + 1):
        end = _written(low + (high - low) * place / many, up=rises)
        before = within(this=value.copy(), expression=end)
        case = case.when(before, exp.Literal.number(place))
    last = beyond(this=value, expression=_written(high, up=rises))
    return exp.paren(case.when(last, exp.Literal.number(int(many) + 1)))  # nothing of NULL


_OF_BUCKETS = "WIDTH_BUCKET of other ends and numbers of buckets than different constants"


def _number(node: exp.Expr | None) -> Fraction | None:
    """A constant as it is written, exactly."""
    inner = bare(node) if node is not None else None
    if isinstance(inner, exp.Neg):
        found = _number(inner.this)
        return None if found is None else -found
    if not isinstance(inner, exp.Literal) or inner.is_string:
        return None
    try:
        return Fraction(inner.name)
    except ValueError:
        return None


def _written(end: Fraction, *, up: bool) -> exp.Expr:
    """An end as a constant: of numbers of 12 places the same are below it, or else above."""
    near = Decimal((ceil if up else floor)(end * _PLACES)) / _PLACES
    text = format(abs(near).normalize(), "f")
    return exp.Literal.number(text) if near >= 0 else exp.Neg(this=exp.Literal.number(text))
