"""Node entropy of a written table: what its released values leave open, in bits.

The sum over the quasi-identifiers of the mean over all records of H(attribute | released value),
the entropy of the attribute among all records of the source whose value is below what is released:
what a reader lacks who knows how often every value occurs. A removed record lacks the whole entropy
of the attribute. Which record went where does not matter; where it does is `block_entropy`.

Four records with the values a, a, b, c released as x, x, x, c: x stands for a, a, b and lacks 0.918
bits, so that 3/4 · 0.918 = 0.689 bits a record are lacking.
"""

from __future__ import annotations

from collections.abc import Mapping

from dbdeid.engine.expressions import Query, aliased, literal, select, union_all
from dbdeid.engine.relation import Relation
from dbdeid.engine.session import Session
from dbdeid.engine.sqltext import step
from dbdeid.utility.common.counted import Rows, of_column
from dbdeid.utility.common.metric import Metric, Words

METRIC = Metric(
    "node_entropy",
    Words(
        "Node entropy",
        "Sum over the quasi-identifiers of the bits that a released value leaves open for a "
        "reader who knows how often each value occurs, on average over all records. A removed "
        "record leaves the whole column open.",
        "0 bits (unchanged) to the sum of the columns' entropies",
        "lower",
    ),
    families=("generalized", "local"),
)


def node_entropy(
    session: Session,
    source: Rows | Mapping[str, Query],
    released: Rows,
    means: Mapping[str, Relation | Query],
    weights: Mapping[str, float],
) -> float:
    """The bits a record, from 0 to the sum of the entropies of the quasi-identifiers.

    Args:
        session: where the tables are.
        source: all records, each quasi-identifier by the code of its value; or of
            each of them how many `records` have which code, its `value`.
        released: the written table.
        means: of each quasi-identifier the rows `label`, `code`: what its released values stand
            for. A label may have many codes, and a code be below many labels.
        weights: of the quasi-identifiers, relative to their mean.
    """
    parts: list[Query] = []
    for name, codes in means.items():
        before, after = (of_column(rows, name) for rows in (source, released))
        bits = step("utility/node_entropy", {"source": before, "rel": after, "means": codes})
        named = aliased(literal(name), "name")
        parts.append(select(named, "bits", "records").from_(bits.subquery("bits")))
    return weighted_bits(session, parts, weights)


def weighted_bits(session: Session, parts: list[Query], weights: Mapping[str, float]) -> float:
    """The weighted sum over quasi-identifiers of their bits a record.

    Args:
        session: where the tables are.
        parts: of each quasi-identifier `name`, `bits` of all records and `records`.
        weights: of the quasi-identifiers, relative to their mean.
    """
    found = {
        name: bits / max(records, 1) for name, bits, records in session.rows(union_all(*parts))
    }
    mean = sum(weights[name] for name in found) / len(found)
    return float(sum(weights[name] / mean * found[name] for name in weights))
