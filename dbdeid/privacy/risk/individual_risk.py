"""The risk of each record of a weighted survey sample (Benedetti & Franconi 1998).

A record whose class has f records in the sample and F people in the population, estimated by the
sum of their weights, is found with probability E(1/F | f): the population count is taken as
negative binomial with success probability p = f/F. Franconi & Polettini 2004, "Individual risk
estimation in µ-Argus: a review"; the approximation is the default of sdcMicro's `indivRisk`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from dbdeid.data.json import JsonObject, plain
from dbdeid.engine.expressions import select
from dbdeid.engine.relation import Relation
from dbdeid.engine.session import Session
from dbdeid.privacy.common.counting import ROWS, Counting, weighted_classes

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

SERIES_FROM = 8  # the frequency from which the series is short, whatever p is
PRECISION = 1e-15


@dataclass(frozen=True, slots=True)
class IndividualRisk:
    """The individual risks of a sample, summed up.

    Attributes:
        highest: of the most exposed record.
        mean: over the records; the share that an attacker is expected to find.
        expected_reidentifications: their sum.
        approximate_mean: the mean by the approximation for frequencies above two.
    """

    highest: float | None
    mean: float | None
    expected_reidentifications: float
    approximate_mean: float | None

    def to_dict(self) -> JsonObject:
        """The risks as JSON shows them."""
        return plain(self)


def measure(
    session: Session,
    table: Relation,
    quasi_identifiers: Sequence[str],
    weight: str,
    counting: Counting = ROWS,
) -> IndividualRisk:
    """The individual risks of a table whose records have survey weights of at least 1.

    Records that have no class are left out. The records are people: no subject is counted.
    """
    found = weighted_classes(table, quasi_identifiers, weight, counting)
    rows = session.arrays(
        select("records", "class_size", "weight").from_(found.subquery("weighted"))
    )
    return summary(
        rows["records"].astype("int64"),
        rows["class_size"].astype("int64"),
        rows["weight"].astype("float64"),
    )


def individual_risk(
    frequency: NDArray[np.int64], weight: NDArray[np.float64], *, approximate: bool = False
) -> NDArray[np.float64]:
    """The risk of a record of each class.

    It is p·∫ w^(f-1) / (p + (1-p)w) dw over [0, 1], in closed form for f = 1 and 2.

    Args:
        frequency: records of the class in the sample, at least 1.
        weight: the sum of their weights, at least the frequency.
        approximate: p / (f - (1-p)) for frequencies above two, as sdcMicro.
    """
    import numpy as np

    f = frequency.astype(float)
    p = np.minimum(f / weight, 1.0)
    risk = 1 / f  # of a class that is in the sample as a whole
    for members, way in (
        ((p < 1) & (f >= 3), _approximation),
        ((p < 1) & ((f >= SERIES_FROM) | (p >= 0.5)), _series),
        ((p < 0.5) & (f < SERIES_FROM), _recurrence),
    ):
        if (way is _approximation) == approximate:
            risk[members] = way(f[members], p[members])
    if approximate:
        few = (p < 1) & (f < 3)
        risk[few] = individual_risk(frequency[few], weight[few])
    return risk


def summary(
    records: NDArray[np.int64], frequency: NDArray[np.int64], weight: NDArray[np.float64]
) -> IndividualRisk:
    """The individual risks of all records.

    Args:
        records: records of each class.
        frequency: records of the sample that each class counts.
        weight: the sum of the weights of those.
    """
    number = int(records.sum())
    if not number:
        return IndividualRisk(None, None, 0.0, None)
    risk = individual_risk(frequency, weight)
    expected = float(records @ risk)
    rough = float(records @ individual_risk(frequency, weight, approximate=True))
    return IndividualRisk(float(risk.max()), expected / number, expected, rough / number)


def _approximation(f: NDArray[np.float64], p: NDArray[np.float64]) -> NDArray[np.float64]:
    return p / (f - (1 - p))


def _series(f: NDArray[np.float64], p: NDArray[np.float64]) -> NDArray[np.float64]:
    """p/f · 2F1(1, 1; f+1; 1-p), of which every term is positive."""
    import numpy as np

    term = np.ones_like(p)
    total = np.ones_like(p)
    number = 0
    while term.size and term.max() > PRECISION:
        term = term * (1 - p) * (number + 1) / (f + 1 + number)
        total += term
        number += 1
    return p / f * total


def _recurrence(f: NDArray[np.float64], p: NDArray[np.float64]) -> NDArray[np.float64]:
    """r(1) = p/(1-p)·ln(1/p) and r(f+1) = p/(1-p)·(1/f - r(f)), stable for p < 1/2."""
    import numpy as np

    odds = p / (1 - p)
    risk = -odds * np.log(p)
    for known in range(1, SERIES_FROM - 1):
        risk = np.where(f > known, odds * (1 / known - risk), risk)
    return np.asarray(risk, np.float64)
