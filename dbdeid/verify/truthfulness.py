"""Truthfulness: every released record is a record of the source, generalized as declared.

The source is generalized once more, by a join with the hierarchies that shares nothing with the
method that wrote the release; both sides are then counted and the counts subtracted, which is
multiset containment (EXCEPT ALL) without sorting wide rows.
"""

from __future__ import annotations

from sqlglot import exp

from dbdeid.engine.relation import Column, Relation, column
from dbdeid.engine.session import Session, Step
from dbdeid.verify.classes import STAR, all_star, as_text
from dbdeid.verify.declared import Declared, Promise

SOURCE, BALANCE = "verify_source", "verify_balance"


def truthfulness(
    session: Session,
    table: Relation,
    declared: Declared,
    source: exp.Query | Relation,
    hierarchies: Relation,
) -> Promise:
    """How many released records no record of the source accounts for.

    Suppressed records that are kept must agree with the source in all other columns, record by
    record.

    Args:
        session: sees all three tables.
        table: the written table, described.
        declared: its shape and promises.
        source: the records as released at level 0 (pseudonyms already in their columns).
        hierarchies: `deid.hierarchies`, or its rows for this release.
    """
    wanted_names = [c.name for c in declared.columns if c.name not in declared.bounds]
    columns = [c for name in wanted_names if (c := table.find(name))]
    try:
        raw = session.run(Step(SOURCE, _renamed(source, columns)))
        session.run(Step(BALANCE, _balance(raw, table, columns, declared, hierarchies)))
        rows = int(session.row(_count(raw))[0])
        generalized, released, invented = (
            int(n) for n in session.row(_invented(columns, declared))
        )
        if _keeps(declared):
            invented += int(session.row(_unlike(columns, declared))[0])
    finally:
        session.drop_temp(SOURCE)
        session.drop_temp(BALANCE)
    wanted = {"source_rows": declared.source_rows, "unmapped_records": 0, "invented_records": 0}
    found = {
        "source_rows": rows,
        "unmapped_records": rows - generalized,
        "invented_records": invented,
    }
    return Promise("truthfulness", wanted, found, found == wanted and released <= rows)


def _keeps(declared: Declared) -> bool:
    return declared.keeps_suppressed and not declared.all_top


def _names(columns: list[Column]) -> list[str]:
    return [f"c{i}" for i in range(len(columns))]


def _renamed(source: exp.Query | Relation, columns: list[Column]) -> exp.Select:
    origin = source.table if isinstance(source, Relation) else source.copy().subquery("origin")
    names = zip(columns, _names(columns), strict=True)
    return exp.select(*(exp.alias_(column(c.name), alias) for c, alias in names)).from_(origin)


def _count(table: Relation) -> exp.Select:
    return exp.select(exp.Count(this=exp.Star())).from_(table.table)


def _balance(
    raw: Relation,
    table: Relation,
    columns: list[Column],
    declared: Declared,
    hierarchies: Relation,
) -> exp.Select:
    """For each released combination, how often the generalized source and the release have it."""
    names = _names(columns)
    zero, one = exp.Literal.number(0), exp.Count(this=exp.Star())
    expected = exp.select().from_(exp.alias_(raw.table, "s", table=True))
    for column_, name in zip(columns, names, strict=True):
        value = column(name, "s")
        level = declared.transformation.get(column_.name, 0)
        top = declared.tops.get(column_.name, 0)
        shown: exp.Expr = value
        if column_.name in declared.quasi_identifiers and level >= top > 0:
            shown = exp.Literal.string(STAR)
        elif column_.name in declared.quasi_identifiers and level > 0:
            labels = f"l{name}"
            mapping = _labels(raw, name, column_.name, level, declared, hierarchies)
            same = exp.NullSafeEQ(this=value, expression=column("value", labels))
            expected = expected.join(mapping.subquery(labels), on=same)
            shown = column("label", labels)
        expected = expected.select(exp.alias_(_as_written(shown, value, raw, column_), name))
    grouped = [column(name) for name in names]
    written = _renamed(Relation(table.name, table.columns, table.schema, table.catalog), columns)
    both = exp.union(
        _counted(expected, names, one, zero), _counted(written, names, zero, one), distinct=False
    )
    total = [exp.alias_(exp.Sum(this=column(side)), side) for side in ("generalized", "released")]
    return (
        exp.select(*grouped, *total)
        .from_(both.subquery("both"))
        .group_by(*(c.copy() for c in grouped))
    )


def _as_written(shown: exp.Expr, value: exp.Expr, raw: Relation, written: Column) -> exp.Expr:
    origin = raw.find(value.name)
    if shown is value and origin is not None and origin.type == written.type:
        return shown.copy()
    kind = exp.DataType.build(written.type, dialect="duckdb")
    return exp.TryCast(this=shown.copy(), to=kind)


def _counted(
    query: exp.Select, names: list[str], generalized: exp.Expr, released: exp.Expr
) -> exp.Select:
    columns = [column(name) for name in names]
    return (
        exp.select(*columns)
        .select(exp.alias_(generalized.copy(), "generalized"))
        .select(exp.alias_(released.copy(), "released"))
        .from_(query.subquery("counted"))
        .group_by(*(c.copy() for c in columns))
    )


def _labels(
    raw: Relation,
    name: str,
    hierarchy: str,
    level: int,
    declared: Declared,
    hierarchies: Relation,
) -> exp.Select:
    """The label of each value of one column; a value with two labels has none."""
    values = exp.select(exp.alias_(column(name), "value")).distinct().from_(raw.table)
    rows = exp.select("*").from_(exp.alias_(hierarchies.table, "h", table=True))
    rows = rows.where(column("hierarchy", "h").eq(exp.Literal.string(hierarchy)))
    rows = rows.where(column("level", "h").eq(level))
    if hierarchies.find("release"):
        rows = rows.where(column("release", "h").eq(exp.Literal.string(declared.release)))
    same = exp.NullSafeEQ(this=as_text(column("value", "v")), expression=column("value", "h"))
    return (
        exp.select(
            column("value", "v"), exp.alias_(exp.AnyValue(this=column("label", "h")), "label")
        )
        .from_(values.subquery("v"))
        .join(rows.subquery("h"), on=same)
        .group_by(column("value", "v"))
        .having(exp.Count(this=exp.Star()).eq(1))
    )


def _invented(columns: list[Column], declared: Declared) -> exp.Select:
    excess: exp.Expr = _excess()
    if _keeps(declared):
        excess = exp.If(this=exp.not_(_star(columns, declared)), true=excess).copy()
        excess = exp.Case(ifs=[excess], default=exp.Literal.number(0))
    sums = (exp.Sum(this=e) for e in (column("generalized"), column("released"), excess))
    zero = exp.Literal.number(0)
    return exp.select(*(exp.Coalesce(this=s, expressions=[zero.copy()]) for s in sums)).from_(
        Relation(BALANCE, schema="main", catalog="temp").table
    )


def _excess() -> exp.Expr:
    difference = exp.Sub(this=column("released"), expression=column("generalized"))
    return exp.Greatest(this=exp.Literal.number(0), expressions=[difference])


def _star(columns: list[Column], declared: Declared) -> exp.Expr:
    names = zip(columns, _names(columns), strict=True)
    return all_star(column(n) for c, n in names if c.name in declared.quasi_identifiers)


def _unlike(columns: list[Column], declared: Declared) -> exp.Select:
    """Records whose other columns occur more often in the release than in the source."""
    names = zip(columns, _names(columns), strict=True)
    others = [column(n) for c, n in names if c.name not in declared.quasi_identifiers]
    sums = [exp.alias_(exp.Sum(this=column(s)), s) for s in ("generalized", "released")]
    query = exp.select(*sums).from_(Relation(BALANCE, schema="main", catalog="temp").table)
    if others:
        query = query.group_by(*others)
    zero = exp.Literal.number(0)
    total = exp.Coalesce(this=exp.Sum(this=_excess()), expressions=[zero])
    return exp.select(total).from_(query.subquery("by_others"))
