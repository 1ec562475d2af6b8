"""Partition of a minimum spanning tree: groups that follow the gaps between records.

Laszlo & Mukherjee 2005 (IEEE Transactions on Knowledge and Data Engineering 17(7), section 4): of a
minimum spanning tree the edges are cut, the longest first, where at least k records are left on
both sides. What is left of 2k records or more is divided by a method of fixed sizes: here MDAV.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from dbdeid.data.records import Floats, Ints
from dbdeid.methods.microaggregation.groups import Groups, joined
from dbdeid.methods.microaggregation.mdav import mdav
from dbdeid.methods.microaggregation.mixed_points import Points


def mst(points: Points, k: int, settled: Callable[[int], None] | None = None) -> Groups:
    """Groups of k to 2k - 1 records.

    The records of one point are together unless they are 2k or more, or their tree is. O(n²) for n
    points.

    Args:
        points: with at least k records.
        k: least records of a group.
        settled: told how many records have a group.
    """
    parts: list[tuple[Ints, Ints]] = []
    done = 0
    for ids in trees(points, k):
        records = points.records[ids]
        number = int(records.sum())
        if number < 2 * k:
            parts.append((ids, records))
        else:
            found = mdav(points.of(ids, records.copy()), k)
            for group in range(found.number):
                own = found.group == group
                parts.append((ids[found.point[own]], found.records[own]))
        done += number
        if settled is not None:
            settled(done)
    return joined(parts)


def trees(points: Points, k: int) -> list[Ints]:
    """The points of each tree that is left when no more edges can be cut."""
    added, parent, lengths = _spanning(points)
    under = points.records.astype(np.int64)  # records of the subtree, as far as it is not cut
    for at in added[:0:-1].tolist():
        under[parent[at]] += under[at]
    cut = np.zeros(points.number, np.bool_)
    cut[added[0]] = True
    for at in added[1:][np.argsort(-lengths[added[1:]], kind="stable")].tolist():
        if under[at] < k:
            continue
        above = [int(parent[at])]
        while not cut[above[-1]]:
            above.append(int(parent[above[-1]]))
        if under[above[-1]] - under[at] >= k:
            cut[at] = True
            under[above] -= under[at]
    root = np.empty(points.number, np.int64)
    for at in added.tolist():
        root[at] = at if cut[at] else root[parent[at]]
    order = np.argsort(root, kind="stable")
    return np.split(order, np.flatnonzero(np.diff(root[order])) + 1)


def _spanning(points: Points) -> tuple[Ints, Ints, Floats]:
    """A minimum spanning tree by Prim, from the first point on.

    Returns:
        the points as they were added; of each the one it hangs on, and its squared distance.
    """
    n = points.number
    added, parent = np.zeros(n, np.int64), np.zeros(n, np.int64)
    reach, lengths = np.full(n, np.inf), np.zeros(n)
    inside = np.zeros(n, np.bool_)
    for place in range(n):
        at = int(np.argmin(np.where(inside, np.inf, reach))) if place else 0
        added[place], lengths[at], inside[at] = at, reach[at] if place else 0.0, True
        squares = points.squares_to(at)
        closer = (squares < reach) & ~inside
        reach[closer], parent[closer] = squares[closer], at
    return added, parent, lengths
