from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import duckdb
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from random_records import tables
from tiers import examples

from dbdeid.data.records import Attribute, Condensed, Floats, Recipe, Records
from dbdeid.methods.condensation.clusters import condense

VARIANTS = ("recipient", "improved", "original", "microhybrid")


def of_clusters(values: Floats, clusters: np.ndarray) -> list[list[float]]:
    """The sorted values of each cluster, NaN last."""
    order = np.lexsort((values, clusters))
    ends = np.cumsum(np.bincount(clusters))[:-1]
    return [part.tolist() for part in np.split(values[order], ends)]


def same(one: list[list[float]], other: list[list[float]]) -> bool:
    return all(np.array_equal(a, b, equal_nan=True) for a, b in zip(one, other, strict=True))


def check(records: Records, recipe: Recipe, made: Condensed) -> None:
    """What holds of every condensation."""
    sizes = np.bincount(made.members)
    assert (sizes >= recipe.k).all()
    assert np.array_equal(sizes, np.bincount(made.clusters))
    assert (np.diff(made.clusters) >= 0).all()
    assert np.array_equal(np.bincount(made.strata), np.bincount(records.strata))
    for cluster in range(len(sizes)):
        strata = {*records.strata[made.members == cluster], *made.strata[made.clusters == cluster]}
        assert len(strata) == 1
    if recipe.variant in ("recipient", "microhybrid"):
        assert (sizes < 2 * recipe.k).all()
    for attribute, values in zip(records.attributes, made.columns, strict=True):
        known = attribute.values[~np.isnan(attribute.values)]
        fresh = values[~np.isnan(values)]
        if len(fresh):
            assert known.min() <= fresh.min() <= fresh.max() <= known.max()
        if attribute.levels is not None:
            assert set(values) <= set(attribute.values)
        if attribute.grid == 1.0:
            assert np.array_equal(fresh, np.round(fresh))
        source = of_clusters(attribute.values, made.members)
        for before, after in zip(source, of_clusters(values, made.clusters), strict=True):
            if len(set(map(str, before))) == 1:
                assert np.array_equal(before, after, equal_nan=True)


@pytest.mark.parametrize("variant", VARIANTS)
@settings(deadline=None, max_examples=examples(60))
@given(st.data())
def test_clusters_strata_and_constants_hold(variant: str, data: st.DataObject) -> None:
    k = data.draw(st.integers(2, 12))
    records = data.draw(tables(k))
    recipe = Recipe(
        variant,  # type: ignore[arg-type]
        k,
        data.draw(st.sampled_from([0.1, 0.5, 0.9])),
        exact_moments=data.draw(st.booleans()),
        time=data.draw(st.sampled_from(["exact", "stratified"])),
        time_scale=data.draw(st.sampled_from(["rank", "z"])),
        counts=data.draw(st.sampled_from([None, False, True])),
    )
    check(records, recipe, condense(records, recipe, np.random.default_rng(1)))


@pytest.mark.full
@settings(deadline=None, max_examples=examples(60))
@given(st.data())
def test_recipient_keeps_the_counts_of_every_cluster(data: st.DataObject) -> None:
    k = data.draw(st.integers(2, 12))
    records = data.draw(tables(k))
    counts = data.draw(st.booleans())
    recipe = Recipe("recipient", k, 0.3, counts=counts)
    made = condense(records, recipe, np.random.default_rng(2))
    for attribute, values in zip(records.attributes, made.columns, strict=True):
        source, fresh = attribute.values, values
        if attribute.levels is not None and not counts:
            continue
        if attribute.levels is None:
            source, fresh = np.isnan(source) * 1.0, np.isnan(fresh) * 1.0
        assert same(of_clusters(source, made.members), of_clusters(fresh, made.clusters))


@pytest.mark.parametrize("variant", ["recipient", "improved"])
@settings(deadline=None, max_examples=examples(40))
@given(st.data())
def test_exact_time_is_that_of_every_cluster(variant: str, data: st.DataObject) -> None:
    k = data.draw(st.integers(2, 12))
    records = replace(data.draw(tables(k)), response=0)
    recipe = Recipe(variant, k, 0.3, time="exact")  # type: ignore[arg-type]
    made = condense(records, recipe, np.random.default_rng(3))
    source = of_clusters(records.attributes[0].values, made.members)
    assert same(source, of_clusters(made.columns[0], made.clusters))


def test_numbers_are_not_copied() -> None:
    rng = np.random.default_rng(4)
    real = Attribute("real", rng.lognormal(2, 1, 1000))
    records = Records((real, Attribute("other", rng.random(1000))), np.zeros(1000, np.int64), 0)
    made = condense(records, Recipe("recipient", 10, 0.3), rng)
    for attribute, values in zip(records.attributes, made.columns, strict=True):
        assert not set(attribute.values) & set(values)
        # Neither the mean nor the spread suffers.
        assert values.mean() == pytest.approx(attribute.values.mean(), rel=0.01)
        assert values.std() == pytest.approx(attribute.values.std(), rel=0.03)


@pytest.mark.full
@pytest.mark.parametrize("variant", VARIANTS)
def test_a_seed_gives_one_result(variant: str, shared: Path) -> None:
    records = patients(shared)
    recipe = Recipe(variant, 100, 0.3)  # type: ignore[arg-type]
    made = [condense(records, recipe, np.random.default_rng(seed)) for seed in (5, 5, 6)]
    first, again, other = (np.array([*m.columns, m.clusters, m.strata]) for m in made)
    assert np.array_equal(first, again)
    assert not np.array_equal(first, other)


@pytest.mark.sampled(3)
@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("n", [10, 19])
def test_too_few_records_for_two_clusters_are_one(variant: str, n: int) -> None:
    rng = np.random.default_rng(7)
    records = Records((Attribute("x", rng.random(n)),), np.zeros(n, np.int64), None)
    recipe = Recipe(variant, 10, 0.3)  # type: ignore[arg-type]
    made = condense(records, recipe, rng)
    check(records, recipe, made)
    assert not made.members.any()


@pytest.mark.sampled(3)
@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("response", [None, 0])
def test_equal_records_stay_what_they_are(variant: str, response: int | None) -> None:
    n = 47
    attributes = (
        Attribute("number", np.full(n, 0.1)),
        Attribute("category", np.full(n, 3.0), 5),
        Attribute("none", np.full(n, np.nan), grid=1.0),
    )
    records = Records(attributes, np.zeros(n, np.int64), response)
    recipe = Recipe(variant, 10, 0.3)  # type: ignore[arg-type]
    made = condense(records, recipe, np.random.default_rng(8))
    check(records, recipe, made)
    for attribute, values in zip(attributes, made.columns, strict=True):
        assert np.array_equal(attribute.values, values, equal_nan=True)


@pytest.mark.sampled(3)
@pytest.mark.parametrize("exact", [False, True])
@pytest.mark.parametrize("variant", VARIANTS)
def test_more_columns_than_records_of_a_cluster(variant: str, exact: bool) -> None:
    rng = np.random.default_rng(9)
    attributes = tuple(Attribute(f"x{i}", rng.random(60)) for i in range(40))
    names = Attribute("names", rng.integers(0, 30, 60).astype(float), 30)
    records = Records((*attributes, names), np.repeat([0, 1], 30), 3)
    recipe = Recipe(variant, 6, 0.3, exact_moments=exact)  # type: ignore[arg-type]
    check(records, recipe, condense(records, recipe, rng))


@pytest.mark.parametrize("counts", [False, True])
@pytest.mark.parametrize("variant", VARIANTS)
def test_a_number_that_a_cluster_knows_of_one_record_is_not_copied(
    variant: str, counts: bool
) -> None:
    """Its other records lack the number, so that all that is known there is this one."""
    rng = np.random.default_rng(5)
    known = np.full(60, np.nan)
    known[::12] = [101.25, 250.5, 333.75, 480.25, 987654.25]
    common = np.where(np.arange(60) % 12 < 3, 7.5, np.nan)
    places = np.repeat(np.arange(5.0), 12) * 1e3 + rng.random(60)
    attributes = (
        Attribute("x", known, grid=0.01),
        Attribute("shared", common, grid=0.5),
        Attribute("place", places, weight=1e3),
    )
    records = Records(attributes, np.zeros(60, np.int64), 0)
    for seed in range(5):
        recipe = Recipe(variant, 12, 0.3, counts=counts)  # type: ignore[arg-type]
        made = condense(records, recipe, np.random.default_rng(seed)).columns
        assert not np.isin(made[0], known).any()
        assert set(made[1][~np.isnan(made[1])]) <= {7.5}


def test_a_stratum_below_k_is_refused() -> None:
    records = Records((Attribute("x", np.arange(29.0)),), np.repeat([0, 1], [20, 9]), 0)
    with pytest.raises(ValueError, match="fewer than 10"):
        condense(records, Recipe("recipient", 10, 0.3), np.random.default_rng(0))


def test_progress_and_phases_are_told() -> None:
    rng = np.random.default_rng(10)
    records = Records((Attribute("x", rng.random(500)),), np.repeat([0, 1], 250), 0)
    told: list[int] = []
    made = condense(records, Recipe("improved", 10, 0.5), rng, told.append)
    assert sum(told) == 500
    assert set(made.seconds) == {"clustering", "balancing", "synthesis", "mapping"}


def patients(shared: Path) -> Records:
    """SUPPORT2 with the recipient's columns, by vital status; the response is the time."""
    file = shared / "data/survival/recipient_support2.parquet"
    with duckdb.connect() as con:
        table = con.from_parquet(str(file)).order("*").fetchnumpy()
    attributes = []
    for name, values in table.items():
        if name in ("SurvTime", "Age"):
            attributes.append(Attribute(name, values.astype(float), grid=1.0))
        elif name != "VitalStat":
            names, codes = np.unique(np.asarray(values, dtype=str), return_inverse=True)
            attributes.append(Attribute(name, codes.astype(float), len(names)))
    return Records(tuple(attributes), table["VitalStat"].astype(np.int64), 0)


def slopes(records: Records, columns: tuple[Floats, ...], strata: np.ndarray) -> list[Floats]:
    """Least squares of time on the categories among the deceased: coefficients and errors."""
    dead = strata == 0
    dummies = [
        (values[dead] == code).astype(float)
        for attribute, values in zip(records.attributes, columns, strict=True)
        if attribute.levels
        for code in range(1, attribute.levels)
    ]
    x = np.column_stack([np.ones(dead.sum()), *dummies])
    time = columns[0][dead]
    inverse = np.linalg.inv(x.T @ x)
    found = inverse @ x.T @ time
    variance = ((time - x @ found) ** 2).sum() / (len(x) - x.shape[1])
    return [found[1:], np.sqrt(np.diag(inverse) * variance)[1:]]


def test_the_recipients_coefficients_hold_and_the_variants_are_in_order(shared: Path) -> None:
    records = patients(shared)
    true, error = slopes(records, tuple(a.values for a in records.attributes), records.strata)
    rms = {}
    in_order = ("recipient", "improved", "original")
    for variant in in_order:
        recipe = Recipe(variant, 100, 0.5 if variant == "improved" else 0.3)  # type: ignore[arg-type]
        deviations = []
        for seed in range(4):
            made = condense(records, recipe, np.random.default_rng(seed))
            deviations.append((slopes(records, made.columns, made.strata)[0] - true) / error)
        rms[variant] = float(np.sqrt(np.mean(np.square(deviations))))
        if variant == "recipient":
            assert np.mean(np.abs(deviations) > 1.96) <= 0.03
    assert rms["recipient"] <= 0.8
    assert all(a < b for a, b in pairwise(rms[v] for v in in_order))


def test_hybrid_data_have_the_means_and_covariances_of_every_cluster() -> None:
    """Domingo-Ferrer & González-Nicolás 2010, where no value leaves the range of the table."""
    rng = np.random.default_rng(4)
    values = rng.normal(size=(60, 3)) @ rng.normal(size=(3, 3))
    ends = 1e6 * np.array([[-1.0] * 3, [1.0] * 3])  # of a stratum of their own
    columns = np.vstack([values, np.repeat(ends, 3, axis=0)]).T
    strata = np.repeat([0, 1], [60, 6])
    records = Records(tuple(Attribute(f"x{i}", own) for i, own in enumerate(columns)), strata, None)
    made = condense(records, Recipe("microhybrid", 6, 0.5, exact_moments=True), rng)
    drawn = np.array(made.columns)
    assert len(set(made.members[strata == 0])) == 10
    for cluster in set(made.members[strata == 0]):
        before, after = columns[:, made.members == cluster], drawn[:, made.clusters == cluster]
        assert after.mean(axis=1) == pytest.approx(before.mean(axis=1), abs=1e-9)
        assert np.cov(after) == pytest.approx(np.cov(before), abs=1e-9)
        assert not np.allclose(np.sort(after), np.sort(before))  # other records than those


@pytest.mark.full
def test_without_counts_numbers_follow_the_draws_and_not_the_cluster(shared: Path) -> None:
    records = patients(shared)
    age = next(i for i, a in enumerate(records.attributes) if a.name == "Age")
    within = {}
    for counts in (True, False):
        recipe = Recipe("recipient", 10, 0.3, counts=counts)
        made = condense(records, recipe, np.random.default_rng(11))
        for at in (0, age):
            source = of_clusters(records.attributes[at].values, made.members)
            fresh = of_clusters(made.columns[at], made.clusters)
            pairs = zip(source, fresh, strict=True)
            within[counts, at] = np.mean([a[0] <= b[0] and b[-1] <= a[-1] for a, b in pairs])
    # The response is that of the cluster in any case.
    assert within[True, 0] == within[False, 0] == within[True, age] == 1
    assert within[False, age] < 0.5
