"""A search run to its end: what it found, or why it found nothing."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from dbdeid.data.json import JsonObject
from dbdeid.errors import DbdeidError, NothingFound
from dbdeid.lattice.exploration import Exploration, Found, Interrupted, Problem, Progress, explore
from dbdeid.lattice.lattice import Lattice
from dbdeid.methods.common.levels import Levels
from dbdeid.methods.common.searching import BestSoFar, Ground, Offer
from dbdeid.methods.common.unsatisfiable import unsatisfiable
from dbdeid.methods.full_domain.search import coarse
from dbdeid.methods.full_domain.searches import GREEDY, SEARCHES
from dbdeid.prepare.problem import Parameters


def search(
    ground: Ground,
    problem: Problem,
    parameters: Parameters[Levels],
    progress: Callable[[Progress], None] | None = None,
    offer: Offer | None = None,
) -> tuple[Found, bool]:
    """The outcome of the search that the parameters name, and whether it was interrupted.

    A time limit counts from when a first solution was looked for: in few checks, on samples first.
    The greedy searches, which are such few checks themselves, do that only when their time is up;
    `optimal` does it of much data without a limit, too, which changes nothing of what it finds.

    Args:
        ground: the staged source.
        problem: of the ground, under the parameters.
        parameters: name the search and its time limit.
        progress: called after every check.
        offer: asked whether to go on with the best so far when the search is interrupted.

    Raises:
        Interrupted: by the user, who does not take the best so far.
        DbdeidError: the search cannot take the problem.
    """
    limit, greedy = parameters.options.time_limit, parameters.options.search in GREEDY
    large = parameters.options.search == "optimal" and bool(ground.shares(parameters))

    def start(exploration: Exploration) -> None:
        coarse.start(exploration, ground.samples(parameters))

    try:
        found = explore(
            SEARCHES[parameters.options.search],
            problem,
            time_limit=limit,
            progress=progress,
            start=start if not greedy and (limit is not None or large) else None,
        )
        if greedy and found.out_of_time and found.node is None:
            late = explore(start, problem, progress=progress)
            both = found.checked + late.checked, found.seconds + late.seconds
            found = replace(late, checked=both[0], seconds=both[1], out_of_time=True)
    except Interrupted as interrupt:
        if offer is None or not offer(best_so_far(ground, parameters, interrupt.found)):
            raise
        ground.session.settle()
        return interrupt.found, True
    return found, False


def best_so_far(ground: Ground, parameters: Parameters[Levels], found: Found) -> BestSoFar:
    """What an interrupted search has, in the names of the columns."""
    assert found.node is not None
    return BestSoFar(
        ground.named(found.node),
        parameters.options.objective,
        found.score,
        found.gap,
        found.checked,
    )


def described(
    found: Found, parameters: Parameters[Levels], *, interrupted: bool = False
) -> JsonObject:
    """How a search ended, in plain values; what found nothing has no bound and no gap."""
    return {
        "name": parameters.options.search,
        "lattice_size": found.lattice_size,
        "checked": found.checked,
        "proven_optimal": found.proven_optimal,
        "lower_bound": None if found.node is None else found.lower_bound,
        "gap": None if found.node is None else found.gap,
        "time_limit": parameters.options.time_limit,
        "out_of_time": found.out_of_time,
        "interrupted": interrupted,
    }


def is_blank(found: Found, lattice: Lattice) -> bool:
    """Whether a search ran out of time before it found anything that tells records apart.

    Then every quasi-identifier is `*`, or at a level where all records have the same value.
    """
    return (
        found.check is not None
        and found.out_of_time
        and not found.proven_optimal
        and found.check.all_classes == 1
        and found.node != lattice.bottom
    )


def blank(ground: Ground, parameters: Parameters[Levels], found: Found) -> NothingFound:
    """Why a release of records that are all alike is not made when its search's time was up."""
    named = ground.named(found.node or ())
    levels = ", ".join(f"{name}: {level}" for name, level in named.items())
    return NothingFound(
        "nothing was released: when the time of the search was up, it had found nothing but `*` "
        "(or one value for all records) in every quasi-identifier. That nothing less general holds "
        "the models is not proven. It "
        f"checked {found.checked:,} of {found.lattice_size:,} transformations in "
        f"{found.seconds:,.1f} s (time_limit: {parameters.options.time_limit:g})",
        hint="raise `time_limit`, or leave it out; or give the search less to look at, by larger "
        "`min_level` or fewer quasi-identifiers; or allow a larger suppression_limit or weaker "
        f"models. To release `*` all the same, write into `method`: transformation: {{{levels}}}",
    )


def nothing(
    ground: Ground, problem: Problem, parameters: Parameters[Levels], found: Found
) -> DbdeidError:
    """Why a search ended without a transformation: none satisfies, or none was found."""
    if (
        found.proven_optimal
        or parameters.options.transformation is not None
        or parameters.impossible
        or parameters.k > ground.tuples.people
    ):
        return unsatisfiable(
            ground.lattice, ground.tuples, problem.checker, parameters, problem.limit
        )
    advice = [] if parameters.options.search == "optimal" else ["use `search: optimal`"]
    advice += ["raise `time_limit`"] if found.out_of_time else []
    advice += ["use weaker models or a larger suppression_limit"]
    return NothingFound(
        f"search {parameters.options.search} found no transformation that satisfies, in "
        f"{found.checked:,} of {found.lattice_size:,}"
        + (" until its time was up" if found.out_of_time else "")
        + "; it is not proven that there is none",
        hint=", or ".join(advice),
    )
