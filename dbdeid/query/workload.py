"""Run a workload on source and release and compare the answers."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, replace
from time import perf_counter

from sqlglot import exp

from dbdeid.engine.failure import EngineError
from dbdeid.engine.relation import Relation, column, identifier
from dbdeid.engine.session import Session, Step
from dbdeid.errors import DataError
from dbdeid.query.answer import refuse_unanswerable
from dbdeid.query.question import Answerable, Output, Question, parse, replaced
from dbdeid.query.rewrite import estimate
from dbdeid.utility.query_error import QueryError, Workload, compare

RECORDS = "records"
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
) -> Workload:
    """The error of each query, measured over all its groups whatever its ORDER BY and LIMIT.

    Args:
        session: where source, release and dictionary can be read.
        queries: name and text of each.
        target: the release.
        source: what the FROM name of the queries stands for.

    Returns:
        One result a query, in order; a query that cannot be answered carries the reason.
    """
    return Workload(tuple(_measured(session, name, text, target, source) for name, text in queries))


def truth(question: Question, source: Relation | exp.Query) -> exp.Select:
    """The question on the source: its keys as key_0, key_1, … and the count as `records`."""
    table = source.table if isinstance(source, Relation) else source.copy().subquery()
    table.set("alias", exp.TableAlias(this=identifier("source")))
    keys = [_of_source(key) for key in question.keys]
    select = exp.select(
        *(exp.alias_(key.copy(), identifier(f"key_{i}")) for i, key in enumerate(keys)),
        exp.alias_(exp.Count(this=exp.Star()), identifier(RECORDS)),
    ).from_(table)
    if question.where is not None:
        select = select.where(_of_source(question.where))
    return select.group_by(*keys) if keys else select


def _of_source(node: exp.Expr) -> exp.Expr:
    return replaced(node, lambda name: column(name, "source"))


def _measured(
    session: Session, name: str, text: str, target: Answerable, source: Relation | exp.Query
) -> QueryError:
    try:
        question = _all_groups(parse(text, target))
        refuse_unanswerable(session, question, target)
        return _compared(session, QueryError(name, text), question, target, source)
    except DataError as error:
        return QueryError(name, text, refused=str(error))
    except EngineError as error:
        if error.kind not in _OF_THE_QUERY:
            raise
        return QueryError(name, text, refused=str(error))


def _all_groups(question: Question) -> Question:
    outputs = [Output(f"key_{place}", place) for place in range(len(question.keys))]
    return replace(question, outputs=(*outputs, Output(RECORDS, None)), order=(), limit=None)


def _compared(
    session: Session,
    result: QueryError,
    question: Question,
    target: Answerable,
    source: Relation | exp.Query,
) -> QueryError:
    keys = [WHOLE, *(f"key_{place}" for place in range(len(question.keys)))]
    try:
        true, seconds_source = _timed(session, "query_truth", truth(question, source))
        found, seconds_release = _timed(session, "query_estimate", estimate(question, target))
        error = compare(session, true, found, keys)
    finally:
        session.drop_temp("query_truth")
        session.drop_temp("query_estimate")
    return replace(
        result, seconds_source=seconds_source, seconds_release=seconds_release, **asdict(error)
    )


def _timed(session: Session, name: str, query: exp.Select) -> tuple[Relation, float]:
    whole = exp.alias_(exp.Literal.number(0), identifier(WHOLE))
    start = perf_counter()
    answers = session.run(Step(name, query.select(whole)))
    return answers, perf_counter() - start
