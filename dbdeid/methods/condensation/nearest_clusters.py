"""The clusters of the published methods: k-means with a fill step, and nearest records."""

from __future__ import annotations

import warnings

import numpy as np
from numpy.random import Generator

from dbdeid.data.records import Floats, Ints

PLUS_PLUS = 1000  # most centres that are started by k-means++
ROUNDS = 50  # most rounds of Lloyd's algorithm


def kmeans(points: Floats, k: int, rng: Generator) -> tuple[Ints, Floats]:
    """⌊n/K⌋ clusters of any size by Lloyd's algorithm from one start (Gal et al. 2014, 2(b)).

    Args:
        points: (n, m) weighted records, n ≥ k.
        k: least records of a cluster, once it is filled.
        rng: of the start: k-means++ up to `PLUS_PLUS` centres, above random records.

    Returns:
        (n,) the cluster of each record; (⌊n/K⌋, m) the centres.
    """
    number = len(points) // k
    if number == 1 or not points.shape[1]:
        centre = points.mean(axis=0, keepdims=True)
        return np.zeros(len(points), dtype=np.int64), centre.repeat(number, axis=0)
    from sklearn.cluster import KMeans
    from sklearn.exceptions import ConvergenceWarning
    from threadpoolctl import threadpool_limits

    model = KMeans(
        number,
        init="k-means++" if number <= PLUS_PLUS else "random",
        n_init=1,
        max_iter=ROUNDS,
        algorithm="lloyd",
        random_state=int(rng.integers(2**31)),
    )
    # Threads add up their parts as they end, so that two runs may differ.
    with threadpool_limits(1), warnings.catch_warnings():
        # Of fewer distinct records than centres: the clusters that stay empty are filled.
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit(points)
    return model.labels_.astype(np.int64), np.asarray(model.cluster_centers_, dtype=np.float64)


def fill(points: Floats, centres: Floats, labels: Ints, k: int) -> Ints:
    """Give clusters of fewer than K records the nearest ones (Gal et al. 2014, step 2(c)).

    Centres stay where they are, and a cluster gives only while it has more than K.

    Args:
        points: (n, m) records, n ≥ k times the number of centres.
        centres: (clusters, m).
        labels: (n,) the cluster of each record.
        k: least records of a cluster.

    Returns:
        (n,) the cluster of each record.
    """
    labels = labels.copy()
    sizes = np.bincount(labels, minlength=len(centres))
    order = np.argsort(labels, kind="stable")
    starts = np.cumsum(sizes) - sizes
    ends = starts + sizes
    away = np.sqrt(((points - centres[labels]) ** 2).sum(axis=1))
    reach = np.zeros(len(centres))
    np.maximum.at(reach, labels, away)

    def nearest(centre: Floats, donors: Ints, need: int) -> tuple[Ints, Floats]:
        """The nearest records that the donors can spare, and their distances."""
        rows = np.concatenate([order[starts[d] : ends[d]] for d in donors.tolist()])
        rows = rows[sizes[labels[rows]] > k]  # a record that has moved fills a cluster of K
        distance = np.sqrt(((points[rows] - centre) ** 2).sum(axis=1))
        by_distance = np.lexsort((rows, distance))
        rows, distance = rows[by_distance], distance[by_distance]
        kept = np.flatnonzero(_turns(labels[rows]) < (sizes - k)[labels[rows]])[:need]
        return rows[kept], distance[kept]

    small = np.flatnonzero(sizes < k)
    for receiver in small[np.argsort(sizes[small], kind="stable")].tolist():
        need = int(k - sizes[receiver])
        donors = np.flatnonzero(sizes > k)
        apart = np.sqrt(((centres[donors] - centres[receiver]) ** 2).sum(axis=1))
        # No record of a donor is nearer than this: most donors need no look.
        bound = (apart - reach[donors]) * (1 - 1e-9)
        by_bound = np.argsort(bound, kind="stable")
        donors, bound = donors[by_bound], bound[by_bound]
        enough = int(np.searchsorted(np.cumsum(sizes[donors] - k), need)) + 1
        taken, distance = nearest(centres[receiver], donors[:enough], need)
        wide = int(np.searchsorted(bound, distance[-1], side="right"))
        if wide > enough:
            taken, _ = nearest(centres[receiver], donors[:wide], need)
        sizes -= np.bincount(labels[taken], minlength=len(sizes))
        sizes[receiver] = k
        labels[taken] = receiver
    return labels


def _turns(labels: Ints) -> Ints:
    """How many before it have the same label."""
    by_label = np.argsort(labels, kind="stable")
    arranged = labels[by_label]
    first = np.searchsorted(arranged, arranged, side="left")
    turns = np.empty(len(labels), dtype=np.int64)
    turns[by_label] = np.arange(len(labels)) - first
    return turns


def nearest_groups(points: Floats, k: int, rng: Generator) -> Ints:
    """The clusters of the first condensation (Aggarwal & Yu 2004; Gal et al. 2014, Algorithm 1).

    ⌊n/K⌋ times a random record and its K − 1 nearest leave; what is left over goes to the nearest
    centroid, which stays where it was.

    Args:
        points: (n, m) weighted records, n ≥ k.
        k: least records of a cluster.
        rng: picks the records.

    Returns:
        (n,) the cluster of each record, from 0 without gaps.
    """
    n, number = len(points), len(points) // k
    clusters = np.full(n, -1, dtype=np.int64)
    centres = np.empty((number, points.shape[1]))
    live, here, squares = np.arange(n), points, (points**2).sum(axis=1)
    for cluster in range(number):
        at = int(rng.integers(len(live)))
        distance = squares - 2.0 * (here @ here[at])
        distance[at] = -np.inf  # its equals must not take its place
        members = np.argpartition(distance, k - 1)[:k] if len(live) > k else np.arange(k)
        clusters[live[members]] = cluster
        centres[cluster] = here[members].mean(axis=0)
        rest = np.ones(len(live), dtype=np.bool_)
        rest[members] = False
        live, here, squares = live[rest], here[rest], squares[rest]
    if len(live):
        distance = (centres**2).sum(axis=1) - 2.0 * (here @ centres.T)
        clusters[live] = distance.argmin(axis=1)
    return clusters
