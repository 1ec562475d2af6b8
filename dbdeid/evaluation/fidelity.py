"""How like its source a release is, whatever made it: distributions, associations, models.

All of it is measured on what a reader sees: a generalized value is spread evenly over what it
stands for, and a record that may be counterfeit counts as much as it is believed to be real.
Removed records are simply missing. Where the dictionary does not say what a value stands for, the
private hierarchies of the run do.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np

from dbdeid.analyses.value_meanings import generalized, stands_for
from dbdeid.bind.bound import Bound
from dbdeid.engine.expressions import (
    Expr,
    Select,
    aliased,
    case,
    cast,
    column,
    function,
    literal,
    null,
    select,
    try_cast,
    union_all,
)
from dbdeid.engine.relation import MEASURED, Column, Relation
from dbdeid.engine.session import Session, Step
from dbdeid.publish.tables import Public
from dbdeid.utility.common.counted import Rows, number_of, relation_of
from dbdeid.utility.fidelity.association import association
from dbdeid.utility.fidelity.classification import classification
from dbdeid.utility.fidelity.distribution import distribution
from dbdeid.utility.fidelity.levels import CodedSides, coded_sides
from dbdeid.utility.fidelity.propensity import propensity
from dbdeid.utility.fidelity.side_by_side import SideBySide, side_by_side
from dbdeid.utility.fidelity.sides import ColumnPair, Sides
from dbdeid.verify import Declared

_SOURCE, _RELEASED = "deid_compared_source", "deid_compared_release"
_AS_IT_IS, _COUNTS = "deid_compared_as_it_is", ("deid_counted_source", "deid_counted_release")
_PIECES, _RECORDS = "deid_compared_pieces", "records"
# Of more columns the change of each pair is not told.
MOST_PAIRED = 15
# Families whose values are steps apart, and those whose values need not be.
_WHOLE, _BROKEN = ("integer", "date"), ("decimal", "float", "timestamp")


@dataclass(frozen=True)
class BothSides:
    """A release and its source, as they are compared.

    Attributes:
        session: where they are.
        sides: their columns, counted.
        sensitive: the sensitive columns.
        records: stages the records of both, values as they are compared.
    """

    session: Session
    sides: Sides
    sensitive: tuple[str, ...]
    records: Callable[[], None]

    @cached_property
    def levels(self) -> CodedSides:
        """The records of both by a few levels a column."""
        self.records()
        return coded_sides(self.session, self.sides)


@dataclass(frozen=True, slots=True)
class Fidelity:
    """How like its source a release is.

    Attributes:
        metrics: those of `COMPARED` that were asked for, by name.
        distributions: each column before and after, where its distance was asked for.
    """

    metrics: Mapping[str, float]
    distributions: tuple[SideBySide, ...]


def fidelity(
    bound: Bound,
    session: Session,
    public: Public,
    hierarchies: Relation | None,
    declared: Declared,
    asked: Collection[str],
    known: Known | None = None,
) -> Fidelity:
    """How like its source a release is; private.

    Args:
        bound: the spec.
        session: where the release is.
        public: the release.
        hierarchies: private, what labels stand for; None where values stand for themselves.
        declared: what the release promises.
        asked: names of metrics.
        known: what of both sides was counted or staged before.

    Raises:
        Untold: a released value has two meanings.
    """
    if COMPARED.keys().isdisjoint(asked):
        return Fidelity({}, ())
    padding = declared.padding
    table, weight = public.answering(session, padding.sensitive if padding else None)
    columns = _columns(bound, session, table, public.dictionary)
    released = _Released(table, column(weight, _RECORDS) if weight else None)
    pieces = _pieces(session, columns, public.dictionary, hierarchies)
    sides = _counted(bound, session, released, columns, pieces, known)
    both = BothSides(
        session,
        sides,
        bound.names("sensitive"),
        lambda: _staged(bound, session, released, columns),
    )
    found: dict[str, float] = {}
    for name, compare in COMPARED.items():
        if name in asked:
            found |= compare(both)
    drawn: list[SideBySide] = []
    if "distribution" in asked:
        # what is drawn is kept in the book, which holds no sensitive cell
        families = {c.name: c.column.family for c in bound.released if c.name not in both.sensitive}
        drawn = side_by_side(session, sides, families)
    for name in (_AS_IT_IS, _SOURCE, _RELEASED, *_COUNTS, _PIECES):
        session.drop_temp(name)
    return Fidelity(found, tuple(drawn))


def _distribution(both: BothSides) -> Mapping[str, float]:
    distances = distribution(both.session, both.sides)
    whole = sum(distances.values()) / len(distances)
    return {"distribution": whole} | {f"distribution.{n}": d for n, d in distances.items()}


def _association(both: BothSides) -> Mapping[str, float]:
    changes = association(both.levels)
    if not changes:
        return {}
    found = {"association": float(np.mean([*changes.values()]))}
    if len(both.sides.columns) <= MOST_PAIRED:
        found |= {f"association.{a}.{b}": change for (a, b), change in changes.items()}
    return found


def _propensity(both: BothSides) -> Mapping[str, float]:
    told = propensity(both.levels)
    return {} if told is None else {"propensity": told.share, "propensity.ratio": told.ratio}


def _classification(both: BothSides) -> Mapping[str, float]:
    """Of the sensitive columns; without any, of all that are categories."""
    categories = [c.name for c in both.sides.columns if not c.measured]
    learned = classification(both.levels, [*both.sensitive] or categories)
    found: dict[str, float] = {}
    if learned:
        found["classification"] = float(np.mean([one.lost for one in learned.values()]))
    for name, one in learned.items():
        for side in ("release", "source", "baseline"):
            figures = getattr(one, side)
            found[f"classification.{name}.{side}"] = figures.balanced
            found[f"classification.{name}.{side}.accuracy"] = figures.accuracy
    return found


# The metrics of every release, whatever made it.
COMPARED: dict[str, Callable[[BothSides], Mapping[str, float]]] = {
    "distribution": _distribution,
    "association": _association,
    "propensity": _propensity,
    "classification": _classification,
}


@dataclass(frozen=True, slots=True)
class _Column:
    """A released column: as the source has it, as the release shows it, and how both compare."""

    source: Column
    shown: Column
    compared: ColumnPair

    @property
    def shows_numbers(self) -> bool:
        """Whether the release shows numbers, or what can be read as such."""
        return self.compared.measured and not self.compared.labelled

    @property
    def before(self) -> Expr:
        """A cell of the source."""
        cell = column(self.source.name, "records")
        return _number(cell, self.source.family) if self.compared.measured else _text(cell)

    @property
    def after(self) -> Expr:
        """A cell of the release."""
        cell = column(self.source.name, "records")
        if not self.shows_numbers:
            return _text(cell)
        if self.shown.family in MEASURED:
            return _number(cell, self.shown.family)
        return _read(cell, self.source.family)


class Known(Protocol):
    """Columns of a release and its source that were counted or staged before."""

    def before(self, c: Column) -> Rows | None:
        """Rows that hold a column of the source, each for as many records as they say."""

    def after(self, name: str) -> Rows | None:
        """The same of a column of the release."""


@dataclass(frozen=True, slots=True)
class _Released:
    """The release as a reader sees it: its table, and how much a record counts, if not one."""

    table: Relation
    weight: Expr | None


def _columns(
    bound: Bound, session: Session, table: Relation, dictionary: Relation | None
) -> list[_Column]:
    """The columns that are compared; pseudonyms are not."""
    shown = {c.name.lower(): c for c in session.describe(table.table)}
    labelled = generalized(session, dictionary)
    columns = []
    for number, c in enumerate(c for c in bound.released if not c.spec.pseudonym):
        released = shown[c.name.lower()]
        measured = c.spec.type is None and c.column.family in MEASURED
        whole = measured and c.column.family in _WHOLE and released.family not in _BROKEN
        compared = ColumnPair(c.name, number, measured, whole, c.name in labelled)
        columns.append(_Column(c.column, released, compared))
    return columns


def _counted(
    bound: Bound,
    session: Session,
    released: _Released,
    columns: Sequence[_Column],
    pieces: Relation,
    known: Known | None,
) -> Sides:
    """Both sides by how often each value of a column is there: the source is read once."""
    sources: dict[str, Rows] = {}
    shows: dict[str, Rows] = {}
    if known is not None:
        sources = {c.source.name: of for c in columns if (of := known.before(c.source)) is not None}
        shows = {n: of for n in sources if (of := known.after(n)) is not None}
    if rest := [c for c in columns if c.source.name not in sources]:
        staged = _as_it_is(bound, session, rest)
        sources |= {c.source.name: staged for c in rest}
    if released.weight is not None:
        shows = {}  # which differs within classes
    before = [_count(sources[c.source.name], c, c.before, c.compared.measured) for c in columns]
    after = [
        _count(
            shows.get(c.source.name, released.table), c, c.after, c.shows_numbers, released.weight
        )
        for c in columns
    ]
    first, second = _COUNTS
    counted = session.run(Step(first, union_all(*before)))
    shown = session.run(Step(second, union_all(*after)))
    compared = tuple(c.compared for c in columns)
    sides = [Relation(name, schema="main", catalog="temp") for name in (_SOURCE, _RELEASED)]
    return Sides(sides[0], sides[1], compared, pieces, (counted, shown))


def _as_it_is(bound: Bound, session: Session, columns: Sequence[_Column]) -> Relation:
    """Columns of the source, in a temporary table."""
    cells = (column(c.source.name, _RECORDS) for c in columns)
    query = select(*cells).from_(bound.source.subquery(_RECORDS))
    # of what was counted elsewhere no row is kept for each record
    return session.run(Step(_AS_IT_IS, query, stored=bound.counts is None))


def _count(
    table: Rows, of: _Column, cell: Expr, numbers: bool, weight: Expr | None = None
) -> Select:
    """How often each value of a column is in a table."""
    keys, mass = [cell], cast(number_of(table, _RECORDS), "DOUBLE")
    if weight is not None:
        keys.append(weight)
        mass = mass * cast(weight.copy(), "DOUBLE")
    none = cast(null(), "VARCHAR" if numbers else "DOUBLE")
    point, text = (cell, none) if numbers else (none, cell)
    query = select(
        aliased(literal(of.compared.number), "number"),
        aliased(point.copy(), "point"),
        aliased(text.copy(), "text"),
        aliased(mass, "mass"),
    )
    rows = relation_of(table).aliased(_RECORDS)
    return query.from_(rows).group_by(*(key.copy() for key in keys))


def _staged(
    bound: Bound, session: Session, released: _Released, columns: Sequence[_Column]
) -> None:
    """The records of both sides, one row each."""
    weight = released.weight if released.weight is not None else literal(1)
    source = select(*(aliased(c.before, c.compared.key) for c in columns))
    shown = select(*(aliased(c.after, c.compared.key) for c in columns))
    shown = shown.select(aliased(cast(weight.copy(), "DOUBLE"), "weight"))
    as_it_is = _as_it_is(bound, session, columns)
    stored = bound.counts is None
    session.run(Step(_SOURCE, source.from_(as_it_is.aliased(_RECORDS)), stored))
    session.run(Step(_RELEASED, shown.from_(released.table.aliased(_RECORDS)), stored))


def _pieces(
    session: Session,
    columns: Sequence[_Column],
    dictionary: Relation | None,
    hierarchies: Relation | None,
) -> Relation:
    """What the labels stand for. One of which nothing is known stands for a missing value."""
    rows: list[tuple[int, str | None, str | None, str | None, float]] = []
    of_numbers = []
    for c in columns:
        if dictionary is None or not c.compared.labelled:
            continue
        if c.compared.measured:
            of_numbers.append(c)
        for stands in stands_for(session, c.source, dictionary, hierarchies):
            ends: Sequence[tuple[str | None, str | None]] = [(x, x) for x in stands.leaves]
            if stands.bounds is not None:
                ends = [stands.bounds]
            share = 1 / max(len(ends), 1)
            number = c.compared.number
            rows += [(number, stands.value, *end, share) for end in ends or [(None, None)]]
    numbers, labels, lower, upper, shares = zip(*rows, strict=True) if rows else [()] * 5
    texts = {"number": np.array(numbers, np.int64), "label": labels, "lower": lower, "upper": upper}
    listed = session.upload(f"{_PIECES}_texts", {**texts, "share": np.array(shares, np.float64)})
    low: list[tuple[Expr, Expr]] = []
    high: list[tuple[Expr, Expr]] = []
    for c in of_numbers:
        own = column("number").eq(literal(c.compared.number))
        first, last = (_read(column(end), c.source.family) for end in ("lower", "upper"))
        # an interval of whole numbers or days ends with its last one
        past = last + 1 if c.source.family in _WHOLE else last
        low.append((own, first))
        high.append((own.copy(), past))
    none = cast(null(), "DOUBLE")
    bounds: dict[str, Expr] = {}
    if of_numbers:
        bounds = {"low": case(*low, otherwise=none), "high": case(*high, otherwise=none.copy())}
    leaf = aliased(column("lower"), "leaf")
    query = select("number", "label", "share", leaf).from_(listed.table)
    for name in ("low", "high"):
        query = query.select(aliased(bounds.get(name, none.copy()), name))
    pieces = session.run(Step(_PIECES, query))
    session.drop_temp(listed.name)
    return pieces


def _text(cell: Expr) -> Expr:
    return cast(cell, "VARCHAR")


def _read(text: Expr, family: str) -> Expr:
    """The number of a text; NULL where it is none."""
    kind = {"date": "DATE", "timestamp": "TIMESTAMP"}.get(family, "DOUBLE")
    return _number(try_cast(text, kind), family)


def _number(value: Expr, family: str) -> Expr:
    """A number as it is, the days of a date, the seconds of a moment; NULL unless finite."""
    number: Expr = cast(value, "DOUBLE")
    finite = number
    if family in ("date", "timestamp"):
        finite, number = value, function("epoch", value.copy())
    if family == "date":
        number = number / cast(literal(86_400), "DOUBLE")
    known = function("isfinite", finite.copy())
    return case((known, number))
