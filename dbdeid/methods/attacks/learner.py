"""What a release teaches of a column, given others: a multinomial logistic regression on its rows.

The attacker of Kifer 2009, "Attacks on privacy and deFinetti's theorem", has no data but the
release: its own classes teach how a sensitive value goes with the quasi-identifiers, as they read
there, and that is used against other classes, for which a privacy model took all values that they
hold to be alike.
"""

from __future__ import annotations

import warnings

import numpy as np

from dbdeid.data.records import Floats, Ints

# Rows that are learned from; some of more.
ROWS = 50_000
# Inverse strength of the penalty of coefficients.
_STRENGTH = 0.5


def learned(
    features: Ints, target: Ints, weights: Floats, asked: Ints, values: int, seed: int = 0
) -> Floats:
    """The chances of each value of a column, by what the other columns of a row are.

    Args:
        features: (n, f) codes of the columns that explain it.
        target: (n,) the code of its value.
        weights: (n,) how many records a row stands for.
        asked: (m, f) the codes that are asked about, in the same coding.
        values: how many values the column has.
        seed: of which rows are learned from where there are more than ROWS.

    Returns:
        (m, values), each row adding up to 1; of values that no row has 0.
    """
    from scipy.sparse import csr_matrix
    from sklearn.linear_model import LogisticRegression

    used = np.flatnonzero(weights > 0)
    if len(used) > ROWS:
        used = np.sort(np.random.default_rng(seed).choice(used, ROWS, replace=False))
    shares = np.bincount(target[used], weights[used], minlength=values)
    shares = shares / max(shares.sum(), 1e-12)
    if np.count_nonzero(shares) < 2 or not features.shape[1]:
        return np.tile(shares, (len(asked), 1))
    both = np.concatenate([features, asked])
    sizes = both.max(axis=0) + 1
    starts = np.cumsum(sizes) - sizes

    def indicators(rows: Ints) -> csr_matrix:
        places = (rows + starts).ravel()
        ends = np.arange(len(rows) + 1) * rows.shape[1]
        return csr_matrix((np.ones(len(places)), places, ends), shape=(len(rows), sizes.sum()))

    model = LogisticRegression(C=_STRENGTH, tol=1e-3, max_iter=200)
    with warnings.catch_warnings():
        # that it did not converge, or that it was given numbers: the codes are categories
        warnings.simplefilter("ignore", UserWarning)
        model.fit(indicators(features[used]), target[used], sample_weight=weights[used])
    kinds, back = np.unique(asked, axis=0, return_inverse=True)
    found = np.zeros((len(kinds), values))
    found[:, model.classes_] = model.predict_proba(indicators(kinds))
    chances: Floats = found[back.reshape(-1)]
    return chances
