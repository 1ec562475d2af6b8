"""Rows with generalized values, written in SQL from codes and labels."""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from dbdeid.data.classes import CODED, labels_relation, values_relation
from dbdeid.data.hierarchy import TOP
from dbdeid.engine.relation import Column, Relation, cast, column, identifier
from dbdeid.engine.session import Session
from dbdeid.lattice.lattice import Node
from dbdeid.methods.common.kept_rows import KeptRows
from dbdeid.prepare.problem import Parameters
from dbdeid.prepare.quasi_identifier import QuasiIdentifier

STAGED = "deid_staged"


COUNTED = "deid_counted"


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
    kept: exp.Expr | None = None,
    coded: Relation = CODED,
) -> exp.Select:
    """The query of all coded records under a node; where not `kept`, quasi-identifiers are `*`."""
    number = {q.name: i for i, q in enumerate(quasi_identifiers)}
    picked: list[exp.Expr] = []
    for c in released:
        if c.name not in number:
            picked.append(column(c.name, "coded"))
            continue
        i = number[c.name]
        picked += _generalized(i, quasi_identifiers[i], node[i], kept)
    query = exp.select(*picked).from_(exp.alias_(coded.table, "coded", table=True))
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


def in_order(rows: exp.Expr, names: Sequence[str]) -> exp.Select:
    """Rows sorted by all of their released values, so that their order tells nothing else."""
    columns = [exp.column(identifier(name)) for name in names]
    order = [exp.Ordered(this=c.copy(), nulls_first=False) for c in columns]
    return exp.select(*columns).from_(rows).order_by(*order)


def kept_rows(
    quasi_identifiers: Sequence[QuasiIdentifier], parameters: Parameters[object]
) -> KeptRows:
    """Which rows of the coded source stay."""
    names = tuple(q.name for q in quasi_identifiers)
    return KeptRows(parameters.rule, names, parameters.subject, parameters.valued)


def _generalized(
    number: int, quasi_identifier: QuasiIdentifier, level: int, kept: exp.Expr | None
) -> list[exp.Expr]:
    """The released value, and its bounds where they are asked for."""
    name = quasi_identifier.name
    label: exp.Expr = exp.column("label", f"l{number}")
    if level == 0:
        label = exp.column("value", f"v{number}")
        label = cast(label, "VARCHAR") if kept is not None else label
    picked = [exp.alias_(_unless(kept, label, TOP), identifier(name))]
    if quasi_identifier.bounds:
        top = quasi_identifier.coding.hierarchy.levels[-1]
        for end, widest in (("lower", top.lower[0]), ("upper", top.upper[0])):
            # The end of an interval may lie outside the type: [100, 150) on TINYINT has no upper.
            bound = exp.TryCast(
                this=_unless(kept, exp.column(end, f"l{number}"), widest),
                to=exp.DataType.build(quasi_identifier.column.type, dialect="duckdb"),
            )
            picked.append(exp.alias_(bound, identifier(f"{name}_{end}")))
    return picked


def _unless(kept: exp.Expr | None, value: exp.Expr, otherwise: str | None) -> exp.Expr:
    if kept is None:
        return value
    return exp.Case(ifs=[exp.If(this=kept.copy(), true=value)], default=exp.convert(otherwise))


def _join_values(query: exp.Select, number: int, name: str) -> exp.Select:
    alias = f"v{number}"
    table = exp.alias_(values_relation(number).table, alias, table=True)
    return query.join(table, on=column(name, "coded").eq(exp.column("code", alias)))
