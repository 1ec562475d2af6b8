"""Policies of a staged source: its cells beside the population's, the frontier, Safe Harbor.

The source and the population are read from the database once, as the places of their values in the
ordered domains; the search then works on these cells alone.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from math import prod
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from dbdeid.data.classes import TUPLES
from dbdeid.data.ordered_domain import Labels, OrderedDomain
from dbdeid.engine.expressions import select
from dbdeid.engine.session import Session
from dbdeid.errors import DataError, Unsatisfiable
from dbdeid.methods.policy.search.frontier import Log, Point, Search, Weighed, dominates, explore
from dbdeid.methods.policy.search.measures import LOSSES, RISKS, Domain
from dbdeid.methods.policy.search.merges import MOST
from dbdeid.methods.policy.search.policies import Bits, Cells, Gauge, Space
from dbdeid.methods.policy.search.safe_harbor import DIGITS, SMALL, age_starts, zip_starts
from dbdeid.prepare.quasi_identifier import QuasiIdentifier

Ints = NDArray[np.int64]

MOST_BITS = 400_000_000  # of all policies together that are evaluated, if no budget says more
POLICIES = 20  # the paper's budget: times the length of a chain from bottom to top (section 4)


@dataclass(frozen=True, slots=True)
class Demand:
    """How the frontier is looked for.

    Attributes:
        risk, loss: names of measures.
        search: name of a search.
        budget: policies to evaluate; None: `POLICIES` times the length of a maximal chain, and of
            large domains no more than `MOST_BITS` allow.
        threshold, start: of the sublattice search.
        ages, zips: which quasi-identifiers these are for Safe Harbor, by number.
        key: the secret that all draws depend on.
    """

    risk: str
    loss: str
    search: Literal["greedy", "sublattice", "random_chain", "nsga2", "bisect"]
    budget: int | None
    threshold: float
    start: Literal["ends", "chain"]
    ages: int | None
    zips: int | None
    key: str = field(repr=False)

    def rng(self) -> np.random.Generator:
        """What draws, from the start."""
        return np.random.default_rng(int(self.key, 16))

    def gauge(self, cells: Cells) -> Gauge:
        """The gauge that measures the risk and loss of a policy."""
        return Gauge(cells, RISKS[self.risk], LOSSES[self.loss])


@dataclass(frozen=True)
class Explored:
    """A frontier, and what it is compared with.

    Args:
        name: of the search.
        gauge: what tells the risk and loss of a policy.
        log: of all policies that were evaluated, over domains with joined ends.
        domains: of the quasi-identifiers.
        reference: Safe Harbor; None where it was not asked for.
        unlike: in which ways it is not the rule, in sentences.
    """

    name: str
    gauge: Gauge
    log: Log
    domains: tuple[OrderedDomain, ...]
    reference: Bits | None
    unlike: tuple[str, ...]

    @property
    def space(self) -> Space:
        """The policies."""
        return self.gauge.space

    @cached_property
    def points(self) -> tuple[Point, ...]:
        """The frontier in ascending risk, of policies with equal risk and loss the first."""
        seen: dict[tuple[float, float], Point] = {}
        for point in self.log.frontier:
            seen.setdefault((point.risk, point.loss), point)
        return tuple(p._replace(policy=self._whole(p.policy)) for p in seen.values())

    @property
    def evaluated(self) -> list[bytes]:
        """All policies that were evaluated, in order."""
        return [self._whole(policy) for policy in self.log.policies]

    def _whole(self, policy: bytes) -> bytes:
        searched = self.log.gauge
        return self.space.pack(searched.cells.whole(searched.space.unpack(policy)))

    @cached_property
    def labels(self) -> tuple[Labels, ...]:
        """What intervals read, by quasi-identifier."""
        return tuple(map(Labels, self.domains))

    @cached_property
    def most_nats(self) -> float:
        """The KL divergence of the top."""
        return self.gauge.nats(self.space.top)

    @cached_property
    def safe_harbor(self) -> tuple[float, float] | None:
        """Risk and loss of Safe Harbor."""
        return None if self.reference is None else self.gauge(self.reference)

    @cached_property
    def dominating(self) -> tuple[Point, ...]:
        """The points of the frontier that strictly dominate Safe Harbor."""
        found = self.safe_harbor
        if found is None:
            return ()
        return tuple(p for p in self.points if dominates((p.risk, p.loss), found))


def cells_of(
    session: Session,
    quasi_identifiers: Sequence[QuasiIdentifier],
    people: tuple[Sequence[Ints], Ints] | None,
) -> Cells:
    """Records and people by the places of their values.

    Args:
        session: where the source is staged and coded.
        quasi_identifiers: their codings have the ordered domains as leaves.
        people: of the population, the places of the values of each distinct tuple by attribute,
            and how many it stands for; None: the source is its own population.

    Raises:
        DataError: records stand where the population has too few people, or nobody; or there are
            too many combinations of values.
    """
    names = [f"q{i}" for i in range(len(quasi_identifiers))]
    found = session.arrays(select(*names, "records").from_(TUPLES.table).order_by("rowid"))
    own = [
        q.coding.leaf[np.asarray(found[name], np.int64)]
        for q, name in zip(quasi_identifiers, names, strict=True)
    ]
    records = np.asarray(found["records"], np.int64)
    sizes = [len(q.coding.hierarchy.leaves) for q in quasi_identifiers]
    combinations = prod(sizes)
    if combinations > MOST:
        raise DataError(
            f"the domains of the quasi-identifiers have {combinations:.1e} combinations, and "
            f"method policy takes {MOST:.1e}",
            hint="drop a quasi-identifier, or round the values of those with large domains",
        )
    domains = tuple(
        Domain(q.name, size, q.weight) for q, size in zip(quasi_identifiers, sizes, strict=True)
    )
    if people is None:
        return Cells(domains, tuple(own), records, records)
    codes = [
        np.concatenate([a, np.asarray(b, np.int64)]) for a, b in zip(own, people[0], strict=True)
    ]
    # the first row of each distinct tuple, and the number of each row's tuple
    keys = np.ravel_multi_index(tuple(codes), sizes)
    _, first, cell = np.unique(keys, return_index=True, return_inverse=True)
    known, fitting = (
        np.rint(np.bincount(cell, number, len(first))).astype(np.int64)
        for number in (
            np.concatenate([records, np.zeros(len(people[1]), np.int64)]),
            np.concatenate([np.zeros(len(records), np.int64), people[1]]),
        )
    )
    _require_people(known, fitting)
    return Cells(domains, tuple(c[first] for c in codes), known, fitting)


def _require_people(records: Ints, people: Ints) -> None:
    """Each record is one of the people of the population who have its values."""
    hint = "compare with the population that the records were drawn from, of the same year"
    nobody = (records > 0) & (people == 0)
    if nobody.any():
        raise DataError(
            f"{records[nobody].sum():,} records have values that nobody in the population has "
            f"({nobody.sum():,} combinations of quasi-identifiers)",
            hint=hint,
        )
    few = records > people
    if few.any():
        raise DataError(
            f"{few.sum():,} combinations of quasi-identifiers have more records than people in the "
            f"population ({records[few].sum():,} records)",
            hint=hint,
        )


def explored(
    gauge: Gauge,
    domains: Sequence[OrderedDomain],
    demand: Demand,
    progress: Callable[[Weighed], None] | None = None,
) -> Explored:
    """The frontier that a search finds.

    Raises:
        DataError: ages are no numbers, or ZIP codes no codes.
        MissingExtra: the search needs a library that is not installed.
        Unsatisfiable: there is no risk to lower.
    """
    if gauge(gauge.space.bottom)[0] == 0:
        raise Unsatisfiable(
            f"the records as they are have no risk by measure {demand.risk}",
            hint="use risk: population",
        )
    reference, unlike = _safe_harbor(gauge.cells, domains, demand)
    length = max(gauge.space.length, 1)
    budget = demand.budget or min(POLICIES * (length + 1), max(MOST_BITS // length, length))
    rng = demand.rng()
    search = _search(demand, None if reference is None else gauge(reference)[0])
    # what is least and greatest among numbers, dates and codes is not to be told
    searched = demand.gauge(gauge.cells.joined([d.style != "listed" for d in domains]))
    log = explore(search, searched, budget, rng, progress)
    return Explored(demand.search, gauge, log, tuple(domains), reference, unlike)


def _search(demand: Demand, risk: float | None) -> Search:
    """The search of this name; `risk` is that of the reference."""
    if demand.search == "sublattice":
        from dbdeid.methods.policy.baselines.sublattice import SublatticeSearch

        return SublatticeSearch(demand.threshold, demand.start)
    if demand.search == "random_chain":
        from dbdeid.methods.policy.search.random_chain import random_chain

        return random_chain
    if demand.search == "nsga2":
        from dbdeid.methods.policy.baselines.nsga2 import Nsga2

        return Nsga2()
    if demand.search == "bisect":
        from dbdeid.methods.policy.baselines.bisection import Bisection

        assert risk is not None
        return Bisection(risk)
    from dbdeid.methods.policy.search.greedy import greedy

    return greedy


def _safe_harbor(
    cells: Cells, domains: Sequence[OrderedDomain], demand: Demand
) -> tuple[Bits | None, tuple[str, ...]]:
    """Safe Harbor as a policy, and in which ways it is not the rule."""
    if demand.ages is None and demand.zips is None:
        return None, ()
    starts = [np.arange(domain.size) for domain in cells.domains]
    unlike: list[str] = []
    if demand.ages is not None:
        starts[demand.ages] = age_starts(
            _ages(cells.domains[demand.ages].name, domains[demand.ages])
        )
    if demand.zips is not None:
        at = demand.zips
        codes = domains[at].values
        if domains[at].style != "code":
            raise DataError(
                f"safe_harbor: {cells.domains[at].name!r} does not hold ZIP codes in their order",
                hint="name the column of the ZIP codes, with 'domain: from_population'",
            )
        people = np.bincount(cells.codes[at], cells.people, len(codes))
        starts[at], small = zip_starts(codes, np.rint(people).astype(np.int64))
        if small:
            areas = ", ".join(codes[i][:DIGITS] for i in small)
            unlike.append(
                f"{len(small)} three-digit ZIP areas have no more than {SMALL:,} people ({areas}): "
                "the rule writes 000 for all of them; intervals pool each with an area beside it"
            )
    return cells.space.of_starts(starts), tuple(unlike)


def _ages(name: str, domain: OrderedDomain) -> list[float]:
    try:
        if domain.style == "range":
            return [float(value) for value in domain.values]
    except ValueError:
        pass
    raise DataError(
        f"safe_harbor: {name!r} does not hold ages in years", hint="name the column of the ages"
    )
