"""Full-domain generalization with record suppression (Prasser et al. 2016; Sweeney 2002).

All records take one level per quasi-identifier; equivalence classes that fail the declared models
are suppressed whole. `plan` finds the transformation, `write` makes the table in the database.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sqlglot import exp

from dbdeid.data.classes import CODED, labels_relation, values_relation
from dbdeid.data.coding import Coding
from dbdeid.data.hierarchy import TOP
from dbdeid.engine.relation import Column, Relation, cast, column, identifier
from dbdeid.engine.session import Session, Step
from dbdeid.methods.downcoding import ADDED_UP, Downcoded
from dbdeid.methods.downcoding import of_levels as downcoded_levels
from dbdeid.methods.kept_rows import KeptRows
from dbdeid.methods.minimality import SUBJECTS, Reading, of_levels, unread
from dbdeid.methods.outcome import Outcome, Values, Written, values_at
from dbdeid.methods.parameters import Parameters
from dbdeid.methods.searching import Ground, Offer, blank, described, is_blank, nothing, search
from dbdeid.search.check import Check
from dbdeid.search.checker import NumpyChecker
from dbdeid.search.exploration import Exploration, Found, Problem, Progress
from dbdeid.search.lattice import Attribute, Lattice, Node
from dbdeid.search.objectives import metrics
from dbdeid.search.tuples import Tuples

STAGED = "deid_staged"
COUNTED = "deid_counted"
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
class Plan:
    """The transformation found, and what is known of it.

    `metrics` are those that every check finds, and the objective; `kept` is what stays, as
    `KeptRows` takes it, where the database does not tell by class sizes; `readings` what the
    minimality attack reads, `downcoded` what the downcoding attack finds.
    """

    node: Node
    check: Check
    metrics: dict[str, float]
    search: dict[str, Any]
    kept: dict[str, NDArray[Any]] | None = None
    readings: tuple[Reading, ...] = ()
    downcoded: Downcoded | None = None


def plan(
    session: Session,
    quasi_identifiers: Sequence[QuasiIdentifier],
    parameters: Parameters,
    progress: Callable[[Progress], None] | None = None,
    offer: Offer | None = None,
) -> Plan:
    """The best transformation that satisfies the models, or the one that was given.

    Args:
        session: where the source is staged and coded.
        quasi_identifiers: in order of the source.
        parameters: how to search, and what must hold.
        progress: called after every check.
        offer: asked whether to go on with the best so far when the search is interrupted.

    Raises:
        Unsatisfiable: none does; the message says what is achievable.
        NothingFound: none was found, or nothing but `*` in the time there was, and that no other
            satisfies is not proven.
        Interrupted: by the user, who does not take the best so far.
    """
    lattice = lattice_of(quasi_identifiers)
    ground = Ground.of(session, lattice, parameters)
    tuples = ground.tuples
    problem = ground.problem(parameters, ground.checker(parameters))
    if parameters.transformation is not None:
        found, interrupted = _apply(problem, parameters.transformation), False
    else:
        found, interrupted = search(ground, problem, parameters, progress, offer)
    if found.node is None or found.check is None:
        raise nothing(ground, problem, parameters, found)
    if not interrupted and is_blank(found, lattice):
        raise blank(ground, parameters, found)
    how = described(found, parameters, interrupted=interrupted)
    if parameters.transformation is not None:
        how |= {"name": None, "gap": None, "time_limit": None}
    rows = NumpyChecker(lattice, tuples, parameters.rule).kept(found.node)
    kept = None
    if kept_rows(quasi_identifiers, parameters).uploaded:
        kept = _kept(tuples, rows, parameters)
    scores = metrics(lattice, tuples, found.check) | {parameters.objective: found.score}
    readings = _readings(ground, parameters, found, rows)
    downcoded = downcoded_levels(
        lattice,
        tuples,
        rows,
        found.node,
        minimal=found.proven_optimal
        and not parameters.suppression_limit
        and not parameters.rule.populations
        and parameters.objective in ADDED_UP,
        starred=parameters.keep,
    )
    return Plan(found.node, found.check, scores, how, kept, readings, downcoded)


def _readings(
    ground: Ground, parameters: Parameters, found: Found, kept: NDArray[np.bool_]
) -> tuple[Reading, ...]:
    """What who knows how levels are chosen reads of the sensitive attributes."""
    conditions, tuples = parameters.sensitive, ground.tuples
    if not conditions:
        return ()
    if tuples.subjects is not None:
        return unread(conditions, SUBJECTS)
    assert found.node is not None
    return of_levels(
        ground.lattice,
        tuples,
        kept,
        conditions,
        found.node,
        parameters.k,
        minimal=found.proven_optimal and not parameters.suppression_limit,
    )


def lattice_of(quasi_identifiers: Sequence[QuasiIdentifier]) -> Lattice:
    """The transformations to choose from."""
    return Lattice(tuple(_attribute(q) for q in quasi_identifiers))


def _kept(tuples: Tuples, rows: NDArray[np.bool_], parameters: Parameters) -> dict[str, Any]:
    """The subjects or tuples that stay, as `KeptRows` joins them."""
    if parameters.rule.linked:
        assert tuples.subjects is not None
        return {"subject": np.unique(tuples.subjects[rows])}
    codes = {f"q{i}": codes[rows] for i, codes in enumerate(tuples.codes)}
    return codes if tuples.subjects is None else {**codes, "subject": tuples.subjects[rows]}


def _attribute(quasi_identifier: QuasiIdentifier) -> Attribute:
    coding, levels = quasi_identifier.coding, range(quasi_identifier.height + 1)
    return Attribute(
        quasi_identifier.name,
        tuple(coding.groups(level) for level in levels),
        tuple(coding.loss(level) for level in levels),
        quasi_identifier.weight,
        quasi_identifier.min_level,
        quasi_identifier.max_level,
        coding.null,
        tuple(coding.sizes(level) for level in levels),
    )


def _apply(problem: Problem, node: Node) -> Found:
    """A known transformation instead of a search: one check, and nothing proven."""
    checked = Exploration(problem).check(node)
    return Found(
        node=node if checked.accepted else None,
        score=checked.score,
        check=checked.check if checked.accepted else None,
        lattice_size=problem.lattice.size,
        checked=1,
        proven_optimal=False,
        lower_bound=0.0,
    )


# -- writing ------------------------------------------------------------------------------------


def write(
    session: Session,
    quasi_identifiers: Sequence[QuasiIdentifier],
    released: Sequence[Column],
    plan: Plan,
    parameters: Parameters,
) -> Written:
    """The release and its dictionary as temporary tables, sorted and ready to be verified.

    Args:
        session: where the source is staged and coded.
        quasi_identifiers: in the order of the plan's node.
        released: all released columns as staged, in order.
        plan: the transformation.
        parameters: as in `plan`.
    """
    upload_labels(session, quasi_identifiers, plan.node)
    kept_rows(quasi_identifiers, parameters).stage(session, plan.kept)
    counted = staged = session.run(release_step(quasi_identifiers, released, plan.node, parameters))
    if parameters.subject is not None:
        staged = session.run(released_step(quasi_identifiers, released))
    found = outcome(quasi_identifiers, plan, parameters)
    upload_dictionary(session, quasi_identifiers, found.shown)
    dictionary = session.run(dictionary_step(quasi_identifiers, staged))
    return Written(staged, dictionary, counted, found, staged)


def outcome(
    quasi_identifiers: Sequence[QuasiIdentifier], plan: Plan, parameters: Parameters
) -> Outcome:
    """What is known of a release of a plan."""
    keeps = parameters.keep and plan.check.suppressed > 0
    return Outcome(
        plan.node,
        [
            values_at(q.coding, level, suppressed=keeps)
            for q, level in zip(quasi_identifiers, plan.node, strict=True)
        ],
        plan.check.suppressed,
        plan.check.suppressed_subjects,
        plan.metrics,
        plan.search,
        readings=plan.readings,
        downcoded=plan.downcoded,
    )


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


def release_step(
    quasi_identifiers: Sequence[QuasiIdentifier],
    released: Sequence[Column],
    node: Node,
    parameters: Parameters,
    coded: Relation = CODED,
) -> Step:
    """The query of the release: generalize by joins, suppress small classes, sort by everything.

    Where subjects are counted it is what `released_step` takes the release from.
    """
    rows = kept_rows(quasi_identifiers, parameters)
    kept = rows.condition if parameters.keep else None
    query = rows.join(generalized(quasi_identifiers, released, node, rows, kept, coded))
    names = [item.alias_or_name for item in query.selects]
    if parameters.subject is not None:
        query = query.select(column(parameters.subject, "coded"))
    if not parameters.keep:
        query = rows.only(query)
    if parameters.subject is not None:
        return Step(COUNTED, query)
    return Step(STAGED, _sorted(query.subquery("release"), names))


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


def released_step(quasi_identifiers: Sequence[QuasiIdentifier], released: Sequence[Column]) -> Step:
    """The release, without the number of each record's subject."""
    names = released_names(quasi_identifiers, released)
    return Step(STAGED, _sorted(Relation(COUNTED, schema="main", catalog="temp").table, names))


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


def _sorted(rows: exp.Expr, names: Sequence[str]) -> exp.Select:
    columns = [exp.column(identifier(name)) for name in names]
    order = [exp.Ordered(this=c.copy(), nulls_first=False) for c in columns]
    return exp.select(*columns).from_(rows).order_by(*order)


def kept_rows(quasi_identifiers: Sequence[QuasiIdentifier], parameters: Parameters) -> KeptRows:
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


def upload_dictionary(
    session: Session, quasi_identifiers: Sequence[QuasiIdentifier], shown: Sequence[Values]
) -> None:
    """The dictionary of all values that may be released."""
    from dbdeid.engine import arrow

    names = [q.name for q, values in zip(quasi_identifiers, shown, strict=True) for _ in values]
    labels = [label for values in shown for label in values]
    entries = [entry for values in shown for entry in values.values()]
    session.upload(
        DICTIONARY + "_all",
        {
            "column": names,
            "released_value": labels,
            "level": np.array([entry.level for entry in entries], np.int32),
            "lower": [entry.cell.lower for entry in entries],
            "upper": [entry.cell.upper for entry in entries],
            "leaves": arrow.lists([entry.cell.leaves for entry in entries]),
        },
    )


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
