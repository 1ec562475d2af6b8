"""(k, k^m)-anonymity: whoever knows m of a person's items, too, finds k people who have them.

A value is a text that lists items, such as codes of diagnoses. Poulis, Loukides, Gkoulalas-Divanis
& Skiadopoulos 2013, "Anonymizing Data with Relational and Transaction Attributes"; without
quasi-identifiers it is the k^m-anonymity of Terrovitis, Mamoulis & Kalnis 2008.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from itertools import combinations
from math import comb
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from pydantic import Field, model_validator

from dbdeid.data.problem import problem
from dbdeid.engine.expressions import Query, Value
from dbdeid.engine.sqltext import step
from dbdeid.errors import DataError
from dbdeid.privacy.common.histogram import Floats, Histogram, Ints, Mask, Whole
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

BLANK = " "  # around an item it is no part of it
COMBINATIONS = 5_000_000  # of different values, at most
STEPS = 32  # in which records with a rare combination are left out, at most


class KmAnonymity(OfSensitive):
    """Any m items that a record of a class has are those of at least k records of the class.

    A record of fewer items has k who have all of these. A class has k records, and a record without
    items is only looked for by its quasi-identifiers. As classes that hold merge they hold, and one
    that does not hold may hold when it meets another.

    Records count: the items of a person's several records would have to be put together first.

    Attributes:
        k: records that share what an attacker knows, at least.
        m: items that he knows, at most.
        separator: what stands between the items of a value.
    """

    relative: ClassVar[bool] = False
    by_record: ClassVar[bool] = True
    words: ClassVar[Words] = Words(
        "(k, kᵐ)-anonymity",
        "Every class has k members, and whoever knows up to m items of a person as well still "
        "finds at least k members who have them all.",
    )
    public: ClassVar[tuple[str, ...]] = ("column", "k", "m", "separator")
    found_in_release: ClassVar[bool] = True

    model: Literal["km_anonymity"]
    k: int = Field(ge=1, le=10**9)
    m: int = Field(ge=1, le=9)
    separator: Annotated[str, Field(min_length=1, max_length=8)] = ";"

    @model_validator(mode="after")
    def _of_items(self) -> KmAnonymity:
        if self.joint:
            raise problem(
                "joint: true has no items: the model is about one column that lists them",
                "put the items of all columns into one in `source: {sql: …}`, or leave joint out",
            )
        if not self.separator.strip(BLANK):
            raise problem(
                "separator: blanks around an item are no part of it",
                'use another character, as in separator: ";"',
            )
        return self

    @staticmethod
    def said(declared: Mapping[str, Any], on: str) -> str:
        """The promise in one clause."""
        known, k = declared.get("m"), declared.get("k")
        items = "item" if known == 1 else "items"
        return f"k = {k} on {on} and any {known} {items} of {target(declared)} (k, kᵐ)"

    @staticmethod
    def vacuous(declared: Mapping[str, Any]) -> bool:
        """Whether any table keeps the promise."""
        return declared.get("k") == 1

    def refused(self, column: SensitiveColumn) -> Iterator[Refusal]:
        """A column that lists no items, or in which differently spelled ones would be one."""
        if column.family not in ("text", "enum", ""):
            yield Refusal(
                "column",
                f"km_anonymity is about a text that lists items, and {column.name!r} is "
                f"{column.type}",
                "write a list as text in `source: {sql: …}`: "
                f"array_to_string(list_sort({column.name}), '{self.separator}')",
            )
        elif not column.as_written:
            yield Refusal(
                "column",
                f"km_anonymity counts the items of {column.name!r} as they are written, for each "
                "spelling of one leaves as it is",
                "spell them alike in `source: {sql: …}`, and declare `values: as_written` at the "
                "column",
            )

    @property
    def diversifies(self) -> bool:
        """Items that many have in common are what it asks for."""
        return False

    @property
    def smallest_class(self) -> int:
        """The number of records below which a class fails."""
        return self.k

    def reached(self, one: Histogram) -> str:
        """The greatest k, and how many records stand in the way of the declared one."""
        held = self._held(one, np.ones(len(one.count), np.bool_))
        least, left = int(held.records.min(initial=one.sizes[0])), int(self.most(one)[0])
        found = f"k = {least} with m = {self.m}"
        if 0 < left < one.sizes[0]:
            rare = int(one.sizes[0]) - left
            found += f"; {rare:,} records have items that fewer than k = {self.k} share"
        return found

    def satisfied(self, classes: Histogram) -> Mask:
        """Which classes hold."""
        enough = classes.sizes >= self.k
        held = self._held(classes, enough[classes.of_class])
        enough[held.of_class[held.records < self.k]] = False
        return enough

    def necessary(self, classes: Histogram) -> Mask:
        """Size, and that some items are frequent, or their lack is: both stay as classes merge."""
        enough = classes.sizes >= self.k
        held = self._held(classes, enough[classes.of_class])
        frequent = np.zeros(classes.classes, np.bool_)
        frequent[held.of_class[held.records >= self.k]] = True
        none = _sets(classes.whole, self.m, self.separator).number[classes.value] == 0
        without = np.bincount(classes.of_class[none], classes.count[none], classes.classes)
        return enough & (frequent | (without >= self.k))

    def most(self, classes: Histogram) -> Floats:
        """What is left where records with a rare combination are left out until there is none.

        A part that holds has none of these records: what is rare in the class is rarer in a part.
        """
        left = np.ones(len(classes.count), np.bool_)
        for _ in range(STEPS):
            held = self._held(classes, left)
            lost = np.unique(held.entry[held.records[held.of_entry] < self.k])
            if not len(lost):
                break
            left[lost] = False
        found = classes.summed(classes.count * left)
        return np.where(found < self.k, 0.0, found)

    def portions(self, size: int, whole: Whole) -> Iterator[Makeup]:
        """Any; whether items are too rare is only known of a block."""
        for own in sizes(max(size, self.k), whole):
            yield Makeup(own)

    def measure(self, shares: Shares) -> Query:
        """The fewest records of a class, or of those of a class that share m items."""
        values: dict[str, Value] = {"known": self.m, "separator": self.separator}
        return step("privacy/item_sets", {"held": shares.held}, values=values)

    def holds(self, found: float | None) -> bool:
        """Whether the measured value keeps the promise."""
        return found is None or found >= self.k

    def _held(self, classes: Histogram, chosen: Mask) -> _Held:
        """The combinations of the chosen entries, and how many records of their class have each."""
        sets = _sets(classes.whole, self.m, self.separator)
        entry = np.flatnonzero(chosen)
        number = sets.number[classes.value[entry]]
        first = np.cumsum(number) - number
        within = np.arange(int(number.sum())) - np.repeat(first, number)
        entry, place = np.repeat(entry, number), np.repeat(sets.first[classes.value[entry]], number)
        keys = classes.of_class[entry] * sets.different + sets.set_[place + within]
        different, of_entry = np.unique(keys, return_inverse=True)
        records = np.bincount(of_entry, classes.count[entry], len(different)).astype(np.int64)
        return _Held(entry, of_entry, different // max(sets.different, 1), records)


@dataclass(frozen=True, slots=True)
class _Held:
    """Combinations of items in classes.

    Attributes:
        entry: of each pair of an entry and a combination the entry.
        of_entry: of each pair the place of the combination of its class.
        of_class: of each combination of a class the class.
        records: of each combination of a class the records of it that have the items.
    """

    entry: Ints
    of_entry: Ints
    of_class: Ints
    records: Ints


@dataclass(frozen=True, slots=True)
class _Sets:
    """The combinations of up to m items that each value has.

    Attributes:
        first: of each value the place of its first combination.
        number: of each value how many it has; 0 without items.
        set_: the combinations of all values, as numbers.
        different: how many there are.
    """

    first: Ints
    number: Ints
    set_: Ints
    different: int


def items_of(value: Any, separator: str) -> tuple[str, ...]:
    """The items that a text lists, each once and in order; without blanks around them."""
    parts = (part.strip(BLANK) for part in str("" if value is None else value).split(separator))
    return tuple(sorted({part for part in parts if part}))


@lru_cache(maxsize=8)
def _sets(whole: Whole, known: int, separator: str) -> _Sets:
    """The combinations of a source's values.

    Raises:
        DataError: there are too many.
    """
    items = [items_of(label, separator) for label in whole.labels]
    chosen = range(1, known + 1)
    number = np.array([sum(comb(len(own), n) for n in chosen) for own in items], np.int64)
    if number.sum() > COMBINATIONS:
        raise DataError(
            f"km_anonymity with m = {known}: {int(number.sum()):,} combinations of items are more "
            f"than {COMBINATIONS:,}",
            hint="declare a smaller m, or keep fewer items of each record in `source: {sql: …}`",
        )
    codes: dict[tuple[str, ...], int] = {}
    found = [
        codes.setdefault(some, len(codes))
        for own in items
        for n in chosen
        for some in combinations(own, n)
    ]
    first = np.cumsum(number) - number
    return _Sets(first, number, np.array(found, np.int64), len(codes))
