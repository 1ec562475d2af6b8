"""Details of a release with counterfeit records."""

from __future__ import annotations

from dataclasses import dataclass

from dbdeid.methods.common.outcome import Details, Outcome


@dataclass(frozen=True, slots=True)
class Padded(Details):
    """Details of a release with counterfeit records.

    Attributes:
        k: what was declared.
        size: the size that smaller classes were padded to.
        counterfeits: records added.
        limit: most that may be.
        h: the ceiling of the degree of generalization, declared or found.
        degree: the greatest degree of a record.
        catalog: pool, paper or none.
        groups: groups of the catalog.
        candidates: classes that could be padded, for all that the release shows.
        risk: the greatest probability that a record of a class is a given person's, for whoever
            knows the method.
        sensitive: the column whose values the catalog counts.
        strict: whether the risk may not exceed 1/k at all.
    """

    k: int
    size: int
    counterfeits: int
    limit: int
    h: float
    degree: float
    catalog: str
    groups: int
    candidates: int
    risk: float
    sensitive: str | None
    strict: bool

    @property
    def added(self) -> int:
        """Counterfeit records."""
        return self.counterfeits


def padded_of(outcome: Outcome) -> Padded | None:
    """Return the details of a release's padding; None where it has none."""
    return outcome.details if isinstance(outcome.details, Padded) else None
