"""How groups of records are made, as a bound specification says it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from dbdeid.bind.bound import Bound
from dbdeid.prepare.prepare import key_of
from dbdeid.prepare.problem import Drawing, Parameters
from dbdeid.spec.method.microaggregation import Microaggregation


@dataclass(frozen=True, slots=True, kw_only=True)
class Masking(Drawing):
    """How groups of records are made, whose means replace their values.

    Attributes:
        algorithm: mdav, tfrp or mst.
        others: the released columns that are no quasi-identifiers.
        key: of the draw which of several records with the same quasi-identifiers are in which
            group.
    """

    algorithm: Literal["mdav", "tfrp", "mst"]
    others: tuple[str, ...]


def options(bound: Bound) -> Masking:
    """How the groups of a bound spec are made."""
    method = bound.spec.method
    assert isinstance(method, Microaggregation)
    known = {c.name for c in bound.quasi_identifiers}
    others = tuple(s.column.name for s in bound.staged if s.column.name not in known)
    return Masking(algorithm=method.algorithm, others=others, key=key_of(bound))


def masking_of(parameters: Parameters[object]) -> Masking:
    """The options in parameters of this method."""
    assert isinstance(parameters.options, Masking)
    return parameters.options
