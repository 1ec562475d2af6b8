"""The classes of a written table with the tuples of the domain that each stands for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from sqlglot import exp

from dbdeid.engine.relation import Relation, cast, column

Sizes = Mapping[str, Relation | exp.Query]


@dataclass(frozen=True, slots=True)
class ClassSizes:
    """The classes of a written table.

    Attributes:
        query: `records` and `size` of each, its tuples of the domain.
        domain: tuples of the whole domain.
    """

    query: exp.Select
    domain: float


def sized_classes(released: Relation, sizes: Sizes, domain: float) -> ClassSizes:
    """The classes of a written table.

    Args:
        released: the table.
        sizes: of each quasi-identifier the `size` of each `label`.
        domain: tuples of the whole domain.
    """
    query, found = classes_of(released, sizes)
    size: exp.Expr = exp.convert(1.0)
    for one in found:
        size = exp.Mul(this=size, expression=one)
    return ClassSizes(query.select(exp.alias_(size, "size")), domain)


def classes_of(
    released: Relation, sizes: Sizes, parts: Sequence[exp.Expr] = ()
) -> tuple[exp.Select, list[exp.Column]]:
    """The `records` of each class, and where in that query the size of each released value is.

    Args:
        released: the table, under that alias.
        sizes: of each quasi-identifier the `size` of each `label`.
        parts: what else of a record, as an alias `<part>`, a class must share; the query has it
            as `class.<part>`.
    """
    texts = [
        exp.alias_(cast(column(name, "released"), "VARCHAR"), f"qi_{i}")
        for i, name in enumerate(sizes)
    ]
    shared = [*texts, *parts]
    classes = (
        exp.select(*shared, exp.alias_(exp.Count(this=exp.Star()), "records"))
        .from_(exp.alias_(released.table, "released", table=True))
        .group_by(*(part.unalias().copy() for part in shared))
    )
    query = exp.select(exp.column("records", "class")).from_(classes.subquery("class"))
    for i, labels in enumerate(sizes.values()):
        same = exp.NullSafeEQ(
            this=exp.column(f"qi_{i}", "class"), expression=exp.column("label", f"l{i}")
        )
        # left: a label without a size must not be left out
        table = labels.subquery() if isinstance(labels, exp.Query) else labels.table
        query = query.join(exp.alias_(table, f"l{i}", table=True), on=same, join_type="left")
    return query, [exp.column("size", f"l{i}") for i in range(len(sizes))]
