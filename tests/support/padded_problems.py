"""Random problems of padding, and what one node needs, record by record."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from hypothesis import strategies as st
from random_problems import (
    Mixed,
    RecordChecker,
    attributes,
    attributes_with_null,
    row_values,
)

from dbdeid.lattice.lattice import Lattice, Node
from dbdeid.lattice.rule import Rule
from dbdeid.lattice.tuples import Tuples
from dbdeid.methods.counterfeit.search.padding import Need, Padding


@dataclass(frozen=True)
class Padded:
    """A problem of padding."""

    lattice: Lattice
    tuples: Tuples
    k: int
    size: int
    conditions: tuple[Mixed, ...]
    catalog: int | None
    pooled: bool

    @property
    def padding(self) -> Padding:
        return Padding(
            self.lattice,
            self.tuples,
            self.k,
            size=self.size,
            conditions=self.conditions,
            catalog=self.catalog,
            pooled=self.pooled,
        )


@st.composite
def padded_problems(draw: st.DrawFn, most_rows: int = 30) -> Padded:
    """Codes of NULL, weights, bounds on levels, conditions, with and without a sensitive column."""
    made = st.sampled_from([attributes, attributes, attributes_with_null])
    lattice = Lattice(tuple(draw(draw(made)(name)) for name in "abc"[: draw(st.integers(1, 3))]))
    row = st.tuples(*(st.integers(0, a.cardinality - 1) for a in lattice.attributes))
    rows = sorted(set(draw(st.lists(row, max_size=most_rows))))
    weights = draw(st.lists(st.integers(1, 3), min_size=len(rows), max_size=len(rows)))
    codes = np.array(rows, dtype=np.uint16).reshape(len(rows), len(lattice.attributes)).T
    sensitive, conditions = draw(st.booleans()), ()
    if sensitive and draw(st.booleans()):
        share = draw(st.sampled_from([0.5, 0.7, 1.0]))
        conditions = (Mixed(draw(st.integers(1, 3)), share),)
    values = (draw(row_values(weights)),) if sensitive else ()
    tuples = Tuples(tuple(codes), np.array(weights, np.int64), None, values)
    k = draw(st.integers(1, 6))
    size = k + draw(st.sampled_from([0, 0, 1, 2]))
    catalog = 0 if sensitive else None
    return Padded(lattice, tuples, k, size, conditions, catalog, draw(st.booleans()))


def need(problem: Padded, node: Node) -> Need:
    """What a node needs, from lists of records and in fractions."""
    lattice, k, m = problem.lattice, problem.k, problem.size
    columns = len(lattice.attributes) + (problem.catalog is not None)
    records = [*RecordChecker(lattice, problem.tuples, Rule(k))._records(node)]
    guess: dict[tuple[int, ...], Fraction] = {}
    for codes in zip(*problem.tuples.codes, strict=True):
        cells = [*zip(codes, lattice.attributes, node, strict=True)]
        leaves = [Fraction(1, int(a.size(level)[code])) for code, a, level in cells]
        groups = tuple(int(a.groups[level][code]) for code, a, level in cells)
        guess[groups] = (sum(leaves) + (problem.catalog is not None)) / Fraction(columns)
    counts = Counter(r.groups for r in records)
    missing = {group: m - n for group, n in counts.items() if n < k}
    candidates = {group for group, n in counts.items() if n < k or n == m}
    real = Counter(r.value for r in records if r.groups in candidates)
    total = sum(missing.values())
    drawn = shared_out(real, total)
    p = {s: Fraction(n, n + drawn[s]) for s, n in real.items()} if problem.pooled else {}
    error = Fraction(0)
    for r in records:
        mine = p[r.value] if p and r.groups in candidates else Fraction(1)
        error += 1 - (2 * mine - mine**2) * guess[r.groups]
    for group, n in missing.items():
        for s, share in drawn.items():  # a slot holds s as often as s is drawn
            error += n * Fraction(share, total) * p.get(s, Fraction(1)) ** 2 * guess[group]
    large = [g for g, n in counts.items() if n >= k]
    members = {g: [r for r in records if r.groups == g] for g in large}
    return Need(
        node=node,
        degree=max((r.loss for r in records), default=0.0),
        counterfeits=total,
        loss=sum(r.loss for r in records) / max(len(records), 1),
        error=float(error / max(len(records), 1)),
        holds=all(c.holds(members[g]) for c in problem.conditions for g in large),
        classes=len(counts),
        padded=len(missing),
        candidates=len(candidates),
        below=0,
    )


def shared_out(real: Counter[int], total: int) -> Counter[int]:
    """Largest remainders in fractions; ties to the larger count, then to the lower value."""
    whole = sum(real.values())
    exact = {s: Fraction(n * total, whole) for s, n in real.items()}
    drawn = Counter({s: int(share) for s, share in exact.items()})
    order = sorted(exact, key=lambda s: (drawn[s] - exact[s], -real[s], s))
    drawn.update(order[: total - sum(drawn.values())])
    return drawn
