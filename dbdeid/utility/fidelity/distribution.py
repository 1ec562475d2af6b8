"""Distribution: how far each column of a release is distributed from that of its source.

Of categories it is the total variation ½ Σ |p − q|, of numbers, dates and moments the earth mover's
distance (Wasserstein 1) ∫ |F − G| over the range of the source, at most 1. Both are from 0, nothing
changed, to 1. A label is spread evenly over what it stands for, intervals as such: q and G are
what a reader expects. A missing value is a category, and as far from any number as the range is
wide: with the shares p₀ and q₀ of missing values

    distance = min(1 − p₀, 1 − q₀) · W₁ / range + |p₀ − q₀|

where W₁ is taken of what is known. Removed records are simply missing.

Ages 20, 21, 22 and 23 keep their distribution when all are released as [20, 24): 0. Ages 20, 20, 20
and 23 are then 0.75 years from where they were on average, of a range of 3: 0.25.
"""

from __future__ import annotations

from collections.abc import Sequence

from dbdeid.engine.expressions import (
    Expr,
    Query,
    Select,
    aliased,
    column,
    literal,
    select,
    union_all,
)
from dbdeid.engine.relation import Relation
from dbdeid.engine.session import Session
from dbdeid.engine.sqltext import step
from dbdeid.utility.common.metric import EVERY, Metric, Words
from dbdeid.utility.fidelity.sides import ColumnPair, Sides

METRIC = Metric(
    "distribution",
    Words(
        "Distributions",
        "How far each column is distributed from the source, every generalized value spread evenly "
        "over what it stands for: of categories the total variation, of numbers and dates the "
        "earth mover's distance as a share of the range of the source; the mean over the released "
        "columns. What is missing is a value too; removed records are simply missing.",
        "0 (unchanged) to 1",
        "lower",
    ),
    families=EVERY,
)


def distribution(session: Session, sides: Sides) -> dict[str, float]:
    """The distance of each column, in [0, 1], by its name; 1 where nothing is released.

    Args:
        session: where the tables are.
        sides: the source and the release.
    """
    found: dict[int, float] = {}
    for measured in (True, False):
        columns = [c for c in sides.columns if c.measured is measured]
        if columns:
            found |= dict(session.rows(_distances(sides, columns, measured=measured)))
    return {c.name: float(found[c.number]) for c in sides.columns}


def _distances(sides: Sides, columns: Sequence[ColumnPair], *, measured: bool) -> Expr:
    """The query of the `number` and `distance` of columns of one kind."""
    both = masses(sides, columns, measured=measured)
    return step(
        "utility/fidelity/distance_of_numbers"
        if measured
        else "utility/fidelity/distance_of_values",
        both,
    )


def masses(sides: Sides, columns: Sequence[ColumnPair], *, measured: bool) -> dict[str, Query]:
    """How many records of source and of release are where, each label spread over its pieces.

    Args:
        sides: the source and the release.
        columns: of one kind.
        measured: whether they are numbers.

    Returns:
        Queries of `number` (the column's), `mass`, and `value`, or `low` and `high` of numbers.
    """
    labelled = [c for c in columns if c.labelled]
    before, after = sides.counted
    parts: list[Query] = [_counted(after, c) for c in columns if not c.labelled]
    if labelled:
        shown = union_all(*(_counted(after, c, label=True) for c in labelled))
        name = (
            "utility/fidelity/expected_numbers" if measured else "utility/fidelity/expected_values"
        )
        expected = step(name, {"counted": shown, "pieces": sides.pieces})
        parts.append(expected)
    return {
        "source": union_all(*(_counted(before, c) for c in columns)),
        "released": union_all(*parts),
    }


def labels(sides: Sides, compared: ColumnPair) -> dict[str, Query]:
    """The values of the source, the labels of the release, and what each of these stands for.

    Args:
        sides: the source and the release.
        compared: a column that the release labels.
    """
    before, after = sides.counted
    number = literal(compared.number)

    def own(table: Relation, *columns: str | Expr) -> Select:
        return select(*columns).from_(table.table).where(column("number").eq(number.copy()))

    return {
        "source": own(before, "point", "text", "mass"),
        "released": own(after, aliased(column("text"), "label"), "mass"),
        "pieces": own(sides.pieces, "label", "low", "high", "leaf"),
    }


def _counted(table: Relation, compared: ColumnPair, *, label: bool = False) -> Select:
    """The mass of each value of a column, or of each label."""
    number = literal(compared.number)
    value = column("point" if compared.measured and not label else "text")
    query = select(aliased(number, "number"), *_cells(value, compared, label=label), "mass")
    return query.from_(table.table).where(column("number").eq(number.copy()))


def _cells(value: Expr, compared: ColumnPair, *, label: bool) -> list[Expr]:
    """A value, or where it is: from its low end to its high one."""
    cells: list[Expr] = [aliased(value, "label" if label else "value")]
    if compared.measured:
        high = value + 1 if compared.whole else value.copy()
        ends = [aliased(value, "low"), aliased(high, "high")]
        cells = [aliased(literal(compared.whole), "whole"), *(cells if label else ends)]
    return cells
