"""Where drawn sensitive values may stand, so that no class gives its counterfeit records away.

Drawing alone can put too many records of a rare value into one class, mix values that are more and
less often counterfeit, or miss a declared model. Values then change places until every class is
within its bounds: what is drawn stays as it is, only where it stands changes.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dbdeid.lattice.sensitive_counts import Entries
from dbdeid.prepare.sensitive_conditions import Sensitive

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]

TRIES = 400  # exchanges that are tried for each class that is out of bounds
ROUNDS = 4
SAME = 1e-12


@dataclass(frozen=True, slots=True)
class Places:
    """The classes that could be padded and the values drawn for them.

    Attributes:
        group: of each class (shape: classes).
        real_class, real_code, real_count: how often each value stands in each class for real.
        place_class, place_code: class and drawn value of each record to be made.
        codes: values are below it.
        impossible: (classes, codes) what no counterfeit record of a class has.
        share: (classes, codes) how many of the records with such values are real, where more is
            known of them than of their value; -1 elsewhere.
        fixed: of each record to be made, whether it stays where it is.
    """

    group: Ints
    real_class: Ints
    real_code: Ints
    real_count: Ints
    place_class: Ints
    place_code: Ints
    codes: int
    impossible: Bools
    share: Floats
    fixed: Bools


@dataclass(frozen=True, slots=True)
class Placed:
    """What was found: the value of each place, and the greatest prosecutor risk of a class."""

    code: Ints
    risk: float


def place(
    places: Places, bound: float, conditions: Sequence[Sensitive], generator: np.random.Generator
) -> Placed | None:
    """Exchange drawn values between classes of a group until every class is within its bounds.

    - Lemma 1 with the candidates alone: real records of a value in other classes of the group
      could be all of its counterfeits, so no class holds more of it than are real in the group.
    - With q the share of a value's records in the group that are counterfeit, a record is the one
      of a person of the class with probability (1 - q) / Σ (1 - q) over the class, at most `bound`.
      Records of which more is known have a q of their own, and count for no other's.
    - No drawn value is impossible in its class.
    - Every padded class holds the conditions.

    Returns:
        None where no exchange was found that helps.
    """
    state = _State(places, bound, conditions)
    wrong, rounds = state.wrong(), 0
    while wrong and rounds < ROUNDS:
        for class_ in wrong:
            if not state.mend(class_, generator):
                break
        wrong, rounds = state.wrong(), rounds + 1
    if wrong:
        return None
    return Placed(state.code, max(map(state.risk, range(len(places.group))), default=0.0))


class _State:
    """The classes as they are with the exchanges made so far."""

    def __init__(self, places: Places, bound: float, conditions: Sequence[Sensitive]) -> None:
        self.code = places.place_code.copy()
        self._places = places
        self._bound = bound
        self._conditions = [c for c in conditions if c.models]
        self._held: list[Counter[int]] = [Counter() for _ in places.group]
        triples = zip(places.real_class, places.real_code, places.real_count, strict=True)
        for class_, code, count in triples:
            self._held[class_][int(code)] += int(count)
        self._padded: list[list[int]] = [[] for _ in places.group]
        for i, (class_, code) in enumerate(zip(places.place_class, self.code, strict=True)):
            self._held[class_][int(code)] += 1
            self._padded[class_].append(i)
        self._free = [[i for i in own if not places.fixed[i]] for own in self._padded]
        groups, codes = int(places.group.max(initial=-1)) + 1, places.codes
        real, drawn = (np.zeros((groups, codes), np.int64) for _ in range(2))
        np.add.at(real, (places.group[places.real_class], places.real_code), places.real_count)
        np.add.at(drawn, (places.group[places.place_class], self.code), 1)
        self._real = np.where(drawn > 0, real, np.iinfo(np.int64).max)
        alike, other = real.copy(), drawn.copy()
        _take(alike, places, places.real_class, places.real_code, places.real_count)
        _take(other, places, places.place_class, self.code, np.ones_like(self.code))
        # to who takes all records of a value alike, and to who knows more of some
        self._alike = real / np.maximum(real + drawn, 1)
        self._genuine = alike / np.maximum(alike + other, 1)
        self._of_group: list[list[int]] = [[] for _ in range(groups)]
        for i in np.flatnonzero(~places.fixed).tolist():
            self._of_group[int(places.group[places.place_class[i]])].append(i)

    def wrong(self) -> list[int]:
        """The classes that are out of their bounds."""
        return [c for c in range(len(self._places.group)) if self.penalty(c) > 0]

    def risk(self, class_: int) -> float:
        """The greatest probability that a record of a class is a given person's."""
        group = self._places.group[class_]
        held = [(code, n) for code, n in self._held[class_].items() if n]
        share = self._places.share[class_]
        informed = [(share[c] if share[c] >= 0 else self._genuine[group, c], n) for c, n in held]
        worst = 0.0
        for weights in ([(self._alike[group, c], n) for c, n in held], informed):
            most, total = max(w for w, _ in weights), sum(w * n for w, n in weights)
            worst = max(worst, float(most / max(total, SAME)))
        return worst

    def penalty(self, class_: int) -> float:
        """How far a class is out of its bounds; 0 within."""
        real = self._real[self._places.group[class_]]
        held = self._held[class_]
        excess = sum(max(0, count - int(real[code])) for code, count in held.items())
        over = max(0.0, self.risk(class_) - self._bound - SAME)
        wrong = sum(self._places.impossible[class_, self.code[i]] for i in self._free[class_])
        return float(excess + wrong) + over + (0.0 if self._holds(class_) else 1.0)

    def _holds(self, class_: int) -> bool:
        if not self._conditions or not self._padded[class_]:
            return True  # what is not padded was looked at before
        pairs = sorted((code, count) for code, count in self._held[class_].items() if count)
        value, count = np.array(pairs, np.int64).T
        sizes = np.array([count.sum()])
        entries = Entries(np.zeros(len(value), np.int64), value, count)
        return all(bool(condition(sizes, entries)[0][0]) for condition in self._conditions)

    def mend(self, class_: int, generator: np.random.Generator) -> bool:
        """Exchange values of a class with others until it is within its bounds, or tries end."""
        own, group = self._free[class_], self._of_group[int(self._places.group[class_])]
        if not own:
            return False
        for mine, other in zip(
            generator.choice(own, TRIES), generator.choice(group, TRIES), strict=True
        ):
            there = int(self._places.place_class[other])
            if there == class_ or self.code[mine] == self.code[other]:
                continue
            before = self.penalty(class_) + self.penalty(there)
            self._exchange(int(mine), int(other))
            if self.penalty(class_) + self.penalty(there) >= before:
                self._exchange(int(mine), int(other))
            elif self.penalty(class_) == 0:
                return True
        return False

    def _exchange(self, one: int, other: int) -> None:
        for i, j in ((one, other), (other, one)):
            held = self._held[self._places.place_class[i]]
            held[int(self.code[i])] -= 1
            held[int(self.code[j])] += 1
        self.code[one], self.code[other] = self.code[other], self.code[one]


def _take(counted: Ints, places: Places, class_: Ints, code: Ints, many: Ints) -> None:
    """Leave records of which more is known out of those that are counted by group and value."""
    told = places.share[class_, code] >= 0
    np.subtract.at(counted, (places.group[class_[told]], code[told]), many[told])
