"""What the values of a release made elsewhere stand for.

A value of a quasi-identifier is explained by the first of these that is declared:

1. the dictionary, where it lists any value of the column: then it must list all of them;
2. the column's hierarchy: one of its labels, on whatever level, or one of its values;
3. itself, where it is a value of the column's type.

`*` stands for the declared domain, if there is one. Nothing is guessed from how a label looks,
except with `hierarchy: {labels: intervals}`, which says that it may be.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from fractions import Fraction

from dbdeid.bind.bound import Bound, BoundColumn
from dbdeid.data import dates, interval_label, intervals, shelf
from dbdeid.data.hierarchy import TOP, check_rows
from dbdeid.engine.expressions import aliased, cast, column, select
from dbdeid.engine.relation import MEASURED, Column, Relation
from dbdeid.engine.session import Session
from dbdeid.errors import Mistake, SpecError
from dbdeid.prepare.hierarchies import calendar_of, leaf_rows, rank, scale_of, written


@dataclass(frozen=True, slots=True)
class Meaning:
    """What one released value stands for; unknown where it has neither leaves nor bounds.

    Attributes:
        level: 0 of a value that stands for itself, else the lowest that the label has.
        leaves: the values below it, where they are listed.
        lower: the least value, as a dictionary writes it; None: without end.
        upper: the greatest, of continuous columns the first value past it; None: without end.
        stem: how codes begin that are below it, filled up with `*` to their length.
    """

    level: int
    leaves: tuple[str, ...] | None = None
    lower: str | None = None
    upper: str | None = None
    stem: str | None = None

    @property
    def told(self) -> bool:
        """Whether a reader knows all that it may stand for."""
        ends = self.lower is not None and self.upper is not None
        return self.level == 0 or self.leaves is not None or ends


ITSELF = Meaning(0)
# What a text may mean: nothing that is known, one thing, or several things.
Lookup = Callable[[str], Sequence[Meaning]]


@dataclass(frozen=True, slots=True)
class Explained:
    """The released values of one quasi-identifier.

    Attributes:
        column: the column with its type in the original.
        values: what each stands for.
        unknown: those without a meaning.
        ambiguous: those with several.
        missing: whether NULL occurs.
        told_by: what explains them, in words.
        own: how the column writes those that are values of its type.
        whole: whether upper bounds are values inside, and not the first one past them.
    """

    column: Column
    values: Mapping[str, Meaning]
    unknown: tuple[str, ...]
    ambiguous: tuple[str, ...]
    missing: bool
    told_by: str
    own: Mapping[str, str]
    whole: bool

    @property
    def generalized(self) -> bool:
        """Whether some value may stand for others than itself."""
        return any(meaning.level for meaning in self.values.values())

    @property
    def untold(self) -> int:
        """How many values stand for others that are neither listed nor bounded."""
        return sum(not meaning.told for meaning in self.values.values())

    @property
    def number(self) -> int:
        """How many different values are released, without NULL."""
        return len(self.values) + len(self.unknown) + len(self.ambiguous)


def explained(
    bound: Bound,
    session: Session,
    released: Relation,
    listed: Mapping[str, Sequence[Entry]],
) -> tuple[Explained, ...]:
    """What the values of each quasi-identifier stand for, in order of the original.

    Args:
        bound: the spec.
        session: where the tables are.
        released: the released table.
        listed: what the dictionary says, by name of the column.

    Raises:
        SpecError: a declared domain does not fit its column.
        HierarchyError: a hierarchy is broken.
    """
    found: list[Explained] = []
    mistakes: list[Mistake] = []
    for c in bound.quasi_identifiers:
        texts = _texts(session, released, c.name)
        try:
            found.append(_explained(bound, session, c, texts, listed.get(c.name)))
        except _Wrong as wrong:
            mistakes.append(bound.file.mistake(str(wrong), "columns", c.name, hint=wrong.hint))
    if mistakes:
        raise SpecError(mistakes, source=bound.file.label)
    return tuple(found)


class _Wrong(Exception):
    """What is wrong with the declared domain of a column."""

    def __init__(self, message: str, hint: str) -> None:
        super().__init__(message)
        self.hint = hint


def _texts(session: Session, table: Relation, name: str) -> list[str | None]:
    """The different values of a column as text."""
    text = cast(column(name), "VARCHAR")
    distinct = select(aliased(text, "text")).distinct().from_(table.table)
    rows = session.rows(select("text").from_(distinct.subquery("found")).order_by("text"))
    return [row[0] for row in rows]


def _explained(
    bound: Bound,
    session: Session,
    c: BoundColumn,
    texts: Sequence[str | None],
    entries: Sequence[Entry] | None,
) -> Explained:
    known = [text for text in texts if text is not None]
    values = Values(session, c)
    own = values.fitting(known)
    lookup, told_by = _lookup(bound, session, c, values)
    if entries is not None:
        lookup, told_by = _listed(entries, lookup), "its dictionary"
    meanings: dict[str, Meaning] = {}
    unknown: list[str] = []
    ambiguous: list[str] = []
    for text in known:
        found = lookup(text) or (lookup(own[text]) if text in own else [])
        found = [m for m in found if m.level or text in own]
        if len(found) == 1:
            meanings[text] = found[0]
        else:
            (ambiguous if found else unknown).append(text)
    if c.spec.hierarchy is not None and c.spec.hierarchy.kind in ("intervals", "dates"):
        meanings = _without_limits(meanings, values)
    missing = len(known) < len(texts)
    return Explained(
        column=values.column,
        values=meanings,
        unknown=tuple(unknown),
        ambiguous=tuple(ambiguous),
        missing=missing,
        told_by=told_by,
        own=own,
        whole=values.whole,
    )


def _without_limits(meanings: dict[str, Meaning], values: Values) -> dict[str, Meaning]:
    """Limits beyond which there are values too are not how far `*` reaches."""
    star = meanings.get(TOP)
    if star is None or star.leaves is not None:
        return meanings
    others = (m for text, m in meanings.items() if text != TOP and m.level)
    open_ended = any(m.lower is None or m.upper is None for m in others)
    raw = (text for text, m in meanings.items() if not m.level)
    outside = any(not values.inside(text, star.lower, star.upper) for text in raw)
    return meanings | {TOP: Meaning(star.level)} if open_ended or outside else meanings


class Values:
    """The values of a column of the original, as texts.

    Args:
        session: where texts are cast.
        c: the column.
    """

    def __init__(self, session: Session, c: BoundColumn) -> None:
        self._session, self.bound = session, c
        self.column = Column(c.name, "VARCHAR" if c.column.family == "enum" else c.column.type)

    @property
    def measured(self) -> bool:
        """Whether they have an order that bounds can be in."""
        return self.bound.spec.type is None and self.column.family in MEASURED

    def fitting(self, texts: Sequence[str]) -> dict[str, str]:
        """Those texts that are values of the column, and how it writes them."""
        if self.column.family == "text":
            return {text: text for text in texts}
        cast_there = written(self._session, self.column, texts) if texts else []
        pairs = zip(texts, cast_there, strict=True)
        return {text: value for text, value in pairs if value is not None}

    def bound_of(self, text: str) -> str | None:
        """A bound as the column writes it; None where it is none of its type."""
        try:
            match self.column.family:
                case "integer":
                    number = Fraction(text)
                    return str(int(number)) if number.denominator == 1 else None
                case "date":
                    return date.fromisoformat(text).isoformat()
                case "timestamp":
                    moment = datetime.fromisoformat(text)
                    return None if moment.tzinfo else moment.isoformat(sep=" ")
                case "decimal" | "float":
                    return None if rank(text) is None else text
        except ValueError:
            return None
        return None

    def inside(self, text: str, lower: str | None, upper: str | None) -> bool:
        """Whether a value lies between two bounds."""
        value = rank(text)
        low, high = (None if end is None else rank(end) for end in (lower, upper))
        if value is None or (low is not None and value < low):
            return False
        if high is None:
            return True
        return value <= high if self.whole else value < high

    @property
    def whole(self) -> bool:
        """Whether upper bounds are values, and not the first one past them."""
        return self.column.family in ("integer", "date")

    def between(self, lower: str | None, upper: str | None) -> bool:
        """Whether a value can lie between two bounds."""
        if lower is None or upper is None:
            return True
        low, high = rank(lower), rank(upper)
        if low is None or high is None:
            return False
        return low <= high if self.whole else low < high


def _lookup(bound: Bound, session: Session, c: BoundColumn, values: Values) -> tuple[Lookup, str]:
    """What the hierarchy and the domain of a column say of a text, and what says so."""
    spec = c.spec.hierarchy
    if spec is None:
        return _with_star(_itself, _domain(c, values)), "the values themselves"
    limits = (spec.lower, spec.upper)
    if spec.intervals is not None:
        scale, whole = scale_of(spec), values.column.family == "integer"
        ends = _ends(values, *limits)
        return _with_star(_cells(scale, discrete=whole), ends), "its intervals"
    if spec.dates is not None:
        timed = values.column.family == "timestamp"
        ends = _ends(values, *limits)
        return _with_star(_buckets(calendar_of(spec), timed=timed), ends), "its dates"
    if spec.labels is not None:
        _require_measured(values)
        ends = _ends(values, *limits)
        return _with_star(_intervals(values, ends), ends), "its labels, which are intervals"
    domain = _domain(c, values)
    if spec.shelf is not None and domain is None:
        return _with_star(_labels(spec.shelf), None), f"its hierarchy (shelf: {spec.shelf})"
    if spec.prefix is not None or spec.suppress is not None:
        own = _known(domain) if domain else _itself
        return _with_star(_prefixes(own, domain, spec.prefix or ()), domain), "its hierarchy"
    rows, kind, _ = leaf_rows(bound, session, c, spec, [])
    check_rows(c.name, kind, rows)
    leaves = values.fitting([row[0] for row in rows])
    tree = _tree([[leaves.get(row[0], row[0]), *row[1:]] for row in rows])
    return tree, f"its hierarchy ({kind})"


def _require_measured(values: Values) -> None:
    if not values.measured:
        raise _Wrong(
            f"labels of intervals need numbers, dates or moments, and it is "
            f"{values.bound.column.shown_type}",
            "give a CSV file, groups or a table instead",
        )


def _itself(text: str) -> Sequence[Meaning]:
    return [ITSELF]


def _known(domain: Meaning) -> Lookup:
    """Each value of a listed domain is itself."""
    leaves = set(domain.leaves or ())
    return (lambda text: [ITSELF] if text in leaves else []) if leaves else _itself


def _with_star(lookup: Lookup, domain: Meaning | None) -> Lookup:
    star = [domain or Meaning(1)]
    return lambda text: star if text == TOP else lookup(text)


def _domain(c: BoundColumn, values: Values) -> Meaning | None:
    """The declared domain: two whole numbers or days are its ends, otherwise all is listed.

    Raises:
        _Wrong: it does not fit the column.
    """
    domain = c.spec.domain
    if not isinstance(domain, tuple):
        return None
    fitting = values.fitting(domain)
    if len(fitting) < len(domain):
        unfit = len(domain) - len(fitting)
        raise _Wrong(
            f"{unfit} values of its domain are none of type {c.column.shown_type}, or repeated",
            "as in `domain: [0, 120]` or `domain: [a, b, c]`",
        )
    ends = tuple(fitting.values())
    ranged = c.spec.hierarchy is None and values.measured
    if ranged and len(ends) == 2 and values.whole:
        if not values.between(*ends):
            raise _Wrong("its domain ends before it begins", "as in `domain: [0, 120]`")
        return Meaning(1, lower=ends[0], upper=ends[1])
    return Meaning(1, leaves=ends)


def _ends(
    values: Values, lower: Fraction | date | None, upper: Fraction | date | None
) -> Meaning | None:
    """What lies between declared limits, `upper` being past them.

    Raises:
        _Wrong: they are of another type, or nothing lies between them.
    """
    if lower is None and upper is None:
        return None
    found = interval_label.of_limits(lower, upper, values.column)
    if found is None:
        raise _Wrong(
            f"its limits do not fit its type {values.bound.column.shown_type}",
            "numbers for a column of numbers, dates for one of dates",
        )
    return Meaning(1, lower=found[0], upper=found[1])


def _cells(scale: intervals.Intervals, *, discrete: bool) -> Lookup:
    def lookup(text: str) -> Sequence[Meaning]:
        found = intervals.labelled(text, scale)
        if found is None:
            return [ITSELF]
        lower, upper = intervals.of_values(found[1], discrete=discrete)
        return [Meaning(found[0], lower=lower, upper=upper)]

    return lookup


def _buckets(calendar: dates.Calendar, *, timed: bool) -> Lookup:
    def lookup(text: str) -> Sequence[Meaning]:
        found = dates.labelled(text, calendar)
        if found is None:
            return [ITSELF]
        lower, upper = dates.of_values(found[1], timed=timed)
        return [Meaning(found[0], lower=lower, upper=upper)]

    return lookup


def _intervals(values: Values, ends: Meaning | None) -> Lookup:
    def lookup(text: str) -> Sequence[Meaning]:
        interval = interval_label.read(text)
        if interval is None:
            return [ITSELF]
        found = interval_label.bounds(interval, values.column)
        if found is None:
            return []
        lower, upper = found
        if ends is not None:  # an end that a label leaves open is that of the domain
            lower, upper = lower or ends.lower, upper or ends.upper
        if not values.between(lower, upper):
            return []
        return [Meaning(1, lower=lower, upper=upper)]

    return lookup


def _prefixes(own: Lookup, domain: Meaning | None, lengths: Sequence[int]) -> Lookup:
    below: dict[str, list[str]] = defaultdict(list)
    for leaf in (domain.leaves or ()) if domain else ():
        for length in lengths:
            if len(leaf) > length:
                below[leaf[:length] + TOP * (len(leaf) - length)].append(leaf)

    def lookup(text: str) -> Sequence[Meaning]:
        stem = text.rstrip(TOP)
        if len(stem) == len(text) or len(stem) not in lengths:
            return own(text)
        level = lengths.index(len(stem)) + 1
        if domain is None:
            return [Meaning(level, stem=text)]
        return [Meaning(level, leaves=tuple(below[text]))] if text in below else []

    return lookup


def _labels(name: str) -> Lookup:
    """The labels of a hierarchy on the shelf; what has none of them is itself."""

    def lookup(text: str) -> Sequence[Meaning]:
        level = shelf.level_of(name, text)
        return [ITSELF if level is None else Meaning(level)]

    return lookup


def _tree(rows: Sequence[Sequence[str]]) -> Lookup:
    """The labels of a table of leaves, with the leaves below each; `label@level` where they mix."""
    held: dict[str, dict[tuple[str, ...], int]] = defaultdict(dict)
    at: dict[str, tuple[str, ...]] = {}
    levels = [list(labels) for labels in zip(*rows, strict=True)]
    leaves = levels[0]
    for level, labels in enumerate(levels):
        below: dict[str, list[str]] = defaultdict(list)
        for leaf, label in zip(leaves, labels, strict=True):
            below[label].append(leaf)
        for label, found in below.items():
            held[label].setdefault(tuple(found), level)
            at[f"{label}@{level}"] = tuple(found)
    held[TOP] = {tuple(leaves): max(len(levels) - 1, 1)}

    def lookup(text: str) -> Sequence[Meaning]:
        found = held.get(text)
        if found is None and text in at:
            found = {at[text]: int(text.rpartition("@")[2])}
        meant = (found or {}).items()
        return [Meaning(level, leaves=below) if level else ITSELF for below, level in meant]

    return lookup


def _listed(entries: Sequence[Entry], otherwise: Lookup) -> Lookup:
    """What the dictionary says; of labels that it does not explain, what the hierarchy says."""
    known: dict[str, list[Meaning]] = defaultdict(list)
    for entry in entries:
        if entry.value is not None and entry.meaning is not None:
            meaning = entry.meaning
            if not meaning.told and meaning.lower is None and meaning.upper is None:
                hierarchical = [m for m in otherwise(entry.value) if m.level]
                meaning = hierarchical[0] if len(hierarchical) == 1 else meaning
            if meaning not in known[entry.value]:
                known[entry.value].append(meaning)
    return lambda text: known.get(text, [])


@dataclass(frozen=True, slots=True)
class Entry:
    """One line of a dictionary; `meaning` is None where it cannot be understood."""

    value: str | None
    meaning: Meaning | None
