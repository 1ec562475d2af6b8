"""Non-uniform entropy of a written table (De Waal & Willenborg 1999; Gionis & Tassa 2009).

A cell whose value v is released in a group g loses log2(records of g / records of v) bits, counted
over all records of the source: what a reader who knows how often every value occurs still lacks. A
suppressed cell is `*`, whose group is everything. Reported is the share, in [0, 1], of the bits
that `*` in every cell loses. ARX reports bits, and the share of each column alone; it counts the
groups of suppressed records among these only.

Four records with the values a, a, b, c released as x, x, x, c lose 2·log2(3/2) + log2(3) = 2.755
bits; `*` everywhere loses 2·log2(4/2) + 2·log2(4) = 6. The share is 0.459.
"""

from __future__ import annotations

from collections.abc import Mapping

from dbdeid.engine.relation import Relation
from dbdeid.engine.session import Session
from dbdeid.engine.sqltext import step


def nonuniform_entropy(
    session: Session,
    source: Relation,
    released: Relation,
    values: Mapping[str, Relation],
    weights: Mapping[str, float],
) -> float:
    """The share of bits lost, in [0, 1]; 0 where there are none.

    Args:
        session: where the tables are.
        source: all records, each quasi-identifier by the code of its value.
        released: the written table.
        values: of each quasi-identifier the label of each code.
        weights: of the quasi-identifiers.
    """
    lost = whole = 0.0
    for name, meant in values.items():
        tables = {"source": source, "rel": released, "values": meant}
        bits = session.row(step("nonuniform_entropy", tables, {"col": [name]}))
        lost += weights[name] * float(bits[0])
        whole += weights[name] * float(bits[1])
    return lost / whole if whole else 0.0
