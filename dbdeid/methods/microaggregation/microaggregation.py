"""Microaggregation: the quasi-identifiers of a small group of records, replaced by their means.

Groups are made of records that are near each other, by MDAV (Domingo-Ferrer & Mateo-Sanz 2002) or
by two fixed reference points (Chang, Li & Huang 2007). A number, a date and a moment become the
mean of the group's, text and truth values the most frequent: see `masked_rows`. `plan` makes the
groups, `write` the tables.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from dbdeid.data.json import JsonObject
from dbdeid.engine.relation import Column
from dbdeid.engine.session import Session
from dbdeid.errors import Unsatisfiable
from dbdeid.lattice.exploration import Placed
from dbdeid.methods.common.outcome import Masked, Outcome, Written
from dbdeid.methods.common.searching import Follow, Offer
from dbdeid.methods.common.secret import upload_secret
from dbdeid.methods.local_recoding import recoded_rows
from dbdeid.methods.local_recoding.recoded_rows import Names
from dbdeid.methods.local_recoding.search.blocks import Blocks
from dbdeid.methods.microaggregation import masked_rows
from dbdeid.methods.microaggregation.groups import information_loss
from dbdeid.methods.microaggregation.masked_rows import Masks
from dbdeid.prepare.problem import Masking, Parameters
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
    parameters: Parameters,
    progress: Follow | None = None,
    offer: Offer | None = None,
) -> MicroaggregationPlan:
    """Groups of at least k records each.

    Args:
        session: where the source is staged and coded.
        quasi_identifiers: in order of the source.
        parameters: what must hold, with `masking`.
        progress: told how many records have a group, and how many have none yet.
        offer: not asked.

    Raises:
        Unsatisfiable: there are fewer than k records.
        DataError: a quasi-identifier has values without a mean, or too many that are names.
    """
    from dbdeid.methods.microaggregation.mdav import mdav
    from dbdeid.methods.microaggregation.mixed_points import points_of
    from dbdeid.methods.microaggregation.tfrp import tfrp

    masking, k = _masking(parameters), parameters.k
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

    found = (tfrp if masking.algorithm == "tfrp" else mdav)(points, k, settled)
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


def names_of(quasi_identifiers: Sequence[QuasiIdentifier], parameters: Parameters) -> Names:
    """The columns of the records on the way."""
    return Names(tuple(quasi_identifiers), (), _masking(parameters).others, None)


def _masking(parameters: Parameters) -> Masking:
    assert parameters.masking is not None
    return parameters.masking


def write(
    session: Session,
    quasi_identifiers: Sequence[QuasiIdentifier],
    released: Sequence[Column],
    plan: MicroaggregationPlan,
    parameters: Parameters,
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
    outcome = Outcome(None, (), 0, 0, plan.metrics, plan.search, masked=plan.masked)
    return Written(staged, None, staged, outcome, staged, crosswalk=crosswalk)
