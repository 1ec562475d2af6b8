"""The SQL steps of a run, shown and not executed: only names and types of columns are read."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from dbdeid.bind.bind import bind
from dbdeid.bind.bound import Bound
from dbdeid.bind.read import Source, read
from dbdeid.bind.source import open_source
from dbdeid.data import classes
from dbdeid.engine.expressions import Query
from dbdeid.engine.relation import MEASURED, Column, Relation
from dbdeid.engine.session import Settings, Step
from dbdeid.methods.common.generalized import COUNTED, STAGED
from dbdeid.methods.common.method import Draft
from dbdeid.methods.condensation import synthetic_rows
from dbdeid.methods.registry import method_of
from dbdeid.prepare import populations, pseudonyms, spellings
from dbdeid.prepare.prepare import HIERARCHIES, coding_steps, shared, subject_of, uncoded
from dbdeid.privacy import KAnonymity, MaxRisk, Model, OfSensitive, TCloseness
from dbdeid.privacy.common.counting import Counting
from dbdeid.privacy.common.counting import classes as counting_classes
from dbdeid.privacy.common.sensitive import Target
from dbdeid.privacy.common.shares import (
    Shares,
    class_values,
    hierarchy_nodes,
    members,
    source_values,
    value_names,
)
from dbdeid.spec.names import refuse
from dbdeid.utility.fidelity.cluster_moments import moments_step
from dbdeid.workspace.release_files import places
from dbdeid.workspace.workplace import reading


def steps(
    source: Source,
    *,
    database: Path | None = None,
    settings: Settings | None = None,
) -> tuple[Step, ...]:
    """The steps in order; the levels of an unknown transformation are shown as level 1.

    Tables that come from outside the database (labels, pseudonyms, the tuples that wildcards keep,
    where counterfeit records are placed, which records move) are read by the steps and not shown.

    Raises:
        SpecError, DataError: the spec does not fit its source.
    """
    file = read(source, database=database)
    refuse(file, "has no steps to show", "-vv logs the SQL of verify, evaluate and query")
    places(file, database)
    with reading(file, database=database, settings=settings) as session:
        bound = bind(file, session, open_source(file, session, again=True))
        around = populations.steps(bound, session)
        return _steps(replace(bound, source=pseudonyms.joined(bound)), around)


def _steps(bound: Bound, around: tuple[Step, ...]) -> tuple[Step, ...]:
    names, method = [c.name for c in bound.quasi_identifiers], method_of(bound)
    levels = {n.lower(): level for n, level in (bound.spec.method.given_levels or {}).items()}
    node = tuple(levels.get(name.lower(), 1) for name in names)
    parameters = method.parameters(bound, shared(bound), None)
    made = method.steps(Draft(bound, uncoded(bound), parameters, node))
    staging = classes.source_step(bound.source, bound.staged, subject_of(bound))
    if bound.spec.method.can.values == "drawn":
        return staging, *made, *_clusters(bound)
    counting = Counting(bound.spec.null_policy, parameters.subject)
    measured = COUNTED if parameters.subject else STAGED
    counted = Relation(measured, schema="main", catalog="temp")
    return (
        staging,
        *(classes.values_step(i, name) for i, name in enumerate(names)),
        *coding_steps(bound, {}),
        *around,
        *made,
        *(
            Step(f"verify_{model.model}", query)
            for model in bound.models
            for query in _measures(model, bound, counted, counting)
        ),
    )


def _clusters(bound: Bound) -> Iterator[Step]:
    """What clusters of synthetic records are measured by."""
    columns = [Column(s.column.name, s.released_type) for s in bound.staged]
    if any(c.family in MEASURED for c in columns):
        yield moments_step(synthetic_rows.CLUSTERS, columns)


def _measures(model: Model, bound: Bound, counted: Relation, counting: Counting) -> Iterator[Query]:
    """What a privacy model is measured by, once for each of its sensitive attributes."""
    names = [c.name for c in bound.quasi_identifiers]
    if isinstance(model, KAnonymity):
        yield model.measure(counted, names, counting)
    elif isinstance(model, MaxRisk) and model.population is None:
        yield model.measure(counting_classes(counted, names, counting))
    elif isinstance(model, OfSensitive):
        for target in model.targets:
            yield model.measure(_shares(model, target, bound, counted, counting))


def _shares(
    model: OfSensitive, target: Target, bound: Bound, counted: Relation, counting: Counting
) -> Shares:
    names = [c.name for c in bound.quasi_identifiers]
    by_subject = counting.subject is not None
    written = members(counted, names, target, counting.subject)
    own = value_names(target)
    nullable = [s for s, c in zip(own, target, strict=True) if spellings.nullable(bound, c)]
    held = class_values(written, own, by_subject=by_subject, nullable=nullable)
    if not model.relative:
        return Shares(held)
    subject = bound.subject.name if bound.subject else None
    records = members(bound.source, (), target, subject)
    whole = source_values(records, own, by_subject=by_subject, nullable=nullable)
    if not isinstance(model, TCloseness) or model.distance != "hierarchical":
        return Shares(held, whole)
    columns = (Column("release", "VARCHAR"),)
    listed = Relation(HIERARCHIES, columns, schema="main", catalog="temp")
    return Shares(held, whole, hierarchy_nodes(whole, listed, target[0], bound.spec.release))
