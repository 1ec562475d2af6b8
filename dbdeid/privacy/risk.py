"""Re-identification risk of a table under the prosecutor model (El Emam 2013, chapter 15)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass

from dbdeid.engine.relation import Relation
from dbdeid.engine.session import Session
from dbdeid.engine.sqltext import step


@dataclass(frozen=True, slots=True)
class Risk:
    """What an attacker who knows the quasi-identifiers of a person in the table can do.

    Attributes:
        records: rows of the table.
        subjects: people behind them; one row is one person.
        classes: equivalence classes.
        k: smallest class; None for an empty table.
        highest_risk: chance of finding the most exposed record, 1/k.
        average_risk: mean chance over the records, classes/records.
        unique_records: records alone in their class.
        records_at_risk: records in classes below the k asked for.
    """

    records: int
    subjects: int
    classes: int
    k: int | None
    highest_risk: float | None
    average_risk: float | None
    unique_records: int
    records_at_risk: int

    def to_dict(self) -> dict[str, int | float | None]:
        """The risk as JSON shows it."""
        return asdict(self)


@dataclass(frozen=True, slots=True)
class SizeCount:
    """How many classes have one size, and the records in them."""

    class_size: int
    classes: int
    records: int


def measure(session: Session, table: Relation, quasi_identifiers: Sequence[str], k: int) -> Risk:
    """The risk of a table; `k` only says which records count as at risk."""
    query = step("risk", {"rel": table}, {"qi": quasi_identifiers}, {"k": k})
    records, *rest = session.row(query)
    return Risk(records, records, *rest)


def histogram(
    session: Session, table: Relation, quasi_identifiers: Sequence[str]
) -> tuple[SizeCount, ...]:
    """The classes of a table counted by size, smallest first."""
    query = step("histogram", {"rel": table}, {"qi": quasi_identifiers})
    return tuple(SizeCount(*row) for row in session.rows(query))
