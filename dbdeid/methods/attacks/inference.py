"""What a release teaches of people's sensitive values beyond the values of their classes.

The attacker of Kifer 2009, "Attacks on privacy and deFinetti's theorem" (and of Cormode 2011,
"Personal privacy vs population privacy"), has the release, and knows the quasi-identifiers of a
person and the person's class. How often an exact value of a quasi-identifier goes with a sensitive
value is learned from all classes, naive Bayes; each label is spread over what it stands for by what
was learned so far (expectation maximization; Dempster, Laird & Rubin 1977). The person then has the
value s, of a class that reads L and has s in a share h(s) of its records, with odds

    h(s) · Π P(x_i | s) / P(L_i | s)   over the quasi-identifiers i.

Where all people of a class read alike on each level that the release shows, the product is the same
for all of them, and the guess is the most frequent value of the class.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dbdeid.data.records import Bools, Floats, Ints

ROUNDS = 30  # of expectation maximization
# Records of the shares of all values together that each sensitive value is given besides its own.
PRIOR = 1.0


@dataclass(frozen=True, slots=True)
class Classes:
    """The classes of a release.

    Attributes:
        levels: (c, q) of their labels.
        codes: (c, q) a value code of each label.
        of_class: (m,) the class of each entry.
        value: (m,) its sensitive value; each pair of class and value is one entry.
        count: (m,) records of it.
        values: how many values there are.
    """

    levels: Ints
    codes: Ints
    of_class: Ints
    value: Ints
    count: Ints
    values: int


@dataclass(frozen=True, slots=True)
class People:
    """Those of the source whose class is known, in rows of people who are alike.

    Attributes:
        codes: (n, q) the exact values of their quasi-identifiers.
        of_class: (n,) their class.
        value: (n,) their sensitive value.
        count: (n,) how many they are.
    """

    codes: Ints
    of_class: Ints
    value: Ints
    count: Ints


@dataclass(frozen=True, slots=True)
class Inferred:
    """How often the attacker is right; shares of the people.

    Attributes:
        right: with what the release teaches.
        by_class: with the most frequent value of the class.
        by_all: with the most frequent value of the release.
        surest: of the 1 % and the 5 % of whom the attacker is surest.
    """

    right: float
    by_class: float
    by_all: float
    surest: tuple[float, float]

    @property
    def lift(self) -> float:
        """What the release teaches beyond the classes."""
        return self.right - self.by_class


def inferred(groups: Sequence[Ints], classes: Classes, people: People) -> Inferred | None:
    """Guess the sensitive value of each person; None where there is nobody.

    Of values that are as likely the one is guessed that is more frequent in the release.

    Args:
        groups: of each quasi-identifier the (levels, codes) group of each code on each level.
        classes: of the release.
        people: of the source.
    """
    whole = int(people.count.sum())
    if not whole:
        return None
    learned = [
        _learned(own, classes.levels[:, i], classes.codes[:, i], classes)
        for i, own in enumerate(groups)
    ]
    first, number = _entries(classes, people)
    person = np.repeat(np.arange(len(people.count)), number)
    entry = np.arange(len(person)) - np.repeat(np.cumsum(number) - number, number)
    entry += np.repeat(first, number)
    value = classes.value[entry]
    alone = classes.count[entry].astype(np.float64)
    odds = alone.copy()
    for i, (own, shares) in enumerate(zip(groups, learned, strict=True)):
        of_class = people.of_class[person]
        level = classes.levels[of_class, i]
        odds *= _given_label(own, shares, level, people.codes[person, i], value)
    common = np.bincount(classes.value, classes.count, minlength=classes.values)
    rank = np.argsort(np.argsort(-common, kind="stable"))
    guess, chance = _guessed(person, odds, rank[value])
    plain, _ = _guessed(person, alone, rank[value])
    hit = value[guess] == people.value
    return Inferred(
        right=float(people.count[hit].sum() / whole),
        by_class=float(people.count[value[plain] == people.value].sum() / whole),
        by_all=float(people.count[people.value == int(np.argmin(rank))].sum() / whole),
        surest=(_surest(chance, hit, people.count, 0.01), _surest(chance, hit, people.count, 0.05)),
    )


def _entries(classes: Classes, people: People) -> tuple[Ints, Ints]:
    """The first entry of the class of each person, and how many it has; they are in order."""
    first = np.searchsorted(classes.of_class, people.of_class)
    return first, np.searchsorted(classes.of_class, people.of_class, "right") - first


def _learned(groups: Ints, levels: Ints, codes: Ints, classes: Classes) -> Floats:
    """P(exact value | sensitive value) of a quasi-identifier. Shape: codes, values."""
    shape = groups.shape[1], classes.values
    level, code = levels[classes.of_class], codes[classes.of_class]
    pooled = np.zeros((groups.shape[1], 1))
    pooled[:] = 1 / max(len(pooled), 1)
    counted = _counted(groups, level, code, np.zeros_like(classes.value), classes.count, 1)
    for _ in range(ROUNDS):
        spread = _spread(groups, pooled, counted)
        pooled = spread / max(spread.sum(), 1e-300)
    shares = np.repeat(pooled, shape[1], axis=1)
    counted = _counted(groups, level, code, classes.value, classes.count, shape[1])
    for _ in range(ROUNDS):
        spread = _spread(groups, shares, counted) + PRIOR * pooled
        shares = spread / spread.sum(axis=0)
    return shares


def _counted(
    groups: Ints, level: Ints, code: Ints, value: Ints, count: Ints, values: int
) -> list[Floats]:
    """Records of each group of each level with each value."""
    found = []
    for at, own in enumerate(groups):
        here = level == at
        cells = np.zeros((int(own.max(initial=0)) + 1, values))
        np.add.at(cells, (own[code[here]], value[here]), count[here])
        found.append(cells)
    return found


def _spread(groups: Ints, shares: Floats, counted: Sequence[Floats]) -> Floats:
    """Records of each exact value with each sensitive one, by shares inside of the labels."""
    found = np.zeros_like(shares)
    for own, cells in zip(groups, counted, strict=True):
        if cells.any():
            held = np.zeros_like(cells)
            np.add.at(held, own, shares)
            found += shares * (cells / np.maximum(held, 1e-300))[own]
    return found


def _given_label(groups: Ints, shares: Floats, level: Ints, code: Ints, value: Ints) -> Floats:
    """P(exact value | sensitive value, label) of each row."""
    found = np.ones(len(code))
    for at in np.unique(level).tolist():
        own, here = groups[at], level == at
        held = np.zeros((int(own.max(initial=0)) + 1, shares.shape[1]))
        np.add.at(held, own, shares)
        most = held[own[code[here]], value[here]]
        found[here] = shares[code[here], value[here]] / np.maximum(most, 1e-300)
    return found


def _guessed(person: Ints, odds: Floats, rank: Ints) -> tuple[Ints, Floats]:
    """The entry that is guessed of each person, and how probable it is."""
    total = np.bincount(person, odds)
    chance = odds / np.maximum(total[person], 1e-300)
    # what rounding alone tells apart is as likely
    order = np.lexsort((rank, -np.round(chance, 9), person))
    guess = order[np.unique(person[order], return_index=True)[1]]
    return guess, chance[guess]


def _surest(chance: Floats, hit: Bools, count: Ints, share: float) -> float:
    """How often the guess is right of the people it is surest of; of as sure ones, their mean."""
    _, of = np.unique(np.round(chance, 9), return_inverse=True)
    people = np.bincount(of.ravel(), count)[::-1]
    right = np.bincount(of.ravel(), count * hit)[::-1]
    most = max(1.0, share * float(count.sum()))
    taken = np.diff(np.minimum(np.cumsum(people), most), prepend=0.0)
    return float((taken * right / np.maximum(people, 1)).sum() / most)
