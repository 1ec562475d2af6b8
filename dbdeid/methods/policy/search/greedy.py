"""The guided search: a guessed order of merges, then the frontier where it is least known.

It goes on from what is found already, in an order that no budget changes, so that more budget never
finds less:

1. policies on a chain of merges that is guessed without an evaluation, each time in the middle of
   the two between which most of the plane is not decided;
2. for policies of the frontier beside the widest gaps, the best intervals of one attribute after
   the other, the rest being as they are;
3. a chain of merges from the bottom, each the one that adds least loss for the risk it takes away;
4. as 2, until nothing is left to try.

Where there are few policies, all of them are evaluated after 1. Every policy whose risk and loss
are found is charged, and each pass over the data that a guess or a table of intervals costs.
"""

from __future__ import annotations

from collections.abc import Iterator
from heapq import heapify, heappop, heappush
from math import ceil, prod

import numpy as np

from dbdeid.methods.policy.search.frontier import Log
from dbdeid.methods.policy.search.merges import Walk
from dbdeid.methods.policy.search.policies import Bits, Floats
from dbdeid.methods.policy.search.programme import divide, tabulate
from dbdeid.methods.policy.search.surrogate import guessed, rates, units

GUESSED = 80  # policies on the guessed chain
FEW = 12  # bits up to which all policies are evaluated
WORK = 500_000  # cells of a table of intervals, about
LEAST_REACH = 6  # values that an interval may always have
WEIGHTS = np.exp(np.linspace(-0.8, 0.8, 81))  # of the risk, over the slope of the frontier there
STRETCH = 10  # points on either side that tell its slope
MOST_CELLS = 1 << 24  # of a table, beyond which there is none


def greedy(log: Log, rng: np.random.Generator) -> None:
    """Find the frontier by merges that are guessed, then found, to cost least; nothing is drawn."""
    gauge, length = log.gauge, log.gauge.space.length
    _bisect(log)
    if length <= FEW:
        _exhaust(log)
        return
    units_ = units(gauge)
    gaps = _divisions(log, units_)
    for _ in gaps:
        if log.spent > length:
            break
    descend(log, Walk(gauge), units_)
    for _ in gaps:
        pass


def _bisect(log: Log) -> None:
    """Evaluate policies on the guessed chain, in the middle of what is least decided."""
    gauge, space = log.gauge, log.gauge.space
    log.charge()
    merges = guessed(gauge)
    bit = np.array([space.slices[attribute].start + cut for attribute, cut in merges], np.int64)

    def after(count: int) -> Bits:
        bits = space.bottom
        bits[bit[:count]] = False
        return bits

    heap = [(-1.0, 0, len(merges), gauge(space.bottom), gauge(space.top))]
    for _ in range(GUESSED):
        if not heap:
            break
        _, low, high, here, there = heappop(heap)
        middle = (low + high) // 2
        if low < middle < high:
            point = log.evaluate(after(middle))
            for one, other, p, q in ((low, middle, here, point), (middle, high, point, there)):
                heappush(heap, (-(p[0] - q[0]) * (q[1] - p[1]), one, other, p, q))


def _exhaust(log: Log) -> None:
    """Evaluate all policies that are not yet."""
    space = log.gauge.space
    known = {*log.policies, space.pack(space.top), space.pack(space.bottom)}
    for number in range(1 << space.length):
        bits = (number >> np.arange(space.length) & 1).astype(np.bool_)
        if space.pack(bits) not in known:
            log.evaluate(bits)


def descend(log: Log, walk: Walk, units: tuple[float, float]) -> None:
    """Merge to the top, each time what costs least; what it costs is looked up only when it leads.

    A merge mostly costs no less after others, so that one that still costs least when it is looked
    up anew is the best.
    """
    gauge, slices = log.gauge, log.gauge.space.slices

    def weigh(attribute: int, cut: int, risk: float, loss: float) -> float:
        bits = walk.bits.copy()
        bits[slices[attribute]][cut] = False
        log.note(bits, *gauge.of_sums(walk.risk_sum + risk, walk.loss_sum + loss))
        return float(rates(np.array([risk / units[0]]), np.array([loss / units[1]]))[0])

    heap = [
        (weigh(i, cut, risk, loss), i, cut)
        for i in range(len(slices))
        for cut, risk, loss in zip(*(own.tolist() for own in walk.neighbours(i)), strict=True)
    ]
    heapify(heap)
    while heap:
        _, i, cut = heappop(heap)
        rate = weigh(i, cut, *walk.change(i, cut))
        if heap and rate > heap[0][0] * (1 + 1e-9):
            heappush(heap, (rate, i, cut))
        else:
            walk.merge(i, cut)


def _divisions(log: Log, units: tuple[float, float]) -> Iterator[None]:
    """Divide attributes anew at the widest gap of the frontier that has not been tried."""
    tried: set[bytes] = set()
    while True:
        gap = _widest(log, tried)
        if gap is None:
            return
        bits, weight = gap
        tried.add(log.gauge.space.pack(bits))
        for attribute in np.argsort(-np.array(log.gauge.space.sizes), kind="stable").tolist()[:2]:
            bits = _divided(log, bits, attribute, WEIGHTS * weight / units[0], 1 / units[1])
        yield


def _widest(log: Log, tried: set[bytes]) -> tuple[Bits, float] | None:
    """The policy before the widest gap of the frontier, and the slope of the frontier there."""
    risks, losses = np.array(log.frontier.risks), np.array(log.frontier.losses)
    gaps = np.diff(risks) * -np.diff(losses)
    policies = {p.risk: p.policy for p in log.frontier}
    for at in np.argsort(-gaps, kind="stable").tolist():
        policy = policies[risks[at]]
        if policy not in tried:
            low, high = max(at - STRETCH, 0), min(at + STRETCH + 1, len(risks) - 1)
            slope = (losses[low] - losses[high]) / (risks[high] - risks[low])
            return log.gauge.space.unpack(policy), float(slope)
    return None


def _divided(log: Log, bits: Bits, attribute: int, of_risk: Floats, of_loss: float) -> Bits:
    """The policy with an attribute divided anew for the middle weight; those for all are noted."""
    gauge, space = log.gauge, log.gauge.space
    size = space.sizes[attribute]
    others = prod(int(bits[own].sum()) + 1 for i, own in enumerate(space.slices) if i != attribute)
    cells = size * min(others, len(gauge.cells.records))
    if cells > MOST_CELLS:
        return bits
    reach = min(max(WORK // cells, LEAST_REACH), size)
    log.charge(ceil(cells * reach / max(len(gauge.cells.records), 1)))
    table = tabulate(gauge, bits, attribute, reach)
    found = divide(table, of_risk, of_loss)
    noted: set[bytes] = set()
    for policy, risk, loss in found:
        if space.pack(policy) not in noted:
            noted.add(space.pack(policy))
            log.note(policy, *gauge.of_sums(risk, loss))
    return found[len(found) // 2][0]
