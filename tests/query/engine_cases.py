"""What is asked in DuckDB and in another engine, and how the answers are compared."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime
from decimal import Decimal
from random import Random
from typing import Any

from functions import COLUMNS, DATES, NUMBERS, ROWS, TEXTS
from random_questions import Questioner
from random_releases import DICTIONARY, WEIGHT, RandomRelease, random_release, write_table
from sqlglot import exp

from dbdeid.engine.duckdb.session import Session
from dbdeid.engine.relation import Column, Relation
from dbdeid.errors import DataError
from dbdeid.query.desk.answer import answering
from dbdeid.query.dialects.dialects import Dialect, transpiled
from dbdeid.query.parse.answerable import Answerable
from dbdeid.query.parse.reading import parse

Rows = list[tuple[Any, ...]]


@dataclass(frozen=True)
class Table:
    """A table of the database: columns with their DuckDB types, and rows."""

    name: str
    columns: dict[str, str]
    rows: Sequence[Sequence[Any]]


@dataclass(frozen=True)
class Asked:
    """A question, and its query in DuckDB and in the other engine."""

    text: str
    query: exp.Select
    written: str


@dataclass(frozen=True)
class Case:
    """Tables and what is asked of them."""

    tables: tuple[Table, ...]
    asked: tuple[Asked, ...]


def random_cases(
    session: Session, dialect: Dialect, seeds: Sequence[int], each: int
) -> Iterator[Case]:
    """Random releases, with random questions that they answer and the dialect can write."""
    for seed in seeds:
        random = Random(seed)
        release = random_release(random)
        target = release.write(session)
        asked: list[Asked] = []
        while len(asked) < each:
            drawn = replace(Questioner(release, random).query(), limit=None)
            text = drawn.text(release)
            try:
                query = answering(session, parse(text, target), target)
                asked.append(Asked(text, query, transpiled(query, dialect)))
            except DataError:
                continue
        yield Case(tuple(_tables(release)), tuple(asked))


def _tables(release: RandomRelease) -> Iterator[Table]:
    columns = {a.name: a.released_type for a in release.attributes}
    rows: Sequence[Sequence[Any]] = release.released
    if release.chances is not None:
        columns[WEIGHT] = "DOUBLE"
        rows = [(*row, c) for row, c in zip(rows, release.chances, strict=True)]
    yield Table("release", columns, rows)
    yield Table("release_dictionary", DICTIONARY, release.dictionary)
    for table in release.tables:
        yield Table(table.name, table.columns, table.rows)


def function_case(session: Session, dialect: Dialect) -> Case:
    """Every function as a key, of values that are hard for it."""
    table = Table("release", COLUMNS, ROWS)
    write_table(session, table.name, table.columns, table.rows)
    columns = tuple(Column(name, kind) for name, kind in COLUMNS.items())
    target = Answerable(("people",), columns, (), Relation("release", columns), None)
    asked = []
    for expressions in (NUMBERS, TEXTS, DATES):
        keys = ", ".join(f"{e} AS k{i}" for i, e in enumerate(expressions))
        text = f"SELECT id, {keys}, COUNT(*) AS n FROM people GROUP BY ALL ORDER BY id"
        query = answering(session, parse(text, target), target)
        asked.append(Asked(text, query, transpiled(query, dialect)))
    return Case((table,), tuple(asked))


def _plain(row: Sequence[Any]) -> tuple[Any, ...]:
    """A row with numbers as floats, and dates as JSON shows them."""
    return tuple(_value(value) for value in row)


def _value(value: Any) -> Any:
    if isinstance(value, int | Decimal) and not isinstance(value, bool):
        return float(value)
    if isinstance(value, datetime):
        return value.isoformat().rstrip("0") if value.microsecond else value.isoformat()
    return value.isoformat() if isinstance(value, date) else value


def _place(row: tuple[Any, ...]) -> list[tuple[str, str]]:
    numbers = [f"{v:.6g}" if isinstance(v, float) else str(v) for v in row]
    return [(type(v).__name__, shown) for v, shown in zip(row, numbers, strict=True)]


def _same(one: Any, two: Any) -> bool:
    if isinstance(one, float) and isinstance(two, float):
        return math.isclose(one, two, rel_tol=1e-9, abs_tol=1e-9) or (one != one and two != two)
    return type(one) is type(two) and one == two


def check(session: Session, asked: Asked, theirs: Rows) -> None:
    """Fail where an engine's rows are not those of DuckDB, numbers to 1e-9, in whatever order."""
    rows = (session.rows(asked.query), theirs)
    mine, others = (sorted(map(_plain, found), key=_place) for found in rows)
    assert len(mine) == len(others), (asked.text, mine, others)
    names = asked.query.named_selects
    for one, two in zip(mine, others, strict=True):
        apart = [
            f"{name}: {ours!r} in DuckDB, {other!r} there"
            for name, ours, other in zip(names, one, two, strict=True)
            if not _same(ours, other)
        ]
        assert not apart, (apart, asked.text, asked.written)
