"""Query error: how far the answers that a release gives to queries are from the source's.

Of one aggregate, with the true value tᵍ and the estimate eᵍ of a group g:

- relative error: Σ|eᵍ − tᵍ| / Σ|tᵍ|. A count or sum of a group that one side lacks is 0, so all
  groups of truth and estimate are added up; other aggregates are compared where both have a value.
  Where true counts are 0 throughout, the divisor is one record; where other aggregates are, there
  is no relative error. Nor is there one where truth and estimates are 0: a query that finds nobody
  on either side is no success of the release, and would flatter the mean.
- mean group error: the mean of |eᵍ − tᵍ| / |tᵍ| over the groups compared with tᵍ ≠ 0, as papers
  report it (Lee, Kim & Chung 2017, section 6). It is ruled by groups of one record.
- equal: the share of the groups of both whose estimate is the truth.
- within bounds: the share of the groups of both for which bounds are claimed, and the truth is
  within them. Floating-point numbers are compared with a relative tolerance of 1e-9.

Aggregates that give no number (MIN and MAX of dates, texts, …) have no errors and no totals, only
the two shares. The errors of a query are the means over its aggregates that have them. Of a query,
lost groups are in the truth only, invented ones in the estimate only.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cache
from math import isfinite

from dbdeid.data.json import JsonObject, plain
from dbdeid.engine.relation import NUMBERS, Relation
from dbdeid.engine.session import Session
from dbdeid.engine.sqltext import sql, step

LOWER, UPPER = "_lower", "_upper"
# What a group that one side lacks counts as, and what errors are divided by where the truth is 0.
_COUNTED = {"absent": 0, "unit": 1}
_RULES: dict[str, dict[str, int | None]] = {
    "count": dict(_COUNTED),
    "distinct": dict(_COUNTED),
    "sum": {"absent": 0, "unit": None},
}
_OTHERS: dict[str, int | None] = {"absent": None, "unit": None}


@dataclass(frozen=True, slots=True)
class AggregateColumn:
    """An aggregate to compare.

    Attributes:
        name: how the query shows it.
        kind: count, sum, avg, min, max or distinct.
        column: its column in both answers; its bounds in the estimate are `<column>_lower` and
            `<column>_upper`.
    """

    name: str
    kind: str
    column: str


@dataclass(frozen=True, slots=True)
class AggregateError:
    """The error of one aggregate over its groups; see the module for the formulas.

    What does not exist is None: errors and totals of what is no number, shares of no groups.
    """

    name: str
    kind: str
    relative_error: float | None = None
    mean_group_error: float | None = None
    true_total: float | None = None
    estimated_total: float | None = None
    equal: float | None = None
    within_bounds: float | None = None


@dataclass(frozen=True, slots=True)
class QueryError:
    """One query of the workload: its error, or why the release cannot answer it.

    `seconds_source` and `seconds_release` are wall seconds for the two answers.
    """

    name: str
    sql: str
    groups: int | None = None
    lost: int | None = None
    invented: int | None = None
    aggregates: tuple[AggregateError, ...] = ()
    seconds_source: float | None = None
    seconds_release: float | None = None
    refused: str | None = None

    @property
    def relative_error(self) -> float | None:
        """The mean over its aggregates; None when none has one."""
        return _mean(a.relative_error for a in self.aggregates)

    @property
    def mean_group_error(self) -> float | None:
        """The mean over its aggregates; None when none has one."""
        return _mean(a.mean_group_error for a in self.aggregates)

    @property
    def within_bounds(self) -> float | None:
        """The mean over its aggregates; None when no bounds are claimed."""
        return _mean(a.within_bounds for a in self.aggregates)

    @property
    def true_total(self) -> float | None:
        """That of its only aggregate; None when there are several, which add up to nothing."""
        return self.aggregates[0].true_total if len(self.aggregates) == 1 else None

    @property
    def estimated_total(self) -> float | None:
        """That of its only aggregate; None when there are several."""
        return self.aggregates[0].estimated_total if len(self.aggregates) == 1 else None

    def to_dict(self) -> JsonObject:
        """The query as JSON shows it."""
        return {
            "name": self.name,
            "sql": self.sql,
            "groups": self.groups,
            "lost": self.lost,
            "invented": self.invented,
            "relative_error": self.relative_error,
            "mean_group_error": self.mean_group_error,
            "within_bounds": self.within_bounds,
            "true_total": self.true_total,
            "estimated_total": self.estimated_total,
            "aggregates": plain(self.aggregates),
            "seconds_source": self.seconds_source,
            "seconds_release": self.seconds_release,
            "refused": self.refused,
        }


@dataclass(frozen=True, slots=True)
class Workload:
    """All queries of a workload, in their order. It quotes true values: private."""

    queries: tuple[QueryError, ...]

    @property
    def mean_relative_error(self) -> float | None:
        """The mean of the relative errors of the queries that have one; None when none has."""
        return _mean(query.relative_error for query in self.queries)

    @property
    def within_bounds(self) -> float | None:
        """The mean of the queries' shares within bounds; None when none claims bounds."""
        return _mean(query.within_bounds for query in self.queries)

    @property
    def answered(self) -> int:
        """How many of the queries the release answers."""
        return sum(query.refused is None for query in self.queries)

    def to_dict(self) -> JsonObject:
        """The workload as JSON shows it."""
        return {
            "mean_relative_error": self.mean_relative_error,
            "within_bounds": self.within_bounds,
            "answered": self.answered,
            "queries": [query.to_dict() for query in self.queries],
        }


def _mean(found: Iterable[float | None]) -> float | None:
    known = [value for value in found if value is not None]
    return sum(known) / len(known) if known else None


@cache
def comparison(
    truth: Relation, estimate: Relation, keys: tuple[str, ...], column: str, kind: str | None
) -> str:
    """The query of one row that compares one aggregate of two answers.

    A workload asks for the same ones again and again, so they are written only once.

    Args:
        truth: one row per group, with the keys and the aggregate's column.
        estimate: the same from the release, with the bounds.
        keys: at least one column of both; NULL is a group like any other.
        column: that of the aggregate.
        kind: of the aggregate; None: it gives no number.
    """
    columns = {"key": keys, "value": [column], "lower": [column + LOWER], "upper": [column + UPPER]}
    tables = {"truth": truth, "estimate": estimate}
    if kind is None:
        return sql(step("utility/query_same", tables, columns))
    return sql(step("utility/query_error", tables, columns, _RULES.get(kind, _OTHERS)))


def compare(
    session: Session,
    query: QueryError,
    truth: Relation,
    estimate: Relation,
    keys: Sequence[str],
    aggregates: Sequence[AggregateColumn],
) -> QueryError:
    """The query with the errors of its answer.

    Args:
        session: where both answers are.
        query: what was asked.
        truth: one row per group, with the keys and the aggregates' columns, described.
        estimate: the same from the release, with the bounds.
        keys: at least one column of both; NULL is a group like any other.
        aggregates: at least one.
    """
    found = []
    for aggregate in aggregates:
        own = truth.find(aggregate.column)
        number = own is not None and own.family in NUMBERS
        tables = (replace(table, columns=()) for table in (truth, estimate))
        kind = aggregate.kind if number else None
        asked = comparison(*tables, tuple(keys), aggregate.column, kind)
        groups, lost, invented, *figures = session.row(asked)
        shares = figures if number else [None, None, None, None, *figures]
        finite = [None if f is None or not isfinite(f) else f for f in shares]
        found.append(AggregateError(aggregate.name, aggregate.kind, *finite))
    return replace(query, groups=groups, lost=lost, invented=invented, aggregates=tuple(found))
