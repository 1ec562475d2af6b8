"""Sensitive attributes: counted in the whole source, and coded as their models need them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dbdeid.bind.bound import Bound
from dbdeid.bind.privacy_models import staged
from dbdeid.data.classes import sensitive_relation
from dbdeid.data.coding import Coding
from dbdeid.engine.expressions import aliased, any_value_of, cast, column, list_of, min_of, select
from dbdeid.engine.session import Session
from dbdeid.errors import HierarchyError
from dbdeid.prepare import spellings
from dbdeid.prepare.hierarchies import coding_of
from dbdeid.prepare.sensitive_conditions import Sensitive
from dbdeid.privacy import SensitiveModel, TCloseness
from dbdeid.privacy.common.histogram import Whole
from dbdeid.privacy.common.sensitive import Target


@dataclass(frozen=True, slots=True)
class Attribute:
    """A sensitive attribute as the search takes it, and its hierarchy where a model needs it."""

    sensitive: Sensitive
    coding: Coding | None


def attributes(bound: Bound, session: Session, subjects: int) -> tuple[Attribute, ...]:
    """Each sensitive attribute that is counted, with its values as they are staged.

    Args:
        bound: the bound spec.
        session: where the attributes are staged, in the order of `bind.privacy_models.staged`.
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
    texts = [cast(column(f"value{i}"), "VARCHAR") for i in range(len(target))]
    # one spelling of each value, or one of the combinations that are none: never parts of several
    first = aliased(min_of(list_of(*texts)), "texts")
    people = aliased(any_value_of(column("people")), "people")
    table = sensitive_relation(number).table
    rows = session.rows(select(people, first).from_(table).group_by("code").order_by("code"))
    meant = [
        [spellings.meant(bound, name, text) for name, text in zip(target, row[1], strict=True)]
        for row in rows
    ]
    nullable = [i for i, name in enumerate(target) if spellings.nullable(bound, name)]
    missing = np.array([any(parts[i] is None for i in nullable) for parts in meant], np.bool_)
    none = (None,) * len(target)
    values = (none if no else tuple(parts) for no, parts in zip(missing, meant, strict=True))
    labels = tuple(value[0] if len(target) == 1 else value for value in values)
    coding = None
    groups: tuple[NDArray[np.int64], ...] = ()
    if any(isinstance(m, TCloseness) and m.distance == "hierarchical" for m in models):
        shown = [
            None if label is None else row[1][0] for label, row in zip(labels, rows, strict=True)
        ]
        coding = _coding(bound, session, target[0], shown)
        levels = range(1, coding.hierarchy.height + 1)
        groups = tuple(coding.groups(level).astype(np.int64) for level in levels)
    counts = np.array([row[0] for row in rows], np.int64)
    whole = Whole(counts, subjects, labels, groups, missing if missing.any() else None)
    judging = tuple(spellings.as_meant(bound, model, target) for model in models)
    return Attribute(Sensitive(target, judging, whole), coding)


def _coding(bound: Bound, session: Session, name: str, values: list[str | None]) -> Coding:
    (column,) = (c for c in bound.columns if c.name == name)
    try:
        return coding_of(bound, session, column, values)
    except HierarchyError as error:  # without its examples: they are sensitive values
        hint = error.hint
        if error.examples:
            hint = "add a row for each of them; sensitive values are not printed"
        raise HierarchyError(error.message, hint=hint) from None
