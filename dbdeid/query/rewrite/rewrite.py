"""Rewrite an analyst's question of the source into plain SQL on the release and its dictionary.

Each aggregate `x` becomes `x`, its expected value when every generalized value spreads uniformly
over its leaves, independently in each column; and `x_lower`, `x_upper`, the least and greatest that
it can be, whatever the leaves are. Bounds read every record that may or may not satisfy the
conditions as all or nothing. `records` tells which records an aggregate looks at, `aggregates` adds
them up.

Suppressed records are missing from the answer, unless they are spread by what is released; kept
ones are `*` and spread like any `*`. Where some records are counterfeit, a record counts with the
probability that it is real, and only one that is real for sure can be certain.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from sqlglot import exp

from dbdeid.engine.expressions import cast, column, identifier
from dbdeid.engine.relation import Relation
from dbdeid.query.groups.conditions import decided, interval, possible, present
from dbdeid.query.groups.exactly import in_places
from dbdeid.query.groups.held import STEP, Held
from dbdeid.query.groups.intervals import Interval
from dbdeid.query.groups.regrouped import Regrouped, over_items, regrouped
from dbdeid.query.parse.answerable import Answerable
from dbdeid.query.parse.common_tables import CommonTables, Keep
from dbdeid.query.parse.meaning import (
    exact_places,
    is_number,
    is_rounded,
    require_meaning,
    require_numbers,
    require_order,
    wider_type,
)
from dbdeid.query.parse.outputs import refuse_wide
from dbdeid.query.parse.question import (
    Aggregate,
    Kind,
    Output,
    Over,
    Question,
    aggregate_name,
    aggregate_place,
    key_name,
)
from dbdeid.query.rewrite.aggregates import Aggregates, records_of
from dbdeid.query.rewrite.counted import CountedRecords
from dbdeid.query.rewrite.records import WHOLE, Records, key_names
from dbdeid.query.rewrite.shares import aliased
from dbdeid.query.rewrite.windows import RANKS, over_groups

_COUNTS = ("count", "distinct")
# Whose bounds are values, without an error of rounding.
_EXACT = (*_COUNTS, "min", "max", "quantile_disc")


@dataclass(frozen=True)
class SuppressedRecords:
    """Records that were suppressed, to be spread like those that are released.

    Attributes:
        suppressed: how many.
        of: how many records the source has.
    """

    suppressed: int
    of: int


def estimate(
    question: Question,
    target: Answerable,
    missing: SuppressedRecords | None = None,
    keep: Keep | None = None,
    counted: CountedRecords | None = None,
) -> exp.Select:
    """The plain DuckDB query on the release that answers a question on the source.

    Counts are DOUBLE and their bounds BIGINT, sums and means DOUBLE, keys have the source's type
    (ENUM as VARCHAR). It raises an error of the engine rather than guess where the dictionary does
    not tell what a value stands for; `desk.unanswerable` gives the reason before.

    Args:
        question: what is asked.
        target: the release.
        missing: suppressed records to be spread; None: they are missing.
        keep: where tables of the dictionary alone are kept; None: they are part of the query.
        counted: where equal records may have been counted; None: the query counts them.

    Raises:
        DataError: an aggregate has no meaning for its argument, the order of an ENUM matters, or
            a table is joined on several generalized columns.
    """
    for asked in (question, *below(question)):
        refuse_wide(asked)
        require_order(asked, target)
        require_numbers(asked, target)
    tables = _tables(question, target, keep)
    aggregates = Aggregates(question, target, tables, counted)
    if counted is not None:  # for all of them at once rather than for each
        counted.of(*aggregates.columns())
    return _Rewriting(question, target, missing, tables, aggregates).query()


def unexpected(
    question: Question,
    target: Answerable,
    keep: Keep | None = None,
    counted: CountedRecords | None = None,
) -> exp.Select:
    """The query of how many groups may be there in which no record is expected.

    So are those of NULL, which a `*` may hide, and of single points between two bounds.
    """
    tables = _tables(question, target, keep)
    aggregates = Aggregates(question, target, tables, counted)
    groups = _Rewriting(question, target, None, tables, aggregates).groups
    few = exp.select(exp.Count(this=exp.Star())).from_(groups)
    return tables.before(few.where(exp.not_(exp.paren(column("mass", "groups") > 0))))


def parts(question: Question, target: Answerable) -> tuple[Records, ...]:
    """The records that each aggregate, and the list of groups, looks at."""
    plain = (a for a in question.aggregates if a.over is None and a.groups is None)
    asked = [records_of(question, target, one) for one in (Aggregate("count"), *plain)]
    for one in below(question):
        asked += parts(one, target)
    return tuple(asked)


def below(question: Question) -> list[Question]:
    """The questions about groups that aggregates are of."""
    return [question.below(one) for one in question.aggregates if one.groups is not None]


def _tables(question: Question, target: Answerable, keep: Keep | None) -> CommonTables:
    joined = [join.table for join in question.every_join]
    known = [target.release, *joined, *([target.dictionary] if target.dictionary else [])]
    return CommonTables.beside(known, keep)


@dataclass(frozen=True)
class _Rewriting:
    question: Question
    target: Answerable
    missing: SuppressedRecords | None
    tables: CommonTables
    aggregates: Aggregates

    def query(self) -> exp.Select:
        """The groups, each aggregate beside them, and what is asked of both."""
        select = self._beside(range(len(self.question.aggregates)))
        if self.question.keys:  # where nothing is expected, nothing is said
            select = select.where(column("mass", "groups") > 0)
        return self.tables.before(self._answered(select))

    @property
    def groups(self) -> exp.Table:
        """All groups that may be there, those in which no record is expected among them."""
        return aliased(self._aggregated(Aggregate("count")), "groups")

    def _beside(self, places: Iterable[int]) -> exp.Select:
        """The groups with some aggregates beside them, of which nothing is selected."""
        groups: exp.Expr = exp.select(exp.alias_(exp.Literal.number(0), WHOLE)).subquery("groups")
        if self.question.keys:
            groups = self.groups
        select = exp.select().from_(groups)
        for place in places:
            if self._holder(place) == "groups":
                continue
            aggregate = self.question.aggregates[place]
            answer, alias = self._aggregated(aggregate), aggregate_name(place)
            same = [
                exp.NullSafeEQ(this=column(key, "groups"), expression=column(own, alias))
                for key, own in self._keys(aggregate)
            ]
            on = exp.and_(*same) if same else exp.true()
            select = select.join(aliased(answer, alias), on=on, join_type="LEFT", copy=False)
        return select

    def _keys(self, aggregate: Aggregate) -> list[tuple[str, str]]:
        """The names of an aggregate's keys among the groups, and in its own table."""
        if aggregate.among is None:
            return [(name, name) for name in key_names(self.question)]
        return [(key_name(at), key_name(own)) for own, at in enumerate(aggregate.among.keys)]

    def _holder(self, place: int) -> str:
        """The table that holds an aggregate: COUNT(*) stands beside the keys already."""
        plain = self.question.keys and self.question.aggregates[place] == Aggregate("count")
        return "groups" if plain else aggregate_name(place)

    # -- one aggregate -----------------------------------------------------------------------

    def _aggregated(self, aggregate: Aggregate) -> Relation:
        """A table of the keys with `estimate`, `lower` and `upper`."""
        if aggregate.over is not None:
            window = aggregate.over
            return self.tables.named(
                aggregate.kind, aggregate, lambda: self._window(aggregate.kind, window)
            )
        if aggregate.groups is not None:
            return self.tables.named(
                f"{aggregate.kind}s", aggregate, lambda: self._over_below(aggregate)
            )
        require_meaning(aggregate, self.question.of(aggregate), self.target)
        made = self.aggregates.made
        return self.tables.named(f"{aggregate.kind}s", aggregate, lambda: made(aggregate))

    def _window(self, kind: Kind, over: Over) -> exp.Select:
        """A window over all groups that may be there."""
        used = {c.name for c in over.shown.find_all(exp.Column)}
        used |= {c.name for one in over.order for c in one.term.find_all(exp.Column)}
        places = [p for p in range(len(self.question.aggregates)) if aggregate_name(p) in used]
        held = Held({aggregate_name(p): self._interval(p) for p in places})
        for place in list(places):
            one = self.question.aggregates[place]
            if one.kind not in _COUNTS and one.records in self.question.aggregates:
                places.append(self.question.aggregates.index(one.records))
        shown = interval(over.shown, held)
        if kind in RANKS and self._is_rounded(over.shown):  # equals may be apart in the original
            shown = shown.nearly
        keys = key_names(self.question)
        count = exp.cast(column("lower", "groups"), "BIGINT")
        terms = [
            exp.alias_(self._of_groups(one.term), f"term_{place}")
            for place, one in enumerate(over.order)
        ]
        query = self._beside(dict.fromkeys(places)).select(
            *(column(key, "groups") for key in keys),
            exp.alias_(column("mass", "groups") > 0, "expected"),
            exp.alias_(count > 0, "certain"),
            exp.alias_(present(over.shown, held), "settled"),
            exp.alias_(shown.value, "value"),
            exp.alias_(shown.lower, "lower"),
            exp.alias_(shown.upper, "upper"),
            *terms,
            exp.alias_(exp.Window(this=exp.RowNumber()), "number"),
        )
        query = held.before(query, self._step)
        seen = self.tables.named("seen", (kind, over), lambda: query)
        return over_groups(kind, over, seen, keys)

    def _in_window(self, kind: Kind, over: Over, found: Interval) -> Interval:
        """The value of a window for a group, in the decimal places in which the original has it."""
        if kind in RANKS:
            return replace(found, places=0)
        names = {c.name for c in over.shown.find_all(exp.Column)}
        held = Held({n: self._interval(aggregate_place(n)) for n in names})
        shown = interval(over.shown, held)
        if kind != "running_sum" or not shown.places or found.unknown:
            return replace(found, places=shown.places)
        lower, upper = (
            in_places(outwards, end, exp.Abs(this=end.copy()), shown.places)
            for outwards, end in ((exp.Sub, found.lower), (exp.Add, found.upper))
        )
        return replace(found, lower=lower, upper=upper, places=shown.places)

    def _is_rounded(self, shown: exp.Expr) -> bool:
        """Whether the original may have another number of aggregates in the last digits."""
        inside = exp.paren(shown.copy())
        named = [c.name for c in inside.find_all(exp.Column)]
        used = [self.question.aggregates[aggregate_place(name)] for name in named]
        parts = [n for n in inside.find_all(exp.Literal) if not n.is_string and not n.is_int]
        return bool(parts) or any(
            is_rounded(one, self.question.of(one), self.target) for one in used if one.over is None
        )

    def _over_below(self, aggregate: Aggregate) -> exp.Expr:
        """An aggregate of groups, which are those of a question of their own."""
        below = self.question.below(aggregate)
        tables = self.tables.apart(aggregate)
        aggregates = Aggregates(below, self.target, tables, self.aggregates.counted)
        inner = _Rewriting(below, self.target, self.missing, tables, aggregates)
        own = key_names(self.question.of(aggregate))
        items = self.tables.named("groups", aggregate, lambda: inner.as_items(aggregate, own))
        groups = aggregate.groups
        used = groups.named(groups.value) if groups is not None else []
        whole = bool(used) and all(one.kind in _COUNTS for one in used)
        return over_items(aggregate, items, own, whole=whole)

    def as_items(self, aggregate: Aggregate, names: Sequence[str]) -> exp.Select:
        """The groups that an aggregate is of, as `groups.regrouped` reads them.

        Args:
            aggregate: of another question, which this one is about the groups of.
            names: of the keys of that question.
        """
        groups = aggregate.groups
        assert groups is not None
        places = range(len(self.question.aggregates))
        points = {key: column(key, "groups") for key in key_names(self.question)}
        held = Held(
            {aggregate_name(place): self._interval(place) for place in places}
            | {key: Interval(point, point, point) for key, point in points.items()}
        )
        rounded = {
            aggregate_name(p) for p in places if self.question.aggregates[p].kind not in _EXACT
        }
        where = decided(groups.condition, held, rounded)
        passes: exp.Expr = exp.true()
        if groups.condition is not None:
            expected = self._of_groups(groups.condition)
            passes = exp.Coalesce(this=expected, expressions=[exp.false()])
        chance = self._values(len(places) - 1)[0]
        there = exp.cast(column("lower", "groups"), "BIGINT") > 0
        value = Interval(exp.null(), exp.null(), exp.null())
        certain, may = [there, where.holds], [where.may_hold]
        if groups.value is not None:
            value = interval(groups.value, held)
            certain.append(present(groups.value, held))
            may.append(possible(groups.value, held))
        plain = isinstance(groups.value, exp.Column)
        alone = next(iter(groups.named(groups.value)), None) if plain else None
        kind = alone.kind if alone is not None else None
        together = None
        if aggregate.is_most_records:
            of_all = self.question.aggregates.index(self.question.together(groups))
            _, together, _ = self._values(of_all)
        first = len(groups.keys)
        keys: list[exp.Expr] = [column(key_name(first + at), "groups") for at in range(len(names))]
        if names == [WHOLE]:
            keys = [exp.Literal.number(0)]
        items = regrouped(
            self._beside(places),
            Regrouped(
                keys=dict(zip(names, keys, strict=True)),
                first=column(key_name(0), "groups"),
                chance=exp.case().when(passes, chance).else_(cast(exp.Literal.number(0), "DOUBLE")),
                certain=exp.and_(*certain),
                possible=exp.and_(*may),
                value=value,
                added=kind in ("count", "sum", "distinct"),
                records=kind == "count" and alone == Aggregate("count"),
                together=together,
            ),
            aggregate.kind,
        )
        return held.before(items, self._step)

    def _step(self, query: exp.Select) -> Relation:
        return self.tables.named(STEP, query, lambda: query)

    # -- the answer --------------------------------------------------------------------------

    def _answered(self, select: exp.Select) -> exp.Select:
        places = range(len(self.question.aggregates))
        held = Held({aggregate_name(place): self._interval(place) for place in places})
        for output in self.question.outputs:
            if output.key is not None:
                key = column(key_name(output.key), "groups")
                select = select.select(exp.alias_(key, identifier(output.name)), copy=False)
                continue
            if output.shown is None:
                label = exp.null() if output.label is None else output.label.copy()
                select = select.select(exp.alias_(label, identifier(output.name)), copy=False)
                continue
            shown = interval(output.shown, held)
            if self._may_be_beyond(output):
                shown = shown.clamped
            nodes = (shown.value, shown.lower, shown.upper)
            for ending, node in zip(("", "_lower", "_upper"), nodes, strict=True):
                named = exp.alias_(node, identifier(f"{output.name}{ending}"))
                select = select.select(named, copy=False)
        if self.question.having is not None:
            select = select.where(exp.paren(self._of_groups(self.question.having)))
        for order in self.question.stable_order:
            term = exp.Ordered(
                this=self._of_groups(order.term),
                desc=order.descending,
                nulls_first=order.nulls_first,
            )
            select = select.order_by(term)
        if self.question.limit is not None:
            select = select.limit(self.question.limit, copy=False)
        if self.question.offset is not None:
            select = select.offset(self.question.offset, copy=False)
        return held.before(select, self._step)

    def _of_groups(self, node: exp.Expr) -> exp.Expr:
        """An expression of keys and aggregates, over the tables that hold them."""
        used = {c.name for c in exp.paren(node.copy()).find_all(exp.Column)}
        names = {
            name: self._interval(place).widest.value
            for place in range(len(self.question.aggregates))
            if (name := aggregate_name(place)) in used
        }
        keys = {key_name(place) for place in range(len(self.question.keys))}

        def held(n: exp.Expr) -> exp.Expr:
            if not isinstance(n, exp.Column) or n.table:
                return n
            return column(n.name, "groups") if n.name in keys else names[n.name].copy()

        return exp.paren(node.copy()).transform(held)

    def _values(self, place: int) -> tuple[exp.Expr, exp.Expr, exp.Expr]:
        """An aggregate's expected value and bounds, suppressed records spread where asked."""
        kind, alias = self.question.aggregates[place].kind, self._holder(place)
        found: list[exp.Expr] = [column(n, alias) for n in ("estimate", "lower", "upper")]
        if kind in _COUNTS:
            nothing = ("DOUBLE", "BIGINT", "BIGINT")
            counts = [
                exp.Coalesce(this=node, expressions=[cast(exp.Literal.number(0), kind_of)])
                for node, kind_of in zip(found, nothing, strict=True)
            ]
            found = [cast(n, kind_of) for n, kind_of in zip(counts, nothing, strict=True)]
        value, lower, upper = found
        if self.missing is not None and self.missing.suppressed:
            if self.question.aggregates[place].groups is not None:  # they may be of any group
                return value, exp.null(), exp.null()
            value, lower, upper = self._with_missing(kind, self.missing, value, lower, upper)
        if not self.target.truthful:
            return value, exp.null(), exp.null()
        return value, lower, upper

    def _with_missing(
        self,
        kind: str,
        missing: SuppressedRecords,
        value: exp.Expr,
        lower: exp.Expr,
        upper: exp.Expr,
    ) -> tuple[exp.Expr, exp.Expr, exp.Expr]:
        """Spread like what is released; what they are is not known, only how many."""
        if kind in ("count", "sum"):
            there = exp.Literal.number(missing.of - missing.suppressed)
            value = value * exp.Literal.number(missing.of) / cast(there, "DOUBLE")
        if kind in _COUNTS:
            return value, lower, exp.paren(upper + exp.Literal.number(missing.suppressed))
        return value, exp.null(), exp.null()

    def _may_be_beyond(self, output: Output) -> bool:
        """Whether what is expected may be computed to be beyond what is possible."""
        first, *others = (self.question.aggregates[place] for place in output.aggregates)
        if first.over is not None:  # what is expected of a group may be no value that it can have
            return True
        if others or first.kind not in ("min", "max") or first.argument is None:
            return bool(others) or not isinstance(output.shown, exp.Column)
        return is_number(first.argument, self.question.of(first), self.target)

    def _interval(self, place: int) -> Interval:
        """An aggregate between its bounds, with how many records it is of, if that is asked."""
        value, lower, upper = self._values(place)
        one = self.question.aggregates[place]
        parts = frozenset(
            aggregate_name(other)
            for other, part in enumerate(self.question.aggregates)
            if self.question.is_total(one, of=part)
        )
        if one.kind in _COUNTS:
            return Interval(value, lower, upper, counts=True, whole=True, parts=parts, places=0)
        if one.over is not None:  # of one group it is NULL
            return self._in_window(one.kind, one.over, Interval(value, lower, upper))
        places = exact_places(one, self.question.of(one), self.target)
        wider = wider_type(one, self.question.of(one), self.target)
        found = Interval(value, lower, upper, places=places, wider=wider)
        if parts:
            known = column("nonnegative", self._holder(place))
            found = replace(found, parts=parts, nonnegative=known)
        among = one.records
        if among not in self.question.aggregates:
            return found
        _, certain, possible = self._values(self.question.aggregates.index(among))
        if one.kind == "var_samp":  # there is none of one record
            certain, possible = (
                exp.Greatest(this=end - 1, expressions=[exp.Literal.number(0)])
                for end in (certain, possible)
            )
        return replace(found, records=(certain, possible))
