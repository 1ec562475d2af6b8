"""Information loss of a written table, column by column (Iyengar 2002).

The mean over all records of the source of (leaves - 1)/(all leaves - 1) of the released value;
a suppressed record loses 1. Computed from the written table alone, apart from the search.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from dbdeid.engine.expressions import Query, Select, aliased, literal, union_all
from dbdeid.engine.session import Session
from dbdeid.engine.sqltext import step
from dbdeid.utility.common.counted import Rows, each
from dbdeid.utility.common.metric import Metric, Words

METRIC = Metric(
    "loss",
    Words(
        "Information loss",
        "Mean over all cells of the quasi-identifiers of the share of the hierarchy's values that "
        "the released label covers beyond its own: (leaves − 1) / (all leaves − 1). A removed "
        "record counts 1 in every cell. Iyengar 2002.",
        "0 (unchanged) to 1 (nothing left)",
        "lower",
    ),
    families=("generalized", "local", "padded"),
)


Counts = Sequence[tuple[str | None, int]]


def value_counts(
    session: Session, released: Rows, columns: Sequence[str]
) -> dict[str, list[tuple[str | None, int]]]:
    """How often each value of each column occurs, values as text in order, NULL last."""
    parts: list[Query] = []
    for name in columns:
        counts = step("utility/value_counts", {"cells": each(released, [name], ["value"])})
        assert isinstance(counts, Select)
        parts.append(counts.select(aliased(literal(name), "name")))
    found: dict[str, list[tuple[str | None, int]]] = {name: [] for name in columns}
    for value, records, name in session.rows(union_all(*parts)):
        found[name].append((value, records))
    for counted in found.values():
        counted.sort(key=lambda row: (row[0] is None, row[0] or ""))
    return found


def column_loss(counts: Counts, cell_loss: Mapping[str | None, float], source_rows: int) -> float:
    """The loss of one quasi-identifier, in [0, 1].

    Args:
        counts: how often each released value occurs.
        cell_loss: loss of each released value.
        source_rows: records of the source, suppressed ones included.
    """
    kept = sum(records for _, records in counts)
    lost = sum(records * cell_loss[value] for value, records in counts)
    return float(lost + source_rows - kept) / source_rows
