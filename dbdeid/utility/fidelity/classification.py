"""Classification: what a model learns from a release, tested on the records of its source.

A column is explained by all others, by multinomial logistic regression on their levels (see
`levels`); what a label stands for is drawn once, by its shares. One model is trained on the release
and asked about the records of the source (train on synthetic, test on real: Esteban, Hyland &
Rätsch 2017). With it are compared models trained on the source, each asked about the fifth of it
that it was not trained on, and the most frequent class without any model.

Accuracy is the share of right answers where the most probable class is told; balanced accuracy the
mean over classes of the share of each class that is found, where the class is told that is most
probable in relation to its frequency: of a rare class too something must have been learned.

Records of the source are behind most releases, so that a model may be asked about what it has
learned. It has few coefficients for many records, and gains little by it; of a small table that is
hardly generalized it may come out better than those of the source. To leave out the records that
read like the one asked about would be no way out: where such records are frequent, what is left of
the release would speak against the right answer.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dbdeid.utility.common.metric import EVERY, Metric, Words
from dbdeid.utility.fidelity.levels import CodedSides, Ints, indicators

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

METRIC = Metric(
    "classification",
    Words(
        "Classification",
        "Balanced accuracy that is lost, on records of the source, where a logistic model of a "
        "sensitive column is trained on the release instead of the source (train on synthetic, "
        "test on real; cross-validated). The mean over the columns; without sensitive ones, of "
        "all that are categories. In detail both accuracies, and those of the most frequent class.",
        "about 0 (as good) to 1 − 1 / classes",
        "lower",
    ),
    families=EVERY,
    on_request=True,
)


# Records of each side.
MOST = 50_000
FOLDS = 5
# Records of the source that a class must have.
FEWEST = 20
# Inverse strength of the penalty of coefficients.
_STRENGTH = 0.1


@dataclass(frozen=True, slots=True)
class Learned:
    """How well records of the source are classified.

    Attributes:
        balanced: mean over the classes of the share that is found.
        accuracy: share of the records that are classified right.
    """

    balanced: float
    accuracy: float


@dataclass(frozen=True, slots=True)
class Classified:
    """One column, explained by the others.

    Attributes:
        release: by a model that was trained on the release.
        source: by one that was trained on the source.
        baseline: by the most frequent class.
    """

    release: Learned
    source: Learned
    baseline: Learned

    @property
    def lost(self) -> float:
        """Return the loss of balanced accuracy; 0 where the release is as good as the source."""
        return self.source.balanced - self.release.balanced


def classification(found: CodedSides, targets: Sequence[str]) -> dict[str, Classified]:
    """How well each of some columns is learned from a release, by name.

    Args:
        found: source and release.
        targets: columns to explain. One of more categories than levels is left out, and one with
            fewer than two classes; all are where there is no other column, or nothing is released.
    """
    rng = np.random.default_rng(0)
    source, released = found.sampled(rng, MOST), found.drawn(rng, MOST)
    if not len(released) or len(found.columns) < 2:
        return {}
    parts = rng.permutation(len(source)) % FOLDS
    told = {}
    for i, compared in enumerate(found.columns):
        others = found.sizes[i] - 2
        if compared.name in targets and not (found.source[:, i] == others).any():
            counts = np.bincount(source[:, i], minlength=found.sizes[i])[:others]
            classes = np.flatnonzero(counts >= FEWEST)
            if len(classes) > 1:
                before, after = (
                    _known(side, i, classes, found.sizes) for side in (source, released)
                )
                told[compared.name] = _classified(before, after, parts)
    return told


class _Known(NamedTuple):
    """What is known of records: (n, features) of other columns, and (n,) the class, or -1."""

    features: csr_matrix
    classes: Ints

    def some(self, rows: NDArray[np.bool_]) -> _Known:
        """What is known of some of them."""
        return _Known(self.features[rows], self.classes[rows])


def _known(levels: Ints, target: int, classes: Ints, sizes: tuple[int, ...]) -> _Known:
    """Records by their levels, one column of which is the target with some levels as classes."""
    places = np.full(sizes[target], -1)
    places[classes] = np.arange(len(classes))
    others = np.delete(levels, target, axis=1)
    features = indicators(others, (*sizes[:target], *sizes[target + 1 :]))
    return _Known(features, places[levels[:, target]])


def _classified(source: _Known, released: _Known, parts: Ints) -> Classified:
    """The answers to all of the source; `parts` says which records are asked about together."""
    truth = source.classes
    by_source = np.empty((len(truth), 2), np.int64)
    for part in range(FOLDS):
        asked = parts == part
        by_source[asked] = _answers(source.some(~asked), source.features[asked])
    by_release = _answers(released, source.features)
    most = np.full((len(truth), 2), np.bincount(truth[truth >= 0]).argmax())
    return Classified(*(_judged(truth, told) for told in (by_release, by_source, most)))


def _answers(learned: _Known, asked: csr_matrix) -> Ints:
    """The (asked, 2) most probable classes of other records, and those for their frequency."""
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.linear_model import LogisticRegression
    from threadpoolctl import threadpool_limits

    own = learned.some(learned.classes >= 0)
    known, counts = np.unique(own.classes, return_counts=True)
    if len(known) < 2:  # nothing to choose from; without any record no class is right
        return np.full((asked.shape[0], 2), known[0] if len(known) else -1)
    model = LogisticRegression(C=_STRENGTH, tol=1e-3, max_iter=200)
    # one thread: the same figures on every machine, and no waiting for others on small matrices
    with threadpool_limits(1, user_api="blas"), warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        chances = model.fit(own.features, own.classes).predict_proba(asked)
    best = chances.argmax(axis=1), (chances / counts).argmax(axis=1)
    return np.asarray(known[np.column_stack(best)])


def _judged(truth: Ints, told: Ints) -> Learned:
    """The shares of right answers, balanced and plain; records of no class are left out."""
    asked = truth >= 0
    truth, (best, fair) = truth[asked], told[asked].T
    found = np.bincount(truth[fair == truth], minlength=truth.max() + 1) / np.bincount(truth)
    return Learned(float(found.mean()), float((best == truth).mean()))
