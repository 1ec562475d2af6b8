"""Local recoding: blocks of records, each generalized as little as its own values ask.

Yoo, Shin & Lee 2012 cluster records into Q-blocks by conditional entropy and mutual
information; progressive dealing and Mondrian (LeFevre, DeWitt & Ramakrishnan 2006) are here beside
them. Every declared model holds in every block; no record is suppressed. `plan` makes the blocks,
`write` the tables.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from dbdeid.bind.bound import Bound
from dbdeid.bind.privacy_models import staged as sensitive_columns
from dbdeid.data.json import JsonObject
from dbdeid.engine.relation import Column
from dbdeid.engine.session import Session, Step
from dbdeid.errors import Unsatisfiable
from dbdeid.lattice.exploration import Placed
from dbdeid.lattice.lattice import Lattice
from dbdeid.lattice.tuples import Tuples
from dbdeid.methods.attacks import downcoding, minimality
from dbdeid.methods.common.method import Dealt, Draft, Method, Planned
from dbdeid.methods.common.mixed_levels import Mixed
from dbdeid.methods.common.outcome import Outcome, Written
from dbdeid.methods.common.release_dictionary import dictionary_step, upload_dictionary
from dbdeid.methods.common.searching import Follow, Offer, lattice_of
from dbdeid.methods.common.secret import upload_secret
from dbdeid.methods.common.unsatisfiable import alone, wanted
from dbdeid.methods.local_recoding import recoded_rows
from dbdeid.methods.local_recoding.free.planning import FreeColumns
from dbdeid.methods.local_recoding.options import Recoding, options, recoding_of
from dbdeid.methods.local_recoding.recoded_rows import Names
from dbdeid.methods.local_recoding.search.blocks import Blocks, Demands
from dbdeid.methods.local_recoding.search.taxonomy import Cost, Regions, Taxonomy, block_entropy
from dbdeid.prepare.prepare import Prepared
from dbdeid.prepare.problem import Parameters
from dbdeid.prepare.quasi_identifier import QuasiIdentifier
from dbdeid.privacy import MaxRisk

# Records from which on algorithms take long that look at every record for every block.
SLOW = 200_000


@dataclass(frozen=True, slots=True)
class RecodingPlan:
    """The blocks, whose records are staged.

    Attributes:
        blocks: all records of all units.
        columns: what each block reads on each quasi-identifier.
        metrics: what the written table will have.
        search: how the blocks were made, in plain values.
        readings: what the minimality attack reads of each sensitive attribute.
        downcoded: what the downcoding attack finds.
    """

    blocks: Blocks
    columns: tuple[Mixed, ...]
    metrics: dict[str, float]
    search: JsonObject
    readings: tuple[minimality.Reading, ...]
    downcoded: downcoding.Downcoded


def plan(
    session: Session,
    quasi_identifiers: Sequence[QuasiIdentifier],
    parameters: Parameters[object],
    progress: Follow | None = None,
    offer: Offer | None = None,
) -> RecodingPlan:
    """Blocks of records in which every declared model holds.

    Args:
        session: where the source is staged and coded.
        quasi_identifiers: in order of the source.
        parameters: what must hold, and how.
        progress: told how many records have a block, and how many have none yet.
        offer: not asked.

    Raises:
        Unsatisfiable: not even the most general blocks hold the models.
        HierarchyError: a label would be ambiguous where levels mix.
    """
    from dbdeid.methods.local_recoding.search.repair import settle

    recoding = recoding_of(parameters)
    for reason in parameters.impossible:
        raise reason
    names = names_of(quasi_identifiers, parameters)
    lattice = lattice_of(quasi_identifiers)
    for step in (recoded_rows.records_step(names), recoded_rows.units_step(names)):
        session.run(step)
    cardinalities = [len(s.whole.counts) for s in parameters.sensitive]
    units = recoded_rows.units_of(session, names, cardinalities)
    demands = Demands(units, parameters.k, parameters.sensitive)
    require_possible(lattice, demands, parameters)

    def settled(records: int) -> None:
        if progress is not None:
            progress(Placed(records, units.records))

    taxonomy = Taxonomy(lattice, units)
    if recoding.free:
        return _free(session, names, taxonomy, demands, parameters, settled)
    if recoding.safe:
        found = blocks = _safe(taxonomy, demands, parameters, settled)
    else:
        found = _blocks(session, taxonomy, demands, recoding, settled)
        blocks = settle(
            taxonomy,
            demands,
            found,
            # the paper's own words compare records, not blocks
            objective="block_entropy" if recoding.objective == "literal" else recoding.objective,
            diversity_weight=recoding.diversity_weight,
            settled=settled,
        )
    regions = taxonomy.regions(units, blocks.row, blocks.block, blocks.number)
    columns = tuple(
        Mixed.of(q.coding, levels, codes)
        for q, levels, codes in zip(quasi_identifiers, regions.levels, regions.codes, strict=True)
    )
    recoded_rows.stage(session, names, blocks, columns)
    upload_secret(session, recoding.key)
    search = _described(lattice, recoding, found, blocks)
    found_metrics = _metrics(taxonomy, units, blocks, regions)
    if recoding.safe:
        readings = minimality.sound(parameters.sensitive)
    elif units.subjects is not None:
        readings = minimality.unread(parameters.sensitive, minimality.SUBJECTS)
    else:
        readings = minimality.of_blocks(
            taxonomy, demands, parameters.sensitive, blocks, regions, recoding.algorithm
        )
    downcoded = downcoding.of_blocks(taxonomy, units, blocks, regions)
    return RecodingPlan(blocks, columns, found_metrics, search, readings, downcoded)


def _free(
    session: Session,
    names: Names,
    taxonomy: Taxonomy,
    demands: Demands,
    parameters: Parameters[object],
    settled: Callable[[int], None],
) -> RecodingPlan:
    """The same where blocks choose intervals and sets of values themselves."""
    recoding, units = recoding_of(parameters), demands.units
    free = FreeColumns(names.quasi_identifiers, recoding.free, taxonomy, units)
    blocks = free.search(
        demands, algorithm=recoding.algorithm, relaxed=recoding.relaxed, told=settled
    )
    regions = taxonomy.regions(units, blocks.row, blocks.block, blocks.number)
    columns = free.columns(blocks, regions)
    recoded_rows.stage(session, names, blocks, columns)
    upload_secret(session, recoding.key)
    if units.subjects is not None:
        readings = minimality.unread(parameters.sensitive, minimality.SUBJECTS)
    else:
        readings = minimality.of_blocks(
            taxonomy,
            demands,
            parameters.sensitive,
            blocks,
            regions,
            recoding.algorithm,
            free.classes(blocks)[blocks.block],
        )
    return RecodingPlan(
        blocks,
        columns,
        {"loss": free.loss(columns, blocks)},
        _described(taxonomy.lattice, recoding, blocks, blocks),
        readings,
        free.downcoded(columns, blocks, regions),
    )


def names_of(quasi_identifiers: Sequence[QuasiIdentifier], parameters: Parameters[object]) -> Names:
    """The columns of the records on the way."""
    return Names(
        tuple(quasi_identifiers),
        tuple(s.columns for s in parameters.sensitive),
        recoding_of(parameters).others,
        parameters.subject,
    )


def _blocks(
    session: Session,
    taxonomy: Taxonomy,
    demands: Demands,
    recoding: Recoding,
    settled: Callable[[int], None],
) -> Blocks:
    """The blocks of the chosen algorithm; some records may have none yet."""
    if recoding.engine == "sql":
        from dbdeid.methods.local_recoding import sql_dealing

        return sql_dealing.deal(
            session, taxonomy, demands, objective=_cost(recoding), settled=settled
        )
    objective = recoding.objective
    if recoding.algorithm == "dealing":
        from dbdeid.methods.local_recoding.search.dealing import deal

        return deal(
            taxonomy, demands, objective=_cost(recoding), tail=recoding.tail, settled=settled
        )
    if recoding.algorithm == "mondrian":
        from dbdeid.methods.local_recoding.baselines.mondrian import mondrian

        return mondrian(taxonomy, demands, relaxed=recoding.relaxed, settled=settled)
    from dbdeid.methods.local_recoding.baselines.clustering import cluster

    assert objective != "balanced"
    assert objective != "loss"
    seed = hashlib.sha256(f"{recoding.key} blocks".encode()).digest()
    return cluster(
        taxonomy,
        demands,
        algorithm=recoding.algorithm,
        objective=objective,
        diversity_weight=recoding.diversity_weight,
        rng=np.random.default_rng(list(seed)),
        settled=settled,
    )


def _safe(
    taxonomy: Taxonomy,
    demands: Demands,
    parameters: Parameters[object],
    settled: Callable[[int], None],
) -> Blocks:
    """Blocks that do not depend on who has which sensitive value.

    Raises:
        Unsatisfiable: the table is refused; which others there could be, is not looked for.
    """
    from dbdeid.methods.local_recoding.search.symmetric import symmetric

    recoding = recoding_of(parameters)
    seed = hashlib.sha256(f"{recoding.key} people".encode()).digest()
    order = np.random.default_rng(list(seed)).permutation(demands.units.records)
    blocks = symmetric(taxonomy, demands, order, objective=_cost(recoding), settled=settled)
    if not blocks.left:
        regions = taxonomy.regions(demands.units, blocks.row, blocks.block, blocks.number)
        classes = taxonomy.classes(regions)
        number = int(classes.max(initial=-1)) + 1
        if demands.held(blocks.row, classes[blocks.block], blocks.records, number).all():
            return blocks
    raise Unsatisfiable(
        f"minimality: safe does not reach {wanted(parameters)}: some of its largest blocks, which "
        "are fixed by the quasi-identifiers, do not hold",
        hint="use weaker models, such as a smaller l, or minimality: measured, which tells how "
        "many people can be read",
    )


def _cost(recoding: Recoding) -> Cost:
    """What transformations cost: not what they do to values inside of blocks, yet unknown."""
    if recoding.objective == "loss" or recoding.objective == "node_entropy":
        return recoding.objective
    return "balanced"


def require_possible(lattice: Lattice, demands: Demands, parameters: Parameters[object]) -> None:
    """Refuse models that not even the largest blocks, the classes at the highest levels, hold.

    Raises:
        Unsatisfiable: some do not; the message says what of the models does not.
    """
    units = demands.units
    groups = np.stack(
        [
            attribute.groups[level][codes]
            for attribute, level, codes in zip(
                lattice.attributes, lattice.top, units.codes, strict=True
            )
        ]
    )
    classes, place = np.unique(groups, axis=1, return_inverse=True)
    rows = np.arange(len(units.weights))
    blocks = Blocks(rows, place.ravel().astype(np.int64), units.weights)
    held = demands.hold(blocks)
    if held.all():
        return
    lost = int(blocks.sizes[~held].sum())
    whole = classes.shape[1] == 1
    raise Unsatisfiable(
        f"no local recoding reaches {wanted(parameters)}: "
        + (
            "the whole source as one block does not hold"
            if whole
            else f"at the highest levels {lost} of {units.records} records are in blocks that do "
            "not hold"
        )
        + "".join(
            f"\n  {line}"
            for line in alone(
                lattice, units, parameters, 0, lattice.top, "in classes that do not hold"
            )
        ),
        hint="use weaker models, such as a smaller k" + ("" if whole else ", or higher max_level"),
    )


def _metrics(
    taxonomy: Taxonomy, units: Tuples, blocks: Blocks, regions: Regions
) -> dict[str, float]:
    """What the written table will have; blocks that read alike are one class."""
    class_of = taxonomy.classes(regions)[blocks.block]
    sizes, total = blocks.sizes, max(units.records, 1)
    return {
        "loss": float(taxonomy.losses(regions) @ sizes / total),
        "node_entropy": float(taxonomy.entropies(regions) @ sizes / total),
        "block_entropy": block_entropy(taxonomy, units, blocks.row, class_of, blocks.records),
    }


def _described(lattice: Lattice, recoding: Recoding, found: Blocks, blocks: Blocks) -> JsonObject:
    """How the blocks were made, in plain values."""
    return {
        "name": recoding.algorithm,
        "lattice_size": lattice.size,
        "checked": 0,
        "proven_optimal": False,
        "lower_bound": None,
        "gap": None,
        "time_limit": None,
        "out_of_time": False,
        "interrupted": False,
        "objective": recoding.objective,
        "blocks": blocks.number,
        "placed_afterwards": found.left,
    }


# -- writing ------------------------------------------------------------------------------------


def write(
    session: Session,
    quasi_identifiers: Sequence[QuasiIdentifier],
    released: Sequence[Column],
    plan: RecodingPlan,
    parameters: Parameters[object],
) -> Written:
    """The release, its dictionary and the private crosswalk as temporary tables.

    Args:
        session: where the plan's records are staged.
        quasi_identifiers: in the order of the plan.
        released: all released columns as staged, in order.
        plan: the blocks.
        parameters: as in `plan`.
    """
    names = names_of(quasi_identifiers, parameters)
    shown = [column.shown for column in plan.columns]
    for step in steps(names, unchanged(quasi_identifiers, plan)):
        session.run(step)
    staged, *counted, crosswalk = (
        session.run(step) for step in recoded_rows.release_steps(names, released)
    )
    upload_dictionary(session, quasi_identifiers, shown)
    dictionary = session.run(dictionary_step(quasi_identifiers, staged))
    outcome = Outcome(
        None,
        shown,
        0,
        0,
        plan.metrics,
        plan.search,
        readings=plan.readings,
        downcoded=plan.downcoded,
    )
    return Written(
        staged,
        dictionary,
        counted[0] if counted else staged,
        outcome,
        staged,
        crosswalk=crosswalk,
    )


def unchanged(quasi_identifiers: Sequence[QuasiIdentifier], plan: RecodingPlan) -> list[str]:
    """The quasi-identifiers that no block generalizes."""
    return [
        q.name
        for q, own in zip(quasi_identifiers, plan.columns, strict=True)
        if not any(value.level for value in own.shown.values())
    ]


def steps(names: Names, unchanged: Sequence[str]) -> tuple[Step, Step]:
    """From the blocks to the recoded records."""
    return recoded_rows.blocks_step(names), recoded_rows.recoded_step(names, unchanged)


class LocalRecodingMethod(Method[RecodingPlan]):
    """Blocks of records, each generalized by itself."""

    def parameters(
        self,
        bound: Bound,
        shared: Parameters[None],
        quasi_identifiers: Sequence[QuasiIdentifier] | None,
    ) -> Parameters[object]:
        """How blocks are made; a mean risk is within its threshold where that of every block is."""
        means = [m.fewest for m in bound.models if isinstance(m, MaxRisk) and m.of_table]
        rule = replace(shared.rule, k=max([shared.rule.k, *means]))
        return replace(shared, rule=rule).under(options(bound))

    def plan(
        self,
        prepared: Prepared,
        session: Session,
        progress: Callable[[Any], None] | None = None,
        offer: Offer | None = None,
    ) -> Planned[RecodingPlan]:
        """Blocks of records in which every declared model holds."""
        qis, parameters = prepared.quasi_identifiers, prepared.parameters
        return Planned(prepared, plan(session, qis, parameters, progress, offer))

    def write(self, planned: Planned[RecodingPlan], session: Session) -> Written:
        """The release, its dictionary and the private crosswalk."""
        prepared = planned.prepared
        qis, parameters = prepared.quasi_identifiers, prepared.parameters
        return write(session, qis, prepared.released, planned.plan, parameters)

    def dealt(self, planned: Planned[RecodingPlan], session: Session) -> Dealt:
        """Where the records of each unit go, and what blocks read."""
        prepared = planned.prepared
        names = names_of(prepared.quasi_identifiers, prepared.parameters)
        kept = unchanged(prepared.quasi_identifiers, planned.plan)
        return recoded_rows.dealt(session, names, kept)

    def steps(self, draft: Draft) -> Iterator[Step]:
        """From units of records to blocks and to the release.

        Blocks are made outside the database; or dealt inside, as is shown for one transformation.
        """
        parameters, recoding = draft.parameters, recoding_of(draft.parameters)
        sensitive = tuple(sensitive_columns(draft.bound))
        names = Names(draft.quasi_identifiers, sensitive, recoding.others, parameters.subject)
        yield recoded_rows.records_step(names)
        yield recoded_rows.units_step(names)
        if recoding.engine == "sql":
            from dbdeid.methods.local_recoding import sql_dealing

            yield from sql_dealing.steps(
                draft.quasi_identifiers, len(names.sensitive), draft.node, parameters.k
            )
        yield from steps(names, ())
        yield from recoded_rows.release_steps(names, draft.released)
        yield draft.dictionary

    def beforehand(self, prepared: Prepared) -> Iterator[str]:
        """Whether it takes hours."""
        recoding = recoding_of(prepared.parameters)
        if recoding.grows and prepared.rows > SLOW:
            yield (
                f"algorithm {recoding.algorithm} grows blocks one by one, in a time that rises "
                f"with the square of the records: hours for {prepared.rows:,}; dealing takes "
                "minutes"
            )

    def why_blank(
        self, prepared: Prepared, search: Mapping[str, Any], less: str
    ) -> tuple[str, str]:
        """No smaller block would do."""
        return "No smaller block of records holds the models", less
