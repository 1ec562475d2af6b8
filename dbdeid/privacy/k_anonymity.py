"""k-anonymity: every record shares its quasi-identifiers with at least k - 1 others.

With a subject these are people: every class holds records of at least k of them.

Samarati & Sweeney 1998; Sweeney 2002, section 3.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Literal

from pydantic import Field

from dbdeid.engine.expressions import Query
from dbdeid.engine.relation import Relation
from dbdeid.engine.sqltext import step
from dbdeid.privacy.common.counting import ROWS, Counting, classes
from dbdeid.privacy.common.promise import Promise, Words


class KAnonymity(Promise):
    """Every equivalence class holds at least `k` records, or subjects where they are counted."""

    words: ClassVar[Words] = Words(
        "k-anonymity",
        "Every class has at least k members: everybody looks like k − 1 others or more.",
    )
    public: ClassVar[tuple[str, ...]] = ("k",)
    found_in_release: ClassVar[bool] = True

    model: Literal["k_anonymity"]
    k: int = Field(ge=1)

    @staticmethod
    def said(declared: Mapping[str, Any], on: str) -> str:
        """The promise in one clause."""
        return f"k = {declared.get('k')} on {on}"

    @staticmethod
    def vacuous(declared: Mapping[str, Any]) -> bool:
        """Whether any table keeps the promise."""
        return bool(declared.get("k") == 1)

    @property
    def smallest_class(self) -> int:
        """The class size below which a class fails, for searching on counts."""
        return self.k

    @property
    def declared(self) -> dict[str, int]:
        """The promised parameters, as they are shown."""
        return {"k": self.k}

    def measure(
        self, table: Relation, quasi_identifiers: Sequence[str], counting: Counting = ROWS
    ) -> Query:
        """A query of one row and column: the smallest class of a written table (NULL if empty).

        It is 0 where NULLs are excluded and the table has a record with one: that record was
        released without a class to hide in.
        """
        return step(
            "privacy/smallest_class", {"classes": classes(table, quasi_identifiers, counting)}
        )

    def holds(self, found: int | None) -> bool:
        """Whether the measured value keeps the promise; an empty table exposes nobody."""
        return found is None or found >= self.k
