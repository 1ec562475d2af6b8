"""Which released values each value of the original may read as, where both are at hand."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from dbdeid.data.hierarchy import TOP
from dbdeid.engine.expressions import Query, aliased, cast, column, select
from dbdeid.engine.relation import Relation
from dbdeid.engine.session import Session
from dbdeid.external.values import Explained, Meaning
from dbdeid.prepare.hierarchies import rank

PLACES, LABELS = "deid_external_places", "deid_external_labels"
Pair = tuple[str | None, str | None]  # a value of the original, and how it may read


def places(
    session: Session, source: Query, columns: Sequence[Explained], names: Mapping[str, str]
) -> Relation:
    """A temporary table of what the values of the original may read as.

    Its columns are `name`, `level` (one for all), `value` and `shown`. Released values may share
    what they stand for, and one without a meaning might stand for any.

    Args:
        session: where the tables are.
        source: the rows of the original.
        columns: the released values with their meanings.
        names: how the release spells its columns.
    """
    rows = [
        (names[c.column.name], value, shown)
        for c in columns
        for value, shown in _pairs(c, _values(session, source, c.column.name))
    ]
    table: dict[str, Any] = {
        "name": [row[0] for row in rows],
        "level": np.zeros(len(rows), np.int32),
        "value": [row[1] for row in rows],
        "shown": [row[2] for row in rows],
    }
    return session.upload(PLACES, table)


def labels(session: Session, source: Query, columns: Sequence[Explained]) -> Relation:
    """The values of the original below each released value that nothing explains to a reader.

    A temporary table with `hierarchy` (the column), `level`, `value` and `label`.
    """
    rows = []
    for c in columns:
        below = _Below(c, _values(session, source, c.column.name))
        rows += [
            (c.column.name, meaning.level, value, text)
            for text, meaning in c.values.items()
            if not meaning.told
            for value in below.of(text, meaning)
        ]
    table: dict[str, Any] = {
        "hierarchy": [row[0] for row in rows],
        "level": np.array([row[1] for row in rows], np.int32),
        "value": [row[2] for row in rows],
        "label": [row[3] for row in rows],
    }
    return session.upload(LABELS, table)


def sizes(session: Session, source: Query, c: Explained) -> tuple[dict[str | None, float], int]:
    """How many values each released value of a column stands for, and how many there are.

    Those of a declared domain where it lists them, otherwise those of the original, in which NULL
    is one more where it occurs.
    """
    values = _values(session, source, c.column.name)
    below = _Below(c, values)
    found: dict[str | None, float] = {None: 1.0} if c.missing else {}
    whole = len(values)
    for text, meaning in c.values.items():
        inside = below.of(text, meaning)
        if meaning.leaves is not None:
            inside |= set(meaning.leaves)
        found[text] = float(max(len(inside), 1))
        whole = max(whole, len(inside))
    return found, whole


def _values(session: Session, source: Query, name: str) -> list[str | None]:
    text = cast(column(name), "VARCHAR")
    distinct = select(aliased(text, "text")).distinct().from_(source.subquery("source"))
    rows = session.rows(select("text").from_(distinct.subquery("found")).order_by("text"))
    return [row[0] for row in rows]


def _pairs(c: Explained, values: Sequence[str | None]) -> Iterator[Pair]:
    below = _Below(c, values)
    if c.missing:
        yield None, None
    for text, meaning in c.values.items():
        yield from ((value, text) for value in below.of(text, meaning))
    for text in (*c.unknown, *c.ambiguous):
        yield from ((value, text) for value in values)


class _Below:
    """The values of the original that a released value may stand for."""

    def __init__(self, c: Explained, values: Sequence[str | None]) -> None:
        self._values = {value for value in values if value is not None}
        self._missing = None in values
        self._whole = c.whole
        self._own = c.own
        ranked = [(r, v) for v in self._values if (r := rank(v)) is not None]
        ranked.sort()
        self._ranks: list[Fraction] = [r for r, _ in ranked]
        self._ranked = [v for _, v in ranked]
        self._long: dict[int, list[str]] = defaultdict(list)
        for value in self._values:
            self._long[len(value)].append(value)

    def of(self, text: str, meaning: Meaning) -> set[str | None]:
        """Those that exist; `*` may also stand for a missing value."""
        found: set[str | None] = set(self._of(text, meaning))
        if text == TOP and meaning.level and self._missing:
            found.add(None)
        return found

    def _of(self, text: str, meaning: Meaning) -> set[str]:
        if meaning.level == 0:
            return {self._own.get(text, text)} & self._values
        if meaning.leaves is not None:
            return set(meaning.leaves) & self._values
        if meaning.lower is not None or meaning.upper is not None:
            return set(self._between(meaning.lower, meaning.upper))
        if meaning.stem is not None:
            stem = text.rstrip(TOP)
            return {value for value in self._long[len(text)] if value.startswith(stem)}
        return self._values

    def _between(self, lower: str | None, upper: str | None) -> list[str]:
        low, high = (None if end is None else rank(end) for end in (lower, upper))
        first = 0 if low is None else bisect_left(self._ranks, low)
        if high is None:
            return self._ranked[first:]
        last = bisect_right if self._whole else bisect_left
        return self._ranked[first : last(self._ranks, high)]
