"""All remembered releases of a source laid on each other: who is left with too few alike.

Two releases at a time are not enough: three can isolate where no two do. Whoever has all of them is
left with the people who are in the same class of *each*, where not to be shown by a release is a
class too: the smallest set that any choice of the releases leaves, since leaving one out joins sets
and never parts them. This module counts; docs/rerelease.md has the definitions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from dbdeid.rerelease.joint_classes import too_few_values

MOST_TRIED = 30_000_000  # joint classes looked at by the exact search, times choices of releases
NOT_SHOWN = -1


@dataclass(frozen=True, slots=True)
class Laid:
    """Releases that tell records apart alike, laid on each other; one row for each joint class.

    Attributes:
        classes: class in this release, then in each earlier one; -1: not shown. Shape: rows,
            1 + earlier releases.
        people: in each row, where a person has one record; else None.
        persons: a number of whose each row is, where people have several records: a row is then
            one person in one joint class.
        k: people that a class should have, of each release.
        which: numbers of the earlier releases, as the columns after the first.
    """

    classes: NDArray[np.int64]
    people: NDArray[np.int64] | None
    persons: NDArray[np.int64] | None
    k: tuple[int, ...]
    which: tuple[int, ...]

    def number(self, rows: NDArray[np.bool_]) -> int:
        """How many people are in these rows."""
        if self.people is not None:
            return int(self.people[rows].sum())
        assert self.persons is not None
        return len(np.unique(self.persons[rows]))

    def sizes(self, columns: Sequence[int]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Joint classes of some of the releases.

        Returns:
            The number of its joint class, and how many people are in that, of each row.
        """
        joint = self.joint(columns)
        if self.people is not None:
            whole = np.bincount(joint, weights=self.people).astype(np.int64)
        else:
            assert self.persons is not None
            _, first = np.unique(_paired(joint, self.persons), return_index=True)
            whole = np.bincount(joint[first], minlength=joint.max(initial=-1) + 1)
        return joint, whole[joint]

    def joint(self, columns: Sequence[int]) -> NDArray[np.int64]:
        """The number of its joint class in some of the releases, of each row."""
        joint = np.zeros(len(self.classes), np.int64)
        for column in columns:
            joint = _paired(joint, self.classes[:, column] + 1)
        return np.unique(joint, return_inverse=True)[1].astype(np.int64)

    def pair(self, column: int) -> tuple[NDArray[np.int64], ...]:
        """Class in an earlier release, in this one, and people, of each joint class of the two."""
        rows = (self.classes[:, [0, column]] != NOT_SHOWN).any(axis=1)
        joint, sizes = self.sizes([0, column])
        _, first = np.unique(np.where(rows, joint, -1), return_index=True)
        first = first[rows[first]]
        return self.classes[first, column], self.classes[first, 0], sizes[first]

    def few(self, columns: Sequence[int], k: int) -> NDArray[np.bool_]:
        """Rows of joint classes of fewer than k people in some of the releases.

        Not those which each of the releases shows whole: they tell together what each tells alone.
        """
        joint, sizes = self.sizes(columns)
        shown = self.classes[:, columns] != NOT_SHOWN
        few: NDArray[np.bool_] = (sizes < k) & shown.any(axis=1)
        if few.any():
            whole = shown.all(axis=1)
            for column in columns:
                whole &= self._all_there_is(joint, self.classes[:, column])
            few &= ~whole
        return few

    @staticmethod
    def _all_there_is(joint: NDArray[np.int64], classes: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Rows of joint classes that are all there is of their class of one release."""
        _, first = np.unique(_paired(joint, classes + 1), return_index=True)
        number = np.bincount(classes[first] + 1)
        alone: NDArray[np.bool_] = number[classes + 1] == 1
        return alone

    def isolated(self, kept: Iterable[int]) -> NDArray[np.bool_]:
        """Rows whose people this release and earlier ones leave with too few alike.

        A release that promises less does not excuse the others: those that promise at least a k
        are held to it without the rest.

        Args:
            kept: numbers of the earlier releases.
        """
        columns = [1 + self.which.index(one) for one in kept if one in self.which]
        found = np.zeros(len(self.classes), np.bool_)
        for k, those in self._levels(columns):
            found |= self.few([0, *those], k)
        return found

    def already(self, found: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Those of isolated rows whose people the earlier releases leave as few without this."""
        told = np.zeros(len(self.classes), np.bool_)
        for k, those in self._levels(range(1, self.classes.shape[1])):
            _, with_this = self.sizes([0, *those])
            _, without = self.sizes(those)
            shown = (self.classes[:, those] != NOT_SHOWN).any(axis=1)
            told |= shown & (without < k) & (without == with_this)
        return found & told

    def _levels(self, columns: Iterable[int]) -> list[tuple[int, list[int]]]:
        """Each k that some of the releases promise, this one's at most, with those promising it."""
        asked = {column: min(self.k[0], self.k[column]) for column in columns}
        return [
            (k, [column for column, own in asked.items() if own >= k])
            for k in sorted(set(asked.values()))
        ]


def _paired(first: NDArray[np.int64], second: NDArray[np.int64]) -> NDArray[np.int64]:
    """A number for each pair of numbers from 0; few enough numbers that none is too large."""
    width = int(second.max(initial=0)) + 1
    if int(first.max(initial=0)) >= np.iinfo(np.int64).max // width - 1:
        first = np.unique(first, return_inverse=True)[1].astype(np.int64)
    return first * width + second


@dataclass(frozen=True, slots=True)
class Withdraw:
    """An earlier release that reveals too much beside the others.

    Attributes:
        release: its name.
        created: its time, UTC, to the minute.
        runs: numbers of the runs that showed just this, as `dbdeid releases` lists them.
    """

    release: str
    created: str
    runs: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Together:
    """What a release and all earlier ones of its source reveal together.

    Attributes:
        releases: earlier ones that are laid on each other and on this one.
        k: people that a joint class should have: the smallest number that one of them promises.
        people: those who are left with too few alike.
        smallest: people of the smallest joint class; None where none is shown.
        already: those of `people` whom the earlier releases leave as few without this one.
        values: people left with fewer sensitive values than was declared, by column.
        ways: how many ways there are in which the releases tell records apart; only those of one
            way can be laid on each other.
        withdraw: the fewest earlier releases without which nothing would be found; those that
            cannot be compared are among them.
        exact: whether it is known that no fewer would do.
    """

    releases: int
    k: int
    people: int = 0
    smallest: int | None = None
    already: int = 0
    values: Mapping[str, int] | None = None
    ways: int = 1
    withdraw: tuple[Withdraw, ...] = ()
    exact: bool = True

    @property
    def safe(self) -> bool:
        """Whether nothing was found, and all could be laid on each other."""
        return not (self.people or self.values) and self.ways < 2


def measured(laid: Sequence[Laid]) -> Together:
    """What releases reveal together, for each way in which they tell records apart.

    Returns:
        The finding without sensitive values, and without what would have to be withdrawn.
    """
    people = already = 0
    smallest: list[int] = []
    for one in laid:
        found = one.isolated(one.which)
        _, sizes = one.sizes(range(one.classes.shape[1]))
        smallest += [int(sizes.min())] if len(sizes) else []
        if found.any():
            people = max(people, one.number(found))
            already = max(already, one.number(one.already(found)))
    return Together(
        releases=sum(len(one.which) for one in laid),
        k=min(k for one in laid for k in one.k),
        people=people,
        smallest=min(smallest, default=None),
        already=already,
        ways=len(laid),
    )


def fewest(
    laid: Sequence[Laid],
    forced: frozenset[int],
    releases: int,
    besides: Callable[[frozenset[int]], int] = lambda kept: 0,
) -> tuple[tuple[int, ...], bool]:
    """The fewest earlier releases without which this one leaves nobody with too few alike.

    Every choice is tried where that is few enough of them, smaller ones first. Else the release
    is left out without which the fewest people are isolated, until none is; then each is put back
    that changes nothing.

    Args:
        laid: the releases, of each way in which they tell records apart.
        forced: numbers of earlier releases that have to go whatever the others tell.
        releases: how many earlier releases there are.
        besides: people whom earlier releases that are kept leave with too few of something else.

    Returns:
        Their numbers, and whether it is known that no fewer would do.
    """
    free = [one for one in range(releases) if one not in forced]

    def left(kept: Iterable[int]) -> int:
        these = set(kept)
        ways = [one for one in laid if these & set(one.which)]
        many = max(0, len(ways) - 1)  # of several ways only one can be known to be safe
        alone = sum(one.number(one.isolated(these)) for one in ways)
        return many + alone + besides(frozenset(these))

    rows = sum(len(one.classes) for one in laid)
    if (2 ** len(free)) * max(rows, 1) <= MOST_TRIED or len(free) <= 2:
        for number in range(len(free) + 1):
            for gone in combinations(free, number):
                if not left(set(free) - set(gone)):
                    return tuple(sorted({*forced, *gone})), True
    gone_now: list[int] = []
    while left(rest := set(free) - set(gone_now)):
        gone_now.append(min(sorted(rest), key=lambda one: left(rest - {one})))
    for one in list(gone_now):
        others = [other for other in gone_now if other != one]
        if not left(set(free) - set(others)):
            gone_now = others
    return tuple(sorted({*forced, *gone_now})), len(gone_now) < 2


# -- in words --------------------------------------------------------------------------------------


def words(found: Together | None) -> tuple[str, ...]:
    """The notes on all releases together, where there is more than one earlier."""
    if found is None or found.releases < 2:
        return ()
    parts = []
    if found.people:
        has = "person has" if found.people == 1 else "people have"
        parts.append(
            f"{found.people:,} {has} fewer alike than promised (the smallest group: "
            f"{found.smallest})"
        )
        if found.already:
            parts.append(f"{found.already:,} of them without this release, too")
    parts += too_few_values(found.values)
    if found.ways > 1:
        parts.append(
            f"they tell records apart in {found.ways} ways, and only releases that do so alike can "
            "be compared"
        )
    if not parts:
        return ()
    text = f"combined with all {found.releases} earlier releases of its source: "
    return (text + "; ".join(parts) + "; " + withdrawal(found),)


def withdrawal(found: Together) -> str:
    """Say which earlier releases to withdraw, and whether fewer might do."""
    names = ", ".join(f"{one.release} (released {one.created} UTC)" for one in found.withdraw)
    known = "no fewer would do" if found.exact else "fewer may do: not every choice was tried"
    return f"nothing would be found if these were withdrawn: {names} ({known})"
