"""k-map: every released record fits at least k people of a population (Sweeney 2002, section 4)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Literal

import numpy as np
from pydantic import Field

from dbdeid.engine.expressions import Query
from dbdeid.engine.sqltext import step
from dbdeid.privacy.common.histogram import Ints, Mask
from dbdeid.privacy.common.population import OfPopulation
from dbdeid.privacy.common.promise import Words
from dbdeid.privacy.common.shares import Rows


class KMap(OfPopulation):
    """Every class is that of at least k people of the population."""

    words: ClassVar[Words] = Words(
        "k-map",
        "Every class fits at least k people of a population, whoever of them is in the table.",
    )
    public: ClassVar[tuple[str, ...]] = ("k",)

    model: Literal["k_map"]
    k: int = Field(ge=1)

    @staticmethod
    def said(declared: Mapping[str, Any], on: str) -> str:
        """The promise in one clause."""
        return (
            f"every class on {on} fits at least {declared.get('k')} people of a population (k-map)"
        )

    @staticmethod
    def vacuous(declared: Mapping[str, Any]) -> bool:
        """Whether any table keeps the promise."""
        return bool(declared.get("k") == 1)

    @property
    def smallest_class(self) -> int:
        """A class may hold one subject: it is the population that counts."""
        return 1

    def satisfied(self, sizes: Ints, people: Ints) -> Mask:
        """Which classes of these subjects and people of the population hold."""
        return np.asarray(people >= self.k)

    def necessary(self, sizes: Ints, people: Ints) -> Mask:
        """What a class needs to hold, and keeps as it merges."""
        return self.satisfied(sizes, people)

    def measure(self, classes: Rows) -> Query:
        """A query of one row and column: the fewest people who fit a class (NULL if empty).

        Args:
            classes: the released classes: people.
        """
        return step("privacy/fewest_people", {"classes": classes})

    def holds(self, found: int | None) -> bool:
        """Whether the measured value keeps the promise; an empty table exposes nobody."""
        return found is None or found >= self.k
