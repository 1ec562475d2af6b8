"""A membership attack by shadow releases and likelihood ratios.

The distance to the nearest synthetic record alone understates what can be told: how near a record
is by chance differs from person to person. Who knows the method, and others like the people of the
table, makes releases of his own with and without a person, the shadows, sees how the person looks
against each, and asks of the real one which it is liker: the ratio of two likelihoods.

Shadows are made of random halves of this very table, each half condensed anew. Statistics of a
person against a shadow are held against what they are over the other shadows, so that each person
is measured by their own standard (Carlini et al. 2022, "Membership inference attacks from first
principles", section V; Watson et al. 2022). Their Gaussians, with and without the person, are
fitted on other people (Shokri et al. 2017) of about as lonely a kind. What is told is measured on
people and shadows that nothing was fitted to. Outliers are told by themselves: means hide that
these bear the risk (Stadler, Oprisanu & Troncoso 2022).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import numpy as np

from dbdeid.data.records import Bools, Condensed, Floats, Ints, Records
from dbdeid.methods.attacks.membership import half, nearer, part_of, standardized

# Releases of random halves.
SHADOWS = 16
# Records that shadows are made of, and people whose membership is tried: some of more.
RECORDS = 10_000
TARGETS = 1_000
# Most synthetic records around a person that are looked at column by column.
WINDOW = 300
# Outliers are the share of people farthest from the nearest other record of their stratum.
OUTLIERS = 0.05
# The loneliness, as a share of people, where the groups that are fitted by themselves part.
GROUPS = (0.5, 1 - OUTLIERS)
# A person is at risk whom the attack names among those of whom so many are members: half would be
# by guessing.
PRECISION = 0.8
# The share of others who are wrongly called members, where the true positives are counted.
FALSE_POSITIVES = 0.01

# Widths of the Gaussian kernels that count synthetic records near a person, in deviations of a
# column, and of those that count numbers near a person's, squared.
_NEAR, _AROUND = 0.6, 1.0
_NUMBERS = 0.05
_NAMED = 40  # guesses over all shadows; of fewer, most may be right by chance
_LEAST = 20  # people of either kind for each statistic that two Gaussians are fitted to
_RIDGE = 0.02  # of the variances, so that statistics that agree do not cancel
_CELLS = 1 << 21  # distances at once


@dataclass(frozen=True, slots=True)
class Found:
    """What the attack found of some people, over all shadows.

    Attributes:
        people: whose membership was tried in each shadow.
        auc: the probability that a member looks liker one than another person, .5 being chance.
        true_positives: the share of members that are named where FALSE_POSITIVES of others are.
        at_risk: the share of members that are named where at least PRECISION of those named are
            members.
    """

    people: int
    auc: float
    true_positives: float
    at_risk: float


@dataclass(frozen=True, slots=True)
class Shadowed:
    """What the attack found.

    Attributes:
        shadows: releases that were made of random halves.
        records: those that the halves were drawn from; fewer than the table has were drawn of it.
        everyone: of people as they come.
        outliers: of outliers, told from outliers.
        people_at_risk: members of the whole table whom the attack is expected to name.
        outlying: outliers of the whole table.
        outliers_at_risk: those of them whom the attack is expected to name.
    """

    shadows: int
    records: int
    everyone: Found
    outliers: Found
    people_at_risk: int
    outlying: int
    outliers_at_risk: int


def shadowed(
    records: Records,
    condense: Callable[[Records, np.random.Generator], Condensed],
    rng: np.random.Generator,
    *,
    k: int,
    shadows: int = SHADOWS,
    targets: int = TARGETS,
) -> Shadowed | None:
    """Attack releases of random halves of the records, knowing the method.

    Args:
        records: all of them.
        condense: synthesizes records, each stratum having at least k.
        rng: of all draws, those of the syntheses among them.
        k: the least size of a cluster.
        shadows: releases of random halves, three at least.
        targets: people whose membership is tried, drawn where there are more; of outliers a
            quarter as many are added.

    Returns:
        What was found; None where half of a stratum has fewer than k records.
    """
    if (np.bincount(records.strata) // 2).min() < k or not records.attributes:
        return None
    of_table = records.number
    records = _sampled(records, k, rng)
    number = records.number
    ranks = np.argsort(np.argsort(loneliness(records), kind="stable"), kind="stable")
    far = np.flatnonzero(ranks >= GROUPS[-1] * number)
    drawn = np.zeros(number, np.bool_)
    drawn[rng.choice(number, min(targets, number), replace=False)] = True
    more = rng.choice(far, min(targets // 4, len(far)), replace=False)
    people = np.union1d(np.flatnonzero(drawn), more)
    found, members = [], []
    for _ in range(shadows):
        inside = half(records.strata, rng)
        synthetic = condense(part_of(records, np.flatnonzero(inside)), rng)
        found.append(statistics(records, synthetic, people, k))
        members.append(inside[people])
    groups = np.searchsorted(np.array(GROUPS) * number, ranks[people], side="right")
    folds = rng.permutation(len(people)) % 2
    there = np.stack(members)
    ratios = likelihood_ratios(np.stack(found), there, groups, folds)
    outlier = groups == len(GROUPS)
    of_outliers = _told(ratios[:, outlier], there[:, outlier])
    rest = drawn[people] & ~outlier
    share = len(far) / number
    of_rest = _at_risk(ratios[:, rest], there[:, rest])
    everyone = _told(ratios[:, drawn[people]], there[:, drawn[people]])
    at_risk = share * of_outliers.at_risk + (1 - share) * of_rest
    return Shadowed(
        shadows=shadows,
        records=number,
        everyone=replace(everyone, at_risk=at_risk),
        outliers=of_outliers,
        people_at_risk=round(at_risk * of_table),
        outlying=round(share * of_table),
        outliers_at_risk=round(share * of_outliers.at_risk * of_table),
    )


def _told(ratios: Floats, there: Bools) -> Found:
    """What the likelihood ratios of (shadows, people) come to."""
    yes, no = ratios[there], ratios[~there]
    if not len(yes) or not len(no):
        return Found(ratios.shape[1], 0.5, 0.0, 0.0)
    threshold = float(np.quantile(no, 1 - FALSE_POSITIVES, method="higher"))
    return Found(
        people=ratios.shape[1],
        auc=nearer(-yes, -no),
        true_positives=float((yes > threshold).mean()),
        at_risk=_at_risk(ratios, there),
    )


def _at_risk(ratios: Floats, there: Bools) -> float:
    """The share of members that are named with PRECISION."""
    yes = ratios[there]
    if not len(yes):
        return 0.0
    return float((yes >= naming(ratios.ravel(), there.ravel())).mean())


def naming(ratios: Floats, there: Bools) -> float:
    """The least ratio from which on PRECISION of those named are members; inf if there is none.

    Fewer than _NAMED are not named: of few, most may be members by chance.
    """
    order = np.argsort(-ratios, kind="stable")
    ranked = ratios[order]
    precision = np.cumsum(there[order]) / np.arange(1, len(order) + 1)
    last = np.append(ranked[1:] < ranked[:-1], True)  # equal ratios are named together
    good = np.flatnonzero((precision >= PRECISION) & last)
    good = good[good + 1 >= _NAMED]
    return float(ranked[good[-1]]) if len(good) else float("inf")


def _sampled(records: Records, k: int, rng: np.random.Generator) -> Records:
    """At most about RECORDS records, each stratum in proportion and with enough for two halves."""
    sizes = np.bincount(records.strata)
    if records.number <= RECORDS:
        return records
    kept = np.minimum(sizes, np.maximum(2 * k, sizes * RECORDS // records.number))
    order = np.lexsort((rng.random(records.number), records.strata))
    places = np.arange(records.number) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    return part_of(records, np.sort(order[places < np.repeat(kept, sizes)]))


# -- how a person looks against a release --------------------------------------------------


def loneliness(records: Records) -> Floats:
    """(n,) the distance of each record to the nearest other one of its stratum.

    Columns weigh as in the attack by distance: each has variance 1 over all records.
    """
    pairs = [standardized(a, a.values, a.values) for a in records.attributes]
    points = np.concatenate([own for own, _ in pairs], axis=1)
    found = np.empty(records.number)
    for here, there in _strata(records.strata, records.strata):
        for some in _steps(here, len(there)):
            squares = _squares(points[some], points[there])
            squares[np.arange(len(some)), np.searchsorted(there, some)] = np.inf
            found[some] = np.sqrt(squares.min(axis=1))
    return found


def statistics(records: Records, synthetic: Condensed, people: Ints, k: int) -> Floats:
    """Statistics of people: the larger, the more a release looks as if they were in its data.

    Of the synthetic records of a person's stratum: how near the nearest is; how many are near, by
    two Gaussian kernels; how usual each of the person's values is among the k nearest, as among
    those of a cluster; and among the 3k whose response is the nearest, clusters being narrow in
    it. Values of a column are taken as independent there.

    Args:
        records: all of them, by which columns are standardized.
        synthetic: the release.
        people: (t,) the places of people in `records`.
        k: the least size of a cluster.

    Returns:
        (t, 5), and (t, 4) without a response.
    """
    values = [a.values[people] for a in records.attributes]
    pairs = [
        standardized(a, own, drawn)
        for a, own, drawn in zip(records.attributes, values, synthetic.columns, strict=True)
    ]
    asked = np.concatenate([own for own, _ in pairs], axis=1)
    known = np.concatenate([drawn for _, drawn in pairs], axis=1)
    found = np.zeros((len(people), 4 if records.response is None else 5))
    for here, there in _strata(records.strata[people], synthetic.strata):
        size = min(k, WINDOW, len(there))
        for some in _steps(here, len(there)):
            squares = _squares(asked[some], known[there])
            found[some, 0] = -np.sqrt(squares.min(axis=1))
            for at, width in ((1, _NEAR), (2, _AROUND)):
                near = np.exp(squares * (-0.5 / width**2)).sum(axis=1)
                found[some, at] = np.log(near + 1e-9)
            nearest = np.argpartition(squares, size - 1, axis=1)[:, :size]
            found[some, 3] = _usual(records, pairs, some, there[nearest])
            if records.response is not None:
                drawn, own = synthetic.columns[records.response], values[records.response]
                window = _window(drawn[there], own[some], min(3 * k, WINDOW, len(there)))
                found[some, 4] = _usual(records, pairs, some, there[window])
    return found


def _window(known: Floats, asked: Floats, size: int) -> Ints:
    """(t, size) the places of the known numbers that are nearest in rank to each asked one."""
    order = np.argsort(known, kind="stable")
    first = np.searchsorted(known[order], asked) - size // 2
    places: Ints = np.clip(first, 0, len(known) - size)[:, None] + np.arange(size)
    return np.asarray(order[places], dtype=np.int64)


def _usual(
    records: Records, pairs: list[tuple[Floats, Floats]], people: Ints, window: Ints
) -> Floats:
    """The logarithm of how often each value of people is among (t, size) synthetic records."""
    total = np.zeros(len(people))
    for attribute, (own, drawn) in zip(records.attributes, pairs, strict=True):
        if attribute.levels is None:
            squares = (own[people, 0][:, None] - drawn[:, 0][window]) ** 2
            if own.shape[1] > 1:  # a missing number is near another missing one alone
                squares += 1e3 * (own[people, 1][:, None] != drawn[:, 1][window])
            often = np.exp(squares * (-0.5 / _NUMBERS)).sum(axis=1)
        else:
            codes = drawn.argmax(axis=1)[window]
            often = (own[people].argmax(axis=1)[:, None] == codes).sum(axis=1)
        total += np.log(often + 0.5)
    return total


def _strata(asked: Ints, known: Ints) -> Iterator[tuple[Ints, Ints]]:
    """The places of each stratum in `asked`, and its places in `known`."""
    for stratum in np.unique(asked):
        yield np.flatnonzero(asked == stratum), np.flatnonzero(known == stratum)


def _steps(places: Ints, width: int) -> Iterator[Ints]:
    """Some places at a time, so that a row of the width of each fits."""
    step = max(1, _CELLS // max(width, 1))
    for first in range(0, len(places), step):
        yield places[first : first + step]


def _squares(one: Floats, other: Floats) -> Floats:
    """The squared distances of all pairs."""
    lengths = (one * one).sum(axis=1)[:, None] + (other * other).sum(axis=1)
    squares: Floats = np.maximum(lengths - 2 * (one @ other.T), 0)
    return squares


# -- which it is liker ---------------------------------------------------------------------


def likelihood_ratios(found: Floats, there: Bools, groups: Ints, folds: Ints) -> Floats:
    """The logarithm of how much liker a member each person looks in each release.

    A person's statistics are held against their mean and deviation over the other shadows. The
    means of members and others, and the covariance that both share, are those of the people of the
    other fold; of the own group where it has enough.

    Args:
        found: (s, t, f) statistics of t people against s shadows.
        there: (s, t) whether a person was in the half that a shadow was made of.
        groups: (t,) people that are fitted by themselves.
        folds: (t,) 0 or 1; each is measured by what was fitted on the other.
    """
    shadows, people, _ = found.shape
    mean = (found.sum(axis=0) - found) / (shadows - 1)
    squares = ((found**2).sum(axis=0) - found**2) / (shadows - 1)
    variance = np.maximum(squares - mean**2, 0)
    # few shadows make a poor variance: half of it is that of people in general
    spread = np.sqrt((variance + variance.mean(axis=1, keepdims=True)) / 2)
    apart = np.divide(found - mean, spread, out=np.zeros_like(found), where=spread > 0)
    # how often the person was in the others moves the mean that they are held against
    inside = (there.sum(axis=0) - there) / (shadows - 1) - 0.5
    ratios = np.zeros((shadows, people))
    for fold in (0, 1):
        known, asked = folds != fold, folds == fold
        general = _fitted(apart[:, known], there[:, known])
        for group in np.unique(groups[asked]):
            some, like = asked & (groups == group), known & (groups == group)
            own = _fitted(apart[:, like], there[:, like]) or general
            if own is None:
                continue
            middle, weights, gap = own
            scores = (apart[:, some] - middle) @ weights
            ratios[:, some] = scores + inside[:, some] * gap
    return ratios


def _fitted(apart: Floats, there: Bools) -> tuple[Floats, Floats, float] | None:
    """Two Gaussians with one covariance: their middle, the weights of the logarithm of their ratio,
    and how far apart that has their means; None of too few."""
    width = apart.shape[2]
    yes, no = apart[there], apart[~there]
    if min(len(yes), len(no)) < _LEAST * width:
        return None
    of_yes, of_no = yes.mean(axis=0), no.mean(axis=0)
    rest = np.concatenate([yes - of_yes, no - of_no])
    covariance = rest.T @ rest / len(rest)
    variances = np.diag(covariance)
    ridge = _RIDGE * variances + np.where(variances > 0, 0.0, 1.0)
    weights = np.linalg.solve(covariance + np.diag(ridge), of_yes - of_no)
    return (of_yes + of_no) / 2, weights, float(weights @ (of_yes - of_no))
