"""The search for a transformation of a staged source, and how it may end.

It ends with the best transformation, proven or not; with the best so far, when the user interrupts
it and takes that; or with an error that says whether it is proven that there is none.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dbdeid.data.classes import TUPLES, tuple_values_relation
from dbdeid.engine.expressions import select
from dbdeid.engine.session import Session
from dbdeid.errors import DataError
from dbdeid.lattice.check import Check, Checker
from dbdeid.lattice.checker import NumpyChecker
from dbdeid.lattice.exploration import (
    Placed,
    Problem,
    Progress,
)
from dbdeid.lattice.lattice import Attribute, Lattice, Node
from dbdeid.lattice.objectives import OBJECTIVES, under
from dbdeid.lattice.sampling import sampled
from dbdeid.lattice.tuples import Tuples, Values
from dbdeid.methods.common.levels import Levels
from dbdeid.methods.common.sql_checker import SqlChecker
from dbdeid.prepare.problem import Parameters, acceptable
from dbdeid.prepare.quasi_identifier import QuasiIdentifier
from dbdeid.prepare.sensitive_conditions import Sensitive

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
    def of(cls, session: Session, lattice: Lattice, parameters: Parameters[object]) -> Ground:
        """The staged tuples.

        Raises:
            DataError: NULLs stand in too many combinations of quasi-identifiers for wildcards.
        """
        tuples = _tuples(session, len(lattice.attributes), parameters)
        if parameters.rule.null_policy == "wildcard":
            _require_few_patterns(lattice, tuples)
        return cls(session, lattice, tuples)

    def checker(self, parameters: Parameters[Levels]) -> Checker:
        """What looks at single transformations; it does not depend on the suppression limit."""
        if parameters.options.engine == "sql":
            by_subject = self.tuples.subjects is not None
            return SqlChecker(self.session, self.lattice, parameters.rule, by_subject=by_subject)
        tally = OBJECTIVES[parameters.options.objective].tally
        return NumpyChecker(
            self.lattice,
            self.tuples,
            parameters.rule,
            tally and tally(self.lattice, self.tuples),
        )

    def problem(self, parameters: Parameters[Levels], checker: Checker) -> Problem:
        """Build the search problem."""
        return Problem(
            self.lattice,
            self.tuples,
            checker,
            limit=parameters.options.limit(self.tuples.people),
            objective=under(parameters.rule, OBJECTIVES[parameters.options.objective]),
            accept=lambda check: acceptable(check, parameters, self.tuples.records),
            convex=parameters.convex,
        )

    def shares(self, parameters: Parameters[Levels]) -> tuple[float, ...]:
        """What parts of the data the samples are, from the smallest; few data have none."""
        share, shares = 1 / FINER, list[float]()
        while share * len(self.tuples.weights) >= LEAST[parameters.options.engine]:
            shares.insert(0, share)
            share /= FINER
        return tuple(shares)

    def samples(self, parameters: Parameters[Levels]) -> Iterator[Problem]:
        """Build the search problem on samples of the data, on arrays whatever the engine."""
        here = parameters.under(replace(parameters.options, engine="numpy"))
        for share in self.shares(parameters):
            part = replace(self, tuples=sampled(self.tuples, share))
            if part.tuples.people:
                yield part.problem(here, part.checker(here))

    def named(self, node: Node) -> dict[str, int]:
        """The level of each quasi-identifier."""
        names = (attribute.name for attribute in self.lattice.attributes)
        return dict(zip(names, node, strict=True))


class Remembering:
    """A checker that looks at no transformation twice, for several searches on one ground."""

    def __init__(self, checker: Checker) -> None:
        self._checker = checker
        self._checks: dict[Node, Check] = {}

    def check(self, node: Node) -> Check:
        """Check a node."""
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


def _tuples(session: Session, count: int, parameters: Parameters[object]) -> Tuples:
    names = [f"q{i}" for i in range(count)]
    keys = [*names, *(["subject"] if parameters.subject is not None else [])]
    found = session.arrays(select(*keys, "records").from_(TUPLES.table).order_by("rowid"))
    codes = tuple(np.asarray(found.pop(name)) for name in names)
    records = np.asarray(found.pop("records"), np.int64)
    values = tuple(_values(session, i, s) for i, s in enumerate(parameters.sensitive))
    return Tuples(codes, records, found.get("subject"), values)


def _values(session: Session, number: int, sensitive: Sensitive) -> Values:
    entries = select("tuple", "value", "records").from_(tuple_values_relation(number).table)
    found = session.arrays(entries.order_by("tuple", "value"))
    row, value, count = (_narrow(found.pop(name)) for name in ("tuple", "value", "records"))
    return Values(row, value, count, len(sensitive.whole.counts))


def _narrow(numbers: NDArray[Any]) -> NDArray[np.signedinteger[Any]]:
    """Whole numbers in half the memory, where they fit: there may be one for each record."""
    fits = int(numbers.max(initial=0)) <= np.iinfo(np.int32).max
    return numbers.astype(np.int32 if fits else np.int64, copy=False)


def lattice_of(quasi_identifiers: Sequence[QuasiIdentifier]) -> Lattice:
    """The transformations to choose from."""
    return Lattice(tuple(_attribute(q) for q in quasi_identifiers))


def _attribute(quasi_identifier: QuasiIdentifier) -> Attribute:
    coding, levels = quasi_identifier.coding, range(quasi_identifier.height + 1)
    return Attribute(
        quasi_identifier.name,
        tuple(coding.groups(level) for level in levels),
        tuple(coding.loss(level) for level in levels),
        quasi_identifier.weight,
        quasi_identifier.min_level,
        quasi_identifier.max_level,
        coding.null,
        tuple(coding.sizes(level) for level in levels),
    )
