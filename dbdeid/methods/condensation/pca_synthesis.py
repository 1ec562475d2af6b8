"""Synthetic records with the mean and covariance of their cluster, or for their ranks.

Values of a cluster go to its synthetic records in the order of drawn numbers, categories by count.
A value is then a step function of what was drawn, and two columns depend on each other less than
the drawn numbers do: two halves by φ(0)² / ¼ = .64. So for ranks numbers are drawn that depend on
each other by as much more. And they follow, for a part, the dependence that is common to all
clusters of a stratum, in which a single record weighs little.
"""

from __future__ import annotations

import numpy as np
from numpy.random import Generator

from dbdeid.data.records import Floats, Ints

# Of the correlations of a cluster, the part taken from all clusters of its stratum: more hides
# members better, and blurs what differs between clusters (tests/benchmarks/undeclared.py).
COMMON = 0.75
# Least correlation of a column with the drawn numbers that it is corrected for: of one record in a
# hundred that has a category it is .27, and a correction by more would be of noise.
_LEAST = 0.3
# Of a column with deviation 1 in its stratum: a smaller deviation is rounding.
_CONSTANT = 1e-9


def synthesize(clusters: Floats, rng: Generator, *, exact_moments: bool = False) -> Floats:
    """Draw as many records as there are in each cluster (Gal et al. 2014, Algorithm 3).

    Principal components are drawn from independent normal distributions and rotated back: what is
    drawn is N(μ, Σ), Σ with the divisor s − 1. Where records are fewer than columns the same
    distribution is drawn without an eigenproblem, as μ + G·A/√(s − 1), A the centred records and
    G standard normal.

    Args:
        clusters: (c, s, m) the records of c clusters of one size s.
        rng: of the draws.
        exact_moments: whether the draws have exactly the mean and covariance of their cluster.

    Returns:
        (c, s, m); a column that is constant in a cluster stays so.
    """
    count, size, columns = clusters.shape
    mean = clusters.mean(axis=1, keepdims=True)
    centred = clusters - mean
    constant = np.ptp(clusters, axis=1) == 0 if size else np.zeros((count, columns), np.bool_)
    few = size <= columns
    if few:
        noise = rng.standard_normal((count, size, size - 1 if exact_moments else size))
        spread = _complement(size).T @ centred if exact_moments else centred
    else:
        noise = rng.standard_normal((count, size, columns))
        spread = _root(centred.swapaxes(1, 2) @ centred)
    if exact_moments:
        noise = _orthonormal(noise - noise.mean(axis=1, keepdims=True))
    else:
        noise /= np.sqrt(max(size - 1, 1))
    drawn = noise @ spread
    drawn += mean
    return np.where(constant[:, None, :], clusters[:, :1, :], drawn)


def common_correlations(points: Floats, clusters: Ints) -> Floats:
    """(m, m) correlations of columns inside clusters, a cluster weighing by both deviations.

    Deviations of the clusters times these give all clusters together the covariance they have.

    Args:
        points: (n, m) records of a stratum.
        clusters: (n,) the cluster of each, from 0 without gaps.
    """
    sizes = np.bincount(clusters)
    order = np.argsort(clusters, kind="stable")
    starts = np.cumsum(sizes) - sizes
    means = np.add.reduceat(points[order], starts, axis=0) / sizes[:, None]
    rest = points - means[clusters]
    squares = np.add.reduceat((rest * rest)[order], starts, axis=0)
    lengths = np.sqrt(squares)
    weights = lengths.T @ lengths
    found: Floats = np.divide(rest.T @ rest, weights, out=np.zeros_like(weights), where=weights > 0)
    return found


def draw_for_ranks(clusters: Floats, common: Floats, rng: Generator) -> Floats:
    """Normal numbers with mean and deviation of each cluster, correlated as ranking them needs.

    To first order, columns mapped by rank have the correlations of the cluster's: monotone
    functions of normal numbers with correlation ρ have a·b·ρ, a and b being their own correlations
    with these numbers (the first coefficients of Hermite polynomials). For a column of two values
    and a normal one that is the biserial correlation.

    Args:
        clusters: (c, s, m) the records of c clusters of one size s.
        common: (m, m) `common_correlations` of their stratum.
        rng: of the draws.

    Returns:
        (c, s, m); a column that is constant in a cluster stays so.
    """
    from scipy.special import ndtri

    _, size, columns = clusters.shape
    mean = clusters.mean(axis=1, keepdims=True)
    spread = clusters.std(axis=1, keepdims=True)
    varies = spread > _CONSTANT
    unit = np.where(varies, (clusters - mean) / np.where(varies, spread, 1.0), 0.0)
    normal = ndtri((np.arange(size) + 0.5) / size)
    normal /= max(normal.std(), _CONSTANT)
    slopes = (np.sort(unit, axis=1) * normal[:, None]).mean(axis=1)
    slopes = np.where(varies[:, 0], np.maximum(slopes, _LEAST), 1.0)
    correlations = (1 - COMMON) * (unit.swapaxes(1, 2) @ unit) / size + COMMON * common
    correlations /= slopes[:, :, None] * slopes[:, None, :]
    correlations = np.clip(correlations, -1.0, 1.0)
    diagonal = np.arange(columns)
    correlations[:, diagonal, diagonal] = 1.0
    drawn = rng.standard_normal(clusters.shape) @ _unit_root(correlations)
    drawn *= spread
    drawn += mean
    return np.where(varies, drawn, clusters[:, :1, :])


def _unit_root(correlations: Floats) -> Floats:
    """R with RᵀR the nearest matrix that has no negative eigenvalue, scaled to a diagonal of 1."""
    values, vectors = np.linalg.eigh(correlations)
    root = np.sqrt(np.maximum(values, 0.0))[:, :, None] * vectors.swapaxes(1, 2)
    root /= np.sqrt((root * root).sum(axis=1, keepdims=True))
    return np.asarray(root, dtype=np.float64)


def _root(scatter: Floats) -> Floats:
    """R with RᵀR the matrix: of each component its direction times the root of its value."""
    values, vectors = np.linalg.eigh(scatter)
    roots = np.sqrt(np.maximum(values, 0.0))
    return np.asarray(roots[:, :, None] * vectors.swapaxes(1, 2), dtype=np.float64)


def _orthonormal(noise: Floats) -> Floats:
    """Columns of length 1 at right angles, in directions that are equally likely."""
    q, r = np.linalg.qr(noise)
    signs = np.where(np.einsum("cii->ci", r) < 0, -1.0, 1.0)
    return np.asarray(q * signs[:, None, :], dtype=np.float64)


def _complement(size: int) -> Floats:
    """(s, s − 1) columns of length 1 at right angles to each other and to 1 (Helmert)."""
    steps = np.arange(1, size)
    upper = np.triu(np.ones((size, size - 1)))
    upper[steps, steps - 1] = -steps
    return np.asarray(upper / np.sqrt(steps * (steps + 1)), dtype=np.float64)
