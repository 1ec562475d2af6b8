"""Judge an answer of a release by what its source says: see `analysts.py`."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import date, datetime
from decimal import Decimal
from typing import Any

from sqlglot import exp, parse_one

NEAR = 1e-9  # how far an equal number may be, relative to 1 or to it
MOST_FAULTS = 3  # that are told of an answer

Row = Sequence[Any]
Key = tuple[Any, ...]


@dataclass(frozen=True)
class Table:
    """Rows with the names of their columns."""

    columns: tuple[str, ...]
    rows: Sequence[Row]


@dataclass
class Verdict:
    """What was found of an answer.

    Attributes:
        cells: aggregates of groups that source and answer have, by what is known of them. `equal`
            and `unequal` have no bounds and claim to be the truth; `tight`, where both bounds are
            the truth; `within` others; `out`; `open`, where a bound is NULL and the other, if there
            is one, holds; `absent`, where the source has NULL; `free`, where the release promises
            neither bounds nor truth.
        lost: rows that only the source has.
        invented: rows that only the answer has.
        misnamed: columns that the source calls otherwise.
        faults: what is wrong, the first of each answer.
        errors: of expected values, relative to the truth.
        widths: of bounds that are not tight, relative to the truth.
        beyond: expected values that are not within their own bounds.
    """

    cells: Counter[str] = field(default_factory=Counter)
    lost: int = 0
    invented: int = 0
    misnamed: int = 0
    faults: list[str] = field(default_factory=list)
    errors: list[float] = field(default_factory=list)
    widths: list[float] = field(default_factory=list)
    beyond: int = 0

    @property
    def judged(self) -> int:
        """Cells of which something was claimed."""
        return sum(self.cells[name] for name in ("equal", "unequal", "tight", "within", "out"))

    @property
    def wrong(self) -> int:
        """Cells that are not what was claimed."""
        return self.cells["unequal"] + self.cells["out"]

    def wrongs(self, fault: str) -> None:
        """Tell a fault, if not too many are told."""
        if len(self.faults) < MOST_FAULTS:
            self.faults.append(fault)


@dataclass(frozen=True)
class Claim:
    """What an answer claims.

    Attributes:
        keys: the columns by which rows are told apart.
        truthful: whether a column without bounds is to be the truth.
        all_rows: whether the answer must have the rows of the truth, and no others.
        within: how far an equal number may be, relative to it.
    """

    keys: tuple[str, ...]
    truthful: bool
    all_rows: bool
    within: float = NEAR


@dataclass(frozen=True)
class Cell:
    """A column of the truth, and where the answer has it, and its bounds if there are any."""

    name: str
    value: int
    bounds: tuple[int, int] | None


def judge(found: Table, truth: Table, beyond: Table | None, claim: Claim) -> Verdict:
    """Hold an answer against the truth.

    Args:
        found: the answer.
        truth: what the source says to the same query.
        beyond: what the source says without HAVING and LIMIT, for groups that these leave out of
            the truth and not of the answer, since a release goes by expected values.
        claim: what the answer is to be.
    """
    verdict = Verdict()
    cells = _cells(found.columns, truth.columns)
    if cells is None:
        verdict.cells["unequal"] += 1
        verdict.wrongs(f"columns {found.columns}, not {truth.columns}")
        return verdict
    for cell in cells:
        if (name := found.columns[cell.value]) != cell.name:
            verdict.misnamed += 1
            verdict.wrongs(f"a column is called {name}, not {cell.name}")
    places = [place for place, cell in enumerate(cells) if cell.name in claim.keys]
    true = _by_key(truth, places)
    others = _by_key(beyond, places) if beyond else {}
    told = _by_key(found, [cells[place].value for place in places])
    if len(told) < len(found.rows):
        verdict.cells["unequal"] += 1
        verdict.wrongs("two rows have the same keys")
    verdict.lost = sum(key not in told for key in true)
    verdict.invented = sum(key not in true for key in told)
    if claim.all_rows and (apart := verdict.lost + verdict.invented):
        verdict.cells["unequal"] += apart
        strange = [key for key in (*true, *told) if (key in true) != (key in told)]
        verdict.wrongs(f"{verdict.lost} rows lost, {verdict.invented} invented: {strange[:3]}")
    for key, row in told.items():
        own = true.get(key, others.get(key))
        if own is not None:
            for place, cell in enumerate(cells):
                if place not in places:
                    _judge_cell(verdict, claim, cell, key, row, own[place])
    return verdict


def _cells(found: tuple[str, ...], truth: tuple[str, ...]) -> list[Cell] | None:
    """Where each column of the truth is in the answer; None if the answer has more or fewer."""
    cells, place = [], 0
    for name in truth:
        if place >= len(found):
            return None
        own = found[place]
        bounded = found[place + 1 : place + 3] == (f"{own}_lower", f"{own}_upper")
        cells.append(Cell(name, place, (place + 1, place + 2) if bounded else None))
        place += 3 if bounded else 1
    return cells if place == len(found) else None


def _judge_cell(verdict: Verdict, claim: Claim, cell: Cell, key: Key, row: Row, true: Any) -> None:
    value = row[cell.value]
    if (error := _error(value, true)) is not None:
        verdict.errors.append(error)
    where = f"{cell.name} of {key}: " if key else f"{cell.name}: "
    if cell.bounds is None:
        equal = same(value, true, claim.within)
        verdict.cells["free" if not claim.truthful else "equal" if equal else "unequal"] += 1
        if claim.truthful and not equal:
            verdict.wrongs(f"{where}{value} instead of {true}")
        return
    lower, upper = (row[place] for place in cell.bounds)
    if not (_not_above(lower, value) and _not_above(value, upper)):
        verdict.beyond += 1
        verdict.wrongs(f"{where}{value} is expected, and not within {lower} and {upper}")
    if true is None:
        verdict.cells["absent"] += 1
    elif not (_not_above(lower, true) and _not_above(true, upper)):
        verdict.cells["out"] += 1
        verdict.wrongs(f"{where}{true} is not within {lower} and {upper}")
    elif lower is None or upper is None:
        verdict.cells["open" if (lower, upper) != (None, None) or claim.truthful else "free"] += 1
    elif same(lower, upper):
        verdict.cells["tight"] += 1
    else:
        verdict.cells["within"] += 1
        if (width := _width(lower, upper, true)) is not None:
            verdict.widths.append(width)


def _by_key(table: Table, places: Sequence[int]) -> dict[Key, Row]:
    """The rows by what tells them apart, which is in some places."""
    return {tuple(_plain(row[place]) for place in places): row for row in table.rows}


def _plain(value: Any) -> Any:
    """A value that is equal to, and hashed like, the same one of another type."""
    if isinstance(value, bool):
        return ("truth", value)
    if isinstance(value, int | float | Decimal):
        return round(float(value), 9)
    if isinstance(value, date) and not isinstance(value, datetime):
        return datetime(value.year, value.month, value.day)
    return value


def same(one: Any, two: Any, within: float = NEAR) -> bool:
    """Whether two values are equal, numbers nearly so."""
    if one is None or two is None:
        return one is two
    one, two = _plain(one), _plain(two)
    if isinstance(one, float) and isinstance(two, float):
        if math.isnan(one) or math.isnan(two):
            return math.isnan(one) and math.isnan(two)
        return math.isclose(one, two, rel_tol=within, abs_tol=NEAR)
    return bool(one == two)


def _not_above(low: Any, high: Any) -> bool:
    """Whether one value is at most another; a bound that is not known holds."""
    if low is None or high is None or same(low, high):
        return True
    low, high = _plain(low), _plain(high)
    return type(low) is type(high) and bool(low <= high)


def _error(value: Any, true: Any) -> float | None:
    value, true = _plain(value), _plain(true)
    if isinstance(value, float) and isinstance(true, float) and true:
        return abs(value - true) / abs(true)
    return None


def _width(lower: Any, upper: Any, true: Any) -> float | None:
    low, high, true = _plain(lower), _plain(upper), _plain(true)
    if isinstance(low, float) and isinstance(high, float) and isinstance(true, float) and true:
        return (high - low) / abs(true)
    return None


def unlimited(text: str) -> str | None:
    """The query without what leaves groups out of its rows; None where that is nothing.

    Windows look at the groups that HAVING leaves, so that a query with both has none.
    """
    tree = parse_one(text, read="duckdb")
    clauses = [c for c in ("having", "qualify", "limit", "offset", "order") if tree.args.get(c)]
    if not isinstance(tree, exp.Select) or not set(clauses) - {"order"}:
        return None
    for clause in clauses:
        tree.set(clause, None)
    return None if tree.find(exp.Window) else tree.sql("duckdb")
