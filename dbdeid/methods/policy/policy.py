"""Method policy: a policy of intervals is chosen from a frontier, and released like a hierarchy."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from dbdeid.bind.bound import Bound
from dbdeid.engine.expressions import (
    Query,
    aliased,
    cast,
    column,
    function,
    literal,
    null_if,
    select,
)
from dbdeid.engine.session import Session, Step
from dbdeid.methods.common.levels import Levels, levels_of
from dbdeid.methods.common.method import Draft, Frontier, Method, Planned
from dbdeid.methods.common.outcome import Written
from dbdeid.methods.common.searching import Offer
from dbdeid.methods.full_domain import full_domain
from dbdeid.methods.policy import choose, frontier_figures
from dbdeid.methods.policy.cells import Explored
from dbdeid.methods.policy.frontier_figures import FrontierPoint
from dbdeid.prepare.prepare import Prepared
from dbdeid.prepare.problem import Parameters
from dbdeid.prepare.quasi_identifier import QuasiIdentifier
from dbdeid.spec.names import EVALUATIONS, FRONTIER


class PolicyMethod(Method[full_domain.FullDomainPlan]):
    """A policy of the frontier of risk and loss, which every record takes."""

    def parameters(
        self,
        bound: Bound,
        shared: Parameters[None],
        quasi_identifiers: Sequence[QuasiIdentifier] | None,
    ) -> Parameters[object]:
        """Nothing is searched for but the policy."""
        return shared.under(Levels())

    def plan(
        self,
        prepared: Prepared,
        session: Session,
        progress: Callable[[Any], None] | None = None,
        offer: Offer | None = None,
    ) -> Planned[full_domain.FullDomainPlan]:
        """The policy that the spec chooses of the frontier.

        Raises:
            SpecError: the spec does not choose.
            DataError: the records do not fit the population.
        """
        decided = choose.decide(prepared, session, progress)
        found, chosen = decided.found, decided.chosen
        qis, parameters = chosen.prepared.quasi_identifiers, levels_of(chosen.prepared.parameters)
        plan = full_domain.plan(session, qis, parameters, progress, offer)
        figures = frontier_figures.figures_of(chosen.prepared, found, chosen)
        return Planned(
            chosen.prepared,
            replace(plan, search=plan.search | choose.searched(found, chosen)),
            chosen.warnings,
            Frontier(
                frontier_figures.kept(figures),
                partial(tables, found=found, points=figures.points),
            ),
        )

    def write(self, planned: Planned[full_domain.FullDomainPlan], session: Session) -> Written:
        """The release and its dictionary."""
        prepared = planned.prepared
        qis, parameters = prepared.quasi_identifiers, levels_of(prepared.parameters)
        return full_domain.write(session, qis, prepared.released, planned.plan, parameters)

    def steps(self, draft: Draft) -> Iterator[Step]:
        """The release and its dictionary."""
        return full_domain.steps(draft)

    def size(self, prepared: Prepared, session: Session) -> dict[str, int | None]:
        """How many bits a policy has: there are too many policies for a number."""
        return {"lattice_size": None, "bits": choose.bits(prepared, session)}

    def why_blank(
        self, prepared: Prepared, search: Mapping[str, Any], less: str
    ) -> tuple[str, str]:
        """Why a release is blank: the chosen policy merges all values; and what to choose."""
        return (
            "The policy that `choose` takes merges all values of each column into one interval",
            "Choose a point of the frontier that loses less: `dbdeid frontier` shows them",
        )


# -- private tables -----------------------------------------------------------------------------


def tables(session: Session, found: Explored, points: Sequence[FrontierPoint]) -> dict[str, Query]:
    """The rows of the private tables, by what follows the release's name.

    `frontier`: point, risk, kl, loss and the policy in words. `evaluations`: every policy that was
    evaluated, in order, with its bits.
    """
    session.upload(
        "deid_frontier",
        {
            "point": np.array([p.point for p in points], np.int32),
            "risk": np.array([p.risk for p in points]),
            "kl": np.array([p.kl for p in points]),
            "loss": np.array([p.loss for p in points]),
            "policy": [_words(p.policy) for p in points],
        },
    )
    from dbdeid.engine import arrow

    log = found.log
    session.upload(
        "deid_evaluations",
        {
            "evaluation": np.arange(1, len(log.risks) + 1, dtype=np.int32),
            "risk": np.array(log.risks),
            "loss": np.array(log.losses),
            "policy": arrow.blobs(found.evaluated),
        },
    )
    # no BIT has no bits: where there is nothing to merge, it is NULL
    packed = null_if(column("policy"), cast(literal(""), "BLOB"))
    # whole bytes were packed, of which the last may have bits that are none of the policy's
    digits = function(
        "substring", cast(cast(packed, "BIT"), "VARCHAR"), literal(1), literal(found.space.length)
    )
    evaluations = select("evaluation", "risk", "loss", aliased(cast(digits, "BIT"), "policy"))
    return {
        FRONTIER: select("*").from_(session.temp("deid_frontier").table),
        EVALUATIONS: evaluations.from_(session.temp("deid_evaluations").table),
    }


def _words(policy: Mapping[str, Sequence[str]]) -> str:
    return "; ".join(f"{name}: {', '.join(shown)}" for name, shown in policy.items())
