"""The written table, counted once: one row for each combination of released quasi-identifiers.

The columns get names of our own (`value_0`, `lower_0`, …), so that no name in the release can meet
a name in a query.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from dbdeid.engine.expressions import (
    Expr,
    aliased,
    all_of,
    ascending,
    cast,
    coalesce,
    column,
    count_rows,
    function,
    list_of,
    literal,
    not_,
    over,
    paren,
    plus,
    row_number,
    same_value,
    select,
    text_of,
    true_for_any,
)
from dbdeid.engine.relation import Column, Relation
from dbdeid.engine.session import Session, Step, Steps
from dbdeid.verify.base.declaration import Declared

STAR = "*"
_NUMBERS = "verify_numbers_{}"
_ROOM = 1 << 62


def count_classes(session: Session, table: Relation, declared: Declared) -> Relation:
    """A temporary table of the classes of a written table, to be dropped by the caller.

    Its columns are `value_i` for quasi-identifier i, `lower_i`, `upper_i` where it has bounds,
    `suppressed` (all `*`, where suppressed records are kept and not every record is so by the
    transformation) and `records`.
    """
    names = {f"value_{i}": name for i, name in enumerate(declared.quasi_identifiers)}
    for i, name in enumerate(declared.quasi_identifiers):
        for side, companion in companions(table, declared, name).items():
            names[f"{side}_{i}"] = companion
    inner = select(*(aliased(column(n), a) for a, n in names.items()))
    columns = [column(alias) for alias in names]
    query = (
        select(*columns)
        .select(aliased(_suppressed(declared), "suppressed"))
        .select(aliased(count_rows(), "records"))
        .from_(inner.from_(table.table).subquery("written"))
        .group_by(*(c.copy() for c in columns))
    )
    return session.run(Step("verify_classes", query))


def released_values(session: Session, classes: Relation, declared: Declared) -> Relation:
    """A temporary table of the released values, to be dropped by the caller.

    One row for each quasi-identifier (`name`) and `value` as text; `generalized` where a record
    that is not suppressed has it.
    """
    names = list_of(*(literal(n) for n in declared.quasi_identifiers))
    values = [as_text(column(f"value_{i}")) for i in range(len(declared.quasi_identifiers))]
    cells = (
        select(
            aliased(function("unnest", names), "name"),
            aliased(function("unnest", list_of(*values)), "value"),
            column("suppressed"),
        )
        .from_(classes.table)
        .subquery("cells")
    )
    generalized = true_for_any(not_(column("suppressed")))
    query = (
        select(column("name"), column("value"), aliased(generalized, "generalized"))
        .from_(cells)
        .group_by(column("name"), column("value"))
    )
    return session.run(Step("verify_values", query))


def companions(table: Relation, declared: Declared, name: str) -> dict[str, str]:
    """The bounds columns of a quasi-identifier that are declared and written."""
    pairs = {side: f"{name}_{side}" for side in ("lower", "upper")}
    return {s: c for s, c in pairs.items() if c in declared.bounds and table.find(c)}


def _suppressed(declared: Declared) -> Expr:
    if not declared.stars_suppressed:
        return literal(False)
    return all_star(column(f"value_{i}") for i in range(len(declared.quasi_identifiers)))


def all_star(columns: Iterable[Expr]) -> Expr:
    """Whether every column is `*`; NULL is not."""
    return all_of(*(same_value(as_text(c), literal(STAR)) for c in columns))


def as_text(value: Expr) -> Expr:
    """A value as the dictionary and the hierarchies write it."""
    return text_of(value.copy())


def quoted(names: Iterable[str]) -> str:
    """Names of columns or objects for a message."""
    return ", ".join(repr(name) for name in names)


# -- values as numbers ------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Numbers:
    """The values of a written column as numbers, which are compared faster than texts.

    Each value that is written has a number of its own, and all that is not has one together: rows
    are alike by their numbers where they are alike by their values, if one of them is written.

    Attributes:
        relation: `value` and `number`, from 0 on; each value once.
        size: how many values there are, which is the number of any other.
    """

    relation: Relation
    size: int

    def of(self, table: str) -> Expr:
        """The number of a value that was joined from the left, under an alias of the relation."""
        return coalesce(column("number", table), literal(self.size))


@contextmanager
def numbers(
    session: Steps, table: Relation, columns: Mapping[str, Column]
) -> Iterator[dict[str, Numbers]]:
    """The numbers of some columns of a written table, in temporary tables.

    Args:
        session: where the table is.
        table: the written table.
        columns: each by the name that its numbers get.
    """
    found: dict[str, Numbers] = {}
    try:
        for name, c in columns.items():
            values = select(aliased(column(c.name), "value")).distinct().from_(table.table)
            place = paren(over(row_number(), order=[ascending(column("value"))])) - 1
            query = select("value", aliased(cast(place, "BIGINT"), "number"))
            step = Step(_NUMBERS.format(name), query.from_(values.subquery("found")))
            relation = session.run(step)
            size = int(session.row(select(count_rows()).from_(relation.table))[0])
            found[name] = Numbers(relation, size)
        yield found
    finally:
        for name in columns:
            session.drop_temp(_NUMBERS.format(name))


def packed(cells: Sequence[tuple[Expr, int]]) -> list[Expr]:
    """Numbers of several columns as one number, or as few as have the room.

    Args:
        cells: each with the greatest number that it may be.
    """
    keys: list[Expr] = []
    space = _ROOM
    for number, greatest in cells:
        if space * (greatest + 1) >= _ROOM:
            keys.append(number)
            space = greatest + 1
        else:
            keys[-1] = plus(keys[-1], paren(number * literal(space)))
            space *= greatest + 1
    return keys
