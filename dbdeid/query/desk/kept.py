"""Tables that a dictionary alone decides, kept for the questions that come after the first."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from itertools import count

from sqlglot import exp

from dbdeid.engine.failure import EngineError
from dbdeid.engine.relation import Relation
from dbdeid.engine.session import Session, Step
from dbdeid.query.parse.common_tables import CommonTables

# Of one release: more would hardly be asked for again, longer ones fill the memory.
MOST_TABLES = 500
LONGEST = 100_000

_NUMBERS = count()  # several releases may be asked in one session


@dataclass
class KeptTables:
    """Temporary tables of a session that are computed from a dictionary alone.

    A question takes them in place of common table expressions of the same rows, of which reading
    and planning take the engine longer than all the rest. They are as good as the dictionary is
    unchanged.

    Attributes:
        session: where the dictionary is.
    """

    session: Session
    _kept: dict[Hashable, Relation | None] = field(default_factory=dict)

    @property
    def full(self) -> bool:
        """Whether it is time to begin anew."""
        return len(self._kept) >= MOST_TABLES

    def clear(self) -> None:
        """Drop all of them."""
        for table in self._kept.values():
            if table is not None:
                self.session.drop_temp(table.name)
        self._kept.clear()

    def keep(self, of: Hashable, query: Callable[[CommonTables], exp.Query]) -> Relation | None:
        """The rows of a query as a table; None where the query has to be part of the question.

        So it is where it fails: the question then fails in its own words, or does not need what
        failed.

        Args:
            of: what the query depends on beside the dictionary.
            query: makes it of the tables that it names in the given ones.
        """
        if of not in self._kept:
            self._kept[of] = self._table(query)
        return self._kept[of]

    def _table(self, query: Callable[[CommonTables], exp.Query]) -> Relation | None:
        beside = CommonTables(frozenset(), self.keep)
        made = beside.before(query(beside))
        name = f"deid_kept_{next(_NUMBERS)}"
        try:
            rows = self.session.fill(Step(name, made))
        except EngineError:
            return None
        if rows > LONGEST:
            self.session.drop_temp(name)
            return None
        return Relation(name, (), "main", "temp")
