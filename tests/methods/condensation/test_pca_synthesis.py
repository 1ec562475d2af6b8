from __future__ import annotations

import numpy as np
import pytest

from dbdeid.methods.condensation.pca_synthesis import synthesize

# More records than columns, as many, and fewer.
SHAPES = [(40, 5), (6, 5), (5, 5), (4, 9), (2, 3)]


def covariances(clusters: np.ndarray) -> np.ndarray:
    return np.array([np.cov(cluster, rowvar=False) for cluster in clusters])


@pytest.mark.parametrize(("size", "columns"), SHAPES)
def test_exact_moments_are_those_of_the_cluster(size: int, columns: int) -> None:
    rng = np.random.default_rng(0)
    clusters = rng.lognormal(size=(7, size, columns)) + 5
    drawn = synthesize(clusters, rng, exact_moments=True)
    assert np.allclose(drawn.mean(axis=1), clusters.mean(axis=1))
    assert np.allclose(covariances(drawn), covariances(clusters))
    assert np.abs(drawn - clusters).min(axis=(1, 2)).max() > 1e-9


@pytest.mark.parametrize(("size", "columns"), SHAPES)
def test_moments_hold_on_average(size: int, columns: int) -> None:
    rng = np.random.default_rng(1)
    cluster = rng.lognormal(size=(size, columns))
    drawn = synthesize(np.repeat(cluster[None], 4000, axis=0), rng)
    covariance = np.cov(cluster, rowvar=False)
    deviation = np.sqrt(np.diag(covariance))
    assert drawn.mean(axis=(0, 1)) == pytest.approx(
        cluster.mean(axis=0), abs=5 * deviation.max() / np.sqrt(4000 * size)
    )
    # Of the mean of 4000 s draws, with the divisor s − 1 for that of each cluster.
    found = np.cov(drawn.reshape(-1, columns), rowvar=False)
    assert np.abs((found - covariance) / np.outer(deviation, deviation)).max() < 0.1
    assert np.corrcoef(drawn[:, 0, 0], drawn[:, -1, 0])[0, 1] == pytest.approx(0, abs=0.08)


@pytest.mark.parametrize("exact", [False, True])
@pytest.mark.parametrize(("size", "columns"), SHAPES)
def test_constants_stay(size: int, columns: int, exact: bool) -> None:
    rng = np.random.default_rng(2)
    clusters = rng.normal(size=(3, size, columns))
    clusters[1, :, 1] = 0.1
    clusters[2] = 0.7
    drawn = synthesize(clusters, rng, exact_moments=exact)
    assert (drawn[1, :, 1] == 0.1).all()
    assert (drawn[2] == 0.7).all()
    assert np.ptp(drawn[0], axis=0).min() > 0


def test_what_depends_on_another_column_still_does() -> None:
    rng = np.random.default_rng(3)
    base = rng.normal(size=(4, 30, 2))
    clusters = np.concatenate([base, 2 * base[..., :1] - base[..., 1:] + 3], axis=2)
    for size in (30, 3):
        drawn = synthesize(clusters[:, :size], rng)
        assert np.allclose(drawn[..., 2], 2 * drawn[..., 0] - drawn[..., 1] + 3)


def test_no_column_gives_none() -> None:
    assert synthesize(np.zeros((2, 5, 0)), np.random.default_rng(0)).shape == (2, 5, 0)
