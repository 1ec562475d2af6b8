"""Synthetic records with the mean and covariance of their cluster."""

from __future__ import annotations

import numpy as np
from numpy.random import Generator

from dbdeid.data.records import Floats


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
