"""Counterfeit records under an h-ceiling, with a catalog of them (Lee, Kim & Chung 2017).

No record is generalized further than a ceiling h allows; classes that stay smaller than k are
padded with counterfeit records, and a catalog tells how many records of which sensitive value in
which classes are counterfeit. `plan` finds the transformation and the places of the drawn values,
`write` makes the tables.

The published catalog holds against those who do not know the method: only classes of one size were
padded, so that all others are known to be genuine. The default has one group of all classes of that
size; see `placement` for what it holds.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from dbdeid.bind.bound import Bound
from dbdeid.data.json import JsonObject
from dbdeid.data.weights import truthful, weighted
from dbdeid.engine.expressions import ascending, column
from dbdeid.engine.relation import Column, Relation
from dbdeid.engine.session import Session, Step, ViewStep
from dbdeid.lattice.lattice import Node
from dbdeid.methods.attacks.minimality import PADDED, unread
from dbdeid.methods.common.generalized import STAGED
from dbdeid.methods.common.method import Draft, Method, Planned
from dbdeid.methods.common.outcome import Outcome, Values, Written, values_at
from dbdeid.methods.common.release_dictionary import dictionary_step, upload_dictionary
from dbdeid.methods.common.searching import Follow, Ground, Offer, lattice_of
from dbdeid.methods.common.secret import upload_secret
from dbdeid.methods.counterfeit import padded_rows
from dbdeid.methods.counterfeit.borrowed_rows import recode
from dbdeid.methods.counterfeit.details import Padded
from dbdeid.methods.counterfeit.draws import Drawn, draw, stage_node
from dbdeid.methods.counterfeit.options import Padding, options, padding_of
from dbdeid.methods.counterfeit.padded_rows import CATALOG_GROUPS, MEMBERS, Names
from dbdeid.methods.counterfeit.search.borrowing import Work
from dbdeid.methods.counterfeit.search.ceiling import Ceiled, Ceiling, Objective
from dbdeid.methods.counterfeit.search.padding import Padding as Look
from dbdeid.methods.counterfeit.suppression import instead
from dbdeid.methods.counterfeit.unknown_values import unknown_values
from dbdeid.methods.counterfeit.unreachable import unsatisfiable
from dbdeid.prepare.prepare import Prepared
from dbdeid.prepare.problem import Parameters
from dbdeid.prepare.quasi_identifier import QuasiIdentifier
from dbdeid.spec.names import catalog_name
from dbdeid.verify import Declared
from dbdeid.verify.base.declaration import CLASS_ID
from dbdeid.verify.base.declaration import Padding as Promised

# Transformations that are tried before classes are padded to one record more.
ATTEMPTS = 3
# Ceilings under which classes are made one by one until it can be done, as shares of the declared.
LOWERED = (1, 0.9, 0.8, 0.7, 0.6, 0.5)

FLAGGED, CATALOG = "deid_flagged", "deid_catalog"
REAL_ROWS = "deid_real_rows"
# A seed below it can be found by trying.
SECRET_SEED = 2**64


@dataclass(frozen=True, slots=True)
class CounterfeitPlan:
    """Where counterfeit records go, with the tables that say so staged.

    Attributes:
        node: the transformation.
        shown: of each quasi-identifier, what its released values stand for.
        padded: what is known of the padding.
        metrics: what the search promises of the written table.
        search: how it was found, in plain values.
    """

    node: Node | None
    shown: tuple[Values, ...]
    padded: Padded
    metrics: dict[str, float]
    search: JsonObject


def plan(
    session: Session,
    quasi_identifiers: Sequence[QuasiIdentifier],
    parameters: Parameters[object],
    progress: Follow | None = None,
    offer: Offer | None = None,
) -> CounterfeitPlan:
    """The best transformation under the ceiling whose counterfeit records can be placed.

    Args:
        session: where the source is staged and coded.
        quasi_identifiers: in order of the source.
        parameters: what must hold, and how.
        progress: called after every look at a transformation.
        offer: not asked.

    Raises:
        Unsatisfiable: there is none; the message says what is achievable.
        TooManyNodes: the lattice is too large to list.
    """
    padding = padding_of(parameters)
    for reason in parameters.impossible:
        raise reason
    ground = Ground.of(session, lattice_of(quasi_identifiers), parameters)
    names = Names(tuple(quasi_identifiers), padding.sensitive, padding.others)
    if padding.borrow:
        upload_secret(session, padding.key)
        return _borrowed(ground, names, parameters, progress)
    return _full_domain(ground, names, parameters, progress)


def _full_domain(
    ground: Ground, names: Names, parameters: Parameters[object], progress: Follow | None
) -> CounterfeitPlan:
    """One transformation of all records, the best whose counterfeit records can be placed."""
    padding, session = padding_of(parameters), ground.session
    limit, h = padding.limit(ground.tuples.records), _highest(padding)
    first: Ceiled | None = None
    for size in range(_least_size(parameters), 2 * parameters.k + 1):
        ceiling = _ceiling(ground, parameters, size)
        excluded: frozenset[Node] = frozenset()
        for _ in range(ATTEMPTS):
            found = ceiling.search(
                padding.objective, h=h, limit=limit, excluded=excluded, progress=progress
            )
            first = first or found
            if found.best is None or found.h is None:
                break
            node = found.best.node
            stage_node(session, names, parameters, node)
            shown = _shown(names, node)
            drawn = draw(session, names, parameters, size, shown)
            if drawn is not None:
                if padding.h is None:
                    degree = ceiling.degrees[ground.lattice.index(node)]
                    found = replace(found, h=float(degree))
                return _plan(ground, names, parameters, found, size, drawn)
            excluded |= {node}
    assert first is not None
    raise unsatisfiable(ground, parameters, first, limit)


def _borrowed(
    ground: Ground, names: Names, parameters: Parameters[object], progress: Follow | None
) -> CounterfeitPlan:
    """Classes made one by one under the ceiling, with records borrowed from large ones.

    What cannot be placed under the ceiling is tried with a record more in each padded class, then
    under a lower one: where less is generalized, more classes look alike.
    """
    padding, k = padding_of(parameters), parameters.k
    limit = padding.limit(ground.tuples.records)
    objective: Objective = "loss" if padding.h is None else "counterfeits"
    ceiling = _ceiling(ground, parameters, k)
    first = ceiling.search(objective, h=padding.h, limit=limit, progress=progress)
    fewest: list[int] = []
    sizes = (_least_size(parameters), _least_size(parameters) + 1)
    tries = [(share, size) for share in LOWERED for size in sizes] if first.h else []
    kept: dict[tuple[Node, ...], Work] = {}
    for share, size in tries:
        h = first.h or 0.0
        nodes = ceiling.under(share * h)
        if not nodes:
            continue
        recoded = recode(ground, names, parameters, nodes, size, progress, kept)
        if recoded is None:
            continue
        fewest.append(recoded.counterfeits)
        if recoded.counterfeits > limit:
            continue
        drawn = draw(ground.session, names, parameters, size, recoded.shown)
        if drawn is not None:
            padded = _padded(ground, parameters, size, h, recoded.degree, drawn)
            search = _found_by("borrow", ground.lattice.size, len(nodes), recoded.looked_at)
            metrics = {"loss": recoded.loss}
            return CounterfeitPlan(None, recoded.shown, padded, metrics, search)
    least = min([n for n in (first.fewest, *fewest) if n is not None], default=None)
    raise unsatisfiable(ground, parameters, replace(first, fewest=least), limit)


def _highest(padding: Padding) -> float | None:
    """The ceiling that is searched under; None: the lowest that there can be.

    The least loss is not kept from any transformation unless a ceiling is declared.
    """
    return 1.0 if padding.h is None and padding.objective == "loss" else padding.h


def _ceiling(ground: Ground, parameters: Parameters[object], size: int) -> Ceiling:
    padding = padding_of(parameters)
    return Ceiling(
        Look(
            ground.lattice,
            ground.tuples,
            parameters.k,
            size=size,
            conditions=[s for s in parameters.sensitive if s.models],
            catalog=None if padding.sensitive is None else 0,
            pooled=padding.catalog == "pool",
        )
    )


def _least_size(parameters: Parameters[object]) -> int:
    """The least size that classes are padded to.

    Where the risk may not exceed 1/k at all, one record more than k: at k every value would have to
    be suspected alike.
    """
    return parameters.k + padding_of(parameters).strict


# -- what is known ------------------------------------------------------------------------------


def _plan(
    ground: Ground,
    names: Names,
    parameters: Parameters[object],
    found: Ceiled,
    size: int,
    drawn: Drawn,
) -> CounterfeitPlan:
    padding, need = padding_of(parameters), found.best
    assert need is not None
    assert found.h is not None
    padded = _padded(ground, parameters, size, found.h, need.degree, drawn)
    return CounterfeitPlan(
        need.node,
        _shown(names, need.node),
        padded,
        {"loss": need.loss},
        _described(found, padding),
    )


def _shown(names: Names, node: Node) -> tuple[Values, ...]:
    """What the released values of each quasi-identifier stand for under a transformation."""
    return tuple(
        values_at(q.coding, level) for q, level in zip(names.quasi_identifiers, node, strict=True)
    )


def _padded(
    ground: Ground, parameters: Parameters[object], size: int, h: float, degree: float, drawn: Drawn
) -> Padded:
    padding = padding_of(parameters)
    return Padded(
        k=parameters.k,
        size=size,
        counterfeits=drawn.counterfeits,
        limit=padding.limit(ground.tuples.records),
        h=h,
        degree=degree,
        catalog=padding.catalog,
        groups=drawn.groups,
        candidates=drawn.candidates,
        risk=drawn.risk,
        sensitive=padding.sensitive,
        strict=padding.strict,
    )


def _described(found: Ceiled, padding: Padding) -> JsonObject:
    """How the transformation was found, in plain values."""
    need = found.best
    assert need is not None
    scores = {
        "reconstruction_error": need.error,
        "counterfeits": float(need.counterfeits),
        "loss": need.loss,
    }
    score = scores[padding.objective]
    gap = 0.0 if found.proven_optimal else (score - found.lower_bound) / max(score, 1e-12)
    return _found_by("ceiling", found.lattice_size, found.within, found.checked) | {
        "proven_optimal": found.proven_optimal,
        "lower_bound": found.lower_bound,
        "gap": gap,
        "objective": padding.objective,
        "expected": score,
    }


def _found_by(name: str, lattice_size: int, within: int, checked: int) -> JsonObject:
    """How a search ended that proves nothing, in plain values."""
    return {
        "name": name,
        "lattice_size": lattice_size,
        "within": within,
        "checked": checked,
        "proven_optimal": False,
        "lower_bound": None,
        "gap": None,
        "time_limit": None,
        "out_of_time": False,
        "interrupted": False,
    }


# -- writing ------------------------------------------------------------------------------------


def write(
    session: Session,
    quasi_identifiers: Sequence[QuasiIdentifier],
    released: Sequence[Column],
    plan: CounterfeitPlan,
    parameters: Parameters[object],
) -> Written:
    """The release, its catalog and dictionary as temporary tables, ready to be verified.

    Args:
        session: where the plan's tables are staged.
        quasi_identifiers: in the order of the plan.
        released: all released columns as staged, in order.
        plan: where counterfeit records go.
        parameters: as in `plan`.
    """
    padding = padding_of(parameters)
    names = Names(tuple(quasi_identifiers), padding.sensitive, padding.others)
    staged, real, flagged = (session.run(step) for step in release_steps(names, released))
    upload_dictionary(session, quasi_identifiers, plan.shown)
    dictionary = session.run(dictionary_step(quasi_identifiers, staged))
    return Written(
        staged,
        dictionary,
        staged,
        Outcome(
            plan.node,
            plan.shown,
            0,
            0,
            plan.metrics,
            plan.search,
            readings=unread(parameters.sensitive, PADDED),
            details=plan.padded,
        ),
        real,
        _catalog(session, padding),
        flagged,
    )


def release_steps(names: Names, released: Sequence[Column]) -> tuple[Step, Step, Step]:
    """The release, those of its records that are real, and the counterfeit ones as texts."""
    made = padded_rows.COUNTERFEITS
    rows, columns = padded_rows.released_query([MEMBERS, made], names, released)
    order = [ascending(column(name)) for name in columns]
    real, _ = padded_rows.released_query([MEMBERS], names, released)
    counterfeits, _ = padded_rows.released_query([made], names, released)
    return (
        Step(STAGED, rows.order_by(*order)),
        Step(REAL_ROWS, real),
        Step(FLAGGED, padded_rows.flagged_query(counterfeits, columns)),
    )


def _catalog(session: Session, padding: Padding) -> Relation | None:
    if padding.catalog == "none":
        return None
    return session.run(padded_rows.catalog_step(CATALOG, CATALOG_GROUPS, padding.sensitive))


class CounterfeitMethod(Method[CounterfeitPlan]):
    """Counterfeit records in classes that are too small."""

    def parameters(
        self,
        bound: Bound,
        shared: Parameters[None],
        quasi_identifiers: Sequence[QuasiIdentifier] | None,
    ) -> Parameters[object]:
        """How counterfeit records are added."""
        return shared.under(options(bound))

    def plan(
        self,
        prepared: Prepared,
        session: Session,
        progress: Callable[[Any], None] | None = None,
        offer: Offer | None = None,
    ) -> Planned[CounterfeitPlan]:
        """The best transformation under the ceiling, and the places of counterfeit records."""
        qis, parameters = prepared.quasi_identifiers, prepared.parameters
        found = plan(session, qis, parameters, progress, offer)
        if padding_of(parameters).objective != "loss":
            return Planned(prepared, found)
        ground, loss = Ground.of(session, lattice_of(qis), parameters), found.metrics["loss"]
        own = f"this release {loss:.3f} with {found.padded.counterfeits:,} records added"
        return Planned(prepared, found, tuple(instead(ground, parameters, loss, own)))

    def write(self, planned: Planned[CounterfeitPlan], session: Session) -> Written:
        """The release, its catalog and dictionary."""
        prepared = planned.prepared
        qis, parameters = prepared.quasi_identifiers, prepared.parameters
        return write(session, qis, prepared.released, planned.plan, parameters)

    def steps(self, draft: Draft) -> Iterator[Step]:
        """The steps: real records, what classes lack, what is drawn for them, and the release."""
        parameters, padding = draft.parameters, padding_of(draft.parameters)
        names = Names(draft.quasi_identifiers, padding.sensitive, padding.others)
        uniform, made = padding.catalog == "paper", padded_rows.COUNTERFEITS
        real = padded_rows.real_step(names, draft.node, parameters.rule)
        yield padded_rows.pieces_step(names, ()) if padding.borrow else real
        yield from padded_rows.member_steps(names, parameters.k, parameters.k)
        yield from padded_rows.drawing_steps(uniform=uniform)
        yield padded_rows.donors_step(names, uniform=uniform)
        yield padded_rows.counterfeits_step(names)
        if names.others and not uniform:
            yield Step("padding_risk", padded_rows.risk_query(names, made, CATALOG_GROUPS))
        yield from release_steps(names, draft.released)
        yield draft.dictionary
        _, columns = padded_rows.released_query([MEMBERS], names, draft.released)
        yield from _catalog_steps(draft.bound.spec.release, padding, columns)

    def cautions(self, prepared: Prepared, session: Session) -> Iterator[str]:
        """What a reader should know of how counterfeit records are added."""
        padding, seed = padding_of(prepared.parameters), prepared.bound.spec.seed
        if seed is not None and seed < SECRET_SEED:
            yield (
                "seed: whoever guesses it can tell counterfeit records apart; use a random number "
                "of 128 bits, or leave it out"
            )
        yield from unknown_values(prepared, session, padding)
        if padding.catalog == "paper":
            yield (
                "catalog: paper holds against those who do not know the method only; who knows it "
                "can tell many counterfeit records for certain, and a person's record from the "
                "others"
            )

    def advice(self, prepared: Prepared, ground: Ground, seconds: float) -> Iterator[str]:
        """That suppression loses less, where the least loss is wanted."""
        parameters, padding = prepared.parameters, padding_of(prepared.parameters)
        if padding.objective != "loss" or padding.borrow:
            return
        limit = padding.limit(ground.tuples.records)
        ceiling = _ceiling(ground, parameters, _least_size(parameters))
        found = ceiling.search("loss", h=_highest(padding), limit=limit, time_limit=seconds)
        if found.best is not None:
            loss = found.lower_bound
            own = f"this method {loss:.3f} or more with at most {limit:,} records added"
            yield from instead(ground, parameters, loss, own, seconds)

    def declared(self, plain: Declared, bound: Bound, details: Mapping[str, Any]) -> Declared:
        """What the padding must keep; each record carries the number of its class."""
        padding = Promised(
            **{key: details[key] for key in _PROMISED},
            weights={c.name: c.spec.weight for c in bound.quasi_identifiers},
            impossible=options(bound).impossible,
        )
        columns = (Column(CLASS_ID, "BIGINT"), *plain.columns)
        return replace(plain, columns=columns, padding=padding)


_PROMISED = ("k", "size", "h", "limit", "catalog", "sensitive", "strict")


def _catalog_steps(release: str, padding: Padding, columns: list[str]) -> Iterator[Step]:
    """The catalog, and the views that read a release with it."""
    if padding.catalog == "none":
        return
    yield padded_rows.catalog_step(CATALOG, CATALOG_GROUPS, padding.sensitive)
    tables = Relation(release), Relation(catalog_name(release))
    yield ViewStep(f"{release}_weighted", weighted(*tables, padding.sensitive))
    yield ViewStep(f"{release}_truthful", truthful(*tables, padding.sensitive, columns))
