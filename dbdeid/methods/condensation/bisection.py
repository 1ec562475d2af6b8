"""Clusters of K to 2K − 1 records by cutting along the leading principal axis."""

from __future__ import annotations

import numpy as np

from dbdeid.data.records import Floats, Ints

CELLS = 1 << 21  # numbers worked on at once, which stay in the cache
TURNS = 30  # of the power iteration: any axis near the leading one will do


def bisect(points: Floats, k: int) -> Ints:
    """The cluster of each record.

    Every part of 2K records or more, enough for c = ⌊n/K⌋ clusters, is cut on its leading principal
    axis in proportion to ⌊c/2⌋ and ⌈c/2⌉ clusters. So clusters stay near K, where plain halving
    gives up to 2K − 1; and the parts of a round have few sizes, and are worked on together by size.

    Args:
        points: (n, m) weighted records, n ≥ k.
        k: least records of a cluster.

    Returns:
        (n,) from 0 without gaps; clusters hold k to 2k − 1 records.
    """
    n = len(points)
    order = np.arange(n)
    starts, sizes = np.array([0]), np.array([n])
    while (split := sizes >= 2 * k).any():
        leaves = sizes // k
        left = np.where(split, sizes * (leaves // 2) // leaves, sizes)
        for size in np.unique(sizes[split]).tolist():
            own = sizes == size
            _cut(points, order, starts[own], size, int(left[own][0]))
        firsts = np.concatenate([starts, (starts + left)[split]])
        sizes = np.concatenate([left, (sizes - left)[split]])
        by_place = np.argsort(firsts)
        starts, sizes = firsts[by_place], sizes[by_place]
    clusters = np.empty(n, dtype=np.int64)
    clusters[order] = np.repeat(np.arange(len(sizes)), sizes)
    return clusters


def _cut(points: Floats, order: Ints, starts: Ints, size: int, left: int) -> None:
    """Reorder the records of parts of one size: the lowest on the axis come first, `left` many."""
    step = max(1, CELLS // (size * max(1, points.shape[1])))
    for first in range(0, len(starts), step):
        places = starts[first : first + step, None] + np.arange(size)
        members = order[places]
        scores = _projections(points[members])
        by_score = np.argpartition(scores, left - 1, axis=1)
        order[places] = np.take_along_axis(members, by_score, axis=1)


def _projections(parts: Floats) -> Floats:
    """(parts, size) the places of records on the leading axis of their part."""
    parts = parts - parts.mean(axis=1, keepdims=True)
    scatter = parts.swapaxes(1, 2) @ parts
    # From the column of the largest variance the iteration never starts across the axis.
    most = np.einsum("pii->pi", scatter).argmax(axis=1) if parts.shape[2] else None
    if most is None:
        return np.zeros(parts.shape[:2])
    axis = np.take_along_axis(scatter, most[:, None, None], axis=2)
    for _ in range(TURNS):
        length = np.abs(axis).max(axis=1, keepdims=True)
        axis = scatter @ (axis / np.where(length > 0, length, 1.0))
    return np.asarray((parts @ axis)[..., 0], dtype=np.float64)
