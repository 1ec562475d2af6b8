"""The records of a release as a warehouse makes them, of what a plan here says of their values.

What each value of a quasi-identifier reads, and which classes stay, are lent to it as small views;
it joins them to the records where these are. No value is computed there: engines write texts of
numbers and times differently.
"""

from __future__ import annotations

from dataclasses import dataclass

from dbdeid.bind.source import plain_value
from dbdeid.data.classes import labels_relation, values_relation
from dbdeid.data.hierarchy import TOP
from dbdeid.engine.expressions import (
    Expr,
    Select,
    aliased,
    all_of,
    case,
    cast,
    column,
    literal,
    not_null,
    same_value,
    select,
    try_cast,
)
from dbdeid.engine.relation import Column, Relation
from dbdeid.engine.session import Session, Step
from dbdeid.engine.warehouse import Warehouse
from dbdeid.methods.common.kept_rows import KEPT
from dbdeid.prepare.prepare import Prepared
from dbdeid.prepare.quasi_identifier import QuasiIdentifier


@dataclass(frozen=True, slots=True)
class Lent:
    """What a plan says of values, as views in the warehouse.

    Attributes:
        reads: of each quasi-identifier: raw, grp, label, and of its bounds lower, upper, and
            star_lower, star_upper, which `*` has.
        kept: g0, g1, … of the classes that stay.
    """

    reads: tuple[Relation, ...]
    kept: Relation


def lend(
    prepared: Prepared,
    node: tuple[int, ...],
    session: Session,
    warehouse: Warehouse,
    counts: Relation,
) -> Lent:
    """Lend a plan to the warehouse, once the method has written it here.

    Args:
        prepared: the counted source, whose labels and kept rows are staged.
        node: the level of each quasi-identifier.
        session: where.
        warehouse: that gets it.
        counts: the combinations of values as the warehouse counted them.
    """
    qis = prepared.quasi_identifiers
    reads = []
    for number, (q, level) in enumerate(zip(qis, node, strict=True)):
        query = _reads(number, q, level, counts, texts=prepared.parameters.keep)
        found = session.run(Step(f"deid_reads_{number}", query))
        reads.append(warehouse.lend(f"reads_{number}", session.table(found)))
    kept = session.run(Step("deid_kept_classes", _kept(prepared)))
    return Lent(tuple(reads), warehouse.lend("kept", session.table(kept)))


def _reads(number: int, q: QuasiIdentifier, level: int, counts: Relation, *, texts: bool) -> Select:
    """What each value of a quasi-identifier reads, by the value as the warehouse has it."""
    raw = select(aliased(column(q.name), "raw")).distinct().from_(counts.table)
    label: Expr = column("label", "l")
    if level == 0:
        label = column("value", "v")
        label = cast(label, "VARCHAR") if texts else label
    cells = [
        column("raw", "r"),
        aliased(cast(column("grp", "l"), "BIGINT"), "grp"),
        aliased(label, "label"),
    ]
    if q.bounds:
        top = q.coding.hierarchy.levels[-1]
        for end, widest in (("lower", top.lower[0]), ("upper", top.upper[0])):
            cells.append(aliased(try_cast(column(end, "l"), q.column.type), end))
            cells.append(aliased(try_cast(literal(widest), q.column.type), f"star_{end}"))
    same = same_value(cast(column("raw", "r"), q.column.type), column("value", "v"))
    return (
        select(*cells)
        .from_(raw.subquery("r"))
        .join(values_relation(number).aliased("v"), on=same)
        .join(labels_relation(number).aliased("l"), on=column("code", "v").eq(column("code", "l")))
    )


def _kept(prepared: Prepared) -> Select:
    groups = [f"g{i}" for i in range(len(prepared.quasi_identifiers))]
    return select(*(aliased(cast(column(g), "BIGINT"), g) for g in groups)).from_(KEPT.table)


def records_there(prepared: Prepared, source: Relation, lent: Lent) -> Select:
    """The query of the released records, for the warehouse.

    Args:
        prepared: with the whole specification.
        source: the table there.
        lent: the plan.
    """
    number = {q.name: i for i, q in enumerate(prepared.quasi_identifiers)}
    stays = not_null(column("g0", "k")) if prepared.parameters.keep else None
    cells: list[Expr] = []
    for c in prepared.released:
        if c.name not in number:
            cells.append(aliased(_as_it_is(c), c.name))
            continue
        i = number[c.name]
        of = f"m{i}"
        cells.append(aliased(_unless(stays, column("label", of), literal(TOP)), c.name))
        if prepared.quasi_identifiers[i].bounds:
            for end in ("lower", "upper"):
                bound = _unless(stays, column(end, of), column(f"star_{end}", of))
                cells.append(aliased(bound, f"{c.name}_{end}"))
    query = select(*cells).from_(source.aliased("s"))
    same: list[Expr] = []
    for name, i in number.items():
        of = f"m{i}"
        value = same_value(column(name, "s"), column("raw", of))
        query = query.join(lent.reads[i].aliased(of), on=value)
        same.append(column("grp", of).eq(column(f"g{i}", "k")))
    how = "left" if stays is not None else "inner"
    return query.join(lent.kept.aliased("k"), on=all_of(*same), join_type=how)


def _as_it_is(found: Column) -> Expr:
    return plain_value(found, "s") if found.family == "float" else column(found.name, "s")


def _unless(stays: Expr | None, value: Expr, star: Expr) -> Expr:
    return value if stays is None else case((stays.copy(), value), otherwise=star)
