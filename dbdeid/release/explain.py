"""The SQL steps of a run, shown and not executed: only names and types of columns are read."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from sqlglot import exp

from dbdeid.data import classes
from dbdeid.engine.relation import Column, Relation
from dbdeid.engine.session import Settings, Step
from dbdeid.methods import full_domain
from dbdeid.privacy import KAnonymity, MaxRisk, Model, OfSensitive, TCloseness
from dbdeid.privacy.counting import Counting
from dbdeid.privacy.counting import classes as counting_classes
from dbdeid.privacy.sensitive import Target
from dbdeid.privacy.shares import (
    Shares,
    class_values,
    hierarchy_nodes,
    members,
    source_values,
    value_names,
)
from dbdeid.release import populations, pseudonyms
from dbdeid.release.bind import Bound, bind
from dbdeid.release.prepare import HIERARCHIES, coding_steps, parameters_of, subject_of, uncoded
from dbdeid.release.specfile import read
from dbdeid.release.workplace import places, reading


def steps(
    source: str | Path | Mapping[str, Any],
    *,
    database: Path | None = None,
    settings: Settings | None = None,
) -> tuple[Step, ...]:
    """The steps in order; the levels of an unknown transformation are shown as level 1.

    Tables that come from outside the database (labels, pseudonyms, the tuples that wildcards keep)
    are read by the steps and not shown.

    Raises:
        SpecError, DataError: the spec does not fit its source.
    """
    file = read(source)
    places(file, database)
    with reading(file, database=database, settings=settings) as session:
        bound = bind(file, session)
        around = populations.steps(bound, session)
        return _steps(replace(bound, source=pseudonyms.joined(bound)), around)


def _steps(bound: Bound, around: tuple[Step, ...]) -> tuple[Step, ...]:
    names = [c.name for c in bound.quasi_identifiers]
    quasi_identifiers = uncoded(bound)
    given = bound.spec.method.transformation or {}
    levels = {name.lower(): level for name, level in given.items()}
    node = tuple(levels.get(name.lower(), 1) for name in names)
    parameters = parameters_of(bound, None)
    released = [s.column for s in bound.staged]
    staged = Relation(full_domain.STAGED, schema="main", catalog="temp")
    kept = full_domain.kept_rows(quasi_identifiers, parameters)
    counting = Counting(bound.spec.null_policy, parameters.subject)
    measured = full_domain.COUNTED if parameters.subject else full_domain.STAGED
    counted = Relation(measured, schema="main", catalog="temp")
    return (
        classes.source_step(bound.source, bound.staged, subject_of(bound)),
        *(classes.values_step(i, name) for i, name in enumerate(names)),
        *coding_steps(bound),
        *around,
        *([kept.linked_step()] if parameters.rule.linked else []),
        full_domain.release_step(quasi_identifiers, released, node, parameters),
        *([full_domain.released_step(quasi_identifiers, released)] if parameters.subject else []),
        full_domain.dictionary_step(quasi_identifiers, staged),
        *(
            Step(f"verify_{model.model}", query)
            for model in bound.models
            for query in _measures(model, bound, counted, counting)
        ),
    )


def _measures(
    model: Model, bound: Bound, counted: Relation, counting: Counting
) -> Iterator[exp.Expr]:
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
    held = class_values(written, value_names(target), by_subject=by_subject)
    if not model.relative:
        return Shares(held)
    subject = bound.subject.name if bound.subject else None
    records = members(bound.source, (), target, subject)
    whole = source_values(records, value_names(target), by_subject=by_subject)
    if not isinstance(model, TCloseness) or model.distance != "hierarchical":
        return Shares(held, whole)
    columns = (Column("release", "VARCHAR"),)
    listed = Relation(HIERARCHIES, columns, schema="main", catalog="temp")
    return Shares(held, whole, hierarchy_nodes(whole, listed, target[0], bound.spec.release))
