"""Non-uniform entropy of a written table (De Waal & Willenborg 1999; Gionis & Tassa 2009).

A cell whose value v is released in a group g loses log2(records of g / records of v) bits, counted
over all records of the source: what a reader who knows how often every value occurs still lacks. A
suppressed cell is `*`, whose group is everything. Reported is the share, in [0, 1], of the bits
that `*` in every cell loses. ARX reports bits, and the share of each column alone; it counts the
groups of suppressed records among these only.

Four records with the values a, a, b, c released as x, x, x, c lose 2·log2(3/2) + log2(3) = 2.755
bits; `*` everywhere loses 2·log2(4/2) + 2·log2(4) = 6. The share is 0.459.

Where levels differ between classes, the group of a label are all records of the source whose value
is below it, however they are released themselves.
"""

from __future__ import annotations

from collections.abc import Mapping

from dbdeid.engine.expressions import Query, aliased, literal, select, union_all
from dbdeid.engine.relation import Relation
from dbdeid.engine.session import Session
from dbdeid.engine.sqltext import step
from dbdeid.utility.common.counted import Rows, of_column
from dbdeid.utility.common.members import Crosswalk
from dbdeid.utility.common.metric import Metric, Words

METRIC = Metric(
    "nonuniform_entropy",
    Words(
        "Non-uniform entropy",
        "Of the bits that tell the values of the quasi-identifiers apart, the share that is gone "
        "for a reader who knows how often each value occurs. A removed record loses all of its "
        "bits. De Waal & Willenborg 1999; Gionis & Tassa 2009.",
        "0 (unchanged) to 1 (nothing left)",
        "lower",
    ),
    families=("generalized", "local"),
)


def nonuniform_entropy(
    session: Session,
    source: Rows | Mapping[str, Query],
    released: Rows,
    values: Mapping[str, Relation | Query],
    weights: Mapping[str, float],
) -> float:
    """The share of bits lost, in [0, 1]; 0 where there are none.

    Args:
        session: where the tables are.
        source: all records, each quasi-identifier by the code of its value; or of
            each of them how many `records` have which code, its `value`.
        released: the written table.
        values: of each quasi-identifier the label of each code.
        weights: of the quasi-identifiers.
    """
    parts: list[Query] = []
    for name, meant in values.items():
        before, after = (of_column(rows, name) for rows in (source, released))
        tables = {"source": before, "rel": after, "values": meant}
        parts.append(_named(name, step("utility/nonuniform_entropy", tables)))
    return _share(session, parts, weights)


def nonuniform_entropy_of_crosswalk(
    session: Session,
    crosswalk: Crosswalk,
    means: Mapping[str, Relation | Query],
    weights: Mapping[str, float],
) -> float:
    """The share of bits lost where levels differ between classes, in [0, 1].

    Args:
        session: where the tables are.
        crosswalk: what each record is released as; no record is removed.
        means: of each quasi-identifier the rows `label`, `value`: what its released values stand
            for, as text.
        weights: of the quasi-identifiers.
    """
    parts: list[Query] = []
    for name, values in means.items():
        tables = {"pairs": crosswalk.pairs(name), "means": values}
        parts.append(_named(name, step("utility/nonuniform_entropy_of_pairs", tables)))
    return _share(session, parts, weights)


def _named(name: str, bits: Query) -> Query:
    named = aliased(literal(name), "name")
    return select(named, "lost", "whole").from_(bits.subquery("bits"))


def _share(session: Session, parts: list[Query], weights: Mapping[str, float]) -> float:
    found = {name: bits for name, *bits in session.rows(union_all(*parts))}
    lost = sum(weights[name] * float(found[name][0]) for name in found)
    whole = sum(weights[name] * float(found[name][1]) for name in found)
    return lost / whole if whole else 0.0
