"""(ε, m)-anonymity: of no class can a number be concluded to lie in a short interval.

Li, Tao & Xiao 2008, "Preservation of Proximity Privacy in Publishing Numerical Sensitive Data",
definition 1, with absolute distances.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from pydantic import Field, model_validator

from dbdeid.data.figures import number
from dbdeid.data.problem import problem
from dbdeid.engine.expressions import Query
from dbdeid.engine.relation import NUMBERS
from dbdeid.engine.sqltext import step
from dbdeid.privacy.common.histogram import Floats, Histogram, Ints, Mask, Whole
from dbdeid.privacy.common.largest import capped
from dbdeid.privacy.common.promise import Words
from dbdeid.privacy.common.sensitive import (
    Makeup,
    OfSensitive,
    Refusal,
    SensitiveColumn,
    sizes,
    target,
)
from dbdeid.privacy.common.shares import Shares

# Numbers are compared in floating point: a distance that exceeds ε by rounding is within it. What
# is measured allows for less of it than what a search counts by, so that the two cannot disagree.
ROUNDING, MEASURED_ROUNDING = 2.0**-48, 2.0**-50
LARGEST = np.finfo(np.float64).max


class EmAnonymity(OfSensitive):
    """Around each value of a class, at most 1/m of its subjects have a value within ±epsilon.

    Of the subjects who have a value at all, at most that share is near one, too. NULL is near to
    nothing else, and so are NaN and the infinities. A subject with several values counts once for
    each of them, so that at most 1/m of the people are near, and sometimes fewer than need be.

    Attributes:
        epsilon: how far apart two values are that mean the same, in units of the column.
        m: the number of subjects of a class for each that is near a value, at least.
    """

    relative: ClassVar[bool] = False
    words: ClassVar[Words] = Words(
        "(ε, m)-anonymity",
        "In every class, around each value of the sensitive column at most 1/m of the members have "
        "a value within plus or minus epsilon: nobody's number can be told to lie in so short an "
        "interval with more certainty than 1/m.",
    )
    public: ClassVar[tuple[str, ...]] = ("column", "joint", "epsilon", "m")
    found_in_release: ClassVar[bool] = True

    model: Literal["em_anonymity"]
    epsilon: Annotated[float, Field(ge=0, le=1e18)]
    m: int = Field(ge=2, le=10**9)

    @model_validator(mode="after")
    def _of_numbers(self) -> EmAnonymity:
        if self.joint:
            raise problem(
                "joint: true has no distances: the model is about one number",
                "leave joint out; each column is then judged on its own",
            )
        return self

    @staticmethod
    def said(declared: Mapping[str, Any], on: str) -> str:
        """The promise in one clause."""
        return (
            f"at most 1 of {declared.get('m')} members of a class within "
            f"±{number(declared.get('epsilon'))} of any value of {target(declared)} (ε, m)"
        )

    def refused(self, column: SensitiveColumn) -> Iterator[Refusal]:
        """A column without numbers has no distances."""
        if column.family not in NUMBERS:
            yield Refusal(
                "column",
                f"em_anonymity is about numbers, and the values of {column.name!r} are "
                f"{column.type}",
                "use l_diversity or t_closeness; or cast the column to numbers in the source",
            )

    @property
    def smallest_class(self) -> int:
        """A subject is near to himself: he is at most 1/m of his class."""
        return self.m

    def reached(self, one: Histogram) -> str:
        """The greatest m."""
        _, known = one.known
        found = [
            part.sizes.max() / self._near(part).max() for part in (one, known) if len(part.count)
        ]
        return f"m = {math.floor(1000 * min(found)) / 1000:g}" if found else ""

    def satisfied(self, classes: Histogram) -> Mask:
        """Which classes hold."""
        held = self._within(classes)
        if classes.whole.missing is not None:
            chosen, known = classes.known
            held[chosen] &= self._within(known)
        return held

    def _within(self, classes: Histogram) -> Mask:
        return ~classes.any(self._near(classes) * self.m > classes.sizes[classes.of_class])

    def _near(self, classes: Histogram) -> Ints:
        """Of each entry, the subjects of its class with a value within ±ε of it."""
        near = _windows(classes.whole, self.epsilon)
        keys, order = _places(classes, near)
        sums = np.concatenate([[0], np.cumsum(classes.count[order])])
        first = keys[order] - near.rank[classes.value[order]]  # place 0 of the class
        value = classes.value[order]
        from_, to = (
            np.searchsorted(keys[order], first + bound[value]) for bound in (near.low, near.high)
        )
        found = np.empty_like(classes.count)
        found[order] = sums[to] - sums[from_]
        return found

    def necessary(self, classes: Histogram) -> Mask:
        """What a class needs to hold, and keeps as it merges: m values more than ε apart.

        From the least value on, each takes away those up to ε above it, 1/m of the subjects at
        most: m of them are needed to come to an end. As values are added, so many there stay.
        """
        near, known = _windows(classes.whole, self.epsilon), classes.whole.known
        keys, order = _places(classes, near)
        keys, value = keys[order], classes.value[order]
        keys, value = keys[known[value]], value[known[value]]
        size = len(near.rank)
        class_ = np.flatnonzero(classes.sizes >= self.m)
        place = np.searchsorted(keys, class_ * size)
        for _ in range(self.m):
            if not len(class_):
                break
            inside = place < len(keys)
            class_, place = class_[inside], place[inside]
            same = keys[place] // size == class_
            class_, place = class_[same], place[same]
            place = np.searchsorted(keys, class_ * size + near.high[value[place]])
        found = np.zeros(classes.classes, np.bool_)
        found[class_] = True
        return found

    def most(self, classes: Histogram) -> Floats:
        """1/m of the values of any interval of length ε: all of them are near the least of these.

        Unlike the model itself that is convex. A class of classes that hold may have a value
        between two that are not near each other, and near to both.
        """
        groups = _intervals(classes.whole, self.epsilon)
        grouped = classes.grouped(groups)
        return capped(grouped, np.full(len(grouped.count), 1 / self.m))

    def portions(self, size: int, whole: Whole) -> Iterator[Makeup]:
        """1/m of each value; whether near ones are too many is only known of a block."""
        for own in sizes(max(size, self.m), whole):
            yield Makeup(own, self.m, np.full(len(whole.counts), own // self.m))

    def measure(self, shares: Shares) -> Query:
        """The least number of subjects of a class for each that is near to a value of it."""
        values = {"epsilon": self.epsilon, "rounding": MEASURED_ROUNDING}
        return step("privacy/proximity", {"held": shares.held}, values=values)

    def holds(self, found: float | None) -> bool:
        """Whether the measured value keeps the promise."""
        return found is None or found >= self.m


@dataclass(frozen=True, slots=True)
class _Near:
    """Which values are within ±ε of each.

    Attributes:
        rank: of each value its place among the numbers.
        low: of each value the least place that is near.
        high: the least place above it that is not.
    """

    rank: Ints
    low: Ints
    high: Ints


@lru_cache(maxsize=8)
def _windows(whole: Whole, epsilon: float) -> _Near:
    numbers: Floats = whole.numbers
    order = np.argsort(numbers, kind="stable")  # not a number is last
    rank = np.empty(len(numbers), np.int64)
    rank[order] = np.arange(len(numbers))
    low, high = rank.copy(), rank + 1
    finite = np.isfinite(numbers)
    own, ordered = numbers[finite], numbers[order]
    with np.errstate(over="ignore"):
        width = epsilon + ROUNDING * (np.abs(own) + epsilon)
        least, most = (np.clip(x, -LARGEST, LARGEST) for x in (own - width, own + width))
    low[finite] = np.searchsorted(ordered, least)
    high[finite] = np.searchsorted(ordered, most, side="right")
    return _Near(rank, low, high)


@lru_cache(maxsize=8)
def _intervals(whole: Whole, epsilon: float) -> Ints:
    """Of each value an interval of length ε that it is in; they are numbered from the least on."""
    near = _windows(whole, epsilon)
    value = np.argsort(near.rank)
    groups, place, number = np.zeros(len(value), np.int64), 0, 0
    while place < len(value):
        end = int(near.high[value[place]])
        groups[value[place:end]] = number
        place, number = end, number + 1
    return groups


def _places(classes: Histogram, near: _Near) -> tuple[Ints, Ints]:
    """A number for each entry, by class and in it by place; and the order of these numbers."""
    keys = classes.of_class * len(near.rank) + near.rank[classes.value]
    return keys, np.argsort(keys, kind="stable")
