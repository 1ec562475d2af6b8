"""Rows with generalized values, written in SQL from codes and labels."""

from __future__ import annotations

from collections.abc import Sequence

from dbdeid.data.classes import CODED, labels_relation, values_relation
from dbdeid.data.hierarchy import TOP
from dbdeid.engine.expressions import (
    Expr,
    Query,
    Select,
    aliased,
    as_often,
    ascending,
    case,
    cast,
    column,
    literal,
    select,
    sum_of,
    try_cast,
)
from dbdeid.engine.relation import Column, Relation
from dbdeid.engine.session import Session, Step
from dbdeid.lattice.lattice import Node
from dbdeid.methods.common.kept_rows import KeptRows
from dbdeid.prepare.problem import Parameters
from dbdeid.prepare.quasi_identifier import QuasiIdentifier

STAGED = "deid_staged"


COUNTED = "deid_counted"
ONCE = Relation("deid_staged_once", schema="main", catalog="temp")


def upload_labels(
    session: Session, quasi_identifiers: Sequence[QuasiIdentifier], node: Node
) -> None:
    """What each code of a quasi-identifier reads under a node, one table each."""
    for number, (q, level) in enumerate(zip(quasi_identifiers, node, strict=True)):
        cells = q.coding.cells(level)
        session.upload(
            labels_relation(number).name,
            {
                "code": range(len(cells)),
                "grp": q.coding.groups(level),
                "label": [cell.label for cell in cells],
                "lower": [cell.lower for cell in cells],
                "upper": [cell.upper for cell in cells],
            },
        )


def generalized(
    quasi_identifiers: Sequence[QuasiIdentifier],
    released: Sequence[Column],
    node: Node,
    rows: KeptRows,
    kept: Expr | None = None,
    coded: Relation = CODED,
) -> Select:
    """The query of all coded records under a node; where not `kept`, quasi-identifiers are `*`."""
    number = {q.name: i for i, q in enumerate(quasi_identifiers)}
    picked: list[Expr] = []
    for c in released:
        if c.name not in number:
            picked.append(column(c.name, "coded"))
            continue
        i = number[c.name]
        picked += _generalized(i, quasi_identifiers[i], node[i], kept)
    query = select(*picked).from_(coded.aliased("coded"))
    for i in range(len(quasi_identifiers)):
        query = rows.join_labels(query, i)
        if node[i] == 0:
            query = _join_values(query, i, quasi_identifiers[i].name)
    return query


def released_names(
    quasi_identifiers: Sequence[QuasiIdentifier], released: Sequence[Column]
) -> list[str]:
    """The released columns in their order, each with its bounds behind it."""
    bounded = {q.name for q in quasi_identifiers if q.bounds}
    names: list[str] = []
    for c in released:
        ends = ("_lower", "_upper") if c.name in bounded else ()
        names += [c.name, *(f"{c.name}{end}" for end in ends)]
    return names


def in_order(rows: Expr, names: Sequence[str]) -> Select:
    """Rows sorted by all of their released values, so that their order reveals nothing else."""
    columns = [column(name) for name in names]
    order = [ascending(c.copy()) for c in columns]
    return select(*columns).from_(rows).order_by(*order)


def counted_rows(
    rows: Query, names: Sequence[str], weight: str, subject: str | None
) -> tuple[Step, Step, Step]:
    """The released records where a row stands for several.

    Args:
        rows: what is released, each row with its weight.
        names: the released columns.
        weight: the column that says how many records a row stands for.
        subject: the column of the number of whose they are.

    Returns:
        Each kind once; as often as it is, with its subject; and without.
    """
    columns = [column(name) for name in names]
    keys = [*columns, *([column(subject)] if subject else [])]
    number = aliased(cast(sum_of(column(weight)), "BIGINT"), weight)
    kinds = select(*keys, number).from_(rows.subquery("release"))
    once = Step(ONCE.name, kinds.group_by(*(c.copy() for c in keys)))
    each = Step(COUNTED, as_often(ONCE.table, keys, column(weight)), stored=False)
    return once, each, Step(STAGED, as_often(ONCE.table, columns, column(weight)), stored=False)


def kept_rows(
    quasi_identifiers: Sequence[QuasiIdentifier], parameters: Parameters[object]
) -> KeptRows:
    """Which rows of the coded source stay."""
    names = tuple(q.name for q in quasi_identifiers)
    weighed = parameters.weight is not None
    return KeptRows(parameters.rule, names, parameters.subject, parameters.valued, weighed)


def _generalized(
    number: int, quasi_identifier: QuasiIdentifier, level: int, kept: Expr | None
) -> list[Expr]:
    """The released value, and its bounds where the column has them."""
    name = quasi_identifier.name
    label: Expr = column("label", f"l{number}")
    if level == 0:
        label = column("value", f"v{number}")
        label = cast(label, "VARCHAR") if kept is not None else label
    picked = [aliased(_unless(kept, label, TOP), name)]
    if quasi_identifier.bounds:
        top = quasi_identifier.coding.hierarchy.levels[-1]
        for end, widest in (("lower", top.lower[0]), ("upper", top.upper[0])):
            # The end of an interval may lie outside the type: [100, 150) on TINYINT has no upper.
            bound = try_cast(
                _unless(kept, column(end, f"l{number}"), widest), quasi_identifier.column.type
            )
            picked.append(aliased(bound, f"{name}_{end}"))
    return picked


def _unless(kept: Expr | None, value: Expr, otherwise: str | None) -> Expr:
    if kept is None:
        return value
    return case((kept.copy(), value), otherwise=literal(otherwise))


def _join_values(query: Select, number: int, name: str) -> Select:
    alias = f"v{number}"
    table = values_relation(number).aliased(alias)
    return query.join(table, on=column(name, "coded").eq(column("code", alias)))
