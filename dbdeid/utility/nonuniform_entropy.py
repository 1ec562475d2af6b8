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

from sqlglot import exp

from dbdeid.engine.relation import Relation
from dbdeid.engine.session import Session
from dbdeid.engine.sqltext import all_rows, step


def nonuniform_entropy(
    session: Session,
    source: Relation,
    released: Relation,
    values: Mapping[str, Relation | exp.Query],
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
    parts: list[exp.Query] = []
    for name, meant in values.items():
        tables = {"source": source, "rel": released, "values": meant}
        bits = step("nonuniform_entropy", tables, {"col": [name]})
        assert isinstance(bits, exp.Query)
        named = exp.alias_(exp.Literal.string(name), "name")
        parts.append(exp.select(named, "lost", "whole").from_(bits.subquery("bits")))
    found = {name: bits for name, *bits in session.rows(all_rows(parts))}
    lost = sum(weights[name] * float(found[name][0]) for name in values)
    whole = sum(weights[name] * float(found[name][1]) for name in values)
    return lost / whole if whole else 0.0
