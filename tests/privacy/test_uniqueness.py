"""Population uniqueness: ARX's values, and the models against their definitions."""

from __future__ import annotations

import math
from fractions import Fraction
from pathlib import Path

import duckdb
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from tiers import examples

from dbdeid.privacy.risk import pitman, slide_binomial
from dbdeid.privacy.risk.risk import SizeCount
from dbdeid.privacy.risk.slide_binomial import Sample
from dbdeid.privacy.risk.uniqueness import (
    PopulationUniqueness,
    dankar,
    estimate,
    population_uniqueness,
    sample_uniqueness,
    zayatz,
)

pytestmark = pytest.mark.sampled(2)

Histogram = tuple[NDArray[np.int64], NDArray[np.int64]]


@pytest.fixture(scope="module")
def adult(shared: Path) -> Histogram:
    """The class sizes of Adult over all of its nine columns, as they are."""
    with duckdb.connect() as con:
        found = con.execute(
            "SELECT size, count(*) AS classes FROM (SELECT count(*) AS size FROM "
            f"'{shared}/data/adult_arx.parquet' GROUP BY sex, age, race, marital_status, "
            "education, native_country, workclass, occupation, salary_class) "
            "GROUP BY size ORDER BY size"
        ).fetchnumpy()
    return found["size"].astype(np.int64), found["classes"].astype(np.int64)


def histogram(*sizes: int) -> Histogram:
    return tuple(np.unique(np.array(sizes, dtype=np.int64), return_counts=True))  # type: ignore[return-value]


# -- ARX's values --------------------------------------------------------------------------------


@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    ("fraction", "expected", "model"),
    [
        (0.01, 0.1446083531167384, "pitman"),
        (0.1, 0.27684993883653597, "pitman"),
        (0.2, 0.3577099234829125, "zayatz"),
        (1.0, 0.5142895033485844, "zayatz"),
    ],
)
def test_the_choice_of_arx_on_adult(
    adult: Histogram, fraction: float, expected: float, model: str
) -> None:
    found = population_uniqueness(*adult, fraction)
    assert found.dankar == pytest.approx(expected, abs=1e-7)
    assert found.model == model


def test_single_models_of_arx_on_adult(adult: Histogram) -> None:
    found = population_uniqueness(*adult, 0.1)
    assert found.population == 301_620
    assert found.zayatz == pytest.approx(0.3207402393466189, abs=1e-9)
    assert found.pitman == pytest.approx(0.27684993883653597, abs=1e-8)
    assert found.sample_uniqueness == 0.5142895033485844


def test_snb_is_solved_where_the_search_of_arx_does_not_arrive(adult: Histogram) -> None:
    assert slide_binomial.population_uniques_of_arx(*adult, 0.2) is None
    found = population_uniqueness(*adult, 0.2)
    assert found.snb == pytest.approx(0.3194594, abs=1e-7)
    assert (found.dankar_solved, found.model_solved) == (found.snb, "snb")


def test_near_a_census_the_search_of_arx_arrives_beside_the_solution(adult: Histogram) -> None:
    found = population_uniqueness(*adult, 0.9)
    assert found.model == "snb"
    assert found.snb == pytest.approx(found.zayatz, abs=2e-4)
    assert found.dankar < min(found.snb or 0, found.zayatz) - 2e-3


# -- the rule ------------------------------------------------------------------------------------


@pytest.mark.sampled(3)
@pytest.mark.parametrize(
    ("fraction", "pitman", "zayatz", "snb", "expected"),
    [
        (0.1, 0.3, 0.2, 0.1, (0.3, "pitman")),
        (0.1, None, 0.2, 0.1, (0.2, "zayatz")),
        (0.11, 0.3, 0.2, 0.1, (0.1, "snb")),
        (0.11, 0.3, 0.2, 0.25, (0.2, "zayatz")),
        (0.11, 0.3, 0.2, None, (0.2, "zayatz")),
    ],
)
def test_the_rule_of_dankar(
    fraction: float,
    pitman: float | None,
    zayatz: float,
    snb: float | None,
    expected: tuple[float, str],
) -> None:
    assert dankar(fraction, pitman, zayatz, snb) == expected


# -- the models ----------------------------------------------------------------------------------


def hypergeometric(population: int, marked: int, drawn: int) -> Fraction:
    """The chance that just one of the marked is drawn."""
    ways = marked * math.comb(population - marked, drawn - 1)
    return Fraction(ways, math.comb(population, drawn))


@settings(max_examples=examples(60), deadline=None)
@given(st.lists(st.integers(1, 6), min_size=1, max_size=12), st.floats(0.05, 1))
def test_zayatz_is_bayes_rule(sizes: list[int], fraction: float) -> None:
    drawn = sum(sizes)
    population = max(int(drawn / fraction + 0.5), drawn)
    chances = sum(hypergeometric(population, size, drawn) for size in sizes)
    alone = sizes.count(1)
    certain = alone * hypergeometric(population, 1, drawn) / chances if alone else Fraction(0)
    expected = alone * certain / Fraction(drawn, population) / population
    assert zayatz(*histogram(*sizes), population) == pytest.approx(float(expected), rel=1e-9)


def likelihood(sizes: Histogram, theta: float, alpha: float) -> float:
    """The logarithm of Pitman's sampling formula, less what does not depend on them."""
    size, classes = sizes
    total = 0.0
    for i in range(1, int(classes.sum())):
        total += math.log(theta + i * alpha)
    for i in range(1, int(size @ classes)):
        total -= math.log(theta + i)
    for j, times in zip(size.tolist(), classes.tolist(), strict=True):
        total += times * sum(math.log(i - alpha) for i in range(1, j))
    return total


def test_pitman_is_the_greatest_likelihood() -> None:
    sizes = histogram(*[1] * 60, *[2] * 14, *[3] * 6, *[5] * 3, 9, 20)
    found = pitman.fit(*sizes)
    assert found is not None
    theta, alpha = found
    best = likelihood(sizes, theta, alpha)
    for step in (1e-3, 1e-2, 0.1):
        for x, y in ((step, 0), (-step, 0), (0, step), (0, -step), (step, step), (-step, step)):
            assert likelihood(sizes, theta * (1 + x), alpha * (1 + y)) < best


def binomial_model(alpha: float, beta: float, fraction: float) -> tuple[float, float]:
    """Chances that a class of 1 + NB(alpha, beta) members gives one, or two, to a sample."""
    ones = twos = 0.0
    for more in range(4000):
        log = math.lgamma(alpha + more) - math.lgamma(alpha) - math.lgamma(more + 1)
        chance = math.exp(log + alpha * math.log(beta) + more * math.log1p(-beta))
        size = more + 1
        ones += chance * size * fraction * (1 - fraction) ** more
        if more:
            pairs = size * more / 2
            twos += chance * pairs * fraction**2 * (1 - fraction) ** (more - 1)
    return ones, twos


@pytest.mark.sampled(3)
@pytest.mark.parametrize(
    ("alpha", "beta", "fraction"),
    [(0.2, 0.1, 0.2), (0.17, 0.6, 0.05), (1.5, 0.4, 0.5), (4.0, 0.9, 0.11), (0.05, 0.02, 0.9)],
)
def test_snb_finds_the_parameters_that_made_a_sample(
    alpha: float, beta: float, fraction: float
) -> None:
    ones, twos = binomial_model(alpha, beta, fraction)
    found = slide_binomial.fit(Sample(fraction, 1e6 * ones, 1e6 * twos, 1e6))
    assert found == pytest.approx((alpha, beta), rel=1e-6)


# -- samples of all kinds ------------------------------------------------------------------------


def test_nobody_is_unique() -> None:
    found = population_uniqueness(*histogram(2, 2, 3), 0.5)
    assert (found.pitman, found.zayatz, found.snb, found.dankar) == (0, 0, 0, 0)
    assert found.model is None


def test_everybody_is_unique() -> None:
    found = population_uniqueness(*histogram(*[1] * 50), 0.1)
    assert (found.zayatz, found.sample_uniqueness) == (pytest.approx(1), 1)
    assert found.dankar == pytest.approx(1)


def test_an_empty_table() -> None:
    found = estimate((), 0.1)
    assert (found.population, found.dankar, found.sample_uniqueness) == (0, 0, 0)
    assert sample_uniqueness(*histogram()) == 0


@settings(max_examples=examples(100), deadline=None)
@given(
    st.lists(st.integers(1, 40), min_size=1, max_size=40),
    st.one_of(st.floats(1e-9, 1), st.sampled_from([0.1, 1.0])),
)
def test_every_estimate_is_a_share(sizes: list[int], fraction: float) -> None:
    sized, classes = histogram(*sizes)
    counts = [
        SizeCount(size, number, size * number)
        for size, number in zip(sized.tolist(), classes.tolist(), strict=True)
    ]
    found = estimate(counts, fraction)
    assert isinstance(found, PopulationUniqueness)
    shares = (found.pitman, found.zayatz, found.snb, found.dankar, found.dankar_solved)
    assert all(share is None or 0 <= share <= 1 + 1e-9 for share in shares)
    assert (found.model is None) == (1 not in sizes)
