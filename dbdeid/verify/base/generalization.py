"""The source generalized once more as declared, apart from the method that wrote the release.

A join with the hierarchies on the text of each value. Columns are called c0, c1, … in the order of
the released ones, so that no name in the release can meet a name in a query.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from dbdeid.engine.expressions import (
    Expr,
    Query,
    Select,
    aliased,
    any_value_of,
    column,
    count_rows,
    literal,
    same_value,
    select,
    try_cast,
)
from dbdeid.engine.relation import Column, Relation
from dbdeid.verify.base.classes import STAR, Numbers, all_star, as_text
from dbdeid.verify.base.declaration import Declared


def names_of(columns: Sequence[Column]) -> list[str]:
    """The names of the columns here."""
    return [f"c{i}" for i in range(len(columns))]


def renamed(source: Query | Relation, columns: Sequence[Column]) -> Select:
    """The columns of a table or query under these names."""
    origin = source.table if isinstance(source, Relation) else source.copy().subquery("origin")
    names = zip(columns, names_of(columns), strict=True)
    return select(*(aliased(column(c.name), alias) for c, alias in names)).from_(origin)


def all_starred(columns: Sequence[Column], declared: Declared) -> Expr:
    """Whether every quasi-identifier is `*`."""
    names = zip(columns, names_of(columns), strict=True)
    return all_star(column(n) for c, n in names if c.name in declared.quasi_identifiers)


def generalized(
    raw: Relation,
    columns: Sequence[Column],
    declared: Declared,
    hierarchies: Relation | Mapping[str, Relation],
    numbers: Mapping[str, Numbers] | None = None,
) -> Select:
    """The query of the generalized source; rows with a value the hierarchies lack are missing.

    Args:
        raw: the source under these names, level 0 (pseudonyms already in their place).
        columns: the written columns that are wanted.
        declared: at which levels.
        hierarchies: `deid.hierarchies`, or its rows for this release; or, where the source is at
            another engine, what each value of a column reads, as `labels_of` finds it: of those
            columns that are not released as they are.
        numbers: of some columns, by their names here: these numbers stand for what they read.
    """
    query = select().from_(raw.aliased("s"))
    for written, name in zip(columns, names_of(columns), strict=True):
        value = column(name, "s")
        level = declared.transformation.get(written.name, 0)
        top = declared.tops.get(written.name, 0)
        shown: Expr = value
        of = numbers.get(name) if numbers else None
        if written.name in declared.quasi_identifiers and level >= top > 0:
            shown = literal(STAR)
        elif _is_labelled(written.name, level, declared, hierarchies):
            labels = f"l{name}"
            if isinstance(hierarchies, Relation):
                mapping = labels_of(raw, name, written.name, level, declared, hierarchies)
            else:
                mapping = select("value", "label").from_(hierarchies[written.name].table)
            if of is not None:
                mapping = _numbered(mapping, of, written)
            same = same_value(value, column("value", labels))
            query = query.join(mapping.subquery(labels), on=same)
            shown = column("label", labels)
            if of is not None:
                query = query.select(aliased(shown, name))
                continue
        cell = as_written(shown, value, raw, written)
        if of is not None:
            same = same_value(cell, column("value", f"n{name}"))
            query = query.join(of.relation.aliased(f"n{name}"), on=same, join_type="left")
            cell = of.of(f"n{name}")
        query = query.select(aliased(cell, name))
    return query


def _numbered(mapping: Select, numbers: Numbers, written: Column) -> Select:
    """The labels of values by their numbers, as they would be written."""
    label = try_cast(column("label", "m"), written.type)
    same = same_value(label, column("value", "n"))
    return (
        select(column("value", "m"), aliased(numbers.of("n"), "label"))
        .from_(mapping.subquery("m"))
        .join(numbers.relation.aliased("n"), on=same, join_type="left")
    )


def _is_labelled(
    name: str,
    level: int,
    declared: Declared,
    hierarchies: Relation | Mapping[str, Relation],
) -> bool:
    if not isinstance(hierarchies, Relation) and name in hierarchies:
        return True
    return name in declared.quasi_identifiers and level > 0


def as_written(shown: Expr, value: Expr, raw: Relation, written: Column) -> Expr:
    """Format a value in the type of the released column."""
    origin = raw.find(value.name)
    if shown is value and origin is not None and origin.type == written.type:
        return shown.copy()
    kind = written.type
    return try_cast(shown.copy(), kind)


def labels_of(
    raw: Relation,
    name: str,
    hierarchy: str,
    level: int,
    declared: Declared,
    hierarchies: Relation,
) -> Select:
    """The label of each value of one column; a value with two labels has none.

    Args:
        raw: the source, with names of our own.
        name: of the column there.
        hierarchy: its name in the release.
        level: of its labels.
        declared: which release it is.
        hierarchies: `deid.hierarchies`, or its rows for this release.
    """
    values = select(aliased(column(name), "value")).distinct().from_(raw.table)
    rows = select("*").from_(hierarchies.aliased("h"))
    rows = rows.where(column("hierarchy", "h").eq(literal(hierarchy)))
    rows = rows.where(column("level", "h").eq(level))
    if hierarchies.find("release"):
        rows = rows.where(column("release", "h").eq(literal(declared.release)))
    same = same_value(as_text(column("value", "v")), column("value", "h"))
    return (
        select(column("value", "v"), aliased(any_value_of(column("label", "h")), "label"))
        .from_(values.subquery("v"))
        .join(rows.subquery("h"), on=same)
        .group_by(column("value", "v"))
        .having(count_rows().eq(1))
    )
