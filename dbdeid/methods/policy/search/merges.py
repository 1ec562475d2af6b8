"""Policies one merge apart: the cells of a policy, kept up as neighbouring intervals merge.

A merge of two intervals joins only the cells that differ in nothing else. What the measures add up
changes by those cells and by the two intervals, so that a policy next to a known one costs a
fraction of one that is evaluated from the data.
"""

from __future__ import annotations

from copy import copy
from math import prod

import numpy as np

from dbdeid.methods.policy.search.hash_lookup import Places
from dbdeid.methods.policy.search.measures import Domain
from dbdeid.methods.policy.search.policies import Bits, Floats, Gauge, Ints

MOST = 1 << 62  # combinations of values that a number can tell apart


class _Intervals:
    """The intervals of one attribute, by their first values.

    Attributes:
        end, before: the first values of the next interval and, by that of an interval, of the one
            before it.
        label: the value that stands for the interval in the numbers of cells.
        records: in the interval.
        risk, loss: what the measures add up for it.
        members: by label, the places of its cells; some of them may be dead.
    """

    def __init__(self, gauge: Gauge, domain: Domain, stride: int, starts: Ints, own: Ints) -> None:
        self.gauge, self.domain, self.stride = gauge, domain, stride
        ends = np.append(starts[1:], domain.size)
        self.end = np.full(domain.size, -1)
        self.before = np.full(domain.size + 1, -1)
        self.end[starts], self.before[ends] = ends, starts
        self.label = np.arange(domain.size)
        self.records = np.zeros(domain.size, np.int64)
        self.records[starts] = np.add.reduceat(own, starts)
        self.risk, self.loss = np.zeros(domain.size), np.zeros(domain.size)
        self.risk[starts], self.loss[starts] = self._measured(
            self.records[starts], domain.width(starts, ends)
        )
        self.members: dict[int, Ints] = {}

    def copy(self) -> _Intervals:
        """A copy that is changed on its own."""
        other = copy(self)
        for name in ("end", "before", "label", "records", "risk", "loss", "members"):
            setattr(other, name, getattr(self, name).copy())
        return other

    def labels(self, numbers: Ints) -> Ints:
        """The label of this attribute in the numbers of cells."""
        return numbers // self.stride % self.domain.size

    def change(self, left: Ints, right: Ints) -> tuple[Floats, Floats]:
        """By how much the two sums change as these pairs of neighbours merge."""
        width = self.domain.width(left, self.end[right])
        risk, loss = self._measured(self.records[left] + self.records[right], width)
        return (
            risk - self.risk[left] - self.risk[right],
            loss - self.loss[left] - self.loss[right],
        )

    def join(self, left: int, right: int) -> None:
        """Make one interval of two neighbours, but for its label and members."""
        end = self.end[right]
        self.records[left] += self.records[right]
        width = self.domain.width(np.array([left]), np.array([end]))
        risk, loss = self._measured(self.records[[left]], width)
        self.risk[left], self.loss[left] = risk[0], loss[0]
        self.end[left], self.before[end] = end, left
        self.end[right] = -1
        for kept in (self.risk, self.loss):
            kept[right] = 0.0

    def _measured(self, records: Ints, width: Ints) -> tuple[Floats, Floats]:
        gauge, domain = self.gauge, self.domain
        return (
            gauge.risk.of_intervals(records, width, domain),
            gauge.loss.of_intervals(records, width, domain),
        )


class Walk:
    """The cells of a policy, which merges move towards the top.

    A cell is numbered by a label of its interval in each attribute, one of the interval's values:
    of two that merge, the cells of the one with fewer take the label of the other. The numbers of
    a label that was given up are never looked for again, so that they can stay.

    Args:
        gauge: of the measures; the product of the domains is at most 2^62.
        bits: the policy to begin with; the bottom if there is none.

    Attributes:
        bits: the policy; only to be read.
        risk_sum, loss_sum: what the two measures add up, see `Gauge.of_sums`.
    """

    def __init__(self, gauge: Gauge, bits: Bits | None = None) -> None:
        self.gauge = gauge
        cells, space = gauge.cells, gauge.space
        self.bits: Bits = space.bottom if bits is None else bits.copy()
        if prod(space.sizes) > MOST:
            raise OverflowError(f"cells of {prod(space.sizes)} combinations cannot be numbered")
        numbers = np.zeros(len(cells.records), np.int64)
        self._intervals = []
        for i, (starts, group) in enumerate(
            zip(space.starts(self.bits), space.groups(self.bits), strict=True)
        ):
            stride = prod(space.sizes[i + 1 :])
            numbers += (starts[group] * stride)[cells.codes[i]]
            self._intervals.append(
                _Intervals(gauge, cells.domains[i], stride, starts, cells.marginals[i])
            )
        numbers, of_number = np.unique(numbers, return_inverse=True)
        records, people = (
            np.rint(np.bincount(of_number, own, len(numbers))).astype(np.int64)
            for own in (cells.records, cells.people)
        )
        self._keep(numbers, records, people)

    def copy(self) -> Walk:
        """A walk that goes its own way from here."""
        other = copy(self)
        other.bits = self.bits.copy()
        other._intervals = [own.copy() for own in self._intervals]
        other._places = self._places.copy()
        for name in ("_numbers", "_records", "_people", "_risk", "_loss", "_alive"):
            setattr(other, name, getattr(self, name).copy())
        return other

    @property
    def point(self) -> tuple[float, float]:
        """Risk and loss of the policy."""
        return self.gauge.of_sums(self.risk_sum, self.loss_sum)

    @property
    def risk(self) -> float:
        """The risk of the policy."""
        return self.point[0]

    @property
    def loss(self) -> float:
        """The loss of the policy."""
        return self.point[1]

    def cuts(self, attribute: int) -> Ints:
        """The bits of an attribute that are set, from 0 for its first."""
        return np.flatnonzero(self.bits[self.gauge.space.slices[attribute]])

    def change(self, attribute: int, cut: int) -> tuple[float, float]:
        """By how much the two sums change if a set bit of an attribute is cleared."""
        own, left, right = self._pair(attribute, cut)
        moved, other, _ = self._meeting(own, left, right)
        risk, loss = self._joined(moved, other)
        of_risk, of_loss = own.change(np.array([left]), np.array([right]))
        return float(risk.sum() + of_risk[0]), float(loss.sum() + of_loss[0])

    def merge(self, attribute: int, cut: int) -> tuple[float, float]:
        """Clear a set bit of an attribute.

        Returns:
            risk and loss of the policy that is reached.
        """
        own, left, right = self._pair(attribute, cut)
        moved, other, alone = self._meeting(own, left, right)
        risk, loss = self._joined(moved, other)
        of_risk, of_loss = own.change(np.array([left]), np.array([right]))
        self.risk_sum += float(risk.sum() + of_risk[0])
        self.loss_sum += float(loss.sum() + of_loss[0])
        self._records[other] += self._records[moved]
        self._people[other] += self._people[moved]
        self._risk[other] += self._risk[moved] + risk
        self._loss[other] += self._loss[moved] + loss
        self._alive[moved] = False
        self._living -= len(moved)
        self._relabel(own, left, right, alone)
        own.join(left, right)
        self.bits[self.gauge.space.slices[attribute]][cut] = False
        if 2 * self._living < len(self._alive):
            there = self._alive
            self._keep(self._numbers[there], self._records[there], self._people[there])
        return self.point

    def neighbours(self, attribute: int) -> tuple[Ints, Floats, Floats]:
        """All policies one merge of an attribute away.

        Returns:
            the set bits of the attribute, and by how much each of the two sums changes if that
            bit is cleared.
        """
        own, cuts = self._intervals[attribute], self.cuts(attribute)
        right = cuts + 1
        left = own.before[right]
        risk, loss = own.change(left, right)
        if not len(cuts):
            return cuts, risk, loss
        # of each label, that of the next interval and which cut is between
        gap = np.zeros(own.domain.size, np.int64)
        cut = np.full(own.domain.size, -1)
        gap[own.label[left]] = own.label[right] - own.label[left]
        cut[own.label[left]] = np.arange(len(cuts))
        label = own.labels(self._numbers)
        at = np.flatnonzero((cut[label] >= 0) & self._alive)
        other = self._places.find(self._numbers[at] + gap[label[at]] * own.stride)
        met = other >= 0
        at, other = at[met], other[met]
        of_risk, of_loss = self._joined(at, other)
        pair = cut[label[at]]
        risk += np.bincount(pair, of_risk, len(cuts))
        loss += np.bincount(pair, of_loss, len(cuts))
        return cuts, risk, loss

    def _pair(self, attribute: int, cut: int) -> tuple[_Intervals, int, int]:
        own = self._intervals[attribute]
        return own, int(own.before[cut + 1]), cut + 1

    def _members(self, own: _Intervals, start: int) -> Ints:
        """The cells of an interval that are alive."""
        label = int(own.label[start])
        found = own.members.get(label)
        if found is None:
            return np.empty(0, np.int64)
        alive = self._alive[found]
        if not alive.all():
            found = own.members[label] = found[alive]
        return found

    def _sides(self, own: _Intervals, left: int, right: int) -> tuple[int, int]:
        """Of two intervals, the one with fewer cells first."""
        if len(self._members(own, left)) < len(self._members(own, right)):
            return left, right
        return right, left

    def _meeting(self, own: _Intervals, left: int, right: int) -> tuple[Ints, Ints, Ints]:
        """Cells of the smaller interval, the ones they would join, and those that find none."""
        fewer, more = self._sides(own, left, right)
        moved = self._members(own, fewer)
        step = int(own.label[more] - own.label[fewer]) * own.stride
        other = self._places.find(self._numbers[moved] + step)
        met = other >= 0
        return moved[met], other[met], moved[~met]

    def _joined(self, one: Ints, other: Ints) -> tuple[Floats, Floats]:
        """By how much the two sums change for each pair of cells that become one."""
        records = self._records[one] + self._records[other]
        people = self._people[one] + self._people[other]
        risk = self.gauge.risk.of_cells(records, people)
        loss = self.gauge.loss.of_cells(records, people)
        risk = risk - self._risk[one] - self._risk[other]
        loss = loss - self._loss[one] - self._loss[other]
        return risk, loss

    def _relabel(self, own: _Intervals, left: int, right: int, alone: Ints) -> None:
        """Give the cells of the smaller interval that are left the label of the other one."""
        fewer, more = self._sides(own, left, right)
        label, given_up = int(own.label[more]), int(own.label[fewer])
        if len(alone):
            self._numbers[alone] += (label - given_up) * own.stride
            self._places.put(self._numbers[alone], alone)
            own.members[label] = np.concatenate([self._members(own, more), alone])
        own.members.pop(given_up, None)
        own.label[left] = label

    def _keep(self, numbers: Ints, records: Ints, people: Ints) -> None:
        """Begin with cells that are all alive."""
        gauge = self.gauge
        self._numbers, self._records, self._people = numbers, records, people
        self._risk = gauge.risk.of_cells(records, people)
        self._loss = gauge.loss.of_cells(records, people)
        self._alive = np.ones(len(numbers), np.bool_)
        self._living = len(numbers)
        self._places = Places(numbers, prod(gauge.space.sizes))
        for own in self._intervals:
            label = own.labels(numbers)
            order = np.argsort(label, kind="stable")
            first = np.flatnonzero(np.diff(label[order], prepend=-1))
            parts = np.split(order, first[1:]) if len(first) else []
            own.members = dict(zip(label[order[first]].tolist(), parts, strict=True))
        # added up anew, so that what rounding leaves does not pile up
        self.risk_sum = float(self._risk.sum() + sum(own.risk.sum() for own in self._intervals))
        self.loss_sum = float(self._loss.sum() + sum(own.loss.sum() for own in self._intervals))
