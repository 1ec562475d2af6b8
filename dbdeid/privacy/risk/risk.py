"""Re-identification risk of a table under the prosecutor model (El Emam 2013, chapter 15)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from dbdeid.data.json import JsonObject, plain
from dbdeid.engine.expressions import cast, column, not_null, select
from dbdeid.engine.relation import Relation
from dbdeid.engine.session import Session
from dbdeid.engine.sqltext import step
from dbdeid.privacy.common.counting import ROWS, Counting, NullPolicy, classes, members


@dataclass(frozen=True, slots=True)
class Risk:
    """What an attacker who knows the quasi-identifiers of a person in the table can do.

    Classes are those of the counting (`dbdeid.privacy.common.counting`). Where NULLs are excluded,
    classes, k and the risks are over the complete records, and the others are at risk.

    Attributes:
        null_policy: how NULLs in quasi-identifiers counted.
        records: rows of the table.
        subjects: distinct subjects of the table; without a subject each row is one.
        classes: equivalence classes.
        k: smallest class, in subjects; None where there is no class.
        highest_risk: chance of finding the most exposed subject, 1/k. It is 1 where k is 0, for
            records whose subject is NULL hide in nobody.
        average_risk: mean over the records of 1 / class size (classes/records where each record is
            in one class); with a subject the mean over the subjects of 1 / size of the smallest
            class they have a record in.
        unique_records: records in classes of one subject, or of none that is known.
        records_at_risk: records in classes below the k asked for, and those without a class.
    """

    null_policy: NullPolicy
    records: int
    subjects: int
    classes: int
    k: int | None
    highest_risk: float | None
    average_risk: float | None
    unique_records: int
    records_at_risk: int

    def to_dict(self) -> JsonObject:
        """The risk as JSON shows it."""
        return plain(self)


@dataclass(frozen=True, slots=True)
class SizeCount:
    """How many classes have one size, and the records of their combinations."""

    class_size: int
    classes: int
    records: int


@dataclass(frozen=True, slots=True)
class SmallClass:
    """A class: its size, its records, and its quasi-identifiers as text."""

    class_size: int
    records: int
    values: dict[str, str | None]


def measure(
    session: Session,
    table: Relation,
    quasi_identifiers: Sequence[str],
    k: int,
    counting: Counting = ROWS,
    of: str | None = None,
) -> Risk:
    """The risk of a table; `k` only says which records count as at risk.

    Where its rows stand for several records, `of` is the column that says for how many.
    """
    found = classes(table, quasi_identifiers, counting, of)
    records, number, smallest, highest, average, unique, at_risk = session.row(
        step("privacy/risk/risk", {"classes": found}, values={"k": k})
    )
    subjects = records
    if counting.subject is not None:
        people = members(table, quasi_identifiers, counting)
        subjects, average = session.row(step("privacy/risk/subject_risk", {"members": people}))
    policy = counting.null_policy
    return Risk(policy, records, subjects, number, smallest, highest, average, unique, at_risk)


def histogram(
    session: Session,
    table: Relation,
    quasi_identifiers: Sequence[str],
    counting: Counting = ROWS,
    of: str | None = None,
) -> tuple[SizeCount, ...]:
    """The classes of a table counted by size, smallest first; records are rows, or those `of`
    which they stand for several."""
    query = step("privacy/histogram", {"classes": classes(table, quasi_identifiers, counting, of)})
    return tuple(SizeCount(*row) for row in session.rows(query))


def smallest(
    session: Session,
    table: Relation,
    quasi_identifiers: Sequence[str],
    counting: Counting = ROWS,
    limit: int = 10,
) -> tuple[SmallClass, ...]:
    """The smallest classes of a table with their values, at most so many."""
    keys = [f"qi_{i}" for i in range(len(quasi_identifiers))]
    known = not_null(column("class_size"))
    query = (
        select("class_size", "records", *(cast(column(key), "VARCHAR") for key in keys))
        .from_(classes(table, quasi_identifiers, counting).subquery("classes"))
        .where(known)
        .order_by("class_size", *keys)
        .limit(limit)
    )
    return tuple(
        SmallClass(size, records, dict(zip(quasi_identifiers, values, strict=True)))
        for size, records, *values in session.rows(query)
    )
