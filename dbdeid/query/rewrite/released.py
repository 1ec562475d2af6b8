"""The released records that an aggregate looks at, before they meet what columns hand on."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from sqlglot import exp

from dbdeid.engine.expressions import cast, column, identifier
from dbdeid.engine.relation import Relation
from dbdeid.query.parse.answerable import Answerable
from dbdeid.query.parse.common_tables import CommonTables
from dbdeid.query.parse.meaning import exact
from dbdeid.query.parse.question import Join, replaced
from dbdeid.query.rewrite.counted import Counted, CountedRecords
from dbdeid.query.rewrite.measures import Measure, bucket, held
from dbdeid.query.rewrite.shares import Part, Share, aliased, all_of, double, product, with_table

# Grouping the release by so many columns leaves few groups, which are cheaper to join with shares
# than records; grouping by more would leave nearly as many groups as records.
FEW = 3


@dataclass(frozen=True)
class Beyond:
    """Where records need not be looked at: past the last value that can be the first in order.

    Attributes:
        argument: of exact columns alone.
        least: whether the least value is asked for, or else the greatest.
        ends: has `lower` and `upper` for each group, and whether they are all that is to be known
            (`settled`).
    """

    argument: exp.Expr
    least: bool
    ends: Relation

    def condition(self, value: exp.Expr) -> exp.Expr:
        """What holds of the records that matter."""
        last = exp.Max(this=column("upper")) if self.least else exp.Min(this=column("lower"))
        open_ends = exp.select(last).from_(self.ends.table).where(exp.not_(column("settled")))
        end = open_ends.subquery()
        return value <= end if self.least else value >= end


@dataclass(frozen=True)
class Near:
    """The ranges of values whose records are looked at one by one.

    Attributes:
        argument: of exact columns alone.
        ranges: has a `bucket` for each, as `measures.bucket` numbers them.
    """

    argument: exp.Expr
    ranges: Relation

    def condition(self, value: exp.Expr) -> exp.Expr:
        """What holds of the records that matter."""
        listed = exp.select("bucket").from_(self.ranges.table)
        return exp.In(this=bucket(value), query=listed.subquery())


@dataclass(frozen=True)
class Released:
    """Released records, by what of them is looked at.

    Attributes:
        target: the release.
        part: of the exact columns: conditions and what they hand on.
        joins: tables that meet released records.
        measures: what is summed up of equal records.
        single: whether an exact column that is handed on may tell nearly all records apart.
        doubtful: leave out records that count for certain whatever is asked.
        within: leave out records with values that do not matter.
        counted: where equal records may have been counted.
    """

    target: Answerable
    part: Part
    joins: tuple[Join, ...]
    measures: tuple[Measure, ...] = ()
    single: bool = False
    doubtful: bool = False
    within: Beyond | Near | None = None
    counted: CountedRecords | None = field(default=None, compare=False)

    def table(
        self, tables: CommonTables, weighing: list[Share], handing_on: list[Share]
    ) -> Relation:
        """The records by what is handed on, weighted by the shares of what only filters.

        Columns: value_1, …, part_0, …, weight, sure, records, item, the numbers of each measure.
        """
        return tables.named(
            "released",
            self.key(weighing, handing_on),
            lambda: self._rows(tables, weighing, handing_on),
        )

    def key(self, weighing: list[Share], handing_on: list[Share]) -> tuple[object, ...]:
        """What the table depends on."""
        parts = (tuple(self.part.conditions), tuple(self.part.features))
        how = (self.measures, self.single, self.doubtful, self.within)
        return (tuple(weighing), tuple(handing_on), *parts, *how)

    def _rows(
        self, tables: CommonTables, weighing: list[Share], handing_on: list[Share]
    ) -> exp.Select:
        shares = [*handing_on, *weighing]
        found = self._counted(shares)
        known = self._held(shares, found)
        select, alone = exp.select(), self.single or self.doubtful
        if found is None and weighing and len(shares) <= FEW and not alone:
            grouped = self._grouped(tables, shares)
            select = select.from_(aliased(grouped, "grouped"), copy=False)
            known = {name: column(name, "grouped") for name in known}
            records: exp.Expr = exp.Sum(this=column("records", "grouped"))
            sums: dict[str, exp.Expr] = {
                held(name, place).name: piece.together(this=held(name, place, "grouped"))
                for place, measure in enumerate(self.measures)
                for name, piece in measure.pieces.items()
            }
        else:
            select = self._of_table(select, found)
            records, sums = self._sums(found)
        weights = [known.pop("weight")] if self.target.weight is not None else []
        sure: list[exp.Expr] = []
        for share in weighing:
            select = share.joined(select, known.pop(f"value_{share.place}"))
            weights.append(share.weight)
            sure.append(column("ways", share.alias).eq(1))
        if self.doubtful:
            select = self._without_certain(select, known, sure, handing_on)
        groups = dict(known)
        if weights:
            groups["weight"] = cast(product(weights), "DOUBLE")
        if sure:
            groups["sure"] = exp.and_(*sure)
        every = {"weight": double(1), "sure": exp.true()} | groups
        select = select.select(
            *(exp.alias_(node, identifier(name)) for name, node in every.items()),
            exp.alias_(records, "records"),
            *(exp.alias_(node, identifier(name)) for name, node in sums.items()),
            exp.alias_(exp.Window(this=exp.RowNumber()), "item"),
            copy=False,
        )
        if not groups:  # one row of all records, even where there is none
            return select.having(records.copy() > 0, copy=False)
        return select.group_by(*(g.copy() for g in groups.values()), copy=False)

    def _without_certain(
        self,
        select: exp.Select,
        known: dict[str, exp.Expr],
        sure: list[exp.Expr],
        handing_on: list[Share],
    ) -> exp.Select:
        """The query without records each of whose released values counts in one way."""
        certain = [node.copy() for node in sure]
        if self.target.weight is not None:
            certain.append(column(self.target.weight, "source").eq(1))
        for share in handing_on:
            alias = f"doubt_{share.place}"
            same = exp.NullSafeEQ(
                this=known[f"value_{share.place}"].copy(), expression=column("value", alias)
            )
            ways = exp.select("value", exp.alias_(exp.Max(this=column("ways")), "ways"))
            once = ways.from_(share.table.table).group_by(column("value")).subquery(alias)
            select = select.join(once, on=same, join_type="LEFT", copy=False)
            certain.append(column("ways", alias).eq(1))
        return select.where(exp.not_(exp.and_(*certain)) if certain else exp.false(), copy=False)

    # -- where they are read from ----------------------------------------------------------------

    def _counted(self, shares: list[Share]) -> Counted | None:
        """The records that are equal in what is looked at, where they have been counted."""
        if self.counted is None or self.within is not None:  # then few records are looked at
            return None
        names = self.columns(s.column.name for s in shares)
        return self.counted.of(names, self.measures, self._range)

    @property
    def _range(self) -> exp.Expr | None:
        """What is handed on as a range of values of an argument that is summed up."""
        if not self.doubtful:
            return None
        ranges = [bucket(measure.argument) for measure in self.measures]
        return next((node for node in self.part.features if node in ranges), None)

    def columns(self, generalized: Iterable[str]) -> frozenset[str]:
        """The columns of the source that records are told apart by."""
        ranges = self._range
        nodes = [*self.part.conditions, *(f for f in self.part.features if f is not ranges)]
        inside = (exp.paren(node.copy()).find_all(exp.Column) for node in nodes)
        names = {c.name for found in inside for c in found if not c.table}
        names |= {ours for join in self.joins for ours, _ in join.on}
        if self.target.weight is not None:
            names.add(self.target.weight)
        return frozenset(names) | frozenset(generalized)

    def _sums(self, found: Counted | None) -> tuple[exp.Expr, dict[str, exp.Expr]]:
        """How many records a group has, and the numbers of its measures."""
        sums: dict[str, exp.Expr] = {}
        for place, measure in enumerate(self.measures):
            if found is not None:
                pieces = found.pieces(measure, "source")
            else:
                value = self._of_release(measure.argument)
                pieces = {name: p.of(value.copy()) for name, p in measure.pieces.items()}
            sums |= {held(name, place).name: node for name, node in pieces.items()}
        if found is None:
            return exp.Count(this=exp.Star()), sums
        return exp.Sum(this=column(found.records, "source")), sums

    def _grouped(self, tables: CommonTables, shares: list[Share]) -> Relation:
        """The release grouped by the values of all columns that are used."""
        of = (tuple(shares), self.key([], []))
        return tables.named("grouped", of, lambda: self._groups(shares))

    def _groups(self, shares: list[Share]) -> exp.Select:
        known = self._held(shares, None)
        records, sums = self._sums(None)
        first, then = (
            [exp.alias_(node, identifier(name)) for name, node in nodes.items()]
            for nodes in (known, sums)
        )
        select = self._of_table(exp.select(*first, exp.alias_(records, "records"), *then), None)
        return select.group_by(*(node.copy() for node in known.values()), copy=False)

    def _held(self, shares: Iterable[Share], found: Counted | None) -> dict[str, exp.Expr]:
        """What of the release is looked at, by the names under which it is handed on."""
        held_on: dict[str, exp.Expr] = {
            **{f"value_{s.place}": column(s.column.name, "source") for s in shares},
            **{f"part_{i}": self._of_release(node) for i, node in enumerate(self.part.features)},
        }
        if found is not None and found.range is not None:
            place = next(i for i, node in enumerate(self.part.features) if node is self._range)
            held_on[f"part_{place}"] = column(found.range_name, "source")
        if self.target.weight is not None:
            held_on["weight"] = column(self.target.weight, "source")
        return held_on

    def _of_table(self, select: exp.Select, found: Counted | None) -> exp.Select:
        """A query of the released records that may count."""
        table = self.target.release if found is None else found.table
        source: exp.Expr = aliased(table, "source")
        if self.within is not None:  # few are left, before all are joined with anything
            within = self.within.condition(self._of_release(self.within.argument))
            source = exp.select(exp.Star()).from_(source).where(within).subquery("source")
        select = select.from_(source, copy=False)
        for join in self.joins:
            select = with_table(select, join, lambda name: exact(column(name), self.target))
        if self.part.conditions:
            conditions = all_of(map(self._of_release, self.part.conditions))
            select = select.where(conditions, copy=False)
        if self.target.weight is not None:
            select = select.where(column(self.target.weight, "source") > 0, copy=False)
        return select

    def _of_release(self, node: exp.Expr) -> exp.Expr:
        """An expression of exact columns, in the types of the source."""
        return replaced(node, lambda reference: exact(reference, self.target))
