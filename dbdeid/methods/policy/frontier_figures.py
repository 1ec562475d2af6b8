"""The figures of a frontier: its points, what they are compared with, and what was chosen."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import dist

import numpy as np

from dbdeid.data.json import JsonObject, plain
from dbdeid.engine.session import Session
from dbdeid.methods.policy.cells import Explored
from dbdeid.methods.policy.choose import Chosen, method_of
from dbdeid.methods.policy.search.policies import Bits, Gauge, merged
from dbdeid.methods.policy.sql_policies import SqlGauge, upload_cells
from dbdeid.prepare.prepare import Prepared
from dbdeid.report.charts.frontier_charts import drawn

AGREEMENT = 1e-9  # between the search and the database


@dataclass(frozen=True, slots=True)
class CutColumn:
    """A quasi-identifier, how many values it has, and between how many of them a policy may cut."""

    name: str
    values: int
    bits: int


@dataclass(frozen=True, slots=True)
class PolicyFigures:
    """What one policy gives.

    Attributes:
        risk, loss: where it lies.
        kl: KL divergence in nats.
        classes: that it would release.
        smallest_class: records of the smallest of them.
        policy: its intervals as they are released, by quasi-identifier.
    """

    risk: float
    loss: float
    kl: float
    classes: int
    smallest_class: int
    policy: Mapping[str, Sequence[str]]


@dataclass(frozen=True, slots=True)
class FrontierPoint:
    """A policy on the frontier: its number from 1, and what it gives, as `PolicyFigures` has it."""

    point: int
    risk: float
    loss: float
    kl: float
    classes: int
    smallest_class: int
    policy: Mapping[str, Sequence[str]]


@dataclass(frozen=True, slots=True)
class FrontierFigures:
    """The frontier, as `dbdeid frontier --json` gives it.

    Attributes:
        release: its name.
        source_rows: records of the source.
        population: whose people are counted; None: the records stand for themselves.
        people: of the population.
        risk, utility: the measures.
        search: how policies were looked for.
        budget: evaluations that there were.
        evaluated: policies that were.
        spent: evaluations that were spent.
        area: below the frontier.
        columns: the quasi-identifiers.
        points: of the frontier.
        equal: policies that lie where another one does.
        reference: what the points are compared with.
        not_representable: columns that the reference has otherwise.
        dominating_safe_harbor: points that have no more risk and loss than Safe Harbor; None
            without it.
        distance: how far they are from it.
        chosen: the number of the point that is; None: the spec chooses none.
        choose: what the spec says of the choice.
    """

    release: str
    source_rows: int
    population: str | None
    people: int | None
    risk: str
    utility: str
    search: str
    budget: int
    evaluated: int
    spent: int
    area: float
    columns: tuple[CutColumn, ...]
    points: tuple[FrontierPoint, ...]
    equal: int
    reference: Mapping[str, PolicyFigures]
    not_representable: tuple[str, ...]
    dominating_safe_harbor: int | None
    distance: Mapping[str, float | None]
    chosen: int | None
    choose: JsonObject | None


def figures_of(prepared: Prepared, found: Explored, chosen: Chosen | None) -> FrontierFigures:
    """The frontier that was found, and what was chosen of it."""
    method, log = method_of(prepared), found.log
    harbor = found.safe_harbor
    reference = {}
    if found.reference is not None:
        reference = {"safe_harbor": _figures(found, found.reference, harbor or (0.0, 0.0))}
    return FrontierFigures(
        release=prepared.bound.spec.release,
        source_rows=prepared.rows,
        population=method.population,
        people=int(found.gauge.cells.people.sum()) if method.population else None,
        risk=method.risk,
        utility=method.utility,
        search=method.search,
        budget=log.budget,
        evaluated=len(log.risks),
        spent=log.spent,
        area=log.frontier.area,
        columns=tuple(
            CutColumn(q.name, len(domain.values), len(domain.values) - 1)
            for q, domain in zip(prepared.quasi_identifiers, found.domains, strict=True)
        ),
        points=tuple(_points(found)),
        equal=log.frontier.policies - len(found.points),
        reference=reference,
        not_representable=tuple(found.unlike),
        dominating_safe_harbor=None if harbor is None else len(found.dominating),
        distance=_distances(found),
        chosen=chosen.number if chosen else None,
        choose=method.choose.model_dump(exclude_none=True) if method.choose else None,
    )


def kept(figures: FrontierFigures) -> JsonObject:
    """What the record of a release keeps of the frontier: its points, and the chosen policy."""
    assert figures.chosen is not None
    told = plain(figures)
    return {
        **{key: value for key, value in told.items() if key not in ("points", "release")},
        "found": len(figures.points),
        "points": [{key: p[key] for key in ("point", "risk", "loss")} for p in drawn(told)],
        "policy": plain(figures.points[figures.chosen - 1].policy),
    }


def _points(found: Explored) -> Iterator[FrontierPoint]:
    for number, point in enumerate(found.points, start=1):
        at = _figures(found, found.space.unpack(point.policy), (point.risk, point.loss))
        yield FrontierPoint(
            number, at.risk, at.loss, at.kl, at.classes, at.smallest_class, at.policy
        )


def _figures(found: Explored, bits: Bits, at: tuple[float, float]) -> PolicyFigures:
    """What one policy gives."""
    gauge, (risk, loss) = found.gauge, at
    records, _ = merged(gauge.cells.of_records, found.space.groups(bits))
    return PolicyFigures(
        risk,
        loss,
        # the loss by `kl` is a share of the nats of the top
        loss * found.most_nats if gauge.loss.name == "kl" else gauge.nats(bits),
        len(records),
        int(records.min()),
        intervals(found, bits),
    )


def intervals(found: Explored, bits: Bits) -> dict[str, list[str]]:
    """What the intervals of a policy are released as, by quasi-identifier."""
    starts = zip(found.gauge.cells.domains, found.labels, found.space.starts(bits), strict=True)
    return {domain.name: list(labels(own)) for domain, labels, own in starts}


def _distances(found: Explored) -> dict[str, float | None]:
    """How far the dominating policies are from Safe Harbor, in the plane of risk and loss."""
    reference = found.safe_harbor
    far = [dist((p.risk, p.loss), reference) for p in found.dominating] if reference else []
    if not far:
        return {"mean": None, "least": None}
    return {"mean": float(np.mean(far)), "least": min(far)}


def neighbours(session: Session, found: Explored, chosen: Chosen | None) -> list[JsonObject]:
    """What merging any two neighbouring intervals of the chosen policy would do.

    Of Safe Harbor, where none is chosen. The database finds it, a statement for each
    quasi-identifier.
    """
    space = found.space
    bits = space.unpack(chosen.point.policy) if chosen else found.reference
    if bits is None:
        return []
    searched = found.gauge
    cells = upload_cells(session, searched.cells)
    gauge = SqlGauge(session, cells, searched.cells.domains, searched.risk.name, searched.loss.name)
    _require_agreement(gauge, searched, bits)
    merges: list[JsonObject] = []
    for near in gauge.neighbours(bits):
        labels = found.labels[near.attribute]
        starts = [*space.starts(bits)[near.attribute].tolist(), space.sizes[near.attribute]]
        at = starts.index(near.cut + 1)  # where the second of the two begins
        first, middle, end = starts[at - 1 : at + 2]
        merges.append(
            {
                "column": searched.cells.domains[near.attribute].name,
                "from": [labels.of(first, middle), labels.of(middle, end)],
                "merged": labels.of(first, end),
                "risk": near.risk,
                "loss": near.loss,
            }
        )
    return merges


def _require_agreement(gauge: SqlGauge, searched: Gauge, bits: Bits) -> None:
    """What the search says of a policy is what the database finds."""
    for one, other in zip(gauge(bits), searched(bits), strict=True):
        if abs(one - other) > AGREEMENT:
            raise AssertionError(f"the database finds {one}, the search {other}")
