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
    """

    group: Ints
    real_class: Ints
    real_code: Ints
    real_count: Ints
    place_class: Ints
    place_code: Ints
    codes: int


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
        groups, codes = int(places.group.max(initial=-1)) + 1, places.codes
        real, drawn = (np.zeros((groups, codes), np.int64) for _ in range(2))
        np.add.at(real, (places.group[places.real_class], places.real_code), places.real_count)
        np.add.at(drawn, (places.group[places.place_class], self.code), 1)
        self._real = np.where(drawn > 0, real, np.iinfo(np.int64).max)
        self._genuine = real / np.maximum(real + drawn, 1)
        self._of_group: list[list[int]] = [[] for _ in range(groups)]
        for i, class_ in enumerate(places.place_class):
            self._of_group[int(places.group[class_])].append(i)

    def wrong(self) -> list[int]:
        """The classes that are out of their bounds."""
        return [c for c in range(len(self._places.group)) if self.penalty(c) > 0]

    def risk(self, class_: int) -> float:
        """The greatest probability that a record of a class is a given person's."""
        genuine = self._genuine[self._places.group[class_]]
        held = self._held[class_]
        weights = [(genuine[code], count) for code, count in held.items() if count]
        most, total = max(w for w, _ in weights), sum(w * n for w, n in weights)
        return float(most / max(total, SAME))

    def penalty(self, class_: int) -> float:
        """How far a class is out of its bounds; 0 within."""
        real = self._real[self._places.group[class_]]
        held = self._held[class_]
        excess = sum(max(0, count - int(real[code])) for code, count in held.items())
        over = max(0.0, self.risk(class_) - self._bound - SAME)
        return excess + over + (0.0 if self._holds(class_) else 1.0)

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
        own, group = self._padded[class_], self._of_group[int(self._places.group[class_])]
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
