"""Conditional privacy: the uncertainty about a record, given its nearest synthetic one.

Π(A|B) = 2^h(A|B), with h(A|B) the entropy in bits of an original value A given the synthetic value
B: the width of a range in which A would be as uncertain (Agrawal & Aggarwal 2001; Aggarwal & Yu
2004; Gal et al. 2014). A synthetic record stands for every record of its cluster, so each original
record of a cluster of n is paired with each of its n synthetic ones, with weight 1/n: paired by
their order they would tell too much.

Columns of at most 21 values are taken by value, others in 20 bins of one width between the least
and the greatest; names always by value, and a missing value is one. Π is in the unit of the column
(days and seconds for dates and timestamps), where it is taken by value the number of values. As the
column of the largest unit rules a mean of those, there is also Π_rel = Π(A|B) / Π(A), the share of
what was unknown that stays so: above 0, 1 where the synthetic value tells nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from dbdeid.engine.expressions import (
    Expr,
    Query,
    aliased,
    cast,
    column,
    function,
    literal,
    max_of,
    select,
)
from dbdeid.engine.relation import NUMBERS, Column, Relation
from dbdeid.engine.session import Session, Step
from dbdeid.engine.sqltext import step
from dbdeid.utility.common.metric import Metric, Words

METRIC = Metric(
    "conditional_privacy",
    Words(
        "Conditional privacy",
        "Π(A|B) / Π(A) with Π = 2^entropy: how much of what was unknown of an original value is "
        "still unknown to someone who knows a synthetic value of the same cluster; the mean over "
        "the columns. The absolute one is Π(A|B), in the unit of its column. Agrawal & Aggarwal "
        "2001; Gal et al. 2014.",
        "above 0 (all is known) to 1 (nothing is learned)",
        "higher",
    ),
    families=("synthetic",),
)


BY_VALUE, BINS = 21, 20
_CELLS = "privacy_cells"


@dataclass(frozen=True, slots=True)
class Privacy:
    """The conditional privacy of one column.

    Attributes:
        absolute: Π(A|B), in its unit.
        relative: Π_rel, above 0 and up to 1.
    """

    absolute: float
    relative: float


def conditional_privacy(
    session: Session, clusters: Relation, columns: Sequence[Column]
) -> dict[str, Privacy]:
    """The conditional privacy of each column.

    Args:
        session: sees the table.
        clusters: `cluster`; `side`, source or released; `record`, its cells as text; `records`,
            how many of them the cluster has.
        columns: of the cells, in their order.
    """
    return {c.name: _of(session, clusters, i, c) for i, c in enumerate(columns)}


def _of(session: Session, clusters: Relation, place: int, of: Column) -> Privacy:
    text = function("list_extract", column("record"), literal(place + 1))
    query: Query = select(
        "cluster", "side", "records", aliased(number_of(text, of), "value")
    ).from_(clusters.table)
    numbers = of.family in (*NUMBERS, "date", "timestamp")
    if numbers:
        binned = step(
            "utility/fidelity/privacy_bins",
            {"cells": query},
            values={"few": BY_VALUE, "bins": BINS},
        )
        query = binned
    try:
        cells = session.run(Step(_CELLS, query))
        entropy, conditional = session.row(
            step("utility/fidelity/conditional_privacy", {"cells": cells})
        )
        widest = select(max_of(column("width"))).from_(cells.table)
        width = session.row(widest)[0] if numbers else 1.0
    finally:
        session.drop_temp(_CELLS)
    return Privacy(float(width * 2**conditional), min(float(2 ** (conditional - entropy)), 1.0))


def number_of(text: Expr, of: Column) -> Expr:
    """A cell as what is compared: a number where it has one, else its text."""
    if of.family in NUMBERS:
        return cast(text, "DOUBLE")
    if of.family == "date":
        days = function("epoch", cast(text, "DATE"))
        return days / literal(86_400)
    if of.family == "timestamp":
        return function("epoch", cast(text, "TIMESTAMP"))
    return text
