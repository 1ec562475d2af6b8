"""Values for counterfeit records that go with the quasi-identifiers of their class.

The classes that nobody can have padded show which values stand together, and a reader sees them
too. A class draws a value as often as its quasi-identifiers go with it there, and never one that is
impossible beside them. Nothing else of the records that are padded decides: only how often each
value is drawn in all, which is in proportion to the real records of the pool as far as that can be.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]

# How often factors are fitted to the values beside each quasi-identifier.
ROUNDS = 6
# Records, as the whole has them, that count beside those of a quasi-identifier.
PRIOR = 5.0
# Cells of classes and values that factors are fitted on; of more, some classes.
CELLS = 1 << 23
# How often rows and columns are fitted to what each class lacks and each value gets.
FITTED = 5
_LEAST = 1e-12


def chances(labels: Ints, counts: Floats, asked: Ints, share: Floats) -> Floats:
    """How likely each value is in classes, by what their quasi-identifiers go with.

    A product of one factor for each value and quasi-identifier, fitted to how often they stand
    together (iterative scaling, Darroch & Ratcliff 1972).

    Args:
        labels: (n, q) codes of the quasi-identifiers of genuine classes.
        counts: (n, values) their records.
        asked: (m, q) the quasi-identifiers of the classes that are asked for, in the same coding.
        share: (values,) of each value among all records.

    Returns:
        (m, values), rows adding up to 1.
    """
    every = -(-counts.size // CELLS) if counts.size > CELLS else 1
    labels, counts = labels[::every], counts[::every]
    sizes = counts.sum(axis=1, keepdims=True)
    many = np.concatenate([labels, asked]).max(axis=0, initial=-1) + 1
    factors = [np.ones((size, counts.shape[1])) for size in many]

    def product(rows: Ints) -> Floats:
        found = np.tile(share, (len(rows), 1))
        for own, factor in zip(rows.T, factors, strict=True):
            found *= factor[own]
        totals: Floats = found / np.maximum(found.sum(axis=1, keepdims=True), _LEAST)
        return totals

    def beside(own: Ints, rows: Floats, size: int) -> Floats:
        found = np.zeros((size, rows.shape[1]))
        np.add.at(found, own, rows)
        return found

    seen = [beside(own, counts, size) for own, size in zip(labels.T, many, strict=True)]
    for _ in range(ROUNDS):
        for own, factor, held, size in zip(labels.T, factors, seen, many, strict=True):
            expected = beside(own, product(labels) * sizes, size)
            prior = PRIOR * np.maximum(share, _LEAST)
            factor *= (held + prior) / (expected + prior)
    return product(asked)


def values_of(
    likely: Floats, missing: Ints, real: Ints, generator: np.random.Generator
) -> list[Ints] | None:
    """The values that classes draw, so many as each lacks.

    Args:
        likely: (n, codes) how likely each value is in each class; 0: it cannot be.
        missing: (n,) records that each class lacks.
        real: (codes,) real records of each value in the pool.

    Returns:
        Of each class its values, in order; None where a class can have none.
    """
    if not len(likely):
        return []
    if not (likely.sum(axis=1) > 0).all():
        return None
    wanted = real / real.sum() * missing.sum()
    expected = likely.copy()
    for _ in range(FITTED):
        totals = expected.sum(axis=0)
        expected *= np.divide(wanted, totals, out=np.zeros_like(totals), where=totals > 0)
        expected *= (missing / np.maximum(expected.sum(axis=1), _LEAST))[:, None]
    left = expected.sum(axis=0)
    quotas = np.floor(left).astype(np.int64)
    short = int(missing.sum()) - int(quotas.sum())
    quotas[np.argsort(quotas - left, kind="stable")[:short]] += 1
    found: list[Ints] = [np.zeros(0, np.int64)] * len(missing)
    for i in generator.permutation(len(missing)).tolist():
        own = expected[i]
        ratio = np.divide(np.maximum(quotas, 0), left, out=np.zeros_like(left), where=left > _LEAST)
        weights = own * ratio
        if not weights.sum() > 0:
            weights = own
        ends = np.cumsum(weights)
        drawn = np.searchsorted(ends, generator.random(missing[i]) * ends[-1], side="right")
        found[i] = np.sort(np.minimum(drawn, len(own) - 1))
        np.subtract.at(quotas, found[i], 1)
        left = np.maximum(left - own, 0)
    return found
