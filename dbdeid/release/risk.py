"""The risk of any table or file, apart from any release."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from dbdeid.engine.relation import Relation
from dbdeid.engine.session import Settings, Step
from dbdeid.errors import DataError, did_you_mean
from dbdeid.privacy import ROWS, Counting, risk
from dbdeid.release.sources import opened


def risk_of(
    source: Path,
    table: str | None,
    quasi_identifiers: Sequence[str],
    k: int,
    counting: Counting = ROWS,
    settings: Settings | None = None,
) -> risk.Risk:
    """The re-identification risk of a table of a database, or of a Parquet or CSV file.

    `k` only says which records count as at risk; `counting` what a class counts and what a NULL
    in a quasi-identifier equals.

    Raises:
        DataError: the source, the table or a column is not there.
    """
    with opened(source, table, settings) as (session, query):
        staged = session.run(Step("deid_risk", query))
        if counting.subject is not None:
            counting = replace(counting, subject=_found(staged, [counting.subject])[0])
        return risk.measure(session, staged, _found(staged, quasi_identifiers), k, counting)


def _found(table: Relation, names: Sequence[str]) -> list[str]:
    missing = [name for name in names if table.find(name) is None]
    if missing:
        raise DataError(f"no column {missing[0]!r}", hint=did_you_mean(missing[0], table.names))
    return [c.name for name in names if (c := table.find(name)) is not None]
