"""Which values cannot stand beside a quasi-identifier, for who counts records that are genuine.

That no record has two values together proves nothing by itself: most pairs of rare values are
unseen. It tells where so many records would have them by chance that none is no chance any more.
ENOUGH is 6: of pairs that are neither more nor less frequent than chance, one in 400 is then unseen
(e⁻⁶; the rule of three of Hanley & Lippman-Hand 1983 is the same with one in 20, which is too many
where hundreds of pairs are looked at). An unseen pair is ruled out if

- ENOUGH records would have it by chance; or
- a value stands beside a few quasi-identifiers only: all those that it is never seen with would
  have ENOUGH of its records by chance, and as many again for each that it is seen with just once.
  What is seen once is a measure of what is yet to be seen (Good 1953); or
- the same of a quasi-identifier and the values that are never seen with it.

So the injuries of those who survived rule out each race of a table that knows the race of the dead
only, also the race of two people.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from dbdeid.data.records import Bools, Floats, Ints

# Records that would have both values by chance, from which on it tells that none has.
ENOUGH = 6 - 1e-6
# Pairs of columns with more pairs of values are not counted.
PAIRS = 1 << 23


def no_chance(counted: Floats, expected: Floats) -> Bools:
    """The pairs that no record has, and that is no chance.

    Args:
        counted: (labels, values) how many records have both.
        expected: (labels, values) how many would by chance.

    Returns:
        (labels, values)
    """
    unseen = counted == 0
    missed = np.where(unseen, expected, 0)
    once = counted == 1
    labels = missed.sum(axis=1) >= ENOUGH * (1 + once.sum(axis=1))
    values = missed.sum(axis=0) >= ENOUGH * (1 + once.sum(axis=0))
    found: Bools = unseen & ((expected >= ENOUGH) | labels[:, None] | values[None, :])
    return found


def ruled_out(
    known: Ints, told: Ints, records: Ints, sizes: Sequence[int], values: int
) -> list[Bools]:
    """What the classes that nobody padded rule out beside each quasi-identifier, for all to see.

    By chance means as often as the value stands beside each of the other quasi-identifiers,
    whichever of them leaves the fewest: where all genuine records of a town are of adults, they
    tell nothing of the illnesses of its children.

    Args:
        known: (n, q) codes of the quasi-identifiers in rows that are genuine.
        told: (n,) the code of the column.
        records: (n,) how many records a row stands for.
        sizes: how many codes each quasi-identifier has.
        values: how many the column has.

    Returns:
        Of each quasi-identifier (codes, values).
    """
    together = tables(known, told, records, sizes, values)
    found = []
    for i, (own, counted) in enumerate(zip(known.T, together, strict=True)):
        if not counted.size:
            found.append(np.zeros((sizes[i], values), np.bool_))
            continue
        expected = by_chance(counted)
        for j, (other, beside) in enumerate(zip(known.T, together, strict=True)):
            if j != i and beside.size:
                expected = np.minimum(expected, _given(own, other, records, sizes[i], beside))
        found.append(no_chance(counted, expected))
    return found


def never_together(
    known: Ints, told: Ints, records: Ints, sizes: Sequence[int], values: int
) -> list[Bools]:
    """What all real records rule out beside each quasi-identifier, for their owner to see.

    Here no other quasi-identifier explains what is missing. Arguments and result as in `ruled_out`.
    """
    found = []
    for counted, size in zip(tables(known, told, records, sizes, values), sizes, strict=True):
        if counted.size:
            found.append(no_chance(counted, by_chance(counted)))
        else:
            found.append(np.zeros((size, values), np.bool_))
    return found


def tables(
    known: Ints, told: Ints, records: Ints, sizes: Sequence[int], values: int
) -> list[Floats]:
    """How many records have each pair of values, of each quasi-identifier; of too many nothing."""
    found = []
    for own, size in zip(known.T, sizes, strict=True):
        if size * values > PAIRS:
            found.append(np.zeros((0, 0)))
            continue
        counted = np.bincount(own * values + told, records, size * values).astype(float)
        found.append(counted.reshape(size, values))
    return found


def by_chance(counted: Floats) -> Floats:
    """How many records would have each pair, if neither column told anything of the other."""
    found: Floats = np.outer(counted.sum(axis=1), counted.sum(axis=0)) / max(counted.sum(), 1)
    return found


def _given(own: Ints, other: Ints, records: Ints, size: int, beside: Floats) -> Floats:
    """Records with each value of a column and of a quasi-identifier, if only another one decided.

    Args:
        own: (n,) codes of the quasi-identifier.
        other: (n,) those of the other one.
        records: (n,) how many records a row stands for.
        size: how many codes the quasi-identifier has.
        beside: (codes of the other one, values) how many records have both.
    """
    from scipy.sparse import csr_matrix

    both = csr_matrix((records.astype(float), (own, other)), shape=(size, len(beside)))
    found: Floats = both @ (beside / np.maximum(beside.sum(axis=1, keepdims=True), 1))
    return found
