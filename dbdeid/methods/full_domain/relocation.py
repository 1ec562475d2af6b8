"""Relocation: records of small classes are moved into others (hybrid k-anonymity).

A comparator (Nergiz & Gök 2014): what full-domain generalization would suppress gets the
quasi-identifiers of the nearest class that stays. No record is lost, and some are not true.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dbdeid.bind.bound import Bound
from dbdeid.data.classes import CODED
from dbdeid.engine.expressions import (
    Expr,
    Select,
    aliased,
    all_of,
    coalesce,
    column,
    literal,
    select,
)
from dbdeid.engine.relation import Column, Relation
from dbdeid.engine.session import Session, Step
from dbdeid.lattice.checker import NumpyChecker
from dbdeid.lattice.exploration import Progress
from dbdeid.lattice.lattice import Lattice, Node
from dbdeid.lattice.objectives import metrics
from dbdeid.lattice.tuples import Tuples
from dbdeid.methods.common import release_dictionary
from dbdeid.methods.common.generalized import STAGED, upload_labels
from dbdeid.methods.common.levels import Levels, levels_of
from dbdeid.methods.common.method import Draft, Method, Planned
from dbdeid.methods.common.outcome import Details, Outcome, Written
from dbdeid.methods.common.release_dictionary import upload_dictionary
from dbdeid.methods.common.searching import Ground, Offer, lattice_of
from dbdeid.methods.full_domain import full_domain
from dbdeid.prepare.prepare import Prepared
from dbdeid.prepare.problem import Parameters
from dbdeid.prepare.quasi_identifier import QuasiIdentifier
from dbdeid.spec.method.relocation import Relocation

Ints = NDArray[np.int64]

MOVED = Relation("deid_moved", schema="main", catalog="temp")
MOVES = Relation("deid_moves", schema="main", catalog="temp")


@dataclass(frozen=True, slots=True)
class Moved(Details):
    """What is known of a release whose records were moved: how many."""

    relocated: int

    @property
    def moved(self) -> int:
        """Records whose quasi-identifiers are not theirs."""
        return self.relocated


@dataclass(frozen=True, slots=True)
class RelocationPlan:
    """The transformation, and the tuples whose records move.

    Attributes:
        found: as full-domain generalization with suppression finds it.
        tuples: the source as it is staged.
        moved: the rows of the tuples that move.
        to: for each of them the row whose quasi-identifiers it gets.
    """

    found: full_domain.FullDomainPlan
    tuples: Tuples
    moved: Ints
    to: Ints


def plan(
    session: Session,
    quasi_identifiers: Sequence[QuasiIdentifier],
    parameters: Parameters[Levels],
    progress: Callable[[Progress], None] | None = None,
    offer: Offer | None = None,
) -> RelocationPlan:
    """The transformation of least loss that leaves no more records in small classes than may move.

    Raises:
        Unsatisfiable: none does; the message says what is achievable.
    """
    found = full_domain.plan(session, quasi_identifiers, parameters, progress, offer)
    lattice = lattice_of(quasi_identifiers)
    tuples = Ground.of(session, lattice, parameters).tuples
    kept = NumpyChecker(lattice, tuples, parameters.rule).kept(found.node)
    moved = np.flatnonzero(~kept)
    return RelocationPlan(found, tuples, moved, _nearest(lattice, tuples, found.node, kept, moved))


def _nearest(
    lattice: Lattice, tuples: Tuples, node: Node, kept: NDArray[np.bool_], moved: Ints
) -> Ints:
    """A row of the nearest class that stays: by the weights of the quasi-identifiers that change.

    Ties go to the larger class, then to the first.
    """
    groups = np.stack(
        [
            attribute.groups[level][codes]
            for attribute, level, codes in zip(lattice.attributes, node, tuples.codes, strict=True)
        ]
    )
    stays = np.flatnonzero(kept)
    classes, first, inverse = np.unique(
        groups[:, stays], axis=1, return_index=True, return_inverse=True
    )
    sizes = np.bincount(inverse.ravel(), tuples.weights[stays])
    shares = np.array(lattice.shares)[:, None]
    found = np.empty(len(moved), np.int64)
    for i, row in enumerate(moved):
        changed = np.round(((classes != groups[:, [row]]) * shares).sum(axis=0), 12)
        found[i] = stays[first[np.lexsort((-sizes, changed))[0]]]
    return found


def write(
    session: Session,
    quasi_identifiers: Sequence[QuasiIdentifier],
    released: Sequence[Column],
    plan: RelocationPlan,
    parameters: Parameters[Levels],
) -> Written:
    """The release and its dictionary as temporary tables, sorted and ready to be verified.

    Args:
        session: where the source is staged and coded.
        quasi_identifiers: in the order of the plan's node.
        released: all released columns as staged, in order.
        plan: what moves where.
        parameters: as in `plan`.
    """
    codes = plan.tuples.codes
    session.upload(
        MOVES.name,
        {f"q{i}": own[plan.moved] for i, own in enumerate(codes)}
        | {f"to{i}": own[plan.to] for i, own in enumerate(codes)},
    )
    names = [q.name for q in quasi_identifiers]
    moved = session.run(moved_step(names, [c.name for c in released]))
    node = plan.found.node
    upload_labels(session, quasi_identifiers, node)
    staged = session.run(
        full_domain.release_step(quasi_identifiers, released, node, parameters, moved)
    )
    outcome = _outcome(quasi_identifiers, plan, parameters)
    upload_dictionary(session, quasi_identifiers, outcome.shown)
    dictionary = session.run(dictionary_step(quasi_identifiers, staged))
    return Written(staged, dictionary, staged, outcome, staged)


def dictionary_step(quasi_identifiers: Sequence[QuasiIdentifier], staged: Relation) -> Step:
    """The dictionary, which says of each value that records with it may have it of others."""
    plain = release_dictionary.dictionary_step(quasi_identifiers, staged)
    assert isinstance(plain.query, Select)
    return Step(plain.name, plain.query.select(aliased(literal(False), "truthful")))


def moved_step(quasi_identifiers: Sequence[str], released: Sequence[str]) -> Step:
    """The coded source with the quasi-identifiers of other records where records move."""
    number = {name: i for i, name in enumerate(quasi_identifiers)}
    picked: list[Expr] = []
    for name in released:
        value: Expr = column(name, "coded")
        if name in number:
            other = column(f"to{number[name]}", "moves")
            value = coalesce(other, value)
        picked.append(aliased(value, name))
    same = all_of(
        *(column(name, "coded").eq(column(f"q{i}", "moves")) for name, i in number.items())
    )
    moves = MOVES.aliased("moves")
    rows = CODED.aliased("coded")
    return Step(MOVED.name, select(*picked).from_(rows).join(moves, on=same, join_type="left"))


def _outcome(
    quasi_identifiers: Sequence[QuasiIdentifier],
    plan: RelocationPlan,
    parameters: Parameters[Levels],
) -> Outcome:
    """What is known of the release, its metrics those of the records where they are now."""
    tuples = plan.tuples
    codes = tuple(own.copy() for own in tuples.codes)
    for own in codes:
        own[plan.moved] = own[plan.to]
    there = replace(tuples, codes=codes)
    lattice = lattice_of(quasi_identifiers)
    check = NumpyChecker(lattice, there, parameters.rule).check(plan.found.node)
    known = full_domain.outcome(quasi_identifiers, plan.found, parameters)
    return replace(
        known,
        suppressed=0,
        suppressed_subjects=0,
        metrics=metrics(lattice, there, check),
        details=Moved(int(tuples.weights[plan.moved].sum())),
    )


class RelocationMethod(Method[RelocationPlan]):
    """One transformation, and the records of small classes in others."""

    def parameters(
        self,
        bound: Bound,
        shared: Parameters[None],
        quasi_identifiers: Sequence[QuasiIdentifier] | None,
    ) -> Parameters[object]:
        """How many records may move."""
        method = bound.spec.method
        assert isinstance(method, Relocation)
        return shared.under(Levels(suppression_limit=method.limit, moves=True))

    def plan(
        self,
        prepared: Prepared,
        session: Session,
        progress: Callable[[Any], None] | None = None,
        offer: Offer | None = None,
    ) -> Planned[RelocationPlan]:
        """The transformation of least loss, and what moves where."""
        qis, parameters = prepared.quasi_identifiers, levels_of(prepared.parameters)
        return Planned(prepared, plan(session, qis, parameters, progress, offer))

    def write(self, planned: Planned[RelocationPlan], session: Session) -> Written:
        """The release and its dictionary."""
        prepared = planned.prepared
        qis, parameters = prepared.quasi_identifiers, levels_of(prepared.parameters)
        return write(session, qis, prepared.released, planned.plan, parameters)

    def steps(self, draft: Draft) -> Iterator[Step]:
        """What moves, the release and its dictionary."""
        parameters = levels_of(draft.parameters)
        qis, released = draft.quasi_identifiers, draft.released
        yield moved_step([q.name for q in qis], [c.name for c in released])
        yield full_domain.release_step(qis, released, draft.node, parameters, MOVED)
        yield dictionary_step(qis, Relation(STAGED, schema="main", catalog="temp"))
