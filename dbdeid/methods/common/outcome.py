"""The result of a method: the tables of a release, and the record of how it was made."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from dbdeid.data.coding import Cell, Coding
from dbdeid.data.hierarchy import TOP
from dbdeid.engine.relation import Relation
from dbdeid.lattice.lattice import Node
from dbdeid.methods.attacks.downcoding import Downcoded
from dbdeid.methods.attacks.minimality import Reading


@dataclass(frozen=True, slots=True)
class Shown:
    """What one released value of a quasi-identifier stands for.

    Attributes:
        level: of the hierarchy.
        cell: its label, loss, bounds and leaves.
        size: how many values of the domain it may stand for.
    """

    level: int
    cell: Cell
    size: int


# The released values of one quasi-identifier.
Values = Mapping[str | None, Shown]


def values_at(coding: Coding, level: int, *, suppressed: bool = False) -> Values:
    """What a column shows on one level, and `*` where suppressed records are kept."""
    sizes = coding.sizes(level).tolist()
    found = {
        cell.label: Shown(level, cell, size)
        for cell, size in zip(coding.cells(level), sizes, strict=True)
    }
    return found | ({TOP: top_of(coding)} if suppressed else {})


def top_of(coding: Coding) -> Shown:
    """What `*` stands for."""
    hierarchy = coding.hierarchy
    top = hierarchy.levels[-1]
    leaves = tuple(sorted(hierarchy.leaves)) if hierarchy.declared else None
    cell = Cell(TOP, 1.0, top.lower[0], top.upper[0], leaves)
    return Shown(hierarchy.height, cell, domain_of(coding))


def domain_of(coding: Coding) -> int:
    """How many values there are, NULL among them where it occurs."""
    return int(coding.sizes(coding.hierarchy.height).max(initial=1))


@dataclass(frozen=True, slots=True)
class Details:
    """Facts about a release that only some methods have; such a method extends it."""

    @property
    def added(self) -> int:
        """Counterfeit records."""
        return 0

    @property
    def moved(self) -> int:
        """Records whose quasi-identifiers are not theirs."""
        return 0


@dataclass(frozen=True, slots=True)
class Outcome:
    """The record of how a release was made.

    Attributes:
        node: the level of each quasi-identifier; None where it differs between classes.
        shown: of each quasi-identifier, what its released values stand for; empty where they stand
            for themselves.
        suppressed: records of the source that are not released, or only with every `*`.
        suppressed_subjects: people who lose a record.
        metrics: what the method promises of the written table.
        search: how it was found, in plain values.
        readings: what the minimality attack reads of each sensitive attribute with a model; empty
            where the method has none.
        downcoded: what the downcoding attack finds; None where the method promises nothing that it
            could start from.
        details: what only releases of this method have.
    """

    node: Node | None
    shown: Sequence[Values]
    suppressed: int
    suppressed_subjects: int
    metrics: Mapping[str, float]
    search: Mapping[str, Any]
    readings: Sequence[Reading] = ()
    downcoded: Downcoded | None = None
    details: Details = Details()


@dataclass(frozen=True, slots=True)
class Written:
    """The temporary tables of a release.

    Attributes:
        released: what is published.
        dictionary: what its values stand for; None where they stand for themselves.
        counted: the released records with the number of their subject beside them, for measuring
            only; the release itself where each record is a subject.
        outcome: how it was made.
        real: those of its records that are of the source.
        catalog: how many records of which value are counterfeit, where that is published.
        flagged: the counterfeit records, private: `record`, all its columns as text, and
            `counterfeits`, how many of such records are.
        crosswalk: of a locally recoded release which record of the source is which of its own,
            private: `source`, the quasi-identifiers as text, `record`, all released columns as
            text, `subject`, the number of whose records they are where subjects count, and
            `records`, how many there are.
        clusters: of synthetic records, private: `cluster`, its number; `side`, source or released;
            `record`, all released columns as text; `records`, how many of them it holds.
    """

    released: Relation
    dictionary: Relation | None
    counted: Relation
    outcome: Outcome
    real: Relation
    catalog: Relation | None = None
    flagged: Relation | None = None
    crosswalk: Relation | None = None
    clusters: Relation | None = None
