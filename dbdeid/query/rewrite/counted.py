"""Equal records of a release, counted once for the questions that come after the first.

A release has far fewer combinations of released values than records: at least k records have each
combination of quasi-identifiers. Where a question looks at columns with few combinations, it is
answered from a table of these with their numbers of records, kept in the session.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator
from dataclasses import dataclass, field
from itertools import count

from sqlglot import exp

from dbdeid.engine.expressions import column, identifier
from dbdeid.engine.failure import EngineError
from dbdeid.engine.relation import Relation, free_name
from dbdeid.engine.session import Session, Step
from dbdeid.query.parse.answerable import Answerable
from dbdeid.query.parse.meaning import exact
from dbdeid.query.parse.question import replaced
from dbdeid.query.rewrite.measures import Measure, held

# Fewer records are counted anew as fast as a table of them is read.
LEAST_RECORDS = 20_000
# A table pays where it is so many times smaller than the release; the more columns it has, the more
# questions it serves, and it may have all quasi-identifiers where it is so many times smaller.
TIMES = 8
TIMES_OF_ALL = 32
# Rows of one table, and of all tables that are kept of a session.
MOST_ROWS = 200_000
MOST_ROWS_OF_ALL = 2_000_000

# Values that are equal and yet told apart, such as 0.0 and -0.0 or 30 days and a month, are in
# other families.
_FAMILIES = ("integer", "decimal", "date", "timestamp", "boolean", "text", "enum")

_NUMBERS = count()  # several releases may be asked in one session


@dataclass(frozen=True)
class Counted:
    """A table with one row for equal records.

    Attributes:
        table: the columns that they are equal in, called as in the release, and how many they are.
        records: the column with their number.
        columns: those that they are equal in, in lower case.
        measures: what is summed up of them, in the order of its columns.
        range: an expression that they are equal in as well; None: there is none.
        range_name: the column with its values.
        rows: of the table.
    """

    table: Relation
    records: str
    range: exp.Expr | None
    range_name: str
    columns: frozenset[str]
    measures: tuple[Measure, ...]
    rows: int

    def pieces(self, measure: Measure, table: str) -> dict[str, exp.Expr]:
        """The numbers of a measure, each of several rows together."""
        place = self.measures.index(measure)
        return {
            name: piece.together(this=held(name, place, table))
            for name, piece in measure.pieces.items()
        }


@dataclass
class CountedRecords:
    """The tables of equal records of one release, which stays as it is meanwhile.

    Attributes:
        session: where the release is.
        target: the release.
    """

    session: Session
    target: Answerable
    _kept: list[Counted] = field(default_factory=list)
    _refused: set[Hashable] = field(default_factory=set)
    _combinations: dict[frozenset[str], int] = field(default_factory=dict)
    _one_way: dict[str, bool] = field(default_factory=dict)
    _records: int | None = None

    def clear(self) -> None:
        """Drop all of them."""
        for one in self._kept:
            self.session.drop_temp(one.table.name)
        self._kept.clear()
        self._refused.clear()
        self._one_way.clear()

    def one_way(self, share: Relation) -> bool:
        """Whether all values that pass count in one way, by a table of shares that is kept."""
        if share.name not in self._one_way:
            doubt = exp.select(exp.Count(this=exp.Star())).from_(share.table)
            doubt = doubt.where(column("passes"), column("ways") > 1)
            self._one_way[share.name] = not self.session.row(doubt)[0]
        return self._one_way[share.name]

    def of(
        self,
        columns: Iterable[str],
        measures: Iterable[Measure],
        ranges: exp.Expr | None = None,
    ) -> Counted | None:
        """Equal records by some columns at least, where it pays to count them.

        Args:
            columns: of the source.
            measures: what is summed up of them.
            ranges: an expression of exact columns by which they are told apart as well.
        """
        names, sums = frozenset(name.lower() for name in columns), tuple(measures)
        fit = [
            one
            for one in self._kept
            if names <= one.columns and set(sums) <= set(one.measures) and one.range == ranges
        ]
        if fit:
            return min(fit, key=lambda one: one.rows)
        of = (names, frozenset(sums), ranges)
        if of in self._refused or not self._countable(names):
            return None
        all_of = names | {name.lower() for name in self.target.quasi_identifiers}
        tried = [(names, TIMES)] if ranges is not None else [(all_of, TIMES_OF_ALL), (names, TIMES)]
        for wanted, times in tried:
            found = self._counted(wanted, sums, ranges, times)
            if found is not None:
                self._kept.append(found)
                return found
        self._refused.add(of)
        return None

    def _countable(self, names: frozenset[str]) -> bool:
        """Whether equal values of the columns cannot be told apart, and the records are many."""
        for name in names:
            released = self.target.release.find(name)
            weighs = self.target.weight is not None and name == self.target.weight.lower()
            if released is None or (released.family not in _FAMILIES and not weighs):
                return False
        if self._records is None:
            self._records = self._many()
        return self._records >= LEAST_RECORDS

    def _many(self) -> int:
        """How many records the release has; 0 where they may be compared in an own way."""
        created = self.session.created(self.target.release)
        if not created or "COLLATE" in created.upper():
            return 0
        records = exp.select(exp.Count(this=exp.Star())).from_(self.target.release.table)
        return int(self.session.row(records)[0])

    def _counted(
        self,
        names: frozenset[str],
        measures: tuple[Measure, ...],
        ranges: exp.Expr | None,
        times: int,
    ) -> Counted | None:
        assert self._records is not None
        kept = sum(one.rows for one in self._kept)
        most = min(self._records // times, MOST_ROWS, MOST_ROWS_OF_ALL - kept)
        columns = [c for c in self.target.release.columns if c.name.lower() in names]
        known: list[exp.Expr] = [column(c.name, "source") for c in columns]
        if not self._countable(names) or self._apart(names, known, most) > most:
            return None
        if ranges is not None:
            known.append(self._of_release(ranges))
        records = free_name("records", (c.name for c in columns))
        range_name = free_name("range", (c.name for c in columns))
        called = [*(c.name for c in columns), *([range_name] if ranges is not None else [])]
        query = self._of_source(
            *(exp.alias_(n.copy(), identifier(c)) for n, c in zip(known, called, strict=True)),
            exp.alias_(exp.Count(this=exp.Star()), identifier(records)),
            *(exp.alias_(node, identifier(name)) for name, node in self._sums(measures)),
        )
        name = f"deid_counted_{next(_NUMBERS)}"
        try:
            rows = self.session.fill(Step(name, query.group_by(*known) if known else query))
        except EngineError:  # the question then fails in its own words
            return None
        if rows > most:
            self.session.drop_temp(name)
            return None
        table = Relation(name, tuple(columns), "main", "temp")
        return Counted(table, records, ranges, range_name, names, measures, rows)

    def _apart(self, names: frozenset[str], known: list[exp.Expr], most: int) -> int:
        """About how many combinations of values there are; of fewer columns, there are no more."""
        if not known:
            return 1
        for fewer, found in self._combinations.items():
            if fewer == names or (fewer < names and found > most):
                return found
        row = exp.Tuple(expressions=[node.copy() for node in known])
        query = self._of_source(exp.ApproxDistinct(this=row))
        self._combinations[names] = found = int(self.session.row(query)[0])
        return found

    def _of_source(self, *nodes: exp.Expr) -> exp.Select:
        return exp.select(*nodes).from_(self.target.release.aliased("source"))

    def _of_release(self, node: exp.Expr) -> exp.Expr:
        return replaced(node, lambda reference: exact(reference, self.target))

    def _sums(self, measures: tuple[Measure, ...]) -> Iterator[tuple[str, exp.Expr]]:
        for place, measure in enumerate(measures):
            value = self._of_release(measure.argument)
            for name, piece in measure.pieces.items():
                yield held(name, place).name, piece.of(value.copy())
