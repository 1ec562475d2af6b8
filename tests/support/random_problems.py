"""Random small lattices and tuples, and checkers to look at them with."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from hypothesis import strategies as st

from dbdeid.lattice.check import Check, Lost
from dbdeid.lattice.lattice import Attribute, Lattice, Node
from dbdeid.lattice.rule import Rule
from dbdeid.lattice.sensitive_counts import Entries
from dbdeid.lattice.tuples import Tuples, Values

Key = tuple[int | None, ...]


@dataclass(frozen=True)
class Mixed:
    """At least `distinct` values, none of them that of more than a share of the subjects."""

    distinct: int
    share: float

    @property
    def enough(self) -> int | None:
        return self.distinct if self.share == 1 else None

    def __call__(self, sizes: np.ndarray, entries: Entries) -> tuple[np.ndarray, np.ndarray]:
        found = np.bincount(entries.of_class, minlength=len(sizes))
        most = np.zeros(len(sizes), np.int64)
        np.maximum.at(most, entries.of_class, entries.count)
        necessary = found >= self.distinct
        return necessary & (most <= self.share * sizes), necessary

    def most(self, sizes: np.ndarray, entries: Entries) -> np.ndarray:
        """By trying every size: n subjects have Σ min(count, ⌊share · n⌋) of them at most."""
        return np.array(
            [
                self.largest(int(size), entries.count[entries.of_class == i])
                for i, size in enumerate(sizes)
            ],
            np.int64,
        )

    def largest(self, size: int, counts: np.ndarray) -> int:
        allowed = (n for n in range(size, 0, -1) if self._fits(n, counts))
        return next(allowed, 0)

    def _fits(self, size: int, counts: np.ndarray) -> bool:
        return bool(np.minimum(counts, int(self.share * size + 1e-9)).sum() >= size)

    def holds(self, members: list[Record]) -> bool:
        """The same of the records of one class, one by one."""
        who = {r.subject for r in members}
        having: dict[int, set[int]] = {}
        for r in members:
            having.setdefault(r.value, set()).add(r.subject)
        most = max((len(some) for some in having.values()), default=0)
        return len(having) >= self.distinct and most <= self.share * len(who)

    def could(self, members: list[Record]) -> bool:
        """What stays true as classes meet."""
        return len({r.value for r in members}) >= self.distinct


@dataclass(frozen=True, eq=False)
class Around:
    """At least `fewest` people fit a class, and between `least` and `most` of them are in it."""

    lattice: Lattice
    codes: np.ndarray  # (attributes, tuples)
    people: np.ndarray
    fewest: int
    least: float
    most: float

    def __call__(
        self, node: Node, codes: np.ndarray, sizes: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        keys = zip(*(a.groups[v][c] for a, v, c in self._cells(node, codes)), strict=True)
        fitting = self.fitting(node)
        people = np.array([fitting[tuple(int(g) for g in key)] for key in keys], np.int64)
        necessary = (people >= self.fewest) & (people * self.most >= 1)
        within = (people * self.least <= sizes) & (sizes <= people * self.most)
        return necessary & within, necessary

    def fitting(self, node: Node) -> Counter[tuple[int, ...]]:
        """The people in each cell."""
        found: Counter[tuple[int, ...]] = Counter()
        for codes, people in zip(self.codes.T, self.people, strict=True):
            key = tuple(int(a.groups[v][c]) for a, v, c in self._cells(node, codes))
            found[key] += int(people)
        return found

    def covered(self, node: Node, codes: Any) -> bool:
        return True

    def of_all(self, subjects: int) -> bool:
        return self.holds(int(self.people.sum()), subjects)

    def holds(self, people: int, subjects: int) -> bool:
        enough = people >= self.fewest
        return enough and people * self.least <= subjects <= people * self.most

    def could(self, people: int) -> bool:
        return people >= self.fewest and people * self.most >= 1

    def _cells(self, node: Node, codes: np.ndarray) -> Iterator[tuple[Attribute, int, np.ndarray]]:
        return zip(self.lattice.attributes, node, codes, strict=True)


@dataclass(frozen=True)
class Record:
    """A record under a transformation: its cells, None for NULL, and their loss."""

    key: Key
    subject: int
    loss: float
    value: int
    groups: tuple[int, ...]


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
        sizes=draw(domains(groups)),
    )


@st.composite
def domains(draw: st.DrawFn, groups: list[np.ndarray]) -> tuple[np.ndarray, ...] | None:
    """The leaves of the group of each value, in a domain that may exceed the data."""
    size = len(groups[0])
    leaves = np.array(draw(st.lists(st.integers(1, 3), min_size=size, max_size=size)))
    if groups[-1].any():
        return None
    return tuple(np.bincount(codes, leaves)[codes].astype(np.int64) for codes in groups)


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


def random_values(tuples: Tuples, size: int) -> Values:
    """Skewed sensitive values of the records behind each tuple."""
    rng = np.random.default_rng(size)
    row = np.repeat(np.arange(len(tuples.weights)), tuples.weights)
    value = np.minimum(rng.geometric(0.4, len(row)) - 1, size - 1)
    found, count = np.unique(row * size + value, return_counts=True)
    return Values(found // size, found % size, count, size)


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
    sizes = draw(domains(groups))
    return replace(known, groups=tuple(groups), loss=tuple(losses), null=size, sizes=sizes)


@st.composite
def ruled_problems(draw: st.DrawFn, most_rows: int = 30) -> tuple[Lattice, Tuples, Rule]:
    """Any rule, with data that it can count.

    There are NULLs, subjects who may have several rows, and sensitive values.
    """
    policy = draw(st.sampled_from(["own_category", "wildcard", "exclude"]))
    by_subject = policy != "wildcard" and draw(st.booleans())
    conditions: tuple[Mixed, ...] = ()
    if policy != "wildcard" and draw(st.booleans()):
        share = draw(st.sampled_from([0.4, 0.5, 0.7, 1.0]))
        conditions = (Mixed(draw(st.integers(1, 3)), share),)
    linked = by_subject and draw(st.booleans())
    width = draw(st.integers(1, 4))
    made = st.sampled_from([attributes, attributes_with_null, attributes_with_null])
    lattice = Lattice(tuple(draw(draw(made)(name)) for name in "abcd"[:width]))
    around: tuple[Around, ...] = ()
    if policy != "wildcard" and not linked:
        around = tuple(draw(st.lists(populations(lattice), max_size=2)))
    k, rest = draw(st.integers(1, 6)), draw(st.booleans())
    rule = Rule(k, policy, linked, conditions, rest, around)
    people = draw(st.integers(1, 12)) if by_subject else 1
    row = st.tuples(
        *(st.integers(0, a.cardinality - 1) for a in lattice.attributes),
        st.integers(0, people - 1),
    )
    rows = sorted(set(draw(st.lists(row, max_size=most_rows))))
    weights = draw(st.lists(st.integers(1, 3), min_size=len(rows), max_size=len(rows)))
    *codes, subjects = np.array(rows, dtype=np.uint16).reshape(len(rows), width + 1).T
    numbered = np.unique(subjects, return_inverse=True)[1] if by_subject else None
    values = tuple(draw(row_values(weights)) for _ in conditions)
    made_tuples = Tuples(tuple(codes), np.array(weights, dtype=np.int64), numbered, values)
    return lattice, made_tuples, rule


@st.composite
def populations(draw: st.DrawFn, lattice: Lattice) -> Around:
    """A population on the values of a lattice."""
    row = st.tuples(*(st.integers(0, a.cardinality - 1) for a in lattice.attributes))
    rows = draw(st.lists(row, max_size=40))
    people = draw(st.lists(st.integers(0, 9), min_size=len(rows), max_size=len(rows)))
    return Around(
        lattice,
        np.array(rows, np.int64).reshape(len(rows), len(lattice.attributes)).T,
        np.array(people, np.int64),
        draw(st.sampled_from([0, 1, 5, 12])),
        draw(st.sampled_from([0, 0, 0.25])),
        draw(st.sampled_from([0.4, 1, 1, 100])),
    )


@st.composite
def row_values(draw: st.DrawFn, weights: list[int]) -> Values:
    """A value for each record behind some rows."""
    size = draw(st.integers(1, 4))
    found: Counter[tuple[int, int]] = Counter()
    for row, weight in enumerate(weights):
        for _ in range(weight):
            found[row, draw(st.integers(0, size - 1))] += 1
    entries = np.array([(*key, n) for key, n in sorted(found.items())], np.int64).reshape(-1, 3)
    return Values(entries[:, 0], entries[:, 1], entries[:, 2], size)


@dataclass(frozen=True)
class RecordChecker:
    """What a check means under any rule, record by record."""

    lattice: Lattice
    tuples: Tuples
    rule: Rule

    def check(self, node: Node) -> Check:
        records = [*self._records(node)]
        fitting = [p.fitting(node) for p in self._populations]
        kept = self._kept(records, Mixed.holds, fitting, Around.holds)
        could = self._kept(records, Mixed.could, fitting, lambda p, people, _: p.could(people))
        staying = [r for r, stays in zip(records, kept, strict=True) if stays]
        lost = [r for r, stays in zip(records, kept, strict=True) if not stays]
        always = [r for r, stays in zip(records, could, strict=True) if not stays]
        if self.tuples.subjects is None:
            always += self._too_many([r for r, stays in zip(records, could, strict=True) if stays])
        before, after = Counter(r.key for r in records), Counter(r.key for r in staying)
        hidden = [self._hidden(r, staying, records) for r in staying]
        return Check(
            node=node,
            suppressed=len(lost),
            suppressed_subjects=len({r.subject for r in lost}),
            classes=len(after),
            all_classes=len(before),
            smallest=min(hidden, default=0),
            squares_kept=sum(n * n for n in after.values()),
            squares_all=sum(n * n for n in before.values()),
            suppressed_loss=sum(r.loss for r in lost),
            chance=sum(1 / n for n in hidden),
            rest_holds=not self.rule.rest or not lost or self._rest_holds(lost),
            below=Lost(len(always), len({r.subject for r in always}), sum(r.loss for r in always)),
        )

    def _too_many(self, possible: list[Record]) -> list[Record]:
        """So many of each class as are in no part of it that holds the conditions."""
        found = []
        for key in {r.key for r in possible}:
            members = [r for r in possible if r.key == key]
            counts = np.array([*Counter(r.value for r in members).values()])
            most = [c.largest(len(members), counts) for c in self._conditions]
            stay = min(most, default=len(members))
            found += members[stay if stay >= self.rule.k else 0 :] if self._conditions else []
        return found

    def _rest_holds(self, lost: list[Record]) -> bool:
        enough = len({r.subject for r in lost}) >= self.rule.k
        whole = all(p.of_all(len({r.subject for r in lost})) for p in self._populations)
        return enough and whole and all(c.holds(lost) for c in self._conditions)

    @property
    def _populations(self) -> tuple[Around, ...]:
        return tuple(p for p in self.rule.populations if isinstance(p, Around))

    @property
    def _conditions(self) -> tuple[Mixed, ...]:
        return tuple(c for c in self.rule.conditions if isinstance(c, Mixed))

    def released(self, node: Node) -> list[tuple[Key, bool]]:
        """The generalized cells of each record, and whether it stays."""
        records = [*self._records(node)]
        fitting = [p.fitting(node) for p in self._populations]
        kept = self._kept(records, Mixed.holds, fitting, Around.holds)
        return [(r.key, stays) for r, stays in zip(records, kept, strict=True)]

    def _records(self, node: Node) -> Iterator[Record]:
        number = itertools.count(10**6)
        people = self.tuples.subjects
        for i, weight in enumerate(self.tuples.weights.tolist()):
            cells = zip(self.tuples.codes, self.lattice.attributes, node, strict=True)
            key, loss, groups = [], 0.0, []
            for (codes, a, level), share in zip(cells, self.lattice.shares, strict=True):
                blank = a.null is not None and codes[i] == a.null and level < a.height
                key.append(None if blank else int(a.groups[level][codes[i]]))
                groups.append(int(a.groups[level][codes[i]]))
                loss += share * float(a.loss[level][codes[i]])
            for value in self._values(i, weight):
                subject = next(number) if people is None else int(people[i])
                yield Record(tuple(key), subject, loss, value, tuple(groups))

    def _values(self, row: int, weight: int) -> list[int]:
        if not self.tuples.values:
            return [0] * weight
        (of,) = self.tuples.values
        mine = of.row == row
        return np.repeat(of.value[mine], of.count[mine]).tolist()

    def _kept(
        self,
        records: list[Record],
        holds: Callable[[Mixed, list[Record]], bool],
        fitting: list[Counter[tuple[int, ...]]],
        fits: Callable[[Around, int, int], bool],
    ) -> list[bool]:
        k = self.rule.k
        kept = [True] * len(records)
        if self.rule.null_policy == "exclude":
            kept = [None not in r.key for r in records]
        if self.rule.linked:
            outside = {r.subject for r, stays in zip(records, kept, strict=True) if not stays}
            sets = _sets(records)
            alike = Counter(sets.values())
            failing = {
                set_
                for set_ in alike
                for key in set_
                for members in [[r for r in records if sets[r.subject] == set_ and r.key == key]]
                if not all(holds(c, members) for c in self._conditions)
            }
            return [
                r.subject not in outside
                and alike[sets[r.subject]] >= k
                and sets[r.subject] not in failing
                for r in records
            ]
        while True:
            present = [r for r, stays in zip(records, kept, strict=True) if stays]
            sizes = {r.key: self._size(r.key, present) for r in present}
            groups = {r.key: r.groups for r in present}
            around = [*zip(self._populations, fitting, strict=True)]
            fine = {
                key: size >= k
                and all(holds(c, [r for r in present if r.key == key]) for c in self._conditions)
                and all(fits(p, people[groups[key]], size) for p, people in around)
                for key, size in sizes.items()
            }
            still = [s and fine[r.key] for r, s in zip(records, kept, strict=True)]
            if still == kept:
                return kept
            kept = still

    def _size(self, key: Key, records: list[Record]) -> int:
        wild = self.rule.null_policy == "wildcard"
        return len(
            {
                r.subject
                for r in records
                if all(a == b or (wild and None in (a, b)) for a, b in zip(key, r.key, strict=True))
            }
        )

    def _hidden(self, record: Record, kept: list[Record], records: list[Record]) -> int:
        """Among how many subjects a kept record hides."""
        if self.rule.linked:
            sets = _sets(records)
            return Counter(sets.values())[sets[record.subject]]
        return self._size(record.key, kept)


def _sets(records: list[Record]) -> dict[int, frozenset[Key]]:
    subjects = {r.subject for r in records}
    return {s: frozenset(r.key for r in records if r.subject == s) for s in subjects}


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
        lost = sum(n for n in classes.values() if n < self.rule.k)
        small = {key: n for key, n in classes.items() if n < self.rule.k}
        return Check(
            node=node,
            suppressed=lost,
            suppressed_subjects=lost,
            classes=len(kept),
            all_classes=len(classes),
            smallest=min(kept, default=0),
            squares_kept=sum(n * n for n in kept),
            squares_all=sum(n * n for n in classes.values()),
            suppressed_loss=(loss := sum(n * losses[key] for key, n in small.items())),
            chance=len(kept),
            rest_holds=True,
            below=Lost(lost, lost, loss),
        )
