"""Microaggregation: the quasi-identifiers of a small group of records, replaced by their means.

Groups are made of records that are near each other, by MDAV (Domingo-Ferrer & Mateo-Sanz 2002) or
by two fixed reference points (Chang, Li & Huang 2007). A number, a date and a moment become the
mean of the group's, text and truth values the most frequent: see `masked_rows`. `plan` makes the
groups, `write` the tables.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from dbdeid.bind.bound import Bound
from dbdeid.data.json import JsonObject
from dbdeid.engine.relation import Column
from dbdeid.engine.session import Session, Step
from dbdeid.errors import Unsatisfiable
from dbdeid.lattice.exploration import Placed
from dbdeid.methods.common.method import Draft, Method, Planned
from dbdeid.methods.common.outcome import Outcome, Written
from dbdeid.methods.common.searching import Follow, Offer
from dbdeid.methods.common.secret import upload_secret
from dbdeid.methods.local_recoding import recoded_rows
from dbdeid.methods.local_recoding.recoded_rows import Names
from dbdeid.methods.local_recoding.search.blocks import Blocks
from dbdeid.methods.microaggregation import masked_rows
from dbdeid.methods.microaggregation.details import Masked
from dbdeid.methods.microaggregation.groups import information_loss
from dbdeid.methods.microaggregation.masked_rows import Masks, masked_type
from dbdeid.methods.microaggregation.options import masking_of, options
from dbdeid.prepare.prepare import Prepared
from dbdeid.prepare.problem import Parameters
from dbdeid.prepare.quasi_identifier import QuasiIdentifier


@dataclass(frozen=True, slots=True)
class MicroaggregationPlan:
    """The groups, whose records are staged.

    Attributes:
        masks: what the records of each group read.
        masked: what is known of the groups.
        metrics: what the written table will have.
        search: how they were made, in plain values.
    """

    masks: Masks
    masked: Masked
    metrics: Mapping[str, float]
    search: JsonObject


def plan(
    session: Session,
    quasi_identifiers: Sequence[QuasiIdentifier],
    parameters: Parameters[object],
    progress: Follow | None = None,
    offer: Offer | None = None,
) -> MicroaggregationPlan:
    """Groups of at least k records each.

    Args:
        session: where the source is staged and coded.
        quasi_identifiers: in order of the source.
        parameters: what must hold, and how.
        progress: told how many records have a group, and how many have none yet.
        offer: not asked.

    Raises:
        Unsatisfiable: there are fewer than k records.
        DataError: a quasi-identifier has values without a mean, or too many that are names.
    """
    from dbdeid.methods.microaggregation.mdav import mdav
    from dbdeid.methods.microaggregation.mixed_points import points_of
    from dbdeid.methods.microaggregation.mst import mst
    from dbdeid.methods.microaggregation.tfrp import tfrp

    masking, k = masking_of(parameters), parameters.k
    names = names_of(quasi_identifiers, parameters)
    for step in (recoded_rows.records_step(names), recoded_rows.units_step(names)):
        session.run(step)
    units = recoded_rows.units_of(session, names, [])
    if units.records < k:
        raise Unsatisfiable(
            f"no groups reach k = {k}: there are {units.records} records",
            hint=f"k can be at most {units.records}, the number of records",
        )
    attributes = masked_rows.attributes_of(session, quasi_identifiers, units.codes)
    points = points_of(attributes, units.weights)

    def settled(records: int) -> None:
        if progress is not None:
            progress(Placed(records, units.records))

    grouped = {"mdav": mdav, "tfrp": tfrp, "mst": mst}[masking.algorithm]
    found = grouped(points, k, settled)
    blocks = Blocks(found.point, found.group, found.records)
    recoded_rows.place(session, blocks)
    upload_secret(session, masking.key)
    masks = masked_rows.masks_of(quasi_identifiers, attributes, found)
    lost = [
        information_loss(a.values, own, found)
        for a, own in zip(attributes, masks.columns, strict=True)
        if a.levels is None
    ]
    told = [share for share in lost if share is not None]
    metrics = {"information_loss": 100 * sum(told) / len(told)} if told else {}
    sizes = found.sizes
    masked = Masked(
        k=k,
        algorithm=masking.algorithm,
        groups=found.number,
        smallest=int(sizes.min()),
        largest=int(sizes.max()),
    )
    search: JsonObject = {
        "name": masking.algorithm,
        "lattice_size": None,
        "checked": 1,
        "proven_optimal": False,
        "lower_bound": None,
        "gap": None,
        "groups": masked.groups,
    }
    return MicroaggregationPlan(masks, masked, metrics, search)


def names_of(quasi_identifiers: Sequence[QuasiIdentifier], parameters: Parameters[object]) -> Names:
    """The columns of the records on the way."""
    return Names(tuple(quasi_identifiers), (), masking_of(parameters).others, None)


def write(
    session: Session,
    quasi_identifiers: Sequence[QuasiIdentifier],
    released: Sequence[Column],
    plan: MicroaggregationPlan,
    parameters: Parameters[object],
) -> Written:
    """The release and the private crosswalk as temporary tables, sorted and ready to be verified.

    Args:
        session: where the plan's records are staged.
        quasi_identifiers: in the order of the plan.
        released: all released columns as staged, in order.
        plan: the groups.
        parameters: as in `plan`.
    """
    names = names_of(quasi_identifiers, parameters)
    masked_rows.upload(session, plan.masks)
    for step in (recoded_rows.blocks_step(names), masked_rows.masked_step(names)):
        session.run(step)
    staged, crosswalk = (session.run(s) for s in recoded_rows.release_steps(names, released))
    outcome = Outcome(None, (), 0, 0, plan.metrics, plan.search, details=plan.masked)
    return Written(staged, None, staged, outcome, staged, crosswalk=crosswalk)


class MicroaggregationMethod(Method[MicroaggregationPlan]):
    """The means of small groups in place of quasi-identifiers."""

    def parameters(
        self,
        bound: Bound,
        shared: Parameters[None],
        quasi_identifiers: Sequence[QuasiIdentifier] | None,
    ) -> Parameters[object]:
        """How groups are made."""
        return shared.under(options(bound))

    def plan(
        self,
        prepared: Prepared,
        session: Session,
        progress: Callable[[Any], None] | None = None,
        offer: Offer | None = None,
    ) -> Planned[MicroaggregationPlan]:
        """Groups of at least k records each."""
        qis, parameters = prepared.quasi_identifiers, prepared.parameters
        return Planned(prepared, plan(session, qis, parameters, progress, offer))

    def write(self, planned: Planned[MicroaggregationPlan], session: Session) -> Written:
        """The release and the private crosswalk."""
        prepared = planned.prepared
        qis, parameters = prepared.quasi_identifiers, prepared.parameters
        return write(session, qis, prepared.released, planned.plan, parameters)

    def steps(self, draft: Draft) -> Iterator[Step]:
        """From units of records to groups, their means and the release."""
        names = names_of(draft.quasi_identifiers, draft.parameters)
        yield recoded_rows.records_step(names)
        yield recoded_rows.units_step(names)
        yield recoded_rows.blocks_step(names)
        yield masked_rows.masked_step(names)
        yield from recoded_rows.release_steps(names, draft.released)

    def size(self, prepared: Prepared, session: Session) -> dict[str, int | None]:
        """There is nothing to choose from."""
        return {"lattice_size": None}

    def try_values(self, prepared: Prepared, session: Session) -> None:
        """Refuse values without a mean, and too many that are names."""
        every = [np.arange(len(q.coding.leaf)) for q in prepared.quasi_identifiers]
        masked_rows.attributes_of(session, prepared.quasi_identifiers, every)

    def why_blank(
        self, prepared: Prepared, search: Mapping[str, Any], less: str
    ) -> tuple[str, str]:
        """All records are one group."""
        return "All records are one group, for k is so great", "Ask for a smaller k"

    def written_type(self, own: str) -> str:
        """The type of the mean."""
        return masked_type(own)
