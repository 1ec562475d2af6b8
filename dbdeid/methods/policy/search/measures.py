"""Measures of policies: risks that fall and losses that rise as values merge (Xia et al. 2013).

A measure adds up a number for each cell of the product of the intervals, and a number for each
interval of each attribute. So it changes by little when two neighbouring intervals merge, and
whether it is monotone in every merge can be looked at merge by merge.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Domain:
    """The ordered domain of one attribute.

    Attributes:
        name: of the attribute.
        size: values it has, at least 1.
        weight: of the attribute in the mean over attributes.
        head, tail: values before the first and after the last that are always one with it.
    """

    name: str
    size: int
    weight: float = 1.0
    head: int = 0
    tail: int = 0

    @property
    def reach(self) -> int:
        """All values, those that are always one with another too."""
        return self.head + self.size + self.tail

    def width(self, starts: Ints, ends: Ints) -> Ints:
        """How many values intervals have that begin at a place and end before another."""
        wider = self.head * (starts == 0) + self.tail * (ends == self.size)
        return np.asarray(ends - starts + wider, np.int64)


def _nothing(records: Ints, people: Ints) -> Floats:
    return np.zeros(len(records))


def _of_no_interval(records: Ints, width: Ints, domain: Domain) -> Floats:
    return np.zeros(len(records))


@dataclass(frozen=True, slots=True)
class Measure:
    """What is added up for a policy.

    Attributes:
        name: as the spec names it.
        of_cells: a number for each cell, of its records and people; 0 where there are no records.
        of_intervals: a number for each interval of an attribute, of its records, its width in
            values, and the attribute.
        reciprocal: the measure is the number of records over the sum.
    """

    name: str
    of_cells: Callable[[Ints, Ints], Floats] = _nothing
    of_intervals: Callable[[Ints, Ints, Domain], Floats] = _of_no_interval
    reciprocal: bool = False

    def value(self, total: float, records: int) -> float:
        """The measure of a sum."""
        return records / total if self.reciprocal else total


def n_log_n(number: Ints | Floats) -> Floats:
    """x ln x, and 0 at 0."""
    known = np.asarray(number, np.float64)
    return np.asarray(known * np.log(np.maximum(known, 1.0)))


def _chance(records: Ints, people: Ints) -> Floats:
    """Of each cell, the sum over its records of the chance 1/g to be found (eq. 2)."""
    return np.asarray(records / np.maximum(people, 1), np.float64)


def _alone(records: Ints, people: Ints) -> Floats:
    """Records that are the only person of the population in their cell."""
    return np.where((people == 1) & (records > 0), 1.0, 0.0)


def _volume(records: Ints, width: Ints, domain: Domain) -> Floats:
    """Spreading records evenly over the values of an interval costs ln w each (eq. 4)."""
    return np.asarray(records * np.log(np.maximum(width, 1)), np.float64)


def _span(records: Ints, width: Ints, domain: Domain) -> Floats:
    """The loss (w - 1)/(D - 1) of each record (Iyengar 2002)."""
    share = domain.weight / max(domain.reach - 1, 1)
    return np.asarray(records * (width - 1) * share, np.float64)


RISKS: Mapping[str, Measure] = MappingProxyType(
    {m.name: m for m in (Measure("population", _chance), Measure("uniques", _alone))}
)
LOSSES: Mapping[str, Measure] = MappingProxyType(
    {
        m.name: m
        for m in (
            Measure("kl", lambda n, g: -n_log_n(n), _volume),
            Measure("loss", of_intervals=_span),
            Measure("discernibility", lambda n, g: n.astype(np.float64) ** 2),
            Measure("average_class_size", lambda n, g: (n > 0).astype(np.float64), reciprocal=True),
            Measure("nonuniform_entropy", of_intervals=lambda n, width, domain: n_log_n(n)),
        )
    }
)
