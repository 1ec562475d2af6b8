"""Verification of a release that stands in a database of another program, from its rows alone.

The rows come as that program gave them, in its order, in temporary tables. They are held against
the declared types first: each column has the type that stands for the declared one, and each cell
is the only way to write its value in it. Then they are judged as any table is. Comments, indexes
and rights are the other program's, and are not looked at.
"""

from __future__ import annotations

from collections.abc import Sequence

from dbdeid.engine.expressions import (
    Expr,
    aliased,
    cast,
    column,
    count_where,
    function,
    not_same_value,
    select,
    try_cast,
)
from dbdeid.engine.relation import Column, Relation
from dbdeid.engine.session import Session, Step
from dbdeid.verify.base.declaration import Check, Declared, Verification
from dbdeid.verify.base.stored_types import Program, read_as
from dbdeid.verify.files.content import Content, digested, listing
from dbdeid.verify.padding.padded_release import CATALOG
from dbdeid.verify.release import judged


def verify_stored(
    session: Session,
    program: Program,
    tables: tuple[Relation, Relation | None, Relation | None],
    declared: Declared,
    same_as: Content | None,
) -> Verification:
    """Verify a release, its dictionary and its catalog, as another program gave them.

    Args:
        session: any that keeps the order of rows.
        program: that gave them.
        tables: temporary ones, described.
        declared: the shape and promises of the release.
        same_as: the content that they must have.
    """
    shapes = (declared.columns, listing(declared), CATALOG)
    names = (declared.release, "verify_dictionary", "verify_groups")
    found: list[Relation | None] = []
    wrong: list[str] = []
    for table, shape, name in zip(tables, shapes, names, strict=True):
        if table is None:
            found.append(None)
            continue
        plain, odd = _typed(session, program, table, shape, f"{name}_typed")
        found.append(plain)
        wrong += odd
    release = found[0]
    assert release is not None
    kept = judged(session, declared, (release, found[1], found[2]), same_as)
    if not wrong:
        return kept
    types = Check("types", False, "; ".join(wrong))
    others = tuple(c for c in kept.hygiene if c.check != "types")
    return Verification(kept.promises, (*others, types))


def rows_digest(session: Session, table: Relation) -> str:
    """SHA-256 of the rows of a table and of its columns, as another program gave them."""
    return digested(session, select("*").from_(table.table), table.columns).digest


def _typed(
    session: Session, program: Program, table: Relation, shape: Sequence[Column], name: str
) -> tuple[Relation, list[str]]:
    """The rows under their declared types, and what is not written as it ought to be."""
    declared = {c.name: c.type for c in shape}
    cells: dict[str, Expr] = {}
    unlike: list[Expr] = []
    wrong: list[str] = []
    for c in table.columns:
        kind = declared.get(c.name)
        cells[c.name] = column(c.name)
        if kind is None:
            continue  # told by the check of columns
        if c.type != read_as(program, kind):
            wrong.append(f"{c.name!r} is read as {c.shown_type}, and declared {kind}")
            continue
        if kind.endswith("[]") and c.type == "VARCHAR":  # as JSON
            value = try_cast(try_cast(column(c.name), "JSON"), kind)
            again = cast(function("to_json", value.copy()), c.type)
        else:
            value = try_cast(column(c.name), kind)
            again = cast(value.copy(), c.type)
        unlike.append(count_where(not_same_value(column(c.name), again)))
        cells[c.name] = value
    if wrong:
        return table, wrong
    counts = session.row(select(*unlike).from_(table.table)) if unlike else ()
    if number := sum(counts):
        return table, [f"{number} cells are not written as their declared types are"]
    query = select(*(aliased(cell, n) for n, cell in cells.items())).from_(table.table)
    return session.run(Step(name, query)), []
