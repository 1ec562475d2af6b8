"""Proposing a hierarchy for a quasi-identifier: from the shelf, from its kind, or from the data."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from dbdeid.data import shelf
from dbdeid.data.json import Json
from dbdeid.engine.expressions import aliased, cast, column, count_rows, not_null, select
from dbdeid.engine.relation import NUMBERS, Relation
from dbdeid.engine.session import Session
from dbdeid.engine.sqltext import step
from dbdeid.profiling.detect import DetectedColumn, Kind
from dbdeid.profiling.suggest import column_groups

FEW_RECORDS = 20
FEW_VALUES = 20
MANY_VALUES = 200
MOST_LISTED = 100  # values that a draft writes down
RARE = 0.05  # of the records: rarer values are pooled on the first level
STEPS = 25  # intervals of the first width, at most
BEYOND = 0.01  # share of the records beyond each limit, at most
KNOWN = 0.8  # of the values the shelf must know


@dataclass(frozen=True, slots=True)
class Ladder:
    """A hierarchy as a spec writes it, and what goes with it.

    Attributes:
        hierarchy: as a spec writes it.
        why: what a reader should know.
        min_level: the level it starts at.
        domain: values that the dictionary of the release may list, without which nobody can ask
            what a generalized one stands for; none where that is for the owner to decide.
    """

    hierarchy: Json
    why: str = ""
    min_level: int = 0
    domain: tuple[str, ...] = ()


def of(session: Session, table: Relation, found: DetectedColumn) -> Ladder:
    """The hierarchy of one column, by what it is."""
    kind, family = found.kind, found.column.family
    if family in ("date", "timestamp"):
        return Ladder({"shelf": "dates"}, "no finer than months", 1)
    if found.years:
        return Ladder({"shelf": "age"}, "from 90 on pooled", 1)
    if kind in ("date", "timestamp"):
        return Ladder("suppress", "as a DATE (cast it in `source: {sql: …}`) it would have months")
    if kind in _CODED and family == "text" and _on_shelf(session, table, found, _CODED[kind]):
        return Ladder({"shelf": _CODED[kind]}, min_level=int(kind == "zip"))
    if kind == "zip" and family in ("text", "integer"):
        return Ladder({"prefix": [3]}, _LEADING, 1)
    if kind == "postcode" and family in ("text", "integer"):
        return Ladder({"prefix": [3, 2, 1]}, min_level=1)
    if family in NUMBERS and kind not in ("code", "place"):
        return _intervals(session, table, found)
    if family in ("text", "enum", "integer") and found.distinct <= MOST_LISTED:
        return _groups(session, table, found)
    if family == "boolean":
        return Ladder("suppress", domain=("false", "true"))
    return Ladder("suppress", "a hierarchy file would lose less" if found.distinct > 2 else "")


# The kinds whose codes the shelf knows, and its name for them.
_CODED: dict[Kind, str] = {"zip": "zip", "country": "countries"}


def known(values: list[str], name: str) -> bool:
    """Whether a hierarchy of the shelf knows most of some values."""
    if name == "zip" and shelf.zips.shortened(values):
        return False
    found = sum(row[1] != shelf.OTHER for row in shelf.rows(name, values))
    return found >= KNOWN * len(values)


def _on_shelf(session: Session, table: Relation, found: DetectedColumn, name: str) -> bool:
    return known([value for value, _ in values_of(session, table, found)], name)


_LEADING = "as text of five digits (lpad in `source: {sql: …}`) it could be {shelf: zip}"


def values_of(session: Session, table: Relation, found: DetectedColumn) -> list[tuple[str, int]]:
    """The values of a column as text with their records, the most frequent first."""
    value = cast(column(found.name), "VARCHAR")
    counted = (
        select(aliased(value, "value"), aliased(count_rows(), "n"))
        .from_(table.table)
        .where(not_null(column(found.name)))
        .group_by("1")
    )
    ordered = select("value", "n").from_(counted.subquery("counted"))
    return [(str(v), int(n)) for v, n in session.rows(ordered.order_by("n DESC", "value"))]


# -- intervals ---------------------------------------------------------------------------------


def _intervals(session: Session, table: Relation, found: DetectedColumn) -> Ladder:
    if found.low is None or found.high is None or found.distinct < 2:
        return Ladder("suppress", "its numbers are not finite" if found.known else "")
    share = {"share": BEYOND}
    low, high = session.row(
        step("profiling/round_ends", {"rel": table}, {"col": [found.name]}, share)
    )
    if not high > low:
        low, high = found.low, found.high
    widths = widths_of(low, high, whole=found.whole)
    top = widths[-1]
    lower, upper = (math.floor(low / top) * top, math.ceil(high / top) * top)
    if upper <= high:  # intervals do not hold their upper end
        upper += top
    limits = [_plain(end) for end in (lower, upper)]
    hierarchy = {"intervals": [_plain(w) for w in widths], "lower": limits[0], "upper": limits[1]}
    return Ladder(hierarchy)


def widths_of(low: float, high: float, *, whole: bool) -> list[float]:
    """Three round widths that double, the largest about a fifth of the range.

    >>> widths_of(0, 100, whole=True)
    [5.0, 10.0, 20.0]
    """
    span = high - low
    width = 10.0 ** math.floor(math.log10(span / STEPS))
    for factor in (1, 2, 5, 10):
        if span / (factor * width) <= STEPS:
            width *= factor
            break
    if whole:
        width = max(width, 2.0)
    return [width, 2 * width, 4 * width]


def _plain(number: float) -> int | float:
    short = float(f"{number:.6g}")
    return int(short) if short.is_integer() else short


# -- groups ------------------------------------------------------------------------------------


def _groups(session: Session, table: Relation, found: DetectedColumn) -> Ladder:
    """Like values joined where it is known which are alike; or else the rare ones pooled."""
    counted = values_of(session, table, found)
    values = [value for value, _ in counted]
    if len(set(map(str.strip, values))) < len(values):
        return Ladder("suppress", _NOT_ASKED)
    if bands := column_groups.bands(values):
        return Ladder({"groups": bands}, "neighbouring bands joined")
    if known := column_groups.categories(found.name, dict(counted)):
        what, levels = known
        return Ladder({"groups": levels}, f"joined as values of {what}")
    limit = RARE * found.records
    rare = sorted(value for value, n in counted if n < limit)
    kept = [value for value, n in counted if n >= limit]
    if len(rare) < 2 or not kept or shelf.OTHER in values:
        return _suppressed(found, dict(counted), limit)
    groups: dict[str, list[str]] = {value: [value] for value in kept}
    groups[shelf.OTHER] = rare
    return Ladder({"groups": [groups]}, "rare values pooled: write groups that mean something")


def _suppressed(found: DetectedColumn, counted: Mapping[str, int], limit: float) -> Ladder:
    """A value or nothing. Only values of many records are written down: that there is one of a few
    is for the owner to tell."""
    many = all(n >= max(limit, FEW_RECORDS) for n in counted.values())
    if not counted or not many or found.column.family not in ("text", "enum"):
        return Ladder("suppress", _NOT_ASKED)
    return Ladder("suppress", _LISTED, domain=tuple(sorted(counted)))


_LISTED = "domain: public with the release, so that it can be asked by it"
_NOT_ASKED = "to have it asked, list its values as `domain: [...]`, which makes them public"
