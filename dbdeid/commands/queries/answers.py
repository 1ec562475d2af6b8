"""Answers to questions, each planned once."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property

from dbdeid.commands.queries.notes import of_choice, of_none, of_plan, of_single, of_strangers
from dbdeid.commands.queries.opened import Asked, Opened
from dbdeid.commands.queries.result import Result, Script
from dbdeid.engine.failure import EngineError
from dbdeid.engine.relation import Relation
from dbdeid.engine.session import Session
from dbdeid.errors import DataError
from dbdeid.query.desk.answer import Desk, unreadable
from dbdeid.query.desk.plan import Plan
from dbdeid.query.dialects.dialects import Dialect, transpiled, unplaced
from dbdeid.query.parse.answerable import Answerable
from dbdeid.query.parse.meaning import mistaken_kinds
from dbdeid.query.parse.statement import dated, query
from dbdeid.query.rewrite.dictionary import Dictionary

# Questions whose plans are kept, of one release.
MOST_PLANS = 500
SPREADING = "--spread-suppressed"


@dataclass(frozen=True)
class _Planned:
    """How a question is answered, of which release, and what a reader should know of that."""

    asked: Asked
    plan: Plan
    text: str
    catalog: str

    @cached_property
    def notes(self) -> tuple[str, ...]:
        return tuple(of_plan(self.plan, self.text, self.asked, self.catalog))


@dataclass(frozen=True, slots=True)
class Answers:
    """The answers of an open release: what a question has made known serves those after it.

    Attributes:
        opened: the release, of which nothing that is read may change meanwhile.
        many: whether it is asked more than once, so that what serves later questions pays.
        spreading: what who asks can do to have suppressed records counted.
    """

    opened: Opened
    many: bool = False
    spreading: str = SPREADING
    _desks: dict[Relation, Desk] = field(default_factory=dict)
    _plans: dict[tuple[str, bool], _Planned] = field(default_factory=dict)

    def answer(self, text: str, *, spread: bool) -> Result:
        """The answer to a question.

        Args:
            text: SQL that was written for the source of the release.
            spread: whether suppressed records count like those that are released.

        Raises:
            DataError: it cannot be answered.
        """
        text, constants = dated(text, datetime.now())
        planned = self._plan(text, spread=spread)
        asked, plan = planned.asked, planned.plan
        with _refusing(self.opened.session, text, asked.target):
            desk = self._desk(asked)
            found, beyond = desk.found(plan)
            strangers = tuple(of_strangers(desk.strangers(plan, text, asked.target)))
            unsure = (
                *of_choice(plan, found.rows, beyond, asked.suppressed),
                *of_single(plan),
            )
        notes = (
            *asked.notes,
            *asked.of_suppressed(spread=spread, how=self.spreading),
            *planned.notes,
            *strangers,
            *unsure,
            *of_none(plan, found.rows, asked.suppressed),
            *(f"asked at {constant}, by the clock of this machine" for constant in constants),
        )
        script = Script(asked.views, plan)
        told = script, tuple(dict.fromkeys(notes)), asked.suppressed, plan.bounds
        return Result(plan.columns, found.types, found.rows, *told)

    def script(self, text: str, dialect: Dialect, *, spread: bool) -> str:
        """What gives the answer to a question, in the dialect of an engine.

        Raises:
            DataError: it cannot be answered, or the dialect has no equal of what is asked.
        """
        text, _ = dated(text, datetime.now())
        planned = self._plan(text, spread=spread)
        asked, plan = planned.asked, planned.plan
        if dialect == "duckdb":
            return Script(asked.views, plan).text
        if plan.question is None:
            raise DataError(
                "the query is run as it is written, which is known to be right in DuckDB only",
                hint="run it on the released table, all of whose columns it names hold the "
                "values of the source",
            )
        return transpiled(unplaced(plan.query), dialect)

    def target(self, release: str | None) -> Answerable:
        """The release that a query goes to: the named one, or the only one where none is named.

        Raises:
            DataError: there is no such release, or there are several.
        """
        names = self.opened.releases
        fit = [n for n in names if release is None or n.lower() == release.lower()]
        if len(fit) != 1:
            what = "several releases" if release is None else f"no release {release!r}"
            raise DataError(f"it holds {what}", hint=f"name one of {', '.join(names)}")
        return self.opened.target(fit[0])

    def untold(self, release: str | None) -> tuple[str, ...]:
        """The columns with released values that have neither listed leaves nor two bounds.

        Raises:
            DataError: there is no such release, or there are several.
        """
        target = self.target(release)
        if target.dictionary is None:
            return ()
        told = Dictionary(self.opened.session, target.dictionary)
        found = [c for n in target.quasi_identifiers if (c := target.find(n)) is not None]
        return tuple(c.name for c in found if told.obstacles(c).unknown)

    def _plan(self, text: str, *, spread: bool) -> _Planned:
        """How a question is answered; found out once for each text."""
        if (text, spread) not in self._plans:
            self._make_room()
            asked = self.opened.asked(text)
            missing = asked.missing(spread=spread)
            with _refusing(self.opened.session, text, asked.target):
                plan = self._desk(asked).plan(text, asked.target, missing)
            self._plans[text, spread] = _Planned(asked, plan, text, self.opened.session.catalog)
        return self._plans[text, spread]

    def _desk(self, asked: Asked) -> Desk:
        target = asked.target
        if target.release not in self._desks:
            desk = Desk(self.opened.session, target.dictionary, many=self.many)
            self._desks[target.release] = desk
        return self._desks[target.release]

    def _make_room(self) -> None:
        """Forget all plans where there are too many, or too much is kept for them."""
        if len(self._plans) < MOST_PLANS and not any(d.full for d in self._desks.values()):
            return
        self._plans.clear()
        for desk in self._desks.values():
            desk.clear()


# What a mistake in a question looks like; anything else is a defect or a missing file.
_OF_THE_QUESTION = (
    "BinderException",
    "ConversionException",
    "InvalidInputException",
    "OutOfRangeException",
)


@contextmanager
def _refusing(session: Session, text: str, target: Answerable) -> Iterator[None]:
    try:
        yield
    except DataError as refusal:
        if "it is released as intervals" in refusal.message:  # as beside what is no constant of it
            _refuse_constants(session, text, target)
        raise
    except EngineError as error:
        if error.kind not in _OF_THE_QUESTION:
            raise
        _refuse_constants(session, text, target)
        if error.kind == "OutOfRangeException":
            raise DataError(
                "the query cannot be answered from the release: a number is beyond its type, for "
                "values that the release allows if not for those of the original",
                hint="compute in a wider type: write CAST(… AS BIGINT), or AS DOUBLE, of a column",
            ) from None
        raise DataError(
            f"the query cannot be answered from the release: {error.message}",
            hint="compare columns with constants of their own type; -vv logs the statement",
        ) from None


def _refuse_constants(session: Session, text: str, target: Answerable) -> None:
    """Refuse constants of a question that are no values of the type that they are read as, and
    columns that are not of the type that they are used as."""
    for constant, kind in unreadable(session, text, target):
        raise DataError(
            f"the query cannot be answered from the release: '{constant}' is no {kind}",
            hint="write a value of that type",
        ) from None
    for why, hint in mistaken_kinds(query(text), target):
        raise DataError(
            f"the query cannot be answered from the release: {why}", hint=hint
        ) from None
