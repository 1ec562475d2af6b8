"""Counterfeit records that stand beside the real ones which they could not have been.

The classes that nobody padded rule out some pairs of values, and yet a class of the pool has such a
pair for real. Who knows that no counterfeit record is made with a pair that no real record has
concludes that one of those with this pair is real. So as many counterfeit records get it as
others of its value are counterfeit: then each of them is suspected as any other record is.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]


def covers(
    labels: Ints,
    scarce: Sequence[Bools],
    allowed: Bools,
    real: Ints,
    missing: Ints,
    generator: np.random.Generator,
) -> tuple[Ints, Ints]:
    """Which classes get which values for that.

    Args:
        labels: (classes, q) codes of the quasi-identifiers of the classes of the pool.
        scarce: of each quasi-identifier (codes, values) the pairs to be covered.
        allowed: (classes, values) what counterfeit records of a class may have.
        real: (classes, values) real records.
        missing: (classes,) how many records each class lacks.
        generator: of the choice among classes that do as well.

    Returns:
        Class and value of each such record. Fewer are wanted than can be where classes are few.
    """
    left, held = missing.copy(), real.copy()
    ratio = missing.sum() / max(real.sum(), 1)
    class_, code = [], []
    for own, table in zip(labels.T, scarce, strict=True):
        for label, value in np.argwhere(table).tolist():
            those = np.flatnonzero(own == label)
            genuine = int(real[those, value].sum())
            wanted = int(np.ceil(genuine * (1 + ratio))) if genuine else 0
            while held[those, value].sum() < wanted:
                free = those[allowed[those, value] & (left[those] > 0)]
                if not len(free):
                    break
                fewest = free[held[free, value] == held[free, value].min()]
                chosen = int(generator.choice(fewest))
                held[chosen, value] += 1
                left[chosen] -= 1
                class_.append(chosen)
                code.append(value)
    return np.array(class_, np.int64), np.array(code, np.int64)


def shares(labels: Ints, scarce: Sequence[Bools], certain: Bools, real: Ints, made: Ints) -> Floats:
    """How many of the records that have a scarce pair are real.

    Args:
        labels: (classes, q) codes of the quasi-identifiers of the classes of the pool.
        scarce: of each quasi-identifier (codes, values) the pairs.
        certain: (classes, values) those that cannot be counterfeit whatever was made.
        real: (classes, values) real records.
        made: (classes, values) counterfeit ones with such pairs.

    Returns:
        (classes, values), the largest of the pairs that a record has; -1 where it has none.
    """
    found = np.where(certain, 1.0, -1.0)
    for own, table in zip(labels.T, scarce, strict=True):
        genuine, false = (_beside(own, rows, len(table)) for rows in (real, made))
        share = np.where(table, genuine / np.maximum(genuine + false, 1), -1.0)
        found = np.maximum(found, share[own])
    return found


def _beside(own: Ints, rows: Ints, size: int) -> Ints:
    found = np.zeros((size, rows.shape[1]), np.int64)
    np.add.at(found, own, rows)
    return found
