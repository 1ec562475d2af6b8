"""What of aggregates an output may show, and which ratios of aggregates are means."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from sqlglot import exp

from dbdeid.query.parse.expressions import (
    NUMERIC_TYPES,
    bare,
    constant,
    instead_of,
    named,
    refused,
)
from dbdeid.query.parse.question import Question

# Nodes whose bounds follow from those of their operands; see `groups.intervals`.
_ARITHMETIC = (exp.Add, exp.Sub, exp.Mul, exp.Div)
_OF_ONE = (
    *(exp.Paren, exp.Neg, exp.Floor, exp.Ceil, exp.Trunc, exp.Abs, exp.Sqrt, exp.Ln, exp.Exp),
)
_COMPARISONS = (exp.GT, exp.GTE, exp.LT, exp.LTE, exp.EQ, exp.NEQ)
MOST_EXPONENT = 8
# Each aggregate is a table that is joined to the groups: some 190 exhaust the planner's stack. What
# is shown of them has bounds some ten times as long, which a question's planning is bound by.
MOST_AGGREGATES = 120
MOST_SHOWN = 3_000  # nodes


def operands(node: exp.Expr) -> list[exp.Expr]:
    """What an expression of aggregates is computed from.

    Raises:
        DataError: it is none whose bounds would be known.
    """
    given = {clause for clause, value in node.args.items() if value}
    if isinstance(node, exp.Round) and _is_constant(node.args.get("decimals")):
        return [node.this]
    if isinstance(node, exp.Cast) and node.to.this in NUMERIC_TYPES:
        return [node.this]
    if isinstance(node, _OF_ONE) and given == {"this"}:
        return [node.this]
    if isinstance(node, exp.Log) and (node.expression is None or (constant(node.this) or 0) > 1):
        return [node.expression or node.this]
    if isinstance(node, exp.Pow):
        if (constant(node.expression) or 0) not in range(1, MOST_EXPONENT + 1):
            hint = f"raise to a whole number from 1 to {MOST_EXPONENT}, or take SQRT"
            raise refused("a power of an aggregate by another exponent", hint)
        return [node.this]
    if isinstance(node, (exp.Greatest, exp.Least)):
        return [node.this, *node.expressions]
    if isinstance(node, exp.Case) and node.this is None:
        return list(_of_case(node))
    if isinstance(node, exp.Div) and constant(node.expression) == 0:
        raise refused("/ of an aggregate by 0", "divide by something else")
    if isinstance(node, (*_ARITHMETIC, exp.DateDiff)):
        return [node.this, node.expression]
    if isinstance(node, exp.Coalesce):
        return [node.this, *node.expressions]
    if isinstance(node, exp.Nullif) and constant(node.expression) is not None:
        return [node.this]
    if isinstance(node, (exp.AggFunc, exp.IgnoreNulls)):
        raise refused(named(node), instead_of(node))
    raise refused(f"{named(node)} of an aggregate", instead_of(node, "select the aggregate itself"))


def refuse_wide(question: Question) -> None:
    """Refuse a question of so many aggregates that its answer takes many seconds to plan.

    Raises:
        DataError: how many there are, and how many there may be.
    """
    if (asked := len(question.aggregates)) > MOST_AGGREGATES:
        also = "; sums, means and extremes may need a count beside them"
        hint = f"ask for at most {MOST_AGGREGATES // 2} in one SELECT{also}"
        raise refused(f"{asked} aggregates, where {MOST_AGGREGATES} are the most", hint)
    shown = [one.shown for one in question.outputs if one.shown is not None]
    if sum(1 for node in shown for _ in node.walk()) > MOST_SHOWN:
        raise refused("what SELECT shows of aggregates is too long", "ask several shorter queries")


def is_day(node: exp.Expr) -> bool:
    """Whether an expression is a date as it is written."""
    node = bare(node)
    if not isinstance(node, exp.Cast) or not isinstance(node.this, exp.Literal):
        return False
    return bool(node.to.this == exp.DType.DATE)


def texts_of(node: exp.Expr) -> list[exp.Expr]:
    """What CASE gives where each of its branches gives text or NULL; [] of other nodes."""
    case = as_case(node) if isinstance(node, exp.If) else node
    if not isinstance(case, exp.Case) or case.this is not None:
        return []
    given = [branch.args["true"] for branch in case.args["ifs"]]
    given += [case.args["default"]] if case.args.get("default") is not None else []
    given = [one for one in given if not isinstance(bare(one), exp.Null)]
    return given if all(is_text(one) or texts_of(bare(one)) for one in given) else []


def is_text(node: exp.Expr) -> bool:
    """Whether an expression is a text as it is written."""
    node = bare(node)
    return isinstance(node, exp.Literal) and node.is_string


def as_case(node: exp.If) -> exp.Expr:
    """IF(condition, one, other) as the CASE that it is."""
    default = node.args.get("false")
    made = exp.case().when(node.this.copy(), node.args["true"].copy())
    return made if default is None else made.else_(default.copy())


def _of_case(case: exp.Case) -> Iterator[exp.Expr]:
    """What CASE compares, and what it gives, apart from NULL."""
    results = [case.args.get("default")]
    for branch in case.args["ifs"]:
        yield from compared(branch.this)
        results.append(branch.args["true"])
    yield from (r for r in results if r is not None and not isinstance(bare(r), exp.Null))


def compared(node: exp.Expr) -> Iterator[exp.Expr]:
    """What a condition of aggregates compares.

    Raises:
        DataError: it is another condition than comparisons and what joins them.
    """
    if isinstance(node, (exp.And, exp.Or)):
        yield from compared(node.this)
        yield from compared(node.expression)
    elif isinstance(node, (exp.Not, exp.Paren)):
        yield from compared(node.this)
    elif isinstance(node, exp.Between) and not node.args.get("symmetric"):
        yield from (node.this, node.args["low"], node.args["high"])
    elif isinstance(node, exp.Is) and isinstance(node.expression, exp.Null):
        yield node.this
    elif isinstance(node, _COMPARISONS):
        yield from (node.this, node.expression)
    else:
        raise refused(f"{named(node)} in CASE of an aggregate", "compare aggregates with numbers")


def _is_constant(node: exp.Expr | None) -> bool:
    return node is None or constant(node) is not None


def filtered_sum(node: exp.Expr) -> tuple[exp.Expr, exp.Expr] | None:
    """SUM(CASE WHEN … THEN x ELSE 0 END) as the sum of x where that holds; None of other nodes.

    Returns:
        The sum, and the count of which it is NULL where that is 0: of no record, or of none that
        has a value.
    """
    case = bare(node.this) if isinstance(node, exp.Sum) else None
    if not isinstance(case, exp.Case) or case.this is not None or len(case.args["ifs"]) != 1:
        return None
    (branch,), default = case.args["ifs"], case.args.get("default")
    value = branch.args["true"]
    if value.find(exp.Column) is None or default is None or constant(default) != 0:
        return None
    where = exp.Where(this=branch.this.copy())
    some = exp.Filter(this=exp.Sum(this=value.copy()), expression=where)
    known = exp.Coalesce(this=some, expressions=[exp.Literal.number(0)])
    return known, exp.Count(this=case.copy())


CORRELATION = "correlation"


def correlated(node: exp.Expr) -> list[exp.Expr] | None:
    """What CORR is computed from, of the records that have both values: their number, the means of
    the product and of each, and the variances of each; None of other nodes."""
    inner, own = _without_filter(node) or (node, None)
    if not isinstance(inner, exp.Corr):
        return None
    one, two = (exp.paren(side.copy()) for side in (inner.this, inner.expression))
    known = [side.copy().is_(exp.null()).not_() for side in (one, two)]
    where = exp.and_(*known, *([] if own is None else [own.copy()]))
    product = exp.Mul(this=one.copy(), expression=two.copy())
    parts: list[exp.AggFunc] = [exp.Count(this=exp.Star())]
    parts += [exp.Avg(this=of.copy()) for of in (product, one, two)]
    parts += [exp.VariancePop(this=of.copy()) for of in (one, two)]
    return [exp.Filter(this=part, expression=exp.Where(this=where.copy())) for part in parts]


# -- means ---------------------------------------------------------------------------------------


def as_mean(
    quotient: exp.Div, or_zero: Callable[[exp.Expr], exp.Expr]
) -> tuple[exp.Expr, exp.Expr | None] | None:
    """A ratio of aggregates as the mean that it is, whose bounds are known better; else None.

    A sum of values over their number, and the number of records under a condition over that of
    all: each record counts in both, so that not every sum goes with every number. A sum over the
    number of all records is the mean of the values with 0 for those that are NULL.

    Args:
        quotient: the ratio.
        or_zero: an expression of one record as a number, 0 where it is NULL.

    Returns:
        The mean, and the aggregate of which it is NULL where that is 0; None where it is as such.
    """
    count = _without_filter(_unless_zero(bare(quotient.expression)))
    if count is None:
        return None
    mean = _over(bare(quotient.this), *count)
    if mean is not None:
        return mean, None
    summed = exp.paren(quotient.this.copy()).find(exp.Sum)
    of_all = isinstance(count[0], exp.Count) and isinstance(count[0].this, exp.Star)
    if summed is None or not of_all or quotient.this.find(exp.Distinct, exp.Window):
        return None
    known = exp.paren(quotient.this.copy())
    inner = known.find(exp.Sum)
    assert inner is not None
    inner.set("this", or_zero(summed.this))
    mean = _over(bare(known), exp.Count(this=inner.this.copy()), count[1])
    if mean is None:
        return None
    there: exp.Expr = exp.Count(this=summed.this.copy())
    if count[1] is not None:
        there = exp.Filter(this=there, expression=exp.Where(this=count[1].copy()))
    return mean, there


def _over(
    node: exp.Expr,
    count: exp.Expr,
    condition: exp.Expr | None,
    factors: Sequence[exp.Expr] = (),
) -> exp.Expr | None:
    """What is divided by a count, over it; factors stay above the line, or it rounds otherwise."""
    if isinstance(node, exp.Mul):
        for factor, other in ((node.this, node.expression), (node.expression, node.this)):
            if constant(factor) is not None:
                return _over(bare(other), count, condition, [*factors, factor])
    if isinstance(node, exp.Cast) and node.to.this == exp.DType.DOUBLE:
        return _over(bare(node.this), count, condition, factors)
    if type(node) is exp.Cast and node.to.this == exp.DType.FLOAT:
        mean = _over(bare(node.this), count, condition, factors)
        return exp.cast(mean, "FLOAT") if mean else None
    found = _without_filter(node)
    value = _averaged(*found, count, condition) if found else None
    if value is None:
        return None
    for factor in factors:
        value = exp.Mul(this=factor.copy(), expression=exp.paren(value, copy=False))
    mean = exp.Avg(this=value)
    if condition is None:
        return mean
    return exp.Filter(this=mean, expression=exp.Where(this=condition.copy()))


def _averaged(
    one: exp.Expr, own: exp.Expr | None, count: exp.Expr, condition: exp.Expr | None
) -> exp.Expr | None:
    """What has the mean that an aggregate over a count is."""
    if not isinstance(count, exp.Count):
        return None
    of_all = count.this is None or isinstance(count.this, exp.Star)
    if isinstance(one, exp.Sum) and own == condition:
        if one.this == count.this or (of_all and _is_known(one.this)):
            value: exp.Expr = one.this.copy()
            return value
        return None
    if not of_all:
        return None
    if not isinstance(one, exp.Count) or isinstance(one.this, exp.Distinct):
        return None
    among_all = one.this is None or isinstance(one.this, exp.Star)
    if among_all and own is not None and condition is None:
        return _one_where(own)
    if not among_all and own == condition:
        return _one_where(exp.paren(one.this).is_(exp.null()).not_())
    return None


def _one_where(condition: exp.Expr) -> exp.Expr:
    one, none = exp.Literal.number(1), exp.Literal.number(0)
    return exp.case().when(condition.copy(), one).else_(none)


def _is_known(value: exp.Expr) -> bool:
    """Whether a value is never NULL: one of several numbers."""
    if not isinstance(value, exp.Case):
        return constant(value) is not None
    default = value.args.get("default")
    results = [branch.args["true"] for branch in value.args["ifs"]]
    return default is not None and all(constant(r) is not None for r in (default, *results))


def _without_filter(node: exp.Expr) -> tuple[exp.Expr, exp.Expr | None] | None:
    """An aggregate, and the condition of its FILTER."""
    if isinstance(node, exp.Filter):
        return node.this, node.expression.this
    return (node, None) if isinstance(node, exp.AggFunc) else None


def _unless_zero(node: exp.Expr) -> exp.Expr:
    zero = isinstance(node, exp.Nullif) and constant(node.expression) == 0
    return bare(node.this) if zero else node
