"""Cells that no hierarchy has: `[20, 29]`, an interval that a block of records chose, or `a | b`.

They are read here by code of the verifier's own. What one stands for follows from its label alone:
all values from the first end to the second, both of them included, or the members of the set. The
dictionary must say that and nothing else; and each record must be inside of what it reads.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from decimal import Decimal, InvalidOperation

from dbdeid.engine.expressions import (
    Select,
    aliased,
    all_of,
    column,
    literal,
    select,
    try_cast,
)
from dbdeid.engine.relation import Column, Relation
from dbdeid.engine.session import Session
from dbdeid.verify.base.classes import STAR
from dbdeid.verify.base.declaration import Declared

LEVEL = 1  # at which the dictionary lists them
_INTERVAL = re.compile(r"\[([^,\[\]]+), ([^,\[\]]+)\]")
_BAR = " | "


@dataclass(frozen=True, slots=True)
class Chosen:
    """What a cell stands for.

    Attributes:
        ends: of an interval, as its label writes them; None of a set.
        lower: as the dictionary must write it.
        upper: the same; where values need not be whole, the first one past the interval.
        leaves: the members of a set, in order; None of an interval.
    """

    ends: tuple[str, str] | None
    lower: str | None
    upper: str | None
    leaves: tuple[str, ...] | None


def read(label: str, kind: str) -> Chosen | None:
    """What a label stands for; None where it is none of an interval or a set.

    Args:
        label: as released.
        kind: the type of the column's values; empty where it shows sets.
    """
    if not kind:
        members = tuple(label.split(_BAR))
        whole = len(members) > 1 and list(members) == sorted(set(members)) and STAR not in members
        return Chosen(None, None, None, members) if whole else None
    found = _INTERVAL.fullmatch(label)
    if found is None:
        return None
    low, high = found[1], found[2]
    try:
        ends = _bounds(low, high, kind)
    except (ValueError, InvalidOperation, OverflowError):
        return None
    return None if ends is None else Chosen((low, high), *ends, None)


def _bounds(low: str, high: str, kind: str) -> tuple[str, str] | None:
    match Column("", kind).family:
        case "integer":
            return (low, high) if int(low) < int(high) else None
        case "date":
            return (low, high) if date.fromisoformat(low) < date.fromisoformat(high) else None
        case "timestamp":
            first, last = datetime.fromisoformat(low), datetime.fromisoformat(high)
            past = last + timedelta(microseconds=1)
            return (first.isoformat(sep=" "), past.isoformat(sep=" ")) if first < last else None
        case "decimal":
            scale = re.search(r",\s*(\d+)\)", kind)
            unit = Decimal(1).scaleb(-int(scale[1] if scale else 3))
            begin, end = Decimal(low), Decimal(high)
            return (_pointed(begin), _pointed(end + unit)) if begin < end else None
        case "float":
            start, stop = float(low), float(high)
            if not (math.isfinite(start) and math.isfinite(stop) and start < stop):
                return None
            return repr(start), repr(math.nextafter(stop, math.inf))
    return None


def _pointed(number: Decimal) -> str:
    text = format(number, "f")
    text = text.rstrip("0") if "." in text else f"{text}.0"
    return f"{text}0" if text.endswith(".") else text


def unlike(session: Session, listed: Relation, declared: Declared) -> Iterator[str]:
    """Entries of a dictionary at the level of such cells that do not say what their label does."""
    for name, kind in declared.free.items():
        query = select(*map(column, ("released_value", "lower", "upper", "leaves")))
        chosen = all_of(column("column").eq(literal(name)), column("level").eq(literal(LEVEL)))
        wrong = 0
        for label, lower, upper, leaves in session.rows(query.from_(listed.table).where(chosen)):
            own = None if label is None else read(label, kind)
            told = (lower, upper, None if leaves is None else tuple(leaves))
            wrong += own is None or told != (own.lower, own.upper, own.leaves)
        if wrong:
            what = "intervals" if kind else "sets"
            yield f"{wrong} {what} of {name!r} are not listed as they read"


def held(session: Session, place: str, pairs: Select, kind: str) -> Select:
    """Those of some pairs of a value and what it reads of which the value is inside.

    Args:
        session: where the pairs are.
        place: name of a temporary table, to be dropped by the caller.
        pairs: `value` and `shown`, as text.
        kind: as `read` takes it.
    """
    labels = select("shown").distinct().from_(pairs.subquery("pairs"))
    known = [(label, read(label, kind)) for (label,) in session.rows(labels) if label is not None]
    cells = [(label, own) for label, own in known if own is not None]
    # a member of a set is both of its ends
    ends = [
        (label, *pair)
        for label, own in cells
        for pair in ([own.ends] if own.ends else [(leaf, leaf) for leaf in own.leaves or ()])
    ]
    names = ("label", "low", "high")
    staged = session.upload(place, {n: [end[i] for end in ends] for i, n in enumerate(names)})
    value, low, high = (
        try_cast(cell, kind or "VARCHAR")
        for cell in (column("value", "p"), column("low", "c"), column("high", "c"))
    )
    return (
        select(column("value", "p"), column("shown", "p"), aliased(literal(LEVEL), "level"))
        .distinct()
        .from_(pairs.subquery("p"))
        .join(staged.aliased("c"), on=column("label", "c").eq(column("shown", "p")))
        .where(all_of(value >= low, value <= high))
    )
