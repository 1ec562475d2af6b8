"""δ-disclosure privacy: every class has every sensitive value about as often as the source has.

Brickell & Shmatikov 2008, definition 1.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from math import inf, log2
from typing import Any, ClassVar, Literal

import numpy as np
from pydantic import Field

from dbdeid.data.figures import number
from dbdeid.engine.expressions import Query
from dbdeid.engine.sqltext import step
from dbdeid.privacy.common.histogram import CLOSE, Floats, Histogram, Mask, Whole, meant
from dbdeid.privacy.common.largest import capped
from dbdeid.privacy.common.promise import Words
from dbdeid.privacy.common.sensitive import Makeup, OfSensitive, sizes, target
from dbdeid.privacy.common.shares import Shares, finite

LARGEST = 1000  # denominators of δ up to which a logarithm near it is decided in integers


class DeltaDisclosure(OfSensitive):
    """|log2(p/q)| < δ for every value of the source, strictly; one that a class lacks breaks it."""

    words: ClassVar[Words] = Words(
        "δ-disclosure privacy",
        "Every class has every sensitive value about as often as the original table: the "
        "logarithm of the ratio, to base 2, is below delta.",
    )
    public: ClassVar[tuple[str, ...]] = ("column", "joint", "delta")

    model: Literal["delta_disclosure"]
    delta: float = Field(gt=0, le=1e3)

    @staticmethod
    def said(declared: Mapping[str, Any], on: str) -> str:
        """The promise in one clause."""
        delta = number(declared.get("delta"))
        return f"δ = {delta} of {target(declared)} in each class (δ-disclosure)"

    def satisfied(self, classes: Histogram) -> Mask:
        """Which classes hold."""
        change = np.abs(np.log2(classes.gain))
        below = change < self.delta
        for entry in np.flatnonzero(np.abs(change - self.delta) <= CLOSE):
            below[entry] = _less(*classes.entry_gain(int(entry)), self.delta)
        return self.necessary(classes) & ~classes.any(~below)

    def portions(self, size: int, whole: Whole) -> Iterator[Makeup]:
        """Every value, more than 2^-δ and less than 2^δ times its share in the source."""
        for own in sizes(size, whole):
            share = own * whole.counts / whole.people
            most = np.ceil(share * 2**self.delta - CLOSE) - 1
            least = np.floor(share / 2**self.delta + CLOSE) + 1
            yield Makeup(own, len(least), most.astype(np.int64), least.astype(np.int64))

    def necessary(self, classes: Histogram) -> Mask:
        """What a class needs to hold, and keeps as it merges: every value."""
        return np.asarray(classes.distinct == len(classes.whole.counts))

    def most(self, classes: Histogram) -> Floats:
        """Less than 2^δ times the share of each value, and more than 2^-δ times.

        The latter is n < 2^δ · s_v / q_v ≤ 2^δ · c_v / q_v of every value.
        """
        times = 2**self.delta
        share = (classes.whole.counts / classes.whole.people)[classes.value]
        fewest = np.full(classes.classes, np.inf)
        np.minimum.at(fewest, classes.of_class, classes.count * times / share)
        return np.minimum(fewest, capped(classes, share * times))

    def measure(self, shares: Shares) -> Query:
        """The greatest of p/q and q/p, whose logarithm is exact where it is a whole number."""
        return step("privacy/disclosure_ratio", {"shares": shares.compared})

    def holds(self, found: Any) -> bool:
        """Whether the measured ratio keeps the promise."""
        return found is None or (found < inf and log2(found) < self.delta)

    def shown(self, found: Any) -> Any:
        """The logarithm of the measured ratio, |log2(p/q)|."""
        return finite(found if found is None or found == inf else log2(found))


def _less(numerator: int, denominator: int, delta: float) -> bool:
    """|log2(numerator / denominator)| < δ, in integers where δ is a short fraction."""
    limit = meant(delta)
    more, less = max(numerator, denominator), min(numerator, denominator)
    if limit.denominator > LARGEST:
        return log2(more / less) < delta  # rounded as what is measured is
    return bool(more**limit.denominator < 2**limit.numerator * less**limit.denominator)
