"""Full-domain generalization with record suppression (Prasser et al. 2016; Sweeney 2002).

All records take one level per quasi-identifier; equivalence classes that fail the declared models
are suppressed whole. `plan` finds the transformation, `write` makes the table in the database.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sqlglot import exp

from dbdeid.data.classes import CODED, TUPLES, values_relation
from dbdeid.data.coding import Cell, Coding
from dbdeid.data.hierarchy import TOP
from dbdeid.engine.relation import Column, Relation, cast, column, identifier
from dbdeid.engine.session import Session, Step
from dbdeid.errors import Unsatisfiable
from dbdeid.methods.sql_checker import SqlChecker
from dbdeid.search.checker import Check, Checker, NumpyChecker
from dbdeid.search.lattice import Attribute, Lattice, Node
from dbdeid.search.objectives import OBJECTIVES, metrics
from dbdeid.search.optimal import Found, Progress, optimal
from dbdeid.search.tuples import Tuples

STAGED = "deid_staged"
DICTIONARY = "deid_dictionary"


@dataclass(frozen=True, slots=True)
class QuasiIdentifier:
    """A quasi-identifier ready for search: its column as staged, its coding, its limits."""

    column: Column
    coding: Coding
    weight: float
    min_level: int
    max_level: int | None
    bounds: bool

    @property
    def name(self) -> str:
        """The column's name."""
        return self.column.name

    @property
    def height(self) -> int:
        """The top level of the hierarchy."""
        return self.coding.hierarchy.height


@dataclass(frozen=True, slots=True)
class Parameters:
    """How to search and what to do with the suppressed records.

    Attributes:
        k: records that a class needs.
        suppression_limit: allowed share of suppressed records.
        objective: what to minimize.
        engine: numpy or sql.
        transformation: a known node instead of a search.
        keep: release suppressed records with every quasi-identifier `*`.
    """

    k: int
    suppression_limit: float
    objective: str
    engine: str
    transformation: Node | None
    keep: bool

    def limit(self, records: int) -> int:
        """How many records may be suppressed: floor(limit · N), exact for decimal shares."""
        return math.floor(round(self.suppression_limit * records, 9))


@dataclass(frozen=True, slots=True)
class Plan:
    """The transformation found, and what is known of it."""

    node: Node
    check: Check
    metrics: dict[str, float]
    search: dict[str, Any]


def plan(
    session: Session,
    quasi_identifiers: Sequence[QuasiIdentifier],
    parameters: Parameters,
    progress: Callable[[Progress], None] | None = None,
) -> Plan:
    """The best transformation that satisfies the models, proven, or the one that was given.

    Raises:
        Unsatisfiable: none does; the message says what is achievable.
    """
    lattice = Lattice(tuple(_attribute(q) for q in quasi_identifiers))
    tuples = _tuples(session, len(quasi_identifiers))
    checker: Checker = (
        SqlChecker(session, lattice, parameters.k)
        if parameters.engine == "sql"
        else NumpyChecker(lattice, tuples, parameters.k)
    )
    limit = parameters.limit(tuples.records)
    if parameters.transformation is not None:
        found = _apply(lattice, tuples, checker, parameters, limit)
    else:
        found = optimal(
            lattice,
            tuples,
            checker,
            limit=limit,
            objective=OBJECTIVES[parameters.objective],
            accept=lambda check: acceptable(check, parameters),
            progress=progress,
        )
    if found.node is None or found.check is None:
        raise _unsatisfiable(lattice, checker, parameters, limit, tuples.records)
    search = {
        "lattice_size": found.lattice_size,
        "checked": found.checked,
        "proven_optimal": found.proven_optimal,
        "lower_bound": found.lower_bound,
    }
    return Plan(found.node, found.check, metrics(lattice, tuples, found.check), search)


def _attribute(quasi_identifier: QuasiIdentifier) -> Attribute:
    coding, levels = quasi_identifier.coding, range(quasi_identifier.height + 1)
    return Attribute(
        quasi_identifier.name,
        tuple(coding.groups(level) for level in levels),
        tuple(coding.loss(level) for level in levels),
        quasi_identifier.weight,
        quasi_identifier.min_level,
        quasi_identifier.max_level,
    )


def _tuples(session: Session, count: int) -> Tuples:
    names = [f"q{i}" for i in range(count)]
    found = session.arrays(exp.select(*names, "records").from_(TUPLES.table))
    codes = tuple(np.asarray(found[name], np.uint32) for name in names)
    return Tuples(codes, np.asarray(found["records"], np.int64))


def _apply(
    lattice: Lattice, tuples: Tuples, checker: Checker, parameters: Parameters, limit: int
) -> Found:
    node = parameters.transformation
    assert node is not None
    check = checker.check(node)
    score = metrics(lattice, tuples, check)[parameters.objective]
    kept = check.suppressed <= limit and acceptable(check, parameters)
    return Found(
        node=node if kept else None,
        score=score,
        check=check if kept else None,
        lattice_size=lattice.size,
        checked=1,
        proven_optimal=False,
        lower_bound=0.0,
    )


def acceptable(check: Check, parameters: Parameters) -> bool:
    """Whether anything is released, and suppressed records that stay form a class that holds."""
    fits = not parameters.keep or check.suppressed == 0 or check.suppressed >= parameters.k
    return check.classes > 0 and fits


def _unsatisfiable(
    lattice: Lattice, checker: Checker, parameters: Parameters, limit: int, records: int
) -> Unsatisfiable:
    node = parameters.transformation or lattice.top
    what = "the given transformation" if parameters.transformation else "the most general one"
    check = checker.check(node)
    if parameters.k > records:
        hint = f"k can be at most {records}, the number of records"
    elif parameters.transformation:
        hint = "use higher levels, a smaller k or a larger suppression_limit"
    else:
        share = math.ceil(check.suppressed / records * 10_000) / 10_000
        hint = f"allow suppression_limit: {share}, a smaller k, or higher max_level"
    return Unsatisfiable(
        f"no transformation reaches k = {parameters.k} with at most {limit} of {records} records "
        f"suppressed; {what} would suppress {check.suppressed}",
        hint=hint,
    )


# -- writing ------------------------------------------------------------------------------------


def write(
    session: Session,
    quasi_identifiers: Sequence[QuasiIdentifier],
    released: Sequence[Column],
    plan: Plan,
    parameters: Parameters,
) -> tuple[Relation, Relation]:
    """The release and its dictionary as temporary tables, sorted and ready to be verified.

    Args:
        session: where the source is staged and coded.
        quasi_identifiers: in the order of the plan's node.
        released: all released columns as staged, in order.
        plan: the transformation.
        parameters: as in `plan`.
    """
    for i, (q, level) in enumerate(zip(quasi_identifiers, plan.node, strict=True)):
        _upload_labels(session, i, q, level)
    staged = session.run(release_step(quasi_identifiers, released, plan.node, parameters))
    _upload_dictionary(session, quasi_identifiers, plan, parameters)
    dictionary = session.run(dictionary_step(quasi_identifiers, staged))
    return staged, dictionary


def labels_relation(number: int) -> Relation:
    """The labels of one quasi-identifier at the chosen level: code, grp, label, lower, upper."""
    return Relation(f"deid_labels_{number}", schema="main", catalog="temp")


def _upload_labels(
    session: Session, number: int, quasi_identifier: QuasiIdentifier, level: int
) -> None:
    cells = quasi_identifier.coding.cells(level)
    session.upload(
        labels_relation(number).name,
        {
            "code": range(len(cells)),
            "grp": quasi_identifier.coding.groups(level),
            "label": _texts([cell.label for cell in cells]),
            "lower": _texts([cell.lower for cell in cells]),
            "upper": _texts([cell.upper for cell in cells]),
        },
    )


def _texts(values: Sequence[str | None]) -> Any:
    import pyarrow as pa

    return pa.array(values, pa.string())


def release_step(
    quasi_identifiers: Sequence[QuasiIdentifier],
    released: Sequence[Column],
    node: Node,
    parameters: Parameters,
) -> Step:
    """The query of the release: generalize by joins, suppress small classes, sort by everything."""
    number = {q.name: i for i, q in enumerate(quasi_identifiers)}
    size = _class_size(len(quasi_identifiers))
    kept: exp.Expr = exp.GTE(this=size, expression=exp.convert(parameters.k))
    picked: list[exp.Expr] = []
    for c in released:
        if c.name not in number:
            picked.append(column(c.name, "coded"))
            continue
        i = number[c.name]
        picked += _generalized(i, quasi_identifiers[i], node[i], kept if parameters.keep else None)
    query = exp.select(*picked).from_(exp.alias_(CODED.table, "coded", table=True))
    for i, q in enumerate(quasi_identifiers):
        query = _join_labels(query, i, q, raw=node[i] == 0)
    if not parameters.keep:
        query = query.qualify(kept)
    names = [item.alias_or_name for item in picked]
    order = [exp.Ordered(this=exp.column(identifier(n)), nulls_first=False) for n in names]
    return Step(STAGED, exp.select("*").from_(query.subquery("release")).order_by(*order))


def _class_size(count: int) -> exp.Expr:
    groups = [exp.column("grp", f"l{i}") for i in range(count)]
    return exp.Window(this=exp.Count(this=exp.Star()), partition_by=list(groups))


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


def _join_labels(
    query: exp.Select, number: int, quasi_identifier: QuasiIdentifier, *, raw: bool
) -> exp.Select:
    code = column(quasi_identifier.name, "coded")
    alias = f"l{number}"
    table = exp.alias_(labels_relation(number).table, alias, table=True)
    query = query.join(table, on=code.eq(exp.column("code", alias)))
    if raw:
        alias = f"v{number}"
        table = exp.alias_(values_relation(number).table, alias, table=True)
        query = query.join(table, on=code.copy().eq(exp.column("code", alias)))
    return query


def _upload_dictionary(
    session: Session,
    quasi_identifiers: Sequence[QuasiIdentifier],
    plan: Plan,
    parameters: Parameters,
) -> None:
    import pyarrow as pa

    rows: dict[tuple[str, str | None], tuple[int, Cell]] = {}
    for q, level in zip(quasi_identifiers, plan.node, strict=True):
        for cell in q.coding.cells(level):
            rows[(q.name, cell.label)] = (level, cell)
        if parameters.keep and plan.check.suppressed:
            rows[(q.name, TOP)] = (q.height, _top_cell(q))
    session.upload(
        DICTIONARY + "_all",
        {
            "column": _texts([name for name, _ in rows]),
            "released_value": _texts([label for _, label in rows]),
            "level": pa.array([level for level, _ in rows.values()], pa.int32()),
            "lower": _texts([cell.lower for _, cell in rows.values()]),
            "upper": _texts([cell.upper for _, cell in rows.values()]),
            "leaves": pa.array([c.leaves for _, c in rows.values()], pa.list_(pa.string())),
        },
    )


def _top_cell(quasi_identifier: QuasiIdentifier) -> Cell:
    hierarchy = quasi_identifier.coding.hierarchy
    top = hierarchy.levels[-1]
    leaves = tuple(sorted(hierarchy.leaves)) if hierarchy.declared else None
    return Cell(TOP, 1.0, top.lower[0], top.upper[0], leaves)


def dictionary_step(quasi_identifiers: Sequence[QuasiIdentifier], staged: Relation) -> Step:
    """The rows of the dictionary whose value occurs in the release, sorted."""
    occurring: exp.Query | None = None
    for q in quasi_identifiers:
        one = (
            exp.select(
                exp.alias_(exp.Literal.string(q.name), "column_name"),
                exp.alias_(cast(column(q.name), "VARCHAR"), "value"),
            )
            .from_(staged.table)
            .distinct()
        )
        occurring = one if occurring is None else exp.union(occurring, one, distinct=False)
    assert occurring is not None
    entry = Relation(DICTIONARY + "_all", schema="main", catalog="temp")
    names = ("column", "released_value", "level", "lower", "upper", "leaves")
    same = exp.and_(
        column("column", "entry").eq(exp.column("column_name", "occurring")),
        exp.NullSafeEQ(
            this=column("released_value", "entry"), expression=exp.column("value", "occurring")
        ),
    )
    order = [exp.Ordered(this=column(n, "entry"), nulls_first=False) for n in names[:2]]
    query = (
        exp.select(*[column(n, "entry") for n in names])
        .from_(exp.alias_(entry.table, "entry", table=True))
        .join(occurring.subquery("occurring"), on=same)
        .order_by(*order)
    )
    return Step(DICTIONARY, query)
