"""Details of a release whose quasi-identifiers are the means of groups."""

from __future__ import annotations

from dataclasses import dataclass

from dbdeid.methods.common.outcome import Details, Outcome


@dataclass(frozen=True, slots=True)
class Masked(Details):
    """Details of a release whose quasi-identifiers are the means of groups.

    Attributes:
        k: the least size of a group.
        algorithm: mdav, tfrp or mst.
        groups: how many there are; those that read alike are one class.
        smallest: records of the smallest group.
        largest: records of the largest group.
    """

    k: int
    algorithm: str
    groups: int
    smallest: int
    largest: int


def masked_of(outcome: Outcome) -> Masked | None:
    """Return the details of a release's groups; None where it has no means."""
    return outcome.details if isinstance(outcome.details, Masked) else None
