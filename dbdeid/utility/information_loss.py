"""Information loss of microaggregation: how far numbers lie from the means that replace them.

SSE / SST of standardized columns, in percent (Domingo-Ferrer & Mateo-Sanz 2002, section 2): 0 where
nothing changed, 100 where one group is all records. Measured on the private crosswalk, whose
released values were proven to be those of the release.
"""

from __future__ import annotations

from collections.abc import Sequence

from dbdeid.engine.expressions import (
    Expr,
    Select,
    aliased,
    cast,
    column,
    function,
    literal,
    select,
    union_all,
)
from dbdeid.engine.relation import Column
from dbdeid.engine.session import Session
from dbdeid.engine.sqltext import step
from dbdeid.utility.common.members import Crosswalk
from dbdeid.utility.common.metric import Metric, Words

METRIC = Metric(
    "information_loss",
    Words(
        "Information loss",
        "How far numbers lie from the means that replace them: the squares, as a share of those "
        "around the mean of each column (SSE / SST), averaged over the columns. Domingo-Ferrer & "
        "Mateo-Sanz 2002.",
        "0 to 100 percent",
        "lower",
    ),
    families=("masked",),
)


def information_loss(
    session: Session, crosswalk: Crosswalk, numbers: Sequence[Column]
) -> float | None:
    """The information loss of the quasi-identifiers that are numbers, dates or moments.

    Args:
        session: where the crosswalk is.
        crosswalk: what each record is released as.
        numbers: the columns, with the types they are released in.

    Returns:
        In percent; None where no column has two different values.
    """
    if not numbers:
        return None
    pairs = [_pairs(crosswalk, c) for c in numbers]
    loss = session.row(step("utility/information_loss", {"pairs": union_all(*pairs)}))[0]
    return None if loss is None else float(loss)


def _pairs(crosswalk: Crosswalk, c: Column) -> Select:
    rows = crosswalk.pairs(c.name).subquery("pairs")
    name = aliased(literal(c.name), "name")
    value, shown = (_number(column(side), c) for side in ("value", "label"))
    picked = aliased(value, "value"), aliased(shown, "shown")
    return select(name, *picked, "records").from_(rows)


def _number(text: Expr, c: Column) -> Expr:
    """A number as it is; of a date or moment the seconds since 1970."""
    if c.family in ("date", "timestamp"):
        return function("epoch", cast(text, "TIMESTAMP"))
    return cast(text, "DOUBLE")
