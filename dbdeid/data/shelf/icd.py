"""Diagnoses: code, category of three characters, block, chapter, from the structure of the code.

A category belongs to the narrowest range that holds it: C7A lies between C76 and C80 as text, and
has a block of its own.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

from dbdeid.data.shelf.tables import read


@dataclass(frozen=True, slots=True)
class Range:
    """Categories from `first` to `last`, both inside, and what they are called."""

    first: str
    last: str
    title: str

    @property
    def label(self) -> str:
        """The ends and the title, as in `250-259 Diseases of other endocrine glands`."""
        ends = self.first if self.first == self.last else f"{self.first}-{self.last}"
        return f"{ends} {self.title}"

    def holds(self, category: str) -> bool:
        """Whether a category lies between the ends; those of one letter have equal lengths."""
        same = category[0].isalpha() == self.first[0].isalpha()
        return same and self.first <= category <= self.last


class Icd:
    """One revision: how its codes are read, and the ranges of its blocks and chapters.

    Args:
        table: the file of the ranges.
        category: the category of a code without blanks in capital letters; None: it is no code.
    """

    def __init__(self, table: str, category: Callable[[str], str | None]) -> None:
        self._table, self._category = table, category
        self._known: dict[str, tuple[str, ...] | None] = {}

    @cached_property
    def ranges(self) -> dict[str, list[Range]]:
        """The ranges of each level: `block` and `chapter`."""
        found: dict[str, list[Range]] = {"block": [], "chapter": []}
        for row in read(self._table):
            found[row["level"]].append(Range(row["first"], row["last"], row["title"]))
        return found

    def path(self, value: str) -> tuple[str, ...] | None:
        """Category, block and chapter of a code; None where it has none of them."""
        category = self._category(value.strip().upper())
        if category is None:
            return None
        if category not in self._known:
            self._known[category] = self._labels(category)
        return self._known[category]

    def level(self, label: str) -> int | None:
        """1 of a category, 2 of a block or of a chapter that has none, 3 of other chapters."""
        known = (one for ranges in self.ranges.values() for one in ranges if one.label == label)
        labels = self.path(next((one.first for one in known), label))
        return labels.index(label) + 1 if labels is not None and label in labels else None

    def _labels(self, category: str) -> tuple[str, ...] | None:
        chapter = self._narrowest("chapter", category)
        if chapter is None:
            return None
        block = self._narrowest("block", category)
        if block is None:
            if any(chapter.holds(one.first) for one in self.ranges["block"]):
                return None  # a gap between blocks
            block = chapter
        return category, block.label, chapter.label

    def _narrowest(self, level: str, category: str) -> Range | None:
        holding = [one for one in self.ranges[level] if one.holds(category)]
        return max(holding, key=lambda one: one.first, default=None)


_NINE = re.compile(r"(V[0-9]{2}|E[0-9]{3}|[0-9]{3})(?:\.?[0-9]{1,2})?")
_SHORT = re.compile(r"([0-9]{1,2})(\.[0-9]*)?")
# The third sign may be a letter, as in C7A; a dagger or an asterisk may mark a pair of codes.
_TEN = re.compile(r"([A-Z][0-9A][0-9A-C])(?:\.?[0-9A-Z]{1,4})?[*+†]?")


def _of_nine(code: str) -> str | None:
    short = _SHORT.fullmatch(code)
    if short is not None:  # 8 and 8.45 lost the zeros of 008
        code = short[1].zfill(3) + (short[2] or "")
    found = _NINE.fullmatch(code)
    return found[1] if found else None


def _of_ten(code: str) -> str | None:
    found = _TEN.fullmatch(code)
    return found[1] if found else None


nine = Icd("icd9.csv", _of_nine)
ten = Icd("icd10.csv", _of_ten)
