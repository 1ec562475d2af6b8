"""Points for tests, and the algorithms written down record by record, without any haste."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st

from dbdeid.data.records import Attribute, Floats
from dbdeid.methods.microaggregation.groups import Groups
from dbdeid.methods.microaggregation.mixed_points import Points, points_of


def cloud(seed: int, number: int, *, levels: tuple[int, ...] = (), weights: bool = False) -> Points:
    """Random points of two numbers and of categories, some with several records."""
    rng = np.random.default_rng(seed)
    attributes = [Attribute(f"x{i}", rng.normal(size=number) * 10**i) for i in range(2)]
    for i, several in enumerate(levels):
        codes = rng.integers(0, several, number).astype(np.float64)
        attributes.append(Attribute(f"c{i}", codes, several, weight=0.5 + i))
    records = rng.integers(1, 6, number) if weights else np.ones(number)
    return points_of(attributes, records.astype(np.int64))


@st.composite
def few_values(draw: st.DrawFn) -> Points:
    """Points of a number of five values and a category of three, each of several records."""
    pair = st.tuples(st.integers(0, 4), st.integers(0, 2))
    values = draw(st.lists(pair, min_size=1, max_size=60))
    pairs, numbers = np.unique(np.array(values), axis=0, return_counts=True)
    number = Attribute("x", pairs[:, 0].astype(float))
    category = Attribute("c", pairs[:, 1].astype(float), 3)
    return points_of([number, category], numbers * draw(st.integers(1, 9)))


def columns(points: Points) -> Floats:
    """(records, columns) the records one by one, categories as columns of their own."""
    parts = [*points.numbers]
    for codes, share, levels in zip(points.categories, points.shares, points.levels, strict=True):
        parts += [(codes == level) * np.sqrt(share / 2) for level in range(levels)]
    return np.repeat(np.array(parts).T, points.records, axis=0)


def squares(rows: Floats, point: Floats) -> Floats:
    return np.asarray(((rows - point) ** 2).sum(axis=1))


def plain_mdav(rows: Floats, k: int) -> list[list[int]]:
    """MDAV-generic, as Domingo-Ferrer & Torra 2005 write it down."""
    left, groups = list(range(len(rows))), []

    def around(record: int) -> list[int]:
        apart = squares(rows[left], rows[record])
        taken = [left[i] for i in np.argsort(apart, kind="stable")[:k]]
        for one in taken:
            left.remove(one)
        return taken

    def farthest(point: Floats) -> int:
        return left[int(np.argmax(squares(rows[left], point)))]

    while len(left) >= 3 * k:
        first = farthest(rows[left].mean(axis=0))
        second = farthest(rows[first])
        groups += [around(first), around(second)]
    if len(left) >= 2 * k:
        groups.append(around(farthest(rows[left].mean(axis=0))))
    return [*groups, left]


def plain_mst(rows: Floats, k: int) -> list[list[int]]:
    """The trees of Laszlo & Mukherjee 2005: edges by Kruskal, each cut looked at as a whole."""
    n = len(rows)
    pairs = [(float(squares(rows[[j]], rows[i])[0]), i, j) for i in range(n) for j in range(i)]

    def reached(edges: list[tuple[float, int, int]], start: int) -> set[int]:
        found, more = {start}, [start]
        while more:
            at = more.pop()
            near = {a + b - at for _, a, b in edges if at in (a, b)} - found
            found |= near
            more += near
        return found

    tree: list[tuple[float, int, int]] = []
    for edge in sorted(pairs):
        if edge[2] not in reached(tree, edge[1]):
            tree.append(edge)
    for edge in sorted(tree, reverse=True):
        others = [other for other in tree if other != edge]
        if min(len(reached(others, edge[1])), len(reached(others, edge[2]))) >= k:
            tree = others
    left, groups = set(range(n)), []
    while left:
        groups.append(sorted(reached(tree, min(left))))
        left -= set(groups[-1])
    return groups


def plain_tfrp(rows: Floats, numbers: int, k: int) -> list[list[int]]:
    """TFRP, as `methods/condensation` reads Chang, Li & Huang 2007; `numbers` come first."""
    left, groups = list(range(len(rows))), []
    ends = rows[:, :numbers].min(axis=0), rows[:, :numbers].max(axis=0)
    while len(left) >= k:
        far = squares(rows[left][:, :numbers], ends[len(groups) % 2])
        start = left[int(np.argmax(far))]
        order = np.argsort(squares(rows[left], rows[start]), kind="stable")[:k]
        groups.append([left[i] for i in order])
        left = [one for one in left if one not in groups[-1]]
    centres = [rows[group].mean(axis=0) for group in groups]
    for one in left:
        groups[int(np.argmin([squares(rows[[one]], c)[0] for c in centres]))].append(one)
    for group in sorted(groups, key=lambda group: -sse(rows, [group])):
        others = [other for other in groups if other is not group]
        if not others:
            continue
        joined = [list(other) for other in others]
        centres = [rows[other].mean(axis=0) for other in others]
        for one in group:
            joined[int(np.argmin([squares(rows[[one]], c)[0] for c in centres]))].append(one)
        if sse(rows, joined) < sse(rows, groups):
            for other, now in zip(others, joined, strict=True):
                other[:] = now
            groups = others
    return groups


def sse(rows: Floats, groups: list[list[int]]) -> float:
    """The sum of squared distances of all records from the means of their groups."""
    return sum(float(squares(rows[g], rows[g].mean(axis=0)).sum()) for g in groups)


def members(points: Points, groups: Groups) -> list[tuple[int, ...]]:
    """The points of each group, each as often as it has records there, in some order."""
    pairs = zip(groups.point, groups.group, groups.records, strict=True)
    found: list[list[int]] = [[] for _ in range(groups.number)]
    for point, group, records in pairs:
        found[group] += [int(point)] * int(records)
    return sorted(tuple(sorted(group)) for group in found)


def as_points(points: Points, groups: list[list[int]]) -> list[tuple[int, ...]]:
    """The same of groups of records."""
    of = np.repeat(np.arange(points.number), points.records)
    return sorted(tuple(sorted(int(of[one]) for one in group)) for group in groups)
