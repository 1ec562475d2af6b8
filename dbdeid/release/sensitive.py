"""Sensitive attributes: counted in the whole source, and coded as their models need them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from sqlglot import exp

from dbdeid.data.classes import sensitive_relation
from dbdeid.data.coding import Coding
from dbdeid.engine.relation import cast
from dbdeid.engine.session import Session
from dbdeid.errors import HierarchyError
from dbdeid.methods.conditions import Sensitive
from dbdeid.privacy import SensitiveModel, TCloseness
from dbdeid.privacy.histogram import Whole
from dbdeid.privacy.sensitive import Target
from dbdeid.release.bind import Bound
from dbdeid.release.hierarchies import coding_of
from dbdeid.release.models import staged


@dataclass(frozen=True, slots=True)
class Attribute:
    """A sensitive attribute as the search takes it, and its hierarchy where a model needs it."""

    sensitive: Sensitive
    coding: Coding | None


def attributes(bound: Bound, session: Session, subjects: int) -> tuple[Attribute, ...]:
    """Each sensitive attribute that is counted, with its values as they are staged.

    Args:
        bound: the bound spec.
        session: where the attributes are staged, in the order of `models.staged`.
        subjects: people of the source.

    Raises:
        HierarchyError: a hierarchy is broken or does not cover its column.
    """
    return tuple(
        _attribute(bound, session, i, target, models, subjects)
        for i, (target, models) in enumerate(staged(bound).items())
    )


def _attribute(
    bound: Bound,
    session: Session,
    number: int,
    target: Target,
    models: tuple[SensitiveModel, ...],
    subjects: int,
) -> Attribute:
    texts = [cast(exp.column(f"value{i}"), "VARCHAR") for i in range(len(target))]
    rows = session.rows(
        exp.select("people", *texts).from_(sensitive_relation(number).table).order_by("code")
    )
    labels = tuple(row[1] if len(target) == 1 else tuple(row[1:]) for row in rows)
    coding = None
    groups: tuple[NDArray[np.int64], ...] = ()
    if any(isinstance(m, TCloseness) and m.distance == "hierarchical" for m in models):
        coding = _coding(bound, session, target[0], [row[1] for row in rows])
        levels = range(1, coding.hierarchy.height + 1)
        groups = tuple(coding.groups(level).astype(np.int64) for level in levels)
    counts = np.array([row[0] for row in rows], np.int64)
    whole = Whole(counts, subjects, labels, groups)
    return Attribute(Sensitive(target, models, whole), coding)


def _coding(bound: Bound, session: Session, name: str, values: list[str | None]) -> Coding:
    (column,) = (c for c in bound.columns if c.name == name)
    try:
        return coding_of(bound, session, column, values)
    except HierarchyError as error:  # without its examples: they are sensitive values
        hint = error.hint
        if error.examples:
            hint = "add a row for each of them; sensitive values are not printed"
        raise HierarchyError(error.message, hint=hint) from None
