"""How much one column reveals of another, compared with what it would reveal by chance.

The mutual information of two columns over the entropy of the second is the share of what there is
to know of it that the first tells (normalised mutual information; Cover & Thomas 2006, chapter 2).
A column of many values tells much by chance alone. The same is therefore measured with the values
of the second column permuted among the records.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]
Mask = NDArray[np.bool_]

DRAWS = 3  # permutations; of thousands of records they hardly differ
SEED = 20120524  # nothing secret is drawn


@dataclass(frozen=True, slots=True)
class Dependence:
    """How much a column reveals of a sensitive one.

    Attributes:
        told: share of the entropy of the sensitive column, in [0, 1].
        by_chance: the same with its values permuted.
        certain: people for whom the column makes the sensitive value certain: all records with the
            same value of it, at least two, have the same sensitive value.
        certain_by_chance: the same with the values permuted.
    """

    told: float
    by_chance: float
    certain: int
    certain_by_chance: float


def dependence(
    column: Ints, sensitive: Ints, people: Ints | None = None, draws: int = DRAWS
) -> Dependence | None:
    """How much a column reveals of a sensitive one; None where that has one value only.

    Args:
        column: the code of its value, of each record.
        sensitive: the same of the sensitive column.
        people: whose record it is; None: each is of a person of their own.
        draws: permutations to compare with.
    """
    own, places = (np.unique(x, return_inverse=True)[1] for x in (column, sensitive))
    entropy = _entropy(np.bincount(places))
    if entropy <= 0:
        return None
    told, certain = _told(own, places, people, entropy)
    random = np.random.default_rng(SEED)
    chance = [_told(own, random.permutation(places), people, entropy) for _ in range(draws)]
    by_chance, certain_by_chance = (float(np.mean(x)) for x in zip(*chance, strict=True))
    return Dependence(told, by_chance, int(certain), certain_by_chance)


def _told(own: Ints, sensitive: Ints, people: Ints | None, entropy: float) -> tuple[float, int]:
    width = int(sensitive.max()) + 1
    pairs, records = np.unique(own * width + sensitive, return_counts=True)
    sizes = np.bincount(own)
    shared = _entropy(sizes) + entropy - _entropy(records)
    alike = np.bincount(pairs // width) == 1
    certain = (alike & (sizes > 1))[own]
    found = np.count_nonzero(certain) if people is None else len(np.unique(people[certain]))
    return min(max(shared / entropy, 0.0), 1.0), found


def _entropy(counts: Ints) -> float:
    share = counts[counts > 0] / counts.sum()
    return float(-(share * np.log(share)).sum())
