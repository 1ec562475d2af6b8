"""Which records stay under a transformation: the rule of the privacy models on counted classes.

A rule keeps a class whole or not at all, except where rows of a subject are linked: then a subject
is kept with all its rows or not at all. Under a rule of sizes alone a more general transformation
keeps all that a less general one keeps, so that suppressed subjects only become fewer. Conditions
on sensitive values are not like that: a class that holds may meet one that does not. They name what
is necessary and does stay true as classes meet, and, where every record is a subject, how many of a
class are in the largest part of it that may hold. That says what every less general transformation
suppresses too. So do comparisons with a population, where the people who fit a class
become more even if it meets no other class.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from dbdeid.lattice.lattice import Node
from dbdeid.lattice.sensitive_counts import Entries, counted, counted_subjects, distinct
from dbdeid.lattice.tuples import Tuples, Values
from dbdeid.lattice.wildcards import Frequencies

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Portions:
    """How a class may be made up that holds, or most likely does; each subject has one value.

    Attributes:
        size: its subjects, at least.
        different: its values, at least.
        most: of how many subjects each value may be.
        least: of how many each value must be.
    """

    size: int
    different: int
    most: Ints
    least: Ints


class Condition(Protocol):
    """What the values of one sensitive attribute must be like in a class."""

    @property
    def enough(self) -> int | None:
        """The number of distinct values that it takes, and that is enough; None: it takes more.

        It is asked where every record is a subject.
        """
        ...

    def portions(self, size: int) -> Sequence[Portions]:
        """How classes may be made up to hold.

        Args:
            size: the least of their subjects.
        """
        ...

    def __call__(self, sizes: Ints, entries: Entries) -> tuple[Mask, Mask]:
        """Which classes hold, and which have what is necessary and stays as classes merge.

        Args:
            sizes: subjects of each class.
            entries: the values of each class.
        """
        ...

    def most(self, sizes: Ints, entries: Entries) -> Ints:
        """How many subjects of each class the classes that it is made of can keep together.

        It is asked where every record is a subject, of classes that do not hold; as above.
        """
        ...


class Population(Protocol):
    """What the people of a population who fit a class must be like."""

    def __call__(self, node: Node, codes: Ints, sizes: Ints) -> tuple[Mask, Mask]:
        """Which classes hold, and which have what is necessary and stays as classes grow.

        Args:
            node: the transformation.
            codes: a value code of each class on each attribute (attributes, classes).
            sizes: subjects of each class.
        """
        ...

    def of_all(self, subjects: int) -> bool:
        """Whether a class of so many subjects that all people fit would hold."""
        ...

    def covered(self, node: Node, codes: Ints) -> bool:
        """Whether all people fit some of these classes, if they must.

        Args:
            node: the transformation.
            codes: a value code of each class that stays, on each attribute.
        """
        ...


@dataclass(frozen=True, slots=True)
class Rule:
    """What a class needs to stay.

    Attributes:
        k: subjects, or records where every record is a subject.
        null_policy: how NULL forms classes. With `wildcard` a class counts all records that agree
            with it where neither is NULL; with `exclude` a class with a NULL is suppressed.
        linked: a released pseudonym links the rows of a subject; the whole set of classes of each
            subject must then be that of at least k subjects, and in each of these classes the
            values of those subjects alone must hold the conditions.
        conditions: of each sensitive attribute of the tuples, in their order.
        rest: the suppressed records stay as a class of their own, which must hold the rule too.
        populations: what else the classes are compared with.
    """

    k: int
    null_policy: Literal["own_category", "wildcard", "exclude"] = "own_category"
    linked: bool = False
    conditions: tuple[Condition, ...] = ()
    rest: bool = False
    populations: tuple[Population, ...] = ()

    @property
    def merges(self) -> bool:
        """Whether a class that was not kept is only kept after it met another class."""
        return self.null_policy == "own_category" and not self.linked and not self.populations


@dataclass(frozen=True, slots=True)
class Seen:
    """The classes of one transformation.

    Attributes:
        node: the transformation.
        counts: records of each class.
        spread: from something of each class to that of each row's class.
        values: the sensitive attributes of the rows.
        groups: the group of each class on each attribute (attributes, classes), on demand.
        nulls: whether each class has NULL in each attribute (attributes, classes), on demand.
        codes: a value code of each class on each attribute (attributes, classes), on demand.
    """

    node: Node
    counts: Ints
    spread: Callable[[Ints], Ints]
    values: tuple[Values, ...]
    groups: Callable[[], Ints]
    nulls: Callable[[], Mask]
    codes: Callable[[], Ints]


@dataclass(frozen=True, slots=True)
class Kept:
    """What stays.

    Attributes:
        records: of each class, how many stay.
        possible: the same of what no less general transformation keeps more of.
        smallest: what k is compared with in the class that has least of it; 0 if none is kept.
        suppressed_subjects: subjects who lose a record.
        impossible_subjects: those who lose one under every less general transformation.
        subjects: whether each subject stays, where their rows are linked.
        chance: the sum over the kept records of one over the subjects that they hide among.
        rest_holds: whether the suppressed records hold as a class of their own, if they must.
        covers: whether all people of the populations fit what stays, if they must; the suppressed
            that stay as a class of their own are one that everybody fits.
    """

    records: Ints
    possible: Ints
    smallest: int
    suppressed_subjects: int
    impossible_subjects: int
    subjects: Mask | None
    chance: float
    rest_holds: bool
    covers: bool = True


class Suppression:
    """Applies a rule to the classes of one table.

    Raises:
        ValueError: the rule needs subjects or values, or cannot count them.
    """

    def __init__(self, rule: Rule, tuples: Tuples) -> None:
        if tuples.subjects is None and rule.linked:
            raise ValueError("linked rows need subjects")
        if tuples.subjects is not None and rule.null_policy == "wildcard":
            raise ValueError("wildcards over subjects are not counted")
        if rule.conditions and rule.null_policy == "wildcard":
            raise ValueError("values of wildcard classes are not counted")
        if rule.populations and (rule.linked or rule.null_policy == "wildcard"):
            raise ValueError("linked rows and wildcards are not compared with a population")
        if len(rule.conditions) != len(tuples.values):
            raise ValueError(f"{len(rule.conditions)} conditions, {len(tuples.values)} attributes")
        self._rule = rule
        self._weights = tuples.weights
        self._people = _People(tuples) if tuples.subjects is not None else None

    def __call__(self, seen: Seen) -> Kept:
        """What stays of the classes."""
        if self._people is not None:
            row_class = seen.spread(np.arange(len(seen.counts)))
            return self._by_subject(seen, self._people, row_class)
        if self._rule.null_policy == "wildcard":
            return self._by_wildcard(seen)
        enough = seen.counts >= self._rule.k
        if self._rule.null_policy == "exclude":
            enough = enough & ~self._excluded(seen)
        keep, most = self._judged(enough, seen.counts, seen)
        lost = int(seen.counts[~keep].sum())
        records = seen.counts * keep
        return Kept(
            records,
            records if most is None else most,
            _least(seen.counts[keep]),
            lost,
            lost if most is None else int((seen.counts - most).sum()),
            None,
            float(np.count_nonzero(keep)),
            self._rest_holds(seen, ~keep, lost),
            self._covers(seen, keep, lost),
        )

    def rows(self, seen: Seen) -> Mask:
        """Which rows stay."""
        kept = self(seen)
        if kept.subjects is not None:
            assert self._people is not None
            return kept.subjects[self._people.codes]
        return seen.spread(kept.records) > 0

    def _by_subject(self, seen: Seen, people: _People, row_class: Ints) -> Kept:
        if self._rule.linked:
            return self._by_linked_subject(seen, people, row_class)
        subjects = people.in_classes(row_class, len(seen.counts))
        enough = (subjects >= self._rule.k) & ~self._excluded(seen)
        keep, most = self._judged(enough, subjects, seen)
        possible = keep if most is None else most > 0
        lost = people.among(~keep[row_class])
        return Kept(
            seen.counts * keep,
            seen.counts * possible,
            _least(subjects[keep]),
            lost,
            people.among(~possible[row_class]),
            None,
            float((seen.counts[keep] / subjects[keep]).sum()),
            self._rest_holds(seen, ~keep, lost),
            self._covers(seen, keep, lost),
        )

    def _by_linked_subject(self, seen: Seen, people: _People, row_class: Ints) -> Kept:
        set_, alike = people.sharing(row_class, len(seen.counts), self._excluded(seen))
        stays = possible = alike >= self._rule.k
        if self._rule.conditions:
            _, first, pair = np.unique(
                set_[people.codes] * len(seen.counts) + row_class,
                return_index=True,
                return_inverse=True,
            )
            sizes = alike[people.codes[first]]
            keep, most = self._holding(
                sizes >= self._rule.k, sizes, lambda of_pair: of_pair[pair], seen.values
            )
            may = keep if most is None else most > 0
            # a subject is kept in all its classes or in none
            stays, possible = (people.none(~pair_holds[pair]) for pair_holds in (keep, may))
        kept, could = (
            np.rint(np.bincount(row_class, self._weights * s[people.codes], len(seen.counts)))
            for s in (stays, possible)
        )
        lost = int(len(stays) - stays.sum())
        by_row = stays[people.codes]
        chance = float((self._weights[by_row] / alike[people.codes[by_row]]).sum())
        return Kept(
            kept.astype(np.int64),
            could.astype(np.int64),
            _least(alike[stays]),
            lost,
            int(len(possible) - possible.sum()),
            stays,
            chance,
            self._rest_holds(seen, None, lost, by_row),
        )

    def _excluded(self, seen: Seen) -> Mask:
        if self._rule.null_policy != "exclude":
            return np.zeros(len(seen.counts), np.bool_)
        return np.asarray(seen.nulls().any(axis=0))

    def _judged(self, enough: Mask, sizes: Ints, seen: Seen) -> tuple[Mask, Ints | None]:
        """Which of the classes that have enough subjects hold, and how many of each can hold below.

        The latter is None where it is all of those that hold.
        """
        if not self._rule.populations:
            return self._holding(enough, sizes, seen.spread, seen.values)
        keep = possible = enough
        codes = seen.codes()
        for population in self._rule.populations:
            held, could = population(seen.node, codes, sizes)
            keep, possible = keep & held, possible & could
        held, most = self._holding(possible, sizes, seen.spread, seen.values)
        keep = keep & held
        if most is None and not np.array_equal(keep, held):
            most = sizes * held
        return keep, most

    def _holding(
        self,
        enough: Mask,
        sizes: Ints,
        spread: Callable[[Ints], Ints],
        values: tuple[Values, ...],
    ) -> tuple[Mask, Ints | None]:
        """As `_judged`, by the conditions alone."""
        if not self._rule.conditions or not enough.any():
            return enough, None
        chosen = np.flatnonzero(enough)
        place = np.full(len(enough), len(chosen))
        place[chosen] = np.arange(len(chosen))
        place = spread(place)
        judged = Judged(sizes[chosen], self._rule.k, parts=self._people is None)
        for condition, of_rows in zip(self._rule.conditions, values, strict=True):
            if self._people is None and condition.enough is not None:
                judged.demand(distinct(of_rows, place, len(chosen)) >= condition.enough)
            else:
                judged.judge(condition, self._entries(of_rows, place, len(chosen)))
        keep = np.zeros(len(enough), np.bool_)
        keep[chosen[judged.holds]] = True
        if judged.all_hold:
            return keep, None
        most = np.zeros(len(enough), np.int64)
        most[chosen] = judged.most
        return keep, most

    def _entries(self, values: Values, place: Ints, classes: int) -> Entries:
        """The values in some classes; a row in none of them has their number as its place."""
        if self._people is None:
            return counted(values, place, classes)
        people = self._people
        return counted_subjects(values, place, classes, people.codes, people.count)

    def _covers(self, seen: Seen, keep: Mask, lost: int) -> bool:
        if not self._rule.populations or (self._rule.rest and lost):
            return True
        kept = seen.codes()[:, keep]
        return all(population.covered(seen.node, kept) for population in self._rule.populations)

    def _rest_holds(
        self, seen: Seen, dropped: Mask | None, subjects: int, kept_rows: Mask | None = None
    ) -> bool:
        """Whether the suppressed records hold the rule as a class of their own, if they must."""
        if not subjects or not self._rule.rest:
            return True
        fits = all(population.of_all(subjects) for population in self._rule.populations)
        if not fits or subjects < self._rule.k or not self._rule.conditions:
            return fits and subjects >= self._rule.k
        if kept_rows is not None:
            place = kept_rows.astype(np.int64)
        else:
            place = seen.spread(1 - np.asarray(dropped).astype(np.int64))
        sizes = np.array([subjects])
        return all(
            bool(condition(sizes, self._entries(values, place, 1))[0][0])
            for condition, values in zip(self._rule.conditions, seen.values, strict=True)
        )

    def _by_wildcard(self, seen: Seen) -> Kept:
        """Suppress what meets too few until none does: the suppressed do not count for others."""
        nulls = seen.nulls()
        frequencies = Frequencies(seen.groups(), nulls) if nulls.any() else None
        kept = seen.counts.copy()
        while True:
            found = frequencies.of(kept) if frequencies else kept
            small = (kept > 0) & (found < self._rule.k)
            if not small.any():
                lost = int(seen.counts.sum() - kept.sum())
                chance = float((kept[kept > 0] / found[kept > 0]).sum())
                rest = not self._rule.rest or not lost or lost >= self._rule.k
                return Kept(kept, kept, _least(found[kept > 0]), lost, lost, None, chance, rest)
            kept[small] = 0


class Judged:
    """Classes under conditions, one after the other.

    Args:
        sizes: subjects of each class.
        k: how many a class needs.
        parts: whether every record is a subject, so that what finer classes keep of one is a part
            of it that holds.

    Attributes:
        holds: which classes hold all conditions so far.
        most: how many subjects of each class finer classes can keep.
    """

    def __init__(self, sizes: Ints, k: int, *, parts: bool) -> None:
        self._sizes, self._k, self._parts = sizes, k, parts
        self.holds = np.ones(len(sizes), np.bool_)
        self.most = sizes.copy()

    def demand(self, held: Mask) -> None:
        """Ask for what stays true as classes meet."""
        self.holds &= held
        self.most[~held] = 0

    def judge(self, condition: Condition, entries: Entries) -> None:
        """Ask for a condition on the values of the classes."""
        held, could = condition(self._sizes, entries)
        self.demand(could)
        self.holds &= held
        asked = np.flatnonzero((self.most > 0) & ~held)
        if not self._parts or not len(asked):
            return
        most = condition.most(self._sizes[asked], entries.of_classes(asked))
        found = np.minimum(self.most[asked], most)
        self.most[asked] = np.where(found < self._k, 0, found)

    @property
    def all_hold(self) -> bool:
        """Whether no class that does not hold has a part that can."""
        return not np.any(self.most[~self.holds])


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
        return self.count - int(np.count_nonzero(self.none(rows)))

    def none(self, rows: Mask) -> Mask:
        """Whether each subject has none of some rows."""
        return np.asarray(np.bincount(self.codes[rows], minlength=self.count) == 0)

    def sharing(self, row_class: Ints, classes: int, excluded: Mask) -> tuple[Ints, Ints]:
        """The set of classes of each subject, and how many subjects have the same one.

        That is 0 for a subject in an excluded class. Sets are told apart by numbering them class
        by class, in the order of the classes.
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
        return np.asarray(set_, np.int64), shared
