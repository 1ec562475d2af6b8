"""Random tables to make blocks of, and what blocks must be by definition, record by record."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass, replace
from fractions import Fraction
from math import log

import numpy as np
from hypothesis import strategies as st
from random_problems import attributes, attributes_with_null

from dbdeid.lattice.lattice import Attribute, Lattice
from dbdeid.lattice.tuples import Tuples, Values
from dbdeid.methods.local_recoding.search.blocks import Blocks, Demands
from dbdeid.methods.local_recoding.search.taxonomy import Taxonomy
from dbdeid.prepare.sensitive_conditions import Sensitive
from dbdeid.privacy import (
    AlphaK,
    BasicBeta,
    DeltaDisclosure,
    EmAnonymity,
    EnhancedBeta,
    KmAnonymity,
    LDiversity,
    SensitiveModel,
    TCloseness,
)
from dbdeid.privacy.common.histogram import Whole

Record = tuple[int, int]  # a unit and a subject


@dataclass(frozen=True)
class Problem:
    """Units, and the models of each sensitive attribute."""

    lattice: Lattice
    units: Tuples
    k: int
    models: tuple[tuple[SensitiveModel, ...], ...]

    @property
    def taxonomy(self) -> Taxonomy:
        return Taxonomy(self.lattice, self.units)

    @property
    def wholes(self) -> list[Whole]:
        found = []
        for own in self.units.values:
            counts = Counter(v for v, _ in self._pairs(own, self.records))
            numbers = np.array([counts[v] for v in range(own.cardinality)])
            found.append(Whole(numbers, self.units.people, tuple(map(str, range(len(numbers))))))
        return found

    @property
    def demands(self) -> Demands:
        found = zip(self.models, self.wholes, strict=True)
        return Demands(
            self.units, self.k, tuple(Sensitive((f"s{i}",), m, w) for i, (m, w) in enumerate(found))
        )

    @property
    def records(self) -> list[Record]:
        """All records; each is a subject where none are declared."""
        rows = np.repeat(np.arange(len(self.units.weights)), self.units.weights).tolist()
        people = self.units.subjects
        if people is None:
            return [(row, i) for i, row in enumerate(rows)]
        return [(row, int(people[row])) for row in rows]

    def split(self, blocks: Blocks) -> dict[int, list[Record]]:
        """The records of each block."""
        found = defaultdict(list)
        number = 0
        people = self.units.subjects
        for row, block, records in zip(blocks.row, blocks.block, blocks.records, strict=True):
            for _ in range(records):
                number += 1
                subject = number if people is None else int(people[row])
                found[int(block)].append((int(row), subject))
        return found

    def read(self, members: list[Record]) -> tuple[frozenset[int], ...]:
        """What records of a block read: of each attribute, the codes of the group."""
        cells = []
        for attribute, codes in zip(self.lattice.attributes, self.units.codes, strict=True):
            own = {int(codes[row]) for row, _ in members}
            for groups in attribute.groups[attribute.min_level :]:
                if len({int(groups[code]) for code in own}) == 1:
                    inside = groups == groups[min(own)]
                    cells.append(frozenset(np.flatnonzero(inside).tolist()))
                    break
            else:
                raise AssertionError("codes without a common ancestor")
        return tuple(cells)

    def within(self, members: list[Record]) -> bool:
        """Whether they are alike on the highest levels that are allowed."""
        return all(
            len({int(a.groups[a.most_general][codes[row]]) for row, _ in members}) == 1
            for a, codes in zip(self.lattice.attributes, self.units.codes, strict=True)
        )

    def holds(self, members: list[Record]) -> bool:
        """Whether all that is demanded holds of some records."""
        if len({subject for _, subject in members}) < max(self.k, 1):
            return False
        return all(
            _holds(
                model,
                Counter(value for value, _ in self._pairs(own, members)),
                len({subject for _, subject in members}),
                whole,
            )
            for own, models, whole in zip(self.units.values, self.models, self.wholes, strict=True)
            for model in models
        )

    def possible(self) -> bool:
        """Whether the largest blocks that there can be hold."""
        found = defaultdict(list)
        for row, subject in self.records:
            key = tuple(
                int(a.groups[a.most_general][codes[row]])
                for a, codes in zip(self.lattice.attributes, self.units.codes, strict=True)
            )
            found[key].append((row, subject))
        return all(self.holds(members) for members in found.values())

    @staticmethod
    def _pairs(own: Values, members: list[Record]) -> set[tuple[int, int]]:
        return {(int(own.value[row]), subject) for row, subject in members}


def _holds(model: SensitiveModel, counts: Counter[int], subjects: int, whole: Whole) -> bool:
    """The models by their definitions."""
    total, all_ = sum(counts.values()), int(whole.counts.sum())
    match model:
        case LDiversity():
            if len(counts) < model.l or subjects < model.l:
                return False
            if model.l > 1 and max(counts.values()) == subjects:
                return False
            most = sorted(counts.values(), reverse=True)
            if model.kind == "entropy":
                return -sum(n / total * log(n / total) for n in most) >= log(model.l) - 1e-9
            if model.kind == "recursive":
                assert model.c is not None
                return most[0] < Fraction(str(model.c)) * sum(most[int(model.l) - 1 :])
            return True
        case AlphaK():
            enough = subjects >= model.k
            return enough and max(counts.values()) <= Fraction(str(model.alpha)) * subjects
        case TCloseness():
            differences = [
                Fraction(counts[v], total) - Fraction(int(n), all_)
                for v, n in enumerate(whole.counts)
            ]
            if model.distance == "equal":
                moved = sum(map(abs, differences), Fraction(0)) / 2
            else:
                sums = [abs(sum(differences[: i + 1])) for i in range(len(differences))]
                moved = sum(sums, Fraction(0)) / max(len(sums) - 1, 1)
            return moved <= Fraction(str(model.t))
        case KmAnonymity():  # a value is one item here
            return min(subjects, *counts.values()) >= model.k
        case EmAnonymity():
            near = (sum(counts[w] for w in counts if abs(v - w) <= model.epsilon) for v in counts)
            return all(n * model.m <= subjects for n in near)
        case BasicBeta() | EnhancedBeta():
            for value, n in counts.items():
                q = Fraction(int(whole.counts[value]), whole.people)
                gain = (Fraction(n, subjects) - q) / q
                if gain > Fraction(str(model.beta)):
                    return False
                if isinstance(model, EnhancedBeta) and float(gain) > -log(q) + 1e-9:
                    return False
            return True
        case DeltaDisclosure():
            for value, n in enumerate(whole.counts):
                gain = Fraction(counts[value] * whole.people, subjects * int(n)) if n else 1
                if not gain or not abs(log(gain, 2)) < model.delta - 1e-12:
                    return False
            return True


MODELS: list[tuple[SensitiveModel, ...]] = [
    (),
    (LDiversity(model="l_diversity", column="s", l=2),),
    (LDiversity(model="l_diversity", column="s", l=3),),
    (LDiversity(model="l_diversity", column="s", l=2, kind="entropy"),),
    (LDiversity(model="l_diversity", column="s", l=1.5, kind="entropy"),),
    (LDiversity(model="l_diversity", column="s", l=2, kind="recursive", c=1.5),),
    (AlphaK(model="alpha_k", column="s", k=2, alpha=0.5),),
    (AlphaK(model="alpha_k", column="s", k=3, alpha=0.7),),
    (TCloseness(model="t_closeness", column="s", t=0.3),),
    (TCloseness(model="t_closeness", column="s", t=0.2, distance="ordered"),),
    (BasicBeta(model="basic_beta", column="s", beta=0.5),),
    (EnhancedBeta(model="enhanced_beta", column="s", beta=1.0),),
    (DeltaDisclosure(model="delta_disclosure", column="s", delta=1.5),),
    (EmAnonymity(model="em_anonymity", column="s", epsilon=1, m=2),),
    (EmAnonymity(model="em_anonymity", column="s", epsilon=0, m=3),),
    (KmAnonymity(model="km_anonymity", column="s", k=3, m=1),),
    (
        LDiversity(model="l_diversity", column="s", l=2),
        TCloseness(model="t_closeness", column="s", t=0.4),
    ),
]


@st.composite
def problems(draw: st.DrawFn, most_rows: int = 30) -> Problem:
    """Any demands on any table; those that cannot hold too."""
    made = st.sampled_from([attributes, attributes_with_null])
    width = draw(st.integers(1, 3))
    # such as a table has them: without a top the records of one value may never meet others
    lattice = Lattice(tuple(rooted(draw(draw(made)(name))) for name in "abc"[:width]))
    models = tuple(draw(st.lists(st.sampled_from(MODELS), max_size=2)))
    people = draw(st.integers(1, 14)) if draw(st.booleans()) else None
    row = st.tuples(
        *(st.integers(0, a.cardinality - 1) for a in lattice.attributes),
        *(st.integers(0, 2) for _ in models),
        st.integers(0, people - 1) if people else st.just(0),
    )
    rows = sorted(set(draw(st.lists(row, min_size=1, max_size=most_rows))))
    weights = draw(st.lists(st.integers(1, 4), min_size=len(rows), max_size=len(rows)))
    columns = np.array(rows).T
    values = []
    for own in columns[width:-1]:
        distinct, codes = np.unique(own, return_inverse=True)
        values.append(Values(np.arange(len(rows)), codes, np.array(weights), len(distinct)))
    subjects = np.unique(columns[-1], return_inverse=True)[1] if people else None
    codes = tuple(own.astype(np.uint16) for own in columns[:width])
    units = Tuples(codes, np.array(weights), subjects, tuple(values))
    return Problem(lattice, units, draw(st.integers(1, 5)), models)


def rooted(attribute: Attribute) -> Attribute:
    """The same with a top of one group."""
    if not attribute.groups[-1].any():
        return attribute
    top = np.zeros(attribute.cardinality)
    return replace(
        attribute,
        groups=(*attribute.groups, top.astype(np.uint32)),
        loss=(*attribute.loss, top + 1),
        sizes=None,
    )
