"""Condensation: synthetic records drawn from clusters of real ones (Gal et al. 2014, and beyond).

The staged source is pulled as numbers, condensed and calibrated as arrays, and pushed back
as tables: the release, and the private table of which record is of which cluster.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dbdeid.bind.bound import Bound
from dbdeid.data.json import JsonObject
from dbdeid.data.records import Attribute, Condensed, Records
from dbdeid.engine.relation import Column
from dbdeid.engine.session import Session, Step
from dbdeid.errors import DataError, Mistake, Unsatisfiable
from dbdeid.methods.common.method import Draft, Method, Planned
from dbdeid.methods.common.outcome import Outcome, Written
from dbdeid.methods.common.searching import Offer
from dbdeid.methods.condensation import findings
from dbdeid.methods.condensation import synthetic_rows as rows
from dbdeid.methods.condensation.calibration_targets import Measured
from dbdeid.methods.condensation.details import Synthetic
from dbdeid.methods.condensation.options import Synthesis, declared_method, options, synthesis_of
from dbdeid.methods.condensation.synthetic_rows import Codes
from dbdeid.prepare.prepare import Prepared
from dbdeid.prepare.problem import Parameters
from dbdeid.prepare.quasi_identifier import QuasiIdentifier
from dbdeid.verify import Declared
from dbdeid.verify.base.declaration import Chance, Synthesized

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class CondensationPlan:
    """Synthetic records, and where they come from.

    Attributes:
        codes: the source as numbers.
        values: of each column the (n,) synthetic values.
        condensed: as they were drawn from clusters.
        synthetic: what is known of them.
        search: how they were made, in plain values.
    """

    codes: Codes
    values: tuple[Floats, ...]
    condensed: Condensed
    synthetic: Synthetic
    search: JsonObject


def plan(
    session: Session,
    quasi_identifiers: Sequence[QuasiIdentifier],
    parameters: Parameters[object],
    progress: Callable[[Any], None] | None = None,
    offer: Any = None,
) -> CondensationPlan:
    """Cluster the staged source, and draw as many synthetic records from each cluster.

    Args:
        session: where the source is staged.
        quasi_identifiers: none: every column is synthesized.
        parameters: how.
        progress: not called: there is nothing to choose from.
        offer: not asked.

    Raises:
        Unsatisfiable: there are fewer records than a cluster needs.
        DataError: a combination of the strata has too few, or a column cannot be synthesized, or
            there are too few records for the recipient's models.
    """
    from dbdeid.methods.attacks.membership import trial
    from dbdeid.methods.attacks.shadow_releases import shadowed
    from dbdeid.methods.condensation.clusters import condense

    synthesis = synthesis_of(parameters)
    codes = coded(session, synthesis)
    records = records_of(codes, synthesis)
    recipe = synthesis.recipe

    def condensed_by(found: Records, rng: np.random.Generator) -> Condensed:
        return condense(found, recipe, rng)

    started = perf_counter()
    condensed = condensed_by(records, _generator(synthesis, "records"))
    values = _columns(codes, synthesis, records, condensed)
    seconds = dict(condensed.seconds)
    swapped = None
    if synthesis.analyses is not None:
        swapped = _calibrated(session, synthesis, codes, values, condensed)
        values = tuple(own[place] for own, place in zip(values, swapped.places, strict=True))
        seconds["calibration"] = perf_counter() - started - sum(seconds.values())
    started = perf_counter()
    tried = trial(records, condensed_by, _generator(synthesis, "trial"), k=recipe.k)
    attacked = shadowed(records, condensed_by, _generator(synthesis, "shadows"), k=recipe.k)
    seconds["attacks"] = perf_counter() - started
    sizes = np.bincount(condensed.members)
    synthetic = Synthetic(
        k=recipe.k,
        clusters=len(sizes),
        smallest=int(sizes.min()),
        largest=int(sizes.max()),
        strata=synthesis.strata,
        merged=int(records.strata.max()) < int(_combinations(codes, synthesis).max()),
        response=synthesis.response,
        exact=recipe.time == "exact" and recipe.knows_response,
        counts=recipe.keeps_counts,
        nulls=recipe.variant == "recipient" or recipe.keeps_counts,
        categories=tuple(
            c.name for c, levels in zip(codes.columns, codes.levels, strict=True) if levels
        ),
        calibrated=swapped.statistics if swapped and swapped.better else 0,
        gap=swapped.after if swapped and swapped.better else 0.0,
        worse=swapped.rmsz if swapped and not swapped.better else None,
        trial=tried,
        shadows=attacked,
    )
    search: JsonObject = {
        "name": recipe.variant,
        "lattice_size": None,
        "checked": 1,
        "proven_optimal": False,
        "lower_bound": None,
        "gap": None,
        "clusters": synthetic.clusters,
        "seconds_of": seconds,
    }
    return CondensationPlan(codes, values, condensed, synthetic, search)


def coded(session: Session, synthesis: Synthesis) -> Codes:
    """The staged source as numbers.

    Raises:
        DataError: a column cannot be synthesized.
    """
    categorical = (*synthesis.categorical, *synthesis.strata)
    codes = rows.pull(
        session,
        synthesis.columns,
        categorical,
        synthesis.pools,
        synthesis.response,
        synthesis.strata,
    )
    for c, values, levels in zip(codes.columns, codes.values, codes.levels, strict=True):
        known = values[~np.isnan(values)]
        if levels is None and 0 < len(known) < synthesis.recipe.k and not np.ptp(known):
            raise DataError(
                f"column {c.name!r} has a single value, of fewer than k = {synthesis.recipe.k} "
                "records: nothing else could be drawn",
                hint="drop the column",
            )
    return codes


def records_of(codes: Codes, synthesis: Synthesis) -> Records:
    """The records to condense: strata first, then all columns that vary inside some stratum.

    Raises:
        Unsatisfiable: there are fewer records than a cluster needs.
        DataError: a combination of the strata has too few.
    """
    k, number = synthesis.recipe.k, codes.number
    if number < k:
        raise Unsatisfiable(
            f"k = {k} is more than the {number} records there are", hint="choose a smaller k"
        )
    names = [c.name for c in codes.columns]
    strata = _large_enough(_combinations(codes, synthesis), synthesis)
    kept = _constant(codes, names, synthesis, strata)
    attributes: list[Attribute] = []
    response = None
    for c, values, levels, grid in zip(
        codes.columns, codes.values, codes.levels, codes.grids, strict=True
    ):
        if c.name in kept:
            continue
        if c.name == synthesis.response:
            response = len(attributes)
        weight = synthesis.weights.get(c.name, 1.0)
        attributes.append(Attribute(c.name, values, levels, grid, weight))
    return Records(tuple(attributes), strata, response)


def _constant(codes: Codes, names: Sequence[str], synthesis: Synthesis, strata: Ints) -> set[str]:
    """The columns of the strata that have one value in each, also where some were joined."""
    found = set()
    for name in synthesis.strata:
        values = codes.values[names.index(name)]
        pairs = np.unique(np.stack([strata, values.astype(np.int64)]), axis=1)
        if pairs.shape[1] == strata.max() + 1:
            found.add(name)
    return found


def _combinations(codes: Codes, synthesis: Synthesis) -> Ints:
    """(n,) which combination of values of the strata each record has."""
    if not synthesis.strata:
        return np.zeros(codes.number, np.int64)
    named = dict(zip((c.name for c in codes.columns), codes.values, strict=True))
    values = np.stack([named[name] for name in synthesis.strata])
    return np.unique(values, axis=1, return_inverse=True)[1].reshape(-1).astype(np.int64)


def _large_enough(strata: Ints, synthesis: Synthesis) -> Ints:
    """Strata of at least k records each; with `small_strata: merge` the smallest are joined."""
    k, sizes = synthesis.recipe.k, np.bincount(strata)
    small = sizes < k
    if not small.any():
        return strata
    if not synthesis.merge:
        raise DataError(
            f"{int(small.sum())} of {len(sizes)} combinations of {', '.join(synthesis.strata)} "
            f"have fewer than k = {k} records, the smallest {int(sizes.min())}: no cluster can be "
            "made of them",
            hint="say `small_strata: merge` in `method` to condense them together, name fewer "
            "`strata`, or choose a smaller k",
        )
    order = np.argsort(sizes, kind="stable")
    joined = int(np.searchsorted(np.cumsum(sizes[order]), k)) + 1
    joined = max(joined, int(small.sum()))
    first = np.zeros(len(sizes), np.int64)
    first[order[joined:]] = np.arange(1, len(sizes) - joined + 1)
    return first[strata]


def _generator(synthesis: Synthesis, what: str) -> np.random.Generator:
    secret = hashlib.sha256(f"{synthesis.key} {what}".encode()).digest()
    return np.random.default_rng(int.from_bytes(secret, "big"))


def _columns(
    codes: Codes, synthesis: Synthesis, records: Records, condensed: Condensed
) -> tuple[Floats, ...]:
    """The synthetic values of all columns; those that a stratum has one of come from it."""
    drawn = {a.name: v for a, v in zip(records.attributes, condensed.columns, strict=True)}
    _, first = np.unique(records.strata, return_index=True)
    return tuple(
        drawn[c.name] if c.name in drawn else own[first][condensed.strata]
        for c, own in zip(codes.columns, codes.values, strict=True)
    )


def _calibrated(
    session: Session,
    synthesis: Synthesis,
    codes: Codes,
    values: Sequence[Floats],
    condensed: Condensed,
) -> Any:
    """Which record takes which value so that the recipient's models stay as they are."""
    from dbdeid.methods.condensation.calibration import calibrate
    from dbdeid.methods.condensation.statistics import Cell, Model

    drawn = rows.upload(session, codes, values, condensed.clusters)
    assert synthesis.analyses is not None
    analysed = synthesis.analyses(session, rows.RECORDS, drawn, codes.place)
    places = {c.name: i for i, c in enumerate(codes.columns)}
    frozen = {*synthesis.strata, *(name for model in analysed for name in model.frozen)}

    def cell(found: Measured) -> Cell:
        return Cell(places[found.column], found.source, found.synthetic)

    models = tuple(
        Model(
            model.kind,
            cell(model.response),
            cell(model.event) if model.event else None,
            tuple(cell(found) for found in model.covariates),
            model.rows,
        )
        for model in analysed
    )
    return calibrate(
        models,
        condensed.clusters,
        frozenset(places[name] for name in frozen),
        len(codes.columns),
        _generator(synthesis, "calibration"),
    )


def write(
    session: Session,
    quasi_identifiers: Sequence[QuasiIdentifier],
    released: Sequence[Column],
    plan: CondensationPlan,
    parameters: Parameters[object],
) -> Written:
    """The release as a temporary table, sorted and ready to be verified, and its clusters.

    Args:
        session: where the source is staged.
        quasi_identifiers: none.
        released: all released columns as staged, in order.
        plan: the synthetic records.
        parameters: as in `plan`.
    """
    rows.upload(session, plan.codes, plan.values, plan.condensed.clusters)
    members = plan.condensed.members
    session.upload(rows.MEMBERS.name, {"place": np.arange(len(members)), "cluster": members})
    staged, clusters = (
        session.run(step) for step in rows.release_steps(plan.codes.columns, plan.codes.place)
    )
    outcome = Outcome(
        node=(),
        shown=(),
        suppressed=0,
        suppressed_subjects=0,
        metrics={},
        search=plan.search,
        details=plan.synthetic,
    )
    return Written(staged, None, staged, outcome, staged, clusters=clusters)


class CondensationMethod(Method[CondensationPlan]):
    """Synthetic records in place of all records."""

    def parameters(
        self,
        bound: Bound,
        shared: Parameters[None],
        quasi_identifiers: Sequence[QuasiIdentifier] | None,
    ) -> Parameters[object]:
        """How records are synthesized."""
        return shared.under(options(bound))

    def plan(
        self,
        prepared: Prepared,
        session: Session,
        progress: Callable[[Any], None] | None = None,
        offer: Offer | None = None,
    ) -> Planned[CondensationPlan]:
        """Synthetic records, not yet in the database."""
        return Planned(prepared, plan(session, (), prepared.parameters, progress, offer))

    def write(self, planned: Planned[CondensationPlan], session: Session) -> Written:
        """The release and its clusters."""
        prepared = planned.prepared
        return write(session, (), prepared.released, planned.plan, prepared.parameters)

    def steps(self, draft: Draft) -> Iterator[Step]:
        """The steps from the staged source to numbers, and from drawn numbers back to values."""
        synthesis = synthesis_of(draft.parameters)
        columns = synthesis.columns
        named = (*synthesis.categorical, *synthesis.strata)
        categories = [rows.named(c) or c.name in named for c in columns]
        for i, (c, category) in enumerate(zip(columns, categories, strict=True)):
            if category:
                yield rows.levels_step(i, c, synthesis.pools.get(c.name))
        place = rows.place_in(columns)
        yield rows.records_step(columns, place)
        yield rows.codes_step(columns, categories, place)
        yield rows.synthetic_step(columns, categories, place)
        yield from rows.release_steps(columns, place)

    def size(self, prepared: Prepared, session: Session) -> dict[str, int | None]:
        """There is nothing to choose from."""
        return {"lattice_size": None}

    def try_values(self, prepared: Prepared, session: Session) -> None:
        """Refuse strata of too few records, and columns that cannot be synthesized."""
        synthesis = synthesis_of(prepared.parameters)
        records_of(coded(session, synthesis), synthesis)

    def unanswered(self, prepared: Prepared, session: Session) -> Iterator[Mistake]:
        """Columns whose values would leave as they are though they are those of single people."""
        return findings.unanswered(prepared, session)

    def cautions(self, prepared: Prepared, session: Session) -> Iterator[str]:
        """What a reader should know of records that are drawn from clusters."""
        return findings.notes(prepared, session)

    def told_by(self, outcome: Outcome) -> Iterator[str]:
        """Warnings after the run: missed statistics, and what attacks on a trial revealed."""
        return findings.tried(outcome)

    def declared(self, plain: Declared, bound: Bound, details: Mapping[str, Any]) -> Declared:
        """What synthetic records are held to."""
        method, trial = declared_method(bound), details["trial"]
        chance = None
        if trial is not None:
            chance = Chance(
                others=trial["unique_others"],
                hit_others=trial["hit_others"],
                members=trial["unique_members"],
                hit_members=trial["hit_members"],
            )
        synthesized = Synthesized(
            **{key: details[key] for key in ("response", "exact", "counts", "nulls")},
            k=bound.spec.smallest_class,
            strata=tuple(details["strata"]),
            merged=method.small_strata == "merge",
            categories=tuple(details["categories"]),
            pooled={c.name: c.spec.pool for c in bound.released if c.spec.pool is not None},
            chance=chance,
        )
        return replace(plain, synthesized=synthesized)
