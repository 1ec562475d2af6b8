"""δ-presence: whether a person is in the table at all stays uncertain.

Nergiz, Atzori & Clifton 2007, definition 3.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Literal

import numpy as np
from pydantic import Field, model_validator

from dbdeid.data.figures import share
from dbdeid.data.problem import problem
from dbdeid.engine.expressions import Query
from dbdeid.engine.sqltext import step
from dbdeid.privacy.common.histogram import Ints, Mask, meant
from dbdeid.privacy.common.population import OfPopulation
from dbdeid.privacy.common.promise import Words
from dbdeid.privacy.common.shares import CLOSE, Rows, finite, within


class DeltaPresence(OfPopulation):
    """Of everybody in the population, how likely it is that they are in the table: min to max.

    For the people who fit a class that is the share of them who are in it. Who fits none is known
    not to be there: their chance is 0, which is below every min but 0. A class that fits fewer
    people than it has subjects is not of this population, and fails.
    """

    words: ClassVar[Words] = Words(
        "δ-presence",
        "Of the people of a population who fit a class, a share between min and max is in it: "
        "whether a person is in the table at all stays uncertain.",
    )
    public: ClassVar[tuple[str, ...]] = ("min", "max")

    model: Literal["delta_presence"]
    min: float = Field(0.0, ge=0, le=1)
    max: float = Field(ge=0, le=1)

    @model_validator(mode="after")
    def _in_order(self) -> DeltaPresence:
        if self.min > self.max:
            raise problem("min is above max", "as in {min: 0.01, max: 0.2}")
        return self

    @staticmethod
    def said(declared: Mapping[str, Any], on: str) -> str:
        """The promise in one clause."""
        least = share(declared.get("min", 0.0))
        return (
            f"of the people of a population who fit a class on {on}, {least} to "
            f"{share(declared.get('max'))} are in it (δ-presence)"
        )

    @staticmethod
    def vacuous(declared: Mapping[str, Any]) -> bool:
        """Whether any table keeps the promise."""
        return bool(declared.get("max") == 1 and not declared.get("min"))

    @property
    def smallest_class(self) -> int:
        """A class may hold one subject: it is the population that counts."""
        return 1

    def satisfied(self, sizes: Ints, people: Ints) -> Mask:
        """Which classes of these subjects and people of the population hold."""
        # rounded once, as the limits were, so that equal numbers stay equal
        share = sizes / np.maximum(people, 1)
        return np.asarray((people >= sizes) & (share >= self.min) & (share <= self.max))

    def necessary(self, sizes: Ints, people: Ints) -> Mask:
        """What a class needs to hold, and keeps as it merges: 1/max people for one subject."""
        least = 1 / meant(self.max) if self.max else None
        return np.asarray(people >= float(least)) if least else np.zeros(len(sizes), np.bool_)

    def measure(self, classes: Rows) -> Query:
        """A query of one row: the least and the greatest share (NULL if empty).

        Args:
            classes: the released classes: class_size, in subjects where they count, and people;
                the people who fit none are one of size 0.
        """
        return step("privacy/presence", {"classes": classes})

    def holds(self, least: float | None, greatest: float | None) -> bool:
        """Whether the measured shares keep the promise; an empty table exposes nobody."""
        return within(greatest, self.max) and (least is None or least >= self.min - CLOSE)

    def shown(self, least: float | None, greatest: float | None) -> Any:
        """The measured shares as they are shown."""
        return finite({"min": least, "max": greatest})
