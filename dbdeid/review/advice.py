"""What a check says beyond that a spec fits: what makes records unique, and what that costs.

Nothing here is a promise. The counts are of the source as it is, NULL being a value of its own; the
costs are lower bounds by a short search, made where that is quick or asked for.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from dbdeid.bind.bound import Bound
from dbdeid.data.classes import TUPLES
from dbdeid.engine.expressions import count_rows, select
from dbdeid.engine.session import Session
from dbdeid.lattice.exploration import Interrupted
from dbdeid.lattice.uniques import Uniques
from dbdeid.methods.common.levels import levels_of
from dbdeid.methods.common.searching import Ground, Remembering, lattice_of
from dbdeid.methods.full_domain.search.costs import Costs, costs
from dbdeid.methods.full_domain.searches import SEARCHES
from dbdeid.methods.full_domain.searching import best_so_far
from dbdeid.methods.registry import method_of
from dbdeid.prepare.prepare import Prepared
from dbdeid.prepare.quasi_identifier import QuasiIdentifier
from dbdeid.review import dependence
from dbdeid.review.method_comparison import LARGER, SAMPLE, Comparison, compare
from dbdeid.review.method_comparison import advice as on_methods
from dbdeid.review.model_costs import ModelCost, model_costs
from dbdeid.review.model_costs import advice as on_models
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
class ColumnUniqueness:
    """The records that are unique by one quasi-identifier alone, and those without it."""

    name: str
    alone: int
    without: int


@dataclass(frozen=True, slots=True)
class UniqueSet:
    """The set of a size by which most records are unique, and how many are.

    Attributes:
        columns: the names of its quasi-identifiers.
        unique_records: that no other subject shares these columns with.
        exhaustive: all sets of the size were looked at.
    """

    columns: tuple[str, ...]
    unique_records: int
    exhaustive: bool


@dataclass(frozen=True, slots=True)
class Uniqueness:
    """What makes the records of a source unique.

    Attributes:
        records: of the source.
        unique_records: on all quasi-identifiers.
        columns: each quasi-identifier.
        sets: for each size the one by which most records are unique.
    """

    records: int
    unique_records: int
    columns: tuple[ColumnUniqueness, ...]
    sets: tuple[UniqueSet, ...]


@dataclass(frozen=True, slots=True)
class ColumnCost:
    """The loss of one column, and the mean loss of the others with and without it."""

    name: str
    loss: float
    others_with: float
    others_without: float


@dataclass(frozen=True, slots=True)
class Cost:
    """The loss under the best transformation found, and what causes it.

    Attributes:
        transformation: the level of each quasi-identifier.
        loss: mean over the columns.
        columns: each quasi-identifier.
        models: each declared model.
        checked: transformations that the search looked at.
        proven_optimal: no transformation loses less.
    """

    transformation: Mapping[str, int]
    loss: float
    columns: tuple[ColumnCost, ...]
    models: tuple[ModelCost, ...]
    checked: int
    proven_optimal: bool


@dataclass(frozen=True, slots=True)
class Change:
    """A change of the specification that a sentence of the advice names.

    Attributes:
        column: that is dropped, or starts at a level; None where the method changes.
        min_level: that it starts at; None: it is dropped.
        method: that is used; None where a column changes.
    """

    column: str | None = None
    min_level: int | None = None
    method: str | None = None


@dataclass(frozen=True, slots=True)
class Advised:
    """A sentence on what to change first, and the changes that it names."""

    text: str
    changes: tuple[Change, ...] = ()


@dataclass(frozen=True, slots=True)
class Consultation:
    """The advice on the quasi-identifiers of a source.

    Attributes:
        uniqueness: what makes records unique.
        cost: what the columns and models cost; None where it was not weighed.
        methods: what each method would give on a sample, the declared one first.
        advised: what to change first.
    """

    uniqueness: Uniqueness
    cost: Cost | None
    methods: Comparison
    advised: tuple[Advised, ...]


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
    weighed, more = None, list[str]()
    if deep or quick:
        weighed = _weighed(prepared, ground, seconds, clock, offer)
        more += method_of(prepared.bound).advice(prepared, ground, seconds)
    methods = compare(prepared, session, seconds, LARGER if deep else SAMPLE)
    return Consultation(
        seen,
        _cost(prepared.quasi_identifiers, weighed) if weighed else None,
        methods,
        (
            *_advice(prepared, uniques, seen, weighed, methods),
            *map(Advised, more),
            *map(
                Advised,
                dependence.near(prepared, session, weighed.columns.node if weighed else None),
            ),
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
    searched = method.can.costs and method.given_levels is None
    if not searched or parameters.rule.null_policy == "wildcard" or len(ground.tuples.codes) < 2:
        return None
    searching = levels_of(parameters)
    here = searching.under(replace(searching.options, engine="numpy"))
    problem = ground.problem(here, Remembering(ground.checker(here)))
    try:
        found = costs(problem, SEARCHES["optimal"], seconds / 2, clock.progress)
    except Interrupted as interrupt:
        if offer is not None:
            offer(best_so_far(ground, here, interrupt.found))
        raise
    return _Weighed(found, model_costs(here, ground, seconds / 2)) if found else None


def _uniqueness(prepared: Prepared, uniques: Uniques) -> Uniqueness:
    every = range(uniques.width)
    names = [q.name for q in prepared.quasi_identifiers]
    return Uniqueness(
        prepared.rows,
        uniques.count(every),
        tuple(
            ColumnUniqueness(name, uniques.count([i]), uniques.count([j for j in every if j != i]))
            for i, name in enumerate(names)
        ),
        tuple(
            UniqueSet(tuple(names[c] for c in found.columns), found.unique, found.exhaustive)
            for found in uniques.worst()
        ),
    )


def _cost(quasi_identifiers: Sequence[QuasiIdentifier], weighed: _Weighed) -> Cost:
    found = weighed.columns
    names = [q.name for q in quasi_identifiers]
    return Cost(
        dict(zip(names, found.node, strict=True)),
        sum(found.loss) / len(found.loss),
        tuple(
            ColumnCost(name, found.loss[i], found.others(i), found.without[i])
            for i, name in enumerate(names)
        ),
        weighed.models,
        found.checked,
        found.proven,
    )


def _advice(
    prepared: Prepared,
    uniques: Uniques,
    seen: Uniqueness,
    weighed: _Weighed | None,
    methods: Comparison,
) -> Iterator[Advised]:
    """What to change first: what makes records unique, which model and which column cost most,
    and whether another method would lose much less."""
    named: set[int] = set()
    if seen.unique_records:
        for number, advised in _on_uniqueness(prepared, uniques, seen):
            named.add(number)
            yield advised
    if weighed is not None:
        yield from map(Advised, on_models(weighed.models))
        yield from _on_cost(prepared.quasi_identifiers, weighed.columns, named)
    lost = sum(weighed.columns.loss) / len(weighed.columns.loss) if weighed else None
    for method, text in on_methods(methods, lost):
        yield Advised(text, (Change(method=method),))
    if lost is not None and lost > MUCH_LOST and not methods.methods:
        yield Advised(
            f"{lost:.2f} of the detail is lost: `method: local_recoding` generalizes each "
            "block of records by itself, mostly loses less, and leaves no record out",
            (Change(method="local_recoding"),),
        )


def _on_uniqueness(
    prepared: Prepared, uniques: Uniques, seen: Uniqueness
) -> Iterator[tuple[int, Advised]]:
    """Numbers of quasi-identifiers, and what is said of each."""
    alone = {i: c.alone for i, c in enumerate(seen.columns)}
    much = [i for i in alone if alone[i] >= MUCH * seen.records]
    for i in sorted(much, key=lambda i: (-alone[i], i))[:NAMED]:
        q = prepared.quasi_identifiers[i]
        share = _share(alone[i], seen.records)
        text = f"{q.name}: {share} of the records are unique by it alone; drop it, or coarsen it"
        yield i, Advised(text, (Change(q.name),))
    unique = seen.unique_records
    needed = {i: unique - c.without for i, c in enumerate(seen.columns) if i not in much}
    ranked = sorted(needed, key=lambda i: (-needed[i], i))
    for i in ranked[:NAMED]:
        if needed[i] < MUCH * unique:
            return
        q = prepared.quasi_identifiers[i]
        share = _share(needed[i], unique)
        said = f"{q.name}: {share} of the unique records would not be unique without it"
        level, left = _level(q, i, uniques, unique, needed[i])
        if level is None:
            text = f"{said}; drop it, or give it a coarser hierarchy"
            yield i, Advised(text, (Change(q.name),))
        else:
            gone = _share(unique - left, unique)
            text = f"{said}; drop it, or start at `min_level: {level}`: {gone} are not unique then"
            yield i, Advised(text, (Change(q.name), Change(q.name, level)))


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
) -> Iterator[Advised]:
    gained = {i: found.others(i) - without for i, without in enumerate(found.without)}
    lost = [i for i, q in enumerate(quasi_identifiers) if found.node[i] == q.height]
    best = "the best transformation" if found.proven else "the best transformation found"
    if lost:
        names = ", ".join(quasi_identifiers[i].name for i in lost)
        text = f"{names}: {best} releases `*` only; drop what nobody needs, or refine its hierarchy"
        yield Advised(text, tuple(Change(quasi_identifiers[i].name) for i in lost))
    left = [i for i in gained if i not in lost and i not in named]
    ranked = sorted(left, key=lambda i: (-gained[i], i))
    for i in ranked[:NAMED]:
        if gained[i] >= LITTLE:
            name = quasi_identifiers[i].name
            text = (
                f"{name}: makes the others lose {found.others(i):.3f} on average, "
                f"{found.without[i]:.3f} or less without it; drop it, or coarsen it first"
            )
            yield Advised(text, (Change(name),))


def _share(part: int, whole: int) -> str:
    return f"{part / whole:.0%}"


@dataclass(frozen=True, slots=True)
class EarlierRun:
    """An earlier run on the same source.

    Attributes:
        release: its release.
        created: when, ISO 8601, UTC.
        exports: the files that it wrote.
    """

    release: str
    created: str
    exports: tuple[str, ...]


def earlier_runs(work: Workplace, bound: Bound) -> list[EarlierRun]:
    """The earlier runs on the same source, newest first: who has several releases compares them."""
    unread: list[str] = []
    found = each_earlier(work, bound, places_of(bound, work), unread)
    runs = [one for one in found if not one.elsewhere]  # a run looks at the records of others
    runs.sort(key=lambda one: one.entry.created, reverse=True)
    return [
        EarlierRun(
            one.entry.release,
            one.entry.created.isoformat(timespec="seconds"),
            tuple(one.entry.exports),
        )
        for one in runs
    ]
