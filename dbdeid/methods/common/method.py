"""The interface of every method: how it plans a release, writes one, and what else it answers."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from dbdeid.bind.bound import Bound
from dbdeid.data.json import JsonObject
from dbdeid.engine.expressions import Query
from dbdeid.engine.relation import Column, Relation
from dbdeid.engine.session import Session, Step
from dbdeid.errors import Mistake
from dbdeid.lattice.lattice import Node
from dbdeid.methods.common.generalized import STAGED
from dbdeid.methods.common.outcome import Outcome, Written
from dbdeid.methods.common.release_dictionary import dictionary_step
from dbdeid.methods.common.searching import Ground, Offer, lattice_of
from dbdeid.prepare.prepare import Prepared
from dbdeid.prepare.problem import Parameters
from dbdeid.prepare.quasi_identifier import QuasiIdentifier
from dbdeid.verify import Declared

Plan = TypeVar("Plan")


@dataclass(frozen=True, slots=True)
class Frontier:
    """The policies that a release was chosen from.

    Attributes:
        kept: what the record of the release keeps of them.
        tables: the rows of their private tables, by what follows the release's name.
    """

    kept: JsonObject
    tables: Callable[[Session], Mapping[str, Query]]


@dataclass(frozen=True, slots=True)
class Planned(Generic[Plan]):
    """A release before it is written.

    Attributes:
        prepared: the source, as the plan takes it.
        plan: the method's own.
        warnings: what its owner may not expect of it.
        frontier: what it was chosen from; None where nothing was.
    """

    prepared: Prepared
    plan: Plan
    warnings: tuple[str, ...] = ()
    frontier: Frontier | None = None


@dataclass(frozen=True, slots=True)
class Draft:
    """A release whose steps are shown and not run.

    Attributes:
        bound: the spec.
        quasi_identifiers: without their values.
        parameters: of the method.
        node: the level of each quasi-identifier, as declared or 1.
    """

    bound: Bound
    quasi_identifiers: tuple[QuasiIdentifier, ...]
    parameters: Parameters[object]
    node: Node

    @property
    def released(self) -> list[Column]:
        """The released columns, in order."""
        return [s.column for s in self.bound.staged]

    @property
    def dictionary(self) -> Step:
        """What released values stand for."""
        staged = Relation(STAGED, schema="main", catalog="temp")
        return dictionary_step(self.quasi_identifiers, staged)


@dataclass(frozen=True, slots=True)
class Dealt:
    """What says where a planned release has each record, for an engine that has the records.

    Of records that are alike in the codes of all quasi-identifiers and sensitive attributes, those
    from place `first` to `last`, from 1, are in a block. Which of them have which place only the
    secret tells.

    Attributes:
        units: q0, q1, …, v0, v1, …: the codes; first, last, block.
        blocks: block; of each quasi-identifier k0, k1, …: what it reads; where it has bounds
            lower0, upper0, ….
        secret: key, one row.
    """

    units: Relation
    blocks: Relation
    secret: Relation


class Method(ABC, Generic[Plan]):
    """A way to make a release. What it can do is declared by its class in `spec/method/`."""

    @abstractmethod
    def parameters(
        self,
        bound: Bound,
        shared: Parameters[None],
        quasi_identifiers: Sequence[QuasiIdentifier] | None,
    ) -> Parameters[object]:
        """What must hold, with the options of the method.

        Args:
            bound: the spec, which is of this method.
            shared: what must hold by the spec.
            quasi_identifiers: which its options are held against; None before they are known.

        Raises:
            SpecError: the options do not fit the quasi-identifiers.
        """

    @abstractmethod
    def plan(
        self,
        prepared: Prepared,
        session: Session,
        progress: Callable[[Any], None] | None = None,
        offer: Offer | None = None,
    ) -> Planned[Plan]:
        """A release that holds the declared models.

        Args:
            prepared: the source, staged and coded in the session.
            session: where.
            progress: told how far the search is.
            offer: asked whether to go on with the best so far when the search is interrupted.

        Raises:
            Unsatisfiable: there is none; the message says what is achievable.
            NothingFound: none was found, and that there is none is not proven.
            Interrupted: by the user, who does not take the best so far.
        """

    @abstractmethod
    def write(self, planned: Planned[Plan], session: Session) -> Written:
        """The release as temporary tables, sorted and ready to be verified."""

    def dealt(self, planned: Planned[Plan], session: Session) -> Dealt | None:
        """Where a written release has each record; None where levels and kept classes say it."""
        return None

    @abstractmethod
    def steps(self, draft: Draft) -> Iterator[Step]:
        """The steps from the coded source to the release and the tables beside it."""

    def size(self, prepared: Prepared, session: Session) -> dict[str, int | None]:
        """How much there is to choose from, as a check reports it."""
        return {"lattice_size": lattice_of(prepared.quasi_identifiers).size}

    def try_values(self, prepared: Prepared, session: Session) -> None:
        """Refuse values that only a run would stumble over.

        Raises:
            DbdeidError: there are some.
        """

    def unanswered(self, prepared: Prepared, session: Session) -> Iterator[Mistake]:
        """What the owner has to answer before a release is made."""
        yield from ()

    def beforehand(self, prepared: Prepared) -> Iterator[str]:
        """What an owner should think about before the first run."""
        yield from ()

    def cautions(self, prepared: Prepared, session: Session) -> Iterator[str]:
        """What a reader should know of releases that are made so."""
        yield from ()

    def advice(self, prepared: Prepared, ground: Ground, seconds: float) -> Iterator[str]:
        """What else an owner may do, looked for in about so many seconds, each time it is asked."""
        yield from ()

    def told_by(self, outcome: Outcome) -> Iterator[str]:
        """What a reader should know of this one."""
        yield from ()

    def why_blank(
        self, prepared: Prepared, search: Mapping[str, Any], less: str
    ) -> tuple[str, str]:
        """Why nothing useful is left of the quasi-identifiers, and what to do about it.

        Args:
            prepared: the source.
            search: how the release was found.
            less: the advice to ask for less.
        """
        name = prepared.bound.spec.method.name
        return f"Method {name} found nothing less general that holds the models", less

    def declared(self, plain: Declared, bound: Bound, details: Mapping[str, Any]) -> Declared:
        """What the written table is held to, beyond what all releases are.

        Args:
            plain: what all are.
            bound: the spec.
            details: what is known of how the release was made, by the names of its fields.
        """
        return plain

    def written_type(self, own: str) -> str:
        """The type of a quasi-identifier in the release, where it is not generalized to text."""
        return own
