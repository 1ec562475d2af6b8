"""The written table, counted once: one row for each combination of released quasi-identifiers.

The columns get names of our own (`value_0`, `lower_0`, …), so that no name in the release can meet
a name in a query.
"""

from __future__ import annotations

from collections.abc import Iterable

from sqlglot import exp

from dbdeid.engine.relation import Relation, column
from dbdeid.engine.session import Session, Step
from dbdeid.verify.base.declaration import Declared

STAR = "*"


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
    inner = exp.select(*(exp.alias_(column(n), a) for a, n in names.items()))
    columns = [column(alias) for alias in names]
    query = (
        exp.select(*columns)
        .select(exp.alias_(_suppressed(declared), "suppressed"))
        .select(exp.alias_(exp.Count(this=exp.Star()), "records"))
        .from_(inner.from_(table.table).subquery("written"))
        .group_by(*(c.copy() for c in columns))
    )
    return session.run(Step("verify_classes", query))


def released_values(session: Session, classes: Relation, declared: Declared) -> Relation:
    """A temporary table of the released values, to be dropped by the caller.

    One row for each quasi-identifier (`name`) and `value` as text; `generalized` where a record
    that is not suppressed has it.
    """
    names = exp.Array(expressions=[exp.Literal.string(n) for n in declared.quasi_identifiers])
    values = [as_text(column(f"value_{i}")) for i in range(len(declared.quasi_identifiers))]
    cells = (
        exp.select(
            exp.alias_(exp.Anonymous(this="unnest", expressions=[names]), "name"),
            exp.alias_(
                exp.Anonymous(this="unnest", expressions=[exp.Array(expressions=values)]), "value"
            ),
            column("suppressed"),
        )
        .from_(classes.table)
        .subquery("cells")
    )
    generalized = exp.LogicalOr(this=exp.not_(column("suppressed")))
    query = (
        exp.select(column("name"), column("value"), exp.alias_(generalized, "generalized"))
        .from_(cells)
        .group_by(column("name"), column("value"))
    )
    return session.run(Step("verify_values", query))


def companions(table: Relation, declared: Declared, name: str) -> dict[str, str]:
    """The bounds columns of a quasi-identifier that are declared and written."""
    pairs = {side: f"{name}_{side}" for side in ("lower", "upper")}
    return {s: c for s, c in pairs.items() if c in declared.bounds and table.find(c)}


def _suppressed(declared: Declared) -> exp.Expr:
    if not declared.stars_suppressed:
        return exp.false()
    return all_star(column(f"value_{i}") for i in range(len(declared.quasi_identifiers)))


def all_star(columns: Iterable[exp.Expr]) -> exp.Expr:
    """Whether every column is `*`; NULL is not."""
    return exp.and_(
        *(exp.NullSafeEQ(this=as_text(c), expression=exp.Literal.string(STAR)) for c in columns)
    )


def as_text(value: exp.Expr) -> exp.Expr:
    """A value as the dictionary and the hierarchies write it."""
    return exp.cast(value.copy(), exp.DataType.Type.VARCHAR)


def quoted(names: Iterable[str]) -> str:
    """Names of columns or objects for a message."""
    return ", ".join(repr(name) for name in names)
