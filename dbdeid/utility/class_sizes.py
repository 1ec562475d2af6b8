"""What depends on the sizes of the classes alone: discernibility and average class size.

With the sizes n of the C classes of a written table, the N records of its source and the R of them
that were removed (Bayardo & Agrawal 2005; LeFevre et al. 2006)

    discernibility = Σ n² + R N,  average class size = N / (C + [R > 0])

Of 8 records in two classes of 3, with 2 removed: 9 + 9 + 2 · 8 = 34, and 8 / 3.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from dbdeid.engine.expressions import (
    Expr,
    aliased,
    coalesce,
    column,
    count_rows,
    literal,
    select,
    sum_of,
)
from dbdeid.engine.relation import Relation
from dbdeid.engine.session import Session
from dbdeid.utility.common.metric import Metric, Words

DISCERNIBILITY = Metric(
    "discernibility",
    Words(
        "Discernibility",
        "Sum of the squared class sizes; each suppressed record adds the number of all source "
        "records. Bayardo & Agrawal 2005.",
        "number of records to its square",
        "lower",
    ),
    families=("generalized", "local", "padded", "masked", "external"),
)
AVERAGE_CLASS_SIZE = Metric(
    "average_class_size",
    Words(
        "Average class size",
        "Records divided by classes; all suppressed records together count as one class. "
        "LeFevre et al. 2006, as ARX counts.",
        "1 to the number of records",
        "lower",
    ),
    families=("generalized", "local", "padded", "masked", "external"),
)


@dataclass(frozen=True, slots=True)
class ClassSizes:
    """The classes of a written table.

    Attributes:
        classes: C, how many there are.
        squares: the sum of their squared sizes.
        records: N.
        removed: R.
    """

    classes: int
    squares: int
    records: int
    removed: int

    @property
    def discernibility(self) -> float:
        """From the number of records to its square."""
        return float(self.squares + self.removed * self.records)

    @property
    def average(self) -> float | None:
        """From 1 to the number of records; None without classes."""
        classes = self.classes + bool(self.removed)
        return self.records / classes if classes else None


def class_sizes(
    session: Session, released: Relation, keys: Sequence[Expr], source_rows: int | None = None
) -> ClassSizes:
    """The sizes of the classes.

    Args:
        session: where the written table is.
        released: that table.
        keys: what records of a class share.
        source_rows: records of the source; None: as many as were written, and none is removed.
    """
    sizes = select(aliased(count_rows(), "records"))
    classes = sizes.from_(released.table).group_by(*keys).subquery("classes")
    square = column("records") * column("records")
    sums = (sum_of(column("records")), sum_of(square))
    totals = (coalesce(one, literal(0)) for one in sums)
    query = select(count_rows(), *totals).from_(classes)
    number, written, squares = session.row(query)
    records = written if source_rows is None else source_rows
    return ClassSizes(number, squares, records, max(records - written, 0))
