"""The figures of a report's page as they are drawn: sizes, risk, errors, before and after."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from dbdeid.data.figures import count, share
from dbdeid.record.findings import Risk, RiskChange
from dbdeid.record.public_record import PublicRisk, Shown
from dbdeid.record.release_record import ReleaseRecord
from dbdeid.record.usefulness import Query, Share
from dbdeid.report.charts.charts import MEASURES, Bar, bar_chart, bars
from dbdeid.report.content import terms
from dbdeid.report.content.commands import k_of
from dbdeid.report.content.headlines import shift
from dbdeid.report.content.model_terms import by_class

# A workload of more queries is told by those with the greatest errors; the rest is folded.
LONG_WORKLOAD, WORST = 15, 10
# On the first page so many questions, and so many columns before and after.
_QUESTIONS, _COLUMNS = 8, 3
# Name, share of a full bar, the figure in words, and the tone of the bar.
Row = tuple[str, float, str, str]


@dataclass(frozen=True, slots=True)
class RiskCell:
    """A measure of risk of one table, and the share of 1 that its bar shows; None: no bar."""

    text: str
    share: float | None


@dataclass(frozen=True, slots=True)
class RiskRow:
    """A measure of risk: its words, and a cell for each known table."""

    title: str
    meaning: str
    cells: dict[str, RiskCell]


def risk_rows(record: Shown) -> list[RiskRow]:
    """One row for each measure of risk."""
    tables: dict[str, Risk | PublicRisk] = {}
    if isinstance(record.risk, RiskChange) and record.risk.before is not None:
        tables["before"] = record.risk.before
    if record.risk is not None and record.risk.after is not None:
        tables["after"] = record.risk.after
    return [
        RiskRow(title, meaning, {table: _risk(risk, key) for table, risk in tables.items()})
        for key, title, meaning in terms.RISK
        # below a class of 1 nobody is at risk, whoever is unique
        if tables and (key != "records_at_risk" or by_class(record))
    ]


def _risk(risk: Risk | PublicRisk, key: str) -> RiskCell:
    value = getattr(risk, key)
    if key in ("records", "classes", "k"):
        return RiskCell(count(value), None)
    if key in ("highest_risk", "average_risk"):
        return RiskCell(share(value), value or 0.0)
    part = (value or 0) / risk.records if risk.records else 0.0
    return RiskCell(f"{count(value)} ({share(part)})" if part else count(value), part)


@dataclass(frozen=True, slots=True)
class Sizes:
    """The class-size histogram: its ranges, and one chart each of classes and records.

    Attributes:
        rows: the ranges.
        low: whether some classes are smaller than k.
        titles: of the charts.
        classes: the chart of classes.
        records: the chart of records.
    """

    rows: list[Bar]
    low: bool
    titles: Mapping[str, str]
    classes: str
    records: str


def sizes_of(record: Shown) -> Sizes | None:
    """The chart of class sizes; None where they are not known."""
    rows = bars(record.histogram, k_of(record))
    if not rows:
        return None
    low = any(row.low and row.classes for row in rows)
    return Sizes(rows, low, MEASURES, bar_chart(rows, "classes"), bar_chart(rows, "records"))


def worst(queries: Sequence[Query]) -> Sequence[Query]:
    """Of a long workload what is read first: refusals, and the greatest errors; else all of it."""
    if len(queries) <= LONG_WORKLOAD:
        return queries
    order = sorted(queries, key=lambda q: (q.refused is None, -(q.relative_error or 0.0)))
    return order[:WORST]


@dataclass(frozen=True, slots=True)
class Drawn:
    """A column before and after.

    Attributes:
        name: of the column.
        rows: its values.
        longest: what a full bar is.
        distance: the metric; None where it was not measured.
        shift: how many records would have to move between the rows, as a share.
    """

    name: str
    rows: Sequence[Share]
    longest: float
    distance: float | None
    shift: float


def before_and_after(record: ReleaseRecord) -> list[Drawn]:
    """The columns before and after, each with the length of a full bar and its distance."""
    return [
        Drawn(
            name=drawn.column,
            rows=drawn.rows,
            longest=max(max(row.source, row.released) for row in drawn.rows) or 1.0,
            distance=record.metrics.get(f"distribution.{drawn.column}"),
            shift=shift(drawn.rows),
        )
        for drawn in record.distributions
        if drawn.rows
    ]


def longest(queries: Sequence[Query]) -> float:
    """The relative error that a full bar shows: 1, or the largest when that is more."""
    errors = [query.relative_error for query in queries]
    return max([1.0, *(float(e) for e in errors if e is not None and math.isfinite(e))])


@dataclass(frozen=True, slots=True)
class Front:
    """What the first page draws.

    Attributes:
        loss: of each column.
        risk: by measure, before and after.
        queries: the questions with the greatest errors, those that are refused first.
        distributions: the columns that changed most.
        others: all other columns.
    """

    loss: Sequence[Row]
    risk: Sequence[tuple[str, Sequence[Row]]]
    queries: Sequence[Row]
    distributions: Sequence[Drawn]
    others: Sequence[Drawn]


def front(
    losses: Sequence[tuple[str, float]],
    risks: Sequence[RiskRow],
    queries: Sequence[Query],
    drawn: Sequence[Drawn],
    *,
    exact: bool,
) -> Front:
    """The first page's charts.

    Args:
        losses: of each column, greatest first.
        risks: rows of the table of risks.
        queries: of the workload.
        drawn: columns before and after.
        exact: whether losses are told to three places.
    """
    places = 3 if exact else 2
    measures = [row for row in risks if all(c.share is not None for c in row.cells.values())][:3]
    order = sorted(queries, key=lambda q: (not q.refused, -(q.relative_error or 0.0)))
    full = longest(queries)
    changed = sorted(drawn, key=lambda d: -d.shift)
    return Front(
        loss=[(name, loss, f"{loss:.{places}f}", "") for name, loss in losses],
        risk=[
            (
                row.title,
                [
                    (_TABLES[table], cell.share or 0.0, cell.text, table)
                    for table, cell in row.cells.items()
                ],
            )
            for row in measures
        ],
        queries=[
            (q.name, (q.relative_error or 0.0) / full, _error(q), "") for q in order[:_QUESTIONS]
        ],
        distributions=changed[:_COLUMNS],
        others=changed[_COLUMNS:],
    )


_TABLES = {"before": "Source", "after": "Release"}


def _error(query: Query) -> str:
    return "refused" if query.refused else share(query.relative_error)
