"""β-likeness: no sensitive value becomes much more likely by knowing the class of a subject.

Cao & Karras 2012, definitions 2 (basic) and 3 (enhanced).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from fractions import Fraction
from typing import Any, ClassVar, Literal

import numpy as np
from pydantic import Field

from dbdeid.data.figures import number
from dbdeid.engine.expressions import Query
from dbdeid.engine.sqltext import step
from dbdeid.privacy.common.histogram import (
    CLOSE,
    Floats,
    Histogram,
    Ints,
    Mask,
    Whole,
    at_most,
    meant,
)
from dbdeid.privacy.common.largest import capped
from dbdeid.privacy.common.promise import Words
from dbdeid.privacy.common.sensitive import Makeup, OfSensitive, sizes, target
from dbdeid.privacy.common.shares import Shares, within


class BasicBeta(OfSensitive):
    """The share p of a value in a class exceeds its share q in the source by at most β · q."""

    words: ClassVar[Words] = Words(
        "Basic β-likeness",
        "In no class is a sensitive value more frequent than in the original table by more than "
        "beta times its frequency there.",
    )
    public: ClassVar[tuple[str, ...]] = ("column", "joint", "beta")

    model: Literal["basic_beta"]
    beta: float = Field(gt=0, le=1e9)

    @staticmethod
    def said(declared: Mapping[str, Any], on: str) -> str:
        """The promise in one clause."""
        return f"basic β = {number(declared.get('beta'))} of {target(declared)} in each class"

    def satisfied(self, classes: Histogram) -> Mask:
        """Which classes hold."""
        return ~classes.any(~_gains_at_most(classes, self.beta))

    def portions(self, size: int, whole: Whole) -> Iterator[Makeup]:
        """1 + β times the share of each value in the source."""
        for own in sizes(size, whole):
            yield Makeup(own, 1, _part(own, whole, 1 + self.beta))

    def necessary(self, classes: Histogram) -> Mask:
        """What a class needs to hold, and keeps as it merges."""
        return _could_gain(classes, self.beta)

    def most(self, classes: Histogram) -> Floats:
        """1 + β times the share of each value in the source."""
        return capped(classes, _shares(classes.whole)[classes.value] * (1 + self.beta))

    def measure(self, shares: Shares) -> Query:
        """The greatest (p - q) / q."""
        return step("privacy/basic_beta", {"shares": shares.compared})

    def holds(self, found: Any) -> bool:
        """Whether the measured value keeps the promise."""
        return within(found, self.beta)


class EnhancedBeta(OfSensitive):
    """As basic β-likeness, and for a common value by no more than -ln q · q."""

    words: ClassVar[Words] = Words(
        "Enhanced β-likeness",
        "As basic β-likeness, with a stricter limit for values that are frequent anyway.",
    )
    public: ClassVar[tuple[str, ...]] = ("column", "joint", "beta")

    model: Literal["enhanced_beta"]
    beta: float = Field(gt=0, le=1e9)

    @staticmethod
    def said(declared: Mapping[str, Any], on: str) -> str:
        """The promise in one clause."""
        return f"enhanced β = {number(declared.get('beta'))} of {target(declared)} in each class"

    def satisfied(self, classes: Histogram) -> Mask:
        """Which classes hold."""
        whole = classes.whole
        # a logarithm of a share below 1 is irrational: never equal to a gain, which is a fraction
        allowed = -np.log(whole.counts / whole.people)[classes.value]
        common = classes.gain > 1 + allowed + CLOSE * (allowed == 0)
        return ~classes.any(~_gains_at_most(classes, self.beta) | common)

    def portions(self, size: int, whole: Whole) -> Iterator[Makeup]:
        """1 + min(β, -ln q) times the share q of each value in the source."""
        for own in sizes(size, whole):
            yield Makeup(own, 1, _part(own, whole, 1 + self._gain(whole)))

    def necessary(self, classes: Histogram) -> Mask:
        """What a class needs to hold, and keeps as it merges."""
        return _could_gain(classes, self.beta)

    def most(self, classes: Histogram) -> Floats:
        """1 + min(β, -ln q) times the share q of each value in the source."""
        share = _shares(classes.whole)
        return capped(classes, (share * (1 + self._gain(classes.whole)))[classes.value])

    def _gain(self, whole: Whole) -> Floats:
        return np.minimum(self.beta, -np.log(_shares(whole)))

    def measure(self, shares: Shares) -> Query:
        """The least β for which the table is so; infinite where a value exceeds -ln q · q."""
        return step("privacy/enhanced_beta", {"shares": shares.compared}, values={"close": CLOSE})

    def holds(self, found: Any) -> bool:
        """Whether the measured value keeps the promise."""
        return within(found, self.beta)


def _gains_at_most(classes: Histogram, beta: float) -> Mask:
    """Of each entry, whether its share is at most (1 + β) times that in the source."""
    limit = 1 + meant(beta)
    return at_most(
        classes.gain, float(limit), lambda entry: Fraction(*classes.entry_gain(entry)) <= limit
    )


def _shares(whole: Whole) -> Floats:
    """The share of the source's subjects who have each value."""
    return np.asarray(whole.counts / whole.people, np.float64)


def _part(size: int, whole: Whole, times: Floats | float) -> Ints:
    """So many times the share of each value in the source, of a class of a size."""
    part = np.floor(size * whole.counts / whole.people * times + CLOSE)
    return np.asarray(np.minimum(part, size), np.int64)


def _could_gain(classes: Histogram, beta: float) -> Mask:
    """Whether the values of each class could be shared among its subjects within β.

    Every subject has a value, so that the shares of a class add up to 1 or more; each is at most
    (1 + β) times that of the source, and values only become present as classes merge.
    """
    share = _shares(classes.whole)
    return np.asarray(classes.summed(share[classes.value]) * (1 + beta) >= 1 - CLOSE)
