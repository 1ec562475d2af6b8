"""Special uniques: records that few of their quasi-identifiers already single out (SUDA2).

A minimal sample unique (MSU) of a record is a set of quasi-identifiers on which it is alone, and
on no part of which it is. Many and small ones make a record risky: Elliot, Manning, Mayes, Gurd &
Bane 2005, "SUDA: A program for detecting special uniques"; Manning, Haglin & Keane 2008, "A
recursive search algorithm for statistical disclosure assessment", Data Mining and Knowledge
Discovery 16. The scores are those of sdcMicro's `suda2`; DIS is Skinner & Elliot 2002, Journal of
the Royal Statistical Society B 64(4).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from dbdeid.data.json import JsonObject, plain
from dbdeid.engine.expressions import (
    Expr,
    aliased,
    ascending,
    case,
    column,
    dense_rank,
    is_null,
    literal,
    over,
    select,
)
from dbdeid.engine.relation import Relation
from dbdeid.engine.session import Session
from dbdeid.privacy.common.counting import ROWS, Counting, classes

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

DIS_FRACTION = 0.01


@dataclass(frozen=True, slots=True)
class SpecialUniques:
    """The special uniques of a table, summed up.

    Attributes:
        largest_set: the most quasi-identifiers that a set of them could have.
        records: records that have a minimal sample unique.
        minimal_sample_uniques: how many there are of each size, 1 first.
        highest_score: the SUDA score of the riskiest record; 0 where there is none.
        sampling_fraction: share of the population that the DIS score takes the table for.
        highest_dis_score: the riskiest record's probability of a correct match.
    """

    largest_set: int
    records: int
    minimal_sample_uniques: tuple[int, ...]
    highest_score: float
    sampling_fraction: float
    highest_dis_score: float

    def to_dict(self) -> JsonObject:
        """The special uniques as JSON shows them."""
        return plain(self)


def measure(
    session: Session,
    table: Relation,
    quasi_identifiers: Sequence[str],
    largest_set: int,
    sampling_fraction: float = DIS_FRACTION,
    counting: Counting = ROWS,
) -> SpecialUniques:
    """The special uniques of a table, over sets of at most so many quasi-identifiers.

    Where NULLs are excluded, a NULL is in no minimal sample unique and equals nothing, as sdcMicro
    has it; else it is a value. It takes records, one of a person, and no wildcards.
    """
    import numpy as np

    if counting.subject is not None or counting.null_policy == "wildcard":
        raise ValueError("special uniques are records of classes that do not overlap")
    keys = [f"qi_{i}" for i in range(len(quasi_identifiers))]
    found = session.arrays(
        select(*(aliased(_number(key, counting), key) for key in keys), "records").from_(
            classes(table, quasi_identifiers).subquery("classes")
        )
    )
    codes = np.stack([found[key].astype(np.int64) for key in keys], axis=1)
    return summary(codes, found["records"].astype(np.int64), largest_set, sampling_fraction)


def _number(key: str, counting: Counting) -> Expr:
    """The number of a value in its column, -1 where it equals nothing."""
    order = [ascending(column(key))]
    number = over(dense_rank(), order=order)
    if counting.null_policy != "exclude":
        return number
    unknown = is_null(column(key))
    return case((unknown, literal(-1)), otherwise=number)


def summary(
    codes: NDArray[np.int64],
    records: NDArray[np.int64],
    largest_set: int,
    sampling_fraction: float = DIS_FRACTION,
) -> SpecialUniques:
    """The special uniques of a table of distinct combinations; arguments as `msus` has them."""
    width = codes.shape[1]
    largest_set = min(largest_set, width)
    found = msus(codes, records, largest_set)
    score = scores(found, width)
    dis = dis_scores(score, records, width, sampling_fraction)
    return SpecialUniques(
        largest_set,
        int((found.sum(axis=1) > 0).sum()),
        tuple(found.sum(axis=0).tolist()),
        float(score.max(initial=0.0)),
        sampling_fraction,
        float(dis.max(initial=0.0)),
    )


def msus(
    codes: NDArray[np.int64], records: NDArray[np.int64], largest_set: int
) -> NDArray[np.int64]:
    """How many minimal sample uniques of each size each combination has: combinations × sizes.

    Args:
        codes: distinct combinations × quasi-identifiers; a negative code equals nothing, and is in
            no minimal sample unique.
        records: records of each combination.
        largest_set: the largest size to look for.
    """
    import numpy as np

    width = codes.shape[1]
    alone: dict[int, NDArray[np.uint8]] = {}  # by set of columns, a bit each: who is unique on it
    found = np.zeros((len(codes), largest_set), dtype=np.int64)

    def grow(
        columns: int,
        first: int,
        rows: NDArray[np.int64],
        key: NDArray[np.int64],
        settled: NDArray[np.bool_],
    ) -> None:
        """Look at a set of columns, then at those with one more column before its first.

        So every set comes after all its parts, and only one chain of sets is held. Who is unique
        on a set has no larger one and meets nobody there, so that few `rows` are left.
        """
        unique = np.bincount(key, weights=records[rows])[key] == 1
        minimal = unique.copy()
        for bit in range(first, width):
            if columns >> bit & 1 and (part := columns & ~(1 << bit)):
                minimal &= np.unpackbits(alone[part], count=len(codes))[rows] == 0
        size = columns.bit_count()
        found[rows, size - 1] += minimal
        if size == largest_set:
            return
        settled = settled.copy()
        settled[rows] = unique
        alone[columns] = np.packbits(settled)
        rows, key = rows[~unique], key[~unique]
        for more in range(first):
            known = codes[rows, more] >= 0
            joint = _numbered(key[known], codes[rows[known], more])
            grow(columns | 1 << more, more, rows[known], joint, settled)

    nobody = np.zeros(len(codes), dtype=bool)
    for first in range(width):
        rows = np.flatnonzero(codes[:, first] >= 0)
        grow(1 << first, first, rows, codes[rows, first], nobody)
    return found


def _numbered(key: NDArray[np.int64], more: NDArray[np.int64]) -> NDArray[np.int64]:
    """Numbers of the pairs of two columns of numbers, small enough to count by."""
    import numpy as np

    joint: NDArray[np.int64] = key * (more.max(initial=0) + 1) + more
    if joint.max(initial=0) < 8 * len(joint):
        return joint
    dense: NDArray[np.int64] = np.unique(joint, return_inverse=True)[1]
    return dense


def scores(found: NDArray[np.int64], width: int, *, original: bool = True) -> NDArray[np.float64]:
    """The SUDA score of each combination.

    A minimal sample unique of size s among m quasi-identifiers, none looked for above size M, adds
    (m-s)·(m-s-1)·… down to m-M, or 1 where M = m (Elliot et al.); otherwise, as the program of the
    IHSN has it, (2^(m-s) - 1) · s!(m-s)!/m!.

    Args:
        found: minimal sample uniques by size, as `msus` gives them.
        width: how many quasi-identifiers there are.
        original: score as Elliot et al., sdcMicro's default.
    """
    import numpy as np

    largest = found.shape[1]
    sizes = range(1, largest + 1)
    last = min(largest, width - 1)
    weights = np.array(
        [
            float(math.prod(width - i for i in range(s, last + 1)))
            if original
            else (2.0 ** (width - s) - 1) / math.comb(width, s)
            for s in sizes
        ]
    )
    total: NDArray[np.float64] = found @ weights
    return total


def dis_scores(
    score: NDArray[np.float64],
    records: NDArray[np.int64],
    width: int,
    sampling_fraction: float = DIS_FRACTION,
) -> NDArray[np.float64]:
    """The chance that a match on each combination is right, from its SUDA score (DIS-SUDA).

    The chance over all unique records, U·π / (U·π + P·(1-π)) for U uniques and P records in pairs,
    is spread over them so that higher scores get more of it.

    Args:
        score: SUDA scores; 0 gives 0.
        records: records of each combination.
        width: how many quasi-identifiers there are.
        sampling_fraction: share π of the population that the table holds.
    """
    import numpy as np

    uniques, pairs = float((records == 1).sum()), float(2 * (records == 2).sum())
    special = score > 0
    chance = np.zeros(len(score))
    if not special.any():
        return chance
    right = uniques * sampling_fraction
    all_right = right / (right + pairs * (1 - sampling_fraction))
    power = score[special] ** (1 + (8 - width) / 20)
    wrong = uniques / all_right - uniques
    chance[special] = 1 / (1 + wrong / (power * (1 / power).sum()))
    return chance
