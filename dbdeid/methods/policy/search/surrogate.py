"""An order of merges that is guessed from each attribute on its own, without a policy evaluated.

It costs a pass over the data: how many records and people have each value. The guess: a record
shares its cell with a number of others that is geometrically distributed, as it is where cells
differ much in size, and in the mean proportional to the people (for the loss: to the records) of
its interval. What it is proportional by is found so that all attributes tell the same sums; it
grows as the other attributes merge.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from dbdeid.methods.policy.search.measures import Domain, Measure
from dbdeid.methods.policy.search.policies import Floats, Gauge, Ints

Merge = tuple[int, int]  # an attribute and one of its bits

NOTHING = 1e-14  # shares up to which a change is what rounding leaves
RENEWED = 16  # merges after which it is found anew how many others there are
QUANTILES = 64  # of the number of others
HALVINGS = 40


def units(gauge: Gauge) -> tuple[float, float]:
    """By how much the two sums differ between the bottom and the top; 1 where they do not."""
    spread = np.abs(np.subtract(gauge.at_top, gauge.at_bottom))
    risk, loss = np.where(spread > 0, spread, 1.0)
    # where the sum is divided by, it falls as the loss rises
    return float(risk), float(-loss if gauge.loss.reciprocal else loss)


def rates(risk: Floats, loss: Floats) -> Floats:
    """What merges cost: the share of loss that each adds for a share of risk that it takes away.

    One that takes none away comes last, unless it is free.
    """
    gains = risk < -NOTHING
    found = np.maximum(loss, 0.0) / np.where(gains, -risk, 1.0)
    return np.where(gains, found, np.where(loss <= NOTHING, 0.0, np.inf))


class _Law:
    """What a record adds to a sum, by how many others are in its cell in the mean."""

    def __init__(self, of_sizes: Callable[[Ints], Floats]) -> None:
        self._means = np.append(0.0, np.geomspace(1e-4, 1e9, 200))
        left = (np.arange(QUANTILES) + 0.5) / QUANTILES
        others = np.log(left) / -np.log1p(1 / self._means[1:, None])
        sizes = 1 + np.append(np.zeros((1, QUANTILES)), others, axis=0).astype(np.int64)
        self._mean_of = of_sizes(sizes.ravel()).reshape(sizes.shape).mean(axis=1)

    def __call__(self, means: Floats) -> Floats:
        found: Floats = np.interp(means, self._means, self._mean_of)
        return found

    def factor(self, records: Floats, company: Floats, total: float) -> float:
        """By how much to multiply their company so that intervals add up to a total."""
        low, high = -30.0, 30.0
        falls = records @ self(company * np.exp(low)) > records @ self(company * np.exp(high))
        for _ in range(HALVINGS):
            middle = (low + high) / 2
            if (records @ self(company * np.exp(middle)) > total) == falls:
                low = middle
            else:
                high = middle
        return float(np.exp(low))


@dataclass
class _Guess:
    """One measure over the intervals of all attributes; `total` is of its cells."""

    measure: Measure
    law: _Law
    company: list[Floats]
    total: float

    def changes(
        self, i: int, domain: Domain, records: Floats, firsts: Ints, factor: float
    ) -> tuple[Floats, Floats]:
        """By how much cells, and cells and intervals, change as two neighbours merge."""
        company = self.company[i] * factor
        width = domain.width(firsts, np.append(firsts[1:], domain.size))
        both, shared = records[1:] + records[:-1], company[1:] + company[:-1]
        wide = width[1:] + width[:-1]
        one = records * self.law(company)
        of_cells = both * self.law(shared) - one[1:] - one[:-1]
        one = self.measure.of_intervals(records.astype(np.int64), width, domain)
        joined = self.measure.of_intervals(both.astype(np.int64), wide, domain)
        return of_cells, of_cells + joined - one[1:] - one[:-1]


def guessed(gauge: Gauge) -> list[Merge]:
    """All merges from the bottom to the top, each time the one that is guessed to cost least."""
    cells, units_ = gauge.cells, units(gauge)
    firsts = [np.arange(domain.size) for domain in cells.domains]
    records = [own.astype(np.float64) for own in cells.marginals]
    people = [
        np.bincount(codes, cells.people, domain.size).astype(np.float64)
        for codes, domain in zip(cells.codes, cells.domains, strict=True)
    ]
    laws = (
        _Law(lambda size: gauge.risk.of_cells(np.ones_like(size), size)),
        _Law(lambda size: gauge.loss.of_cells(size, size) / size),
    )
    guesses = [
        _Guess(measure, law, company, float(measure.of_cells(cells.records, cells.people).sum()))
        for measure, law, company in (
            (gauge.risk, laws[0], people),
            (gauge.loss, laws[1], [own.astype(np.float64) for own in cells.marginals]),
        )
    ]
    merges: list[Merge] = []
    known: dict[int, tuple[float, int, list[float]]] = {}
    while len(merges) < gauge.space.length:
        if len(merges) % RENEWED == 0:
            known.clear()
            factors = [
                [g.law.factor(n, own, g.total) for n, own in zip(records, g.company, strict=True)]
                for g in guesses
            ]
        for i, domain in enumerate(cells.domains):
            if i in known or len(firsts[i]) < 2:
                continue
            (risk, of_risk), (loss, of_loss) = (
                g.changes(i, domain, records[i], firsts[i], factor[i])
                for g, factor in zip(guesses, factors, strict=True)
            )
            rate = rates(of_risk / units_[0], of_loss / units_[1])
            at = int(rate.argmin())
            known[i] = float(rate[at]), at, [float(risk[at]), float(loss[at])]
        i = min(known, key=lambda i: known[i][0])
        _, at, changes = known.pop(i)
        merges.append((i, int(firsts[i][at + 1]) - 1))
        firsts[i] = np.delete(firsts[i], at + 1)
        for kept in (records, guesses[0].company, guesses[1].company):
            kept[i][at] += kept[i][at + 1]
            kept[i] = np.delete(kept[i], at + 1)
        for guess, change in zip(guesses, changes, strict=True):
            guess.total += change
    return merges
