"""The distribution of a column in source and release, in as few rows as can be drawn."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from dbdeid.data.json import JsonObject, plain
from dbdeid.engine.session import Session
from dbdeid.engine.sqltext import step
from dbdeid.utility.fidelity.distribution import masses
from dbdeid.utility.fidelity.sides import ColumnPair, Sides

MOST_VALUES = 12
# Values of fewer records of the source are pooled: they would be those of single people.
FEW = 11
MOST_BINS = 20
MISSING = "no value"
_UNITS: Mapping[str, Literal["D", "s"]] = {"date": "D", "timestamp": "s"}


@dataclass(frozen=True, slots=True)
class Row:
    """The share of a value, or of a range of numbers, in the source and in the release."""

    label: str
    source: float
    released: float


@dataclass(frozen=True, slots=True)
class SideBySide:
    """The rows of one column; what is released is spread evenly over what it stands for."""

    column: str
    rows: tuple[Row, ...]

    def to_dict(self) -> JsonObject:
        """Plain values."""
        return plain(self)


def side_by_side(session: Session, sides: Sides, families: dict[str, str]) -> list[SideBySide]:
    """Each column of both sides: its most frequent values, or bins of its numbers.

    Args:
        session: where the tables are.
        sides: the source and the release.
        families: of each column that is drawn, as the source types it.
    """
    some = [c for c in sides.columns if c.name in families]
    found: dict[int, list[Row]] = {c.number: [] for c in some}
    for number, row in (
        *_most_frequent(session, sides, [c for c in some if not c.measured]),
        *_binned(session, sides, [c for c in some if c.measured], families),
    ):
        found[number].append(row)
    return [SideBySide(c.name, tuple(found[c.number])) for c in some]


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
