"""A limit on the chance of re-identification (El Emam 2013, chapter 15)."""

from __future__ import annotations

from collections.abc import Mapping
from math import ceil
from typing import Any, ClassVar, Literal

import numpy as np
from pydantic import Field, model_validator

from dbdeid.data.figures import share
from dbdeid.data.json import JsonObject
from dbdeid.data.problem import problem
from dbdeid.engine.expressions import Query
from dbdeid.engine.sqltext import step
from dbdeid.privacy.common.histogram import Ints, Mask, meant
from dbdeid.privacy.common.promise import Promise, Words
from dbdeid.privacy.common.shares import Rows, finite, within

_WHO = {
    "prosecutor": "who knows that a person is in the table",
    "journalist": "who looks for anyone of a population",
    "marketer": "who matches all records, on average",
}


class MaxRisk(Promise):
    """No one is found by more than a chance, by one of three attackers.

    - prosecutor: knows that a person is in the table; 1 / subjects of the class.
    - journalist: looks for anyone; 1 / people of the population who fit the class.
    - marketer: matches all records; the mean over the released records of 1 / subjects of the
      class, or 1 / people of the population who fit it, of the table as a whole.

    Attributes:
        population: as in `OfPopulation`, for the journalist, and on demand for the marketer.
    """

    words: ClassVar[Words] = Words(
        "Limited risk",
        "The chance of finding a person is at most the threshold: of one known to be in the table "
        "(prosecutor), of anyone of a population (journalist), or of a record on average "
        "(marketer).",
    )
    public: ClassVar[tuple[str, ...]] = ("attacker", "threshold")

    model: Literal["max_risk"]
    attacker: Literal["prosecutor", "journalist", "marketer"]
    threshold: float = Field(gt=0, le=1)
    population: str | None = None

    @model_validator(mode="after")
    def _whose_population(self) -> MaxRisk:
        if self.attacker == "journalist" and self.population is None:
            raise problem("a journalist needs a population", "population: a table or file")
        if self.attacker == "prosecutor" and self.population is not None:
            raise problem("a prosecutor looks at no population", "drop `population`")
        return self

    @staticmethod
    def said(declared: Mapping[str, Any], on: str) -> str:
        """The promise in one clause."""
        attacker = str(declared.get("attacker"))
        return (
            f"risk of at most {share(declared.get('threshold'))} on {on} from one "
            f"{_WHO.get(attacker, attacker)} ({attacker})"
        )

    @staticmethod
    def vacuous(declared: Mapping[str, Any]) -> bool:
        """Whether any table keeps the promise."""
        return bool(declared.get("threshold") == 1)

    @property
    def declared(self) -> JsonObject:
        """The promised parameters, as they are shown."""
        shown = self.model_dump(exclude_none=True)
        return {key: value for key, value in shown.items() if key != "model"}

    @property
    def fewest(self) -> int:
        """The number whose reciprocal is within the threshold."""
        return ceil(1 / meant(self.threshold))

    @property
    def smallest_class(self) -> int:
        """The number of subjects below which a class fails."""
        return self.fewest if self.attacker == "prosecutor" else 1

    @property
    def of_table(self) -> bool:
        """Whether it is a promise of the table as a whole, not of each class."""
        return self.attacker == "marketer"

    def satisfied(self, sizes: Ints, people: Ints) -> Mask:
        """Which classes of these subjects and people of the population hold.

        A promise of the table as a whole asks nothing of a single class.
        """
        return np.asarray(people >= (1 if self.of_table else self.fewest))

    def necessary(self, sizes: Ints, people: Ints) -> Mask:
        """What a class needs to hold, and keeps as it merges."""
        return self.satisfied(sizes, people)

    def measure(self, classes: Rows) -> Query:
        """A query of one row and column: the risk of a written table (NULL if empty).

        Args:
            classes: records and class_size, in subjects where they count; NULL in excluded records.
                With a population class_size is the people of it who fit the class.
        """
        kind = "privacy/mean_risk" if self.attacker == "marketer" else "privacy/greatest_risk"
        return step(kind, {"classes": classes})

    def holds(self, found: float | None) -> bool:
        """Whether the measured value keeps the promise; an empty table exposes nobody."""
        return within(found, self.threshold)

    def shown(self, found: float | None) -> Any:
        """The measured value as it is shown."""
        return finite(found)
