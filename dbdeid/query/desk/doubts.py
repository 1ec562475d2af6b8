"""What of an answer may be otherwise in the original, found out by asking the release once more."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property

from sqlglot import exp

from dbdeid.engine.expressions import column
from dbdeid.engine.session import Session
from dbdeid.query.parse.answerable import Answerable
from dbdeid.query.parse.expressions import has_alternatives
from dbdeid.query.parse.question import (
    Aggregate,
    Order,
    Output,
    Question,
    aggregate_name,
    aggregate_place,
)
from dbdeid.query.rewrite.dictionary import Dictionary
from dbdeid.query.rewrite.rewrite import SuppressedRecords, below, parts


@dataclass(frozen=True)
class Doubts:
    """Doubts about the answer to a question.

    Attributes:
        session: where the release is.
        told: what its dictionary tells; None where it has none.
        question: what was asked.
        target: the release.
        missing: suppressed records to be spread; None: they are missing.
        estimate: the query on the release that answers a question.
        unexpected: that of how many of its groups may be there without being expected.
        order: by which a limit chooses among its groups; empty where none does.
    """

    session: Session
    told: Dictionary | None
    question: Question
    target: Answerable
    missing: SuppressedRecords | None
    estimate: Callable[[Question], exp.Select]
    unexpected: Callable[[Question], exp.Select]
    order: tuple[Order, ...] = ()

    def of_choice(self) -> bool:
        """Whether another group may be chosen than by expected values.

        So it is where bounds of what groups are chosen by are apart for any group.
        """
        if self.settled:
            return False
        if has_alternatives(self.question.where):  # it may leave in groups that are not expected
            return True
        there = Aggregate("count")
        given = self.question.aggregates
        asked = given if there in given else (*given, there)
        places = {*self._chosen_by(), asked.index(there)}
        every = replace(self.question, having=None, order=(), limit=None, offset=None)
        if self._any(every, asked, sorted(places), _apart):
            return True
        return any(self._may_be_none(every, asked[place]) for place in sorted(places))

    def of_others(self) -> bool:
        """Whether the original may have groups in which no record is expected."""
        if not self.question.keys or self.settled or not self.target.truthful:
            return False
        return bool(self.session.row(self.unexpected(self.question))[0])

    def of_variances(self) -> tuple[str, ...]:
        """The outputs of which the original may have NULL, since a group may be of one record."""
        question = self.question
        if not self.target.truthful or (self.missing is not None and self.missing.suppressed):
            return ()
        return tuple(
            output.name
            for output in question.outputs
            for one in [question.aggregates[place] for place in output.aggregates]
            if one.kind == "var_samp" and self._may_be_none(question, one)
        )

    def _may_be_none(self, question: Question, one: Aggregate) -> bool:
        """Whether an aggregate may be NULL in any group, of too few records, but need not be."""
        if one.kind in ("count", "distinct") or one.over is not None or one.groups is not None:
            return False
        least = exp.Literal.number(2 if one.kind == "var_samp" else 1)
        given, records = question.aggregates, one.records
        asked = given if records in given else (*given, records)

        def too_few(_: exp.Expr, lower: exp.Expr, upper: exp.Expr) -> exp.Expr:
            return exp.and_(lower < least, upper >= least.copy())

        return self._any(question, asked, [asked.index(records)], too_few)

    @cached_property
    def settled(self) -> bool:
        """Whether all that the question uses is known for certain, without asking the release."""
        if self.told is None or not self.target.truthful or self.target.weight is not None:
            return False
        if has_alternatives(*_conditions(self.question)):
            return False
        used = {s.column.name for one in parts(self.question, self.target) for s in one.spreads}
        spread = self.missing is not None and self.missing.suppressed
        return used <= self.told.unchanged() and not spread

    def _chosen_by(self) -> Iterator[int]:
        """The places of the aggregates by which groups are chosen."""
        question = self.question
        terms = [one.term for one in self.order]
        terms += [question.having] if question.having is not None else []
        for term in terms:
            for reference in exp.paren(term.copy()).find_all(exp.Column):
                if reference.name.startswith("aggregate_"):
                    yield aggregate_place(reference.name)

    def _any(
        self,
        question: Question,
        asked: tuple[Aggregate, ...],
        places: list[int],
        condition: Callable[[exp.Expr, exp.Expr, exp.Expr], exp.Expr],
    ) -> bool:
        """Whether a condition of an aggregate and its bounds holds in any group.

        Args:
            question: which groups.
            asked: its aggregates.
            places: those that are looked at.
            condition: of the expected value and the two bounds.
        """
        outputs = tuple(Output.of(aggregate_name(place), place) for place in places)
        rows = self.estimate(replace(question, aggregates=asked, outputs=outputs))
        any_of = [
            condition(*(column(output.name + end) for end in ("", "_lower", "_upper")))
            for output in outputs
        ]
        some = exp.select(exp.Count(this=exp.Star())).from_(rows.subquery("asked", copy=False))
        return bool(self.session.row(some.where(exp.or_(*any_of)))[0])


def _conditions(question: Question) -> Iterator[exp.Expr | None]:
    """On records, of the question and of those below it."""
    yield question.where
    for one in question.aggregates:
        among = one.among.where if one.among is not None else None
        yield from (one.argument, one.condition, among)
    for asked in below(question):
        yield from _conditions(asked)


def _apart(value: exp.Expr, lower: exp.Expr, upper: exp.Expr) -> exp.Expr:
    """Whether two bounds are not one known value, or unknown where there is a value."""
    alike = exp.NullSafeEQ(this=lower, expression=upper)
    known = lower.copy().is_(exp.null()).eq(value.is_(exp.null()))
    return exp.not_(exp.and_(alike, exp.paren(known)))
