"""The answer of a query by brute force: every record written out with all it may stand for.

The analyst's keys, conditions and arguments are evaluated by DuckDB on each written-out row; what
follows is counting in Python. Expected values are sums over the rows; bounds come from every subset
of the records that may or may not belong to a group.

Doubles, decimals and moments in an interval are cut at marks half a unit apart. Queries change
their course at marks only, and between two of them arguments are linear: two points stand for what
lies between (with its weight), further points with no weight for the marks and the ends.
"""

from __future__ import annotations

import itertools
import math
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
from question_pieces import Aggregate, Query
from random_releases import FIRST_MOMENT, Attribute, Meaning, RandomRelease, at, write_table

from dbdeid.engine.duckdb.session import Session

EPSILON = 2.0**-18  # in quarters of a unit; a power of two, so that sums stay exact
MOMENT_EPSILON = 1 / (6 * 3600 * 10**6)  # one microsecond, in quarters of a day
SLACK = 1e-3  # how near the bounds of arguments that use points near an end come to the end


# -- what a record may stand for -----------------------------------------------------------------

Alternative = tuple[Any, float, str]  # a value, its share, where two points stand for a stretch


# Nobody knows how far a value with an open end goes, nor how it spreads: two guesses tell whether
# that matters. Values beyond the bound: single ones, and quarters of a unit.
FURTHER = ((3, 8), (5, 12))


def alternatives(attribute: Attribute, meaning: Meaning, guess: int = 0) -> Iterator[Alternative]:
    """All that a released value stands for."""
    leaves = _leaves(meaning, FURTHER[guess][0])
    weights = [1 + guess * i if meaning.open else 1 for i in range(len(leaves))]
    for value, weight in zip(leaves, weights, strict=True):
        yield value, weight / sum(weights), "leaf"
    if meaning.interval is not None:
        low, high = _ends(meaning, FURTHER[guess][1])
        marks = [low, *(m for m in range(low + 1, high) if m % 2 == 0), high]
        parts = list(itertools.pairwise(marks))
        lengths = [stop - start for start, stop in parts]
        weights = [n * (1 + guess * i if meaning.open else 1) for i, n in enumerate(lengths)]
        for (start, stop), weight in zip(parts, weights, strict=True):
            yield from _stretch(attribute.type, start, stop, weight / sum(weights))
    if meaning.nullable:
        yield None, 0.0, "null"


def _leaves(meaning: Meaning, further: int) -> list[Any]:
    """The single values, and so many more where an end is open."""
    leaves = list(meaning.leaves)
    if not leaves or not meaning.open:
        return leaves
    unit = timedelta(days=1) if isinstance(leaves[0], date) else 1
    last = leaves[-1] if meaning.open > 0 else leaves[0]
    return leaves + [last + meaning.open * unit * (i + 1) for i in range(further)]


def _ends(meaning: Meaning, further: int) -> tuple[int, int]:
    """The interval, longer by so much where an end is open."""
    assert meaning.interval is not None
    low, high = meaning.interval
    return low - further * (meaning.open < 0), high + further * (meaning.open > 0)


def _stretch(kind: str, start: int, stop: int, share: float) -> Iterator[Alternative]:
    length = stop - start
    near, atom = EPSILON, 0.0
    if kind == "TIMESTAMP":  # a moment is a microsecond, no point
        near = MOMENT_EPSILON
        atom = share * MOMENT_EPSILON / length
    point = "TIMESTAMP" if kind == "TIMESTAMP" else "DOUBLE"
    for quarter in (1, 3):
        yield at(point, start + length * quarter / 4), (share - atom) / 2, str(start)
    yield at(point, start), atom, "start"
    yield at(point, start + near), 0.0, "after"
    yield at(point, stop - near), 0.0, "before"


def members(attribute: Attribute, meaning: Meaning) -> list[Any]:
    """Values of the column's own type that a released value may stand for; ends included."""
    found = _leaves(meaning, FURTHER[1][0])
    if meaning.interval is not None:
        low, high = _ends(meaning, FURTHER[1][1])
        near = {"TIMESTAMP": MOMENT_EPSILON, "DOUBLE": EPSILON}.get(attribute.type, 0.04)
        for mark in range(low, high):
            found += [at(attribute.type, q) for q in (mark, mark + near, mark + 1 - near)]
    if attribute.type.startswith("DECIMAL"):
        found = [v if v is None else round(Decimal(v), 2) for v in found]
    return [*found, None] if meaning.nullable else found


def meaning_of(attribute: Attribute, cell: Any) -> Meaning:
    """What a released cell stands for."""
    if cell is None or attribute.meanings is None:
        return Meaning((cell,))
    return attribute.meanings[cell]


def size(release: RandomRelease, query: Query) -> int:
    """How many rows it takes to write the release out for a query."""
    total = 0
    for record in release.released:
        rows = 1
        for attribute, cell in zip(release.attributes, record, strict=True):
            if attribute.name in query.used:
                rows *= len(list(alternatives(attribute, meaning_of(attribute, cell), 1)))
        total += rows
    return total


def untold(release: RandomRelease, query: Query) -> bool:
    """Whether the query needs a column with released values that the dictionary does not tell."""
    return any(
        not meaning.told
        for attribute in release.attributes
        if attribute.name in query.needed
        for meaning in (attribute.meanings or {}).values()
    )


def in_intervals(release: RandomRelease, query: Query) -> set[str]:
    """The columns of a query that are released in intervals of points, by all their names."""
    found = {
        attribute.name
        for attribute in release.attributes
        if any(meaning.interval is not None for meaning in (attribute.meanings or {}).values())
    }
    found |= {name for name, scalar in query.computed if scalar.names & found}
    return found & query.used


def open_ended(release: RandomRelease, query: Query) -> bool:
    """Whether the query uses a column of which some released values have an open end."""
    return any(
        meaning.open
        for attribute in release.attributes
        if attribute.name in query.used
        for meaning in (attribute.meanings or {}).values()
    )


def write_out(session: Session, release: RandomRelease) -> None:
    """Write the tables from which rows are made: records, and alternatives of their cells."""
    kinds = {a.name: a.released_type for a in release.attributes}
    chances = release.chances or (1.0,) * len(release.released)
    rows = [
        (i, chance, *row)
        for i, (row, chance) in enumerate(zip(release.released, chances, strict=True))
        if chance > 0
    ]
    write_table(session, "judge_records", {"rec": "INTEGER", "chance": "DOUBLE", **kinds}, rows)
    for attribute in release.attributes:
        if attribute.meanings is None:
            continue
        cells = [(text, meaning) for text, meaning in attribute.meanings.items()]
        cells.append((None, Meaning((None,))))
        moving = any(meaning.interval is not None for _, meaning in cells)
        kind = "DOUBLE" if moving and attribute.type != "TIMESTAMP" else attribute.type
        columns = {"value": "VARCHAR", "leaf": kind, "share": "DOUBLE", "place": "VARCHAR"}
        for guess in range(len(FURTHER)):
            found = [
                (text, value, share, place if place.strip("-").isdigit() else f"{place}{i}")
                for text, meaning in cells
                for i, (value, share, place) in enumerate(alternatives(attribute, meaning, guess))
            ]
            write_table(session, f"judge_{attribute.name}_{guess}", columns, found)


# -- the written-out rows of a query ------------------------------------------------------------


@dataclass(frozen=True)
class Row:
    """One alternative of a record, as a query sees it.

    Attributes:
        record: which record.
        weight: how probable it is.
        place: equal for the two points that stand for one stretch.
        key: the values of the query's keys; None when the condition does not hold.
        arguments: one value an aggregate (True for COUNT(*)); None where it does not count.
    """

    record: int
    weight: float
    place: str
    key: tuple[Any, ...] | None
    arguments: tuple[Any, ...]


def rows_of(session: Session, release: RandomRelease, query: Query, guess: int = 0) -> list[Row]:
    """All alternatives of all records, by one of the guesses at open ends."""
    names, joins, passes = query.flat(release)
    columns, tables, shares, places = [], [], ["r.chance"], []
    for attribute in release.attributes:
        name = attribute.name
        if name not in query.used:
            continue
        if attribute.meanings is None:
            columns.append(f'CAST(r."{name}" AS {attribute.type}) AS "{name}"')
            continue
        columns.append(f'l_{name}.leaf AS "{name}"')
        on = f'l_{name}.value IS NOT DISTINCT FROM r."{name}"'
        tables.append(f"JOIN judge_{name}_{guess} AS l_{name} ON {on}")
        shares.append(f"l_{name}.share")
        places.append(f"l_{name}.place")
    listed = [f"{' * '.join(shares)} AS weight", f"concat_ws(',', '', {', '.join(places)})"]
    listed = ["r.rec", listed[0], f"{listed[1] if places else repr('')} AS place", *columns]
    inner = f"SELECT {', '.join(listed)} FROM judge_records AS r {' '.join(tables)}"
    wanted = [key.written(names) for key in query.keys]
    for aggregate in query.aggregates:
        argument = "true" if aggregate.argument is None else aggregate.argument.written(names)
        if aggregate.condition is not None:
            argument = f"CASE WHEN {aggregate.condition.written(names)} THEN {argument} END"
        wanted.append(argument)
    found = session.rows(
        f"WITH e AS ({inner}) SELECT e.rec, e.weight, e.place, {passes}, {', '.join(wanted)} "
        f"FROM e {joins}"
    )
    count = len(query.keys)
    return [
        Row(r[0], r[1], r[2], tuple(r[4 : 4 + count]) if r[3] else None, tuple(r[4 + count :]))
        for r in found
    ]


# -- figures -------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Figure:
    """What an aggregate of a group is.

    Attributes:
        expected: its expected value; None where nothing is expected.
        medians: for types without a mean, the distribution in whose middle the answer must lie.
        lower: the least value of any world where it has one; None where it never has.
        upper: the greatest.
        most: for COUNT(DISTINCT) what the upper bound may be at most.
        mass: the expected number of records that count.
    """

    expected: float | None
    lower: Any
    upper: Any
    medians: Distribution | None = None
    most: int | None = None
    mass: float = 0.0


def figures(
    query: Query, rows: Sequence[Row], chances: Sequence[float]
) -> dict[tuple[Any, ...], list[Figure]]:
    """The figures of every group with an expected record, or of the one group of all."""
    masses: dict[tuple[Any, ...], float] = defaultdict(float)
    for row in rows:
        if row.key is not None:
            masses[row.key] += row.weight
    groups = [key for key, mass in masses.items() if mass > 0] if query.keys else [()]
    by_record: dict[int, list[Row]] = defaultdict(list)
    for row in rows:
        by_record[row.record].append(row)
    found = {}
    for key in groups:
        found[key] = [
            figure(a, [_outcomes(own, key, i, chances[r]) for r, own in by_record.items()])
            for i, a in enumerate(query.aggregates)
        ]
    return found


@dataclass(frozen=True)
class Outcomes:
    """What one record may give to an aggregate of a group.

    Attributes:
        values: (value, probability, place); improbable but possible ones have probability 0.
        certain: whether it gives something in every world.
    """

    values: tuple[tuple[Any, float, str], ...]
    certain: bool

    @property
    def mass(self) -> float:
        """The probability that it gives something."""
        return sum(p for _, p, _ in self.values)


def _outcomes(rows: Sequence[Row], key: tuple[Any, ...], i: int, chance: float) -> Outcomes:
    values = [
        (row.arguments[i], row.weight, row.place)
        for row in rows
        if row.key == key and row.arguments[i] is not None
    ]
    return Outcomes(tuple(values), chance == 1 and len(values) == len(rows))


def figure(aggregate: Aggregate, records: Sequence[Outcomes]) -> Figure:
    """The figure of one aggregate from what every record may give."""
    records = [record for record in records if record.values]
    mass = sum(record.mass for record in records)
    if aggregate.kind == "count":
        certain = sum(record.certain for record in records)
        return Figure(mass, certain, len(records), mass=mass)
    if aggregate.kind == "distinct":
        return _distinct(records, mass)
    if not records:
        return Figure(None, None, None)
    if aggregate.kind in ("sum", "avg"):
        total = math.fsum(float(v) * p for r in records for v, p, _ in r.values)
        expected = None
        if mass > 0:
            expected = total if aggregate.kind == "sum" else total / mass
        lower, upper = _subsets(aggregate.kind, records)
        return Figure(expected, lower, upper, mass=mass)
    return _extreme(aggregate, records, mass)


def _subsets(kind: str, records: Sequence[Outcomes]) -> tuple[float, float]:
    """Least and greatest sum or mean over every choice of the records that need not count."""
    optional = [r for r in records if not r.certain]
    chosen = np.array(list(itertools.product([0, 1], repeat=len(optional))), dtype=float)
    count = chosen.sum(axis=1) + len(records) - len(optional)
    found = []
    for end in (min, max):
        ends = [float(end(v for v, _, _ in r.values)) for r in optional]
        fixed = sum(float(end(v for v, _, _ in r.values)) for r in records if r.certain)
        totals = fixed + chosen @ np.array(ends) if ends else np.array([fixed])
        if kind == "avg":
            totals = totals[count > 0] / count[count > 0]
        found.append(float(end(totals)))  # the sum of no record counts as 0
    return found[0], found[1]


def _distinct(records: Sequence[Outcomes], mass: float) -> Figure:
    misses: dict[Any, float] = {}
    for record in records:
        shares: dict[Any, float] = defaultdict(float)
        for value, p, _ in record.values:
            shares[value] += p
        for value, p in shares.items():
            misses[value] = misses.get(value, 1.0) * (1 - min(p, 1.0))
    expected = math.fsum(1 - miss for miss in misses.values())
    lower, upper = _distinct_range(records)
    return Figure(expected, lower, upper, most=min(len(misses), len(records)), mass=mass)


def _distinct_range(records: Sequence[Outcomes], limit: int = 20_000) -> tuple[int, int]:
    """Least and greatest number of values; when worlds are too many, what is surely no tighter."""
    states: set[frozenset[Any]] = {frozenset()}
    for record in records:
        values = {v for v, _, _ in record.values}
        following = set() if record.certain else set(states)
        following |= {state | {value} for state in states for value in values}
        states = following
        if len(states) > limit:
            return len(records), 0
    return min(map(len, states)), max(map(len, states))


# -- minimum and maximum -------------------------------------------------------------------------


@dataclass(frozen=True)
class Distribution:
    """Of a minimum (or, mirrored, a maximum) of a type that has no mean, given that there is one.

    Attributes:
        gifts: what the records give, as numbers.
        places: the number of each value; values between two are possible where these are moments.
        sign: -1 for a maximum.
    """

    gifts: tuple[_Gift, ...]
    places: dict[Any, float]
    sign: int

    def has_median(self, value: Any, tolerance: float) -> bool:
        """Whether a value is in the middle: half of the probability on either side."""
        moving = any(gift.stretches for gift in self.gifts)
        place = number(value) if moving else self.places.get(value)
        if place is None:
            return False
        t = self.sign * place
        never = math.prod(1 - gift.mass for gift in self.gifts)
        before, upto = (
            (1 - math.prod(g.least_above(t, strictly=strictly) for g in self.gifts)) / (1 - never)
            for strictly in (False, True)
        )
        return before <= 0.5 + tolerance and upto >= 0.5 - tolerance


def _extreme(aggregate: Aggregate, records: Sequence[Outcomes], mass: float) -> Figure:
    low = min(v for r in records for v, _, _ in r.values)
    high = max(v for r in records for v, _, _ in r.values)
    ends = (min, max) if aggregate.kind == "min" else (max, min)
    far = ends[1](v for r in records for v, _, _ in r.values)
    certain = [ends[1](v for v, _, _ in r.values) for r in records if r.certain]
    near = ends[0](certain) if certain else far  # of all worlds, the one with fewest records
    lower, upper = (low, near) if aggregate.kind == "min" else (near, high)
    if mass == 0:
        return Figure(None, lower, upper)
    assert aggregate.argument is not None
    mirrored = -1 if aggregate.kind == "max" else 1
    if aggregate.argument.family == "number":
        gifts = [_spread(r, {}, mirrored) for r in records]
        return Figure(mirrored * _mean_of_least(gifts), lower, upper, mass=mass)
    values = sorted({v for r in records for v, _, _ in r.values})
    places = {v: float(i) for i, v in enumerate(values)}
    if isinstance(low, datetime):
        places = {v: number(v) or 0.0 for v in values}
    drawn = tuple(_spread(r, places, mirrored) for r in records)
    return Figure(None, lower, upper, Distribution(drawn, places, mirrored), mass=mass)


@dataclass(frozen=True)
class _Gift:
    """What one record gives: atoms (value, p) and stretches (low, high, p)."""

    atoms: tuple[tuple[float, float], ...]
    stretches: tuple[tuple[float, float, float], ...]

    @property
    def mass(self) -> float:
        """The probability that it gives something."""
        return min(sum(p for *_, p in (*self.atoms, *self.stretches)), 1.0)

    def least_above(self, t: float, *, strictly: bool) -> float:
        """Probability that it gives nothing, or more than t (or t itself)."""
        gone = sum(p for v, p in self.atoms if (v <= t if strictly else v < t))
        for low, high, p in self.stretches:
            gone += p * min(max((t - low) / (high - low), 0.0), 1.0)
        return max(1 - gone, 0.0)


def _spread(record: Outcomes, numbers: dict[Any, float], sign: int) -> _Gift:
    """Pair the points that stand for a stretch; a constant on it is an atom."""
    places: dict[str, list[tuple[float, float]]] = defaultdict(list)
    atoms, stretches = [], []
    for value, p, place in record.values:
        if p > 0:
            places[place].append((sign * (numbers[value] if numbers else float(value)), p))
    for found in places.values():
        low, high = min(v for v, _ in found), max(v for v, _ in found)
        assert all(v in (low, high) for v, _ in found), "the argument mixes continuous columns"
        p = sum(p for _, p in found)
        half = (high - low) / 2
        if half > 0:
            stretches.append((low - half, high + half, p))
        else:
            atoms.append((low, p))
    return _Gift(tuple(atoms), tuple(stretches))


_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(8)  # exact for products of 12 linear factors


def _mean_of_least(gifts: Sequence[_Gift]) -> float:
    """Mean of the least value given that there is one, by its survival function."""

    def survival(t: float, *, strictly: bool) -> float:
        return math.prod(gift.least_above(t, strictly=strictly) for gift in gifts)

    marks = {v for g in gifts for v, _ in g.atoms}
    marks |= {end for g in gifts for low, high, _ in g.stretches for end in (low, high)}
    points = sorted(marks)
    first = points[0]
    never = survival(points[-1], strictly=True)
    # E[min - first; exists] is the integral of P(first + t < min, exists) over t >= 0
    total = 0.0
    for start, stop in itertools.pairwise(points):
        half = (stop - start) / 2
        for node, weight in zip(_NODES, _WEIGHTS, strict=True):
            at_node = survival(start + half * (1 + node), strictly=True)
            total += half * weight * (at_node - never)
    return first + total / (1 - never)


def number(value: Any) -> float | None:
    """A number on which bounds of all types may be compared; None for text."""
    if isinstance(value, datetime):
        return (value - FIRST_MOMENT).total_seconds()
    if isinstance(value, date):
        return float(value.toordinal())
    return float(value) if isinstance(value, (bool, int, float, Decimal, Fraction)) else None
