"""The best intervals of one attribute where those of the others are given, by dynamic programming.

Where the intervals of all other attributes are fixed, both measures are sums over the intervals of
the one that is left. So the least of loss + weight · risk is found exactly from a table of what
each interval adds: with D values, D² / 2 intervals, or fewer where none may reach far.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dbdeid.methods.policy.search.policies import SCANNED, Bits, Floats, Gauge, Ints


@dataclass(frozen=True, slots=True)
class Table:
    """What intervals of an attribute add to the two sums.

    Attributes:
        bits: the policy that says the intervals of the other attributes.
        slice: where the bits of the attribute are that is divided anew.
        risk, loss: at [i, k], of the interval of k + 1 values from value i; 0 where there is none.
        rest: what the other attributes' intervals add.
    """

    bits: Bits
    slice: slice
    risk: Floats
    loss: Floats
    rest: tuple[float, float]


def _slabs(gauge: Gauge, bits: Bits, attribute: int) -> tuple[Ints, Ints]:
    """Records and people by value of an attribute, and by cell of the others where records are."""
    cells, space = gauge.cells, gauge.space
    key, combinations = np.zeros(len(cells.records), np.int64), 1
    for i, group in enumerate(space.groups(bits)):
        if i != attribute:
            key = key * (int(group[-1]) + 1) + group[cells.codes[i]]
            combinations *= int(group[-1]) + 1
    if combinations > SCANNED * len(key):
        key = np.unique(key, return_inverse=True)[1]
        combinations = len(key)
    column = np.full(combinations, -1)
    there = np.unique(key[cells.records > 0])
    column[there] = np.arange(len(there))
    column = column[key]
    known = np.flatnonzero(column >= 0)
    place = cells.codes[attribute][known] * len(there) + column[known]
    shape = space.sizes[attribute], len(there)
    records, people = (
        np.bincount(place, own[known], shape[0] * shape[1]).astype(np.int64)
        for own in (cells.records, cells.people)
    )
    return records.reshape(shape), people.reshape(shape)


def tabulate(gauge: Gauge, bits: Bits, attribute: int, reach: int) -> Table:
    """What each interval of at most `reach` values adds, the others being as in `bits`."""
    own, people = _slabs(gauge, bits, attribute)
    domain = gauge.cells.domains[attribute]
    count = np.append(0, np.cumsum(own.sum(axis=1)))
    risk, loss = (np.zeros((domain.size, reach)) for _ in range(2))
    n, g = own, people
    for k in range(reach):
        last = domain.size - k
        if k:
            n, g = n[:last] + own[k:], g[:last] + people[k:]
        records = count[k + 1 :] - count[:last]
        width = domain.width(np.arange(last), np.arange(last) + k + 1)
        # most are cells without records, which add nothing
        at = np.flatnonzero(n)
        row, there = at // n.shape[1], (n.ravel()[at], g.ravel()[at])
        for table, measure in ((risk, gauge.risk), (loss, gauge.loss)):
            table[:last, k] = np.bincount(row, measure.of_cells(*there), last)
            table[:last, k] += measure.of_intervals(records, width, domain)
    return Table(bits, gauge.space.slices[attribute], risk, loss, _rest(gauge, bits, attribute))


def _rest(gauge: Gauge, bits: Bits, attribute: int) -> tuple[float, float]:
    cells, found = gauge.cells, [0.0, 0.0]
    for i, starts in enumerate(gauge.space.starts(bits)):
        if i != attribute:
            domain = cells.domains[i]
            width = domain.width(starts, np.append(starts[1:], domain.size))
            records = np.add.reduceat(cells.marginals[i], starts)
            for j, measure in enumerate((gauge.risk, gauge.loss)):
                found[j] += float(measure.of_intervals(records, width, cells.domains[i]).sum())
    return found[0], found[1]


def divide(table: Table, of_risk: Floats, of_loss: float = 1.0) -> list[tuple[Bits, float, float]]:
    """For each weight of the risk, the policy of least weighted sum, with its two sums.

    Only intervals of the table's attribute change (dynamic programming, Bellman 1961).

    Args:
        table: of intervals.
        of_risk: weights of what the risk adds up.
        of_loss: weight of what the loss adds up; negative where the loss falls as that rises.
    """
    values, reach = table.risk.shape
    weight = of_risk[:, None]
    best = np.zeros((len(weight), values + 1))
    came = np.zeros((len(weight), values + 1), np.int64)
    rows = np.arange(len(weight))
    # row end - 1 holds the intervals that end there, from the longest to the shortest
    first = np.arange(values)[:, None] - np.arange(reach)[::-1]
    length = np.broadcast_to(np.arange(reach)[::-1], first.shape)
    risk, loss = (own[first, length] for own in (table.risk, table.loss * of_loss))
    for end in range(1, values + 1):
        start = max(0, end - reach)
        one = slice(reach - (end - start), None)
        cost = weight * risk[end - 1, one]
        cost += loss[end - 1, one]
        cost += best[:, start:end]
        least = cost.argmin(axis=1)
        came[:, end] = least
        came[:, end] += start
        best[:, end] = cost[rows, least]
    found = []
    for own in came.tolist():
        path, end = [values], values
        while end:
            end = own[end]
            path.append(end)
        found.append(_policy(table, np.array(path[::-1])))
    return found


def _policy(table: Table, cuts: Ints) -> tuple[Bits, float, float]:
    """The policy whose intervals begin and end at these places, and its two sums."""
    first, length = cuts[:-1], np.diff(cuts) - 1
    bits = table.bits.copy()
    bits[table.slice] = False
    bits[table.slice][first[1:] - 1] = True
    risk, loss = (float(own[first, length].sum()) for own in (table.risk, table.loss))
    return bits, risk + table.rest[0], loss + table.rest[1]
