"""Policies of generalization over ordered domains, as bit-strings (Xia et al. 2013, section 2).

Each attribute has a domain of values in an order. A policy merges neighbouring values into
intervals: for an attribute of D values it has D - 1 bits, one for each pair of neighbours, and a
bit that is set keeps them apart. All bits cleared is the top, where every attribute is one
interval; all bits set is the bottom, the records as they are.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from dbdeid.methods.policy.search.measures import LOSSES, RISKS, Domain, Measure

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Bits = NDArray[np.bool_]

# Sums that are added up in another order differ in their last digits, which would make one of two
# equal policies better than the other.
DIGITS = 12
NOTHING = 1e-12  # of a sum, or a record: a difference that is less is what rounding leaves
SCANNED = 8  # key space per cell up to which all cells are kept in one array


@dataclass(frozen=True)
class Cells:
    """Records, and people who could be they, by the values that they have.

    Args:
        domains: of the attributes.
        codes: one array per attribute, the place of each cell's value in the domain.
        records: of each cell.
        people: of each cell, of the population; at least as many as records.
        raw: the same before values at the ends of domains became one; None: they are apart.
    """

    domains: tuple[Domain, ...]
    codes: tuple[Ints, ...]
    records: Ints
    people: Ints
    raw: Cells | None = None

    @cached_property
    def count(self) -> int:
        """How many records there are."""
        return int(self.records.sum())

    @cached_property
    def marginals(self) -> tuple[Ints, ...]:
        """Records of each value, by attribute."""
        return tuple(
            np.rint(np.bincount(codes, self.records, domain.size)).astype(np.int64)
            for codes, domain in zip(self.codes, self.domains, strict=True)
        )

    def joined(self, attributes: Sequence[bool]) -> Cells:
        """The same where values at the ends that no record has are one with the next that one has.

        No policy over them tells which values are the least and the greatest of the records.

        Args:
            attributes: of which this is so.
        """
        codes, domains = list(self.codes), list(self.domains)
        there = self.records > 0
        for i, ends in enumerate(attributes):
            if not ends or not there.any():
                continue
            first, last = int(codes[i][there].min()), int(codes[i][there].max())
            tail = domains[i].size - 1 - last
            domains[i] = replace(domains[i], size=last - first + 1, head=first, tail=tail)
            codes[i] = np.clip(codes[i], first, last) - first
        return Cells(tuple(domains), tuple(codes), self.records, self.people, raw=self)

    def whole(self, bits: Bits) -> Bits:
        """A policy over these domains as one over the domains in full."""
        if self.raw is None:
            return bits
        starts = (
            np.append(0, own[1:] + domain.head)
            for own, domain in zip(self.space.starts(bits), self.domains, strict=True)
        )
        return self.raw.space.of_starts(list(starts))

    @cached_property
    def amounts(self) -> tuple[Ints, Floats, Floats]:
        """The cells that have records, how many each of them has, and the people of all cells."""
        places = np.flatnonzero(self.records)
        return places, self.records[places].astype(np.float64), self.people.astype(np.float64)

    @cached_property
    def of_records(self) -> Cells:
        """Those of them that have records."""
        there = self.records > 0
        codes = tuple(code[there] for code in self.codes)
        return Cells(self.domains, codes, self.records[there], self.people[there])

    @cached_property
    def space(self) -> Space:
        """The policies over the domains."""
        return Space(tuple(domain.size for domain in self.domains))


@dataclass(frozen=True)
class Space:
    """All policies over domains of these sizes."""

    sizes: tuple[int, ...]

    @cached_property
    def length(self) -> int:
        """How many bits a policy has."""
        return sum(self.sizes) - len(self.sizes)

    @property
    def top(self) -> Bits:
        """The most general policy."""
        return np.zeros(self.length, np.bool_)

    @property
    def bottom(self) -> Bits:
        """The records as they are."""
        return np.ones(self.length, np.bool_)

    @cached_property
    def slices(self) -> tuple[slice, ...]:
        """Where the bits of each attribute are."""
        ends = np.cumsum([size - 1 for size in self.sizes])
        return tuple(
            slice(int(end) - size + 1, int(end)) for end, size in zip(ends, self.sizes, strict=True)
        )

    def groups(self, bits: Bits) -> tuple[Ints, ...]:
        """The interval of each value, numbered in order, by attribute."""
        return tuple(np.append(0, np.cumsum(bits[own])) for own in self.slices)

    def starts(self, bits: Bits) -> tuple[Ints, ...]:
        """The places of the first values of the intervals, by attribute."""
        return tuple(np.append(0, np.flatnonzero(bits[own]) + 1) for own in self.slices)

    def of_starts(self, starts: Sequence[Sequence[int] | Ints]) -> Bits:
        """The policy whose intervals start at these places; where 0 is one, it says nothing."""
        bits = self.top
        for own, places in zip(self.slices, starts, strict=True):
            found = np.asarray(places, np.int64)
            bits[own][found[found > 0] - 1] = True
        return bits

    def pack(self, bits: Bits) -> bytes:
        """A policy in few bytes, to keep many and to tell them apart."""
        return np.packbits(bits).tobytes()

    def unpack(self, packed: bytes) -> Bits:
        """The policy of few bytes."""
        bits = np.unpackbits(np.frombuffer(packed, np.uint8), count=self.length)
        return bits.astype(np.bool_)


class Gauge:
    """The risk and the loss of policies.

    The risk is a share of that of the bottom; the loss is 0 at the bottom and 1 at the top. Both
    are rounded to `DIGITS`. Where nothing can be lost or found, they are 0. Where values at the
    ends of domains are one, the bottom that counts is that with all values apart.

    Args:
        cells: the records.
        risk: what falls as values merge.
        loss: what rises as values merge.

    Attributes:
        at_bottom, at_top: what the two measures add up there.
    """

    def __init__(
        self, cells: Cells, risk: Measure = RISKS["population"], loss: Measure = LOSSES["kl"]
    ) -> None:
        self.cells, self.risk, self.loss = cells, risk, loss
        self.space = cells.space
        self.at_bottom, self.at_top = self.sums(self.space.bottom), self.sums(self.space.top)
        as_they_are = self.at_bottom
        if cells.raw is not None:
            as_they_are = Gauge(cells.raw, risk, loss).at_bottom
        self._riskiest = risk.value(as_they_are[0], cells.count)
        self._least = loss.value(as_they_are[1], cells.count)
        most = loss.value(self.at_top[1], cells.count)
        self._range = range_of(self._least, most, cells.count)

    def __call__(self, bits: Bits) -> tuple[float, float]:
        """Risk and loss of a policy, from the cells."""
        return self.of_sums(*self.sums(bits))

    def of_sums(self, risk: float, loss: float) -> tuple[float, float]:
        """Risk and loss, from the sums that their measures add up."""
        count = self.cells.count
        found = self.risk.value(risk, count) / self._riskiest if self._riskiest > 0 else 0.0
        lost = self.loss.value(loss, count) - self._least
        share = lost / self._range if self._range > 0 else 0.0
        # adding 0 makes a negative zero positive
        return round(found, DIGITS) + 0.0, round(share, DIGITS) + 0.0

    def nats(self, bits: Bits) -> float:
        """The KL divergence of the records from what a policy says of them, in nats (eq. 4)."""
        total = total_of(LOSSES["kl"], self.cells.of_records, bits)
        return round((total - self._least_kl) / self.cells.count, DIGITS) + 0.0

    @cached_property
    def _least_kl(self) -> float:
        return total_of(LOSSES["kl"], self.cells.of_records, self.space.bottom)

    def sums(self, bits: Bits) -> tuple[float, float]:
        """What the two measures add up for a policy."""
        grouped = merged(self.cells, self.space.groups(bits))
        risk, loss = (_total(m, self.cells, bits, *grouped) for m in (self.risk, self.loss))
        return risk, loss


def range_of(least: float, most: float, records: int) -> float:
    """How far a loss reaches; 0 where nothing can be lost.

    A KL divergence of 0 is the difference of two sums: of records that are spread evenly over the
    whole domain, rounding would be told as a loss.
    """
    found = most - least
    return found if found > NOTHING * max(abs(least), abs(most), records) else 0.0


def total_of(measure: Measure, cells: Cells, bits: Bits) -> float:
    """What one measure adds up for a policy."""
    return _total(measure, cells, bits, *merged(cells, cells.space.groups(bits)))


def _total(measure: Measure, cells: Cells, bits: Bits, records: Ints, people: Ints) -> float:
    total = float(measure.of_cells(records, people).sum())
    for marginal, starts, domain in zip(
        cells.marginals, cells.space.starts(bits), cells.domains, strict=True
    ):
        width = domain.width(starts, np.append(starts[1:], domain.size))
        total += float(measure.of_intervals(np.add.reduceat(marginal, starts), width, domain).sum())
    return total


def merged(cells: Cells, groups: Sequence[Ints]) -> tuple[Ints, Ints]:
    """Records and people of the cells that have records, where values fall into these groups."""
    key = np.zeros(len(cells.records), np.int64)
    space = 1
    for codes, group in zip(cells.codes, groups, strict=True):
        count = int(group[-1]) + 1
        key = key * count + group[codes]
        space *= count
    if space > SCANNED * len(key):
        key = np.unique(key, return_inverse=True)[1]
        space = int(key.max()) + 1 if len(key) else 0
    places, of_records, of_people = cells.amounts
    records = np.bincount(key[places], of_records, space)
    there = np.flatnonzero(records)
    people = np.bincount(key, of_people, space)
    return np.rint(records[there]).astype(np.int64), np.rint(people[there]).astype(np.int64)
