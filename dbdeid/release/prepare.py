"""Preparing: the source staged in temporary tables, every quasi-identifier coded."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dbdeid.data import classes
from dbdeid.data.coding import Coding
from dbdeid.data.hierarchy import Hierarchy, as_rows, top_level
from dbdeid.engine.relation import Column, Relation
from dbdeid.engine.session import Session, Step
from dbdeid.engine.sqltext import step
from dbdeid.errors import DataError, Mistake, SpecError
from dbdeid.methods.full_domain import Parameters, QuasiIdentifier
from dbdeid.release.bind import Bound, BoundColumn, bounds_of
from dbdeid.release.hierarchies import coding_of

HIERARCHIES = "deid_hierarchies_used"


@dataclass(frozen=True, slots=True)
class Prepared:
    """A bound spec with its data staged and coded.

    Attributes:
        bound: the bound spec.
        quasi_identifiers: ready for search, in order of the source.
        parameters: of the method.
        rows: records of the source.
    """

    bound: Bound
    quasi_identifiers: tuple[QuasiIdentifier, ...]
    parameters: Parameters
    rows: int

    @property
    def released(self) -> tuple[Column, ...]:
        """The released columns as they are staged."""
        return tuple(Column(s.column.name, s.released_type) for s in self.bound.staged)


def prepare(bound: Bound, session: Session) -> Prepared:
    """Stage and code the source.

    Raises:
        HierarchyError: a hierarchy is broken or does not cover its column.
        DataError: the source is empty.
        SpecError: the given transformation does not fit the hierarchies.
    """
    session.run(classes.source_step(bound.source, bound.staged))
    rows = int(session.row(step("count_rows", {"rel": classes.SOURCE}))[0])
    if rows == 0:
        raise DataError("the source has no rows", hint="there is nothing to release")
    quasi_identifiers = tuple(
        _quasi_identifier(bound, session, i, c) for i, c in enumerate(bound.quasi_identifiers)
    )
    for coded in coding_steps(bound):
        session.run(coded)
    session.drop_temp(classes.SOURCE.name)
    return Prepared(bound, quasi_identifiers, parameters_of(bound, quasi_identifiers), rows)


def coding_steps(bound: Bound) -> tuple[Step, ...]:
    """The steps from values to distinct coded tuples."""
    names = [c.name for c in bound.quasi_identifiers]
    return (
        classes.coded_step([c.name for c in bound.released], names),
        classes.tuples_step(names),
    )


def _quasi_identifier(
    bound: Bound, session: Session, number: int, column: BoundColumn
) -> QuasiIdentifier:
    session.run(classes.values_step(number, column.name))
    values = classes.values_of(session, number)
    return _with_coding(bound, column, coding_of(bound, session, column, values))


def _with_coding(bound: Bound, column: BoundColumn, coding: Coding) -> QuasiIdentifier:
    return QuasiIdentifier(
        Column(column.name, column.released_type or "VARCHAR"),
        coding,
        column.spec.weight,
        column.spec.min_level,
        column.spec.max_level,
        bound.spec.output.bounds and bounds_of(column),
    )


def uncoded(bound: Bound) -> tuple[QuasiIdentifier, ...]:
    """The quasi-identifiers before any data is read, to show the steps that would run."""
    blank = Hierarchy("", "", (), (top_level(0),), declared=False)
    coding = Coding(blank, np.zeros(0, np.int64))
    return tuple(_with_coding(bound, c, coding) for c in bound.quasi_identifiers)


def parameters_of(bound: Bound, quasi_identifiers: Sequence[QuasiIdentifier] | None) -> Parameters:
    """The method's parameters as the search takes them.

    A given transformation is held against the hierarchies; without quasi-identifiers it is not
    looked at.
    """
    method = bound.spec.method
    return Parameters(
        k=bound.spec.smallest_class,
        suppression_limit=method.suppression_limit,
        objective=method.objective,
        engine=method.engine,
        transformation=_node(bound, quasi_identifiers) if quasi_identifiers else None,
        keep=method.suppressed == "keep",
    )


def _node(bound: Bound, quasi_identifiers: Sequence[QuasiIdentifier]) -> tuple[int, ...] | None:
    given = bound.spec.method.transformation
    if given is None:
        return None
    levels = {name.lower(): level for name, level in given.items()}
    mistakes = []
    for q in quasi_identifiers:
        level = levels.pop(q.name.lower(), None)
        highest = q.height if q.max_level is None else q.max_level
        if level is None:
            mistakes.append(_at(bound, f"no level for quasi-identifier {q.name!r}"))
        elif not q.min_level <= level <= highest:
            mistakes.append(
                _at(bound, f"level {level} of {q.name!r} is not {q.min_level}-{highest}")
            )
    mistakes += [_at(bound, f"{name!r} is not a quasi-identifier") for name in levels]
    if mistakes:
        raise SpecError(mistakes, source=bound.file.label)
    node = {name.lower(): level for name, level in given.items()}
    return tuple(node[q.name.lower()] for q in quasi_identifiers)


def _at(bound: Bound, message: str) -> Mistake:
    hint = "one level for each quasi-identifier, as in {age: 2, sex: 0}"
    return bound.file.mistake(message, "method", "transformation", hint=hint)


def upload_hierarchies(prepared: Prepared, session: Session) -> Relation:
    """The hierarchies in long form, as `deid.hierarchies` keeps them."""
    parts = []
    for q in prepared.quasi_identifiers:
        rows = as_rows(q.coding.hierarchy, with_null=bool((q.coding.leaf < 0).any()))
        rows["hierarchy"] = np.full(len(rows["level"]), q.name, np.object_)
        parts.append(rows)
    columns = {key: np.concatenate([part[key] for part in parts]) for key in parts[0]}
    return session.upload(HIERARCHIES, _typed(columns, prepared.bound.spec.release))


def _typed(columns: dict[str, NDArray[np.object_]], release: str) -> dict[str, object]:
    import pyarrow as pa

    types = {"level": pa.int32(), "loss": pa.float64()}
    typed: dict[str, object] = {"release": pa.array([release] * len(columns["level"]))}
    for name in ("hierarchy", "level", "value", "label", "loss", "lower", "upper"):
        typed[name] = pa.array(columns[name], types.get(name, pa.string()))
    return typed
