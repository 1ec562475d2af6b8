"""The dictionary of a release: what each generalized value stands for."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from sqlglot import exp

from dbdeid.engine.relation import Relation, cast, column
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
    occurring: exp.Query | None = None
    for q in quasi_identifiers:
        one = (
            exp.select(
                exp.alias_(exp.Literal.string(q.name), "column_name"),
                exp.alias_(cast(column(q.name), "VARCHAR"), "value"),
            )
            .from_(staged.table)
            .distinct()
        )
        occurring = one if occurring is None else exp.union(occurring, one, distinct=False)
    assert occurring is not None
    entry = Relation(DICTIONARY + "_all", schema="main", catalog="temp")
    names = ("column", "released_value", "level", "lower", "upper", "leaves")
    same = exp.and_(
        column("column", "entry").eq(exp.column("column_name", "occurring")),
        exp.NullSafeEQ(
            this=column("released_value", "entry"), expression=exp.column("value", "occurring")
        ),
    )
    order = [exp.Ordered(this=column(n, "entry"), nulls_first=False) for n in names[:2]]
    query = (
        exp.select(*[column(n, "entry") for n in names])
        .from_(exp.alias_(entry.table, "entry", table=True))
        .join(occurring.subquery("occurring"), on=same)
        .order_by(*order)
    )
    return Step(DICTIONARY, query)
