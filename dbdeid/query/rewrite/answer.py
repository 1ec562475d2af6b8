"""Answer a query from a release, or say why it cannot be answered."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from sqlglot import exp

from dbdeid.data.json import JsonObject
from dbdeid.engine.expressions import column, identifier
from dbdeid.engine.failure import EngineError
from dbdeid.engine.relation import Relation
from dbdeid.engine.session import Session
from dbdeid.engine.sqltext import sql, step
from dbdeid.errors import DataError
from dbdeid.query.parse.answerable import Answerable
from dbdeid.query.parse.as_written import Changed, as_written, exact_columns
from dbdeid.query.parse.common_tables import CommonTables
from dbdeid.query.parse.question import Join, Question
from dbdeid.query.parse.reading import parse
from dbdeid.query.rewrite.records import Records
from dbdeid.query.rewrite.rewrite import SuppressedRecords, estimate, parts
from dbdeid.query.rewrite.spread import Spread

# Beyond this many single values an answer is not listed, it would fill the memory.
MOST_LEAVES = 20_000_000


@dataclass(frozen=True, slots=True)
class Answer:
    """The expected answer of the source with its bounds, and the SQL on the release that gave it.

    Attributes:
        columns: names, each aggregate followed by its `_lower` and `_upper`; those of the query
            where it is run as it is written.
        rows: values; a bound is None where none is known.
        sql: the statement on the release.
    """

    columns: tuple[str, ...]
    rows: tuple[tuple[Any, ...], ...]
    sql: str

    def to_dict(self) -> JsonObject:
        """The answer as `query --json` shows it."""
        rows = [dict(zip(self.columns, row, strict=True)) for row in self.rows]
        return {"columns": list(self.columns), "rows": rows, "sql": self.sql}


@dataclass(frozen=True)
class Plan:
    """How a query is answered.

    Attributes:
        query: on the release.
        columns: names of the answer's columns.
        question: what is asked, as an expected value with bounds; None where the query is run as
            it is written, so that its answer is exact of the records that were released.
    """

    query: exp.Query
    columns: tuple[str, ...]
    question: Question | None


def answer(
    session: Session, text: str, target: Answerable, missing: SuppressedRecords | None = None
) -> Answer:
    """Answer an analyst query that was written for the source.

    Raises:
        DataError: as for `planned`.
    """
    return answered(session, planned(session, text, target, missing))


def answered(session: Session, plan: Plan) -> Answer:
    """The answer to a query that is known to have one."""
    return Answer(plan.columns, tuple(session.rows(plan.query)), sql(plan.query, pretty=True))


def planned(
    session: Session, text: str, target: Answerable, missing: SuppressedRecords | None = None
) -> Plan:
    """How a query is answered, once it is known that it can be.

    Raises:
        DataError: the query is not of the supported form, or the dictionary does not tell what
            a value that it needs stands for; and it cannot be run as it is written.
    """
    try:
        question = parse(text, target)
    except DataError as refusal:
        return _as_written(session, text, target, missing, refusal)
    try:
        return Plan(answering(session, question, target, missing), columns(question), question)
    except DataError as refusal:
        return _as_written(session, text, target, missing, refusal, of_form=False)


def _as_written(
    session: Session,
    text: str,
    target: Answerable,
    missing: SuppressedRecords | None,
    refusal: DataError,
    *,
    of_form: bool = True,
) -> Plan:
    """A query that is run as it is written, or else why it was refused.

    `of_form`: whether another form of the query is what would help.
    """
    if missing is not None and missing.suppressed:
        raise refusal
    unchanged = _unchanged(session, target)
    try:
        query = as_written(text, target, unchanged)
        return Plan(query, tuple(c.name for c in session.describe(query)), None)
    except Changed:
        names = ", ".join(c.name for c in exact_columns(target, unchanged))
        if not of_form or not names or not target.told:
            raise refusal from None
        also = f"or ask in any form of columns that are released as they are: {names}"
        raise DataError(refusal.message, hint=f"{refusal.hint}; {also}") from None
    except (DataError, EngineError):  # the engine may know no such column or function
        raise refusal from None


def _unchanged(session: Session, target: Answerable) -> list[str]:
    """The quasi-identifiers of which no released value stands for others."""
    if target.dictionary is None:
        return []
    kept = (
        exp.select("column")
        .from_(target.dictionary.table)
        .group_by("column")
        .having(exp.Max(this=column("level")).eq(0))
    )
    return [str(name) for (name,) in session.rows(kept)]


def answering(
    session: Session,
    question: Question,
    target: Answerable,
    missing: SuppressedRecords | None = None,
) -> exp.Select:
    """The query on the release that answers a question, once it is known to do so.

    Raises:
        DataError: it cannot be answered.
    """
    refuse_unanswerable(session, question, target)
    return estimate(question, target, missing)


def columns(question: Question) -> tuple[str, ...]:
    """The names of the answer's columns."""
    found: list[str] = []
    for output in question.outputs:
        found.append(output.name)
        if output.shown is not None:
            found += [f"{output.name}_lower", f"{output.name}_upper"]
    return tuple(found)


def spread_keys(question: Question, target: Answerable) -> list[str]:
    """The columns that a question groups by and that may be generalized."""
    named = {c.name for key in question.keys for c in key.find_all(exp.Column) if not c.table}
    known = target.dictionary is not None
    return [name for name in target.quasi_identifiers if known and name in named]


def hollow(session: Session, question: Question, target: Answerable) -> Iterator[str]:
    """The columns that a question groups by and of which all records have one value for several.

    Groups of such a column are as likely as the hierarchy makes them, whatever the data are.
    """
    spread = spread_keys(question, target)
    if target.dictionary is None or not spread:
        return
    values = exp.Count(this=exp.Distinct(expressions=[column("released_value")]))
    query = (
        exp.select("column")
        .from_(target.dictionary.table)
        .group_by("column")
        .having(values.eq(1))
        .having(exp.Min(this=column("level")) > 0)
    )
    alone = {str(name) for (name,) in session.rows(query)}
    yield from (name for name in spread if name in alone)


def refuse_unanswerable(session: Session, question: Question, target: Answerable) -> None:
    """Refuse a question that needs values which the dictionary does not tell.

    Raises:
        DataError: which column, why, and what could help.
    """
    for join in question.every_join:
        _refuse_repeated(session, join)
    if target.dictionary is None:
        return
    open_ends: dict[Spread, bool] = {}
    for records in parts(question, target):
        for used in records.spreads:
            if used not in open_ends:
                open_ends[used] = _refuse_untold(session, used, target.dictionary)
                _refuse_unreadable(session, used, target.dictionary)
                _refuse_too_many(session, used, target.dictionary)
        if any(open_ends[used] for used in records.spreads):
            _refuse_undecided(session, records)


def _refuse_repeated(session: Session, join: Join) -> None:
    theirs = [column(their) for _, their in join.on]
    present = [name.copy().is_(exp.null()).not_() for name in theirs]
    distinct = exp.select(*theirs).from_(join.table.table).where(*present).distinct()
    count = exp.select(exp.Count(this=exp.Star()))
    ((rows,),) = session.rows(count.copy().from_(join.table.table).where(*present))
    ((different,),) = session.rows(count.from_(distinct.subquery("distinct")))
    if rows != different:
        names = ", ".join(their for _, their in join.on)
        raise DataError(
            f"the query cannot be answered from the release: JOIN {join.table.name}: {names} is "
            "not unique in it, so that records would count several times",
            hint="join a table with one row for each value",
        )


def _refuse_untold(session: Session, used: Spread, dictionary: Relation) -> bool:
    """Refuse values that the dictionary does not explain; whether some have an open end."""
    name = used.column.name
    query = step("query/obstacles", {"dictionary": dictionary}, {}, {"column": name})
    unknown, half_open, bounded, ambiguous = session.row(query)
    if ambiguous:
        raise _refused(used, "a released value has two meanings in the dictionary", "")
    if unknown or ((half_open or bounded) and used.scale is None):
        hint = (
            f"ask without {name}; its owner can declare the domain of {name} in the hierarchy "
            "(`domain:`, `lower` and `upper`, or a file with all leaves) and release again"
        )
        why = "some released values have neither listed leaves nor two bounds"
        raise _refused(used, why, hint)
    by_calendar = used.cuts is not None and used.cuts.unit is not None
    if half_open and (used.listed or by_calendar):
        hint = f"compare {name} with constants (<, BETWEEN, IN), or ask without {name}"
        raise _refused(
            used, "some released values have an open end, and the query needs their values", hint
        )
    if (half_open or bounded) and not used.measured:
        hint = f"compare {name} with constants (<, BETWEEN, IN), or ask without {name}"
        raise _refused(used, "it is released as intervals, and the query needs its values", hint)
    return bool(half_open)


def _refuse_undecided(session: Session, records: Records) -> None:
    """Refuse what depends on how values spread towards an open end."""
    tables = CommonTables(frozenset())
    for used, share in records.shares(tables):
        undecided = (
            exp.select(exp.Count(this=exp.Star()))
            .from_(share.table)
            .where(column("passes"))
            .where(column("share").is_(exp.null()))
        )
        ((count,),) = session.rows(tables.before(undecided))
        if count:
            why = "a released value has an open end, and the query depends on where it ends"
            hint = (
                f"compare {used.column.name} with the bounds that are released, or ask without it"
            )
            raise _refused(used, why, hint)


def _refuse_unreadable(session: Session, used: Spread, dictionary: Relation) -> None:
    if used.column.family in ("text", "enum"):
        return
    leaf = exp.select(exp.alias_(exp.Explode(this=column("leaves")), identifier("leaf")))
    listed = leaf.from_(dictionary.table).where(_rows_of(used))
    unreadable = exp.TryCast(this=column("leaf"), to=used.leaf_type).is_(exp.null())
    query = (
        exp.select(exp.Count(this=exp.Star()))
        .from_(listed.subquery(identifier("listed")))
        .where(column("leaf").is_(exp.null()).not_())
        .where(unreadable)
    )
    ((count,),) = session.rows(query)
    if count:
        why = f"{count} leaves of its hierarchy are not of its type {used.column.shown_type}"
        raise _refused(used, why, "remove them from the hierarchy and release again")


def _refuse_too_many(session: Session, used: Spread, dictionary: Relation) -> None:
    lower, upper = column("lower"), column("upper")
    length: exp.Expr
    if used.listed:
        kind = "DATE" if used.column.family == "date" else "HUGEINT"
        length = exp.cast(upper, kind) - exp.cast(lower, kind)
    elif used.cuts is not None and used.cuts.unit is not None:
        ends = (exp.cast(end, "TIMESTAMP") for end in (upper, lower))
        length = exp.DateDiff(
            this=next(ends), expression=next(ends), unit=exp.var(used.cuts.unit.upper())
        )
    else:
        return
    query = (
        exp.select(exp.func("COALESCE", exp.Sum(this=length), exp.Literal.number(0)))
        .from_(dictionary.table)
        .where(_rows_of(used))
        .where(column("level") > 0)
        .where(exp.func("COALESCE", exp.ArraySize(this=column("leaves")), 0).eq(0))
    )
    ((count,),) = session.rows(query)
    if count > MOST_LEAVES:
        hint = f"compare {used.column.name} with constants instead of using its single values"
        raise _refused(used, f"its released values stand for {count} single values", hint)


def _rows_of(used: Spread) -> exp.Expr:
    return column("column").eq(exp.Literal.string(used.column.name))


def _refused(used: Spread, why: str, hint: str) -> DataError:
    where = f"the query cannot be answered from the release: it uses {used.column.name}"
    return DataError(f"{where}; {why}", hint=hint)
