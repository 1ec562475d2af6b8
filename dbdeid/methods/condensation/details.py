"""Details of synthetic records."""

from __future__ import annotations

from dataclasses import dataclass

from dbdeid.methods.attacks.membership import Attempt
from dbdeid.methods.attacks.shadow_releases import Shadowed
from dbdeid.methods.common.outcome import Details, Outcome


@dataclass(frozen=True, slots=True)
class Synthetic(Details):
    """Details of synthetic records.

    Attributes:
        k: the least size of a cluster that was asked for.
        clusters: how many there are.
        smallest: records of the smallest cluster.
        largest: records of the largest cluster.
        strata: columns whose combinations were condensed apart; each keeps its records.
        merged: whether combinations of too few records were joined.
        response: the column that the recipient explains.
        exact: whether each cluster keeps the multiset of its responses.
        counts: whether each cluster keeps how many records have which category.
        nulls: whether each cluster keeps in how many records a number is missing.
        categories: columns whose values are names.
        calibrated: how many statistics of the recipient's models were brought near; 0: none.
        gap: how far they are from those of the source then, as a root mean square in units of the
            noise of sampling.
        worse: how far the coefficients of the declared models were off, without calibration and
            with it, where that made it worse and was left out; None: it was not.
        trial: an attack on records that were synthesized from a random half; None where the records
            are too few for one.
        shadows: the attack of who knows the method, on releases of random halves; None where the
            records are too few.
    """

    k: int
    clusters: int
    smallest: int
    largest: int
    strata: tuple[str, ...]
    merged: bool
    response: str | None
    exact: bool
    counts: bool
    nulls: bool
    categories: tuple[str, ...]
    calibrated: int
    gap: float
    worse: tuple[float, float] | None
    trial: Attempt | None
    shadows: Shadowed | None


def synthetic_of(outcome: Outcome) -> Synthetic | None:
    """Return the details of a release's synthetic records; None where it has none."""
    return outcome.details if isinstance(outcome.details, Synthetic) else None
