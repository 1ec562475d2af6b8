"""The attack by shadow releases: it finds whom it should, and nothing where there is nothing."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import multivariate_normal

from dbdeid.data.records import Attribute, Condensed, Recipe, Records
from dbdeid.methods.attacks import shadow_releases
from dbdeid.methods.attacks.membership import trial
from dbdeid.methods.attacks.shadow_releases import (
    Shadowed,
    likelihood_ratios,
    loneliness,
    naming,
    shadowed,
    statistics,
)
from dbdeid.methods.condensation.clusters import condense

Rng = np.random.Generator


def people(seed: int, number: int, far: int = 0) -> Records:
    """Two strata of a response, numbers that go with it, gaps and a category; some lie far off."""
    rng = np.random.default_rng(seed)
    strata = rng.integers(0, 2, number)
    months = rng.exponential(20, number)
    age = rng.normal(60, 12, number) - 0.2 * months
    blood = rng.normal(0, 1, (3, number)) + 0.02 * months
    places = rng.choice(number, far, replace=False)
    blood[:, places] += rng.normal(0, 1, (3, far)) * 6
    blood[0, rng.random(number) < 0.1] = np.nan
    return Records(
        (
            Attribute("months", months),
            Attribute("age", age),
            *(Attribute(f"blood{i}", own) for i, own in enumerate(blood)),
            Attribute("ward", rng.integers(0, 4, number).astype(float), levels=4),
        ),
        strata,
        0,
    )


def recipe(k: int) -> Recipe:
    return Recipe("recipient", k, 0.5)


def attacked(records: Records, k: int, **options: int) -> Shadowed:
    made = recipe(k)
    found = shadowed(
        records, lambda some, rng: condense(some, made, rng), np.random.default_rng(5), k=k,
        **options,
    )  # fmt: skip
    assert found is not None
    return found


def fresh(records: Records, rng: Rng) -> Condensed:
    """Others of the same kind, of as many in each stratum."""
    other = people(int(rng.integers(1 << 30)), records.number)
    strata = np.sort(records.strata)
    columns = tuple(a.values for a in other.attributes)
    return Condensed(columns, strata, strata, records.strata, {})


def test_records_that_nobody_went_into_tell_nothing() -> None:
    found = shadowed(people(1, 800), fresh, np.random.default_rng(1), k=10, targets=400)
    assert found is not None
    half = 400 * found.shadows / 2
    error = math.sqrt((2 * half + 1) / (12 * half * half))  # Mann & Whitney 1947
    assert found.everyone.auc == pytest.approx(0.5, abs=4 * error)
    assert found.outliers.auc == pytest.approx(0.5, abs=4 * error * math.sqrt(10))
    assert found.everyone.true_positives < 0.03
    assert (found.people_at_risk, found.outliers_at_risk) == (0, 0)


def test_planted_outliers_are_found_and_the_others_are_not() -> None:
    found = attacked(people(2, 1_500, far=60), 200)
    assert found.outlying == 75
    assert found.outliers.auc > found.everyone.auc + 0.15
    assert found.outliers_at_risk > 38
    assert found.people_at_risk - found.outliers_at_risk < 0.04 * 1_425
    assert found.outliers.true_positives > 3 * found.everyone.true_positives
    assert attacked(people(2, 1_500), 200).outliers_at_risk < found.outliers_at_risk - 8


@pytest.mark.full
def test_it_sees_more_than_the_distance_does() -> None:
    records, made = people(3, 3_000, far=100), recipe(50)
    by_distance = trial(
        records, lambda some, rng: condense(some, made, rng), np.random.default_rng(5), k=50
    )
    assert by_distance is not None
    found = attacked(records, 50)
    assert by_distance.auc < 0.56 < 0.65 < found.everyone.auc
    # larger clusters tell less
    assert attacked(records, 300).everyone.auc < found.everyone.auc - 0.02


def test_copies_put_everyone_at_risk() -> None:
    def copied(records: Records, rng: Rng) -> Condensed:
        order = np.argsort(records.strata, kind="stable")
        columns = tuple(a.values[order] for a in records.attributes)
        return Condensed(columns, records.strata[order], order, order, {})

    found = shadowed(people(4, 400), copied, np.random.default_rng(1), k=10)
    assert found is not None
    assert found.everyone.auc > 0.99
    assert found.people_at_risk > 380


def test_without_k_records_in_half_of_a_stratum_nothing_is_tried() -> None:
    records = people(5, 100)
    few = replace(records, strata=np.repeat([0, 1], [81, 19]))
    assert shadowed(few, fresh, np.random.default_rng(1), k=10) is None
    assert shadowed(few, fresh, np.random.default_rng(1), k=9) is not None


@pytest.mark.full
def test_the_same_generator_gives_the_same_attack() -> None:
    assert attacked(people(6, 500), 20) == attacked(people(6, 500), 20)


def test_of_many_records_some_are_tried(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shadow_releases, "RECORDS", 600)
    records = people(7, 2_400)
    strata = np.where(np.arange(2_400) < 100, 2, records.strata)  # one that needs all it has
    found = attacked(replace(records, strata=strata), 50, targets=200)
    assert 600 <= found.records < 700
    assert found.outlying == pytest.approx(120, abs=4)
    assert found.everyone.people == 200


@pytest.mark.full
def test_statistics_are_those_of_plain_loops() -> None:
    """Each statistic again, one person and one synthetic record at a time."""
    records, k = people(8, 120), 6
    synthetic = condense(records, recipe(k), np.random.default_rng(1))
    asked = np.arange(0, 120, 7)
    found = statistics(records, synthetic, asked, k)
    for at, person in enumerate(asked):
        stratum = records.strata[person]
        known = [i for i in range(120) if synthetic.strata[i] == stratum]
        apart = {i: far(records, synthetic, int(person), i) for i in known}
        near = sorted(apart.values())
        assert found[at, 0] == pytest.approx(-near[0], abs=1e-6)
        for place, width in ((1, 0.6), (2, 1.0)):
            count = sum(math.exp(-0.5 * (d / width) ** 2) for d in near)
            assert found[at, place] == pytest.approx(math.log(count + 1e-9))
        nearest = sorted(known, key=lambda i: apart[i])[:k]
        assert found[at, 3] == pytest.approx(usual(records, synthetic, int(person), nearest))
        ranked = sorted(known, key=lambda i: synthetic.columns[0][i])
        own = records.attributes[0].values[person]
        first = sum(synthetic.columns[0][i] < own for i in known) - 3 * k // 2
        first = min(max(first, 0), len(known) - 3 * k)
        window = ranked[first : first + 3 * k]
        assert found[at, 4] == pytest.approx(usual(records, synthetic, int(person), window))


def standard(attribute: Attribute, value: float) -> tuple[float, float]:
    """A number in deviations of its column, and whether it is missing."""
    known = [v for v in attribute.values if not math.isnan(v)]
    mean = sum(known) / len(known)
    deviation = math.sqrt(sum((v - mean) ** 2 for v in known) / len(known))
    return (0.0, 1.0) if math.isnan(value) else ((value - mean) / deviation, 0.0)


def far(records: Records, synthetic: Condensed, person: int, other: int) -> float:
    total = 0.0
    for a, drawn in zip(records.attributes, synthetic.columns, strict=True):
        if a.levels is None:
            one, two = standard(a, a.values[person]), standard(a, drawn[other])
            total += (one[0] - two[0]) ** 2 + (one[1] - two[1]) ** 2
        elif a.values[person] != drawn[other]:
            shares = [(a.values == code).mean() for code in range(a.levels)]
            total += 2 / sum(share * (1 - share) for share in shares)
    return math.sqrt(total)


def usual(records: Records, synthetic: Condensed, person: int, others: list[int]) -> float:
    total = 0.0
    for a, drawn in zip(records.attributes, synthetic.columns, strict=True):
        often = 0.0
        for other in others:
            if a.levels is not None:
                often += a.values[person] == drawn[other]
                continue
            one, two = standard(a, a.values[person]), standard(a, drawn[other])
            if one[1] == two[1]:
                often += math.exp(-((one[0] - two[0]) ** 2) / (2 * 0.05))
        total += math.log(often + 0.5)
    return total


def test_the_ratio_is_that_of_two_gaussians() -> None:
    """Densities by another library, means and deviations person by person."""
    rng = np.random.default_rng(9)
    count, number, width = 7, 90, 2
    there = rng.random((count, number)) < 0.5
    found = rng.normal(size=(count, number, width)) @ np.array([[1.0, 0.6], [0, 0.8]])
    found += rng.normal(size=(number, width)) * 3 + there[:, :, None] * np.array([1.0, 0.2])
    folds, groups = np.arange(number) % 2, np.zeros(number, np.int64)
    ratios = likelihood_ratios(found, there, groups, folds)
    variances = np.array(
        [
            [[np.delete(found[:, i, f], s).var() for f in range(width)] for i in range(number)]
            for s in range(count)
        ]
    )
    apart, before = np.zeros_like(found), np.zeros((count, number))
    for s in range(count):
        for i in range(number):
            before[s, i] = np.delete(there[:, i], s).mean() - 0.5
            for f in range(width):
                spread = math.sqrt((variances[s, i, f] + variances[s, :, f].mean()) / 2)
                apart[s, i, f] = (found[s, i, f] - np.delete(found[:, i, f], s).mean()) / spread
    for i in (0, 1, 44, 89):
        others = folds != folds[i]
        yes, no = apart[:, others][there[:, others]], apart[:, others][~there[:, others]]
        residuals = np.concatenate([yes - yes.mean(axis=0), no - no.mean(axis=0)])
        covariance = residuals.T @ residuals / len(residuals)
        covariance += 0.02 * np.diag(np.diag(covariance))
        member = multivariate_normal(yes.mean(axis=0), covariance)
        other = multivariate_normal(no.mean(axis=0), covariance)
        shift = np.linalg.solve(covariance, yes.mean(axis=0) - no.mean(axis=0))
        shift = float(shift @ (yes.mean(axis=0) - no.mean(axis=0)))
        for s in range(count):
            wanted = member.logpdf(apart[s, i]) - other.logpdf(apart[s, i])
            assert ratios[s, i] == pytest.approx(wanted + before[s, i] * shift)


def test_too_few_people_are_not_fitted() -> None:
    found = np.random.default_rng(1).normal(size=(4, 6, 5))
    there = np.arange(24).reshape(4, 6) % 2 == 0
    ratios = likelihood_ratios(found, there, np.zeros(6, np.int64), np.arange(6) % 2)
    assert not ratios.any()


def test_the_loneliest_is_the_farthest_from_any_other() -> None:
    values = np.array([0.0, 1, 1, 5, 9, 9.5])
    records = Records((Attribute("x", values),), np.array([0, 0, 0, 0, 0, 1]), None)
    wanted = np.array([1, 0, 0, 4, 4, np.inf]) / values.std()
    assert loneliness(records) == pytest.approx(wanted)


def test_those_named_are_members_four_times_in_five() -> None:
    there = np.array([True] * 32 + [False] * 8 + [True] * 5 + [False] * 30)
    ratios = np.arange(len(there), 0, -1).astype(float)
    assert naming(ratios, there) == ratios[45]  # 37 of the first 46 are members
    assert naming(-ratios, there) == math.inf
    assert naming(np.ones(len(there)), there) == math.inf  # equal ratios are named together
    assert naming(ratios[:39], there[:39]) == math.inf  # of few, most may be so by chance
