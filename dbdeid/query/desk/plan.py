"""How a question is answered, and the answer."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from sqlglot import exp

from dbdeid.data.json import JsonObject
from dbdeid.engine.session import Session
from dbdeid.engine.sqltext import sql
from dbdeid.query.desk.doubts import Doubts
from dbdeid.query.parse.answerable import Answerable
from dbdeid.query.parse.common_tables import CommonTables, Keep
from dbdeid.query.parse.question import Question
from dbdeid.query.rewrite.dictionary import Assumed, assumed
from dbdeid.query.rewrite.rewrite import below, parts


@dataclass(frozen=True)
class Plan:
    """How a query is answered.

    Attributes:
        statement: as it is run, on what its desk keeps.
        columns: names of the answer's columns.
        questions: what is asked, as expected values with bounds: one, or several that are listed
            one below the other, the first of which has the order and limit of all; none where the
            query is run as it is written, so that its answer is exact of the records released.
        assumed: what of the answer the hierarchies decide.
    """

    statement: str
    columns: tuple[str, ...]
    questions: tuple[Question, ...]
    assumed: tuple[Assumed, ...]
    _whole: Callable[[], exp.Query]
    _doubts: tuple[Doubts, ...] = ()

    @property
    def question(self) -> Question | None:
        """The first question; None where the query is run as it is written."""
        return next(iter(self.questions), None)

    @cached_property
    def doubtful(self) -> bool:
        """Whether another group may be chosen than by expected values; it asks the release."""
        return any(one.of_choice() for one in self._doubts)

    @cached_property
    def others(self) -> bool:
        """Whether the original may have groups in which no record is expected; as above."""
        return any(one.of_others() for one in self._doubts)

    @property
    def settled(self) -> bool:
        """Whether the whole answer is certain, as far as the dictionary shows."""
        return all(one.settled for one in self._doubts)

    @cached_property
    def maybe_single(self) -> tuple[str, ...]:
        """The outputs that are NULL of one record, where a group may be of one; as above."""
        return tuple(dict.fromkeys(name for one in self._doubts for name in one.of_variances()))

    @property
    def chooses(self) -> bool:
        """Whether a condition on aggregates chooses among groups."""
        conditions = [one.having for one in self.questions if one.having is not None]
        named = [c.name for having in conditions for c in exp.paren(having).find_all(exp.Column)]
        return any(name.startswith("aggregate_") for name in named)

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


def columns(question: Question) -> tuple[str, ...]:
    """The names of the answer's columns."""
    found: list[str] = []
    for output in question.outputs:
        found.append(output.name)
        if output.shown is not None:
            found += [f"{output.name}_lower", f"{output.name}_upper"]
    return tuple(found)


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
