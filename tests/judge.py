"""Classes and risk by brute force over Python rows: the definitions, written out once more."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import mean
from typing import Any

from dbdeid.privacy.common.counting import Counting

Row = tuple[Any, ...]


@dataclass(frozen=True)
class Judged:
    """The rows of a table as (combination, subject), judged under one counting."""

    rows: tuple[tuple[Row, Any], ...]
    counting: Counting

    def matches(self, mine: Row, theirs: Row) -> bool:
        """Whether a record counts for the class of another."""
        if self.counting.null_policy == "wildcard":
            return all(a is None or b is None or a == b for a, b in zip(mine, theirs, strict=True))
        if self.counting.null_policy == "exclude" and None in mine + theirs:
            return False
        return mine == theirs

    def size(self, combination: Row) -> int | None:
        """The class size of one combination; None where it has no class."""
        if self.counting.null_policy == "exclude" and None in combination:
            return None
        met = [subject for row, subject in self.rows if self.matches(combination, row)]
        if self.counting.subject is None:
            return len(met)
        return len({subject for subject in met if subject is not None})

    @property
    def sizes(self) -> dict[Row, tuple[int, int | None]]:
        """Records and class size of every combination."""
        found = {row for row, _ in self.rows}
        return {one: (sum(row == one for row, _ in self.rows), self.size(one)) for one in found}

    @property
    def smallest(self) -> int | None:
        """What the promise of k finds."""
        return min((size or 0 for _, size in self.sizes.values()), default=None)

    def histogram(self) -> list[tuple[int, int, int]]:
        """Class size, classes, records."""
        sizes = [(size, n) for n, size in self.sizes.values() if size is not None]
        return [
            (size, sum(s == size for s, _ in sizes), sum(n for s, n in sizes if s == size))
            for size in sorted({size for size, _ in sizes})
        ]

    def risk(self, k: int) -> dict[str, Any]:
        """The risk as `Risk.to_dict` gives it."""
        size_of = [(subject, self.size(row)) for row, subject in self.rows]
        sizes = [size for _, size in self.sizes.values() if size is not None]
        shares = [1 / size for _, size in size_of if size]
        people = {subject for _, subject in self.rows if subject is not None}
        subjects = len(self.rows)
        if self.counting.subject is not None:
            subjects = len(people)
            smallest = {
                p: _least(s for q, s in size_of if q == p and s is not None) for p in people
            }
            shares = [1 / size for size in smallest.values() if size is not None]
        return {
            "null_policy": self.counting.null_policy,
            "records": len(self.rows),
            "subjects": subjects,
            "classes": len(sizes),
            "k": _least(sizes),
            "highest_risk": 1 / max(min(sizes), 1) if sizes else None,
            "average_risk": mean(shares) if shares else None,
            "unique_records": sum(size is not None and size <= 1 for _, size in size_of),
            "records_at_risk": sum((size or 0) < k for _, size in size_of),
        }


def judge(records: Sequence[Row], subject: int | None, counting: Counting) -> Judged:
    """Rows judged; `subject` is the place of the subject's column, the others are the key."""
    return Judged(
        tuple(
            (
                tuple(cell for i, cell in enumerate(row) if i != subject),
                None if subject is None else row[subject],
            )
            for row in records
        ),
        counting,
    )


def _least(sizes: Iterable[int]) -> int | None:
    return min(sizes, default=None)
