"""The data as a search sees them: distinct quasi-identifier tuples with the records behind each."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dbdeid.lattice.lattice import Lattice


@dataclass(frozen=True)
class Marginals:
    """How many records carry each value, one array of counts per attribute, by value code.

    `people` are the subjects behind the records; every record is one where none are declared.
    """

    counts: tuple[NDArray[np.int64], ...]
    records: int
    people: int


@dataclass(frozen=True)
class Values:
    """A sensitive attribute of the records behind some rows: each row's distinct values.

    Args:
        row: the row of each entry, ascending.
        value: the value code of each entry.
        count: records of the row with this value, at least 1.
        cardinality: value codes are below it.
    """

    row: NDArray[np.signedinteger[Any]]
    value: NDArray[np.signedinteger[Any]]
    count: NDArray[np.signedinteger[Any]]
    cardinality: int

    @property
    def nbytes(self) -> int:
        """The memory they take up."""
        return self.row.nbytes + self.value.nbytes + self.count.nbytes


@dataclass(frozen=True)
class Tuples:
    """Distinct quasi-identifier tuples; with subjects, distinct pairs of tuple and subject.

    Args:
        codes: one array per attribute, the value code in each tuple, in a type that holds it.
        weights: records behind each tuple, at least 1.
        subjects: whose records they are, numbered densely from 0; None: each record is one subject.
        values: the sensitive attributes that a rule looks at.
    """

    codes: tuple[NDArray[np.unsignedinteger[Any]], ...]
    weights: NDArray[np.int64]
    subjects: NDArray[np.integer[Any]] | None = None
    values: tuple[Values, ...] = ()

    @cached_property
    def records(self) -> int:
        """How many records there are."""
        return int(self.weights.sum())

    @cached_property
    def people(self) -> int:
        """How many subjects there are."""
        if self.subjects is None:
            return self.records
        return int(self.subjects.max()) + 1 if len(self.subjects) else 0

    def marginals(self, lattice: Lattice) -> Marginals:
        """The counts of each attribute alone."""
        counts = (
            np.bincount(codes, weights=self.weights, minlength=attribute.cardinality)
            for codes, attribute in zip(self.codes, lattice.attributes, strict=True)
        )
        rounded = tuple(np.rint(c).astype(np.int64) for c in counts)
        return Marginals(rounded, self.records, self.people)
