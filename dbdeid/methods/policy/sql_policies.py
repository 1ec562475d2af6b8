"""Policies evaluated inside the database: the same numbers as on arrays, by formulas of SQL.

A policy is a map of values to intervals. Joined to the cells it gives the classes, over which the
measures add up. And all policies one merge away are told by one statement an attribute: each cell
of two neighbouring intervals is counted as if they were one, and what the two add up by themselves
is taken off.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import fsum

import numpy as np
from numpy.typing import NDArray

from dbdeid.engine.expressions import (
    Expr,
    Query,
    Select,
    aliased,
    all_of,
    cast,
    column,
    literal,
    select,
    sum_of,
    union_all,
)
from dbdeid.engine.relation import Relation
from dbdeid.engine.session import Session, Step
from dbdeid.engine.sqltext import sql, step
from dbdeid.methods.policy.search.measures import LOSSES, RISKS, Domain
from dbdeid.methods.policy.search.policies import DIGITS, Bits, Cells, Space, range_of

Floats = NDArray[np.float64]

CELLS = Relation("deid_policy_cells", schema="main", catalog="temp")
DOMAINS = Relation("deid_policy_domains", schema="main", catalog="temp")
VALUES = Relation("deid_policy_values", schema="main", catalog="temp")
MAP = Relation("deid_policy_map", schema="main", catalog="temp")
CLASSES = Relation("deid_policy_classes", schema="main", catalog="temp")

# Which measures add something up over cells, and which over intervals.
OF_CELLS = ("population", "uniques", "kl", "discernibility", "average_class_size")
OF_INTERVALS = ("kl", "loss", "nonuniform_entropy")


@dataclass(frozen=True, slots=True)
class Neighbour:
    """A policy one merge away.

    Attributes:
        attribute: of which two intervals merge, by number.
        cut: its bit that is cleared, from 0.
        risk, loss: of the policy.
    """

    attribute: int
    cut: int
    risk: float
    loss: float


def upload_cells(session: Session, cells: Cells) -> Relation:
    """Stage cells: q0, q1, … (places in the domains), records, people.

    Raises:
        ValueError: a cell has more records than people.
    """
    if (cells.records > cells.people).any():
        raise ValueError("there are cells with more records than people")
    codes = {f"q{i}": own for i, own in enumerate(cells.codes)}
    return session.upload(CELLS.name, codes | {"records": cells.records, "people": cells.people})


class SqlGauge:
    """The risk and the loss of policies, as `search.policies.Gauge` has them.

    Args:
        session: where the cells are staged.
        cells: as `upload_cells` stages them.
        domains: of the attributes.
        risk, loss: names of measures.

    Raises:
        ValueError: there is no such measure.
    """

    def __init__(
        self,
        session: Session,
        cells: Relation,
        domains: Sequence[Domain],
        risk: str = "population",
        loss: str = "kl",
    ) -> None:
        if risk not in RISKS or loss not in LOSSES:
            raise ValueError(f"no measures of risk and loss: {risk}, {loss}")
        self._session, self._cells = session, cells
        self._risk, self._loss = risk, loss
        self.space = Space(tuple(domain.size for domain in domains))
        columns = {
            "attribute": range(len(domains)),
            "size": np.array([domain.size for domain in domains]),
            "weight": np.array([domain.weight for domain in domains], np.float64),
        }
        session.upload(DOMAINS.name, columns)
        self._names = [f"q{i}" for i in range(len(domains))]
        values = [
            step("methods/policy/values", {"cells": cells}, {"code": [name]}, {"attribute": i})
            for i, name in enumerate(self._names)
        ]
        session.run(Step(VALUES.name, union_all(*(one for one in values))))
        # written once, since that takes as long as running them
        self._classes = Step(CLASSES.name, self._classified())
        self._whole = sql(step("methods/policy/sums", {"cells": _alone(literal(0))}))
        self._runs = [
            sql(step("methods/policy/sums", {"cells": self._runs_of(n)})) for n in self._names
        ]
        tables = {"map": MAP, "values": VALUES, "domains": DOMAINS}
        self._intervals = sql(step("methods/policy/intervals", tables))
        records = select(sum_of(column("records"))).from_(cells.table)
        self._count = int(session.row(records)[0] or 0)
        top, bottom = self.sums(self.space.top), self.sums(self.space.bottom)
        self._riskiest = self._value(risk, bottom)
        self._least = self._value(loss, bottom)
        self._range = range_of(self._least, self._value(loss, top), self._count)

    def __call__(self, bits: Bits) -> tuple[float, float]:
        """Risk and loss of a policy."""
        return self._told(self.sums(bits))

    def sums(self, bits: Bits) -> Mapping[str, float]:
        """What every measure adds up for a policy, by name."""
        self._classify(bits)
        found = dict.fromkeys((*RISKS, *LOSSES), 0.0)
        for query, names in ((self._whole, OF_CELLS), (self._intervals, OF_INTERVALS)):
            sums = self._session.arrays(query)
            for name in names:
                # in whatever order they come
                found[name] += fsum(sums[name][sums["intervals"] == 1])
        return found

    def neighbours(self, bits: Bits) -> list[Neighbour]:
        """All policies one merge away, by attribute and cut."""
        base = self.sums(bits)
        intervals = self._session.arrays(self._intervals)
        found = []
        for i, own in enumerate(self.space.slices):
            cuts = np.flatnonzero(bits[own])
            if not len(cuts):
                continue
            sums = self._session.arrays(self._runs[i])
            mine = intervals["attribute"] == i
            change = {name: np.zeros(len(cuts)) for name in base}
            for name in OF_CELLS:
                change[name] += _change(sums["place"], sums["intervals"], sums[name], len(cuts))
            for name in OF_INTERVALS:
                place, spanned, added = (
                    intervals[column][mine] for column in ("place", "intervals", name)
                )
                change[name] += _change(place, spanned, added, len(cuts))
            for at, cut in enumerate(cuts.tolist()):
                reached = {name: base[name] + float(change[name][at]) for name in base}
                found.append(Neighbour(i, cut, *self._told(reached)))
        return found

    def _classify(self, bits: Bits) -> None:
        """Stage a policy and its cells."""
        groups = self.space.groups(bits)
        columns = {
            "attribute": np.repeat(np.arange(len(groups)), self.space.sizes),
            "code": np.concatenate([np.arange(size) for size in self.space.sizes]),
            "place": np.concatenate(groups),
        }
        self._session.upload(MAP.name, columns)
        self._session.fill(self._classes)

    def _classified(self) -> Query:
        """The cells of a policy, also those that only have people."""
        rows = select().from_(self._cells.aliased("cell"))
        for i, name in enumerate(self._names):
            place = column("place", f"m{i}")
            same = all_of(
                column("attribute", f"m{i}").eq(i),
                column("code", f"m{i}").eq(column(name, "cell")),
            )
            rows = rows.select(aliased(place, name)).group_by(place.copy())
            rows = rows.join(MAP.aliased(f"m{i}"), on=same)
        for name in ("records", "people"):
            total = cast(sum_of(column(name, "cell")), "BIGINT")
            rows = rows.select(aliased(total, name))
        return rows

    def _runs_of(self, own: str) -> Query:
        """The cells of each interval of an attribute, alone and joined with the next."""
        others = [name for name in self._names if name != own]
        joined = step("methods/policy/joined", {"cells": CLASSES}, {"own": [own], "others": others})
        return union_all(_alone(column(own)), joined)

    def _told(self, sums: Mapping[str, float]) -> tuple[float, float]:
        risk = self._value(self._risk, sums)
        lost = self._value(self._loss, sums) - self._least
        return (
            round(risk / self._riskiest, DIGITS) + 0.0 if self._riskiest > 0 else 0.0,
            round(lost / self._range, DIGITS) + 0.0 if self._range > 0 else 0.0,
        )

    def _value(self, name: str, sums: Mapping[str, float]) -> float:
        if name == "average_class_size":
            return self._count / sums[name] if sums[name] else 0.0
        return sums[name]


def _alone(place: Expr) -> Select:
    """The cells of a policy by the interval that they are in."""
    return select(
        aliased(place, "place"), aliased(literal(1), "intervals"), "records", "people"
    ).from_(CLASSES.table)


def _change(place: Floats, intervals: Floats, sums: Floats, cuts: int) -> Floats:
    """What two neighbouring intervals add up joined, less what they do alone."""
    alone, joined = np.zeros(cuts + 1), np.zeros(cuts)
    single = intervals == 1
    alone[place[single]] = sums[single]
    between = ~single & (place >= 0) & (place < cuts)
    joined[place[between]] = sums[between]
    return np.asarray(joined - alone[:-1] - alone[1:], np.float64)
