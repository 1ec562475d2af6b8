from __future__ import annotations

import numpy as np
import pytest

from dbdeid.methods.condensation.pca_synthesis import (
    common_correlations,
    draw_for_ranks,
    synthesize,
)

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


def test_common_correlations_give_all_clusters_their_covariance() -> None:
    rng = np.random.default_rng(4)
    clusters = np.repeat(np.arange(6), 30)[rng.permutation(180)]
    points = rng.normal(size=(180, 3)) * (1 + clusters[:, None])
    points[:, 1] += points[:, 0] * (clusters - 2)
    points[:, 2] = clusters  # constant in each
    common = common_correlations(points, clusters)
    parts = [points[clusters == one] for one in range(6)]
    scatter = sum(np.cov(part, rowvar=False, bias=True) for part in parts)
    weights = sum(np.outer(part.std(axis=0), part.std(axis=0)) for part in parts)
    assert np.allclose((common * weights)[:2, :2], np.asarray(scatter)[:2, :2])
    assert np.allclose(common[2], 0)


@pytest.mark.parametrize("share", [0.5, 0.15])
def test_ranks_of_what_is_drawn_depend_on_each_other_as_records_do(share: float) -> None:
    """Two categories and a skewed number, mapped by rank, keep their correlations."""
    rng = np.random.default_rng(5)
    size = 200
    latent = (
        rng.normal(size=(size, 3))
        @ np.linalg.cholesky(np.array([[1, 0.4, 0.3], [0.4, 1, 0.3], [0.3, 0.3, 1]])).T
    )
    cluster = np.column_stack(
        [*(latent[:, :2] > np.quantile(latent[:, 0], 1 - share)).T, latent[:, 2]]
    )
    cluster[:, 2] = np.exp(cluster[:, 2])
    clusters = np.repeat(cluster[None].astype(float), 200, axis=0)
    wanted = np.corrcoef(cluster, rowvar=False)

    def kept(drawn: np.ndarray) -> np.ndarray:
        mapped = np.empty_like(drawn)
        order = np.argsort(drawn, axis=1)
        np.put_along_axis(mapped, order, np.sort(clusters, axis=1), axis=1)
        return np.mean([np.corrcoef(one, rowvar=False) for one in mapped], axis=0)

    common = common_correlations(cluster, np.zeros(size, np.int64))
    found, plain = kept(draw_for_ranks(clusters, common, rng)), kept(synthesize(clusters, rng))
    places = np.triu_indices(3, 1)
    assert np.abs(found - wanted)[places].max() < 0.05
    assert np.abs(plain - wanted)[places].max() > 2 * np.abs(found - wanted)[places].max()


def test_constants_stay_where_ranks_count() -> None:
    rng = np.random.default_rng(6)
    clusters = rng.normal(size=(2, 30, 4))
    clusters[1, :, 1] = 0.1
    drawn = draw_for_ranks(clusters, np.eye(4), rng)
    assert (drawn[1, :, 1] == 0.1).all()
    assert np.ptp(drawn[0], axis=0).min() > 0


def test_one_record_moves_what_is_drawn_for_ranks_less_than_alone() -> None:
    """Correlations of a cluster are for the most part those of all."""
    rng = np.random.default_rng(7)
    cluster = rng.normal(size=(100, 2))
    cluster[0] = 12, 12  # of which alone the correlation is
    own = float(np.corrcoef(cluster, rowvar=False)[0, 1])
    drawn = draw_for_ranks(np.repeat(cluster[None], 300, axis=0), np.eye(2), rng)
    found = np.mean([np.corrcoef(one, rowvar=False)[0, 1] for one in drawn])
    assert own > 0.4
    assert found < own / 2
