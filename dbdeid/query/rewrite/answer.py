"""Answer a query from a release, or say why it cannot be answered."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, TypeAlias

from sqlglot import exp

from dbdeid.data.json import JsonObject
from dbdeid.engine.expressions import column, union_all
from dbdeid.engine.failure import EngineError
from dbdeid.engine.relation import Relation
from dbdeid.engine.session import Session, Table
from dbdeid.engine.sqltext import sql
from dbdeid.errors import DataError
from dbdeid.query.forms.as_written import Changed, as_written, by_keys, exact_columns, exactly
from dbdeid.query.forms.constant_subqueries import MOST_VALUES, with_constants, without_pivot
from dbdeid.query.forms.listings import Listing, listing_of
from dbdeid.query.parse.answerable import Answerable
from dbdeid.query.parse.common_tables import CommonTables, Keep
from dbdeid.query.parse.expressions import is_of_form
from dbdeid.query.parse.meaning import constants_read, texts_compared, texts_written
from dbdeid.query.parse.question import (
    Aggregate,
    Output,
    Question,
    aggregate_name,
    aggregate_place,
)
from dbdeid.query.parse.reading import parse, read
from dbdeid.query.parse.statement import query
from dbdeid.query.parse.tables import parts_of
from dbdeid.query.rewrite.counted import CountedRecords
from dbdeid.query.rewrite.dictionary import Assumed, Dictionary, assumed
from dbdeid.query.rewrite.kept import KeptTables
from dbdeid.query.rewrite.rewrite import SuppressedRecords, below, estimate, parts
from dbdeid.query.rewrite.thresholds import Threshold, of_number, threshold_of, with_thresholds
from dbdeid.query.rewrite.unanswerable import refuse_unanswerable

Estimate: TypeAlias = Callable[[Question, Answerable, SuppressedRecords | None], exp.Select]

_INEXACT = DataError("the query cannot be answered as it is written")


@dataclass(frozen=True)
class Plan:
    """How a query is answered.

    Attributes:
        statement: as it is run, on what its desk keeps.
        columns: names of the answer's columns.
        question: what is asked, as an expected value with bounds; None where the query is run as
            it is written, so that its answer is exact of the records that were released.
        assumed: what of the answer the hierarchies decide.
    """

    statement: str
    columns: tuple[str, ...]
    question: Question | None
    assumed: tuple[Assumed, ...]
    _whole: Callable[[], exp.Query]
    _doubtful: Callable[[], bool] = lambda: False

    @cached_property
    def doubtful(self) -> bool:
        """Whether another group may be chosen than by expected values; it asks the release."""
        return self._doubtful()

    @property
    def chooses(self) -> bool:
        """Whether a condition on aggregates chooses among groups."""
        having = self.question.having if self.question is not None else None
        named = having.find_all(exp.Column) if having is not None else ()
        return any(c.name.startswith("aggregate_") for c in named)

    @cached_property
    def bounds(self) -> frozenset[int]:
        """The places of those columns that are bounds of the one before."""
        outputs = self.question.outputs if self.question is not None else ()
        found, place = set[int](), 0
        for output in outputs:
            if output.shown is not None:
                found |= {place + 1, place + 2}
                place += 2
            place += 1
        return frozenset(found)

    @cached_property
    def query(self) -> exp.Query:
        """The statement with all that its desk keeps, for any session."""
        return self._whole()

    @cached_property
    def sql(self) -> str:
        """The query, laid out for reading."""
        return sql(self.query, pretty=True)


@dataclass(frozen=True)
class Answer:
    """The expected answer of the source with its bounds, and the SQL on the release that gives it.

    Attributes:
        columns: names, each aggregate followed by its `_lower` and `_upper`; those of the query
            where it is run as it is written.
        rows: values; a bound is None where none is known.
        plan: of the answer.
    """

    columns: tuple[str, ...]
    rows: tuple[tuple[Any, ...], ...]
    plan: Plan

    @property
    def sql(self) -> str:
        """The statement on the release, written only for those who want to read it."""
        return self.plan.sql

    def to_dict(self) -> JsonObject:
        """The answer as `query --json` shows it."""
        rows = [dict(zip(self.columns, row, strict=True)) for row in self.rows]
        return {"columns": list(self.columns), "rows": rows, "sql": self.sql}


@dataclass(frozen=True, slots=True)
class Stranger:
    """A text of a question that is no value of the column that it is compared with.

    Attributes:
        column: of the source.
        constant: the text.
        known: the values that the dictionary of the release, which is public, lists.
    """

    column: str
    constant: str
    known: frozenset[str]


class Desk:
    """Where questions to one release are answered.

    What its dictionary decides is found out once, and computed once, for all of them: nothing that
    they read may change meanwhile.

    Args:
        session: where the release is.
        dictionary: of the release; None where it has none.
        many: whether questions come after the first, for which equal records are counted.
    """

    def __init__(
        self, session: Session, dictionary: Relation | None, *, many: bool = False
    ) -> None:
        self._session = session
        self._told = Dictionary(session, dictionary) if dictionary is not None else None
        self._kept = KeptTables(session)
        self._counted: dict[Relation, CountedRecords] = {}
        self._many = many

    @property
    def full(self) -> bool:
        """Whether plans are to be forgotten, and what is kept for them with them."""
        return self._kept.full

    def clear(self) -> None:
        """Keep nothing for the plans made so far, which can no longer be run."""
        self._kept.clear()
        for counted in self._counted.values():
            counted.clear()

    def plan(self, text: str, target: Answerable, missing: SuppressedRecords | None = None) -> Plan:
        """How a query is answered, once it is known that it can be.

        Raises:
            DataError: the query is not of the supported form, or the dictionary does not tell what
                a value that it needs stands for; and it cannot be run as it is written.
        """
        text = self._without_pivot(text, target, missing)
        try:
            question = parse(text, target)
        except DataError as refusal:
            return self._otherwise(text, target, missing, refusal)
        try:
            if question.rough:
                return self._exactly_or(question, text, target, missing)
            return self._asked(question, target, missing)
        except DataError as refusal:
            return self._as_written(text, target, missing, refusal, of_form=False)

    def _exactly_or(
        self, question: Question, text: str, target: Answerable, missing: SuppressedRecords | None
    ) -> Plan:
        """A query that is run as it is written where that is exact."""
        try:
            return self._as_written(by_keys(text, question), target, missing, _INEXACT)
        except DataError:
            return self._asked(question, target, missing)

    def _without_pivot(
        self, text: str, target: Answerable, missing: SuppressedRecords | None
    ) -> str:
        """The text of a query that makes its columns itself, of values of counterfeits as well."""
        if "pivot" not in text.lower():
            return text
        real = replace(target, weight=None)
        made = without_pivot(query(text), lambda inner: self._values(inner, real, missing))
        return text if made is None else sql(made)

    def _asked(
        self, question: Question, target: Answerable, missing: SuppressedRecords | None
    ) -> Plan:
        refuse_unanswerable(self._session, question, target, self._told)
        more = question  # one group beyond those wanted tells whether any is left out
        if question.limit:
            more = replace(question, limit=question.limit + 1)
        made = self._estimate(more, target, missing)
        return Plan(
            sql(made, own=True),
            columns(question),
            question,
            assumptions(self._session, question, target, self._kept.keep),
            lambda: estimate(question, target, missing),
            lambda: self._is_doubtful(question, target, missing),
        )

    def _is_doubtful(
        self, question: Question, target: Answerable, missing: SuppressedRecords | None
    ) -> bool:
        """Whether bounds of what groups are chosen by are apart for any group."""
        if self._told is not None and target.truthful and target.weight is None:
            kept = self._told.unchanged()
            used = {s.column.name for one in parts(question, target) for s in one.spreads}
            if used <= kept and not (missing is not None and missing.suppressed):
                return False
        terms = [order.term for order in question.order if question.limit or question.offset]
        terms += [question.having] if question.having is not None else []
        named = (c.name for term in terms for c in exp.paren(term.copy()).find_all(exp.Column))
        there = Aggregate("count")
        asked = (*question.aggregates, *([] if there in question.aggregates else [there]))
        places = {aggregate_place(name) for name in named if name.startswith("aggregate_")}
        places.add(asked.index(there))
        outputs = tuple(Output.of(aggregate_name(place), place) for place in sorted(places))
        plain = replace(question, aggregates=asked, outputs=outputs, having=None, order=())
        every = self._estimate(replace(plain, limit=None, offset=None), target, missing)
        apart = []
        for output in outputs:
            value, lower, upper = (column(output.name + end) for end in ("", "_lower", "_upper"))
            alike = exp.NullSafeEQ(this=lower, expression=upper)
            known = lower.copy().is_(exp.null()).eq(value.is_(exp.null()))
            apart.append(exp.not_(exp.and_(alike, exp.paren(known))))
        some = exp.select(exp.Count(this=exp.Star())).from_(every.subquery("every", copy=False))
        return bool(self._session.row(some.where(exp.or_(*apart)))[0])

    def _estimate(
        self, question: Question, target: Answerable, missing: SuppressedRecords | None
    ) -> exp.Select:
        """What answers a question on what is kept here."""
        counted = None
        if self._many:
            made = CountedRecords(self._session, target)
            counted = self._counted.setdefault(target.release, made)
        return estimate(question, target, missing, self._kept.keep, counted)

    def _otherwise(
        self,
        text: str,
        target: Answerable,
        missing: SuppressedRecords | None,
        refusal: DataError,
    ) -> Plan:
        """A query that is run as it is written, or in parts."""
        try:
            return self._as_written(text, target, missing, refusal)
        except DataError:
            if (parts := listing_of(text, target)) is not None:
                return self._listed(parts, target, missing)
            select = query(text)
            if not isinstance(select, exp.Select):
                raise
            found = with_constants(select, lambda inner: self._values(inner, target, missing))
            if (
                not with_thresholds(select, lambda q: self._threshold(q, target, missing))
                and not found
            ):
                raise
        return self._asked(read(select, target), target, missing)

    def _listed(
        self, parts: Listing, target: Answerable, missing: SuppressedRecords | None
    ) -> Plan:
        """Several questions, answered one below the other."""
        question, *_ = parts.questions
        names = columns(question)
        found: list[Assumed] = []
        for one in parts.questions:
            refuse_unanswerable(self._session, one, target, self._told)
            found += assumptions(self._session, one, target, self._kept.keep)

        def whole(estimated: Estimate) -> exp.Query:
            selects = [estimated(q, target, missing) for q in parts.questions]
            apart = [
                exp.select("*").from_(one.subquery("part", copy=False), copy=False)
                for one in selects
            ]
            listed = union_all(*apart).subquery("listed", copy=False)
            rows = exp.select(*map(column, names)).from_(listed, copy=False)
            for by in parts.order:
                term = exp.Ordered(
                    this=column(by.name), desc=by.descending, nulls_first=by.nulls_first
                )
                rows = rows.order_by(term, copy=False)
            rows = rows if parts.limit is None else rows.limit(parts.limit, copy=False)
            return rows if parts.offset is None else rows.offset(parts.offset, copy=False)

        made = sql(whole(self._estimate), own=True)
        return Plan(made, names, question, tuple(dict.fromkeys(found)), lambda: whole(estimate))

    def _values(
        self, inner: exp.Select, target: Answerable, missing: SuppressedRecords | None
    ) -> list[Any] | None:
        """The values of a subquery; None where they are not known without the query around it."""
        lacking = missing is not None and missing.suppressed
        if lacking and any(target.is_source(parts_of(t)) for t in inner.find_all(exp.Table)):
            return None
        try:
            found = exactly(inner, target, self._unchanged)
            if len(self._session.describe(found)) != 1:
                return None
            some = exp.select("*").from_(found.subquery("listed")).limit(MOST_VALUES + 1)
            rows = [row[0] for row in self._session.rows(some)]
        except (DataError, EngineError):
            return None
        return rows if len(rows) <= MOST_VALUES else None

    def _threshold(
        self, inner: exp.Select, target: Answerable, missing: SuppressedRecords | None
    ) -> Threshold | None:
        """The number of a subquery between bounds; None where it is none, or nothing is known."""
        if missing is not None and missing.suppressed:
            return None  # bounds are of the records released
        try:
            question = of_number(read(inner, target))
            if question is None:
                return None
            refuse_unanswerable(self._session, question, target, self._told)
            (row,) = self._session.rows(self._estimate(question, target, None))
        except DataError:
            return None
        return threshold_of(row, question)

    @property
    def _unchanged(self) -> list[str]:
        return sorted(self._told.unchanged()) if self._told is not None else []

    def _as_written(
        self,
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
        unchanged = self._unchanged
        try:
            found = as_written(text, target, unchanged)
            names = tuple(c.name for c in self._session.describe(found))
            return Plan(sql(found), names, None, (), lambda: found)
        except Changed:
            listed = ", ".join(c.name for c in exact_columns(target, unchanged))
            of_form = of_form and is_of_form(refusal.hint)
            if not of_form or not listed or not target.told:
                raise refusal from None
            also = f"or ask in any form of columns that are released as they are: {listed}"
            raise DataError(refusal.message, hint=f"{refusal.hint}; {also}") from None
        except (DataError, EngineError):  # the engine may know no such column or function
            raise refusal from None

    def strangers(self, plan: Plan, text: str, target: Answerable) -> Iterator[Stranger]:
        """The texts of a question that its dictionary knows for no values of their columns."""
        if self._told is None or not target.told:
            return
        asked = plan.question
        found = texts_compared(asked) if asked is not None else texts_written(query(text))
        for name, constant in dict.fromkeys(found):
            source = target.find(name)
            if source is None or source.name not in target.quasi_identifiers:
                continue
            if source.family not in ("text", "enum"):
                continue
            known = self._told.values(source)
            if known is not None and constant not in known:
                yield Stranger(source.name, constant, known)

    def rows(self, plan: Plan) -> Table:
        """The rows of an answer, named as `plan.columns` has them."""
        return self.found(plan)[0]

    def found(self, plan: Plan) -> tuple[Table, tuple[Any, ...] | None]:
        """The rows of an answer, and the first that LIMIT leaves out; None where it does not."""
        found = self._session.result(plan.statement)
        limit = plan.question.limit if plan.question is not None else None
        if limit is None or len(found.rows) <= limit:
            return found, None
        return replace(found, rows=found.rows[:limit]), found.rows[limit]


def answer(
    session: Session, text: str, target: Answerable, missing: SuppressedRecords | None = None
) -> Answer:
    """Answer an analyst query that was written for the source.

    Raises:
        DataError: as for `Desk.plan`.
    """
    desk = Desk(session, target.dictionary)
    plan = desk.plan(text, target, missing)
    return Answer(plan.columns, desk.rows(plan).rows, plan)


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


def assumptions(
    session: Session, question: Question, target: Answerable, keep: Keep | None = None
) -> tuple[Assumed, ...]:
    """What of an answer the hierarchies decide rather than the records, each once.

    Args:
        session: where the release is.
        question: what is asked, known to be answerable.
        target: the release.
        keep: where tables of the dictionary alone are kept.
    """
    if target.dictionary is None:
        return ()
    groups, *others = parts(question, target)
    asked = [one for one in question.aggregates if one.over is None and one.groups is None]
    plain = zip(others, asked, strict=False)  # the others are of the questions below
    limited = [records for records, one in plain if one.condition is not None]
    found = [a for one in below(question) for a in assumptions(session, one, target, keep)]
    for records in (groups, *limited):
        known = [target.release, target.dictionary, *(j.table for j in question.every_join)]
        tables = CommonTables.beside(known, keep)
        found += assumed(session, records, tables, keys=records is groups)
    return tuple({(one.column, one.what): one for one in found}.values())


def unreadable(session: Session, text: str, target: Answerable) -> Iterator[tuple[str, str]]:
    """The constants of a query that are no values of the types that they are read as, and these.

    Each is read by itself, so that no cell decides which are told.
    """
    for constant, kind in constants_read(query(text), target):
        reading = exp.TryCast(this=exp.Literal.string(constant), to=kind.copy())
        if session.row(exp.select(reading))[0] is None:
            yield constant, sql(kind)
