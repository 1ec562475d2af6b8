"""Random small lattices and tuples, and checkers to look at them with."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

import numpy as np
from hypothesis import strategies as st

from dbdeid.search.checker import Check
from dbdeid.search.lattice import Attribute, Lattice, Node
from dbdeid.search.tuples import Tuples


@st.composite
def attributes(draw: st.DrawFn, name: str) -> Attribute:
    size = draw(st.integers(1, 6))
    groups = [np.arange(size, dtype=np.uint32)]
    losses = [np.zeros(size)]
    for _ in range(draw(st.integers(0, 3))):
        merge = np.array(draw(st.lists(st.integers(0, 2), min_size=size, max_size=size)))
        _, codes = np.unique(np.minimum(merge, 2)[groups[-1]], return_inverse=True)
        groups.append(codes.astype(np.uint32))
        members = np.bincount(codes)[codes]
        losses.append(np.maximum((members - 1) / max(size - 1, 1), _group_max(losses[-1], codes)))
    low = draw(st.integers(0, len(groups) - 1))
    return Attribute(
        name,
        tuple(groups),
        tuple(losses),
        weight=draw(st.sampled_from([1.0, 1.0, 0.5, 3.0])),
        min_level=draw(st.sampled_from([0, low])),
        max_level=draw(st.sampled_from([None, len(groups) - 1, low])),
    )


def _group_max(loss: np.ndarray, codes: np.ndarray) -> np.ndarray:
    most = np.zeros(codes.max() + 1)
    np.maximum.at(most, codes, loss)
    return most[codes]


@st.composite
def problems(draw: st.DrawFn, most_rows: int = 40) -> tuple[Lattice, Tuples]:
    width = draw(st.integers(1, 5))
    lattice = Lattice(tuple(draw(attributes(name)) for name in "abcde"[:width]))
    row = st.tuples(*(st.integers(0, a.cardinality - 1) for a in lattice.attributes))
    rows = sorted(set(draw(st.lists(row, max_size=most_rows))))
    weights = draw(st.lists(st.integers(1, 5), min_size=len(rows), max_size=len(rows)))
    codes = np.array(rows, dtype=np.uint16).reshape(len(rows), width).T
    return lattice, Tuples(tuple(codes), np.array(weights, dtype=np.int64))


def random_problem(seed: int, width: int, rows: int) -> tuple[Lattice, Tuples]:
    """Skewed values in binary hierarchies; larger than what hypothesis draws."""
    rng = np.random.default_rng(seed)
    made, columns = [], []
    for i in range(width):
        size = int(rng.integers(2, 40))
        height = max(1, int(np.ceil(np.log2(size))))
        groups = [np.arange(size, dtype=np.uint32) >> level for level in range(height + 1)]
        counts = [np.bincount(g)[g] for g in groups]
        losses = tuple((c - 1) / (size - 1) for c in counts)
        made.append(Attribute(f"q{i}", tuple(groups), losses, min_level=0))
        columns.append(np.minimum(rng.geometric(0.2, rows) - 1, size - 1))
    distinct, weights = np.unique(np.array(columns).T, axis=0, return_counts=True)
    return Lattice(tuple(made)), Tuples(tuple(distinct.T.astype(np.uint16)), weights)


@dataclass(frozen=True)
class CounterChecker:
    """What a check means, in ten lines."""

    lattice: Lattice
    tuples: Tuples
    k: int

    def check(self, node: Node) -> Check:
        classes: Counter[tuple[int, ...]] = Counter()
        losses: dict[tuple[int, ...], float] = {}
        columns = zip(*self.tuples.codes, strict=True)
        for row, weight in zip(columns, self.tuples.weights.tolist(), strict=True):
            cells = [*zip(row, self.lattice.attributes, node, self.lattice.shares, strict=True)]
            key = tuple(int(a.groups[level][value]) for value, a, level, _ in cells)
            classes[key] += weight
            losses[key] = sum(share * a.loss[level][value] for value, a, level, share in cells)
        kept = [n for n in classes.values() if n >= self.k]
        small = {key: n for key, n in classes.items() if n < self.k}
        return Check(
            node=node,
            suppressed=sum(small.values()),
            classes=len(kept),
            all_classes=len(classes),
            smallest=min(kept, default=0),
            squares_kept=sum(n * n for n in kept),
            squares_all=sum(n * n for n in classes.values()),
            suppressed_loss=sum(n * losses[key] for key, n in small.items()),
        )
