"""Populations that a release is compared with: found, held against the columns, and coded.

A population is only read. What is wrong with it is told of the first model that names it, in
numbers of rows and never by their cells.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dbdeid.bind.bound import Bound, BoundColumn
from dbdeid.bind.counted_there import PEOPLE, is_there
from dbdeid.bind.source import open_table, plain_values
from dbdeid.data.coding import Coding
from dbdeid.data.hierarchy import as_rows
from dbdeid.engine.expressions import (
    Expr,
    Query,
    Select,
    aliased,
    ascending,
    cast,
    coalesce,
    column,
    count_rows,
    count_where,
    dense_rank,
    function,
    is_null,
    literal,
    not_same_value,
    over,
    paren,
    select,
    sum_of,
    try_cast,
)
from dbdeid.engine.failure import EngineError
from dbdeid.engine.reading import tables_in
from dbdeid.engine.relation import NUMBERS, Column
from dbdeid.engine.session import Session, Step
from dbdeid.errors import DataError, HierarchyError, Mistake, SpecError
from dbdeid.prepare.hierarchies import coding_of
from dbdeid.prepare.population_rule import Population, labels_of
from dbdeid.prepare.quasi_identifier import QuasiIdentifier
from dbdeid.privacy import DeltaPresence, KMap, MaxRisk, PopulationModel, population_of
from dbdeid.spec.file import SpecFile
from dbdeid.spec.names import dictionary_name, frontier_of

MOST_PEOPLE = 1 << 53  # their number is exact in floating point
CELLS = "deid_population_cells"


@dataclass(frozen=True, slots=True)
class PopulationTable:
    """A population that fits the quasi-identifiers.

    Attributes:
        name: as the spec names it.
        models: those that look at it.
        query: its rows: c0, c1, … are the quasi-identifiers as they are released at level 0, in
            order of the source, and `people` is how many a row stands for.
    """

    name: str
    models: tuple[PopulationModel, ...]
    query: Select


@dataclass(frozen=True, slots=True)
class CodedPopulation:
    """A population as the search takes it, with the coding of each quasi-identifier."""

    found: PopulationTable
    population: Population
    codings: tuple[Coding, ...]


def population_tables(bound: Bound, session: Session) -> tuple[PopulationTable, ...]:
    """The populations of a bound spec, each once, after a look at their rows.

    Raises:
        SpecError: one is not there, or does not fit the quasi-identifiers.
    """
    mistakes: list[Mistake] = []
    described = list(_described(bound, session, mistakes))
    for one in described:
        mistakes.extend(_row_mistakes(bound, session, one))
    if mistakes:
        raise SpecError(mistakes, source=bound.file.label)
    return tuple(_found(bound, one) for one in described)


def steps(bound: Bound, session: Session) -> tuple[Step, ...]:
    """How the populations are read, for show: only names and types of columns are looked at.

    Raises:
        SpecError: a population is not there, or lacks a column.
    """
    mistakes: list[Mistake] = []
    described = list(_described(bound, session, mistakes))
    if mistakes:
        raise SpecError(mistakes, source=bound.file.label)
    names = _names(bound.quasi_identifiers)
    return tuple(Step(CELLS, _cells(_found(bound, one).query, names)) for one in described)


def by_name(populations: Iterable[PopulationTable]) -> Mapping[str, Query]:
    """The populations as the verifier takes them."""
    return {population.name: population.query for population in populations}


@dataclass(frozen=True, slots=True)
class _Place:
    """Where a population is named: by which keys of the spec."""

    file: SpecFile
    keys: tuple[str | int, ...]
    name: str

    def mistake(self, message: str, hint: str) -> Mistake:
        return self.file.mistake(f"population {self.name!r} {message}", *self.keys, hint=hint)


@dataclass(frozen=True, slots=True)
class _Described:
    """A population whose columns fit: where it is named, its rows and their columns."""

    place: _Place
    rows: Query
    columns: tuple[Column, ...]


def _described(bound: Bound, session: Session, mistakes: list[Mistake]) -> Iterator[_Described]:
    """The populations whose columns fit; what is wrong with others is added to `mistakes`."""
    named: dict[str, tuple[str | int, ...]] = {}
    people = bound.spec.method.people
    if people is not None:
        named[people] = ("method", "population")
    for number, model in enumerate(bound.models):
        name = population_of(model)
        if name is not None:
            named.setdefault(name, ("privacy", number, "population"))
    for name, keys in named.items():
        place = _Place(bound.file, keys, name)
        try:
            rows = _rows(bound, session, place)
            columns = session.describe(rows)
        except (DataError, EngineError) as error:
            mistakes.append(place.mistake(f"cannot be read: {error.message}", error.hint))
            continue
        wrong = [*_table_mistakes(bound, place, rows), *_column_mistakes(bound, place, columns)]
        mistakes += wrong
        if not wrong:
            yield _Described(place, rows, columns)


def _rows(bound: Bound, session: Session, place: _Place) -> Query:
    if is_there(bound, place.name):
        assert bound.counts is not None
        return bound.counts.population(place.name)
    return open_table(bound.file, session, place.name, *place.keys).query


def _found(bound: Bound, one: _Described) -> PopulationTable:
    name = one.place.name
    models = tuple(
        model
        for model in bound.models
        if isinstance(model, DeltaPresence | KMap | MaxRisk) and population_of(model) == name
    )
    return PopulationTable(name, models, _as_released(bound, one.rows, one.columns))


def _table_mistakes(bound: Bound, place: _Place, rows: Query) -> Iterator[Mistake]:
    release = bound.spec.release
    names = (release, dictionary_name(release), *frontier_of(bound.spec))
    replaced = {name.lower() for name in names}
    tables = {table.name.lower() for table in tables_in(rows)}
    if bound.spec.target is None and tables & replaced:
        yield place.mistake("is what the release would replace", "choose another release name")


def _by_name(columns: Sequence[Column]) -> dict[str, Column]:
    return {c.name.lower(): c for c in columns}


def _column_mistakes(bound: Bound, place: _Place, columns: Sequence[Column]) -> Iterator[Mistake]:
    known = _by_name(columns)
    missing = [c.name for c in bound.quasi_identifiers if c.name.lower() not in known]
    if missing:
        names = ", ".join(map(repr, missing))
        hint = f"name its columns like the quasi-identifiers; it has {_listed(columns)}"
        yield place.mistake(f"has no column {names}", hint)
    for q in bound.quasi_identifiers:
        other = known.get(q.name.lower())
        if other is not None and not _alike(q.column, other):
            yield place.mistake(
                f"has column {other.name!r} as {other.shown_type}, and the source as "
                f"{q.column.shown_type}",
                "give both the same type; in a CSV file digits are read as numbers",
            )
    people = _people(bound, columns)
    if people is not None and people.family != "integer":
        yield place.mistake(
            f"has {people.name!r} as {people.shown_type}",
            "a whole number of people, as in 12; without the column each row is one",
        )


def _listed(columns: Sequence[Column], most: int = 40) -> str:
    names = [repr(c.name) for c in columns]
    return ", ".join(names[:most]) + (", …" if len(names) > most else "")


def _people(bound: Bound, columns: Sequence[Column]) -> Column | None:
    """The column of the number of people; a quasi-identifier of that name is none."""
    if any(c.name.lower() == PEOPLE for c in bound.quasi_identifiers):
        return None
    return _by_name(columns).get(PEOPLE)


def _alike(column: Column, other: Column) -> bool:
    """Whether values of two columns can be the same."""
    if "other" in (column.family, other.family):
        return column.type == other.type
    return _kind(column) == _kind(other)


def _kind(column: Column) -> str:
    if column.family in NUMBERS:
        return "number"
    return "text" if column.family == "enum" else column.family


def _row_mistakes(bound: Bound, session: Session, one: _Described) -> Iterator[Mistake]:
    """What the rows do not allow, counted in one query."""
    place, rows, columns = one.place, one.rows, one.columns
    people = _people(bound, columns)
    counted = column(people.name) if people else literal(1)
    total = coalesce(sum_of(counted), literal(0))
    unknown = count_where(is_null(counted))
    below = count_where(counted.copy() < literal(0))
    unfit = [count_where(_unfit(c, other)) for c, other in _pairs(bound.quasi_identifiers, columns)]
    query = select(count_rows(), total, unknown, below, *unfit)
    plain = plain_values(rows, [other for _, other in _pairs(bound.quasi_identifiers, columns)])
    try:
        number, sum_, nulls, negative, *odd = session.row(query.from_(plain.subquery("found")))
    except EngineError as error:
        yield place.mistake(f"cannot be read: {error.message}", error.hint)
        return
    each = "every row stands for a whole number of people, at least 0"
    if nulls:
        yield place.mistake(f"has NULL as 'people' in {nulls} of {number} rows", each)
    if negative:
        yield place.mistake(f"has fewer than 0 people in {negative} of {number} rows", each)
    elif not sum_:
        yield place.mistake("is empty", "nobody fits a class of the release")
    elif sum_ > MOST_PEOPLE:
        yield place.mistake("has more people than can be counted", f"at most {MOST_PEOPLE:,}")
    for c, count in zip(bound.quasi_identifiers, odd, strict=True):
        if count:
            yield place.mistake(
                f"has {count} values of {c.name!r} that are none of type {c.column.shown_type}",
                "round them, or give the source the wider type",
            )


def _pairs(
    quasi_identifiers: Sequence[BoundColumn], columns: Sequence[Column]
) -> list[tuple[BoundColumn, Column]]:
    known = _by_name(columns)
    return [(q, known[q.name.lower()]) for q in quasi_identifiers]


def _typed(quasi_identifier: BoundColumn, other: Column) -> Expr:
    """A value of the population as one of the source; NULL where it is none."""
    value: Expr = column(other.name)
    if quasi_identifier.column.family in NUMBERS:
        kind = quasi_identifier.column.type
        return try_cast(value, kind)
    if other.family == "text":  # told apart byte by byte, whatever its collation
        encoded = function("encode", value)
        return function("decode", encoded)
    return value


def _unfit(quasi_identifier: BoundColumn, other: Column) -> Expr:
    """Whether a value changes when it becomes one of the source's type."""
    return not_same_value(_typed(quasi_identifier, other), column(other.name))


def _as_released(bound: Bound, rows: Query, columns: Sequence[Column]) -> Select:
    pairs = _pairs(bound.quasi_identifiers, columns)
    picked = [
        aliased(cast(_typed(q, other), q.released_type or "VARCHAR"), f"c{i}")
        for i, (q, other) in enumerate(pairs)
    ]
    people = _people(bound, columns)
    counted = column(people.name) if people else literal(1)
    plain = plain_values(rows, [other for _, other in pairs])
    number = aliased(cast(counted, "BIGINT"), PEOPLE)
    return select(*picked, number).from_(plain.subquery("population"))


# -- coding -------------------------------------------------------------------------------------


def coded_populations(
    bound: Bound,
    session: Session,
    populations: Sequence[PopulationTable],
    quasi_identifiers: Sequence[QuasiIdentifier],
) -> tuple[CodedPopulation, ...]:
    """The populations as the search takes them.

    Raises:
        HierarchyError: a hierarchy does not cover the values of a population.
    """
    return tuple(_coded(bound, session, p, quasi_identifiers) for p in populations)


def _coded(
    bound: Bound,
    session: Session,
    population: PopulationTable,
    quasi_identifiers: Sequence[QuasiIdentifier],
) -> CodedPopulation:
    names = _names(quasi_identifiers)
    cells = session.run(Step(CELLS, _cells(population.query, names)))
    try:
        codings = tuple(
            _coding(bound, session, population.name, c, _values(session, cells.table, name))
            for name, c in zip(names, bound.quasi_identifiers, strict=True)
        )
        codes = session.arrays(select(*map(_code, names), PEOPLE).from_(cells.table))
    finally:
        session.drop_temp(cells.name)
    labels = tuple(
        labels_of(q.coding, coding) for q, coding in zip(quasi_identifiers, codings, strict=True)
    )
    columns = tuple(np.asarray(codes[name], np.int64) for name in names)
    people = np.asarray(codes[PEOPLE], np.int64)
    searched = Population(population.name, population.models, labels, columns, people)
    return CodedPopulation(population, searched, codings)


def _names(quasi_identifiers: Sequence[object]) -> list[str]:
    """What the quasi-identifiers are called here."""
    return [f"c{i}" for i in range(len(quasi_identifiers))]


def _cells(rows: Select, names: Sequence[str]) -> Select:
    """The distinct tuples that have people."""
    total = sum_of(column(PEOPLE))
    return (
        select(*map(column, names), aliased(cast(total, "BIGINT"), PEOPLE))
        .from_(rows.subquery("rows"))
        .group_by(*map(column, names))
        .having(total.copy() > literal(0))
    )


def _code(name: str) -> Expr:
    """The place of a value among those of its column, NULL last."""
    order = [ascending(column(name))]
    number = paren(over(dense_rank(), order=order))
    return aliased(number - 1, name)


def _values(session: Session, cells: Expr, name: str) -> list[str | None]:
    distinct = select(column(name)).distinct().from_(cells).subquery("found")
    order = ascending(column(name))
    text = cast(column(name), "VARCHAR")
    return [row[0] for row in session.rows(select(text).from_(distinct).order_by(order))]


def _coding(
    bound: Bound, session: Session, name: str, column: BoundColumn, values: list[str | None]
) -> Coding:
    try:
        return coding_of(bound, session, column, values)
    except HierarchyError as error:
        raise HierarchyError(
            f"population {name!r}: {error.message}", hint=error.hint, examples=error.examples
        ) from None


def with_others(
    rows: dict[str, NDArray[np.object_]], codings: Sequence[Coding]
) -> dict[str, NDArray[np.object_]]:
    """A hierarchy in long form with the values that only populations have.

    A label weighs what it weighs among the values of the source, where it is known there.
    """
    for coding in codings:
        known = set(rows["value"])
        more = as_rows(coding.hierarchy, with_null=coding.null is not None)
        own = np.array([value not in known for value in more["value"]], np.bool_)
        if not own.any():
            continue
        more = {key: cells[own] for key, cells in more.items()}
        weighed = dict(zip(_cells_of(rows), rows["loss"], strict=True))
        losses = zip(_cells_of(more), more["loss"], strict=True)
        more["loss"] = np.array([weighed.get(*cell) for cell in losses], np.object_)
        rows = {key: np.concatenate([cells, more[key]]) for key, cells in rows.items()}
    return rows


def _cells_of(rows: Mapping[str, NDArray[np.object_]]) -> Iterable[tuple[object, object]]:
    return zip(rows["level"], rows["label"], strict=True)
