"""The frontier of a prepared source, the choice of a policy from it, and the record of both."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from operator import attrgetter

import numpy as np

from dbdeid.data.json import JsonObject
from dbdeid.engine.session import Session
from dbdeid.errors import SpecError, Unsatisfiable
from dbdeid.methods.common.levels import levels_of
from dbdeid.methods.common.searching import Ground, lattice_of
from dbdeid.methods.policy.cells import Demand, Explored, cells_of, explored
from dbdeid.methods.policy.policy_release import with_policy
from dbdeid.methods.policy.search.frontier import Point, Weighed
from dbdeid.methods.policy.search.monotone import violations
from dbdeid.methods.policy.search.policies import Bits, Cells, Gauge, merged
from dbdeid.prepare.prepare import Prepared, key_of
from dbdeid.prepare.problem import acceptable
from dbdeid.privacy import KMap, MaxRisk, population_of
from dbdeid.spec.method.policy import Choice, Policy
from dbdeid.verify.base.declaration import PolicyRisk

MUCH = 0.5  # share of the risk that Safe Harbor leaves, from which it is told that it does
DEFAULTS = Policy(name="policy")
THRESHOLD = 0.25  # of the sublattice search: the paper gives none


@dataclass(frozen=True, slots=True)
class Chosen:
    """A point of the frontier, by its number from 1, and the release that it makes."""

    number: int
    point: Point
    prepared: Prepared
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Decided:
    """A frontier, and what was chosen of it."""

    found: Explored
    chosen: Chosen


def frontier_of(
    prepared: Prepared, session: Session, progress: Callable[[Weighed], None] | None = None
) -> Explored:
    """The frontier of a source that is prepared for method policy.

    Raises:
        DataError: the records do not fit the population.
        Unsatisfiable: there is no risk to lower.
    """
    method = method_of(prepared)
    domains = [c.domain for c in prepared.bound.quasi_identifiers if c.domain is not None]
    demand = _demand(prepared, method)
    gauge = demand.gauge(_cells(prepared, session))
    _require_monotone(prepared, gauge, demand)
    return explored(gauge, domains, demand, progress)


def bits(prepared: Prepared, session: Session) -> int:
    """How many bits a policy has, once the records are found to fit the population.

    Raises:
        SpecError: Safe Harbor is of other columns.
        DataError: they do not.
    """
    _demand(prepared, method_of(prepared))
    return _cells(prepared, session).space.length


def _require_monotone(prepared: Prepared, gauge: Gauge, demand: Demand) -> None:
    """Refuse measures that a merge puts on the wrong side; the default ones never are (Xia 2013).

    Raises:
        SpecError: a measure is not monotone on these records.
    """
    if (demand.risk, demand.loss) == (DEFAULTS.risk, DEFAULTS.utility):
        return
    found = next(violations(gauge, demand.rng()), None)
    if found is not None:
        file, key = prepared.bound.file, "risk" if found.measure == demand.risk else "utility"
        mistake = file.mistake(
            f"measure {found.measure!r} is not monotone on these records: merging neighbours of "
            f"{found.attribute!r} {'raises' if key == 'risk' else 'lowers'} it",
            "method",
            key,
            hint="use risk: population and utility: kl",
        )
        raise SpecError([mistake], source=file.label)


def _cells(prepared: Prepared, session: Session) -> Cells:
    people = None
    for one in prepared.populations:
        if one.found.name == method_of(prepared).population:
            places = zip(one.codings, one.population.codes, strict=True)
            people = [c.leaf[codes] for c, codes in places], one.population.people
    return cells_of(session, prepared.quasi_identifiers, people)


def method_of(prepared: Prepared) -> Policy:
    """The parameters of the method."""
    method = prepared.bound.spec.method
    assert isinstance(method, Policy)
    return method


def _demand(prepared: Prepared, method: Policy) -> Demand:
    kinds = method.safe_harbor
    ages = _number_of(prepared, kinds.age, "age") if kinds and kinds.age else None
    zips = _number_of(prepared, kinds.zip, "zip") if kinds and kinds.zip else None
    return Demand(
        risk=method.risk,
        loss=method.utility,
        search=method.search,
        budget=method.budget,
        threshold=THRESHOLD if method.threshold is None else method.threshold,
        start=method.start or "ends",
        ages=ages,
        zips=zips,
        key=key_of(prepared.bound),
    )


def _number_of(prepared: Prepared, name: str, key: str) -> int:
    """Which quasi-identifier this is; a key of `columns` may name several, or have a comma."""
    for number, q in enumerate(prepared.quasi_identifiers):
        if q.name.lower() == name.lower():
            return number
    file = prepared.bound.file
    mistake = file.mistake(
        f"safe_harbor names {name!r}, which is no quasi-identifier",
        *("method", "safe_harbor", key),
        hint=f"name the quasi-identifier that is the {key}",
    )
    raise SpecError([mistake], source=file.label)


# -- choosing -----------------------------------------------------------------------------------


def choose(prepared: Prepared, session: Session, found: Explored) -> Chosen:
    """The first point, by what the spec asks for, whose release holds the declared models.

    Raises:
        SpecError: the spec does not choose, or counts a point that there is not.
        Unsatisfiable: no such point is on the frontier.
    """
    wanted = list(_wanted(prepared, found))
    judge = _Judge(prepared, session, found)
    for number, point in wanted:
        release = judge.release(point)
        if release is not None:
            return Chosen(number, point, release, tuple(_warnings(found, wanted[0], number)))
    raise _none_holds(prepared, found, judge, {number for number, _ in wanted})


def _warnings(found: Explored, first: tuple[int, Point], number: int) -> Iterator[str]:
    """What an owner may not expect of a choice."""
    wanted, point = first
    if number != wanted:
        yield (
            f"point {wanted} is what `choose` asks for (risk {point.risk:.4g}, loss "
            f"{point.loss:.4g}), but it does not hold the declared models; point {number} does. "
            "Where models limit each class, full_domain and local_recoding mostly lose less"
        )
    rule = found.safe_harbor
    if rule is not None and rule[0] > MUCH:
        yield (
            f"Safe Harbor leaves {rule[0]:.1%} of the risk here, for most of it is in columns that "
            "it does not touch: to dominate it promises little"
        )


def _none_holds(
    prepared: Prepared, found: Explored, judge: _Judge, tried: set[int]
) -> Unsatisfiable:
    """Why no point that fits the choice is released, with the least loss of one that could be."""
    shown = ", ".join(model.model for model in prepared.bound.models)
    others = [p for p in enumerate(found.points, start=1) if p[0] not in tried]
    holding = (p for p in sorted(others, key=lambda p: p[1].loss) if judge.release(p[1]))
    hint = "declare weaker models, or use method: full_domain, which can suppress records"
    if (best := next(holding, None)) is not None:
        number, point = best
        hint = (
            f"point {number} is the one of least loss that does, with risk {point.risk:.4g} and "
            f"loss {point.loss:.4g}; {hint}"
        )
    return Unsatisfiable(
        f"none of the {len(tried):,} policies on the frontier that fit `choose` holds the "
        f"declared models ({shown})",
        hint=hint,
    )


def _wanted(prepared: Prepared, found: Explored) -> Iterator[tuple[int, Point]]:
    """The points that fit the choice, the best first, with their numbers."""
    file, choice = prepared.bound.file, require_choice(prepared)
    points = list(enumerate(found.points, start=1))
    if choice.point is not None:
        if choice.point > len(points):
            message = f"the frontier has {len(points)} points"
            mistake = file.mistake(message, "method", "choose", "point", hint="choose one of them")
            raise SpecError([mistake], source=file.label)
        yield points[choice.point - 1]
        return
    if choice.max_loss is not None:
        fit = [p for p in points if p[1].loss <= choice.max_loss]
        least = min(p.loss for _, p in points)
        reason = f"no policy loses at most {choice.max_loss}: the least is {least:.6g}"
        order = attrgetter("risk", "loss")
    else:
        order = attrgetter("loss", "risk")
        if choice.max_risk is not None:
            fit = [p for p in points if p[1].risk <= choice.max_risk]
            least = min(p.risk for _, p in points)
            reason = f"no policy has at most the risk {choice.max_risk}: the least is {least:.6g}"
        else:
            inside = set(found.dominating)
            fit = [p for p in points if p[1] in inside]
            reason = "no policy that was found dominates Safe Harbor"
    if not fit:
        raise Unsatisfiable(reason, hint="`dbdeid frontier` shows what there is")
    yield from sorted(fit, key=lambda p: order(p[1]))


def require_choice(prepared: Prepared) -> Choice:
    """How the spec chooses.

    Raises:
        SpecError: it does not.
    """
    file, choice = prepared.bound.file, method_of(prepared).choose
    if choice is None:
        hint = "look at `dbdeid frontier`, then write for example `choose: {max_risk: 0.05}`"
        mistake = file.mistake("no policy is chosen", "method", "choose", hint=hint)
        raise SpecError([mistake], source=file.label)
    return choice


class _Judge:
    """Judges whether the release of a policy satisfies the declared models."""

    def __init__(self, prepared: Prepared, session: Session, found: Explored) -> None:
        self._prepared, self._found, self._session = prepared, found, session
        lattice = lattice_of(prepared.quasi_identifiers)
        self._ground = Ground.of(session, lattice, prepared.parameters)

    def release(self, point: Point) -> Prepared | None:
        """What the policy of a point makes of the source; None where a model does not hold."""
        space = self._found.space
        bits = space.unpack(point.policy)
        if not self._possible(self._found.gauge.cells, bits):
            return None
        method = method_of(self._prepared)
        weighed = PolicyRisk(method.risk, method.population, point.risk)
        release = with_policy(self._prepared, space.starts(bits), weighed)
        parameters = levels_of(release.parameters)
        node = parameters.options.transformation
        assert node is not None
        ground = Ground(self._session, lattice_of(release.quasi_identifiers), self._ground.tuples)
        check = ground.checker(parameters).check(node)
        records = ground.tuples.records
        holds = check.suppressed == 0 and acceptable(check, parameters, records)
        return release if holds and self._seldom_found(release) else None

    def _seldom_found(self, release: Prepared) -> bool:
        """Whether the mean chances in populations hold, which are of the table as a whole."""
        node, tuples = levels_of(release.parameters).options.transformation, self._ground.tuples
        assert node is not None
        for one in (coded.population for coded in release.populations):
            models = [m for m in one.models if isinstance(m, MaxRisk) and m.of_table]
            if models:
                people = one.fitting(node, np.stack(tuples.codes).astype(np.int64))
                if (people == 0).any():
                    return False
                mean = float((tuples.weights / people).sum()) / tuples.records
                if not all(model.holds(mean) for model in models):
                    return False
        return True

    def _possible(self, cells: Cells, bits: Bits) -> bool:
        """Whether a policy can satisfy the models, judged cheaply by its cells alone."""
        records, people = merged(cells, cells.space.groups(bits))
        if records.min() < self._prepared.parameters.k:
            return False
        population = method_of(self._prepared).population
        for model in self._prepared.bound.models:
            if population_of(model) != population or population is None:
                continue
            if isinstance(model, MaxRisk) and model.of_table:
                if not model.holds(float((records / people).sum() / records.sum())):
                    return False
            elif isinstance(model, KMap | MaxRisk) and not model.satisfied(records, people).all():
                return False
        return True


def decide(
    prepared: Prepared, session: Session, progress: Callable[[Weighed], None] | None = None
) -> Decided:
    """The frontier of a source, and the policy that the spec chooses of it.

    Raises:
        SpecError: the spec does not choose.
        DataError: the records do not fit the population.
        Unsatisfiable: no policy on the frontier fits the choice and holds the declared models.
    """
    require_choice(prepared)
    found = frontier_of(prepared, session, progress)
    return Decided(found, choose(prepared, session, found))


def searched(found: Explored, chosen: Chosen) -> JsonObject:
    """How the policy of a release was found, for the record of a run.

    There are too many policies for their number to be told as a number.
    """
    return {
        "name": found.name,
        "lattice_size": None,
        "bits": found.space.length,
        "point": chosen.number,
        "risk": chosen.point.risk,
        "loss": chosen.point.loss,
        "checked": len(found.log.risks),
        "proven_optimal": False,
        "lower_bound": None,
    }
