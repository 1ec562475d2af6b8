"""Random small lattices and tuples, and checkers to look at them with."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
from hypothesis import strategies as st

from dbdeid.search.checker import Check
from dbdeid.search.lattice import Attribute, Lattice, Node
from dbdeid.search.suppression import Rule
from dbdeid.search.tuples import Tuples

Key = tuple[int | None, ...]


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


@st.composite
def attributes_with_null(draw: st.DrawFn, name: str) -> Attribute:
    """As `attributes`, and the last value is NULL: a group of its own up to the top."""
    known = draw(attributes(name))
    size = known.cardinality
    groups, losses = [], []
    for codes, loss in zip(known.groups, known.loss, strict=True):
        groups.append(np.append(codes, codes.max() + 1).astype(np.uint32))
        losses.append(np.append(loss, 0.0))
    groups.append(np.zeros(size + 1, dtype=np.uint32))
    losses.append(np.ones(size + 1))
    return replace(known, groups=tuple(groups), loss=tuple(losses), null=size)


@st.composite
def ruled_problems(draw: st.DrawFn, most_rows: int = 30) -> tuple[Lattice, Tuples, Rule]:
    """Any rule, with data that it can count: NULLs, and subjects who may have several rows."""
    policy = draw(st.sampled_from(["own_category", "wildcard", "exclude"]))
    by_subject = policy != "wildcard" and draw(st.booleans())
    rule = Rule(draw(st.integers(1, 6)), policy, by_subject and draw(st.booleans()))
    width = draw(st.integers(1, 4))
    made = st.sampled_from([attributes, attributes_with_null, attributes_with_null])
    lattice = Lattice(tuple(draw(draw(made)(name)) for name in "abcd"[:width]))
    people = draw(st.integers(1, 12)) if by_subject else 1
    row = st.tuples(
        *(st.integers(0, a.cardinality - 1) for a in lattice.attributes),
        st.integers(0, people - 1),
    )
    rows = sorted(set(draw(st.lists(row, max_size=most_rows))))
    weights = draw(st.lists(st.integers(1, 3), min_size=len(rows), max_size=len(rows)))
    *codes, subjects = np.array(rows, dtype=np.uint16).reshape(len(rows), width + 1).T
    numbered = np.unique(subjects, return_inverse=True)[1] if by_subject else None
    return lattice, Tuples(tuple(codes), np.array(weights, dtype=np.int64), numbered), rule


@dataclass(frozen=True)
class RecordChecker:
    """What a check means under any rule, record by record."""

    lattice: Lattice
    tuples: Tuples
    rule: Rule

    def check(self, node: Node) -> Check:
        records = [*self._records(node)]
        kept = self._kept(records)
        lost = [r for r, stays in zip(records, kept, strict=True) if not stays]
        before = Counter(key for key, _, _ in records)
        after = Counter(r[0] for r, stays in zip(records, kept, strict=True) if stays)
        return Check(
            node=node,
            suppressed=len(lost),
            suppressed_subjects=len({subject for _, subject, _ in lost}),
            classes=len(after),
            all_classes=len(before),
            smallest=self._smallest([r for r, s in zip(records, kept, strict=True) if s], records),
            squares_kept=sum(n * n for n in after.values()),
            squares_all=sum(n * n for n in before.values()),
            suppressed_loss=sum(loss for _, _, loss in lost),
        )

    def _records(self, node: Node) -> Iterator[tuple[Key, int, float]]:
        """Generalized cells (None for NULL), subject and loss of each record."""
        number = itertools.count(10**6)
        for i, weight in enumerate(self.tuples.weights.tolist()):
            cells = zip(self.tuples.codes, self.lattice.attributes, node, strict=True)
            key, loss = [], 0.0
            for (codes, a, level), share in zip(cells, self.lattice.shares, strict=True):
                blank = a.null is not None and codes[i] == a.null and level < a.height
                key.append(None if blank else int(a.groups[level][codes[i]]))
                loss += share * float(a.loss[level][codes[i]])
            for _ in range(weight):
                people = self.tuples.subjects
                yield tuple(key), next(number) if people is None else int(people[i]), loss

    def _kept(self, records: list[tuple[Key, int, float]]) -> list[bool]:
        k = self.rule.k
        kept = [True] * len(records)
        if self.rule.null_policy == "exclude":
            kept = [None not in key for key, _, _ in records]
        if self.rule.linked:
            outside = {r[1] for r, stays in zip(records, kept, strict=True) if not stays}
            sets = _sets(records)
            alike = Counter(sets.values())
            return [s not in outside and alike[sets[s]] >= k for _, s, _ in records]
        while True:
            present = [r for r, stays in zip(records, kept, strict=True) if stays]
            sizes = {key: self._size(key, present) for key, _, _ in present}
            still = [s and sizes[r[0]] >= k for r, s in zip(records, kept, strict=True)]
            if still == kept:
                return kept
            kept = still

    def _size(self, key: Key, records: list[tuple[Key, int, float]]) -> int:
        wild = self.rule.null_policy == "wildcard"
        return len(
            {
                subject
                for other, subject, _ in records
                if all(a == b or (wild and None in (a, b)) for a, b in zip(key, other, strict=True))
            }
        )

    def _smallest(
        self, kept: list[tuple[Key, int, float]], records: list[tuple[Key, int, float]]
    ) -> int:
        if self.rule.linked:
            sets = _sets(records)
            alike = Counter(sets.values())
            return min((alike[sets[s]] for _, s, _ in kept), default=0)
        return min((self._size(key, kept) for key, _, _ in kept), default=0)


def _sets(records: list[tuple[Key, int, float]]) -> dict[int, frozenset[Key]]:
    subjects = {subject for _, subject, _ in records}
    return {s: frozenset(key for key, subject, _ in records if subject == s) for s in subjects}


@dataclass(frozen=True)
class CounterChecker:
    """What a check means where records count, in ten lines."""

    lattice: Lattice
    tuples: Tuples
    rule: Rule

    def check(self, node: Node) -> Check:
        classes: Counter[tuple[int, ...]] = Counter()
        losses: dict[tuple[int, ...], float] = {}
        columns = zip(*self.tuples.codes, strict=True)
        for row, weight in zip(columns, self.tuples.weights.tolist(), strict=True):
            cells = [*zip(row, self.lattice.attributes, node, self.lattice.shares, strict=True)]
            key = tuple(int(a.groups[level][value]) for value, a, level, _ in cells)
            classes[key] += weight
            losses[key] = sum(share * a.loss[level][value] for value, a, level, share in cells)
        kept = [n for n in classes.values() if n >= self.rule.k]
        small = {key: n for key, n in classes.items() if n < self.rule.k}
        return Check(
            node=node,
            suppressed=sum(small.values()),
            suppressed_subjects=sum(small.values()),
            classes=len(kept),
            all_classes=len(classes),
            smallest=min(kept, default=0),
            squares_kept=sum(n * n for n in kept),
            squares_all=sum(n * n for n in classes.values()),
            suppressed_loss=sum(n * losses[key] for key, n in small.items()),
        )
