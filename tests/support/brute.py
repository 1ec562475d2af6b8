"""Every privacy model over a sensitive attribute as its paper defines it, in exact fractions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations
from math import exp, inf, log, log2
from typing import Any

import numpy as np

from dbdeid.privacy import MODELS
from dbdeid.privacy.common.histogram import Histogram, Whole

Record = tuple[Any, int, Any]
"""Class, person and sensitive value of a record."""

CLOSE = Fraction(1, 10**9)


@dataclass(frozen=True)
class Counts:
    """Records counted: people, or records, and those with each value; NULL may be no value."""

    size: int
    values: dict[Any, int]
    nullable: bool = False

    @property
    def pairs(self) -> int:
        return sum(self.values.values())

    def absent(self, value: Any) -> bool:
        return self.nullable and value is None

    @property
    def alone(self) -> Counts | None:
        """Those who have a value, at least so many people; None where nobody has."""
        values = {v: n for v, n in self.values.items() if not self.absent(v)}
        if not values:
            return None
        without = sum(n for v, n in self.values.items() if self.absent(v))
        return Counts(max(self.size - without, *values.values(), 0), values)

    @property
    def readings(self) -> list[Counts]:
        """Everybody, and those who have a value."""
        return [Counts(self.size, self.values), *([self.alone] if self.alone else [])]


def counts(records: Iterable[Record], *, by_subject: bool, nullable: bool = False) -> Counts:
    records = list(records)
    if nullable:  # a combination of which a part is missing is none, whichever part that is
        records = [(c, p, None if v is None or _lacks(v) else v) for c, p, v in records]
    if not by_subject:
        return Counts(len(records), dict(Counter(value for _, _, value in records)), nullable)
    pairs = {(person, value) for _, person, value in records}
    people = len({person for person, _ in pairs})
    return Counts(people, dict(Counter(v for _, v in pairs)), nullable)


def _lacks(value: Any) -> bool:
    return isinstance(value, tuple) and None in value


def in_order(values: Iterable[Any]) -> list[Any]:
    """Values in their order, NULL last, also inside combinations."""

    def key(value: Any) -> Any:
        cells = value if isinstance(value, tuple) else (value,)
        return [(cell is None, 0 if cell is None else cell) for cell in cells]

    return sorted(values, key=key)


# -- what each model compares with its limit --------------------------------------------------


def uniform(held: Counts) -> bool:
    return any(count == held.size for count in held.values.values())


def distinct(held: Counts) -> int:
    if any(map(uniform, held.readings)) or held.alone is None:
        return 1
    return min(len(held.alone.values), held.alone.size)


def entropy(held: Counts) -> float:
    return min(map(_entropy, held.readings))


def _entropy(held: Counts) -> float:
    shares = [count / held.pairs for count in held.values.values()]
    return 1.0 if uniform(held) else min(exp(-sum(p * log(p) for p in shares)), float(held.size))


def recursive(held: Counts, least: int) -> Fraction | float:
    return max(_recursive(one, least) for one in held.readings)


def confidence(held: Counts, values: Any = None) -> Fraction:
    """The greatest share of a value among all, or among those who have one."""
    return max(
        (
            Fraction(n, one.size)
            for one in held.readings
            for v, n in one.values.items()
            if values is None or v in values
        ),
        default=Fraction(),
    )


def near(held: Counts, epsilon: float) -> Fraction:
    """Li, Tao & Xiao 2008, definition 1: people for each who is near a value, at least."""
    return min(
        Fraction(one.size, _within(one, value, Fraction(repr(epsilon))))
        for one in held.readings
        for value in one.values
    )


def _within(held: Counts, value: Any, epsilon: Fraction) -> int:
    if value is None:
        return held.values[None]
    others = [(v, n) for v, n in held.values.items() if v is not None]
    return sum(n for v, n in others if abs(Fraction(str(v)) - Fraction(str(value))) <= epsilon)


def items_of(value: Any, separator: str) -> frozenset[str]:
    parts = [] if value is None else str(value).split(separator)
    return frozenset(part.strip(" ") for part in parts) - {""}


def sharing(held: Counts, known: int, separator: str = ";") -> int:
    """Poulis et al. 2013: the fewest who fit what is known, of all that may be known of anybody."""
    own = [(items_of(value, separator), n) for value, n in held.values.items()]
    told = {
        frozenset(some)
        for items, _ in own
        for size in range(1, known + 1)
        for some in combinations(items, size)
    }
    return min([held.size, *(sum(n for items, n in own if some <= items) for some in told)])


def _recursive(held: Counts, least: int) -> Fraction | float:
    ranked = sorted(held.values.values(), reverse=True)
    rare = sum(ranked[least - 1 :])
    return Fraction(ranked[0], rare) if rare else inf


def surplus(held: Counts, whole: Counts) -> dict[Any, Fraction]:
    return {
        value: Fraction(held.values.get(value, 0), held.pairs) - Fraction(known, whole.pairs)
        for value, known in whole.values.items()
    }


def equal(held: Counts, whole: Counts) -> Fraction:
    return sum((abs(s) for s in surplus(held, whole).values()), Fraction()) / 2


def ordered(held: Counts, whole: Counts) -> Fraction:
    extra, running, moved = surplus(held, whole), Fraction(), Fraction()
    for value in in_order(extra):
        running += extra[value]
        moved += abs(running)
    return moved / max(len(extra) - 1, 1)


Path = Callable[[Any], Sequence[Any]]


def hierarchical(held: Counts, whole: Counts, path: Path) -> Fraction:
    """Li et al. 2007, section 4.3: the cost of each inner node, dense.

    Args:
        held: of the class.
        whole: of the source.
        path: the ancestors of a value, up to the root.
    """
    extra = surplus(held, whole)
    height = len(path(next(iter(extra))))
    nodes = {(0, value): (s, path(value)) for value, s in extra.items()}
    moved = Fraction()
    for level in range(1, height + 1):
        parents: dict[Any, list[tuple[Fraction, Sequence[Any]]]] = {}
        for s, above in nodes.values():
            parents.setdefault(above[level - 1], []).append((s, above))
        for children in parents.values():
            more = sum((s for s, _ in children if s > 0), Fraction())
            less = sum((-s for s, _ in children if s < 0), Fraction())
            moved += Fraction(level, height) * min(more, less)
        nodes = {
            (level, parent): (sum((s for s, _ in children), Fraction()), children[0][1])
            for parent, children in parents.items()
        }
    return moved


def gains(held: Counts, whole: Counts) -> dict[Any, Fraction]:
    """(p - q) / q of each value of the class, of shares of its people."""
    return {
        value: Fraction(count * whole.size, held.size * whole.values[value]) - 1
        for value, count in held.values.items()
    }


# -- whether it is kept -----------------------------------------------------------------------


@dataclass(frozen=True)
class Verdict:
    """Whether a class holds; None where it is within rounding of a limit that it does not keep."""

    holds: bool | None


def at_most(found: Fraction, limit: float) -> bool | None:
    exact = Fraction(repr(limit))
    if found <= exact:
        return True
    return None if found <= exact + 2 * CLOSE * max(1, exact) else False


def judge(model: Any, held: Counts, whole: Counts, path: Path) -> bool | None:
    """Whether a class holds; None where it exceeds the limit by rounding."""
    kind = model.model
    if kind == "l_diversity":
        return _diverse(model, held)
    if kind == "t_closeness":
        distances: dict[str, Callable[[], Fraction]] = {
            "equal": lambda: equal(held, whole),
            "ordered": lambda: ordered(held, whole),
            "hierarchical": lambda: hierarchical(held, whole, path),
        }
        return at_most(distances[model.distance](), model.t)
    if kind == "alpha_k":
        most = confidence(held, model.values)
        return False if held.size < model.k else at_most(most, model.alpha)
    if kind == "basic_beta":
        return at_most(max(gains(held, whole).values()), model.beta)
    if kind == "enhanced_beta":
        return _enhanced(model.beta, held, whole)
    if kind == "km_anonymity":
        return sharing(held, model.m, model.separator) >= model.k
    if kind == "em_anonymity":
        return near(held, model.epsilon) >= model.m
    assert kind == "delta_disclosure"
    if len(held.values) < len(whole.values):
        return False
    delta = Fraction(repr(model.delta))
    ratios = [max(1 + g, 1 / (1 + g)) for g in gains(held, whole).values()]
    return all(r**delta.denominator < 2**delta.numerator for r in ratios)


def _diverse(model: Any, held: Counts) -> bool | None:
    if model.kind != "entropy":
        enough = distinct(held) >= model.l
        return enough and (model.kind == "distinct" or recursive(held, int(model.l)) < model.c)
    if model.l == 1:
        return True
    if held.alone is None or len(held.alone.values) < model.l:
        return False
    kept = [_spread(model, one) for one in held.readings]
    return False if False in kept else None if None in kept else True


def _spread(model: Any, held: Counts) -> bool | None:
    if uniform(held) or held.size < model.l:
        return False
    least = Fraction(repr(model.l))
    product = Fraction(1)
    for count in held.values.values():
        product *= Fraction(count, held.pairs) ** count
    if least**held.pairs * product <= 1:
        return True
    return None if _entropy(held) >= model.l * (1 - 2e-9) else False


def _enhanced(beta: float, held: Counts, whole: Counts) -> bool | None:
    kept: list[bool | None] = []
    for value, gain in gains(held, whole).items():
        if gain > 0:
            allowed = -log(whole.values[value] / whole.size)
            kept += [at_most(gain, beta), at_most(gain, allowed)]
    return False if False in kept else None if None in kept else True


def delta_of(held: Counts, whole: Counts) -> float:
    """|log2(p/q)| at most; infinite where a value is missing."""
    if len(held.values) < len(whole.values):
        return inf
    return max(abs(log2(1 + gain)) for gain in gains(held, whole).values())


# -- the same counts for the predicates of a search -------------------------------------------


def histogram(classes: Sequence[Counts], whole: Counts, path: Path, *, single: bool) -> Histogram:
    """The classes as a search counts them."""
    values = in_order(whole.values)
    place = {value: i for i, value in enumerate(values)}
    entries = [
        (number, place[value], count)
        for number, held in enumerate(classes)
        for value, count in sorted(held.values.items(), key=lambda item: place[item[0]])
    ]
    of_class, value, count = (np.array(a, np.int64) for a in zip(*entries, strict=True))
    levels = [path(v) for v in values] if single else []
    groups = []
    for level in range(len(levels[0]) if levels else 0):
        nodes = list(dict.fromkeys(above[level] for above in levels))
        groups.append(np.array([nodes.index(above[level]) for above in levels], np.int64))
    known = Whole(
        counts=np.array([whole.values[v] for v in values], np.int64),
        people=whole.size,
        labels=tuple(None if v is None else v if isinstance(v, tuple) else str(v) for v in values),
        groups=tuple(groups),
        missing=np.array([whole.absent(v) for v in values]) if whole.nullable else None,
    )
    sizes = np.array([held.size for held in classes], np.int64)
    return Histogram(sizes, of_class, value, count, known)


def model(name: str, **parameters: Any) -> Any:
    """A model of the specification."""
    return MODELS[name](model=name, **parameters)
