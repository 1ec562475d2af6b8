"""What the records of a group read when means replace their values, and how that is written.

A number, a date and a moment become the mean of those of the group that are known, dates rounded to
a day and moments to a second; they are missing only where the whole group's are. Text and truth
values become the most frequent of the group, the first in their order where several are; a missing
one is a value like others, the last.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dbdeid.data.classes import values_relation
from dbdeid.data.records import Attribute
from dbdeid.engine.expressions import (
    Expr,
    aliased,
    cast,
    coalesce,
    column,
    literal,
    not_null,
    select,
)
from dbdeid.engine.relation import MEASURED, Column, Relation
from dbdeid.engine.session import Session, Step
from dbdeid.errors import DataError
from dbdeid.methods.common.numbers import LARGEST, as_number, from_number, indistinct
from dbdeid.methods.local_recoding.recoded_rows import BLOCKS, RECODED, Names
from dbdeid.methods.microaggregation.groups import Groups, means, modes
from dbdeid.prepare.quasi_identifier import QuasiIdentifier

Floats = NDArray[np.float64]

MASKS = Relation("deid_masks", schema="main", catalog="temp")
# With more names than this, most are a few people's: the most frequent of a group says nothing.
MOST_LEVELS = 1000
SECOND = 1e6
# Squares of larger numbers cannot be added up.
HUGE = 1e100


@dataclass(frozen=True, slots=True)
class Masks:
    """What the records of each group read.

    Attributes:
        columns: of each quasi-identifier (groups,) the numbers, NaN where missing, or the codes of
            categories.
    """

    columns: tuple[Floats, ...]


def masked_type(staged: str) -> str:
    """The type that a quasi-identifier is released in.

    >>> masked_type("INTEGER"), masked_type("DATE"), masked_type("BOOLEAN")
    ('DOUBLE', 'DATE', 'BOOLEAN')
    """
    family = Column("", staged).family
    return "DOUBLE" if family in MEASURED and family not in ("date", "timestamp") else staged


def attributes_of(
    session: Session,
    quasi_identifiers: Sequence[QuasiIdentifier],
    codes: Sequence[NDArray[Any]],
) -> list[Attribute]:
    """The quasi-identifiers as numbers and categories.

    Args:
        session: where their values are staged.
        quasi_identifiers: in their order.
        codes: of each (n,) the codes of its values.

    Raises:
        DataError: a column has values without a mean, or too many that are names.
    """
    found = []
    for i, (q, own) in enumerate(zip(quasi_identifiers, codes, strict=True)):
        if q.column.family in MEASURED:
            values = _numbers(session, i, q.column)
            found.append(Attribute(q.name, values[own], weight=q.weight))
            continue
        levels = int(own.max()) + 1
        if levels > MOST_LEVELS:
            raise DataError(
                f"column {q.name!r} has {levels:,} categories: the most frequent of a group would "
                "be one person's",
                hint="group them in `source: {sql: …}`, or drop the column",
            )
        found.append(Attribute(q.name, own.astype(np.float64), levels, weight=q.weight))
    return found


def _numbers(session: Session, number: int, c: Column) -> Floats:
    """The values of a column as numbers, by code; NaN where missing."""
    value = coalesce(cast(as_number(c, column("value")), "DOUBLE"), cast(literal("nan"), "DOUBLE"))
    known = not_null(column("value"))
    query = select(aliased(value, "x"), aliased(known, "known"))
    arrays = session.arrays(query.from_(values_relation(number).table).order_by("code"))
    values = np.asarray(arrays["x"], np.float64)
    odd = int(np.count_nonzero(~np.isfinite(values) & arrays["known"]))
    if odd:
        raise DataError(
            f"column {c.name!r} has {odd} values that are not finite, which have no mean",
            hint="make them NULL in `source: {sql: …}`",
        )
    if (np.abs(values) > HUGE).any():
        raise DataError(
            f"column {c.name!r} has numbers beyond {HUGE:g}, whose distances are no numbers",
            hint="divide them, or make them NULL, in `source: {sql: …}`",
        )
    if c.family == "integer" and (np.abs(values) >= LARGEST).any():
        raise DataError(
            f"column {c.name!r} has numbers of 2^53 and more, which doubles cannot tell apart",
            hint="say `type: categorical` if they are names, or drop the column",
        )
    known = values[~np.isnan(values)]
    if alike := len(known) - len(np.unique(known)):
        raise indistinct(c.name, alike)
    return values


def masks_of(
    quasi_identifiers: Sequence[QuasiIdentifier], attributes: Sequence[Attribute], groups: Groups
) -> Masks:
    """What each group reads.

    Args:
        quasi_identifiers: in their order.
        attributes: the same as numbers and categories.
        groups: of their records.
    """
    columns = []
    for q, attribute in zip(quasi_identifiers, attributes, strict=True):
        if attribute.levels is not None:
            columns.append(modes(attribute.values, groups))
            continue
        found = means(attribute.values, groups)
        if q.column.family == "date":
            found = np.rint(found)
        elif q.column.family == "timestamp":
            found = np.rint(found / SECOND) * SECOND
        columns.append(found + 0.0)  # no -0
    return Masks(tuple(columns))


def upload(session: Session, masks: Masks) -> Relation:
    """The masks as a temporary table: block, m0, m1, …"""
    columns = {f"m{i}": own for i, own in enumerate(masks.columns)}
    return session.upload(MASKS.name, {"block": np.arange(len(masks.columns[0])), **columns})


def masked_step(names: Names) -> Step:
    """The records with what they read: k0, k1, …"""
    query = select(*(column(name, "rows") for name in (*names.codes, *names.rest)))
    query = query.from_(BLOCKS.aliased("rows"))
    same = column("block", "masks").eq(column("block", "rows"))
    query = query.join(MASKS.aliased("masks"), on=same)
    for i, q in enumerate(names.quasi_identifiers):
        mask: Expr = column(f"m{i}", "masks")
        kind = masked_type(q.column.type)
        if q.column.family in MEASURED:
            mask = from_number(Column(q.name, kind), mask)
        else:
            values = values_relation(i).aliased(f"v{i}")
            code = cast(column("code", f"v{i}"), "DOUBLE")
            query = query.join(values, on=code.eq(mask))
            mask = column("value", f"v{i}")
        query = query.select(aliased(cast(mask, kind), f"k{i}"))
    return Step(RECODED.name, query)
