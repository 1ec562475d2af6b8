"""The dictionary of a release: what each generalized value stands for."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from dbdeid.engine.expressions import (
    Query,
    aliased,
    all_of,
    ascending,
    cast,
    column,
    literal,
    same_value,
    select,
    union_all,
)
from dbdeid.engine.relation import Relation
from dbdeid.engine.session import Session, Step
from dbdeid.methods.common.outcome import Values
from dbdeid.prepare.quasi_identifier import QuasiIdentifier

DICTIONARY = "deid_dictionary"


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
    occurring: Query | None = None
    for q in quasi_identifiers:
        one = (
            select(
                aliased(literal(q.name), "column_name"),
                aliased(cast(column(q.name), "VARCHAR"), "value"),
            )
            .from_(staged.table)
            .distinct()
        )
        occurring = one if occurring is None else union_all(occurring, one)
    assert occurring is not None
    entry = Relation(DICTIONARY + "_all", schema="main", catalog="temp")
    names = ("column", "released_value", "level", "lower", "upper", "leaves")
    same = all_of(
        column("column", "entry").eq(column("column_name", "occurring")),
        same_value(column("released_value", "entry"), column("value", "occurring")),
    )
    order = [ascending(column(n, "entry")) for n in names[:2]]
    query = (
        select(*[column(n, "entry") for n in names])
        .from_(entry.aliased("entry"))
        .join(occurring.subquery("occurring"), on=same)
        .order_by(*order)
    )
    return Step(DICTIONARY, query)
