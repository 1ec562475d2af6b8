"""Exact hits: how many rows of a release are rows of its source.

Of few columns there are only so many rows, and synthetic records equal rows of the source by
chance. One that equals a row which no other row equals says more. What is chance is found in a
trial, see `methods.attacks.membership.trial`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from dbdeid.engine.expressions import Select, aliased, cast, column, select
from dbdeid.engine.relation import Relation
from dbdeid.engine.session import Session
from dbdeid.engine.sqltext import step
from dbdeid.utility.common.metric import Metric, Words

METRIC = Metric(
    "exact_hits",
    Words(
        "Exact hits",
        "Share of the released rows that equal a row of the source; of few columns, many do by "
        "chance. Unique: those that equal one which no other row equals.",
        "0 to 1",
        "lower",
    ),
    families=("synthetic",),
)


@dataclass(frozen=True, slots=True)
class Hits:
    """What a release has of its source.

    Attributes:
        released: its rows.
        equal: those that equal a row of the source.
        equal_unique: those that equal one which no other row equals.
    """

    released: int
    equal: int
    equal_unique: int

    @property
    def share(self) -> float:
        """Of the released rows, those that equal a row of the source."""
        return self.equal / self.released if self.released else 0.0

    @property
    def share_of_unique(self) -> float:
        """Of the released rows, those that equal one which no other row equals."""
        return self.equal_unique / self.released if self.released else 0.0


def exact_hits(
    session: Session, source: Relation, released: Relation, columns: Sequence[str]
) -> Hits:
    """Count them.

    Args:
        session: sees both.
        source: all its records.
        released: the written table.
        columns: all that is released.
    """
    keys = [f"t{i}" for i in range(len(columns))]
    sides = {"source": _texts(source, columns), "released": _texts(released, columns)}
    _, _, *found = session.row(step("utility/fidelity/exact_hits", sides, {"key": keys}))
    equal, unique, rows = (int(number) for number in found)
    return Hits(rows, equal, unique)


def _texts(table: Relation, columns: Sequence[str]) -> Select:
    cells = (aliased(cast(column(name), "VARCHAR"), f"t{i}") for i, name in enumerate(columns))
    return select(*cells).from_(table.table)
