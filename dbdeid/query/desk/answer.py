"""Answer a query from a release, or say why it cannot be answered."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any, TypeAlias

from sqlglot import exp

from dbdeid.engine.expressions import column, union_all
from dbdeid.engine.failure import EngineError
from dbdeid.engine.relation import Relation
from dbdeid.engine.session import Session, Table
from dbdeid.engine.sqltext import sql
from dbdeid.errors import DataError
from dbdeid.query.desk.doubts import Doubts
from dbdeid.query.desk.kept import KeptTables
from dbdeid.query.desk.plan import Answer, Plan, Stranger, assumptions, columns
from dbdeid.query.desk.unanswerable import refuse_unanswerable
from dbdeid.query.forms.as_written import Changed, as_written, by_keys, exact_columns, exactly
from dbdeid.query.forms.constant_dates import with_constant_dates
from dbdeid.query.forms.constant_subqueries import MOST_VALUES, with_constants, without_pivot
from dbdeid.query.forms.listings import Listing, listing_of
from dbdeid.query.parse.answerable import Answerable
from dbdeid.query.parse.expressions import is_of_form, refused
from dbdeid.query.parse.meaning import (
    constants_read,
    is_rounded,
    texts_compared,
    texts_written,
)
from dbdeid.query.parse.outputs import refuse_wide
from dbdeid.query.parse.question import Question
from dbdeid.query.parse.reading import parse, read
from dbdeid.query.parse.statement import query
from dbdeid.query.parse.tables import parts_of
from dbdeid.query.rewrite.counted import CountedRecords
from dbdeid.query.rewrite.days import with_days
from dbdeid.query.rewrite.dictionary import Assumed, Dictionary
from dbdeid.query.rewrite.rewrite import SuppressedRecords, estimate, unexpected
from dbdeid.query.rewrite.thresholds import Threshold, of_number, threshold_of, with_thresholds

Estimate: TypeAlias = Callable[[Question, Answerable, SuppressedRecords | None], exp.Select]

_INEXACT = DataError("the query cannot be answered as it is written")


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
        self._read: dict[str, Callable[[], Table]] = {}

    @property
    def full(self) -> bool:
        """Whether plans are to be forgotten, and what is kept for them with them."""
        return self._kept.full

    def clear(self) -> None:
        """Keep nothing for the plans made so far, which can no longer be run."""
        self._read.clear()
        self._kept.clear()
        for counted in self._counted.values():
            counted.clear()

    def plan(self, text: str, target: Answerable, missing: SuppressedRecords | None = None) -> Plan:
        """How a query is answered, once it is known that it can be.

        Raises:
            DataError: the query is not of the supported form, or the dictionary does not tell what
                a value that it needs stands for; and it cannot be run as it is written.
        """
        text = with_constant_dates(text, lambda n: self._session.row(exp.select(n))[0])
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
        refuse_wide(question)
        question = with_days(question, target)
        refuse_unanswerable(self._session, question, target, self._told)
        more = question  # one group beyond those wanted tells whether any is left out
        if question.limit:
            more = replace(question, limit=question.limit + 1)
        made = self._estimate(more, target, missing)
        return Plan(
            sql(made, own=True),
            columns(question),
            (question,),
            assumptions(self._session, question, target, self._kept.keep),
            lambda: estimate(question, target, missing),
            (self._doubts(question, question, target, missing),),
        )

    def _doubts(
        self,
        question: Question,
        chosen: Question,
        target: Answerable,
        missing: SuppressedRecords | None,
    ) -> Doubts:
        """What may be otherwise than it is answered, of a question whose groups another limits."""

        def asked(one: Question) -> exp.Select:
            return self._estimate(one, target, missing)

        def others(one: Question) -> exp.Select:
            return unexpected(one, target, self._kept.keep, self._counting(target))

        order = chosen.order if chosen.limit or chosen.offset else ()
        told = (self._session, self._told, question, target, missing)
        return Doubts(*told, asked, others, order)

    def _estimate(
        self, question: Question, target: Answerable, missing: SuppressedRecords | None
    ) -> exp.Select:
        """What answers a question on what is kept here."""
        return estimate(question, target, missing, self._kept.keep, self._counting(target))

    def _counting(self, target: Answerable) -> CountedRecords | None:
        """Where equal records are counted once for all questions, if there are many."""
        if not self._many:
            return None
        made = CountedRecords(self._session, target)
        return self._counted.setdefault(target.release, made)

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
            found = [
                with_thresholds(select, lambda q: self._threshold(q, target, missing, True)),
                with_constants(select, lambda q: self._values(q, target, missing)),
                with_thresholds(select, lambda q: self._threshold(q, target, missing)),
            ]
            if not any(found):
                raise
        return self._asked(read(select, target), target, missing)

    def _listed(
        self, parts: Listing, target: Answerable, missing: SuppressedRecords | None
    ) -> Plan:
        """Several questions, answered one below the other."""
        parts = replace(parts, questions=tuple(with_days(q, target) for q in parts.questions))
        first, *_ = parts.questions
        names = columns(first)
        found: list[Assumed] = []
        for one in parts.questions:
            refuse_unanswerable(self._session, one, target, self._told)
            found += assumptions(self._session, one, target, self._kept.keep)

        def each(estimated: Estimate) -> list[exp.Select]:
            return [estimated(q, target, missing) for q in parts.questions]

        def whole(selects: Sequence[exp.Select], more: int = 0) -> exp.Query:
            apart = [
                exp.select("*").from_(one.subquery("part", copy=False), copy=False)
                for one in selects
            ]
            listed = union_all(*apart).subquery("listed", copy=False)
            rows = exp.select(*map(column, names)).from_(listed, copy=False)
            for by in parts.stable_order:
                term = exp.Ordered(
                    this=column(by.name), desc=by.descending, nulls_first=by.nulls_first
                )
                rows = rows.order_by(term, copy=False)
            rows = rows if parts.limit is None else rows.limit(parts.limit + more, copy=False)
            return rows if parts.offset is None else rows.offset(parts.offset, copy=False)

        selects = each(self._estimate)
        self._refuse_mixed(first, selects)
        made = sql(whole(selects, 1 if parts.limit else 0), own=True)
        doubts = [self._doubts(q, parts.chosen(q), target, missing) for q in parts.questions]
        asked = (parts.chosen(first), *parts.questions[1:])
        known = tuple(dict.fromkeys(found))
        return Plan(made, names, asked, known, lambda: whole(each(estimate)), tuple(doubts))

    def _refuse_mixed(self, first: Question, parts: Sequence[exp.Select]) -> None:
        """Refuse numbers beside texts in a column with bounds: UNION makes texts of them all, and
        a bound is not written as the number of the original is."""
        bounded = {output.name for output in first.outputs if output.shown is not None}
        if not bounded or len(parts) < 2:
            return
        for same in zip(*map(self._session.describe, parts), strict=True):
            if same[0].name in bounded and len({c.family == "text" for c in same}) == 2:
                raise refused(
                    f"UNION of text with other values in {same[0].name}",
                    "ask for texts and numbers in two columns, or in two queries",
                )

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
        self,
        inner: exp.Select,
        target: Answerable,
        missing: SuppressedRecords | None,
        only_rounded: bool = False,
    ) -> Threshold | None:
        """The number of a subquery between bounds; None where it is none, or nothing is known.

        `only_rounded`: None as well where the original has the same number to the last digit.
        """
        if missing is not None and missing.suppressed:
            return None  # bounds are of the records released
        try:
            question = of_number(read(inner, target))
            if question is None:
                return None
            question = with_days(question, target)
            asked = ((one, question.of(one)) for one in question.aggregates)
            rounded = any(is_rounded(one, own, target) for one, own in asked)
            if only_rounded and not rounded:
                return None
            refuse_unanswerable(self._session, question, target, self._told)
            (row,) = self._session.rows(self._estimate(question, target, None))
        except DataError:
            return None
        return threshold_of(row, question, rounded=rounded)

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
            return Plan(sql(found), names, (), (), lambda: found)
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
        found = [one for asked in plan.questions for one in texts_compared(asked)]
        if not plan.questions:
            found = list(texts_written(query(text)))
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
        found = self._run(plan.statement)
        limit = plan.question.limit if plan.question is not None else None
        if not limit or len(found.rows) <= limit:
            return found, None
        return replace(found, rows=found.rows[:limit]), found.rows[limit]

    def _run(self, statement: str) -> Table:
        """The result of a statement, which the engine reads once: of what it takes, a fifth."""
        if not self._many:
            return self._session.result(statement)
        if statement not in self._read:
            self._read[statement] = self._session.repeated(statement)
        return self._read[statement]()


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


def unreadable(session: Session, text: str, target: Answerable) -> Iterator[tuple[str, str]]:
    """The constants of a query that are no values of the types that they are read as, and these.

    Each is read by itself, so that no cell decides which are told.
    """
    for constant, kind in constants_read(query(text), target):
        reading = exp.TryCast(this=exp.Literal.string(constant), to=kind.copy())
        if session.row(exp.select(reading))[0] is None:
            yield constant, sql(kind)
