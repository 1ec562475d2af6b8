"""One aggregate of a question: an expected value and bounds for each group of the answer.

What an aggregate of columns that are released as they are needs of equal records is summed up
before anything else, see `measures`. Single values are then needed of doubtful records only, or of
those that may be first in order.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from sqlglot import exp

from dbdeid.engine.expressions import cast, column, identifier, union_all
from dbdeid.engine.relation import Relation
from dbdeid.engine.sqltext import step
from dbdeid.query.groups.means import mean_of, rounded_items
from dbdeid.query.parse.answerable import Answerable
from dbdeid.query.parse.common_tables import CommonTables
from dbdeid.query.parse.expressions import has_alternatives
from dbdeid.query.parse.meaning import decimals_of, is_decimal, is_number, places_between
from dbdeid.query.parse.question import Aggregate, Kind, Question, key_name
from dbdeid.query.rewrite.counted import CountedRecords
from dbdeid.query.rewrite.measures import MEASURED, Measure, bucket, held
from dbdeid.query.rewrite.records import Need, Records, is_exact, key_names
from dbdeid.query.rewrite.released import Beyond, Near
from dbdeid.query.rewrite.shares import aliased
from dbdeid.query.rewrite.spread import INFINITE

_NEEDS: Mapping[Kind, Need] = {
    "count": "presence",
    "sum": "moments",
    "avg": "moments",
    "min": "order",
    "max": "order",
    "distinct": "values",
    "quantile_cont": "order",
    "quantile_disc": "order",
    "var_pop": "order",
    "var_samp": "order",
}
_STEPS: dict[Kind, str] = {
    "count": "query/count",
    "sum": "query/sum",
    "distinct": "query/distinct",
}


def records_of(question: Question, target: Answerable, aggregate: Aggregate, **how: Any) -> Records:
    """The records that an aggregate looks at.

    Args:
        question: what is asked.
        target: the release.
        aggregate: of the question.
        how: attributes of the records that are not the usual ones.
    """
    need, given = _NEEDS[aggregate.kind], (aggregate.argument, aggregate.condition)
    return Records.of(question.of(aggregate), target, *given, need, **how)


def measure_of(question: Question, target: Answerable, aggregate: Aggregate) -> Measure | None:
    """What is summed up of equal records for an aggregate; None where it needs more of them."""
    argument, what = aggregate.argument, MEASURED.get(aggregate.kind)
    if argument is None or what is None:
        return None
    if has_alternatives(question.of(aggregate).where, aggregate.condition, argument):
        return None  # no record counts in one way
    exact = (
        not c.table and (source := target.find(c.name)) is not None and is_exact(source, target)
        for c in exp.paren(argument.copy()).find_all(exp.Column)
    )
    if not all(exact):
        return None
    size = decimals_of(argument, question.of(aggregate), target) if what == "sums" else None
    return Measure(argument, what, f"DECIMAL({size[0]}, {size[1]})" if size else "DOUBLE")


@dataclass(frozen=True)
class Aggregates:
    """The aggregates of one question, as tables of the keys with `estimate`, `lower` and `upper`.

    Attributes:
        question: what is asked.
        target: the release.
        tables: of the query.
        counted: where equal records may have been counted; None: they are counted by the query.
    """

    question: Question
    target: Answerable
    tables: CommonTables
    counted: CountedRecords | None = None

    def made(self, aggregate: Aggregate) -> exp.Expr:
        """The query of one of them."""
        measure = self._measure(aggregate)
        if measure is not None:
            return self._measured(aggregate, measure)
        records = self._looked_at(aggregate)
        outcomes = records.outcomes(self.tables)
        keys = {"key": key_names(records.question)}
        items = self._items(records, outcomes)
        if aggregate.kind in ("min", "max"):
            return self._extremes(outcomes, items, aggregate, keys, records)
        if aggregate.kind == "avg":
            return self._mean_of(self._rounded(items, keys["key"]), aggregate, keys["key"])
        if aggregate.kind not in _STEPS:
            possible = self._possible(outcomes, items, records)
            given = {"items": items, "possible": possible}
            if aggregate.fraction is None:
                less = int(aggregate.kind == "var_samp")
                return _step("query/variance", given, keys, {"less": less})
            return self._quantile(given, aggregate, keys, records)
        given = {"items": items}
        if aggregate.kind == "distinct":
            given["outcomes"] = outcomes
        return _step(_STEPS[aggregate.kind], given, keys)

    def _mean_of(self, items: Relation, aggregate: Aggregate, keys: list[str]) -> exp.Query:
        assert aggregate.argument is not None
        own = self.question.of(aggregate)
        return mean_of(items, keys, steps=is_decimal(aggregate.argument, own, self.target))

    def _rounded(self, items: Relation, keys: list[str]) -> Relation:
        return self.tables.named("items", (items, "rounded"), lambda: rounded_items(items, keys))

    def columns(self) -> tuple[frozenset[str], tuple[Measure, ...]]:
        """The columns by which all aggregates tell records apart, and what is summed up."""
        names: set[str] = set()
        sums: list[Measure] = []
        for one in (Aggregate("count"), *self.question.aggregates):
            if one.over is not None or one.groups is not None:
                continue
            records = self._looked_at(one)
            names |= records.released.columns(used.column.name for used in records.spreads)
            sums += records.measures
        return frozenset(names), tuple(dict.fromkeys(sums))

    def _records(self, aggregate: Aggregate, **how: Any) -> Records:
        how |= {"counted": self.counted}
        return records_of(self.question, self.target, aggregate, **how)

    def _looked_at(self, aggregate: Aggregate) -> Records:
        """The records of an aggregate, with what is summed up of equal ones where that will do.

        Aggregates of the same records look at them once.
        """
        if aggregate.argument is not None and self._measure(aggregate) is None:
            return self._records(aggregate)
        alike = (
            one
            for one in self.question.aggregates
            if (one.condition, one.among) == (aggregate.condition, aggregate.among)
        )
        found = (self._measure(one) for one in alike)
        measures = tuple(dict.fromkeys(m for m in found if m is not None))
        every = Aggregate("count", None, aggregate.condition, aggregate.among)
        return self._records(every, measures=measures)

    def _measure(self, aggregate: Aggregate) -> Measure | None:
        return measure_of(self.question, self.target, aggregate)

    def _one_way(self, share: Relation) -> bool:
        """Whether all values that pass a column's conditions are known to count in one way."""
        kept = share.catalog is not None  # by the session, not by the query
        return kept and self.counted is not None and self.counted.one_way(share)

    def _items(self, records: Records, outcomes: Relation) -> Relation:
        step_of = "query/items" if records.needs_values else "query/single_items"
        keys = {"key": key_names(records.question)}
        return self.tables.named(
            "items", outcomes, lambda: _step(step_of, {"outcomes": outcomes}, keys)
        )

    # -- of columns that are released as they are ----------------------------------------------

    def _measured(self, aggregate: Aggregate, measure: Measure) -> exp.Expr:
        """An aggregate of what is summed up of equal records."""
        records = self._looked_at(aggregate)
        outcomes = records.outcomes(self.tables)
        keys = {"key": key_names(records.question)}
        items = self.tables.named(
            "items", (outcomes, measure), lambda: _measured_items(outcomes, records, measure)
        )
        shares = [share for _, share in records.shares(self.tables)]
        decided = self.target.weight is None and all(map(self._one_way, shares))
        if aggregate.kind == "sum":
            return _step("query/measured_sum", {"items": items}, keys)
        if aggregate.kind == "avg":
            if decided:
                return _step("query/measured_avg", {"items": items}, keys)
            return self._mean(aggregate, measure, items, keys)
        return self._first_measured(aggregate, items, keys, decided=decided)

    def _mean(
        self, aggregate: Aggregate, measure: Measure, items: Relation, keys: dict[str, list[str]]
    ) -> exp.Expr:
        """The mean, whose bounds take doubtful records up to some value, or from one on.

        That value is the bound itself. Bounds of means that take ranges of values as a whole lie in
        the same range, so that single values are needed of these ranges only.

        Args:
            aggregate: AVG.
            measure: of its argument.
            items: of equal records, with the sums of their values.
            keys: of the groups.
        """
        own, (name,) = self.question.of(aggregate), keys["key"][-1:]
        place = len(own.keys)
        by_range = replace(own, keys=(*own.keys, bucket(measure.argument)))
        records = Records.of(
            by_range,
            self.target,
            None,
            aggregate.condition,
            "presence",
            measures=(measure,),
            doubtful=True,
            counted=self.counted,
        )
        outcomes = records.outcomes(self.tables)

        def ranges() -> exp.Expr:
            found = _measured_items(outcomes, records, measure)
            renamed = exp.alias_(column(key_name(place)), "bucket")
            whole = [exp.alias_(exp.Literal.number(0), name)] if not own.keys else []
            return found.select(renamed, *whole)

        of_ranges = self.tables.named("ranges", (outcomes, measure), ranges)
        known = {"items": items, "ranges": of_ranges}
        rough_items = self.tables.named(
            "items", (items, "rough"), lambda: _step("query/rough_items", known, keys)
        )
        rough = self.tables.named(
            "rough", aggregate, lambda: mean_of(rough_items, keys["key"], rounded=False)
        )
        near = self.tables.named("near", aggregate, lambda: _buckets(rough))
        within = Near(measure.argument, near)
        single = self._records(aggregate, doubtful=True, within=within)
        singles = self._items(single, single.outcomes(self.tables))
        given = {"rough": rough_items, "near": near}
        given["single"] = self._rounded(singles, keys["key"])
        near_items = self.tables.named(
            "items", (items, "near"), lambda: _step("query/near_items", given, keys)
        )
        return self._mean_of(near_items, aggregate, keys["key"])

    def _first_measured(
        self, aggregate: Aggregate, items: Relation, keys: dict[str, list[str]], *, decided: bool
    ) -> exp.Select:
        """The first in order, of which single values matter only where it lies between two.

        Args:
            aggregate: MIN or MAX.
            items: of equal records, with the least and greatest of their values.
            keys: of the groups.
            decided: whether all records count for certain.
        """
        assert aggregate.argument is not None
        ends = self._ends(aggregate, items, keys, measured=True)
        first: exp.Expr = column("lower")
        if is_number(aggregate.argument, self.question.of(aggregate), self.target):
            first = cast(first, "DOUBLE")
        wanted = [column(n) for n in (*keys["key"], "lower", "upper")]
        if decided:
            there = exp.case().when(column("settled"), first)
            return exp.select(*wanted, exp.alias_(there, "estimate")).from_(ends.table)
        beyond = Beyond(aggregate.argument, aggregate.kind == "min", ends)
        single = self._records(aggregate, within=beyond)
        expected = self._expected(single.outcomes(self.tables), ends, aggregate, keys, "settled")
        found = exp.case().when(column("settled"), first).else_(column("estimate"))
        return exp.select(*wanted, exp.alias_(found, "estimate")).from_(
            expected.subquery(identifier("expected"))
        )

    # -- of a distribution -----------------------------------------------------------------------

    def _possible(self, outcomes: Relation, items: Relation, records: Records) -> Relation:
        """The values of the argument with the number of records that are expected to have them."""
        names = key_names(records.question)
        keys = [column(name) for name in names]
        if records.ends_only:  # as if all were in the middle of their intervals
            ends = [cast(column(end), "DOUBLE") for end in ("low", "high")]
            x: exp.Expr = exp.paren(ends[0] + ends[1]) / 2
            mass: exp.Expr = column("records") * column("mass")
            bounded = (ends[0].copy() > exp.Neg(this=INFINITE.copy()), ends[1].copy() < INFINITE)
            query = exp.select(*keys, exp.alias_(x, "x"), exp.alias_(mass, "mass"))
            query = query.from_(items.table).where(*bounded)
        else:
            x = cast(column("x"), "DOUBLE")
            mass = exp.Sum(this=column("records") * column("weight") * column("mass"))
            query = exp.select(*keys, exp.alias_(x, "x"), exp.alias_(mass, "mass"))
            query = query.from_(outcomes.table).group_by(*(k.copy() for k in keys), column("x"))
        return self.tables.named("possible", (outcomes, items), lambda: query)

    def _quantile(
        self,
        given: dict[str, Relation],
        aggregate: Aggregate,
        keys: dict[str, list[str]],
        records: Records,
    ) -> exp.Expr:
        """The value of a rank, between those that it may be; see `query/quantile`."""
        assert aggregate.fraction is not None
        assert aggregate.argument is not None
        share, whole = aggregate.fraction.as_integer_ratio()
        between = aggregate.kind == "quantile_cont"
        places = places_between(aggregate.argument, records.question, self.target) if between else 0
        values = {
            "rounds": int(places is None),
            "share": share,
            "whole": whole,
            "below": whole - share if between else whole - 1,
            "above": 2 * whole - share - 1 if between else whole - 1,
            "between": between,
        }
        found = _step("query/quantile", given, keys, values)
        if not between or places is None:
            return found
        # what lies between two values is rounded to a value of their type
        names = [column(name) for name in keys["key"]]
        ends = [_outwards(end, places) for end in (exp.Floor, exp.Ceil)]
        lower, upper = (exp.alias_(end, name) for end, name in zip(ends, _ENDS, strict=True))
        exact = self.tables.named("quantile", aggregate, lambda: found)
        return exp.select(*names, column("estimate"), lower, upper).from_(exact.table)

    def _extremes(
        self,
        outcomes: Relation,
        items: Relation,
        aggregate: Aggregate,
        keys: dict[str, list[str]],
        records: Records,
    ) -> exp.Select:
        """The first of the values in order, and between which it lies."""
        held_ends = self._ends(aggregate, items, keys)
        if records.ends_only:  # how the least of intervals spreads is not told by shares
            nothing = exp.alias_(cast(exp.null(), "DOUBLE"), "estimate")
            wanted = [column(n) for n in (*keys["key"], "lower", "upper")]
            return exp.select(*wanted, nothing).from_(held_ends.table)
        return self._expected(outcomes, held_ends, aggregate, keys)

    def _ends(
        self,
        aggregate: Aggregate,
        items: Relation,
        keys: dict[str, list[str]],
        *,
        measured: bool = False,
    ) -> Relation:
        """Between which values the first in order lies.

        Args:
            aggregate: MIN or MAX.
            items: as query_items gives them.
            keys: of the groups.
            measured: whether an item has several known values, from `low` to `high`; it is then
                told where these ends are one, so that it is expected (`settled`).
        """
        least = aggregate.kind == "min"
        first, last = (exp.Min, exp.Max) if least else (exp.Max, exp.Min)
        near, far = ("low", "high") if least else ("high", "low")
        certain = exp.case().when(column("certain"), column(near if measured else far))
        beyond = exp.Coalesce(this=first(this=certain), expressions=[last(this=column(far))])
        names = [column(name) for name in keys["key"]]
        ends = exp.select(
            *names,
            exp.alias_(first(this=column(near)), "lower" if least else "upper"),
            exp.alias_(beyond, "upper" if least else "lower"),
        ).from_(items.table)
        if measured:
            one = first(this=column(near)).eq(beyond.copy())
            there = exp.Sum(this=column("mass")) > 0
            ends = ends.select(exp.alias_(exp.and_(one, there), "settled"))
        grouped = ends.group_by(*(n.copy() for n in names))
        return self.tables.named("ends", aggregate, lambda: grouped)

    def _expected(
        self,
        outcomes: Relation,
        ends: Relation,
        aggregate: Aggregate,
        keys: dict[str, list[str]],
        *also: str,
    ) -> exp.Select:
        """The first in order as it is expected, beside what is known of it."""
        least = aggregate.kind == "min"
        first = exp.Min if least else exp.Max
        names = [column(name) for name in keys["key"]]
        order = exp.Ordered(this=column("x"), desc=not least, nulls_first=False)
        rank = exp.Window(this=exp.DenseRank(), order=exp.Order(expressions=[order]))
        kept = [*names, *(column(name) for name in ("item", "x", "records", "weight", "mass"))]
        ranked = exp.select(*kept, exp.alias_(rank, "place")).from_(outcomes.table)
        placed = self.tables.named("placed", aggregate, lambda: ranked)
        chances = self.tables.named(
            "chances", aggregate, lambda: _step("query/chances", {"outcomes": placed}, keys)
        )
        x = column("x")
        assert aggregate.argument is not None
        if is_number(aggregate.argument, self.question.of(aggregate), self.target):
            guess: exp.Expr = exp.Sum(this=cast(x, "DOUBLE") * column("chance"))
        else:
            half = column("reached") >= exp.Literal.number("0.499999999999")
            guess = first(this=exp.case().when(half, x))
        grouped = (
            exp.select(*(n.copy() for n in names), exp.alias_(guess, "estimate"))
            .from_(chances.table)
            .group_by(*(n.copy() for n in names))
        )
        expected = self.tables.named("expected", aggregate, lambda: grouped)
        same = [
            exp.NullSafeEQ(this=column(name, "held"), expression=column(name, "expected"))
            for name in keys["key"]
        ]
        return (
            exp.select(
                *(column(name, "held") for name in (*keys["key"], "lower", "upper", *also)),
                column("estimate", "expected"),
            )
            .from_(aliased(ends, "held"))
            .join(aliased(expected, "expected"), on=exp.and_(*same), join_type="LEFT")
        )


def _measured_items(outcomes: Relation, records: Records, measure: Measure) -> exp.Select:
    """What equal records add to each group of the answer, of what is summed up of them.

    Columns: the keys, records (that have a value), mass, certain, the numbers of the measure, of
    which the least and greatest are called as in query_items.
    """
    keys = [column(name) for name in key_names(records.question)]
    place = records.measures.index(measure)
    certain = exp.and_(column("hits").eq(column("ways")), column("sure"), column("weight").eq(1))
    names = {"count": "records", "least": "low", "greatest": "high"}
    select = exp.select(
        *(key.copy() for key in keys),
        exp.alias_(certain, "certain"),
        exp.alias_(column("mass") * column("weight"), "mass"),
        *(exp.alias_(held(n, place), names.get(n, n)) for n in measure.pieces),
    )
    if measure.what == "sums" and "rough" not in measure.pieces:
        select = select.select(exp.alias_(cast(exp.null(), "INTEGER"), "rough"), copy=False)
    return select.from_(outcomes.table).where(held("count", place) > 0)


def _buckets(rough: Relation) -> exp.Select:
    """The ranges in which bounds lie."""
    ends = [
        exp.select(exp.alias_(bucket(column(end)), "bucket")).from_(rough.table)
        for end in ("lower", "upper")
    ]
    both = union_all(*ends).subquery(identifier("both"))
    present = column("bucket").is_(exp.null()).not_()
    return exp.select("bucket").distinct().from_(both).where(present)


def _step(
    name: str,
    tables: dict[str, Relation],
    keys: dict[str, list[str]],
    values: dict[str, int] | None = None,
) -> exp.Expr:
    query = step(name, tables, keys, values)
    for node in query.walk():
        node.pop_comments()
    return query


_ENDS = ("lower", "upper")


def _outwards(end: type[exp.Floor] | type[exp.Ceil], places: int) -> exp.Expr:
    """A bound moved outwards to the next DECIMAL of so many places."""
    bound = column("lower" if end is exp.Floor else "upper")
    unit = exp.cast(exp.Literal.number(10**places), "DOUBLE")
    near = exp.Round(this=bound * unit, decimals=exp.Literal.number(4))
    return end(this=near) / unit.copy()
