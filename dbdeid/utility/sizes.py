"""The classes of a written table with the tuples of the domain that each stands for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from sqlglot import exp

from dbdeid.engine.relation import Relation, cast, column


@dataclass(frozen=True, slots=True)
class Sized:
    """The classes of a written table.

    Attributes:
        query: `records` and `size` of each, its tuples of the domain.
        domain: tuples of the whole domain.
    """

    query: exp.Select
    domain: float


def sized_classes(
    released: Relation, sizes: Mapping[str, Relation | exp.Query], domain: float
) -> Sized:
    """The classes of a written table.

    Args:
        released: the table.
        sizes: of each quasi-identifier the `size` of each `label`.
        domain: tuples of the whole domain.
    """
    texts = [cast(column(name, "released"), "VARCHAR") for name in sizes]
    counted = exp.alias_(exp.Count(this=exp.Star()), "records")
    classes = (
        exp.select(*(exp.alias_(text, f"qi_{i}") for i, text in enumerate(texts)), counted)
        .from_(exp.alias_(released.table, "released", table=True))
        .group_by(*(text.copy() for text in texts))
    )
    query = exp.select(exp.column("records", "class"))
    size: exp.Expr = exp.convert(1.0)
    query = query.from_(classes.subquery("class"))
    for i, labels in enumerate(sizes.values()):
        same = exp.NullSafeEQ(
            this=exp.column(f"qi_{i}", "class"), expression=exp.column("label", f"l{i}")
        )
        # left: a label without a size must not be left out
        table = labels.subquery() if isinstance(labels, exp.Query) else labels.table
        query = query.join(exp.alias_(table, f"l{i}", table=True), on=same, join_type="left")
        size = exp.Mul(this=size, expression=exp.column("size", f"l{i}"))
    return Sized(query.select(exp.alias_(size, "size")), domain)
