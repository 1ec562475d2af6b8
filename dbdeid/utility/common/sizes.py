"""The classes of a written table with the tuples of the domain that each stands for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from dbdeid.engine.expressions import (
    Expr,
    Query,
    Select,
    aliased,
    cast,
    column,
    literal,
    same_value,
    select,
)
from dbdeid.engine.relation import Relation
from dbdeid.utility.common.counted import Rows, number_of, relation_of

Sizes = Mapping[str, Relation | Query]


@dataclass(frozen=True, slots=True)
class SizedClasses:
    """The classes of a written table.

    Attributes:
        query: `records` and `size` of each, its tuples of the domain.
        domain: tuples of the whole domain.
    """

    query: Select
    domain: float


def sized_classes(released: Rows, sizes: Sizes, domain: float) -> SizedClasses:
    """The classes of a written table.

    Args:
        released: the table.
        sizes: of each quasi-identifier the `size` of each `label`.
        domain: tuples of the whole domain.
    """
    query, found = classes_of(released, sizes)
    size: Expr = literal(1.0)
    for one in found:
        size = size * one
    return SizedClasses(query.select(aliased(size, "size")), domain)


def classes_of(
    released: Rows, sizes: Sizes, parts: Sequence[Expr] = ()
) -> tuple[Select, list[Expr]]:
    """The `records` of each class, and where in that query the size of each released value is.

    Args:
        released: the table, under that alias.
        sizes: of each quasi-identifier the `size` of each `label`.
        parts: what else of a record, as an alias `<part>`, a class must share; the query has it
            as `class.<part>`.
    """
    texts = [
        aliased(cast(column(name, "released"), "VARCHAR"), f"qi_{i}")
        for i, name in enumerate(sizes)
    ]
    shared = [*texts, *parts]
    classes = (
        select(*shared, aliased(number_of(released, "released"), "records"))
        .from_(relation_of(released).aliased("released"))
        .group_by(*(part.unalias().copy() for part in shared))
    )
    query = select(column("records", "class")).from_(classes.subquery("class"))
    for i, labels in enumerate(sizes.values()):
        same = same_value(column(f"qi_{i}", "class"), column("label", f"l{i}"))
        # left: a label without a size must not be left out
        table = labels.subquery() if isinstance(labels, Query) else labels.table
        query = query.join(aliased(table, f"l{i}"), on=same, join_type="left")
    return query, [column("size", f"l{i}") for i in range(len(sizes))]
