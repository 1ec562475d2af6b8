"""Run a workload on source and release and compare the answers."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from time import perf_counter

from sqlglot import exp

from dbdeid.engine.expressions import column, identifier
from dbdeid.engine.failure import EngineError
from dbdeid.engine.relation import Relation
from dbdeid.engine.session import Session, Step
from dbdeid.errors import DataError
from dbdeid.query.desk.unanswerable import refuse_unanswerable
from dbdeid.query.parse.answerable import Answerable
from dbdeid.query.parse.question import (
    Aggregate,
    Output,
    Question,
    aggregate_name,
    key_name,
    replaced,
)
from dbdeid.query.parse.reading import parse
from dbdeid.query.rewrite.rewrite import estimate
from dbdeid.utility.query_error import LOWER, UPPER, AggregateColumn, QueryError, Workload, compare

# The source among joined tables, whose aliases are others.
SOURCE = "source"
# A constant key, so that a query without GROUP BY is compared like any other.
WHOLE = "whole"

# What a mistake in one query looks like; anything else is a defect or a missing source.
_OF_THE_QUERY = (
    "BinderException",
    "ConversionException",
    "InvalidInputException",
    "OutOfRangeException",
)


def evaluate(
    session: Session,
    queries: Iterable[tuple[str, str]],
    target: Answerable,
    source: Relation | exp.Query,
    suppressed: int = 0,
) -> Workload:
    """The error of each query, measured over all its groups.

    HAVING, ORDER BY and LIMIT are left out: they choose among groups by values that source and
    release need not agree on. Each aggregate that a query shows is compared as it is, before any
    arithmetic on it.

    Suppressed records are missing from the estimates. Bounds are those that hold with them: of
    counts the upper one allows for all of them, and other aggregates have none.

    Args:
        session: where source, release and dictionary can be read.
        queries: name and text of each.
        target: the release.
        source: what the FROM name of the queries stands for.
        suppressed: how many records of the source the release lacks.

    Returns:
        One result a query, in order; a query that cannot be answered carries the reason.
    """
    place = _Place(session, target, source, suppressed)
    return Workload(tuple(_measured(place, name, text) for name, text in queries))


@dataclass(frozen=True)
class _Place:
    """Where queries are measured; see `evaluate`."""

    session: Session
    target: Answerable
    source: Relation | exp.Query
    suppressed: int


def truth(question: Question, source: Relation | exp.Query) -> exp.Select:
    """The question on the source: keys as key_0, …, aggregates as aggregate_0, …

    Its conditions on groups, its order and its limit are left out.
    """
    keys = [_of_source(key) for key in question.keys]
    values = [_valued(aggregate, question, source) for aggregate in question.aggregates]
    select = exp.select(
        *(exp.alias_(key, identifier(key_name(i))) for i, key in enumerate(keys)),
        *(exp.alias_(value, identifier(aggregate_name(i))) for i, value in enumerate(values)),
    )
    select = _of_records(select, question, source)
    return select.group_by(*(key.copy() for key in keys)) if keys else select


def _valued(aggregate: Aggregate, question: Question, source: Relation | exp.Query) -> exp.Expr:
    """An aggregate of its group, of groups that are alike, or of records of its own."""
    value = _aggregated(aggregate)
    if aggregate.among is None:
        return value
    if aggregate.among.keys:
        alike = [_of_source(question.keys[place]) for place in aggregate.among.keys]
        return exp.Window(this=exp.Sum(this=value), partition_by=alike)
    return _of_records(exp.select(value), question.of(aggregate), source).subquery()


def _of_records(select: exp.Select, question: Question, source: Relation | exp.Query) -> exp.Select:
    """A SELECT of the records that a question is about."""
    table = source.table if isinstance(source, Relation) else source.copy().subquery()
    table.set("alias", exp.TableAlias(this=identifier(SOURCE)))
    select = select.from_(table)
    for join in question.joins:
        joined = join.table.table
        joined.set("alias", exp.TableAlias(this=identifier(join.alias)))
        same = [column(own, SOURCE).eq(column(theirs, join.alias)) for own, theirs in join.on]
        kind = "LEFT" if join.outer else "INNER"
        select = select.join(joined, on=exp.and_(*same), join_type=kind)
    return select if question.where is None else select.where(_of_source(question.where))


def _of_source(node: exp.Expr) -> exp.Expr:
    return replaced(node, lambda c: column(c.name, c.table or SOURCE))


_FUNCTIONS: dict[str, type[exp.AggFunc]] = {
    "count": exp.Count,
    "sum": exp.Sum,
    "avg": exp.Avg,
    "min": exp.Min,
    "max": exp.Max,
    "distinct": exp.Count,
    "quantile_cont": exp.PercentileCont,
    "quantile_disc": exp.PercentileDisc,
    "var_pop": exp.VariancePop,
    "var_samp": exp.Variance,
}


def _aggregated(aggregate: Aggregate) -> exp.Expr:
    argument: exp.Expr = exp.Star()
    if aggregate.argument is not None:
        argument = _of_source(aggregate.argument)
    if aggregate.kind == "distinct":
        argument = exp.Distinct(expressions=[argument])
    value: exp.Expr = _FUNCTIONS[aggregate.kind](this=argument)
    if aggregate.fraction is not None:
        value.set("expression", exp.Literal.number(float(aggregate.fraction)))
    if aggregate.condition is not None:
        value = exp.Filter(this=value, expression=exp.Where(this=_of_source(aggregate.condition)))
    return value


def _measured(place: _Place, name: str, text: str) -> QueryError:
    try:
        question = parse(text, place.target)
        if not question.aggregates:
            raise DataError("there is no aggregate to compare", hint="add COUNT(*)")
        if any(one.over is not None or one.groups is not None for one in question.aggregates):
            raise DataError("what is asked of groups is not compared", hint="ask of records")
        refuse_unanswerable(place.session, question, place.target)
        return _compared(place, QueryError(name, text), question)
    except DataError as error:
        return QueryError(name, text, refused=str(error))
    except EngineError as error:
        if error.kind not in _OF_THE_QUERY:
            raise
        return QueryError(name, text, refused=str(error))


def _all_groups(question: Question) -> tuple[Question, list[AggregateColumn]]:
    """The question with all its keys and the aggregates it shows, and what those are called."""
    shown: dict[int, str] = {}
    for output in question.outputs:
        for place in output.aggregates:
            shown.setdefault(place, output.name)
    aggregates = tuple(question.aggregates[place] for place in shown)
    keys = [Output(key_name(i), key=i) for i in range(len(question.keys))]
    values = [Output.of(aggregate_name(i), i) for i in range(len(aggregates))]
    whole = replace(
        question,
        aggregates=aggregates,
        outputs=(*keys, *values),
        having=None,
        order=(),
        limit=None,
        offset=None,
    )
    found = zip(shown.values(), aggregates, values, strict=True)
    return whole, [AggregateColumn(name, one.kind, output.name) for name, one, output in found]


def _compared(place: _Place, result: QueryError, question: Question) -> QueryError:
    session = place.session
    whole, aggregates = _all_groups(question)
    keys = [WHOLE, *(key_name(i) for i in range(len(whole.keys)))]
    answer = estimate(whole, place.target)
    if place.suppressed:
        answer = _with_suppressed(answer, aggregates, place.suppressed)
    try:
        true, seconds_source = _timed(session, "query_truth", truth(whole, place.source))
        found, seconds_release = _timed(session, "query_estimate", answer)
        measured = compare(session, result, true, found, keys, aggregates)
    finally:
        session.drop_temp("query_truth")
        session.drop_temp("query_estimate")
    return replace(measured, seconds_source=seconds_source, seconds_release=seconds_release)


def _with_suppressed(
    answer: exp.Select, aggregates: Iterable[AggregateColumn], suppressed: int
) -> exp.Select:
    """The answer with the bounds that hold whatever the suppressed records are."""
    bounds: list[exp.Expr] = []
    for aggregate in aggregates:
        lower, upper = aggregate.column + LOWER, aggregate.column + UPPER
        more: exp.Expr = column(upper) + exp.Literal.number(suppressed)
        if aggregate.kind not in ("count", "distinct"):
            more = exp.null()
            bounds.append(exp.alias_(exp.null(), identifier(lower)))
        bounds.append(exp.alias_(more, identifier(upper)))
    released = answer.subquery("released", copy=False)
    return exp.select(exp.Star(replace=bounds)).from_(released, copy=False)


def _timed(session: Session, name: str, query: exp.Select) -> tuple[Relation, float]:
    whole = exp.alias_(exp.Literal.number(0), identifier(WHOLE))
    start = perf_counter()
    answers = session.run(Step(name, query.select(whole, copy=False)))
    return answers, perf_counter() - start
