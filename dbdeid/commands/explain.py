"""The SQL steps of a run, shown and not executed: only names and types of columns are read."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from dbdeid.bind.bind import bind
from dbdeid.bind.bound import Bound
from dbdeid.bind.privacy_models import staged
from dbdeid.bind.read import read
from dbdeid.bind.source import resolve_source
from dbdeid.data import classes
from dbdeid.data.weights import truthful, weighted
from dbdeid.engine.expressions import Query
from dbdeid.engine.relation import MEASURED, Column, Relation
from dbdeid.engine.session import Settings, Step, ViewStep
from dbdeid.lattice.lattice import Node
from dbdeid.methods.common.generalized import COUNTED, STAGED, kept_rows
from dbdeid.methods.common.release_dictionary import dictionary_step
from dbdeid.methods.condensation import synthetic_rows
from dbdeid.methods.counterfeit import counterfeit, padded_rows
from dbdeid.methods.full_domain import full_domain, relocation
from dbdeid.methods.local_recoding import local_recoding, recoded_rows, sql_dealing
from dbdeid.methods.microaggregation import masked_rows, microaggregation
from dbdeid.prepare import populations, pseudonyms, spellings
from dbdeid.prepare.prepare import HIERARCHIES, coding_steps, parameters_of, subject_of, uncoded
from dbdeid.prepare.problem import Padding, Parameters, Synthesis
from dbdeid.prepare.quasi_identifier import QuasiIdentifier
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
from dbdeid.spec.method_spec import FullDomain, Relocation
from dbdeid.spec.names import catalog_name, refuse
from dbdeid.utility.fidelity.cluster_moments import moments_step
from dbdeid.workspace.release_files import places
from dbdeid.workspace.workplace import reading


def steps(
    source: str | Path | Mapping[str, Any],
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
        bound = bind(file, session, resolve_source(file, session))
        around = populations.steps(bound, session)
        return _steps(replace(bound, source=pseudonyms.joined(bound)), around)


def _steps(bound: Bound, around: tuple[Step, ...]) -> tuple[Step, ...]:
    names = [c.name for c in bound.quasi_identifiers]
    quasi_identifiers = uncoded(bound)
    method = bound.spec.method
    given = (method.transformation if isinstance(method, FullDomain) else None) or {}
    levels = {name.lower(): level for name, level in given.items()}
    node = tuple(levels.get(name.lower(), 1) for name in names)
    parameters = parameters_of(bound, None)
    if parameters.synthesis is not None:
        staging = classes.source_step(bound.source, bound.staged, subject_of(bound))
        return staging, *_drawn(parameters.synthesis)
    released = [s.column for s in bound.staged]
    counting = Counting(bound.spec.null_policy, parameters.subject)
    measured = COUNTED if parameters.subject else STAGED
    counted = Relation(measured, schema="main", catalog="temp")
    return (
        classes.source_step(bound.source, bound.staged, subject_of(bound)),
        *(classes.values_step(i, name) for i, name in enumerate(names)),
        *coding_steps(bound, {}),
        *around,
        *_made(bound, quasi_identifiers, released, node, parameters),
        *(
            Step(f"verify_{model.model}", query)
            for model in bound.models
            for query in _measures(model, bound, counted, counting)
        ),
    )


def _made(
    bound: Bound,
    quasi_identifiers: tuple[QuasiIdentifier, ...],
    released: list[Column],
    node: Node,
    parameters: Parameters,
) -> Iterator[Step]:
    """From the coded source to the release and the tables beside it."""
    staged = Relation(STAGED, schema="main", catalog="temp")
    dictionary = dictionary_step(quasi_identifiers, staged)
    if parameters.padding is not None:
        names = padded_rows.Names(
            quasi_identifiers, parameters.padding.sensitive, parameters.padding.others
        )
        yield from _padded(names, released, node, parameters, parameters.padding)
        yield dictionary
        _, columns = padded_rows.released_query([padded_rows.MEMBERS], names, released)
        yield from _catalogued(bound.spec.release, parameters.padding, columns)
        return
    if parameters.recoding is not None:
        yield from _recoded(bound, quasi_identifiers, released, node, parameters)
        yield dictionary
        return
    if parameters.masking is not None:
        yield from _masked(quasi_identifiers, released, parameters)
        return
    coded = classes.CODED
    if isinstance(bound.spec.method, Relocation):
        named = [q.name for q in quasi_identifiers]
        yield relocation.moved_step(named, [c.name for c in released])
        coded = relocation.MOVED
        dictionary = relocation.dictionary_step(quasi_identifiers, staged)
    if parameters.rule.linked:
        yield kept_rows(quasi_identifiers, parameters).linked_step()
    yield full_domain.release_step(quasi_identifiers, released, node, parameters, coded)
    if parameters.subject:
        yield full_domain.released_step(quasi_identifiers, released)
    yield dictionary


def _drawn(synthesis: Synthesis) -> Iterator[Step]:
    """From the staged source to numbers, and from what is drawn outside the database back."""
    columns = synthesis.columns
    named = (*synthesis.categorical, *synthesis.strata)
    categories = [synthetic_rows.named(c) or c.name in named for c in columns]
    for i, (c, category) in enumerate(zip(columns, categories, strict=True)):
        if category:
            yield synthetic_rows.levels_step(i, c, synthesis.pools.get(c.name))
    place = synthetic_rows.place_in(columns)
    yield synthetic_rows.records_step(columns, place)
    yield synthetic_rows.codes_step(columns, categories, place)
    yield synthetic_rows.synthetic_step(columns, categories, place)
    yield from synthetic_rows.release_steps(columns, place)
    if any(c.family in MEASURED for c in columns):
        yield moments_step(synthetic_rows.CLUSTERS, columns)


def _masked(
    quasi_identifiers: tuple[QuasiIdentifier, ...], released: list[Column], parameters: Parameters
) -> Iterator[Step]:
    """From units of records to groups, their means and the release."""
    names = microaggregation.names_of(quasi_identifiers, parameters)
    yield recoded_rows.records_step(names)
    yield recoded_rows.units_step(names)
    yield recoded_rows.blocks_step(names)
    yield masked_rows.masked_step(names)
    yield from recoded_rows.release_steps(names, released)


def _recoded(
    bound: Bound,
    quasi_identifiers: tuple[QuasiIdentifier, ...],
    released: list[Column],
    node: Node,
    parameters: Parameters,
) -> Iterator[Step]:
    """From units of records to blocks and to the release.

    Blocks are made outside the database; or dealt inside, as is shown for one transformation.
    """
    names = recoded_rows.Names(
        quasi_identifiers,
        tuple(staged(bound)),
        parameters.recoding.others if parameters.recoding else (),
        parameters.subject,
    )
    yield recoded_rows.records_step(names)
    yield recoded_rows.units_step(names)
    if parameters.recoding is not None and parameters.recoding.engine == "sql":
        yield from sql_dealing.steps(quasi_identifiers, len(names.sensitive), node, parameters.k)
    yield from local_recoding.steps(names, ())
    yield from recoded_rows.release_steps(names, released)


def _padded(
    names: padded_rows.Names,
    released: list[Column],
    node: Node,
    parameters: Parameters,
    padding: Padding,
) -> Iterator[Step]:
    """The records, what classes lack, what is drawn for them, and the release of both."""
    uniform, made = padding.catalog == "paper", padded_rows.COUNTERFEITS
    real = padded_rows.real_step(names, node, parameters.rule)
    yield padded_rows.pieces_step(names, ()) if padding.borrow else real
    yield from padded_rows.member_steps(names, parameters.k, parameters.k)
    yield from padded_rows.drawing_steps(uniform=uniform)
    yield padded_rows.counterfeits_step(names, uniform=uniform)
    if names.others and not uniform:
        risk = padded_rows.risk_query(names, made, padded_rows.CATALOG_GROUPS)
        yield Step("padding_risk", risk)
    yield from counterfeit.release_steps(names, released)


def _catalogued(release: str, padding: Padding, columns: list[str]) -> Iterator[Step]:
    """The catalog, and the views that read a release with it."""
    if padding.catalog == "none":
        return
    groups, sensitive = padded_rows.CATALOG_GROUPS, padding.sensitive
    yield padded_rows.catalog_step(counterfeit.CATALOG, groups, sensitive)
    tables = Relation(release), Relation(catalog_name(release))
    yield ViewStep(f"{release}_weighted", weighted(*tables, sensitive))
    yield ViewStep(f"{release}_truthful", truthful(*tables, sensitive, columns))


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
