"""Models over sensitive attributes, measured on the classes of a written table.

Who is in which class is one table, `members`; what a model is compared with are the values of the
whole source, suppressed records included. The columns have names of our own: class, subject, and
s0, s1, … for the sensitive ones, so that no name of the release can meet a name in a query.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from dbdeid.engine.expressions import (
    Expr,
    Query,
    Select,
    aliased,
    all_of,
    any_of,
    column,
    count_rows,
    is_null,
    over,
    row_number,
    same_value,
    select,
)
from dbdeid.engine.relation import Column, Relation
from dbdeid.engine.session import Session, Step
from dbdeid.engine.sqltext import step
from dbdeid.privacy import (
    AlphaK,
    Model,
    OfSensitive,
    SensitiveModel,
    TCloseness,
    population_of,
)
from dbdeid.privacy.common.sensitive import Target
from dbdeid.privacy.common.shares import (
    Shares,
    class_values,
    hierarchy_nodes,
    source_values,
    value_names,
)
from dbdeid.privacy.l_diversity import LDiversity
from dbdeid.verify.base.declaration import Declared, Promise
from dbdeid.verify.base.generalization import as_written, names_of, renamed
from dbdeid.verify.base.spelling import Spellings, has_spellings

HELD, WHOLE, NODES = "verify_held", "verify_whole", "verify_nodes"
VALUES, RECORDS, CLASSES, MEMBERS = (
    "verify_values",
    "verify_records",
    "verify_numbered",
    "verify_members",
)

Found = Mapping[OfSensitive, Sequence[Promise]]


@dataclass(frozen=True, slots=True)
class CountedValues:
    """Whose values are counted.

    Attributes:
        members: one row for each record of a written class: class, the sensitive columns, subject.
        source: one row for each record of the source: its sensitive columns as they are written,
            subject. None where it is not at hand.
        by_subject: distinct subjects count; else there is no subject.
    """

    members: Relation
    source: Relation | None
    by_subject: bool

    @property
    def tables(self) -> tuple[Relation, ...]:
        """Where the values stand."""
        return (self.members,) if self.source is None else (self.members, self.source)


def measurable(declared: Declared, *, source: bool) -> tuple[Model, ...]:
    """The models that a written table is held to.

    Without the source it is not known which values that has, nor whose records are written; nor is
    a population at hand. In records then only that is looked at which must hold if it holds for
    subjects.
    """
    if source:
        return declared.models
    return tuple(
        model
        for model in declared.models
        if not (isinstance(model, OfSensitive) and model.relative)
        and population_of(model) is None
        and (declared.subject is None or _necessary_in_records(model))
    )


def _necessary_in_records(model: Model) -> bool:
    """Whether a model holds for records where it holds for subjects.

    The records of a class are no fewer than its subjects, and of no fewer values; how they are
    shared among the values can be anything.
    """
    if isinstance(model, LDiversity):
        return model.kind == "distinct"
    return not isinstance(model, OfSensitive)


def attributes(table: Relation, models: Iterable[Model]) -> list[Column]:
    """The written columns that some model is about, each once."""
    of_sensitive = [m for m in models if isinstance(m, OfSensitive)]
    found = (table.find(name) for model in of_sensitive for name in model.columns)
    return list(dict.fromkeys(c for c in found if c is not None))


def as_values(columns: Sequence[Column]) -> list[Expr]:
    """The sensitive columns of a table under these names."""
    return [aliased(column(c.name), s) for c, s in zip(columns, value_names(columns), strict=True)]


def in_records(
    session: Session,
    table: Relation,
    declared: Declared,
    models: Sequence[Model],
    source: Query | Relation | None,
    hierarchies: Relation | None,
    *,
    stored: bool = True,
) -> Found:
    """The promises over sensitive attributes where every record counts.

    Where nothing is `stored` for each record, table and source are views of what was counted.
    """
    columns = attributes(table, models)
    if not columns or any(table.find(name) is None for name in declared.quasi_identifiers):
        return sensitive_promises(session, table, declared, models, None, hierarchies)
    try:
        origin = None
        if source is not None:
            raw = session.run(Step(VALUES, renamed(source, columns), stored))
            written = of_source(raw, columns, names_of(columns))
            origin = session.run(Step(RECORDS, written, stored))
        rows = select(*keys_of(declared.quasi_identifiers), *as_values(columns)).from_(table.table)
        members = session.run(Step(MEMBERS, numbered(session, rows, declared), stored))
        counted = CountedValues(members, origin, by_subject=False)
        return sensitive_promises(session, table, declared, models, counted, hierarchies)
    finally:
        for name in (VALUES, RECORDS, CLASSES, MEMBERS):
            session.drop_temp(name)


def of_source(
    raw: Relation, columns: Sequence[Column], stored: Sequence[str], *kept: str
) -> Select:
    """A query of the sensitive values of the source as they are written.

    Args:
        raw: the records of the source.
        columns: the written sensitive columns.
        stored: their names in `raw`.
        kept: other columns to keep.
    """
    query = select(*map(column, kept)).from_(raw.table)
    for i, (written, name) in enumerate(zip(columns, stored, strict=True)):
        value = column(name)
        query = query.select(aliased(as_written(value, value, raw, written), f"s{i}"))
    return query


def numbered(session: Session, rows: Select, declared: Declared) -> Select:
    """A query of rows with a number for each combination of the keys k0, k1, …, called class.

    The combinations are left in a temporary table.
    """
    keys = [f"k{i}" for i in range(len(declared.quasi_identifiers))]
    number = aliased(over(row_number()), "class")
    combinations = select(*keys, number).from_(rows.copy().subquery("rows")).group_by(*keys)
    classes = session.run(Step(CLASSES, combinations))
    same = (same_value(column(key, "rows"), column(key, "classes")) for key in keys)
    others = [column(s.alias_or_name, "rows") for s in rows.selects if s.alias_or_name not in keys]
    return (
        select(column("class", "classes"), *others)
        .from_(rows.copy().subquery("rows"))
        .join(classes.aliased("classes"), on=all_of(*same))
    )


def keys_of(quasi_identifiers: Sequence[str]) -> list[Expr]:
    """The quasi-identifiers of a table as the keys k0, k1, …."""
    return [aliased(column(name), f"k{i}") for i, name in enumerate(quasi_identifiers)]


def sensitive_promises(
    session: Session,
    table: Relation,
    declared: Declared,
    models: Sequence[Model],
    counted: CountedValues | None,
    hierarchies: Relation | None,
) -> Found:
    """A promise for each model over sensitive attributes and each of its attributes.

    Args:
        session: sees all tables.
        table: the written table, described.
        declared: its shape.
        models: those to measure; others than over sensitive attributes are passed over.
        counted: whose values count; None where the table has none of the columns.
        hierarchies: `deid.hierarchies`, or its rows of this release; the hierarchy of a sensitive
            column is listed under the column's name, up to a single top.
    """
    wanted = list(dict.fromkeys(m for m in models if isinstance(m, OfSensitive)))
    columns = attributes(table, wanted)
    plain = [declared.counts_as_written(c.name) for c in columns]
    with Spellings(session, counted.tables if counted else ()) as spelled:
        for name, c, kept in zip(value_names(columns), columns, plain, strict=True):
            if counted is not None and not kept and has_spellings(c):
                spelled.read(name)
        return _measured(session, table, declared, wanted, counted, hierarchies, spelled)


def _measured(
    session: Session,
    table: Relation,
    declared: Declared,
    wanted: Sequence[SensitiveModel],
    counted: CountedValues | None,
    hierarchies: Relation | None,
    spelled: Spellings,
) -> Found:
    columns = attributes(table, wanted)
    found: dict[OfSensitive, dict[Target, Any]] = {model: {} for model in wanted}
    for target in dict.fromkeys(t for model in wanted for t in model.targets):
        asked = [model for model in wanted if target in model.targets]
        absent = [name for name in target if table.find(name) is None]
        places = [columns.index(c) for name in target if (c := table.find(name))]
        reason = _unmeasurable(session, table, declared, absent)
        if reason or counted is None:
            for model in asked:
                found[model][target] = reason
            continue
        hierarchy = None
        if any(isinstance(m, TCloseness) and m.distance == "hierarchical" for m in asked):
            hierarchy = hierarchies
        try:
            shares = _shares(session, declared, counted, places, columns, hierarchy, spelled)
            for model in asked:
                lacking = _lacking(session, model, shares, target)
                meant = _as_spelled(model, f"s{places[0]}", spelled)
                found[model][target] = lacking or _Value(session.row(meant.measure(shares))[0])
        finally:
            for name in (HELD, WHOLE, NODES):
                session.drop_temp(name)
    return {model: list(_judged(model, found[model])) for model in wanted}


@dataclass(frozen=True, slots=True)
class _Value:
    """What was measured; anything else that was found is a reason why nothing was."""

    found: Any


def _as_spelled(model: OfSensitive, name: str, spelled: Spellings) -> OfSensitive:
    """The model with the values that it lists in the spelling that is counted."""
    if not isinstance(model, AlphaK) or model.values is None:
        return model
    return model.model_copy(update={"values": spelled.listed(name, model.values)})


def _judged(model: OfSensitive, found: Mapping[Target, Any]) -> Iterator[Promise]:
    for target in model.targets:
        wanted, value = model.declared_of(target), found[target]
        if isinstance(value, _Value):
            shown, holds = model.shown(value.found), model.holds(value.found)
            yield Promise(model.model, wanted, shown, holds)
        else:
            yield Promise(model.model, wanted, value, False)


def _unmeasurable(
    session: Session, table: Relation, declared: Declared, absent: Sequence[str]
) -> str:
    needed = [q for q in declared.quasi_identifiers if table.find(q) is None]
    if missing := [*needed, *absent]:
        return f"not measurable without {', '.join(map(repr, missing))}"
    if declared.null_policy == "wildcard":
        return "not measurable where a NULL matches everything"
    if declared.null_policy == "exclude" and (alone := classless(session, table, declared)):
        return f"{alone} records without a class"
    return ""


def classless(session: Session, table: Relation, declared: Declared) -> int:
    """The written records with a NULL in a quasi-identifier, which exclude them from any class."""
    unknown = any_of(*(is_null(column(q)) for q in declared.quasi_identifiers))
    query = select(count_rows()).from_(table.table).where(unknown)
    return int(session.row(query)[0])


def _shares(
    session: Session,
    declared: Declared,
    counted: CountedValues,
    places: Sequence[int],
    columns: Sequence[Column],
    hierarchies: Relation | None,
    spelled: Spellings,
) -> Shares:
    """The counts of one attribute in temporary tables, to be dropped by the caller."""
    value, by_subject = [f"s{i}" for i in places], counted.by_subject
    nullable = [f"s{i}" for i in places if not declared.counts_as_written(columns[i].name)]
    kept = ["subject"] if by_subject else []
    members = spelled.rows(counted.members, value, ["class", *kept])
    of_classes = class_values(members, value, by_subject=by_subject, nullable=nullable)
    held = session.run(Step(HELD, of_classes))
    if counted.source is None:
        return Shares(held)
    origin = spelled.rows(counted.source, value, kept)
    known = source_values(origin, value, by_subject=by_subject, nullable=nullable)
    whole = session.run(Step(WHOLE, known))
    if hierarchies is None:
        return Shares(held, whole)
    name = columns[places[0]].name
    nodes = hierarchy_nodes(whole, hierarchies, name, declared.release)
    return Shares(held, whole, session.run(Step(NODES, nodes)))


def _lacking(session: Session, model: OfSensitive, shares: Shares, target: Target) -> str:
    """Why a model cannot be measured: what it compares with is not that of these values."""
    if not model.relative:
        return ""
    unknown = is_null(column("known"))
    counts = select(count_rows()).from_(shares.compared.subquery("compared"))
    if session.row(counts.where(unknown))[0]:
        return "values that the source does not have"
    if isinstance(model, TCloseness) and model.distance == "hierarchical":
        if shares.nodes is None:
            return f"not measurable without the hierarchy of {target[0]!r}"
        tables = {"whole": shares.of_source, "nodes": shares.nodes}
        if gaps := int(session.row(step("verify/hierarchy_gaps", tables))[0]):
            return f"{gaps} values without a place in the hierarchy of {target[0]!r}"
    return ""
