"""What models over a sensitive attribute have in common: which attributes they are about."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, NamedTuple

import numpy as np
from pydantic import BeforeValidator, model_validator

from dbdeid.data.json import JsonObject
from dbdeid.data.problem import problem
from dbdeid.engine.expressions import Query
from dbdeid.privacy.common.histogram import Floats, Histogram, Ints, Whole
from dbdeid.privacy.common.promise import Promise
from dbdeid.privacy.common.shares import Shares, finite

Target = tuple[str, ...]
"""Columns whose values together are one sensitive attribute."""


def _names(value: Any) -> Any:
    if isinstance(value, str) and value:
        return value
    if isinstance(value, list | tuple) and value and all(isinstance(v, str) for v in value):
        return tuple(value)
    raise problem("expects the name of a column, or a list of names", "as in column: diagnosis")


@dataclass(frozen=True, slots=True)
class Makeup:
    """What a class of subjects with one value each may be made up of.

    Attributes:
        size: at least how many subjects.
        different: at least how many different values.
        most: at most how many subjects of each value; None: of any all.
        least: at least how many of each; None: of any none.
    """

    size: int
    different: int = 1
    most: Ints | None = None
    least: Ints | None = None


@dataclass(frozen=True, slots=True)
class SensitiveColumn:
    """A column that a model is to be about.

    Attributes:
        name: as the source spells it.
        type: as it is shown.
        family: of its type; empty where the spec says that its values are categories.
        hierarchy: whether it has one.
        as_written: whether each spelling of a value counts as a value of its own.
    """

    name: str
    type: str
    family: str
    hierarchy: bool
    as_written: bool


class Refusal(NamedTuple):
    """What is wrong of a declared model: the key, what it is, and what to do."""

    key: str
    message: str
    hint: str


class OfSensitive(Promise):
    """A model over one or several sensitive columns.

    Attributes:
        column: a sensitive column, or several: then each is judged on its own.
        joint: several columns are one attribute, whose values are the combinations of theirs.
        relative: the model compares with the values of the whole source.
        by_record: every record has to be a subject, for values of several would have to be put
            together.
    """

    relative: ClassVar[bool] = True
    by_record: ClassVar[bool] = False

    model: str
    column: Annotated[str | tuple[str, ...], BeforeValidator(_names)]
    joint: bool = False

    @model_validator(mode="after")
    def _columns_once(self) -> OfSensitive:
        if len({c.lower() for c in self.columns}) < len(self.columns):
            raise problem("a column is named twice", "name each once, as in column: [a, b]")
        if self.joint and len(self.columns) == 1:
            raise problem("joint: true takes several columns", "as in column: [diagnosis, drug]")
        return self

    @property
    def columns(self) -> Target:
        """The columns, as they are spelled."""
        return (self.column,) if isinstance(self.column, str) else self.column

    @property
    def targets(self) -> tuple[Target, ...]:
        """The attributes that are judged, each on its own."""
        return (self.columns,) if self.joint else tuple((c,) for c in self.columns)

    @property
    def smallest_class(self) -> int:
        """The number of subjects below which a class fails."""
        return 1

    def reached(self, one: Histogram) -> str:
        """What a class reaches of a parameter, where more than that may be asked of the source."""
        return ""

    @property
    def diversifies(self) -> bool:
        """Whether it keeps the values of a class from being all the same."""
        return True

    def most(self, classes: Histogram) -> Floats:
        """No part of a class that holds has more subjects, each of whom has one value.

        What finer classes keep is such a part, where classes that hold make one that holds.
        """
        return classes.sizes.astype(np.float64)

    @property
    def declared(self) -> JsonObject:
        """The promised parameters, as they are shown."""
        shown = self.model_dump(exclude_defaults=True)
        return {key: value for key, value in shown.items() if key != "model"}

    def declared_of(self, target: Target) -> JsonObject:
        """The promised parameters for one of the attributes."""
        of_one: JsonObject = {"column": target[0] if len(target) == 1 else list(target)}
        return {key: of_one.get(key, value) for key, value in self.declared.items()}

    def refused(self, column: SensitiveColumn) -> Iterator[Refusal]:
        """Why it cannot be about one of its columns, if so."""
        yield from ()

    def contradictions(self) -> Iterator[Refusal]:
        """What of it does not go together, whatever its columns are."""
        yield from ()

    @abstractmethod
    def portions(self, size: int, whole: Whole) -> Iterator[Makeup]:
        """How classes may be made up that hold, or most likely do; the smallest first.

        Args:
            size: their subjects, at least; each has one value.
            whole: the attribute in the source.
        """

    @abstractmethod
    def measure(self, shares: Shares) -> Query:
        """A query of one row and column: the worst value over all written classes.

        It is NULL for an empty table.
        """

    @abstractmethod
    def holds(self, found: Any) -> bool:
        """Whether the measured value keeps the promise; an empty table gives away nothing."""

    def shown(self, found: Any) -> Any:
        """The measured value as it is shown."""
        return finite(found)


def target(declared: Mapping[str, Any]) -> str:
    """The columns that a declared model is about, as a clause names them."""
    columns = declared.get("column", "")
    if isinstance(columns, str):
        return columns
    return (" with " if declared.get("joint") else ", ").join(columns)


def sizes(least: int, whole: Whole) -> Iterator[int]:
    """Sizes of classes to propose: each, then ever fewer, up to the whole source."""
    size = max(least, 1)
    while size < whole.people:
        yield size
        size += max(1, size // 8)
    yield whole.people
