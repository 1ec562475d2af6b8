"""The largest part of a class that can still hold a model, bounded from above.

Where every record is a subject, the models over sensitive values are convex: classes that hold
make a class that holds. So what a finer transformation keeps of a class is, taken together, a part
of it that holds, and no larger than the largest such part. A part has at most the class's c_v
subjects of each value v; it is written s, with n subjects.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from dbdeid.privacy.common.histogram import CLOSE, Floats, Histogram, Ints

STEPS = 32  # of an iteration of which every step is a bound
HALVED = 10  # times that the range of a level is halved
SHORT = 64  # values in order up to which many functions of their places are tried
PLACES, FEWER = 16, 4  # that these functions begin at
HEIGHTS = (1 / 2, 1 / 4, 1 / 8)  # of functions, as parts of the places
TABLE = 1 << 20  # cells of a table of classes and values, at most


def filled(
    of_class: Ints, counts: Ints | Floats, caps: Floats | float, need: float, start: Floats
) -> Floats:
    """The greatest n of each class, up to a start, for which Σ min(c_v, b_v · n) ≥ need · n.

    For any values T it is need · n ≤ C_T + B_rest · n, so that n ≤ C_T / (need - B_rest) where that
    is positive. With T the values whose c_v ≤ b_v · n this is Newton's step from the right towards
    the root of a concave function: each is a bound, and the last one is the root.

    Args:
        of_class: the class of each entry.
        counts: c_v of each entry.
        caps: b_v of each entry.
        need: the share that must be filled.
        start: a bound of each class, positive.
    """
    found, classes = start.copy(), len(start)
    caps = np.broadcast_to(np.asarray(caps, np.float64), counts.shape)
    for _ in range(STEPS):
        small = counts <= caps * found[of_class]
        taken = np.bincount(of_class, counts * small, classes)
        left = need - np.bincount(of_class, caps * ~small, classes) - CLOSE
        step = np.divide(taken, left, out=found.copy(), where=left > CLOSE)
        if not np.any(step < found * (1 - CLOSE)):
            break
        found = np.minimum(found, step)
    return found


def capped(classes: Histogram, caps: Floats) -> Floats:
    """The most subjects of a part that has at most a share b_v of each value.

    A part that holds has n = Σ s_v ≤ Σ min(c_v, ⌊b_v · n⌋), which is `filled` with need 1; and n is
    at most what the right side is for any bound on n.

    Args:
        classes: the classes.
        caps: b_v of each entry.
    """
    found = filled(classes.of_class, classes.count, caps, 1.0, classes.sizes.astype(np.float64))
    for _ in range(STEPS):
        whole = np.floor(caps * found[classes.of_class] + CLOSE * (1 + found[classes.of_class]))
        step = classes.summed(np.minimum(classes.count, whole))
        if not np.any(step < found):
            break
        found = np.minimum(found, step)
    return found


def near_to(classes: Histogram, shares: Floats, distance: float) -> Floats:
    """The most subjects of a part whose shares lack at most a distance of given shares q_v.

    Σ max(q_v - s_v / n, 0) ≤ t is Σ min(s_v, q_v · n) ≥ (1 - t) · n, and s_v ≤ c_v: `filled` with
    need 1 - t.

    Args:
        classes: the classes.
        shares: q_v of each value; they add up to 1.
        distance: t.
    """
    if distance >= 1:
        return classes.sizes.astype(np.float64)
    return filled(
        classes.of_class,
        classes.count,
        shares[classes.value],
        1 - distance,
        classes.sizes.astype(np.float64),
    )


def in_order(classes: Histogram, shares: Floats, moved: float) -> Floats:
    """The most subjects of a part whose values, in their order, are moved by few places.

    A part with Σ_j |S_j / n - Q_j| ≤ d (cumulative) has E_q f - Σ s_v f(v) / n ≤ d for every f that
    changes by at most 1 a place. Where f ≥ 0 it follows that n ≤ Σ c_v f(v) / (E_q f - d).

    Args:
        classes: the classes.
        shares: q_v of each value.
        moved: d, in places.
    """
    found, values = classes.sizes.astype(np.float64), len(shares)
    slack = CLOSE * values
    gentle = _gentle(values)
    left = shares @ gentle - moved - slack
    gentle, left = gentle[:, left > slack], left[left > slack]
    if not len(left):
        return found
    if classes.classes * values > TABLE:  # then most of a table is empty
        for one, by in zip(gentle.T, left, strict=True):
            held = classes.summed(classes.count * one[classes.value])
            found = np.minimum(found, held / by)
        return found
    key = classes.of_class * values + classes.value
    table = np.bincount(key, classes.count, classes.classes * values).reshape(-1, values)
    return np.minimum(found, (table @ gentle / left).min(axis=1))


@lru_cache(maxsize=8)
def _gentle(values: int) -> Floats:
    """Functions of a place that are not negative and change by at most 1 a place (places, them).

    Ramps to either side of some places, whole and up to a height; valleys and peaks.
    """
    number = PLACES if values <= SHORT else FEWER
    places = np.unique(np.linspace(0, values - 1, number).round())
    distance = np.arange(values, dtype=np.float64)[:, None] - places
    up, down, away = np.maximum(distance, 0), np.maximum(-distance, 0), np.abs(distance)
    found = [up, down, away]
    for part in HEIGHTS:
        height = max(round(values * part), 1)
        found += [np.minimum(up, height), np.minimum(down, height), np.maximum(height - away, 0)]
    return np.asarray(np.unique(np.hstack(found), axis=1), np.float64)


def levelled(of_class: Ints, counts: Ints, levels: Floats) -> Floats:
    """The subjects of each class where of no value are more than a level: Σ min(c_v, λ)."""
    part = np.minimum(counts, levels[of_class])
    return np.asarray(np.bincount(of_class, part, len(levels)), np.float64)


def even(classes: Histogram, least: float) -> Floats:
    """The most subjects of a part whose entropy is at least a number.

    Of all parts with n subjects min(c_v, λ) is majorized by each, and so has most entropy; its
    shares for a lower λ are majorized by those for a higher one, so that its entropy only falls
    with λ. So n ≤ Σ min(c_v, λ) for any λ at which the entropy is too small.

    Args:
        classes: the classes.
        least: what the entropy must be, in nats.
    """
    high = np.zeros(classes.classes)
    np.maximum.at(high, classes.of_class, classes.count)
    low = np.zeros(classes.classes)
    too_even = _entropy(classes, high) >= least - CLOSE
    for _ in range(HALVED):
        middle = (low + high) / 2
        enough = _entropy(classes, middle) >= least - CLOSE
        low, high = np.where(enough, middle, low), np.where(enough | too_even, high, middle)
    return levelled(classes.of_class, classes.count, high)


def _entropy(classes: Histogram, levels: Floats) -> Floats:
    part = np.minimum(classes.count, levels[classes.of_class])
    total = classes.summed(part)
    return np.asarray(np.log(total) - classes.summed(part * np.log(part)) / total)
