"""Differences of the first and the last of dates, as those of the numbers of their days.

What is shown of aggregates is arithmetic of numbers. The first date is that with the least number
of days since another one, and so with the last, so that the days between are of two numbers.
"""

from __future__ import annotations

from dataclasses import replace

from sqlglot import exp

from dbdeid.engine.expressions import column
from dbdeid.query.parse.answerable import Answerable
from dbdeid.query.parse.expressions import bare, instead_of, named, refused
from dbdeid.query.parse.meaning import is_date
from dbdeid.query.parse.outputs import is_day
from dbdeid.query.parse.question import Aggregate, Question, aggregate_name, aggregate_place

_FIRST = exp.cast(exp.Literal.string("1970-01-01"), "DATE")


def with_days(question: Question, target: Answerable) -> Question:
    """The question with numbers of days in place of the dates whose difference is shown.

    Raises:
        DataError: what is no difference in days of the least or greatest of dates.
    """
    asked = list(question.aggregates)

    def place(one: Aggregate) -> int:
        if one not in asked:
            asked.append(one)
        return asked.index(one)

    def number(node: exp.Expr) -> exp.Expr | None:
        node = bare(node)
        if is_day(node):
            return exp.paren(exp.Sub(this=node.copy(), expression=_FIRST.copy()))
        if not isinstance(node, exp.Column):
            return None
        one = asked[aggregate_place(node.name)]
        if one.kind not in ("min", "max") or one.argument is None or one.groups is not None:
            return None
        if not is_date(one.argument, question.of(one), target):
            return None
        days = exp.Sub(this=exp.paren(one.argument.copy()), expression=_FIRST.copy())
        in_days = replace(one, argument=days)
        if one.records in question.aggregates:
            place(in_days.records)
        return column(aggregate_name(place(in_days)))

    def between(node: exp.Expr) -> exp.Expr:
        if not isinstance(node, (exp.Sub, exp.DateDiff)):
            return node
        sides = [number(side) for side in (node.this, node.expression)]
        later, earlier = sides
        by_days = isinstance(node, exp.Sub) or node.text("unit").upper() == "DAY"
        if later is None or earlier is None or not by_days:
            if isinstance(node, exp.DateDiff) or any(map(is_day, node.iter_expressions())):
                hint = "ask for the days between MIN and MAX of a DATE: MAX(x) - MIN(x)"
                raise refused(f"{named(node)} of an aggregate", instead_of(node, hint))
            return node
        days = exp.paren(exp.Sub(this=later, expression=earlier))
        kinds = [asked[aggregate_place(c.name)] for c in days.find_all(exp.Column)]
        of_one = len(kinds) == 2 and kinds[1] == replace(kinds[0], kind="min")
        return exp.Abs(this=days) if of_one and kinds[0].kind == "max" else days  # none is below 0

    outputs = tuple(
        one if one.shown is None else replace(one, shown=bare(one.shown.transform(between)))
        for one in question.outputs
    )
    return replace(question, aggregates=tuple(asked), outputs=outputs)
