"""What the methods of Gal et al. 2014 make of a table, and how private that is."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from dbdeid.data.records import Condensed, Floats, Ints, Recipe, Records
from dbdeid.methods.attacks.membership import trial
from dbdeid.methods.condensation.clusters import condense
from dbdeid.methods.microaggregation.groups import Groups, means, modes
from dbdeid.methods.microaggregation.mdav import mdav
from dbdeid.methods.microaggregation.mixed_points import points_of
from dbdeid.methods.microaggregation.mst import mst
from dbdeid.methods.microaggregation.tfrp import tfrp
from dbdeid.papers.recipient_tables import Table, Values, calibrated

COUNTED_FROM = 50  # below it the product maps categories as the paper does
BINS, FEW = 20, 21

Rng = np.random.Generator


class Made(NamedTuple):
    """Records that stand for those of a table.

    Attributes:
        values: of each column.
        members: the cluster of each original record; None: there are no clusters.
        clusters: the cluster of each new record.
    """

    values: Values
    members: Ints | None = None
    clusters: Ints | None = None


def recipe_of(variant: str, k: int) -> Recipe:
    """The product's recipe of the recipient's variant; of the others that of the paper."""
    if variant == "recipient":
        return Recipe("recipient", k, 0.3, counts=k >= COUNTED_FROM)
    if variant == "original":
        return Recipe("original", k, 0.5)
    if variant == "microhybrid":
        return Recipe("microhybrid", k, 0.5, exact_moments=True)
    scale: Any = "z" if variant.endswith("z") else "rank"
    return Recipe("improved", k, 0.5, time="exact", time_scale=scale)


def drawn(source: Table, recipe: Recipe, rng: Rng) -> Made:
    """Synthetic records of clusters."""
    strata = recipe.knows_response
    made = condense(source.records(strata), recipe, rng)
    return Made(source.released(made, strata), made.members, made.clusters)


def bootstrap(source: Table, k: int, rng: Rng) -> Made:
    """Records drawn anew with replacement, which is not private."""
    places = rng.integers(source.number, size=source.number)
    return Made([own[places] for own in source.values])


def masked(source: Table, groups: Groups) -> Made:
    """All columns of a record replaced by the means, or most frequent values, of its group."""
    members = np.empty(source.number, np.int64)
    members[groups.point] = groups.group
    values = [
        (modes if levels else means)(own, groups)[members]
        for own, levels in zip(source.values, source.levels, strict=True)
    ]
    return Made(values, members, members)


def grouped(source: Table, way: Callable[..., Groups], k: int) -> Made:
    """All columns masked by the groups of a microaggregation."""
    ones = np.ones(source.number, np.int64)
    return masked(source, way(points_of(source.records(strata=False).attributes, ones), k))


def recipient(source: Table, k: int, rng: Rng) -> Made:
    """The default of the product, without calibration."""
    return drawn(source, recipe_of("recipient", k), rng)


def swapped(source: Table, k: int, rng: Rng) -> Made:
    """The same, calibrated for the declared models."""
    made = recipient(source, k, rng)
    assert made.clusters is not None
    values, _ = calibrated(source, made.values, made.clusters, rng)
    return made._replace(values=values)


Way = Callable[[Table, int, Rng], Made]
WAYS: dict[str, Way] = {
    "bootstrap": bootstrap,
    "TFRP": lambda source, k, rng: grouped(source, tfrp, k),
    "MDAV": lambda source, k, rng: grouped(source, mdav, k),
    "MST": lambda source, k, rng: grouped(source, mst, k),
    "microhybrid": lambda source, k, rng: drawn(source, recipe_of("microhybrid", k), rng),
    "original": lambda source, k, rng: drawn(source, recipe_of("original", k), rng),
    "improved, z": lambda source, k, rng: drawn(source, recipe_of("improved z", k), rng),
    "improved, rank": lambda source, k, rng: drawn(source, recipe_of("improved rank", k), rng),
    "recipient": recipient,
    "calibrated": swapped,
}
FIXED = ("TFRP", "MDAV", "MST")  # they draw nothing
DRAWN = ("original", "improved, rank", "recipient", "calibrated")
ATTACKED = ("microhybrid", *DRAWN)  # the first takes n² / K, so that it is not timed


def many(source: Table, way: str, k: int, seeds: int) -> Iterable[Made]:
    """What a way makes, once if it draws nothing."""
    for seed in range(1 if way in FIXED else seeds):
        yield WAYS[way](source, k, np.random.default_rng(seed))


def conditional_privacy(source: Table, made: Made) -> tuple[float, float]:
    """What a record's cluster leaves open of its values: the mean over columns, and its share.

    2 to the differential entropy of a column, given the synthetic value (Agrawal & Aggarwal 2001):
    each original record is as likely as another of its cluster to stand behind a synthetic one.
    Vital status is left out: strata keep it.

    Returns:
        In units of the columns; and relative to what is open without the synthetic records.
    """
    assert made.members is not None
    assert made.clusters is not None
    raw, shares = [], []
    weights = 1.0 / np.bincount(made.members)
    for place, (own, new) in enumerate(zip(source.values, made.values, strict=True)):
        if place == source.status:
            continue
        one, other, width = _bins(own, new)
        left, right = (
            _counts(clusters, codes, len(weights))
            for clusters, codes in ((made.members, one), (made.clusters, other))
        )
        joint = (left * weights[:, None]).T @ right / source.number
        open_ = _entropy(joint) - _entropy(joint.sum(axis=0))
        whole = _entropy(joint.sum(axis=1))
        raw.append(width * 2**open_)
        shares.append(2 ** (open_ - whole))
    return float(np.mean(raw)), float(np.mean(shares))


def _counts(clusters: Ints, codes: Ints, number: int) -> Ints:
    """(clusters, codes) how many records of each cluster have each code."""
    levels = int(codes.max()) + 1
    return np.bincount(clusters * levels + codes, minlength=number * levels).reshape(number, levels)


def _bins(own: Floats, new: Floats) -> tuple[Ints, Ints, float]:
    """Codes of both sides: values where they are few, else intervals of equal width."""
    known = np.unique(own)
    if len(known) <= FEW:
        middle = (known[1:] + known[:-1]) / 2
        return np.searchsorted(middle, own), np.searchsorted(middle, new), 1.0
    edges = np.linspace(known[0], known[-1], BINS + 1)
    return (
        np.searchsorted(edges[1:-1], own, side="right"),
        np.searchsorted(edges[1:-1], new, side="right"),
        float(edges[1] - edges[0]),
    )


def _entropy(shares: Floats) -> float:
    positive = shares[shares > 0]
    return float(-(positive * np.log2(positive)).sum())


def halved(source: Table, strata: bool, recipe: Recipe, calibrate: bool) -> Any:
    """A synthesis of some of a table's records, as the attack takes it."""

    def made(records: Records, rng: Rng) -> Condensed:
        found = condense(records, recipe, rng)
        if not calibrate:
            return found
        own = [attribute.values for attribute in records.attributes]
        own.insert(source.status, np.unique(source.values[source.status])[records.strata])
        half = replace(source, values=tuple(own))
        values, _ = calibrated(half, half.released(found, True), found.clusters, rng)
        return replace(found, columns=tuple(v for i, v in enumerate(values) if i != source.status))

    return made


def attacked(source: Table, way: str, k: int, seeds: int, counts: bool = False) -> dict[str, Any]:
    """The mean AUC, and how many unique records equal a synthetic one."""
    recipe = recipe_of("recipient" if way == "calibrated" else way, k)
    if counts:
        recipe = replace(recipe, counts=True)
    strata = recipe.knows_response
    condensed = halved(source, strata, recipe, way == "calibrated")
    records = source.records(strata)
    tried = [
        one
        for seed in range(seeds)
        if (one := trial(records, condensed, np.random.default_rng(seed), k=k)) is not None
    ]
    return {
        "auc": float(np.mean([one.auc for one in tried])),
        "members": 100 * sum(t.hit_members for t in tried) / sum(t.unique_members for t in tried),
        "others": 100 * sum(t.hit_others for t in tried) / sum(t.unique_others for t in tried),
    }
