"""l-diversity: no class gives away the sensitive value of its subjects.

Machanavajjhala, Kifer, Gehrke & Venkitasubramaniam 2007, definitions 3.1 (distinct), 4.1 (entropy)
and 4.2 (recursive).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import replace
from decimal import Decimal, localcontext
from functools import cache
from math import ceil, gcd
from typing import Any, ClassVar, Literal

import numpy as np
from pydantic import Field, model_validator

from dbdeid.data.figures import number
from dbdeid.data.json import JsonObject
from dbdeid.data.problem import problem
from dbdeid.engine.expressions import Query
from dbdeid.engine.sqltext import step
from dbdeid.privacy.common.histogram import Floats, Histogram, Ints, Mask, Whole, at_most, meant
from dbdeid.privacy.common.largest import even, filled, levelled
from dbdeid.privacy.common.promise import Words
from dbdeid.privacy.common.sensitive import Makeup, OfSensitive, target
from dbdeid.privacy.common.shares import CLOSE, Shares

MIXES = 4  # ways to make up a class that are proposed to a local recoding, of each kind
DIGITS = 80  # of logarithms; half of them are more than what their sum is rounded by


class LDiversity(OfSensitive):
    """Every class has at least l well-represented sensitive values, and l subjects.

    - distinct: l different values.
    - entropy: the exponential of the entropy of its values is at least l.
    - recursive: with counts r_1 >= r_2 >= …, r_1 < c · (r_l + r_{l+1} + …), strictly.

    A class in which every subject has the same value holds for no l above 1: subjects of several
    records can have several values, and then share one for all their diversity.

    To have no value adds nothing to diversity. What is demanded holds of the subjects who have a
    value, and of all with `none` as one more value of theirs.
    """

    relative: ClassVar[bool] = False
    words: ClassVar[Words] = Words(
        "l-diversity",
        "The members of every class have at least l different values of the sensitive column; "
        "entropy and recursive l-diversity also ask that none of them is too frequent.",
    )
    public: ClassVar[tuple[str, ...]] = ("l", "c", "column", "joint", "kind")
    found_in_release: ClassVar[bool] = True

    model: Literal["l_diversity"]
    l: float = Field(ge=1, le=1e9)  # noqa: E741
    kind: Literal["distinct", "entropy", "recursive"] = "distinct"
    c: float | None = Field(None, gt=0, le=1e9)

    @model_validator(mode="after")
    def _whole_numbers(self) -> LDiversity:
        if self.kind != "entropy" and self.l != int(self.l):
            raise problem(f"l of kind {self.kind} is a whole number", "as in l: 3")
        if self.kind == "recursive" and self.c is None:
            raise problem("kind: recursive needs c", "as in {kind: recursive, l: 3, c: 2}")
        if self.kind != "recursive" and self.c is not None:
            raise problem("c only goes with kind: recursive", "drop it")
        return self

    @staticmethod
    def said(declared: Mapping[str, Any], on: str) -> str:
        """The promise in one clause."""
        kind = declared.get("kind", "distinct")
        c = f", c = {number(declared['c'])}" if declared.get("c") is not None else ""
        named = "" if kind == "distinct" else f"{kind} "
        return f"{named}l = {number(declared.get('l'))}{c} of {target(declared)} in each class"

    @staticmethod
    def vacuous(declared: Mapping[str, Any]) -> bool:
        """Whether any table keeps the promise."""
        loose = declared.get("kind", "distinct") != "recursive" or (declared.get("c") or 0) > 1
        return bool(declared.get("l") == 1) and loose

    @property
    def declared(self) -> JsonObject:
        """The promised parameters, as they are shown."""
        least = int(self.l) if self.l == int(self.l) else self.l
        return {**super().declared, "kind": self.kind, "l": least}

    @property
    def diversifies(self) -> bool:
        """Whether it keeps the values of a class from being all the same."""
        return self.l > 1

    @property
    def smallest_class(self) -> int:
        """Each of l values is that of a subject, and they are not all the same one."""
        return ceil(self.l)

    def reached(self, one: Histogram) -> str:
        """The greatest l, or the least c that is not enough."""
        counts = np.sort(one.known[1].count)[::-1]
        if len(counts) < self.l:
            return ""
        if self.kind == "entropy":
            share = counts / counts.sum()
            return f"l = {np.exp(-(share * np.log(share)).sum()):.4g}"
        if self.kind == "recursive":
            return f"c above {counts[0] / counts[int(self.l) - 1 :].sum():.4g}"
        return ""

    def satisfied(self, classes: Histogram) -> Mask:
        """Which classes hold."""
        held = self.necessary(classes) & self._of_values(classes)
        if classes.whole.missing is not None:
            chosen, known = classes.known
            enough = self._of_values(known) & (known.sizes >= self.l)
            held[chosen] &= enough
        return held

    def _of_values(self, classes: Histogram) -> Mask:
        """Which classes hold where all that is counted is a value."""
        held = ~classes.uniform | (self.l == 1)
        if self.kind == "entropy":
            held &= self._by_entropy(classes)
        if self.kind == "recursive":
            held &= self._by_counts(classes)
        return held

    def portions(self, size: int, whole: Whole) -> Iterator[Makeup]:
        """Few values with equal shares, or more of them, of which one may be frequent.

        Subjects without a value are in classes that have a value more.
        """
        if whole.missing is None:
            yield from self._portions(size, whole)
            return
        for own in self._portions(size, whole):
            most = whole.people if own.most is None else own.most
            yield replace(own, most=np.where(whole.missing, 0, most))
        for own in self._portions(size, whole):
            more = own.different + 1
            yield replace(own, size=max(own.size, more), different=more)

    def _portions(self, size: int, whole: Whole) -> Iterator[Makeup]:
        least = ceil(self.l)
        size = max(size, least)
        if self.kind == "distinct":
            yield Makeup(size, least)
            return
        for own in range(size, size + MIXES):  # r_1 of these and r_l of the rest
            most = int(own / meant(self.l)) if self.kind == "entropy" else self._tail(own)
            yield Makeup(own, least, np.full(len(whole.counts), most))
        for different in range(least + 1, least + MIXES):
            most = self._besides(different - 1)
            yield Makeup(max(size, different), different, np.full(len(whole.counts), most))

    def _tail(self, size: int) -> int:
        """The most x for which x < c · (size - (l - 1) · x), what r_l and the rest then are."""
        c = meant(self.c or 1)
        return ceil(size * c / (1 + c * (int(self.l) - 1))) - 1

    def _besides(self, others: int) -> int:
        """How often a class may have a value that has so many others once."""
        if self.kind == "recursive":
            return max(ceil(meant(self.c or 1) * (others + 2 - int(self.l))) - 1, 0)
        most = 1
        while _entropy_at_least((1,) * others + (most + 1,), self.l):
            most += 1
        return most

    def necessary(self, classes: Histogram) -> Mask:
        """What a class needs to hold, and keeps as it merges: values and subjects become more."""
        values = np.maximum(classes.real, 1)  # nothing is promised by l = 1
        return np.asarray((values >= self.l) & (classes.sizes >= self.l))

    def most(self, classes: Histogram) -> Floats:
        """What is left where no value is more frequent than others allow.

        Of kind recursive: a part with r_1 = ρ is within min(c_v, ρ), whose tail is no smaller. So
        this holds too, ρ < c · Σ min(c_v, ρ) over the values but the l - 1 most frequent ones.
        """
        if self.kind == "entropy":
            return even(classes, float(np.log(self.l)))
        if self.kind == "recursive":
            count, rank = _ranked(classes)
            rest, times = rank >= self.l - 1, float(self.c or 1)
            tail, amounts = classes.of_class[rest], times * count[rest]
            level = filled(tail, amounts, times, 1.0, np.maximum(count[rank == 0], 1.0))
            return levelled(classes.of_class, count, np.floor(level * (1 + CLOSE) + CLOSE))
        return super().most(classes)

    def measure(self, shares: Shares) -> Query:
        """The least l of the table; of kind recursive with the greatest r_1 / (r_l + …) as c."""
        if self.kind == "recursive":
            return step("privacy/l_recursive", {"held": shares.held}, values={"l": int(self.l)})
        kinds = {"distinct": "privacy/l_distinct", "entropy": "privacy/l_entropy"}
        return step(kinds[self.kind], {"held": shares.held})

    def holds(self, found: Any) -> bool:
        """Whether the measured value keeps the promise."""
        least = found["l"] if self.kind == "recursive" else found
        if least is None:
            return True
        if self.kind == "entropy":
            return bool(least >= self.l - CLOSE * self.l)
        return bool(least >= self.l and (self.c is None or found["c"] < self.c))

    def _by_entropy(self, classes: Histogram) -> Mask:
        share = classes.count / classes.pairs[classes.of_class]
        negative = classes.summed(share * np.log(share))

        def exact(class_: int) -> bool:
            counts = classes.count[classes.entries(class_)]
            return _entropy_at_least(tuple(sorted(counts.tolist())), self.l)

        return at_most(negative, -float(np.log(self.l)), exact)

    def _by_counts(self, classes: Histogram) -> Mask:
        assert self.c is not None
        count, rank = _ranked(classes)
        tail = classes.summed(count * (rank >= self.l - 1))
        most = count[rank == 0]
        # both sides are rounded once, so that equal numbers stay equal
        return np.asarray(most / np.maximum(tail, 1) < np.where(tail > 0, self.c, 0))


def _ranked(classes: Histogram) -> tuple[Ints, Ints]:
    """The counts of each class from the greatest on, and the place of each in it."""
    order = np.lexsort((-classes.count, classes.of_class))
    starts = np.searchsorted(classes.of_class, np.arange(classes.classes))
    return classes.count[order], np.arange(len(order)) - starts[classes.of_class]


@cache
def _entropy_at_least(counts: tuple[int, ...], least: float) -> bool:
    """n^n >= l^n · Π c^c; counts in proportion have the same entropy.

    In integers where logarithms do not tell, for these have as many digits as n · log10(n).
    """
    common = gcd(*counts)
    frequency = Counter(count // common for count in counts)
    limit, total = meant(least), sum(counts) // common
    with localcontext() as context:
        context.prec = DIGITS
        allowed = (total * Decimal(limit.denominator) / limit.numerator).ln() * total
        surplus = allowed - sum(n * c * Decimal(c).ln() for c, n in frequency.items())
        if abs(surplus) > Decimal(10) ** (-DIGITS // 2):
            return surplus > 0
    product = 1
    for count, times in frequency.items():
        product *= count ** (count * times)
    return bool((total * limit.denominator) ** total >= limit.numerator**total * product)
