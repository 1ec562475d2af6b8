"""The search for a transformation of a staged source, and how it may end.

It ends with the best transformation, proven or not; with the best so far, when the user interrupts
it and takes that; or with an error that says whether it is proven that there is none.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
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
from dbdeid.search.check import Check, Checker
from dbdeid.search.checker import NumpyChecker
from dbdeid.search.exploration import (
    Found,
    Interrupted,
    Placed,
    Problem,
    Progress,
    explore,
)
from dbdeid.search.lattice import Lattice, Node
from dbdeid.search.objectives import OBJECTIVES, under
from dbdeid.search.searches import SEARCHES
from dbdeid.search.tuples import Tuples, Values

# Patterns of NULLs that are compared with each other: 128 take ten seconds for 20,000 rows.
MOST_PATTERNS = 128


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
    try:
        found = explore(
            SEARCHES[parameters.search],
            problem,
            time_limit=parameters.time_limit,
            progress=progress,
        )
    except Interrupted as interrupt:
        if offer is None or not offer(_best(ground, parameters, interrupt.found)):
            raise
        ground.session.settle()
        return interrupt.found, True
    return found, False


def _best(ground: Ground, parameters: Parameters, found: Found) -> BestSoFar:
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
