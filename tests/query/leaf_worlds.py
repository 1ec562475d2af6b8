"""Random small releases, conditions and keys, and the answers by enumeration of all leaves."""

from __future__ import annotations

import itertools
import operator
import re
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from math import prod
from typing import Any

from hypothesis import strategies as st

DAY = date(2024, 2, 27)
JOBS = ["Sales", "Tech", None]
Row = dict[str, Any]


@dataclass(frozen=True)
class Condition:
    """A condition as SQL and as a function of a row, in three-valued logic."""

    text: str
    holds: Callable[[Row], bool | None]


def constant(value: Any) -> str:
    if isinstance(value, date):
        return f"DATE '{value}'"
    return f"'{value}'" if isinstance(value, str) else str(value)


OPERATORS: dict[str, Callable[[Any, Any], bool]] = {
    **{"=": operator.eq, "<>": operator.ne, "<": operator.lt},
    **{"<=": operator.le, ">": operator.gt, ">=": operator.ge},
}


def compared(name: str, sign: str, value: Any) -> Condition:
    test = OPERATORS[sign]
    return Condition(
        f"{name} {sign} {constant(value)}",
        lambda r: None if r[name] is None else test(r[name], value),
    )


def between(name: str, low: Any, high: Any) -> Condition:
    return Condition(
        f"{name} BETWEEN {constant(low)} AND {constant(high)}",
        lambda r: None if r[name] is None else low <= r[name] <= high,
    )


def among(name: str, values: list[Any]) -> Condition:
    return Condition(
        f"{name} IN ({', '.join(map(constant, values))})",
        lambda r: None if r[name] is None else r[name] in values,
    )


def missing(name: str) -> Condition:
    return Condition(f"{name} IS NULL", lambda r: r[name] is None)


def like(name: str, pattern: str) -> Condition:
    regex = re.compile(pattern.replace("%", ".*").replace("_", "."))
    return Condition(
        f"{name} LIKE '{pattern}'",
        lambda r: None if r[name] is None else regex.fullmatch(r[name]) is not None,
    )


def odd(name: str) -> Condition:
    return Condition(f"{name} % 2 = 1", lambda r: None if r[name] is None else r[name] % 2 == 1)


def less(left: str, right: str) -> Condition:
    return Condition(
        f"{left} < {right}",
        lambda r: None if r[left] is None or r[right] is None else r[left] < r[right],
    )


def both(a: Condition, b: Condition) -> Condition:
    def holds(row: Row) -> bool | None:
        found = (a.holds(row), b.holds(row))
        return False if False in found else None if None in found else True

    return Condition(f"({a.text} AND {b.text})", holds)


def negated(a: Condition) -> Condition:
    def holds(row: Row) -> bool | None:
        found = a.holds(row)
        return None if found is None else not found

    return Condition(f"(NOT {a.text})", holds)


def either(a: Condition, b: Condition) -> Condition:
    return Condition(f"({a.text} OR {b.text})", negated(both(negated(a), negated(b))).holds)


def constants(name: str) -> st.SearchStrategy[Any]:
    return {
        "age": st.integers(-1, 12),
        "hours": st.integers(0, 4),
        "bmi": st.integers(-1, 17).map(lambda i: i / 2),
        "day": st.integers(-1, 8).map(lambda i: DAY + timedelta(days=i)),
        "sex": st.sampled_from(["F", "M", "MX", "Z"]),
        "job": st.sampled_from(["Sales", "Tech", "T"]),
    }[name]


@st.composite
def atoms(draw: st.DrawFn) -> Condition:
    name = draw(st.sampled_from(["age", "hours", "bmi", "day", "sex", "job"]))
    kinds = ["compared", "between", "among", "missing"]
    kinds += ["like"] if name in ("sex", "job") else []
    kinds += ["odd", "less"] if name == "age" else []
    kind = draw(st.sampled_from(kinds))
    value = constants(name)
    if kind == "compared":
        return compared(name, draw(st.sampled_from(sorted(OPERATORS))), draw(value))
    if kind == "between":
        return between(name, draw(value), draw(value))
    if kind == "among":
        return among(name, draw(st.lists(value, min_size=1, max_size=3)))
    if kind == "like":
        return like(name, draw(st.sampled_from(["M%", "%e%", "_", "Sales", "%X"])))
    return {"missing": missing, "odd": odd}[kind](name) if kind != "less" else less("age", "hours")


CONDITIONS = st.recursive(
    atoms(),
    lambda inner: st.one_of(
        st.builds(both, inner, inner), st.builds(either, inner, inner), st.builds(negated, inner)
    ),
    max_leaves=5,
)

KEYS: dict[str, Callable[[Row], Any]] = {
    **{name: operator.itemgetter(name) for name in ("age", "sex", "day", "job", "hours")},
    "age // 4": lambda r: None if r["age"] is None else r["age"] // 4,
    "sex = 'F'": lambda r: None if r["sex"] is None else r["sex"] == "F",
    "age + hours": lambda r: None if None in (r["age"], r["hours"]) else r["age"] + r["hours"],
    "day < DATE '2024-03-01'": lambda r: None if r["day"] is None else r["day"] < date(2024, 3, 1),
}


Leaves = list[tuple[Any, float]]


@dataclass(frozen=True)
class World:
    """A release, its dictionary, and for each released value its leaves with their shares."""

    rows: list[tuple[Any, ...]]
    dictionary: list[tuple[Any, ...]]
    leaves: dict[str, dict[str | None, Leaves]]


@st.composite
def worlds(draw: st.DrawFn) -> World:
    width = draw(st.sampled_from([2, 3, 4, 6]))
    listed = draw(st.booleans())
    dictionary: list[tuple[Any, ...]] = [(n, None, 1, None, None, None) for n in ("age", "sex")]
    leaves: dict[str, dict[str | None, Leaves]] = {
        name: {None: [(None, 1.0)]} for name in ("age", "sex", "day", "bmi")
    }

    def released(name: str, label: str, level: int, found: list[Any], bounds: bool) -> None:
        low, high = (None, None) if name == "sex" else (str(found[0]), str(found[-1]))
        uniform = [(leaf, 1 / len(found)) for leaf in found]
        if name == "bmi" and level:  # half-open, and the leaves are the middles of quarters
            start, end = found[0] - 0.125, found[-1] + 0.125
            low, high = str(start), str(end)
            points = [i / 2 for i in range(17)]
            uniform += [(point, 0.0) for point in points if start <= point < end]
        if label == "*":
            uniform.append((None, 0.0))
        texts = None if bounds or level == 0 else [str(leaf) for leaf in found]
        dictionary.append((name, label, level, low, high, texts))
        leaves[name][label] = uniform

    ages = list(range(12))
    released("age", "*", 2, ages, not listed)
    for start in range(0, 12, width):
        released("age", f"[{start}, {start + width})", 1, ages[start : start + width], not listed)
    released("age", "5", 0, [5], False)
    released("sex", "*", 2, ["F", "M", "MX"], False)
    released("sex", "M?", 1, ["M", "MX"], False)
    released("sex", "F", 0, ["F"], False)
    days = [DAY + timedelta(days=i) for i in range(8)]
    released("day", "week 1", 1, days[:4], True)
    released("day", "week 2", 1, days[4:], True)
    released("day", "*", 2, days, True)
    quarters = [i / 4 + 0.125 for i in range(32)]
    released("bmi", "low", 1, quarters[: 4 * width], True)
    released("bmi", "*", 2, quarters, True)
    released("bmi", "3.5", 0, [3.5], False)
    columns = [st.sampled_from(list(leaves[name])) for name in ("age", "sex", "day", "bmi")]
    exact = [st.sampled_from(JOBS), st.sampled_from([None, 1, 2, 3])]
    return World(draw(st.lists(st.tuples(*columns, *exact), max_size=6)), dictionary, leaves)


@dataclass
class Counted:
    """How many records a group has: expected, at least and at most."""

    mass: float = 0.0
    certain: int = 0
    possible: int = 0


Groups = dict[tuple[Any, ...], Counted]


def counted(
    world: World, keys: list[str], where: Condition | None, weights: Sequence[float] | None = None
) -> Groups:
    """The groups by enumeration of every combination of leaves of every row."""
    text = " ".join(keys) + (where.text if where else "")
    used = [n for n in ("age", "sex", "day", "bmi") if n in text]
    names = ("age", "sex", "day", "bmi", "job", "hours")
    found: Groups = defaultdict(Counted)
    if not keys:
        found[()] = Counted()
    for record, weight in zip(world.rows, weights or [1] * len(world.rows), strict=True):
        if not weight:
            continue
        row: Row = dict(zip(names, record, strict=True))
        outcomes: dict[tuple[Any, ...], float] = defaultdict(float)
        every = True
        for combination in itertools.product(*(world.leaves[name][row[name]] for name in used)):
            leaf = row | {name: value for name, (value, _) in zip(used, combination, strict=True)}
            if where is None or where.holds(leaf):
                key = tuple(KEYS[key](leaf) for key in keys)
                outcomes[key] += weight * prod(share for _, share in combination)
            else:
                every = False
        for key, mass in outcomes.items():
            group = found[key]
            group.mass += mass
            group.possible += 1
            group.certain += every and len(outcomes) == 1 and weight == 1
    return {key: group for key, group in found.items() if group.mass > 0 or not keys}


COLUMNS = {
    "age": ("INTEGER", "VARCHAR"),
    "sex": ("VARCHAR", "VARCHAR"),
    "day": ("DATE", "VARCHAR"),
    "bmi": ("DOUBLE", "VARCHAR"),
    "job": ("VARCHAR", "VARCHAR"),
    "hours": ("INTEGER", "INTEGER"),
}
