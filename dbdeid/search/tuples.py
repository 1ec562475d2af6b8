"""The data as a search sees them: distinct quasi-identifier tuples with the records behind each."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from dbdeid.search.lattice import Lattice


@dataclass(frozen=True)
class Marginals:
    """How many records carry each value, one array of counts per attribute, by value code."""

    counts: tuple[NDArray[np.int64], ...]
    records: int


@dataclass(frozen=True)
class Tuples:
    """Distinct quasi-identifier tuples.

    Args:
        codes: one array per attribute, the value code in each tuple.
        weights: records behind each tuple, at least 1.
    """

    codes: tuple[NDArray[np.uint16 | np.uint32], ...]
    weights: NDArray[np.int64]

    @cached_property
    def records(self) -> int:
        """How many records there are."""
        return int(self.weights.sum())

    def marginals(self, lattice: Lattice) -> Marginals:
        """The counts of each attribute alone."""
        counts = (
            np.bincount(codes, weights=self.weights, minlength=attribute.cardinality)
            for codes, attribute in zip(self.codes, lattice.attributes, strict=True)
        )
        return Marginals(tuple(np.rint(c).astype(np.int64) for c in counts), self.records)
