"""How blocks of records are made, as a bound specification says it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from dbdeid.bind.bound import Bound
from dbdeid.methods.local_recoding.free.planning import Limits, limits_of
from dbdeid.prepare.prepare import key_of
from dbdeid.prepare.problem import Drawing, Parameters
from dbdeid.spec.method.local_recoding import LocalRecoding

Algorithm = Literal[
    "dealing", "paper", "conditional_entropy", "diversity_first", "closeness", "mondrian"
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Recoding(Drawing):
    """How blocks of records are made, each to be recoded on its own.

    Attributes:
        algorithm: dealing, paper, conditional_entropy, diversity_first, closeness or mondrian.
        objective: balanced, loss, node_entropy, block_entropy or literal.
        diversity_weight: of the sensitive values' entropy in a block, beside what is lost.
        relaxed: whether Mondrian may cut between equal values.
        tail: append or eligible: what becomes of records that dealing leaves.
        engine: numpy or sql.
        safe: whether no block may depend on who has which sensitive value.
        others: the released columns that are no quasi-identifiers.
        free: the quasi-identifiers whose intervals and sets the blocks choose, and how far each
            reaches.
    """

    algorithm: Algorithm
    objective: Literal["balanced", "loss", "node_entropy", "block_entropy", "literal"]
    diversity_weight: float
    relaxed: bool
    tail: Literal["append", "eligible"]
    engine: str
    safe: bool
    others: tuple[str, ...]
    free: dict[str, Limits]

    @property
    def grows(self) -> bool:
        """Whether blocks are made one by one, each of the records nearest to it."""
        return self.algorithm not in ("dealing", "mondrian")


def options(bound: Bound) -> Recoding:
    """How the blocks of a bound spec are made."""
    method = bound.spec.method
    assert isinstance(method, LocalRecoding)
    known = {c.name for c in bound.quasi_identifiers}
    return Recoding(
        algorithm=method.algorithm,
        objective=method.loss,
        diversity_weight=method.weight,
        relaxed=method.mondrian == "relaxed",
        tail=method.tail or "append",
        engine=method.engine,
        safe=method.minimality == "safe",
        others=tuple(s.column.name for s in bound.staged if s.column.name not in known),
        free=limits_of(bound),
        key=key_of(bound),
    )


def recoding_of(parameters: Parameters[object]) -> Recoding:
    """The options in parameters of this method."""
    assert isinstance(parameters.options, Recoding)
    return parameters.options
