"""A part of the data that stands for the whole: tuples chosen by their hash.

A class is smaller in a sample than in the data, and has fewer values, so that levels which hold a
rule in a sample mostly hold it in the data too, with room to spare.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dbdeid.lattice.tuples import Tuples, Values

# The finalizer of SplitMix64 (Steele, Lea & Flood 2014).
FACTORS = (np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB))
STEP = np.uint64(0x9E3779B97F4A7C15)


def sampled(tuples: Tuples, share: float) -> Tuples:
    """About a share of the tuples with all their records; of the subjects, where there are any.

    The same tuples are chosen whatever their order, and a smaller share is part of a larger one.

    Args:
        tuples: the data.
        share: above 0 and below 1.
    """
    hashes = np.zeros(len(tuples.weights), np.uint64)
    for column in tuples.codes if tuples.subjects is None else (tuples.subjects,):
        hashes = _mixed(hashes + STEP + column.astype(np.uint64))
    chosen = hashes < np.uint64(int(share * 2**64))
    subjects = None
    if tuples.subjects is not None:
        subjects = np.unique(tuples.subjects[chosen], return_inverse=True)[1].astype(np.int64)
    return Tuples(
        tuple(codes[chosen] for codes in tuples.codes),
        tuples.weights[chosen],
        subjects,
        tuple(_values(values, chosen) for values in tuples.values),
    )


def _values(values: Values, chosen: NDArray[np.bool_]) -> Values:
    """The values of the chosen rows, which are numbered anew."""
    number = np.cumsum(chosen) - 1
    kept = chosen[values.row]
    return Values(
        number[values.row[kept]], values.value[kept], values.count[kept], values.cardinality
    )


def _mixed(hashes: NDArray[np.uint64]) -> NDArray[np.uint64]:
    hashes = (hashes ^ (hashes >> np.uint64(30))) * FACTORS[0]
    hashes = (hashes ^ (hashes >> np.uint64(27))) * FACTORS[1]
    return np.asarray(hashes ^ (hashes >> np.uint64(31)))
