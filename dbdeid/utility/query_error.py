"""Query error: how far a release's answers to counting queries are from the source's.

With the true count tᵍ and the estimated count eᵍ of a group g (0 where the group is missing):

- relative error: Σ|eᵍ − tᵍ| / max(Σtᵍ, 1), over all groups of truth and estimate. Where the truth
  is empty the divisor is one record, so the error is the number of records estimated.
- mean group error: the mean of |eᵍ − tᵍ| / tᵍ over the groups with tᵍ > 0, as papers report it
  (Lee, Kim & Chung 2017, section 6). It is ruled by groups of one record; None without groups.
- lost groups are in the truth only, invented ones in the estimate only.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from sqlglot import exp

from dbdeid.engine.relation import Relation
from dbdeid.engine.session import Session
from dbdeid.engine.sqltext import step


@dataclass(frozen=True, slots=True)
class Comparison:
    """The error of one query over its groups; see the module for the formulas."""

    groups: int
    lost: int
    invented: int
    relative_error: float
    mean_group_error: float | None
    true_total: float
    estimated_total: float


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
    relative_error: float | None = None
    mean_group_error: float | None = None
    true_total: float | None = None
    estimated_total: float | None = None
    seconds_source: float | None = None
    seconds_release: float | None = None
    refused: str | None = None


@dataclass(frozen=True, slots=True)
class Workload:
    """All queries of a workload, in their order. It quotes true counts: private."""

    queries: tuple[QueryError, ...]

    @property
    def mean_relative_error(self) -> float | None:
        """The mean of the relative errors of the answered queries; None when none is."""
        errors = [q.relative_error for q in self.queries if q.relative_error is not None]
        return sum(errors) / len(errors) if errors else None

    def to_dict(self) -> dict[str, Any]:
        """The workload as JSON shows it."""
        return {
            "mean_relative_error": self.mean_relative_error,
            "answered": sum(query.refused is None for query in self.queries),
            "queries": [asdict(query) for query in self.queries],
        }


def comparison(truth: Relation, estimate: Relation, keys: Sequence[str]) -> exp.Expr:
    """The query of one row that compares two answers.

    Args:
        truth: one row per group, the keys and a column `records`.
        estimate: the same from the release.
        keys: at least one column of both; NULL is a group like any other.
    """
    return step("query_error", {"truth": truth, "estimate": estimate}, {"key": keys})


def compare(
    session: Session, truth: Relation, estimate: Relation, keys: Sequence[str]
) -> Comparison:
    """The error of one answered query."""
    return Comparison(*session.row(comparison(truth, estimate, keys)))
