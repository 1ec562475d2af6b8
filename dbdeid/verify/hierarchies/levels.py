"""The levels of a hierarchy as its owner declared it, worked out again for the verifier.

Nothing here is shared with what makes hierarchies, but the files that ship: lists of codes. What
each value reads on each level, and the bounds of that, follow from the declaration and the value
alone; the bounds of `*` from the declared limits, if no value is outside of them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from decimal import Context, Decimal, InvalidOperation
from fractions import Fraction
from itertools import groupby
from typing import Literal

from dbdeid.data import shelf
from dbdeid.engine.expressions import cast, column, select, try_cast
from dbdeid.engine.session import Session
from dbdeid.verify.base.classes import STAR

LEAVES = "verify_leaves"


@dataclass(frozen=True, slots=True)
class Rule:
    """The hierarchy of one column as it was declared.

    Attributes:
        name: of the column.
        type: in which its values are released as they are.
        family: of its type in the source.
        measured: whether its values have bounds.
        kind: what the declaration is of; `rows` are those of a file or a table, and `neighbours`
            the values of an ordered domain, which a policy merges; `free`: nothing between values
            and `*`.
        rows: each leaf and its labels, lowest first.
        groups: of each level, the labels and what they hold on the level below.
        widths: of intervals.
        origin: where intervals start.
        lower: the limit that values below share a label of; a number or a date.
        upper: the limit that values from it on share a label of.
        units: of dates.
        lengths: of prefixes.
        codes: the name of a list of codes.
        domain: the declared leaves of prefixes, codes or values that are only suppressed; those of
            an ordered domain in their order.
        style: how neighbours read: range, code or listed.
        place: the file or table of the rows, in words.
        changed: whether that is not what it was when the release was made.
        listed: the dictionary has its values; that of a sensitive column stays in the book.
    """

    name: str
    type: str
    family: str
    measured: bool
    kind: Literal[
        "suppress",
        "prefix",
        "codes",
        "rows",
        "groups",
        "intervals",
        "dates",
        "neighbours",
        "free",
    ]
    rows: Sequence[Sequence[str]] = ()
    groups: Sequence[Mapping[str, Sequence[str]]] = ()
    widths: Sequence[Fraction] = ()
    origin: Fraction = Fraction(0)
    lower: Fraction | date | None = None
    upper: Fraction | date | None = None
    units: Sequence[str] = ()
    lengths: Sequence[int] = ()
    codes: str = ""
    domain: Sequence[str] | None = None
    style: str = ""
    place: str = ""
    changed: bool = False
    listed: bool = True


@dataclass(frozen=True, slots=True)
class Rung:
    """What a value reads on one level, and the bounds of that as text."""

    label: str
    lower: str | None = None
    upper: str | None = None


@dataclass(frozen=True, slots=True)
class Ladder:
    """The levels of one column.

    Attributes:
        levels: of each level, from the values themselves to `*`, what each value reads.
        leaves: the values of the declared domain; None: none was declared.
    """

    levels: tuple[Mapping[str, Rung], ...]
    leaves: frozenset[str] | None


class Misfit(Exception):
    """A value does not fit the declaration, or the declaration itself."""


def ladder(
    session: Session,
    rule: Rule,
    values: Sequence[str],
    merged: Mapping[str, str | None] | None = None,
) -> Ladder:
    """The levels of a column.

    Args:
        session: where leaves are cast to the type of their column.
        rule: the declaration.
        values: those that occurred, where no domain is declared.
        merged: what neighbours are said to read once they are merged, which the declaration does
            not tell; None: none are.

    Raises:
        Misfit: a value is no number or date, or the rows of the declaration are no tree.
    """
    if rule.kind == "intervals":
        return Ladder(_intervals(rule, values), None)
    if rule.kind == "dates":
        return Ladder(_dates(rule, values), None)
    if rule.kind == "neighbours":
        return _neighbours(session, rule, merged)
    return _listed(session, rule, values)


# -- leaves with their labels ----------------------------------------------------------------------


def _listed(session: Session, rule: Rule, values: Sequence[str]) -> Ladder:
    public = rule.kind in ("rows", "groups") or rule.domain is not None
    rows = _rows(rule, values)
    depth = {len(row) for row in rows}
    if len(depth) > 1 or (public and not rows):
        raise Misfit
    width = depth.pop() if depth else 1 + _between(rule)
    single = width > 1 and len({row[-1] for row in rows}) == 1
    if rule.kind in ("rows", "groups") and single:
        width -= 1  # it is `*` whatever it is called
    if public:
        known = _typed(session, rule, [row[0] for row in rows])
    else:  # values as their column writes them
        known = [(row[0], _number(rule, row[0])) for row in rows]
    leaves = [leaf for leaf, _ in known]
    if len(set(leaves)) < len(leaves):
        raise Misfit
    number = dict(known)
    levels: list[dict[str, Rung]] = [
        {leaf: _one(leaf, number[leaf]) for leaf in leaves},
        *(
            _labelled(leaves, [row[i] for row in rows], number if public else None)
            for i in range(1, width)
        ),
        _labelled(leaves, [STAR] * len(leaves), number if public else None),
    ]
    if rule.kind == "free" and (ends := _limits(rule, number)) is not None:
        levels[-1] = dict.fromkeys(leaves, Rung(STAR, *ends))
    return Ladder(tuple(levels), frozenset(leaves) if public else None)


def _limits(rule: Rule, number: Mapping[str, Number]) -> tuple[str, str] | None:
    """The bounds of `*` where a column is limited, and no value is outside of its limits."""
    low, high, values = rule.lower, rule.upper, [*number.values()]
    if isinstance(low, Fraction) and isinstance(high, Fraction):
        inside = all(isinstance(n, Fraction) and low <= n < high for n in values)
        return _inside(low, high, rule.family == "integer") if inside else None
    if isinstance(low, date) and isinstance(high, date):
        timed = rule.family == "timestamp"
        inside = all(isinstance(n, datetime) and low <= n.date() < high for n in values)
        return (_first(low, timed), _last(high, timed)) if inside else None
    return None


def _rows(rule: Rule, values: Sequence[str]) -> list[Sequence[str]]:
    leaves = values if rule.domain is None else rule.domain
    match rule.kind:
        case "rows":
            return list(rule.rows)
        case "groups":
            return _grouped(rule.groups)
        case "free":
            return [[leaf, leaf] for leaf in leaves]
        case "prefix":
            return [
                [leaf, *(leaf[:n] + "*" * (len(leaf) - n) for n in rule.lengths)] for leaf in leaves
            ]
        case "codes":
            return list(shelf.rows(rule.codes, leaves))
        case _:
            return [[leaf] for leaf in leaves]


def _between(rule: Rule) -> int:
    """The number of levels between the values and `*`, where no value shows it."""
    if rule.kind == "free":
        return 1
    return shelf.CODES[rule.codes].height if rule.codes else len(rule.lengths)


def _grouped(groups: Sequence[Mapping[str, Sequence[str]]]) -> list[Sequence[str]]:
    parents = [{part: label for label, held in level.items() for part in held} for level in groups]
    rows = []
    for leaf in parents[0]:
        row = [leaf]
        for above in parents:
            if row[-1] not in above:
                raise Misfit
            row.append(above[row[-1]])
        rows.append(row)
    return list(rows)


Number = Fraction | datetime | None


def _number(rule: Rule, text: str) -> Number:
    return measure(text) if rule.measured and rule.type != "VARCHAR" else None


def _typed(session: Session, rule: Rule, leaves: Sequence[str]) -> list[tuple[str, Number]]:
    """Each leaf as its column writes it, and what it measures; None: nothing.

    One that is no value of that type, such as 12.5 of an INTEGER, stays what it is.
    """
    if rule.type == "VARCHAR":
        return [(leaf, None) for leaf in leaves]
    staged = session.upload(LEAVES, {"n": range(len(leaves)), "leaf": list(leaves)})
    try:
        kind = rule.type
        text = cast(try_cast(column("leaf"), kind), "VARCHAR")
        texts = session.rows(select(text).from_(staged.table).order_by("n"))
    finally:
        session.drop_temp(LEAVES)
    found: list[tuple[str, Number]] = []
    for leaf, (written,) in zip(leaves, texts, strict=True):
        before, after = measure(leaf.strip()), None if written is None else measure(written)
        kept = written is not None and (before is None or after is None or before == after)
        found.append((written, _number(rule, written)) if kept else (leaf, None))
    return found


def measure(text: str) -> Number:
    """The number or the moment that a text is of; None: neither."""
    try:
        number = Decimal(text)
    except InvalidOperation:
        pass
    else:
        return Fraction(number) if number.is_finite() else None
    try:
        return datetime.fromisoformat(text).replace(tzinfo=None)
    except ValueError:
        return None


def _one(leaf: str, number: Number) -> Rung:
    return Rung(leaf) if number is None else Rung(leaf, leaf, leaf)


def _labelled(
    leaves: Sequence[str], labels: Sequence[str], number: Mapping[str, Number] | None
) -> dict[str, Rung]:
    """A level; the bounds of a label are its least and greatest leaf, if all have a number."""
    held: dict[str, list[str]] = {}
    for leaf, label in zip(leaves, labels, strict=True):
        held.setdefault(label, []).append(leaf)
    rungs = {label: Rung(label, *_ends(own, number)) for label, own in held.items()}
    return {leaf: rungs[label] for leaf, label in zip(leaves, labels, strict=True)}


def _ends(
    leaves: Sequence[str], number: Mapping[str, Number] | None
) -> tuple[str, str] | tuple[None, None]:
    if number is None or any(number[leaf] is None for leaf in leaves):
        return None, None
    ordered = sorted(leaves, key=lambda leaf: (_place(number[leaf]), leaf))
    return ordered[0], ordered[-1]


def _place(number: Number) -> Fraction:
    if isinstance(number, datetime):
        return Fraction((number - datetime.min) // timedelta(microseconds=1))
    assert number is not None
    return number


# -- neighbours in an order ------------------------------------------------------------------------

LONGEST = 80  # characters of a list of neighbours


def _neighbours(session: Session, rule: Rule, merged: Mapping[str, str | None] | None) -> Ladder:
    """Values and `*`, and between them runs of neighbours, each of which reads as what it holds."""
    given = rule.domain or ()
    known = _typed(session, rule, given)
    number, leaves = dict(known), [leaf for leaf, _ in known]
    if not leaves or len(number) < len(leaves):
        raise Misfit
    levels = [{leaf: _one(leaf, number[leaf]) for leaf in leaves}]
    if merged is not None:
        runs = [
            list(run) for _, run in groupby(range(len(leaves)), lambda i: merged.get(leaves[i]))
        ]
        rungs: dict[str, Rung] = {}
        for run in runs:
            ends = levels[0][leaves[run[0]]], levels[0][leaves[run[-1]]]
            label = _together(rule, given, run[0], run[-1] + 1)
            rungs |= dict.fromkeys(
                (leaves[i] for i in run), Rung(label, ends[0].lower, ends[1].upper)
            )
        levels.append(rungs)
    levels.append(_labelled(leaves, [STAR] * len(leaves), number))
    return Ladder(tuple(levels), frozenset(leaves))


def _together(rule: Rule, values: Sequence[str], start: int, end: int) -> str:
    held = values[start:end]
    if len(held) == 1:
        return held[0]
    spelled = " | ".join(held)
    if rule.style == "listed" and len(spelled) <= LONGEST:
        return spelled
    if rule.style == "code" and len({len(value) for value in held}) == 1:
        one, size = held[0], len(held[0])
        while any(not value.startswith(one[:size]) for value in held):
            size -= 1
        common = one[:size]
        if common and [value for value in values if value.startswith(common)] == list(held):
            return common.ljust(len(held[0]), STAR)
    return f"{held[0]} to {held[-1]}"


# -- numbers in intervals --------------------------------------------------------------------------


def _intervals(rule: Rule, values: Sequence[str]) -> tuple[Mapping[str, Rung], ...]:
    numbers: dict[str, Fraction] = {}
    for text in values:
        number = measure(text)
        if not isinstance(number, Fraction):
            raise Misfit
        numbers[text] = number
    whole = rule.family == "integer"
    levels: list[dict[str, Rung]] = [{text: Rung(text, text, text) for text in values}]
    for width in rule.widths:
        levels.append(
            {text: _interval(rule, number, width, whole) for text, number in numbers.items()}
        )
    low, high = rule.lower, rule.upper
    top = Rung(STAR)
    assert not isinstance(low, date)
    assert not isinstance(high, date)
    if low is not None and high is not None and all(low <= n < high for n in numbers.values()):
        top = Rung(STAR, *_inside(low, high, whole))
    levels.append(dict.fromkeys(values, top))
    return tuple(levels)


def _interval(rule: Rule, number: Fraction, width: Fraction, whole: bool) -> Rung:
    low, high = rule.lower, rule.upper
    assert not isinstance(low, date)
    assert not isinstance(high, date)
    if low is not None and number < low:
        return Rung(f"< {_plain(low)}", None, _inside(low, low, whole)[1])
    if high is not None and number >= high:
        return Rung(f">= {_plain(high)}", _inside(high, high, whole)[0], None)
    steps = (number - rule.origin) / width
    start = rule.origin + (steps.numerator // steps.denominator) * width
    ends = [start, start + width]
    if low is not None and ends[0] < low:
        ends[0] = low
    if high is not None and ends[1] > high:
        ends[1] = high
    return Rung(f"[{_plain(ends[0])}, {_plain(ends[1])})", *_inside(ends[0], ends[1], whole))


def _inside(start: Fraction, end: Fraction, whole: bool) -> tuple[str, str]:
    """The bounds of the values from a start to before an end."""
    if whole:
        return str(-(-start // 1)), str(-(-end // 1) - 1)
    return _pointed(start), _pointed(end)


_EXACT = Context(prec=400)


def _plain(number: Fraction) -> str:
    """A number as people write it, without an exponent or zeros at its end."""
    exact = _EXACT.divide(Decimal(number.numerator), Decimal(number.denominator))
    text = format(exact, "f")
    return text.rstrip("0").rstrip(".") if "." in text else text


def _pointed(number: Fraction) -> str:
    text = _plain(number)
    return text if "." in text else text + ".0"


# -- days in the calendar --------------------------------------------------------------------------


def _dates(rule: Rule, values: Sequence[str]) -> tuple[Mapping[str, Rung], ...]:
    days: dict[str, date] = {}
    for text in values:
        try:
            days[text] = datetime.fromisoformat(text).date()
        except ValueError:
            raise Misfit from None
    timed = rule.family == "timestamp"
    levels: list[dict[str, Rung]] = [{text: Rung(text, text, text) for text in values}]
    for unit in rule.units:
        levels.append({text: _period(rule, day, unit, timed) for text, day in days.items()})
    low, high = rule.lower, rule.upper
    top = Rung(STAR)
    assert not isinstance(low, Fraction)
    assert not isinstance(high, Fraction)
    if low is not None and high is not None and all(low <= day < high for day in days.values()):
        top = Rung(STAR, _first(low, timed), _last(high, timed))
    levels.append(dict.fromkeys(values, top))
    return tuple(levels)


def _period(rule: Rule, day: date, unit: str, timed: bool) -> Rung:
    low, high = rule.lower, rule.upper
    assert not isinstance(low, Fraction)
    assert not isinstance(high, Fraction)
    if low is not None and day < low:
        return Rung(f"< {low.isoformat()}", None, _last(low, timed))
    if high is not None and day >= high:
        return Rung(f">= {high.isoformat()}", _first(high, timed), None)
    start, end, label = _calendar(day, unit)
    start = start if low is None or start > low else low
    end = end if high is None or end < high else high
    return Rung(label, _first(start, timed), _last(end, timed))


def _calendar(day: date, unit: str) -> tuple[date, date, str]:
    """The first day of a period, the first one past it, and how it reads."""
    year = day.year
    if unit == "week":
        iso, monday = day.isocalendar(), day - timedelta(days=day.isoweekday() - 1)
        return monday, monday + timedelta(weeks=1), f"{iso.year:04d}-W{iso.week:02d}"
    if unit == "decade":
        first = year - year % 10
        start, end = date(max(first, 1), 1, 1), date(min(first + 10, 9999), 1, 1)
        return start, end, f"{first:04d}s"
    months = {"month": 1, "quarter": 3, "year": 12}[unit]
    part = (day.month - 1) // months
    start = date(year, part * months + 1, 1)
    after = part * months + months  # months of the year that have passed
    end = date(year + after // 12, after % 12 + 1, 1)
    label = {"month": f"-{day.month:02d}", "quarter": f"-Q{part + 1}", "year": ""}[unit]
    return start, end, f"{year:04d}{label}"


def _first(day: date, timed: bool) -> str:
    return f"{day.isoformat()} 00:00:00" if timed else day.isoformat()


def _last(end: date, timed: bool) -> str:
    return f"{end.isoformat()} 00:00:00" if timed else (end - timedelta(days=1)).isoformat()
