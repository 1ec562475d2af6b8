"""A membership attack on synthetic records: what they reveal of who was in the data.

Records are synthesized from a random half, the members; the other half are others of the same kind,
of whom the synthetic records know nothing. An attacker takes a person for a member who is near to a
synthetic record. How often that is right, and how often a record equals a synthetic one, is
measured on both halves: what happens to the others too is chance.

The method is that of hold-out attacks on synthetic data (Giomi et al. 2023, "A unified framework
for quantifying privacy risk in synthetic data"). The distance to the closest record alone says
nothing where records repeat.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from dbdeid.data.records import Attribute, Condensed, Floats, Ints, Records

# Numbers of a record from which on a tree has to look at nearly all points.
TREE = 10
CELLS = 1 << 24  # distances at once
TINY = 1e-12  # of squares, next to the largest
# Records of each half whose nearest synthetic record is looked for.
MOST = 5_000


@dataclass(frozen=True, slots=True)
class Attempt:
    """What an attack found.

    Attributes:
        members: records of the half that was synthesized from whose distances were looked at.
        others: those of the other half.
        auc: how well the distance to the nearest synthetic record tells the two apart: the
            probability that a member is nearer than another, .5 being chance.
        unique_members: all records of the first half that no other record equals.
        unique_others: those of the other half.
        hit_members: of the unique members, those that equal a synthetic record.
        hit_others: of the unique others, those that do.
    """

    members: int
    others: int
    auc: float
    unique_members: int
    unique_others: int
    hit_members: int
    hit_others: int


def trial(
    records: Records,
    condense: Callable[[Records, np.random.Generator], Condensed],
    rng: np.random.Generator,
    *,
    k: int,
    most: int = MOST,
) -> Attempt | None:
    """Attack records that are synthesized from a random half of each stratum.

    Args:
        records: all of them.
        condense: synthesizes records, each stratum having at least k.
        rng: of all draws, those of the synthesis among them.
        k: the least size of a cluster.
        most: records of each half whose distances are looked at, drawn where there are more.

    Returns:
        What was found; None where half of a stratum has fewer than k records.
    """
    members = half(records.strata, rng)
    inside, outside = np.flatnonzero(members), np.flatnonzero(~members)
    if np.bincount(records.strata[inside], minlength=records.strata.max() + 1).min() < k:
        return None
    synthetic = condense(part_of(records, inside), rng)
    looked = [_some(found, most, rng) for found in (inside, outside)]
    distances = _nearest(records, synthetic, np.concatenate(looked))
    unique, hit = _hits(records, synthetic)
    alone = [found[unique[found]] for found in (inside, outside)]
    return Attempt(
        members=len(looked[0]),
        others=len(looked[1]),
        auc=nearer(distances[: len(looked[0])], distances[len(looked[0]) :]),
        unique_members=len(alone[0]),
        unique_others=len(alone[1]),
        hit_members=int(hit[alone[0]].sum()),
        hit_others=int(hit[alone[1]].sum()),
    )


# -- parts ---------------------------------------------------------------------------------


def half(strata: Ints, rng: np.random.Generator) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    """Mark a random half of each stratum; the smaller half where its number is odd."""
    order = np.lexsort((rng.random(len(strata)), strata))
    sizes = np.bincount(strata)
    places = np.arange(len(strata)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    chosen = np.zeros(len(strata), np.bool_)
    chosen[order] = places < np.repeat(sizes // 2, sizes)
    return chosen


def part_of(records: Records, places: Ints) -> Records:
    """Some of the records, of all strata; the levels of categories stay."""
    attributes = tuple(replace(a, values=a.values[places]) for a in records.attributes)
    return replace(records, attributes=attributes, strata=records.strata[places])


def _some(places: Ints, most: int, rng: np.random.Generator) -> Ints:
    if len(places) <= most:
        return places
    return rng.choice(places, most, replace=False)


def _nearest(records: Records, synthetic: Condensed, places: Ints) -> Floats:
    """The distance of records to the nearest synthetic record of their stratum.

    Euclidean, every attribute having variance 1 over all records: numbers standardized, categories
    as indicators. A missing number is at the mean, with an indicator.
    """
    pairs = [
        standardized(a, a.values[places], drawn)
        for a, drawn in zip(records.attributes, synthetic.columns, strict=True)
    ]
    if not pairs:  # all columns are strata
        return np.zeros(len(places))
    asked = np.concatenate([own for own, _ in pairs], axis=1)
    known = np.concatenate([drawn for _, drawn in pairs], axis=1)
    numbers = sum(a.levels is None for a in records.attributes)
    nearest = _by_tree if numbers <= TREE else _by_all
    strata, found = records.strata[places], np.empty(len(places))
    for stratum in np.unique(strata):
        here = strata == stratum
        # equal points make a tree deep
        points = np.unique(known[synthetic.strata == stratum], axis=0)
        rows, back = np.unique(asked[here], axis=0, return_inverse=True)
        found[here] = nearest(points, rows)[back.reshape(-1)]
    return found


def _by_tree(points: Floats, asked: Floats) -> Floats:
    """The distance to the nearest point by a tree, which skips most of them."""
    from scipy.spatial import KDTree  # as heavy as it is rarely needed

    found: Floats = KDTree(points).query(asked)[0]
    return found


def _by_all(points: Floats, asked: Floats) -> Floats:
    """The distance to the nearest point, all being looked at."""
    best = np.full(len(asked), np.inf)
    lengths = (points * points).sum(axis=1)
    step = max(1, CELLS // max(len(asked), 1))
    for first in range(0, len(points), step):
        some = slice(first, first + step)
        squares = asked @ points[some].T
        squares *= -2
        squares += lengths[some]
        np.minimum(best, squares.min(axis=1), out=best)
    squares = best + (asked * asked).sum(axis=1)
    # of equal rows the difference is what rounding leaves of it
    squares[squares < TINY * np.maximum(lengths.max(initial=0), 1)] = 0
    distances: Floats = np.sqrt(squares)
    return distances


def standardized(attribute: Attribute, asked: Floats, known: Floats) -> tuple[Floats, Floats]:
    """Both sides of an attribute as columns whose variances over all records add up to 1."""
    of_all = attribute.values
    if attribute.levels is not None:
        shares = np.bincount(of_all.astype(np.int64), minlength=attribute.levels) / len(of_all)
        scale = np.sqrt(float((shares * (1 - shares)).sum())) or 1.0
        levels = np.arange(attribute.levels)
        return (asked[:, None] == levels) / scale, (known[:, None] == levels) / scale
    missing = np.isnan(of_all)
    if missing.all():
        return np.zeros((len(asked), 1)), np.zeros((len(known), 1))
    mean, deviation = of_all[~missing].mean(), of_all[~missing].std() or 1.0

    def columns(values: Floats) -> Floats:
        standard = np.nan_to_num((values - mean) / deviation)
        gaps = [np.isnan(values) * 1.0] if missing.any() else []
        return np.stack([standard, *gaps], axis=1)

    return columns(asked), columns(known)


def _hits(
    records: Records, synthetic: Condensed
) -> tuple[np.ndarray[tuple[int], np.dtype[np.bool_]], np.ndarray[tuple[int], np.dtype[np.bool_]]]:
    """Which records no other equals, and which equal a synthetic record of their stratum."""
    number = records.number
    keys = np.concatenate([records.strata, synthetic.strata])
    for attribute, drawn in zip(records.attributes, synthetic.columns, strict=True):
        both = np.concatenate([attribute.values, drawn])
        if attribute.grid:
            both = np.rint(both / attribute.grid)
        values, codes = np.unique(both, return_inverse=True)
        _, keys = np.unique(keys * len(values) + codes.reshape(-1), return_inverse=True)
        keys = keys.reshape(-1)
    there = np.bincount(keys[:number], minlength=keys.max() + 1)
    drawn_of = np.bincount(keys[number:], minlength=keys.max() + 1)
    own = keys[:number]
    return there[own] == 1, drawn_of[own] > 0


def nearer(members: Floats, others: Floats) -> float:
    """The probability that a member is nearer than another, ties counting half: the AUC."""
    if not len(members) or not len(others):
        return 0.5
    _, codes = np.unique(np.concatenate([members, others]), return_inverse=True)
    codes = codes.reshape(-1)
    of_members = np.bincount(codes[: len(members)], minlength=codes.max() + 1)
    of_others = np.bincount(codes[len(members) :], minlength=codes.max() + 1)
    farther = len(others) - np.cumsum(of_others)
    pairs = float((of_members * (farther + of_others / 2)).sum())
    return pairs / (len(members) * len(others))
