"""Propensity: how well a model tells records of a release from those of its source.

A logistic regression on the levels of all columns (see `levels`), main effects only, gives each of
N records, of which the share c is released, the probability p that it is. With k parameters that
can be told apart (Woo et al. 2009; Snoke et al. 2018)

    pMSE = Σ (p − c)² / N,  propensity = pMSE / (c (1 − c)),  ratio = pMSE / E[pMSE]

The propensity is 0 where nothing tells the two apart and 1 where all records are told. Expected of
records that were drawn from the distribution of the source is

    E[pMSE] = (k − 1) c (1 − c) (1 − c + c (1 − f)) / N

with the share f of the source that is in the model: for f = 1 that is (k − 1) (1 − c)² c / N, as
they have it. A ratio of 1 is that of the source drawn anew with replacement; the source itself has
0. What a label stands for is drawn once, by its shares.
"""

from __future__ import annotations

import warnings
from typing import NamedTuple

import numpy as np

from dbdeid.utility.fidelity.levels import CodedSides, indicators

# Records of each side.
MOST = 50_000
# So weak a penalty that it only keeps coefficients finite where a level is on one side alone.
_STRENGTH = 1e4


class Propensity(NamedTuple):
    """How well they are told apart, from 0 to 1, and as a multiple of what chance alone does."""

    share: float
    ratio: float


def propensity(found: CodedSides) -> Propensity | None:
    """The propensity of a release; None where nothing is released."""
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.linear_model import LogisticRegression
    from threadpoolctl import threadpool_limits

    rng = np.random.default_rng(0)
    source, released = found.sampled(rng, MOST), found.drawn(rng, MOST)
    if not len(released):
        return None
    design = indicators(np.concatenate((source, released)), found.sizes)
    design = design[:, design.getnnz(axis=0) > 0]
    side = np.repeat((0, 1), (len(source), len(released)))
    model = LogisticRegression(C=_STRENGTH, solver="newton-cholesky")
    # one thread: the same figures on every machine, and no waiting for others on small matrices
    with threadpool_limits(1, user_api="blas"), warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        parameters = int(np.linalg.matrix_rank((design.T @ design).toarray(), hermitian=True))
        if parameters < 2:  # all records of both sides are alike
            return Propensity(0.0, 0.0)
        probability = model.fit(design, side).predict_proba(design)[:, 1]
    whole, share = len(side), len(released) / len(side)
    error = float(((probability - share) ** 2).mean())
    left_out = 1 - len(source) / len(found.source)
    chance = (parameters - 1) * share * (1 - share) * (1 - share + share * left_out) / whole
    return Propensity(error / (share * (1 - share)), error / chance)
