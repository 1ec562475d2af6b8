"""How a transformation is searched for: the options of the methods that choose levels."""

from __future__ import annotations

from dataclasses import dataclass

from dbdeid.lattice.lattice import Node
from dbdeid.prepare.problem import Parameters, floor_share


@dataclass(frozen=True, slots=True)
class Levels:
    """How to search for a transformation, and what to do with records in small classes.

    Attributes:
        suppression_limit: allowed share of suppressed subjects.
        moves: whether these are moved, not suppressed.
        objective: what to minimize.
        engine: numpy or sql.
        search: which of `SEARCHES`.
        time_limit: seconds of the search; None: as long as it takes.
        transformation: a known node instead of a search.
    """

    suppression_limit: float = 0.0
    moves: bool = False
    objective: str = "loss"
    engine: str = "numpy"
    search: str = "optimal"
    time_limit: float | None = None
    transformation: Node | None = None

    def limit(self, people: int) -> int:
        """How many subjects may be suppressed: floor(limit · N), exact for decimal shares."""
        return floor_share(self.suppression_limit, people)


def levels_of(parameters: Parameters[object]) -> Parameters[Levels]:
    """The parameters of a search for a transformation; its defaults, where a method has none."""
    own = parameters.options
    return parameters.under(own if isinstance(own, Levels) else Levels())
