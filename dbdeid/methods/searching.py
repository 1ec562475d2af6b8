"""The search for a transformation of a staged source, and how it may end.

It ends with the best transformation, proven or not; with the best so far, when the user interrupts
it and takes that; or with an error that says whether it is proven that there is none.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sqlglot import exp

from dbdeid.data.classes import TUPLES, tuple_values_relation
from dbdeid.engine.session import Session
from dbdeid.errors import DataError, DbdeidError, NothingFound
from dbdeid.methods.conditions import Sensitive
from dbdeid.methods.parameters import Parameters, acceptable
from dbdeid.methods.sql_checker import SqlChecker
from dbdeid.methods.unsatisfiable import unsatisfiable
from dbdeid.search import coarse
from dbdeid.search.check import Check, Checker
from dbdeid.search.checker import NumpyChecker
from dbdeid.search.exploration import (
    Exploration,
    Found,
    Interrupted,
    Placed,
    Problem,
    Progress,
    explore,
)
from dbdeid.search.lattice import Lattice, Node
from dbdeid.search.objectives import OBJECTIVES, under
from dbdeid.search.sampling import sampled
from dbdeid.search.searches import GREEDY, SEARCHES
from dbdeid.search.tuples import Tuples, Values

# Patterns of NULLs that are compared with each other: 128 take ten seconds for 20,000 rows.
MOST_PATTERNS = 128
# Of each larger sample eight times as many tuples as of the one before, of the smallest at least so
# many: a check of that takes milliseconds. A query takes longer than a check of arrays.
FINER = 8
LEAST = {"numpy": 1 << 16, "sql": 1 << 13}


@dataclass(frozen=True, slots=True)
class BestSoFar:
    """What an interrupted search has, for the one who decides whether to take it.

    Attributes:
        transformation: level of each quasi-identifier.
        objective: what was minimized.
        score: of the transformation.
        gap: how far it may be from the optimum, as a share of it.
        checked: transformations that were checked.
    """

    transformation: Mapping[str, int]
    objective: str
    score: float
    gap: float
    checked: int


Offer = Callable[[BestSoFar], bool]
# Told how far the making of a release is.
Follow = Callable[[Progress | Placed], None]


@dataclass(frozen=True)
class Ground:
    """A staged source as every search of it sees it: read from the database once."""

    session: Session
    lattice: Lattice
    tuples: Tuples

    @classmethod
    def of(cls, session: Session, lattice: Lattice, parameters: Parameters) -> Ground:
        """The staged tuples.

        Raises:
            DataError: NULLs stand in too many combinations of quasi-identifiers for wildcards.
        """
        tuples = _tuples(session, len(lattice.attributes), parameters)
        if parameters.rule.null_policy == "wildcard":
            _require_few_patterns(lattice, tuples)
        return cls(session, lattice, tuples)

    def checker(self, parameters: Parameters) -> Checker:
        """What looks at single transformations; it does not depend on the suppression limit."""
        if parameters.engine == "sql":
            by_subject = self.tuples.subjects is not None
            return SqlChecker(self.session, self.lattice, parameters.rule, by_subject=by_subject)
        tally = OBJECTIVES[parameters.objective].tally
        return NumpyChecker(
            self.lattice,
            self.tuples,
            parameters.rule,
            tally and tally(self.lattice, self.tuples),
        )

    def problem(self, parameters: Parameters, checker: Checker) -> Problem:
        """What is searched for."""
        return Problem(
            self.lattice,
            self.tuples,
            checker,
            limit=parameters.limit(self.tuples.people),
            objective=under(parameters.rule, OBJECTIVES[parameters.objective]),
            accept=lambda check: acceptable(check, parameters, self.tuples.records),
            convex=parameters.convex,
        )

    def shares(self, parameters: Parameters) -> tuple[float, ...]:
        """What parts of the data the samples are, from the smallest; few data have none."""
        share, shares = 1 / FINER, list[float]()
        while share * len(self.tuples.weights) >= LEAST[parameters.engine]:
            shares.insert(0, share)
            share /= FINER
        return tuple(shares)

    def samples(self, parameters: Parameters) -> Iterator[Problem]:
        """What is searched for on samples of the data, on arrays whatever the engine."""
        here = replace(parameters, engine="numpy")
        for share in self.shares(parameters):
            part = replace(self, tuples=sampled(self.tuples, share))
            if part.tuples.people:
                yield part.problem(here, part.checker(here))

    def named(self, node: Node) -> dict[str, int]:
        """The level of each quasi-identifier."""
        names = (attribute.name for attribute in self.lattice.attributes)
        return dict(zip(names, node, strict=True))


def search(
    ground: Ground,
    problem: Problem,
    parameters: Parameters,
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
    limit, greedy = parameters.time_limit, parameters.search in GREEDY
    large = parameters.search == "optimal" and bool(ground.shares(parameters))

    def start(exploration: Exploration) -> None:
        coarse.start(exploration, ground.samples(parameters))

    try:
        found = explore(
            SEARCHES[parameters.search],
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


def best_so_far(ground: Ground, parameters: Parameters, found: Found) -> BestSoFar:
    """What an interrupted search has, in the names of the columns."""
    assert found.node is not None
    return BestSoFar(
        ground.named(found.node), parameters.objective, found.score, found.gap, found.checked
    )


def described(found: Found, parameters: Parameters, *, interrupted: bool = False) -> dict[str, Any]:
    """How a search ended, in plain values; what found nothing has no bound and no gap."""
    return {
        "name": parameters.search,
        "lattice_size": found.lattice_size,
        "checked": found.checked,
        "proven_optimal": found.proven_optimal,
        "lower_bound": None if found.node is None else found.lower_bound,
        "gap": None if found.node is None else found.gap,
        "time_limit": parameters.time_limit,
        "out_of_time": found.out_of_time,
        "interrupted": interrupted,
    }


def is_blank(found: Found, lattice: Lattice) -> bool:
    """Whether the time of a search was up before it found anything that tells records apart.

    Then every quasi-identifier is `*`, or at a level where all records have the same value.
    """
    return (
        found.check is not None
        and found.out_of_time
        and not found.proven_optimal
        and found.check.all_classes == 1
        and found.node != lattice.bottom
    )


def blank(ground: Ground, parameters: Parameters, found: Found) -> NothingFound:
    """Why a release of records that are all alike is not made when its search's time was up."""
    named = ground.named(found.node or ())
    levels = ", ".join(f"{name}: {level}" for name, level in named.items())
    return NothingFound(
        "nothing was released: when the time of the search was up, it had found nothing but `*` "
        "(or one value for all records) in every quasi-identifier. That nothing less general holds "
        "the models is not proven. It "
        f"checked {found.checked:,} of {found.lattice_size:,} transformations in "
        f"{found.seconds:,.1f} s (time_limit: {parameters.time_limit:g})",
        hint="raise `time_limit`, or leave it out; or give the search less to look at, by larger "
        "`min_level` or fewer quasi-identifiers; or allow a larger suppression_limit or weaker "
        f"models. To release `*` all the same, write into `method`: transformation: {{{levels}}}",
    )


def nothing(ground: Ground, problem: Problem, parameters: Parameters, found: Found) -> DbdeidError:
    """Why a search ended without a transformation: none satisfies, or none was found."""
    if (
        found.proven_optimal
        or parameters.transformation is not None
        or parameters.impossible
        or parameters.k > ground.tuples.people
    ):
        return unsatisfiable(
            ground.lattice, ground.tuples, problem.checker, parameters, problem.limit
        )
    advice = [] if parameters.search == "optimal" else ["use `search: optimal`"]
    advice += ["raise `time_limit`"] if found.out_of_time else []
    advice += ["use weaker models or a larger suppression_limit"]
    return NothingFound(
        f"search {parameters.search} found no transformation that satisfies, in {found.checked:,} "
        f"of {found.lattice_size:,}"
        + (" until its time was up" if found.out_of_time else "")
        + "; it is not proven that there is none",
        hint=", or ".join(advice),
    )


class Remembering:
    """A checker that looks at no transformation twice, for several searches on one ground."""

    def __init__(self, checker: Checker) -> None:
        self._checker = checker
        self._checks: dict[Node, Check] = {}

    def check(self, node: Node) -> Check:
        """What is found under a node."""
        if node not in self._checks:
            self._checks[node] = self._checker.check(node)
        return self._checks[node]


def _require_few_patterns(lattice: Lattice, tuples: Tuples) -> None:
    """Refuse what would take hours: under wildcards every pattern of NULLs meets every other."""
    nulls = [
        codes == attribute.null
        for codes, attribute in zip(tuples.codes, lattice.attributes, strict=True)
        if attribute.null is not None
    ]
    count = np.unique(np.stack(nulls), axis=1).shape[1] if nulls else 1
    if count > MOST_PATTERNS:
        raise DataError(
            f"NULLs stand in {count} different combinations of quasi-identifiers; null_policy: "
            f"wildcard compares each with each, and takes at most {MOST_PATTERNS}",
            hint="own_category is stricter and needs no comparison",
        )


def _tuples(session: Session, count: int, parameters: Parameters) -> Tuples:
    names = [f"q{i}" for i in range(count)]
    keys = [*names, *(["subject"] if parameters.subject is not None else [])]
    found = session.arrays(exp.select(*keys, "records").from_(TUPLES.table).order_by("rowid"))
    codes = tuple(np.asarray(found[name], np.uint32) for name in names)
    values = tuple(_values(session, i, s) for i, s in enumerate(parameters.sensitive))
    return Tuples(codes, np.asarray(found["records"], np.int64), found.get("subject"), values)


def _values(session: Session, number: int, sensitive: Sensitive) -> Values:
    entries = exp.select("tuple", "value", "records").from_(tuple_values_relation(number).table)
    found = session.arrays(entries.order_by("tuple", "value"))
    row, value, count = (np.asarray(found[n], np.int64) for n in ("tuple", "value", "records"))
    return Values(row, value, count, len(sensitive.whole.counts))
