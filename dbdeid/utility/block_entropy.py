"""Block entropy of a written table (Yoo, Shin & Lee 2012): how its classes mix values, in bits.

The sum over the quasi-identifiers of H(attribute | class): the entropy of the original values
inside an equivalence class, and the mean of it over all records. A removed record counts the
entropy of the attribute in the source. A class that was kept in part is mixed as it was in whole.

Of the values a, a, b, c the class {a, a, b} has 0.918 bits and {c} none: 3/4 · 0.918 = 0.689 bits
a record. In the classes {a, a} and {b, c} it is 1/2 · 1 = 0.5 bits.
"""

from __future__ import annotations

from collections.abc import Mapping

from dbdeid.engine.expressions import (
    Query,
    aliased,
    any_value_of,
    coalesce,
    column,
    literal,
    select,
    sum_of,
)
from dbdeid.engine.session import Session
from dbdeid.engine.sqltext import step
from dbdeid.utility.common.counted import Rows
from dbdeid.utility.common.members import Members, stage_members
from dbdeid.utility.common.metric import Metric, Words
from dbdeid.utility.node_entropy import weighted_bits

METRIC = Metric(
    "block_entropy",
    Words(
        "Block entropy",
        "Sum over the quasi-identifiers of the entropy of the original values inside a class, on "
        "average over all records: how classes mix values. A removed record has the entropy of "
        "the whole column. Yoo, Shin & Lee 2012.",
        "0 bits (unchanged) to the sum of the columns' entropies",
        "lower",
    ),
    families=("generalized", "local"),
)


def block_entropy(
    session: Session, released: Rows, members: Members, weights: Mapping[str, float]
) -> float:
    """The bits a record, from 0 to the sum of the entropies of the quasi-identifiers.

    Args:
        session: where the tables are.
        released: the written table.
        members: the records of the source by its classes.
        weights: of the quasi-identifiers, relative to their mean.
    """
    staged = stage_members(session, released, members)
    kept = 0
    if members.told:
        classes = select(aliased(any_value_of(column("released")), "released")).from_(staged.table)
        classes = classes.group_by("class")
        total = coalesce(sum_of(column("released")), literal(0))
        kept = int(session.row(select(total).from_(classes.subquery("classes")))[0])
    parts: list[Query] = []
    for i, name in enumerate(members.quasi_identifiers):
        if (values := members.told.get(name)) is not None:
            tables, given = {"values": values}, {"released": kept}
            bits = step("utility/block_entropy_told", tables, values=given)
        else:
            bits = step("utility/block_entropy", {"members": staged}, {"col": [f"value_{i}"]})
        named = aliased(literal(name), "name")
        parts.append(select(named, "bits", "records").from_(bits.subquery("bits")))
    return weighted_bits(session, parts, weights)
