"""The slide negative binomial model (SNB): population uniques from a sampled class histogram.

Chen & Keller-McNulty 1998, "Estimation of identification disclosure risk in microdata", Journal of
Official Statistics 14(1). A class of the population has 1 + NB(α, β) members, of which a fraction f
is sampled. The expected numbers of sample uniques and pairs are set equal to the observed ones; the
classes of the population come from Shlosser's estimator as Haas & Stokes 1998 modified it.
"""

from __future__ import annotations

import cmath
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from dbdeid.privacy.risk.newton import newton, starts

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

STEPS = 2_000


@dataclass(frozen=True, slots=True)
class Sample:
    """What the model takes from a sample: its fraction, uniques, pairs, estimated classes."""

    fraction: float
    uniques: float
    pairs: float
    classes: float


def population_uniques(
    sizes: NDArray[np.int64], classes: NDArray[np.int64], fraction: float
) -> float | None:
    """Unique members of the population; None where no parameters fit the sample.

    Args:
        sizes: class sizes of the sample, ascending and distinct.
        classes: how many classes have each size.
        fraction: share of the population that was sampled.
    """
    sample = _sample(sizes, classes, fraction)
    found = None if sample is None else fit(sample)
    if sample is None or found is None:
        return None
    alpha, beta = found
    return sample.classes * math.pow(beta, alpha)


def fit(sample: Sample) -> tuple[float, float] | None:
    """The α and β under which a sample has the observed uniques and pairs; None if none do.

    Given β the ratio of the two equations is quadratic in α with one positive root, so that only β
    is searched for, by bisection.
    """
    if not sample.pairs or not 0 < sample.fraction < 1:
        return None
    low = 0.0
    for step in range(1, STEPS):
        high = step / STEPS
        if _excess(sample, high) >= 0:
            break
        low = high
    else:
        return None
    while (middle := (low + high) / 2) not in (low, high):
        low, high = (low, middle) if _excess(sample, middle) >= 0 else (middle, high)
    return _alpha(sample, high), high


def _alpha(sample: Sample, beta: float) -> float:
    """The α that explains the ratio of pairs to uniques at this β."""
    share, f = sample.pairs / sample.uniques, sample.fraction
    rest = (1 - f) * (1 - beta)
    square = f * (1 - beta) * rest
    linear = f * (1 - beta) * (2 - rest) - 2 * share * (1 - rest) * rest
    constant = -2 * share * (1 - rest) ** 2
    # written so that nothing cancels where the square term vanishes
    root = math.sqrt(linear * linear - 4 * square * constant)
    return -2 * constant / (linear + root) if linear >= 0 else (root - linear) / (2 * square)


def _excess(sample: Sample, beta: float) -> float:
    """How far the expected sample uniques lie above the observed ones, in logarithms."""
    alpha = _alpha(sample, beta)
    rest = (1 - sample.fraction) * (1 - beta)
    expected = alpha * math.log(beta / (1 - rest)) + math.log1p(alpha * rest / (1 - rest))
    return math.log(sample.classes * sample.fraction / sample.uniques) + expected


def _sample(
    sizes: NDArray[np.int64], classes: NDArray[np.int64], fraction: float, *, arx: bool = False
) -> Sample | None:
    import numpy as np

    f, size = fraction, sizes.astype(float)
    number = dict(zip(sizes.tolist(), classes.tolist(), strict=True))
    unseen = (1 - f) ** size * classes
    with np.errstate(all="ignore"):
        square = (size * f * f * (1 - f * f) ** (size - 1) * classes).sum()
        single = (size * f * (1 - f) ** (size - 1) * classes).sum()
        twice = unseen * (1 + f) ** size
        below = (twice - 1).sum() if arx else (twice - unseen).sum()
        ratio = np.float64(unseen.sum()) / single
        total = classes.sum() + number.get(1, 0) * (square / below) * ratio * ratio
    if not math.isfinite(total) or not number.get(1):
        return None
    return Sample(f, number[1], number.get(2, 0), float(total))


# -- as ARX has it -------------------------------------------------------------------------------


def population_uniques_of_arx(
    sizes: NDArray[np.int64], classes: NDArray[np.int64], fraction: float
) -> float | None:
    """What ARX 3.9 finds in place of `population_uniques`, to tell its choice of a model.

    Its second equation multiplies by (1-d)^(α+2) where the expectation is divided by it, and its
    estimate of the classes subtracts one a size where Shlosser subtracts unseen classes; its Newton
    search, with the derivatives of the true equations, then rarely arrives.
    """
    sample = _sample(sizes, classes, fraction, arx=True)
    if sample is None:
        return None

    def equations(alpha: float, beta: float) -> tuple[tuple[float, ...], tuple[float, ...]]:
        value: tuple[float, ...] = (math.nan,) * 2
        slope: tuple[float, ...] = (math.nan,) * 4
        if beta > 0 and (1 - sample.fraction) * (1 - beta) < 1:
            try:
                value = tuple(v.real for v in _expected(sample, alpha, beta, 1))
                by_alpha = _expected(sample, complex(alpha, _TINY), beta, -1)
                by_beta = _expected(sample, alpha, complex(beta, _TINY), -1)
                pairs = zip(by_alpha, by_beta, strict=True)
                slope = tuple(v.imag / _TINY for pair in pairs for v in pair)
            except (OverflowError, ZeroDivisionError):
                pass
        return value, slope

    last = (0.99, 0.99)  # of this start ARX takes one step
    for start in ((1.0, 1.0), *starts()):
        found = newton(equations, start, 0 if start == last else 1000)
        if found is not None:
            return float(sample.classes * found[1] ** found[0])
    return None


_TINY = 1e-30  # a step into the imaginary plane differentiates without cancellation


def _expected(sample: Sample, alpha: complex, beta: complex, sign: int) -> tuple[complex, complex]:
    """Expected uniques and pairs of the sample less the observed ones; the truth has sign -1."""
    f = sample.fraction
    rest = (1 - f) * (1 - beta)
    uniques = sample.classes * f * cmath.exp(alpha * cmath.log(beta / (1 - rest)))
    uniques *= alpha * rest / (1 - rest) + 1
    power = cmath.exp(alpha * cmath.log(beta) + sign * (alpha + 2) * cmath.log(1 - rest))
    pairs = sample.classes * alpha * power * f * f * (1 - beta) / 2 * (2 - (1 - alpha) * rest)
    return uniques - sample.uniques, pairs - sample.pairs
