"""Information loss of a written table, column by column (Iyengar 2002).

The mean over all records of the source of (leaves - 1)/(all leaves - 1) of the released value;
a suppressed record loses 1. Computed from the written table alone, apart from the search.
"""

from __future__ import annotations

from collections.abc import Mapping

from dbdeid.engine.relation import Relation
from dbdeid.engine.session import Session
from dbdeid.engine.sqltext import step


def column_loss(
    session: Session,
    released: Relation,
    column: str,
    cell_loss: Mapping[str | None, float],
    source_rows: int,
) -> float:
    """The loss of one quasi-identifier, in [0, 1].

    Args:
        session: where the release is.
        released: the written table.
        column: the quasi-identifier.
        cell_loss: loss of each released value.
        source_rows: records of the source, suppressed ones included.
    """
    counts = session.rows(step("value_counts", {"rel": released}, {"col": [column]}))
    kept = sum(records for _, records in counts)
    lost = sum(records * cell_loss[value] for value, records in sorted(counts, key=_null_last))
    return float(lost + source_rows - kept) / source_rows


def _null_last(row: tuple[str | None, int]) -> tuple[bool, str]:
    return row[0] is None, row[0] or ""
