"""Maximum distance to average vector: groups of k to 2k - 1 records that are near each other.

MDAV-generic of Domingo-Ferrer & Torra 2005 (Data Mining and Knowledge Discovery 11, section 3),
after Domingo-Ferrer & Mateo-Sanz 2002: while 3k records are left, the record farthest from their
mean makes a group with the k - 1 nearest to it, and so does the record farthest from that one.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from dbdeid.methods.microaggregation.groups import Groups, Left, joined, nearest
from dbdeid.methods.microaggregation.mixed_points import Points


def mdav(points: Points, k: int, settled: Callable[[int], None] | None = None) -> Groups:
    """Groups of k to 2k - 1 records; all records are one where there are fewer than 2k.

    The records of one point may be in several groups. O(n² / k) for n records.

    Args:
        points: with at least k records.
        k: least records of a group.
        settled: told how many records have a group.
    """
    left, parts = Left(points), []
    whole = left.records
    while left.records >= 3 * k:
        squares = left.points.squares_to(_farthest(left))
        near = nearest(squares, left.points.records, k)
        parts.append(left.take(*near))
        # the farthest may itself be among the nearest, where all are as far
        gone = left.points.records == 0
        squares[gone] = -1.0
        squares = left.points.squares_to(int(np.argmax(squares)))
        squares[gone] = np.inf
        others = nearest(squares, left.points.records, k)
        parts.append(left.take(*others))
        left.close(np.union1d(near[0], others[0]))
        if settled is not None:
            settled(whole - left.records)
    if left.records >= 2 * k:
        squares = left.points.squares_to(_farthest(left))
        near = nearest(squares, left.points.records, k)
        parts.append(left.take(*near))
        left.close(near[0])
    parts.append(left.rest())
    return joined(parts)


def _farthest(left: Left) -> int:
    """The place of the point that is farthest from the mean of all that is left."""
    return int(np.argmax(left.points.squares_to_mean(left.mean)))
