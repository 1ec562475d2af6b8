"""What the dictionary of a release says of its columns, each looked up once."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator
from dataclasses import dataclass, field
from typing import Any, Literal, TypeVar

from sqlglot import exp

from dbdeid.engine.expressions import cast, column, identifier, union_all
from dbdeid.engine.relation import Column, Relation
from dbdeid.engine.session import Session
from dbdeid.engine.sqltext import sql, step
from dbdeid.query.parse.common_tables import CommonTables
from dbdeid.query.rewrite.records import Records
from dbdeid.query.rewrite.scale import Unit
from dbdeid.query.rewrite.spread import Spread

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Obstacles:
    """What keeps questions from using the values of a column: numbers of released values.

    Attributes:
        unknown: without leaves and without bounds.
        half_open: with one bound, but without leaves.
        bounded: with two bounds, but without leaves.
        ambiguous: rows beyond the first of a value.
    """

    unknown: int
    half_open: int
    bounded: int
    ambiguous: int


@dataclass(frozen=True, slots=True)
class Assumed:
    """What of an answer the hierarchy of a column decides rather than the records.

    Attributes:
        column: of the source.
        what: `groups`: all released values divide among the groups alike, so that the sizes of
            groups tell nothing; `finer`: some stand for several groups; `condition`: none tells
            whether the conditions on the column hold.
        split: released values that stand for several groups.
        released: released values that may satisfy the conditions.
    """

    column: str
    what: Literal["groups", "finer", "condition"]
    split: int
    released: int


# More values of a column are not listed for a reader.
MOST_VALUES = 1_000
# Months are not equally long, nor is each day of the week as often in a month: so far apart, as
# total variation, shares still tell nothing.
_ALIKE = 0.1


@dataclass(frozen=True)
class Dictionary:
    """The dictionary of a release, which stays as it is while this is in use.

    Attributes:
        session: where it is.
        table: the dictionary.
    """

    session: Session
    table: Relation
    _found: dict[Hashable, Any] = field(default_factory=dict, repr=False)

    def obstacles(self, source: Column) -> Obstacles:
        """What keeps questions from using the values of a column."""
        return self._once(("obstacles", source), lambda: self._obstacles(source))

    def unreadable(self, used: Spread) -> int:
        """How many leaves of a column are not of its type."""
        kind = sql(used.leaf_type)
        return self._once(("unreadable", used.column, kind), lambda: self._unreadable(used))

    def between_bounds(self, source: Column, unit: Unit | None, step: int | None = None) -> int:
        """How many single values, periods or bins lie between the bounds of a column's values."""
        return self._once(
            ("between", source, unit, step), lambda: self._between_bounds(source, unit, step)
        )

    def unchanged(self) -> frozenset[str]:
        """The columns of which no released value stands for others."""
        return self._once("unchanged", self._unchanged)

    def values(self, source: Column) -> frozenset[str] | None:
        """The values that those of a column stand for; None where not all are listed, or many."""
        return self._once(("values", source), lambda: self._values(source))

    def _once(self, of: Hashable, look: Callable[[], T]) -> T:
        if of not in self._found:
            self._found[of] = look()
        found: T = self._found[of]
        return found

    def _obstacles(self, source: Column) -> Obstacles:
        query = step("query/obstacles", {"dictionary": self.table}, {}, {"column": source.name})
        return Obstacles(*self.session.row(query))

    def _values(self, source: Column) -> frozenset[str] | None:
        found = self.obstacles(source)
        if found.unknown or found.half_open or found.bounded:
            return None
        rows = exp.select().from_(self.table.table).where(_rows_of(source))
        leaf = rows.select(exp.alias_(exp.Explode(this=column("leaves")), identifier("value")))
        own = rows.select(exp.alias_(column("released_value"), "value"))
        both = union_all(leaf, own.where(column("level").eq(0))).subquery("listed", copy=False)
        some = exp.select(column("value")).distinct().from_(both, copy=False)
        known = some.where(column("value").is_(exp.null()).not_()).limit(MOST_VALUES + 1)
        listed = frozenset(str(value) for (value,) in self.session.rows(known))
        return listed if 0 < len(listed) <= MOST_VALUES else None

    def _unreadable(self, used: Spread) -> int:
        leaf = exp.select(exp.alias_(exp.Explode(this=column("leaves")), identifier("leaf")))
        listed = leaf.from_(self.table.table).where(_rows_of(used.column))
        unreadable = exp.TryCast(this=column("leaf"), to=used.leaf_type).is_(exp.null())
        query = (
            exp.select(exp.Count(this=exp.Star()))
            .from_(listed.subquery(identifier("listed")))
            .where(column("leaf").is_(exp.null()).not_())
            .where(unreadable)
        )
        return int(self.session.row(query)[0])

    def _between_bounds(self, source: Column, unit: Unit | None, step: int | None) -> int:
        lower, upper = column("lower"), column("upper")
        length: exp.Expr
        if step is not None:
            apart = exp.paren(cast(upper, "DOUBLE") - cast(lower, "DOUBLE"))
            length = apart / exp.Literal.number(step) + 1
        elif unit is None:
            kind = "DATE" if source.family == "date" else "HUGEINT"
            length = cast(upper, kind) - cast(lower, kind)
        else:
            ends = (cast(upper, "TIMESTAMP"), cast(lower, "TIMESTAMP"))
            length = exp.DateDiff(this=ends[0], expression=ends[1], unit=exp.var(unit.upper()))
        query = (
            exp.select(exp.func("COALESCE", exp.Sum(this=length), exp.Literal.number(0)))
            .from_(self.table.table)
            .where(_rows_of(source))
            .where(column("level") > 0)
            .where(exp.func("COALESCE", exp.ArraySize(this=column("leaves")), 0).eq(0))
        )
        return int(self.session.row(query)[0])

    def _unchanged(self) -> frozenset[str]:
        none = exp.func("COALESCE", exp.ArraySize(this=column("leaves")), 0).eq(0)
        itself = column("leaves").eq(exp.Array(expressions=[column("released_value")]))
        other = exp.Count(this=exp.case().when(exp.or_(none, itself).not_(), 1))
        kept = (
            exp.select("column")
            .from_(self.table.table)
            .group_by("column")
            .having(exp.Max(this=column("level")).eq(0))
            .having(other.eq(0))  # a label that is no value is not read as one
        )
        return frozenset(str(name) for (name,) in self.session.rows(kept))


def _rows_of(source: Column) -> exp.Expr:
    return column("column").eq(exp.Literal.string(source.name))


def assumed(
    session: Session, records: Records, tables: CommonTables, *, keys: bool = True
) -> Iterator[Assumed]:
    """What is assumed of the records that an aggregate looks at, of each generalized column.

    Args:
        session: where the dictionary is.
        records: of the aggregate.
        tables: common tables of the dictionary, which may be kept.
        keys: whether the groups of the answer are theirs.
    """
    for used, shares in records.shares(tables):
        parts = records.parts_of_keys(used.column) if keys else []
        limited = records.limits(used.column)
        if not parts and not limited:
            continue
        given = step("query/assumed", {"shares": shares}, {"part": parts or ["passes"]})
        released, decided, split, distance = session.row(tables.before(given))
        told = (used.column.name, split, released)
        if split and split == released and distance <= _ALIKE:
            yield Assumed(told[0], "groups", *told[1:])
        elif split:
            yield Assumed(told[0], "finer", *told[1:])
        if limited and released and not decided:
            yield Assumed(told[0], "condition", *told[1:])
