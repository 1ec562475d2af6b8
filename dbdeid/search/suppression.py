"""Which records stay under a transformation: the rule of k-anonymity on counted classes.

A rule keeps a class whole or not at all, except where rows of a subject are linked: then a subject
is kept with all its rows or not at all. Under every rule a more general transformation keeps all
that a less general one keeps, so that suppressed subjects only become fewer.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from dbdeid.search.tuples import Tuples

Ints = NDArray[np.int64]
Mask = NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Rule:
    """What a class needs to stay.

    Attributes:
        k: subjects, or records where every record is a subject.
        null_policy: how NULL forms classes. With `wildcard` a class counts all records that agree
            with it where neither is NULL; with `exclude` a class with a NULL is suppressed.
        linked: a released pseudonym links the rows of a subject; the whole set of classes of each
            subject must then be that of at least k subjects.
    """

    k: int
    null_policy: Literal["own_category", "wildcard", "exclude"] = "own_category"
    linked: bool = False

    @property
    def merges(self) -> bool:
        """Whether a class that was not kept is only kept after it met another class."""
        return self.null_policy == "own_category" and not self.linked


@dataclass(frozen=True, slots=True)
class Seen:
    """The classes of one transformation.

    Attributes:
        counts: records of each class.
        row_class: the class of each row of the tuples; None where every record is a subject.
        groups: the group of each class on each attribute (attributes, classes), on demand.
        nulls: whether each class has NULL in each attribute (attributes, classes), on demand.
    """

    counts: Ints
    row_class: Ints | None
    groups: Callable[[], Ints]
    nulls: Callable[[], Mask]


@dataclass(frozen=True, slots=True)
class Kept:
    """What stays.

    Attributes:
        records: of each class, how many stay.
        smallest: what k is compared with in the class that has least of it; 0 if none is kept.
        suppressed_subjects: subjects who lose a record.
    """

    records: Ints
    smallest: int
    suppressed_subjects: int


class Suppression:
    """Applies a rule to the classes of one table.

    Raises:
        ValueError: the rule needs subjects, or cannot count them.
    """

    def __init__(self, rule: Rule, tuples: Tuples) -> None:
        if tuples.subjects is None and rule.linked:
            raise ValueError("linked rows need subjects")
        if tuples.subjects is not None and rule.null_policy == "wildcard":
            raise ValueError("wildcards over subjects are not counted")
        self._rule = rule
        self._weights = tuples.weights
        self._people = _People(tuples) if tuples.subjects is not None else None

    def __call__(self, seen: Seen) -> Kept:
        """What stays of the classes."""
        if self._people is not None:
            assert seen.row_class is not None
            return self._by_subject(seen, self._people, seen.row_class)
        if self._rule.null_policy == "wildcard":
            return self._by_wildcard(seen)
        keep = seen.counts >= self._rule.k
        if self._rule.null_policy == "exclude":
            keep = keep & ~self._excluded(seen)
        lost = int(seen.counts[~keep].sum())
        return Kept(seen.counts * keep, _least(seen.counts[keep]), lost)

    def _by_subject(self, seen: Seen, people: _People, row_class: Ints) -> Kept:
        excluded = self._excluded(seen)
        if not self._rule.linked:
            subjects = people.in_classes(row_class, len(seen.counts))
            keep = (subjects >= self._rule.k) & ~excluded
            lost = people.among(~keep[row_class])
            return Kept(seen.counts * keep, _least(subjects[keep]), lost)
        alike = people.sharing(row_class, len(seen.counts), excluded)
        stays = alike >= self._rule.k
        weights = self._weights * stays[people.codes]
        kept = np.rint(np.bincount(row_class, weights, len(seen.counts))).astype(np.int64)
        return Kept(kept, _least(alike[stays]), int(len(stays) - stays.sum()))

    def _excluded(self, seen: Seen) -> Mask:
        if self._rule.null_policy != "exclude":
            return np.zeros(len(seen.counts), np.bool_)
        return np.asarray(seen.nulls().any(axis=0))

    def _by_wildcard(self, seen: Seen) -> Kept:
        """Suppress what meets too few until none does: the suppressed do not count for others."""
        nulls = seen.nulls()
        frequencies = _Frequencies(seen.groups(), nulls) if nulls.any() else None
        kept = seen.counts.copy()
        while True:
            found = frequencies.of(kept) if frequencies else kept
            small = (kept > 0) & (found < self._rule.k)
            if not small.any():
                lost = int(seen.counts.sum() - kept.sum())
                return Kept(kept, _least(found[kept > 0]), lost)
            kept[small] = 0


def _least(values: Ints) -> int:
    return int(values.min()) if len(values) else 0


class _People:
    """The subjects behind the rows of the tuples."""

    def __init__(self, tuples: Tuples) -> None:
        assert tuples.subjects is not None
        self.codes = tuples.subjects.astype(np.int64)
        self.count = tuples.people
        rows = np.bincount(self.codes, minlength=self.count)
        # Most have one row: they are distinct in whatever class it falls.
        self._several = np.flatnonzero(rows[self.codes] > 1)
        self._single = rows[self.codes] == 1

    def in_classes(self, row_class: Ints, classes: int) -> Ints:
        """How many subjects each class has."""
        single = np.bincount(row_class[self._single], minlength=classes)
        pairs = np.unique(row_class[self._several] * self.count + self.codes[self._several])
        return single + np.bincount(pairs // max(self.count, 1), minlength=classes)

    def among(self, rows: Mask) -> int:
        """How many subjects some rows have."""
        return int(np.count_nonzero(np.bincount(self.codes[rows], minlength=self.count)))

    def sharing(self, row_class: Ints, classes: int, excluded: Mask) -> Ints:
        """How many subjects have the same set of classes as each; 0 for one in an excluded class.

        Sets are told apart by numbering them class by class, in the order of the classes.
        """
        pairs = np.unique(self.codes * classes + row_class)
        subject, class_ = pairs // max(classes, 1), pairs % max(classes, 1)
        size = np.bincount(subject, minlength=self.count)
        start = np.cumsum(size) - size
        number = class_[start]
        largest = np.argsort(-size, kind="stable")
        shrinking = -size[largest]
        for place in range(1, int(size.max(initial=1))):
            more = largest[: np.searchsorted(shrinking, -place)]  # whose set has more classes
            if len(more) < 2:  # told apart by its size
                break
            _, number[more] = np.unique(
                number[more] * classes + class_[start[more] + place], return_inverse=True
            )
        _, set_, alike = np.unique(
            number * (size.max(initial=0) + 1) + size, return_inverse=True, return_counts=True
        )
        shared: Ints = np.asarray(alike[set_], np.int64)
        shared[subject[excluded[class_]]] = 0
        return shared


class _Frequencies:
    """How many records agree with each class where neither is NULL (Benedetti & Franconi 1998).

    Classes are taken together by which attributes are NULL in them: between two such patterns it
    is the attributes present in both that must agree.
    """

    def __init__(self, groups: Ints, nulls: Mask) -> None:
        patterns, which = np.unique(nulls, axis=1, return_inverse=True)
        members = [np.flatnonzero(which.ravel() == i) for i in range(patterns.shape[1])]
        self._size = groups.shape[1]
        self._pairs: list[tuple[Ints, Ints, Ints, Ints]] = []
        for i, own in enumerate(members):
            for j, others in enumerate(members[: i + 1]):
                both = ~(patterns[:, i] | patterns[:, j])
                together = np.concatenate([own, others])
                key = _numbered(groups[both][:, together])
                keys = key[: len(own)], key[len(own) :]
                self._pairs.append((own, others, *keys))
                if i != j:
                    self._pairs.append((others, own, *keys[::-1]))

    def of(self, counts: Ints) -> Ints:
        """The frequency of each class when the classes have these counts."""
        found = np.zeros(self._size, np.int64)
        for own, others, own_key, other_key in self._pairs:
            size = max(own_key.max(initial=0), other_key.max(initial=0)) + 1
            sums = np.zeros(size, np.int64)
            np.add.at(sums, other_key, counts[others])
            found[own] += sums[own_key]
        return found


def _numbered(columns: Ints) -> Ints:
    """A number for each distinct column of an array."""
    number = np.zeros(columns.shape[1], np.int64)
    for row in columns:
        _, number = np.unique(number * (row.max(initial=0) + 1) + row, return_inverse=True)
    return number
