"""The distribution of a column in source and release, in as few rows as can be drawn."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from dbdeid.data.json import JsonObject, plain
from dbdeid.engine.session import Session
from dbdeid.engine.sqltext import step
from dbdeid.utility.fidelity.distribution import labels, masses
from dbdeid.utility.fidelity.sides import ColumnPair, Sides

MOST_VALUES = 12
# Values of fewer records of the source are pooled: they would be those of single people.
FEW = 11
MOST_BINS = 20
MISSING, NOT_RELEASED = "no value", "not in the release"
_UNITS: Mapping[str, Literal["D", "s"]] = {"date": "D", "timestamp": "s"}


@dataclass(frozen=True, slots=True)
class Row:
    """The share of a value, or of a range of numbers, in the source and in the release."""

    label: str
    source: float
    released: float


@dataclass(frozen=True, slots=True)
class SideBySide:
    """The rows of one column: its released labels, where each value of the source fits but one.

    Else its values or ranges, a label being spread evenly over what it stands for.
    """

    column: str
    rows: tuple[Row, ...]

    def to_dict(self) -> JsonObject:
        """Plain values."""
        return plain(self)


def side_by_side(session: Session, sides: Sides, families: dict[str, str]) -> list[SideBySide]:
    """Each column of both sides: its labels, its most frequent values, or bins of its numbers.

    Args:
        session: where the tables are.
        sides: the source and the release.
        families: of each column that is drawn, as the source types it.
    """
    some = [c for c in sides.columns if c.name in families]
    found = {c.number: list(_labelled(session, sides, c)) if c.labelled else [] for c in some}
    others = [c for c in some if not found[c.number]]
    for number, row in (
        *_most_frequent(session, sides, [c for c in others if not c.measured]),
        *_binned(session, sides, [c for c in others if c.measured], families),
    ):
        found[number].append(row)
    return [SideBySide(c.name, tuple(found[c.number])) for c in some]


def _labelled(session: Session, sides: Sides, compared: ColumnPair) -> tuple[Row, ...]:
    """At the released labels; nothing where they overlap, or are more numbers than can be drawn."""
    known = [*session.rows(step("utility/fidelity/shares_at_labels", labels(sides, compared)))]
    rest = [row for row in known if row[1] is None]
    placed = [row for row in known if row[1] is not None]
    if compared.measured:
        if len(placed) > MOST_BINS:
            return ()
        placed.sort(key=lambda row: math.inf if row[2] is None else row[2])
        pooled = []
    else:
        placed.sort(key=lambda row: (-row[3], -row[4], row[1]))
        told = [row for row in placed if row[0] is None or row[5] >= FEW][:MOST_VALUES]
        pooled = [row for row in placed if row not in told]
        placed = told
    rows = [Row(MISSING if label is None else str(label), s, r) for label, _, _, s, r, _ in placed]
    if pooled:
        rows.append(_sum(_rest(len(pooled)), pooled))
    if rest:
        rows.append(_sum(NOT_RELEASED, rest))
    return tuple(rows)


def _sum(label: str, rows: Sequence[tuple[Any, ...]]) -> Row:
    return Row(label, math.fsum(row[3] for row in rows), math.fsum(row[4] for row in rows))


def _most_frequent(
    session: Session, sides: Sides, some: Sequence[ColumnPair]
) -> Iterator[tuple[int, Row]]:
    if not some:
        return
    both = masses(sides, some, measured=False)
    query = step("utility/fidelity/shares_by_value", both, {}, {"most": MOST_VALUES, "few": FEW})
    for number, value, place, source, released, members in session.rows(query):
        label = _rest(members) if not place else MISSING if value is None else str(value)
        yield number, Row(label, float(source), float(released))


def _rest(members: int) -> str:
    return f"{members:,} {'other' if members == 1 else 'others'}"


def _binned(
    session: Session, sides: Sides, some: Sequence[ColumnPair], families: Mapping[str, str]
) -> Iterator[tuple[int, Row]]:
    if not some:
        return
    # the ends are found in the query: as constants of it they would stand in a log
    both = masses(sides, some, measured=True)
    query = step("utility/fidelity/shares_in_bins", both, {}, {"most": MOST_BINS})
    of = {c.number: c for c in some}
    for number, start, stop, source, released in session.rows(query):
        c = of[number]
        label = MISSING if start is None else _range(start, stop, c.whole, families[c.name])
        yield number, Row(label, float(source), float(released))


def _range(start: float, stop: float, whole: bool, family: str) -> str:
    first, last = _told(start, family), _told(stop - 1 if whole else stop, family)
    return first if first == last else f"{first} to {last}"


def _told(value: float, family: str) -> str:
    if family in _UNITS:  # not by `datetime`, which ends with the year 9999
        return str(np.datetime64(int(value), _UNITS[family]).astype("datetime64[D]"))
    return f"{value:.0f}" if value.is_integer() else f"{value:.4g}"
