"""A Q-block while records join it."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dbdeid.lattice.tuples import Tuples
from dbdeid.methods.local_recoding.search.taxonomy import Taxonomy

Ints = NDArray[np.int64]
Mask = NDArray[np.bool_]


class Growing:
    """A block while records join it.

    Attributes:
        units: of its records, one entry a record.
        codes: how many of its records have each code, of each quasi-identifier.
        values: the same of each sensitive attribute.
        first: the codes of its first record.
    """

    def __init__(self, taxonomy: Taxonomy, units: Tuples, seed: int) -> None:
        self._taxonomy = taxonomy
        self._of = units
        attributes = taxonomy.lattice.attributes
        self.units: list[int] = []
        self.codes = [np.zeros(a.cardinality, np.int64) for a in attributes]
        self.values = [np.zeros(v.cardinality, np.int64) for v in units.values]
        self.first = [int(codes[seed]) for codes in units.codes]
        self._ancestors: list[Ints | None] = [None] * len(attributes)
        self.join(seed)

    def join(self, unit: int) -> None:
        """One more record."""
        self.units.append(unit)
        for own, counts in zip(self._of.codes, self.codes, strict=True):
            counts[own[unit]] += 1
        for values, counts in zip(self._of.values, self.values, strict=True):
            counts[values.value[unit]] += 1

    def ancestors(self, attribute: int) -> Ints:
        """The level of the lowest common ancestor of the first record with each code."""
        known = self._ancestors[attribute]
        if known is None:
            every = np.arange(len(self.codes[attribute]))
            known = self._taxonomy.meet(attribute, every, self.first[attribute])
            self._ancestors[attribute] = known
        return known

    def level(self, attribute: int) -> int:
        """The level of the lowest common ancestor of all records."""
        return int(self.ancestors(attribute)[self.codes[attribute] > 0].max())

    def beyond(self, attribute: int) -> Mask:
        """The codes that would take an attribute above its highest level."""
        highest = self._taxonomy.lattice.top[attribute]
        return np.asarray(self.ancestors(attribute) > highest)
