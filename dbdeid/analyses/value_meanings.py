"""What the released values of a column stand for, listed: what a recipient's model may average.

The dictionary says it by leaves or by two bounds, between which every value is as likely. Where it
says neither, the private hierarchies of the run list the leaves.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date, datetime, timedelta

from dbdeid.engine.expressions import (
    Expr,
    aliased,
    all_of,
    cast,
    column,
    count_rows,
    is_null,
    literal,
    not_null,
    select,
    try_cast,
)
from dbdeid.engine.relation import Column, Relation
from dbdeid.engine.session import Session, Step
from dbdeid.errors import DbdeidError
from dbdeid.query.parse.meaning import source_type
from dbdeid.query.rewrite.spread import values

# Of more values between two bounds so many are listed, evenly spaced; of a continuous column
# always as many, with the middle among them.
MOST, CONTINUOUS = 1_000, 101
_EPOCH, _MICROSECOND = datetime(1970, 1, 1), timedelta(microseconds=1)


class Untold(DbdeidError):
    """A released column has no values that a model could use; the message says why."""


@dataclass(frozen=True, slots=True)
class Meanings:
    """The values that a generalized column stands for.

    Attributes:
        table: `value`, a released value as text or NULL, and `leaf`, of the type of the source.
        told: whether the dictionary tells of all of them.
    """

    table: Relation
    told: bool


def generalized(session: Session, dictionary: Relation | None) -> frozenset[str]:
    """The columns that a release shows on some level above the values themselves."""
    if dictionary is None:
        return frozenset()
    names = select(column("column")).distinct().from_(dictionary.table)
    return frozenset(str(name) for (name,) in session.rows(names.where(column("level") > 0)))


@dataclass(frozen=True, slots=True)
class Stands:
    """The original values that one released value may stand for.

    Attributes:
        value: the released value.
        leaves: what it stands for; empty where bounds tell, or nothing does.
        bounds: between which every value is as likely.
        told: whether the dictionary tells.
    """

    value: str | None
    leaves: tuple[str | None, ...]
    bounds: tuple[str, str] | None
    told: bool


def stands_for(
    session: Session, source: Column, dictionary: Relation, hierarchies: Relation | None
) -> Iterator[Stands]:
    """What the released values of a column stand for.

    Args:
        session: where the tables are.
        source: the column with its type in the source.
        dictionary: of the release.
        hierarchies: in long form, with `hierarchy`, `level`, `value` and `label`; None: only the
            dictionary tells.

    Raises:
        Untold: a value has two meanings.
    """
    private = _Leaves(session, source, hierarchies)
    for value, level, lower, upper, leaves, rows in session.rows(values(source, dictionary)):
        if rows > 1:
            raise Untold(f"{source.name}: a released value has two meanings in the dictionary")
        known = tuple(leaves or ()) or ((None,) if value is None else ())
        if known:
            yield Stands(value, known, None, True)
        elif level and any(True for _ in between(source, lower, upper)):
            yield Stands(value, (), (lower, upper), True)
        else:
            yield Stands(value, private.of(int(level), str(value)), None, level == 0)


def meanings(
    session: Session, source: Column, dictionary: Relation, hierarchies: Relation, name: str
) -> Meanings:
    """Stage what the values of a column stand for.

    Args:
        session: where the tables are.
        source: the column with its type in the source.
        dictionary: of the release.
        hierarchies: in long form, with `hierarchy`, `level`, `value` and `label`.
        name: of the staged table.

    Raises:
        Untold: nothing says what some value stands for.
    """
    found: list[tuple[str | None, str | None]] = []
    told = True
    for stands in stands_for(session, source, dictionary, hierarchies):
        known = stands.leaves
        if stands.bounds is not None:
            known = tuple(between(source, *stands.bounds))
        if not known:
            raise Untold(f"{source.name} is released without the values that it stands for")
        told = told and stands.told
        found += [(stands.value, leaf) for leaf in known]
    columns = {"value": [value for value, _ in found], "leaf": [leaf for _, leaf in found]}
    texts = session.upload(f"{name}_texts", columns)
    kind = "DOUBLE" if source.family == "decimal" else source_type(source)
    leaf = try_cast(column("leaf"), kind)
    query = select(column("value"), aliased(leaf, "leaf")).from_(texts.table)
    table = session.run(Step(name, query))
    session.drop_temp(texts.name)
    blank = all_of(is_null(column("leaf")), not_null(column("value")))
    count = select(count_rows()).from_(table.table).where(blank)
    if session.row(count)[0]:
        kind = source.shown_type
        raise Untold(f"{source.name}: some leaves of its hierarchy are not of its type {kind}")
    return Meanings(table, told)


class _Leaves:
    """The leaves below the labels of a hierarchy, read on first use."""

    def __init__(self, session: Session, source: Column, hierarchies: Relation | None) -> None:
        self._session, self._source, self._hierarchies = session, source, hierarchies
        self._known: dict[tuple[int, str], list[str]] | None = None

    def of(self, level: int, value: str) -> tuple[str | None, ...]:
        """The leaves of a released value, whose label may end in its level (`@2`) if levels mix."""
        if self._known is None:
            self._known = self._read()
        plain = value.removesuffix(f"@{level}")
        found = self._known.get((level, value)) or self._known.get((level, plain)) or ()
        return (*found,) or ((value,) if level == 0 else ())

    def _read(self) -> dict[tuple[int, str], list[str]]:
        if self._hierarchies is None:
            return {}
        rows = (
            select(column("level"), column("label"), column("value"))
            .from_(self._hierarchies.table)
            .where(column("hierarchy").eq(literal(self._source.name)))
            .where(not_null(column("value")))
            .order_by(column("value"))
        )
        found = defaultdict(list)
        for level, label, value in self._session.rows(rows):
            found[int(level), str(label)].append(str(value))
        return dict(found)


def between(source: Column, lower: str | None, upper: str | None) -> Iterator[str]:
    """The values between two bounds as text, evenly spaced; none where they have no two.

    >>> list(between(Column("age", "INTEGER"), "20", "24"))
    ['20', '21', '22', '23', '24']
    """
    if lower is None or upper is None:
        return
    match source.family:
        case "integer":
            yield from map(str, _spaced(int(lower), int(upper) + 1, MOST))
        case "date":
            first, last = (date.fromisoformat(text).toordinal() for text in (lower, upper))
            for day in _spaced(first, last + 1, MOST):
                yield date.fromordinal(day).isoformat()
        case "timestamp":
            start, end = (_microseconds(text) for text in (lower, upper))
            for moment in _spaced(start, end, CONTINUOUS):
                yield (_EPOCH + moment * _MICROSECOND).isoformat(sep=" ")
        case "decimal" | "float":
            low, width = float(lower), float(upper) - float(lower)
            if width > 0:
                for i in range(CONTINUOUS):
                    yield repr(low + width * (2 * i + 1) / (2 * CONTINUOUS))


def _microseconds(text: str) -> int:
    return (datetime.fromisoformat(text) - _EPOCH) // _MICROSECOND


def _spaced(start: int, end: int, most: int) -> Iterator[int]:
    """The numbers from start, or of more than `most` the middles of as many parts."""
    number = end - start
    if number <= most:
        yield from range(start, end)
        return
    for i in range(most):
        yield start + (2 * i + 1) * number // (2 * most)


def as_text(value: Expr) -> Expr:
    """A released value as the dictionary writes it."""
    return cast(value, "VARCHAR")
