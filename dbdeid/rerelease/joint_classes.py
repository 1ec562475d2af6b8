"""Find the joint classes of two releases that isolate people, and word the warnings.

Whoever has two releases and knows the quasi-identifiers of a person looks only at the records that
fit in both. The people whom one release shows in one class and the other in one class are a *joint
class*; who is shown by one of them only is there with those of whom that is true too. A joint class
of fewer than k people isolates them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from dbdeid.bind.bound import Bound
from dbdeid.privacy import LDiversity

MOST_TOLD = 5  # earlier releases in words


@dataclass(frozen=True, slots=True)
class Groups:
    """Joint classes that isolate: how many, and the people in them."""

    groups: int
    people: int


@dataclass(frozen=True, slots=True)
class Compared:
    """What a release reveals together with an earlier one.

    Attributes:
        release: name of the earlier release.
        created: its time, UTC, to the minute.
        run: its number in the book.
        k: people that a joint class should have: the smaller of what the two promise.
        source: of a release of another table or file, its name; empty where it is the same one.
        records: how many records the two sources were found to have in common, where it is another.
        compared: whether they could be compared; if not, `reason` says why.
        reason: empty where they could.
        shared: people that both show.
        smallest: people of the smallest joint class; None where none is shown.
        both: joint classes of fewer than k that both releases show, other than whole classes of
            both.
        appeared: the same of people whom only this release shows.
        vanished: the same of people whom only the earlier one shows.
        counted: what subtracting the sizes of classes alone tells: differences below k.
        values: people left with fewer sensitive values than was declared, by column.
        exposed: counterfeit records that the earlier release does not have.
        counterfeits: of so many.
        exposed_before: counterfeit records of the earlier release that this one does not have;
            None where they were not counted.
        counterfeits_before: of so many.
        redrawn: whether records of one of them that are nobody's were drawn otherwise than those
            of the other; how many that exposes is counted where their levels tell.
        moments: whether both are synthetic, so that sums tell of few who came or went.
    """

    release: str
    created: str
    run: str | None
    k: int
    source: str = ""
    records: int = 0
    compared: bool = True
    reason: str = ""
    shared: int = 0
    smallest: int | None = None
    both: Groups = Groups(0, 0)
    appeared: Groups = Groups(0, 0)
    vanished: Groups = Groups(0, 0)
    counted: Groups = Groups(0, 0)
    values: Mapping[str, int] | None = None
    exposed: int = 0
    counterfeits: int = 0
    exposed_before: int | None = None
    counterfeits_before: int = 0
    redrawn: bool = False
    moments: bool = False

    @property
    def safe(self) -> bool:
        """Whether nothing was found, by a comparison that could be made."""
        isolated = self.both.people + self.appeared.people + self.vanished.people
        found = isolated or self.values or self.exposed or self.exposed_before or self.redrawn
        return self.compared and not found


def measured(
    before: NDArray[np.int64], now: NDArray[np.int64], people: NDArray[np.int64], called: Compared
) -> Compared:
    """A comparison, completed by what the sizes of joint classes show.

    Args:
        before: class in the earlier release, -1: not shown (shape: joint classes).
        now: class in this one, likewise.
        people: in each joint class.
        called: the earlier release, and the people that each should have.
    """
    k = called.k
    there, here = before >= 0, now >= 0
    # a class that both releases show whole tells with both what it tells alone, though counterfeit
    # records may be part of what it promises
    whole = there & here & _alone(before) & _alone(now)
    small = (people < k) & ~whole

    def of(rows: NDArray[np.bool_]) -> Groups:
        return Groups(int(rows.sum()), int(people[rows].sum()))

    sums = differences(before, now, people)
    apart = np.abs(sums)
    few = (apart > 0) & (apart < k)
    return replace(
        called,
        shared=int(people[there & here].sum()),
        smallest=int(people.min()) if len(people) else None,
        both=of(small & there & here),
        appeared=of(small & ~there),
        vanished=of(small & ~here),
        counted=Groups(int(few.sum()), int(apart[few].sum())),
    )


def _alone(classes: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Which joint classes are all there is of their class."""
    _, place, count = np.unique(classes, return_inverse=True, return_counts=True)
    alone: NDArray[np.bool_] = count[place] == 1
    return alone


def same_classes(before: NDArray[np.int64], now: NDArray[np.int64]) -> bool:
    """Whether two releases show the same people, and the same of them together."""
    shown = bool((before >= 0).all() and (now >= 0).all())
    return shown and len(np.unique(before)) == len(np.unique(now)) == len(before)


def differences(
    before: NDArray[np.int64], now: NDArray[np.int64], people: NDArray[np.int64]
) -> NDArray[np.int64]:
    """How many more people this release shows than the earlier one, where both can be compared.

    Classes that overlap are one region, so that a region is made of whole classes of both: what
    anybody can count who has the two tables. Of classes that nobody is in both of, each is one.
    """
    if same_classes(before, now):  # as each time that nothing changed: scipy is slow to load
        return np.zeros(len(people), np.int64)
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    _, first = np.unique(before, return_inverse=True)
    _, second = np.unique(now, return_inverse=True)
    there, here = before >= 0, now >= 0
    linked = there & here
    node = second + (first.max(initial=-1) + 1)
    nodes = node.max(initial=-1) + 1
    pairs = coo_array((linked[linked], (first[linked], node[linked])), shape=(nodes, nodes))
    regions, region = connected_components(pairs, directed=False)
    total = np.zeros(regions, np.int64)
    np.add.at(total, region[node[here]], people[here])
    np.subtract.at(total, region[first[there]], people[there])
    return total


# -- in words --------------------------------------------------------------------------------------


def words(found: Sequence[Compared]) -> tuple[str, ...]:
    """The notes on the comparisons that are not safe.

    A line for each; of those that could not be made one for each reason, with the newest release.
    """
    unsafe = [one for one in found if not one.safe]
    unknown = [one for one in unsafe if not one.compared]
    told = [_words(one) for one in unsafe if one.compared]
    lines = told[:MOST_TOLD]
    if len(told) > MOST_TOLD:
        more = len(told) - MOST_TOLD
        lines.append(f"and so with {more} older release{'s' if more > 1 else ''}")
    for reason in dict.fromkeys(one.reason for one in unknown):
        alike = [one for one in unknown if one.reason == reason]
        last = f"{alike[0].release} {_of_time(alike[0])}".strip()
        which = f"earlier release {last}"
        if len(alike) > 1:
            which = f"{len(alike)} earlier releases, the last {last},"
        lines.append(f"{which} cannot be compared: {reason}")
    return tuple(lines)


def _of_time(one: Compared) -> str:
    return f"(released {one.created} UTC)" if one.created else ""


def _words(one: Compared) -> str:
    parts = []
    if one.both.people:
        parts.append(
            f"someone with both files narrows {_people(one.both)} down to fewer than k = {one.k} "
            "candidates"
        )
    for what, groups in (("this release", one.appeared), ("that release", one.vanished)):
        if groups.people:
            parts.append(
                f"{what} alone has {_people(groups)}, each of fewer than k = {one.k} people"
            )
    if one.counted.groups:
        parts.append(
            f"sizes of classes alone reveal such a group in {one.counted.groups} "
            f"place{'s' if one.counted.groups != 1 else ''}"
        )
    parts += too_few_values(one.values)
    if one.exposed:
        parts.append(
            f"{one.exposed} of {one.counterfeits} counterfeit records "
            f"({one.exposed / one.counterfeits:.0%}) are new, which tells them from real ones"
        )
    if one.exposed_before:
        parts.append(
            f"{one.exposed_before} of {one.counterfeits_before} counterfeit records of that "
            f"release ({one.exposed_before / one.counterfeits_before:.0%}) are gone, which tells "
            "them from real ones"
        )
    if one.redrawn and one.moments:
        parts.append(
            "synthetic records of the same people are drawn anew, and each further draw reveals "
            "more of the clusters. To draw the same, keep name, seed, k and method"
        )
    elif one.redrawn:
        parts.append(
            "counterfeit records can be told from real ones, which are in both. To draw the same, "
            "keep name, seed, k and levels (`--reuse` where the method has them)"
        )
    if one.moments and (one.appeared.people or one.vanished.people):
        parts.append("sums over all records of both reveal the sums of so few")
    of = ""
    if one.source:
        of = f", which has {one.records:,} records of this source in {one.source}"
    which = f"{one.release} {_of_time(one)}".strip()
    return f"combined with {which}{of}: " + "; ".join(parts)


def _people(groups: Groups) -> str:
    many, people = groups.groups, groups.people
    who = f"{people:,} {'person' if people == 1 else 'people'}"
    return f"{who} ({many:,} group{'s' if many != 1 else ''})"


def too_few_values(values: Mapping[str, int] | None) -> list[str]:
    """How many people are left with too few values of each sensitive column, in words."""
    return [
        f"{people:,} {'person has' if people == 1 else 'people have'} too few values of {name} left"
        for name, people in (values or {}).items()
    ]


def least_values(bound: Bound) -> dict[str, int]:
    """Distinct values that a class should have of each sensitive column; not of accepted ones."""
    least = {
        c.name: 2
        for c in bound.columns
        if c.spec.role == "sensitive" and "homogeneity" not in c.spec.accept
    }
    for model in bound.models:
        if isinstance(model, LDiversity) and model.kind == "distinct":
            for target in model.targets:
                if len(target) == 1 and target[0] in least:
                    least[target[0]] = max(least[target[0]], int(model.l))
    return least
