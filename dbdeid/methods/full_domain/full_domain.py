"""Full-domain generalization with record suppression (Prasser et al. 2016; Sweeney 2002).

All records take one level per quasi-identifier; equivalence classes that fail the declared models
are suppressed whole. `plan` finds the transformation, `write` makes the table in the database.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dbdeid.bind.bound import Bound
from dbdeid.data.classes import CODED, WEIGHED
from dbdeid.data.json import JsonObject
from dbdeid.engine.expressions import Select, column
from dbdeid.engine.relation import Column, Relation
from dbdeid.engine.session import Session, Step
from dbdeid.errors import Mistake, SpecError
from dbdeid.lattice.check import Check
from dbdeid.lattice.checker import NumpyChecker
from dbdeid.lattice.exploration import Exploration, Found, Problem, Progress
from dbdeid.lattice.lattice import Node
from dbdeid.lattice.objectives import metrics
from dbdeid.lattice.tuples import Tuples
from dbdeid.methods.attacks.downcoding import ADDED_UP, Downcoded
from dbdeid.methods.attacks.downcoding import of_levels as downcoded_levels
from dbdeid.methods.attacks.minimality import SUBJECTS, Reading, of_levels, unread
from dbdeid.methods.common.generalized import (
    COUNTED,
    STAGED,
    counted_rows,
    generalized,
    in_order,
    kept_rows,
    released_names,
    upload_labels,
)
from dbdeid.methods.common.levels import Levels, levels_of
from dbdeid.methods.common.method import Draft, Method, Planned
from dbdeid.methods.common.outcome import Outcome, Written, values_at
from dbdeid.methods.common.release_dictionary import dictionary_step, upload_dictionary
from dbdeid.methods.common.searching import Ground, Offer, lattice_of
from dbdeid.methods.full_domain.searching import blank, described, is_blank, nothing, search
from dbdeid.prepare.prepare import Prepared
from dbdeid.prepare.problem import Parameters
from dbdeid.prepare.quasi_identifier import QuasiIdentifier
from dbdeid.spec.method.full_domain import FullDomain


@dataclass(frozen=True, slots=True)
class FullDomainPlan:
    """The transformation found, with its proof and figures.

    `metrics` are those that every check finds, and the objective; `kept` is what stays, as
    `KeptRows` takes it, where the database does not tell by class sizes; `readings` what the
    minimality attack reads, `downcoded` what the downcoding attack finds.
    """

    node: Node
    check: Check
    metrics: dict[str, float]
    search: JsonObject
    kept: dict[str, NDArray[Any]] | None = None
    readings: tuple[Reading, ...] = ()
    downcoded: Downcoded | None = None


def plan(
    session: Session,
    quasi_identifiers: Sequence[QuasiIdentifier],
    parameters: Parameters[Levels],
    progress: Callable[[Progress], None] | None = None,
    offer: Offer | None = None,
) -> FullDomainPlan:
    """The best transformation that satisfies the models, or the one that was given.

    Args:
        session: where the source is staged and coded.
        quasi_identifiers: in order of the source.
        parameters: how to search, and what must hold.
        progress: called after every check.
        offer: asked whether to go on with the best so far when the search is interrupted.

    Raises:
        Unsatisfiable: none does; the message says what is achievable.
        NothingFound: none was found, or nothing but `*` in the time there was, and that no other
            satisfies is not proven.
        Interrupted: by the user, who does not take the best so far.
    """
    lattice = lattice_of(quasi_identifiers)
    ground = Ground.of(session, lattice, parameters)
    tuples = ground.tuples
    made = ground.checker(parameters)
    problem = ground.problem(parameters, made)
    if parameters.options.transformation is not None:
        found, interrupted = _apply(problem, parameters.options.transformation), False
    else:
        found, interrupted = search(ground, problem, parameters, progress, offer)
    if found.node is None or found.check is None:
        raise nothing(ground, problem, parameters, found)
    if not interrupted and is_blank(found, lattice):
        raise blank(ground, parameters, found)
    how = described(found, parameters, interrupted=interrupted)
    if parameters.options.transformation is not None:
        how |= {"name": None, "gap": None, "time_limit": None}
    checker = made  # what it has at hand is needed once more
    if not isinstance(checker, NumpyChecker):
        checker = NumpyChecker(lattice, tuples, parameters.rule)
    rows = checker.kept(found.node)
    kept = None
    if kept_rows(quasi_identifiers, parameters).uploaded:
        kept = _kept(checker, tuples, rows, found.node, parameters)
    scores = metrics(lattice, tuples, found.check) | {parameters.options.objective: found.score}
    readings = _readings(ground, parameters, found, rows)
    downcoded = downcoded_levels(
        lattice,
        tuples,
        rows,
        found.node,
        minimal=found.proven_optimal
        and not parameters.options.suppression_limit
        and not parameters.rule.populations
        and parameters.options.objective in ADDED_UP,
        starred=parameters.keep,
    )
    return FullDomainPlan(found.node, found.check, scores, how, kept, readings, downcoded)


def _readings(
    ground: Ground, parameters: Parameters[Levels], found: Found, kept: NDArray[np.bool_]
) -> tuple[Reading, ...]:
    """What who knows how levels are chosen reads of the sensitive attributes."""
    conditions, tuples = parameters.sensitive, ground.tuples
    if not conditions:
        return ()
    if tuples.subjects is not None:
        return unread(conditions, SUBJECTS)
    assert found.node is not None
    return of_levels(
        ground.lattice,
        tuples,
        kept,
        conditions,
        found.node,
        parameters.k,
        minimal=found.proven_optimal and not parameters.options.suppression_limit,
    )


def _kept(
    checker: NumpyChecker,
    tuples: Tuples,
    rows: NDArray[np.bool_],
    node: Node,
    parameters: Parameters[Levels],
) -> dict[str, NDArray[Any]]:
    """The subjects or classes that stay, as `KeptRows` joins them."""
    if parameters.rule.linked:
        assert tuples.subjects is not None
        return {"subject": np.unique(tuples.subjects[rows])}
    attributes = zip(checker.lattice.attributes, node, checker.kept_classes(node), strict=True)
    return {f"g{i}": a.groups[level][values] for i, (a, level, values) in enumerate(attributes)}


def _apply(problem: Problem, node: Node) -> Found:
    """A known transformation instead of a search: one check, and nothing proven."""
    checked = Exploration(problem).check(node)
    return Found(
        node=node if checked.accepted else None,
        score=checked.score,
        check=checked.check if checked.accepted else None,
        lattice_size=problem.lattice.size,
        checked=1,
        proven_optimal=False,
        lower_bound=0.0,
    )


# -- writing ------------------------------------------------------------------------------------


def write(
    session: Session,
    quasi_identifiers: Sequence[QuasiIdentifier],
    released: Sequence[Column],
    plan: FullDomainPlan,
    parameters: Parameters[Levels],
) -> Written:
    """The release and its dictionary as temporary tables, sorted and ready to be verified.

    Args:
        session: where the source is staged and coded.
        quasi_identifiers: in the order of the plan's node.
        released: all released columns as staged, in order.
        plan: the transformation.
        parameters: as in `plan`.
    """
    upload_labels(session, quasi_identifiers, plan.node)
    kept_rows(quasi_identifiers, parameters).stage(session, plan.kept)
    counted, staged = _staged(session, quasi_identifiers, released, plan.node, parameters)
    found = outcome(quasi_identifiers, plan, parameters)
    upload_dictionary(session, quasi_identifiers, found.shown)
    dictionary = session.run(dictionary_step(quasi_identifiers, staged))
    return Written(staged, dictionary, counted, found, staged)


def _staged(
    session: Session,
    quasi_identifiers: Sequence[QuasiIdentifier],
    released: Sequence[Column],
    node: Node,
    parameters: Parameters[Levels],
) -> tuple[Relation, Relation]:
    """The released records with the number of their subject, and without it."""
    if parameters.weight is not None:
        rows = _rows(quasi_identifiers, released, node, parameters, WEIGHED)
        names = released_names(quasi_identifiers, released)
        once, each, alone = counted_rows(rows, names, parameters.weight, parameters.subject)
        session.run(once)
        staged = session.run(alone)
        return (session.run(each) if parameters.subject else staged), staged
    counted = session.run(release_step(quasi_identifiers, released, node, parameters))
    if parameters.subject is None:
        return counted, counted
    return counted, session.run(released_step(quasi_identifiers, released))


def outcome(
    quasi_identifiers: Sequence[QuasiIdentifier],
    plan: FullDomainPlan,
    parameters: Parameters[Levels],
) -> Outcome:
    """Record how a plan's release was made."""
    keeps = parameters.keep and plan.check.suppressed > 0
    return Outcome(
        plan.node,
        [
            values_at(q.coding, level, suppressed=keeps)
            for q, level in zip(quasi_identifiers, plan.node, strict=True)
        ],
        plan.check.suppressed,
        plan.check.suppressed_subjects,
        plan.metrics,
        plan.search,
        readings=plan.readings,
        downcoded=plan.downcoded,
    )


def release_step(
    quasi_identifiers: Sequence[QuasiIdentifier],
    released: Sequence[Column],
    node: Node,
    parameters: Parameters[Levels],
    coded: Relation = CODED,
) -> Step:
    """The query of the release: generalize by joins, suppress small classes, sort by everything.

    Where subjects are counted it is what `released_step` takes the release from.
    """
    query = _rows(quasi_identifiers, released, node, parameters, coded)
    if parameters.subject is not None:
        return Step(COUNTED, query)
    names = released_names(quasi_identifiers, released)
    return Step(STAGED, in_order(query.subquery("release"), names))


def _rows(
    quasi_identifiers: Sequence[QuasiIdentifier],
    released: Sequence[Column],
    node: Node,
    parameters: Parameters[Levels],
    coded: Relation,
) -> Select:
    """The released rows in any order, with the number of their subject, or their weight."""
    rows = kept_rows(quasi_identifiers, parameters)
    kept = rows.condition if parameters.keep else None
    query = rows.join(generalized(quasi_identifiers, released, node, rows, kept, coded))
    for more in (parameters.subject, parameters.weight):
        if more is not None:
            query = query.select(column(more, "coded"))
    return query if parameters.keep else rows.only(query)


def released_step(quasi_identifiers: Sequence[QuasiIdentifier], released: Sequence[Column]) -> Step:
    """The release, without the number of each record's subject."""
    names = released_names(quasi_identifiers, released)
    return Step(STAGED, in_order(Relation(COUNTED, schema="main", catalog="temp").table, names))


def steps(draft: Draft) -> Iterator[Step]:
    """The steps of a release under one transformation."""
    parameters = levels_of(draft.parameters)
    qis, released = draft.quasi_identifiers, draft.released
    if parameters.rule.linked:
        yield kept_rows(qis, parameters).linked_step()
    yield release_step(qis, released, draft.node, parameters)
    if parameters.subject:
        yield released_step(qis, released)
    yield draft.dictionary


# -- the method ---------------------------------------------------------------------------------


class FullDomainMethod(Method[FullDomainPlan]):
    """One transformation of all records."""

    def parameters(
        self,
        bound: Bound,
        shared: Parameters[None],
        quasi_identifiers: Sequence[QuasiIdentifier] | None,
    ) -> Parameters[object]:
        """How it is searched for, or which it is."""
        method = _declared(bound)
        given = method.transformation if quasi_identifiers else None
        return shared.under(
            Levels(
                suppression_limit=method.suppression_limit,
                objective=method.objective,
                engine=method.engine,
                search=method.search,
                time_limit=method.time_limit,
                transformation=_node(bound, given, quasi_identifiers or ())
                if given is not None
                else None,
            )
        )

    def plan(
        self,
        prepared: Prepared,
        session: Session,
        progress: Callable[[Any], None] | None = None,
        offer: Offer | None = None,
    ) -> Planned[FullDomainPlan]:
        """The best transformation that satisfies the models, or the one that was given."""
        qis, parameters = prepared.quasi_identifiers, levels_of(prepared.parameters)
        return Planned(prepared, plan(session, qis, parameters, progress, offer))

    def write(self, planned: Planned[FullDomainPlan], session: Session) -> Written:
        """The release and its dictionary."""
        prepared = planned.prepared
        qis, parameters = prepared.quasi_identifiers, levels_of(prepared.parameters)
        return write(session, qis, prepared.released, planned.plan, parameters)

    def steps(self, draft: Draft) -> Iterator[Step]:
        """The release and its dictionary."""
        return steps(draft)

    def why_blank(
        self, prepared: Prepared, search: Mapping[str, Any], less: str
    ) -> tuple[str, str]:
        """What was given, proven, or not looked for long enough."""
        method = _declared(prepared.bound)
        if method.transformation is not None:
            return (
                "`transformation` in the spec says so",
                "Leave it out, and a run searches for levels that keep more",
            )
        if search["proven_optimal"]:
            return (
                "No less general transformation holds the models within the suppression limit",
                f"{less}; a larger `suppression_limit` or `method: local_recoding` may keep more",
            )
        if search["out_of_time"]:
            return (
                f"The search ended at its time limit of {method.time_limit:g} seconds; it is not "
                "proven that nothing less general holds the models",
                f"Raise `time_limit`. {less}; `method: local_recoding` may keep more",
            )
        return (
            "It is not proven that nothing less general holds the models",
            f"Use `search: optimal`. {less}; `method: local_recoding` may keep more",
        )


def _declared(bound: Bound) -> FullDomain:
    method = bound.spec.method
    assert isinstance(method, FullDomain)
    return method


def _node(
    bound: Bound, given: Mapping[str, int], quasi_identifiers: Sequence[QuasiIdentifier]
) -> Node:
    """The declared levels, held against the hierarchies."""
    levels = {name.lower(): level for name, level in given.items()}
    mistakes = [_at(bound, "a quasi-identifier is given twice")] if len(levels) < len(given) else []
    for q in quasi_identifiers:
        level = levels.pop(q.name.lower(), None)
        highest = q.height if q.max_level is None else q.max_level
        if level is None:
            mistakes.append(_at(bound, f"no level for quasi-identifier {q.name!r}"))
        elif not q.min_level <= level <= highest:
            mistakes.append(
                _at(bound, f"level {level} of {q.name!r} is not {q.min_level}-{highest}")
            )
    mistakes += [_at(bound, f"{name!r} is not a quasi-identifier") for name in levels]
    if mistakes:
        raise SpecError(mistakes, source=bound.file.label)
    node = {name.lower(): level for name, level in given.items()}
    return tuple(node[q.name.lower()] for q in quasi_identifiers)


def _at(bound: Bound, message: str) -> Mistake:
    hint = "one level for each quasi-identifier, as in {age: 2, sex: 0}"
    return bound.file.mistake(message, "method", "transformation", hint=hint)
