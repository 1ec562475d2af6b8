"""Small random tables with a release of them, for judging answers by brute force.

Everything follows from one `random.Random`. What a released value stands for is kept here as it was
drawn (`Meaning`), so that a judge need not read it from the dictionary.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime, timedelta
from decimal import Decimal
from random import Random
from typing import Any

from dbdeid.engine.duckdb.session import Session
from dbdeid.engine.relation import Column, Relation
from dbdeid.query.parse.answerable import Answerable

FIRST_DAY = date(2023, 12, 29)
FIRST_MOMENT = datetime(2023, 12, 30)
LAST_CONTINUOUS = 8  # half units: doubles and decimals lie in [0, 4), moments in four days
CONTINUOUS = ("DOUBLE", "DECIMAL(6,2)", "TIMESTAMP")
WEIGHT = "real"


@dataclass(frozen=True)
class Meaning:
    """What one released value of a generalized column stands for.

    Attributes:
        leaves: its values, equally likely, where they are single values.
        interval: [low, high) in quarters of a unit (a day for moments), where they are not.
        open: -1 or 1 where it goes on below or above without a bound that is told, as `< 5` does.
        nullable: whether it may also stand for NULL.
        told: whether the dictionary tells it.
    """

    leaves: tuple[Any, ...] = ()
    interval: tuple[int, int] | None = None
    open: int = 0
    nullable: bool = False
    told: bool = True


@dataclass(frozen=True)
class Attribute:
    """A column of the source.

    Attributes:
        name: as in the source.
        type: its DuckDB type there.
        domain: its values; for continuous types those that occur, every quarter of a unit.
        meanings: what its released values stand for; None where the release holds the value.
        released_type: its type in the release.
        quasi_identifier: whether it is one; those may also be released as they are.
    """

    name: str
    type: str
    domain: tuple[Any, ...]
    meanings: dict[str, Meaning] | None
    released_type: str
    quasi_identifier: bool

    @property
    def continuous(self) -> bool:
        """Whether its released values may be intervals without single values."""
        return self.type in CONTINUOUS


@dataclass(frozen=True)
class OrdinaryTable:
    """A table that may be joined, its columns with types, its rows, and the columns of its key."""

    name: str
    columns: dict[str, str]
    rows: tuple[tuple[Any, ...], ...]
    key: tuple[str, ...]


@dataclass(frozen=True)
class RandomRelease:
    """A source with its release.

    Attributes:
        attributes: the columns of the source, in order.
        source: its records.
        released: the released records; they hide what they were made from, real or not.
        chances: the probability that a released record is real; None: all are.
        dictionary: rows (column, released_value, level, lower, upper, leaves).
        tables: what may be joined.
        truthful: whether released records are generalized records of the source.
    """

    attributes: tuple[Attribute, ...]
    source: tuple[tuple[Any, ...], ...]
    released: tuple[tuple[Any, ...], ...]
    chances: tuple[float, ...] | None
    dictionary: tuple[tuple[Any, ...], ...]
    tables: tuple[OrdinaryTable, ...]
    truthful: bool = True

    def find(self, name: str) -> Attribute:
        """The attribute of that name."""
        return next(a for a in self.attributes if a.name == name)

    def write(self, session: Session) -> Answerable:
        """Write release, dictionary and tables, and describe them for queries."""
        columns = {a.name: a.released_type for a in self.attributes}
        rows = self.released
        if self.chances is not None:
            columns[WEIGHT] = "DOUBLE"
            rows = tuple((*r, c) for r, c in zip(rows, self.chances, strict=True))
        write_table(session, "release", columns, rows)
        write_table(session, "release_dictionary", DICTIONARY, self.dictionary)
        for table in self.tables:
            write_table(session, table.name, table.columns, table.rows)
        return Answerable(
            source_names=("people", "main.people"),
            columns=tuple(Column(a.name, a.type) for a in self.attributes),
            quasi_identifiers=tuple(a.name for a in self.attributes if a.quasi_identifier),
            release=_relation("release", columns),
            dictionary=_relation("release_dictionary", DICTIONARY) if self.truthful else None,
            weight=None if self.chances is None else WEIGHT,
            truthful=self.truthful,
            tables=tuple(_relation(t.name, t.columns) for t in self.tables),
        )


DICTIONARY = {
    "column": "VARCHAR",
    "released_value": "VARCHAR",
    "level": "INTEGER",
    "lower": "VARCHAR",
    "upper": "VARCHAR",
    "leaves": "VARCHAR[]",
}


def write_table(
    session: Session, name: str, columns: dict[str, str], rows: Sequence[Sequence[Any]]
) -> None:
    """Write a table anew."""
    shape = ", ".join(f'"{column}" {kind}' for column, kind in columns.items())
    session.execute(f'CREATE OR REPLACE TABLE "{name}" ({shape})')
    if rows:
        marks = ", ".join([f"({', '.join('?' * len(columns))})"] * len(rows))
        session.execute_with(f'INSERT INTO "{name}" VALUES {marks}', [c for r in rows for c in r])


def _relation(name: str, columns: dict[str, str]) -> Relation:
    return Relation(name, tuple(Column(c, kind) for c, kind in columns.items()))


# -- values ------------------------------------------------------------------------------------

QUARTER_DAY = timedelta(hours=6)


def at(kind: str, quarters: float) -> Any:
    """The value of a continuous type that lies so many quarters of a unit from its origin."""
    if kind == "TIMESTAMP":
        return FIRST_MOMENT + quarters * QUARTER_DAY
    return quarters / 4 if kind == "DOUBLE" else Decimal(quarters) / 4


def shown(value: Any) -> str:
    """A value as a release and its dictionary write it."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, Decimal):
        return f"{value:.2f}"
    return str(value)


def _domain(kind: str, random: Random) -> tuple[Any, ...]:
    if kind in ("INTEGER", "BIGINT", "SMALLINT"):
        start = random.choice([0, 0, 18, -4])
        return tuple(range(start, start + random.choice([4, 10])))
    if kind == "DATE":
        return tuple(FIRST_DAY + timedelta(days=i) for i in range(random.choice([4, 8])))
    if kind == "VARCHAR":
        words = ["Sales", "Tech", "Arts", "sales", "", "Té_h%"]
        return tuple(words[: random.randint(2, 6)])
    if kind == "BOOLEAN":
        return (False, True)
    if kind.startswith("ENUM"):
        return ("small", "medium", "large")
    return tuple(at(kind, i) for i in range(2 * LAST_CONTINUOUS))


# -- released values ---------------------------------------------------------------------------


@dataclass(frozen=True)
class _Label:
    """A released value: its text, its row of the dictionary, what it stands for, what it covers."""

    text: str
    row: tuple[Any, ...]
    meaning: Meaning
    covers: frozenset[Any]


class _Recoding:
    """The released values of one column: by levels for all records, or mixed."""

    def __init__(self, name: str, kind: str, domain: tuple[Any, ...], random: Random) -> None:
        self.name, self.kind, self.domain, self.random = name, kind, domain, random
        self.listing = random.choice(["bounds", "leaves", "both"])
        self.levelled = random.random() < 0.2
        self.labels: dict[str, _Label] = {}

    def full_domain(self) -> list[_Label]:
        """All values on one level: parts that do not overlap."""
        width = self.random.choice([1, 2, 3, 5])
        if width == 1:
            return [self.single(value) for value in self.domain]
        steps = range(0, len(self.domain), width)
        return [self.group(self._run(start, start + width), 1) for start in steps]

    def mixed(self) -> list[_Label]:
        """Values of several levels, whose parts may overlap."""
        found = [self.single(v) for v in self.domain if self.random.random() < 0.3]
        for _ in range(self.random.randint(1, 4)):
            found.append(self.group(self._some(), self.random.randint(1, 2)))
        return found

    def _run(self, start: int, stop: int) -> tuple[Any, ...]:
        return self.domain[start:stop]

    def _some(self) -> tuple[Any, ...]:
        if self.ordered or self.random.random() < 0.5:
            start = self.random.randrange(len(self.domain))
            return self._run(start, start + self.random.randint(1, 5))
        count = self.random.randint(1, len(self.domain))
        return tuple(self.random.sample(self.domain, count))

    @property
    def ordered(self) -> bool:
        """Whether groups are intervals, so that bounds may tell them."""
        return not self.kind.startswith(("VARCHAR", "BOOLEAN", "ENUM")) and self.listing != "leaves"

    def single(self, value: Any) -> _Label:
        """A value of level 0; where levels mix, its label may tell the level."""
        text = shown(value)
        if self.levelled:
            text, leaves = f"{text}@0", [text]
        else:
            leaves = [text] if self.random.random() < 0.2 else None
        row = (self.name, text, 0, None, None, leaves)
        return self._new(_Label(text, row, Meaning((value,)), frozenset([value])))

    def group(self, values: tuple[Any, ...], level: int) -> _Label:
        """A part of the domain, told by its leaves or by its bounds."""
        lower, upper, interval = None, None, None
        if self.ordered:
            lower, upper = shown(values[0]), shown(values[-1])
            if self.kind in CONTINUOUS:
                low = self.domain.index(values[0])
                interval = (low, low + len(values))
                upper = shown(at(self.kind, interval[1]))
            text = f"[{lower}, {upper})"
        else:
            text = f"{self.name} {'|'.join(map(shown, values))}"
        bounded = self.ordered and (self.kind in CONTINUOUS or self.listing == "bounds")
        end = 0
        if bounded and level < 3 and self.random.random() < 0.4:
            end = (values[-1] == self.domain[-1]) - (values[0] == self.domain[0])
            text = {-1: f"to {upper}", 1: f"from {lower}"}.get(end, text)
            lower, upper = (None if end < 0 else lower), (None if end > 0 else upper)
        leaves = None if bounded else [shown(v) for v in values]
        meaning = Meaning(values, None, end) if interval is None else Meaning((), interval, end)
        row = (self.name, f"{text}@{level}" if self.levelled else text, level, lower, upper, leaves)
        return self._new(_Label(row[1], row, meaning, frozenset(values)))

    def top(self) -> _Label:
        """`*`: the whole domain, or what the dictionary does not tell."""
        before = dict(self.labels)
        whole = self.group(self.domain, 3)
        self.labels = before
        row = (self.name, "*", 3, *whole.row[3:])
        told = self.random.random() > 0.03
        if not told:
            row = (self.name, "*", 3, None, None, self.random.choice([None, []]))
        meaning = replace(whole.meaning, nullable=True, told=told)
        return self._new(_Label("*", row, meaning, frozenset([*self.domain, None])))

    def _new(self, label: _Label) -> _Label:
        return self.labels.setdefault(label.text, label)


def _released_column(
    name: str,
    kind: str,
    domain: tuple[Any, ...],
    values: Sequence[Any],
    random: Random,
    truthful: bool,
) -> tuple[Attribute, list[Any], list[tuple[Any, ...]]]:
    """An attribute, its released values, and its rows of the dictionary."""
    text = kind == "VARCHAR" or kind.startswith("ENUM")  # no release holds an ENUM
    if not truthful or random.random() < 0.25:
        released = "VARCHAR" if text else kind
        return Attribute(name, kind, domain, None, released, False), list(values), []
    if random.random() < 0.05 and not text:
        return Attribute(name, kind, domain, None, kind, True), list(values), []
    recoding = _Recoding(name, kind, domain, random)
    labels = recoding.full_domain() if random.random() < 0.4 else recoding.mixed()
    top = recoding.top() if random.random() < 0.5 else None
    cells: list[Any] = []
    for value in values:
        if value is None:
            cells.append("*" if top and random.random() < 0.5 else None)
            continue
        fitting = [label for label in labels if value in label.covers]
        fitting += [top] if top and random.random() < 0.4 else []
        cells.append((random.choice(fitting) if fitting else recoding.single(value)).text)
    occurring = dict.fromkeys(cell for cell in cells if cell is not None)
    used = {text: recoding.labels[text] for text in occurring}
    rows = [label.row for label in used.values()]
    if None in cells and random.random() < 0.3:
        rows.append((name, None, 0, None, None, None))
    meanings = {text: label.meaning for text, label in used.items()}
    return Attribute(name, kind, domain, meanings, "VARCHAR", True), cells, rows


# -- the whole ---------------------------------------------------------------------------------

KINDS = {
    "age": ("INTEGER", "BIGINT", "SMALLINT"),
    "hours": ("INTEGER",),
    "day": ("DATE",),
    "price": ("DECIMAL(6,2)",),
    "bmi": ("DOUBLE",),
    "seen": ("TIMESTAMP",),
    "job": ("VARCHAR",),
    "site": ("VARCHAR",),
    "ok": ("BOOLEAN",),
    "size": ("ENUM('small', 'medium', 'large')",),
}


def random_release(random: Random) -> RandomRelease:
    """A source of 0 to 12 records in 3 to 6 columns, its release, and tables to join."""
    drawn_names = random.sample(list(KINDS), random.randint(3, 6))
    names = [name for name in KINDS if name in drawn_names]
    kinds = {name: random.choice(KINDS[name]) for name in names}
    domains = {name: _domain(kinds[name], random) for name in names}
    count = random.choice([*range(1, 13), *range(1, 5), 0])
    empty = random.choice([0.0, 0.1, 0.3])
    drawn = [
        tuple(None if random.random() < empty else random.choice(domains[n]) for n in names)
        for _ in range(count)
    ]
    if count > 3 and random.random() < 0.3:  # equal records
        drawn[1] = drawn[2] = drawn[0]
    chances: tuple[float, ...] | None = None
    source = drawn
    if random.random() < 0.2:
        chances = tuple(random.choice([1.0, 1.0, 1.0, 0.25, 2 / 3, 0.5, 0.0]) for _ in drawn)
        source = [r for r, c in zip(drawn, chances, strict=True) if random.random() < c]
    truthful = chances is not None or random.random() > 0.05
    columns = [
        _released_column(n, kinds[n], domains[n], [row[i] for row in drawn], random, truthful)
        for i, n in enumerate(names)
    ]
    attributes = tuple(column[0] for column in columns)
    released = tuple(tuple(column[1][i] for column in columns) for i in range(count))
    dictionary = tuple(row for column in columns for row in column[2])
    tables = _tables(attributes, random)
    return RandomRelease(attributes, tuple(source), released, chances, dictionary, tables, truthful)


def _tables(attributes: Sequence[Attribute], random: Random) -> tuple[OrdinaryTable, ...]:
    """Tables with one or two columns of the source as their key, and two of their own."""
    joinable = [a for a in attributes if a.type not in CONTINUOUS]
    found = []
    for name in ("sites", "rates"):
        if not joinable:
            break
        over = random.sample(joinable, min(len(joinable), random.choice([1] * 7 + [2])))
        keys = {
            tuple(random.choice([*a.domain, None]) for a in over)
            for _ in range(random.randint(0, 8))
        }
        rows = tuple(
            (*key, random.choice([None, *range(5)]), random.choice(["north", "south", None]))
            for key in sorted(keys, key=repr)
        )
        key_names = tuple(a.name if random.random() < 0.6 else f"{a.name}_code" for a in over)
        columns = dict(zip(key_names, (a.type for a in over), strict=True))
        own = {f"{name}_beds": "INTEGER", f"{name}_region": "VARCHAR"}
        found.append(OrdinaryTable(name, {**columns, **own}, rows, key_names))
    return tuple(found)
