"""How counterfeit records are added, as a bound specification says it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from dbdeid.bind.bound import Bound
from dbdeid.prepare.prepare import key_of
from dbdeid.prepare.problem import Drawing, Parameters, floor_share
from dbdeid.spec.method.counterfeit import Counterfeit


@dataclass(frozen=True, slots=True, kw_only=True)
class Padding(Drawing):
    """How counterfeit records are added.

    Attributes:
        h: the ceiling of the degree of generalization of every record, above 0 and up to 1; None:
            the smallest with a transformation within the budget.
        budget: most counterfeit records, as a share of the source's.
        objective: reconstruction_error, counterfeits or loss.
        catalog: pool, paper or none.
        borrow: recode class by class, with records borrowed from large classes.
        strict: the prosecutor risk may not exceed 1/k at all.
        sensitive: the column whose values counterfeit records draw; None: there is none.
        others: the other released columns, which are copied from a record with the drawn value.
        impossible: combinations of values, by column, that no counterfeit record has.
    """

    h: float | None
    budget: float
    objective: Literal["reconstruction_error", "counterfeits", "loss"]
    catalog: str
    borrow: bool
    strict: bool
    sensitive: str | None
    others: tuple[str, ...]
    impossible: tuple[Mapping[str, tuple[str, ...]], ...] = ()

    def limit(self, records: int) -> int:
        """Most counterfeit records: floor(budget · N), exact for decimal shares."""
        return floor_share(self.budget, records)


def options(bound: Bound) -> Padding:
    """How counterfeit records are added to the release of a bound spec."""
    method = bound.spec.method
    assert isinstance(method, Counterfeit)
    sensitive = [s.column.name for s in bound.staged if s.column.name in bound.names("sensitive")]
    drawn = sensitive[0] if sensitive else None
    known = {drawn, *(c.name for c in bound.quasi_identifiers)}
    return Padding(
        h=method.h,
        budget=method.max_counterfeits,
        objective=method.objective,
        catalog=method.catalog,
        borrow=method.recoding == "borrow",
        strict=method.strict,
        sensitive=drawn,
        others=tuple(s.column.name for s in bound.staged if s.column.name not in known),
        impossible=tuple(method.impossible),
        key=key_of(bound),
    )


def padding_of(parameters: Parameters[object]) -> Padding:
    """The options in parameters of this method."""
    assert isinstance(parameters.options, Padding)
    return parameters.options
