"""The SQL steps of a run, shown and not executed: only names and types of columns are read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from dbdeid.data import classes
from dbdeid.engine.relation import Relation
from dbdeid.engine.session import Settings, Step
from dbdeid.methods import full_domain
from dbdeid.privacy.counting import Counting
from dbdeid.release import pseudonyms
from dbdeid.release.bind import Bound, bind
from dbdeid.release.prepare import coding_steps, parameters_of, subject_of, uncoded
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
        return _steps(replace(bound, source=pseudonyms.joined(bound)))


def _steps(bound: Bound) -> tuple[Step, ...]:
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
        *([kept.linked_step()] if parameters.rule.linked else []),
        full_domain.release_step(quasi_identifiers, released, node, parameters),
        *([full_domain.released_step(quasi_identifiers, released)] if parameters.subject else []),
        full_domain.dictionary_step(quasi_identifiers, staged),
        *(
            Step(f"verify_{model.model}", model.measure(counted, names, counting))
            for model in bound.models
        ),
    )
