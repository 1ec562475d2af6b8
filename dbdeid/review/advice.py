"""What a check says beyond that a spec fits: what makes records unique, and what that costs.

Nothing here is a promise. The counts are of the source as it is, NULL being a value of its own; the
costs are lower bounds by a short search, made where that is quick or asked for.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from dbdeid.bind.bound import Bound
from dbdeid.data.classes import TUPLES
from dbdeid.engine.expressions import count_rows, select
from dbdeid.engine.session import Session
from dbdeid.lattice.exploration import Interrupted
from dbdeid.lattice.uniques import Uniques
from dbdeid.methods.common.searching import Ground, Remembering, lattice_of
from dbdeid.methods.full_domain.search.costs import Costs, costs
from dbdeid.methods.full_domain.searches import SEARCHES
from dbdeid.methods.full_domain.searching import best_so_far
from dbdeid.prepare.prepare import Prepared
from dbdeid.prepare.quasi_identifier import QuasiIdentifier
from dbdeid.review import dependence
from dbdeid.review.method_comparison import LARGER, SAMPLE, Comparison, compare
from dbdeid.review.method_comparison import advice as on_methods
from dbdeid.review.model_costs import ModelCost, model_costs
from dbdeid.review.model_costs import advice as on_models
from dbdeid.spec.method_spec import FullDomain
from dbdeid.workspace.earlier_releases import each_earlier, places_of
from dbdeid.workspace.progress import Clock, Offer
from dbdeid.workspace.workplace import Workplace

LARGE = 2_000_000  # distinct tuples that are not looked at without being asked
QUICK = 500_000  # tuples times quasi-identifiers whose costs are weighed without being asked
SECONDS = 3.0  # that the search takes for it at most
DEEP = 60.0  # where it was asked for
MUCH = 0.25  # of the unique records need a column: it is named
HALF = 0.5  # of what leaving a column out does is enough for a level to be named
LITTLE = 0.02  # of detail that is not worth a word
MUCH_LOST = 0.3  # of detail, for which another method is named
NAMED = 2  # columns that are advised on for one reason


@dataclass(frozen=True, slots=True)
class Consultation:
    """What is told of the quasi-identifiers of a source.

    Attributes:
        uniqueness: `records`, `unique_records`, `columns` (for each quasi-identifier the records
            that are unique by it `alone` and `without` it), `sets` (for each size the `columns`
            by which most records are unique, and how many).
        cost: `transformation`, `loss` (mean over the columns), `columns` (for each its `loss`, and
            the mean loss of the others, `others_with` and `others_without` it), `models` (for each
            its loss with and without it, and what it `costs`), `checked`, `proven_optimal`; None
            where it was not weighed.
        methods: what each method would give on a sample, the declared one first.
        advice: sentences, what to change first.
    """

    uniqueness: Mapping[str, Any]
    cost: Mapping[str, Any] | None
    methods: Comparison
    advice: tuple[str, ...]


def consult(
    prepared: Prepared, session: Session, clock: Clock, offer: Offer | None = None, *, deep: bool
) -> Consultation | None:
    """What there is to say of the quasi-identifiers; None without any, or where they are too many.

    Args:
        prepared: the prepared spec.
        session: where its source is staged.
        clock: told of the search for what the columns cost.
        offer: told the best found so far when that search is interrupted.
        deep: look at a large source, too.

    Raises:
        Interrupted: by the user.
    """
    if not prepared.quasi_identifiers:
        return None
    count = select(count_rows()).from_(TUPLES.table)
    tuples = int(session.row(count)[0])
    if tuples > LARGE and not deep:
        return None
    lattice = lattice_of(prepared.quasi_identifiers)
    parameters = prepared.parameters
    plain = replace(parameters, rule=replace(parameters.rule, null_policy="own_category"))
    ground = Ground.of(session, lattice, plain)
    uniques = Uniques(ground.tuples)
    seen = _uniqueness(prepared, uniques)
    quick = tuples * uniques.width <= QUICK
    seconds = DEEP if deep else SECONDS
    weighed = None
    if deep or quick:
        weighed = _weighed(prepared, ground, seconds, clock, offer)
    methods = compare(prepared, session, seconds, LARGER if deep else SAMPLE)
    return Consultation(
        seen,
        _told(prepared.quasi_identifiers, weighed) if weighed else None,
        methods,
        (
            *_advice(prepared, uniques, seen, weighed, methods),
            *dependence.near(prepared, session, weighed.columns.node if weighed else None),
        ),
    )


@dataclass(frozen=True, slots=True)
class _Weighed:
    """What each quasi-identifier costs, and each model."""

    columns: Costs
    models: tuple[ModelCost, ...]


def _weighed(
    prepared: Prepared, ground: Ground, seconds: float, clock: Clock, offer: Offer | None
) -> _Weighed | None:
    """The costs in loss, where a transformation is searched for; models take half of the time."""
    parameters, method = prepared.parameters, prepared.bound.spec.method
    searched = isinstance(method, FullDomain) and method.transformation is None
    if not searched or parameters.rule.null_policy == "wildcard" or len(ground.tuples.codes) < 2:
        return None
    here = replace(parameters, engine="numpy")
    problem = ground.problem(here, Remembering(ground.checker(here)))
    try:
        found = costs(problem, SEARCHES["optimal"], seconds / 2, clock.progress)
    except Interrupted as interrupt:
        if offer is not None:
            offer(best_so_far(ground, here, interrupt.found))
        raise
    return _Weighed(found, model_costs(here, ground, seconds / 2)) if found else None


def _uniqueness(prepared: Prepared, uniques: Uniques) -> dict[str, Any]:
    every = range(uniques.width)
    names = [q.name for q in prepared.quasi_identifiers]
    return {
        "records": prepared.rows,
        "unique_records": uniques.count(every),
        "columns": [
            {
                "name": name,
                "alone": uniques.count([i]),
                "without": uniques.count([j for j in every if j != i]),
            }
            for i, name in enumerate(names)
        ],
        "sets": [
            {
                "columns": [names[c] for c in found.columns],
                "unique_records": found.unique,
                "exhaustive": found.exhaustive,
            }
            for found in uniques.worst()
        ],
    }


def _told(quasi_identifiers: Sequence[QuasiIdentifier], weighed: _Weighed) -> dict[str, Any]:
    found = weighed.columns
    names = [q.name for q in quasi_identifiers]
    return {
        "transformation": dict(zip(names, found.node, strict=True)),
        "loss": sum(found.loss) / len(found.loss),
        "columns": [
            {
                "name": name,
                "loss": found.loss[i],
                "others_with": found.others(i),
                "others_without": found.without[i],
            }
            for i, name in enumerate(names)
        ],
        "models": [model.to_dict() for model in weighed.models],
        "checked": found.checked,
        "proven_optimal": found.proven,
    }


def _advice(
    prepared: Prepared,
    uniques: Uniques,
    seen: Mapping[str, Any],
    weighed: _Weighed | None,
    methods: Comparison,
) -> Iterator[str]:
    """What to change first: what makes records unique, which model and which column cost most,
    and whether another method would lose much less."""
    named: set[int] = set()
    if seen["unique_records"]:
        for number, text in _on_uniqueness(prepared, uniques, seen):
            named.add(number)
            yield text
    if weighed is not None:
        yield from on_models(weighed.models)
        yield from _on_cost(prepared.quasi_identifiers, weighed.columns, named)
    lost = sum(weighed.columns.loss) / len(weighed.columns.loss) if weighed else None
    yield from on_methods(methods, lost)
    if lost is not None and lost > MUCH_LOST and not methods.methods:
        yield (
            f"{lost:.2f} of the detail is lost: `method: local_recoding` generalizes each "
            "block of records by itself, mostly loses less, and leaves no record out"
        )


def _on_uniqueness(
    prepared: Prepared, uniques: Uniques, seen: Mapping[str, Any]
) -> Iterator[tuple[int, str]]:
    """Numbers of quasi-identifiers, and what is said of each."""
    alone = {i: c["alone"] for i, c in enumerate(seen["columns"])}
    much = [i for i in alone if alone[i] >= MUCH * seen["records"]]
    for i in sorted(much, key=lambda i: (-alone[i], i))[:NAMED]:
        q = prepared.quasi_identifiers[i]
        share = _share(alone[i], seen["records"])
        yield i, f"{q.name}: {share} of the records are unique by it alone; drop it, or coarsen it"
    unique = seen["unique_records"]
    needed = {i: unique - c["without"] for i, c in enumerate(seen["columns"]) if i not in much}
    ranked = sorted(needed, key=lambda i: (-needed[i], i))
    for i in ranked[:NAMED]:
        if needed[i] < MUCH * unique:
            return
        q = prepared.quasi_identifiers[i]
        said = f"{q.name}: {_share(needed[i], unique)} of the unique records are unique only by it"
        level, left = _level(q, i, uniques, unique, needed[i])
        if level is None:
            yield i, f"{said}; drop it, or give it a coarser hierarchy"
        else:
            gone = _share(unique - left, unique)
            yield i, f"{said}; drop it, or start at `min_level: {level}`: {gone} are unique no more"


def _level(
    q: QuasiIdentifier, number: int, uniques: Uniques, unique: int, needed: int
) -> tuple[int | None, int]:
    """The lowest level below the top that does half of what leaving the column out does."""
    for level in range(q.min_level + 1, q.height):
        left = uniques.coarser(number, q.coding.groups(level))
        if unique - left >= HALF * needed:
            return level, left
    return None, unique


def _on_cost(
    quasi_identifiers: Sequence[QuasiIdentifier], found: Costs, named: Collection[int]
) -> Iterator[str]:
    gained = {i: found.others(i) - without for i, without in enumerate(found.without)}
    lost = [i for i, q in enumerate(quasi_identifiers) if found.node[i] == q.height]
    best = "the best transformation" if found.proven else "the best transformation found"
    if lost:
        names = ", ".join(quasi_identifiers[i].name for i in lost)
        yield f"{names}: {best} releases `*` only; drop what nobody needs, or refine its hierarchy"
    left = [i for i in gained if i not in lost and i not in named]
    ranked = sorted(left, key=lambda i: (-gained[i], i))
    for i in ranked[:NAMED]:
        if gained[i] >= LITTLE:
            yield (
                f"{quasi_identifiers[i].name}: costs the others; they lose {found.others(i):.3f} "
                f"with it, {found.without[i]:.3f} or less without; drop it, or coarsen it first"
            )


def _share(part: int, whole: int) -> str:
    return f"{part / whole:.0%}"


def remembered(work: Workplace, bound: Bound) -> list[dict[str, Any]]:
    """The earlier runs on the same source, newest first: who has several releases compares them."""
    unread: list[str] = []
    found = each_earlier(work, bound, places_of(bound, work), unread)
    runs = [one for one in found if not one.elsewhere]  # a run looks at the records of others
    runs.sort(key=lambda one: one.entry.created, reverse=True)
    return [
        {
            "release": one.entry.release,
            "created": one.entry.created.isoformat(timespec="seconds"),
            "exports": list(one.entry.exports),
        }
        for one in runs
    ]
