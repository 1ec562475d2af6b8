"""The groups of a question: keys, and aggregates as the clauses of a SELECT use them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction

from sqlglot import exp

from dbdeid.engine.expressions import column
from dbdeid.query.parse.aliases import AGGREGATES, has_aggregate
from dbdeid.query.parse.expressions import (
    OVER_GROUPS,
    Scope,
    bare,
    constant,
    instead_of,
    is_alternatives,
    named,
    refuse_strange,
    refused,
)
from dbdeid.query.parse.outputs import (
    CORRELATION,
    as_case,
    as_mean,
    correlated,
    filtered_sum,
    is_day,
    is_text,
    operands,
    texts_of,
)
from dbdeid.query.parse.question import (
    Aggregate,
    Among,
    Grouped,
    Join,
    Kind,
    Order,
    Over,
    aggregate_name,
    aggregate_place,
    key_name,
    replaced,
)
from dbdeid.query.parse.statement import only


@dataclass(frozen=True)
class Total:
    """A subquery of one number, as `Question` has it: aggregates and what is shown of them."""

    shown: exp.Expr
    aggregates: tuple[Aggregate, ...]
    joins: tuple[Join, ...]
    where: exp.Expr | None


@dataclass
class Groups:
    """The keys, and the aggregates as they are met.

    Attributes:
        scope: what names mean.
        keys: what records are grouped by.
        joins, where: the records of all groups.
        totals: what stands for subqueries, by the names of their placeholders.
        aggregates: those of the question so far.
    """

    scope: Scope
    keys: list[exp.Expr]
    joins: tuple[Join, ...] = ()
    where: exp.Expr | None = None
    totals: Mapping[str, Total] = field(default_factory=dict)
    aggregates: list[Aggregate] = field(default_factory=list)

    def _is_own(self, among: Among) -> bool:
        return (among.joins, among.where) == (self.joins, self.where)

    def hides(self, reference: exp.Column) -> bool:
        """Whether an unqualified name in HAVING is a key, or a column within an aggregate."""
        if not self.scope.knows(reference):
            return False
        return (
            reference.find_ancestor(*AGGREGATES) is not None
            or self.scope.scalar(reference, "HAVING") in self.keys
        )

    def place(self, node: exp.Expr) -> int:
        """The place of an aggregate, which is added unless it is there."""
        if isinstance(node, exp.Window):
            return self._add(self._over_groups(node))
        return self._add(self._aggregate(node))

    def _over_groups(self, window: exp.Window) -> Aggregate:
        """A window over groups: a total is the same of all records of several groups."""
        only(window, {"this", "partition_by", "order", "spec", "over"}, " of a window")
        keys = []
        for term in window.args.get("partition_by") or ():
            key = self.scope.scalar(term, "PARTITION BY")
            if key not in self.keys:
                raise refused("PARTITION BY of what is no key", "add it to GROUP BY")
            keys.append(self.keys.index(key))
        places, order = tuple(sorted(set(keys))), window.args.get("order")
        if order is not None or not isinstance(window.this, exp.Sum):
            return self._in_order(window, places)
        only(window, {"this", "partition_by", "over"}, " of a window")
        one = self._added_up(window)
        return replace(one, among=Among(places, self.joins, self.where))

    def _added_up(self, window: exp.Window) -> Aggregate:
        """The aggregate that a window adds up."""
        if not isinstance(window.this, exp.Sum) or not has_aggregate(window.this.this):
            raise refused(named(window), instead_of(window))
        one = self._aggregate(bare(window.this.this))
        if one.kind not in ("count", "sum"):
            raise refused(f"a window over {one.kind.upper()}", instead_of(window))
        return one

    def _in_order(self, window: exp.Window, keys: tuple[int, ...]) -> Aggregate:
        """A window over groups that are in an order."""
        given = window.args.get("order")
        if given is None or not self.keys:
            raise refused(f"{named(window)} without an order of groups", instead_of(window))
        order = tuple(
            Order(
                self.term(term.this, "ORDER BY of a window"),
                bool(term.args.get("desc")),
                bool(term.args.get("nulls_first")),
            )
            for term in given.expressions
        )
        kind = _PLACES.get(type(window.this))
        if kind is not None:
            only(window, {"this", "partition_by", "order", "over"}, " of a window")
            return Aggregate(kind, over=Over(self._ranked(order, given, kind), keys, order))
        if type(window.this) not in (exp.Sum, *_NEIGHBOURS):
            why = f"{named(window.this)} over groups"
            raise refused(why, instead_of(window.this, OVER_GROUPS))
        if any(self._aggregates_in(one.term) for one in order):
            raise refused("a sum or LAG over groups in the order of an aggregate", OVER_GROUPS)
        if type(window.this) in _NEIGHBOURS:
            only(window, {"this", "partition_by", "order", "over"}, " of a window")
            return self._neighbour(window.this, keys, order)
        frame = window.args.get("spec")
        _refuse_frame(frame)
        by_rows = frame is not None and frame.text("kind").upper() == "ROWS"
        place = self._add(self._added_up(window))
        over = Over(column(aggregate_name(place)), keys, order, by_rows=by_rows)
        return Aggregate("running_sum", over=over)

    def _ranked(self, order: tuple[Order, ...], given: exp.Expr, kind: Kind) -> exp.Expr:
        """What groups are ranked by: an expression of aggregates, before all keys."""
        first, *others = order
        if not self._aggregates_in(first.term) or first.nulls_first:
            raise refused(f"{kind.upper()} by a key, or NULL first", "rank by an aggregate")
        if any(self._aggregates_in(other.term) for other in others):
            raise refused(f"{kind.upper()} by several aggregates", "rank by one of them")
        shown = self.shown(bare(given.expressions[0].this))
        for one in self._named(shown):
            if one.over is not None:
                raise refused(f"{kind.upper()} by a window")
            if one.kind not in ("count", "distinct"):  # it may be NULL, and then comes last
                self._add(one.records)
        return shown

    def _neighbour(
        self, node: exp.Expr, keys: tuple[int, ...], order: tuple[Order, ...]
    ) -> Aggregate:
        kind = _NEIGHBOURS[type(node)]
        only(node, {"this", "offset"}, f" of {kind.upper()}")
        distance = node.args.get("offset")
        far = 1 if distance is None else constant(distance)
        if far is None or far < 0 or not float(far).is_integer():
            raise refused(f"{kind.upper()} by what is not a whole number", "write the number")
        if not has_aggregate(node.this):
            raise refused(f"{kind.upper()} of a key")
        return Aggregate(kind, over=Over(self.shown(bare(node.this)), keys, order, int(far)))

    @staticmethod
    def _aggregates_in(term: exp.Expr) -> bool:
        return any(c.name.startswith("aggregate_") for c in term.find_all(exp.Column))

    def _total(self, total: Total) -> exp.Expr:
        """What a subquery of one number stands for, over the placeholders of its aggregates."""

        def held(reference: exp.Column) -> exp.Expr:
            one = total.aggregates[aggregate_place(reference.name)]
            among = one.among or Among((), total.joins, total.where)
            return column(aggregate_name(self._add(replace(one, among=among))))

        return exp.paren(replaced(total.shown, held))

    def _add(self, found: Aggregate) -> int:
        if found not in self.aggregates:
            self.aggregates.append(found)
        return self.aggregates.index(found)

    def shown(self, node: exp.Expr, *, text: bool = False) -> exp.Expr:
        """What an output shows of aggregates, over their placeholders.

        `text`: whether CASE may give text, with which nothing is computed.
        """
        if isinstance(node, exp.Placeholder):
            return self._total(self.totals[node.name])
        if (variance := _squared(node)) is not None:
            return exp.Sqrt(this=self.shown(variance))
        if (filtered := filtered_sum(node)) is not None:
            return _where_there(*map(self.shown, filtered))
        if (parts := correlated(node)) is not None:
            return exp.Anonymous(this=CORRELATION, expressions=list(map(self.shown, parts)))
        if isinstance(node, AGGREGATES):
            return column(aggregate_name(self.place(node)))
        if not has_aggregate(node):
            return node.copy()
        if isinstance(node, exp.If):
            node = as_case(node)
        if isinstance(node, exp.Div) and (mean := as_mean(node, self._or_zero)) is not None:
            return _where_there(*(self.shown(part) if part else None for part in mean))
        made, texts = node.copy(), texts_of(node) if text else []
        days = isinstance(node, (exp.Sub, exp.DateDiff))
        for old, part in zip(operands(made), operands(node), strict=True):
            given = any(part is one for one in texts)
            plain = (
                constant(part) is not None or (given and is_text(part)) or (days and is_day(part))
            )
            if not has_aggregate(part) and not plain:
                what = f"{named(node)} of an aggregate and of what is no number"
                raise refused(what, instead_of(node))
            old.replace(self.shown(part, text=given))
        if isinstance(made, exp.Div) and self._divides_none(made):
            zero = exp.Literal.number(0)
            made.set("expression", exp.Nullif(this=made.expression, expression=zero))
        if isinstance(made, exp.Coalesce):  # it is NULL where there are no such records
            _refuse_nan(node, grouped=bool(self.keys))
            self._add_records(made.this)
        if isinstance(made, (exp.Greatest, exp.Least, exp.Case)):
            self._add_records(made)
        return made

    def _add_records(self, shown: exp.Expr) -> None:
        """How many records there are of each aggregate that is NULL without any."""
        for one in self._named(shown):
            if one.over is None and one.kind not in ("count", "distinct"):
                self._add(one.records)

    def _or_zero(self, node: exp.Expr) -> exp.Expr:
        """An expression of one record as a number, 0 where it is NULL."""
        one, zero = exp.Literal.number(1), exp.Literal.number(0)
        value = bare(self.scope.scalar(node, "SUM"))
        truth = isinstance(value, (exp.Predicate, exp.Connector, exp.Not, exp.Boolean))
        if truth or value.is_type(exp.DType.BOOLEAN):
            return exp.case().when(exp.paren(node.copy()), one).else_(zero)
        return exp.Coalesce(this=node.copy(), expressions=[zero])

    def _divides_none(self, quotient: exp.Div) -> bool:
        """Whether a quotient is NULL wherever its divisor is a count of 0."""
        divisor = bare(quotient.expression)
        if not isinstance(divisor, exp.Column):
            return False
        (count,) = self._named(divisor)
        if replace(count, among=None) == Aggregate("count"):
            own = count.among is None or self._is_own(count.among)
            if self.keys and own:  # no group without a record
                return True
        elif count.kind not in ("count", "distinct"):
            return False
        strict = exp.paren(quotient.this.copy())
        for known in list(strict.find_all(exp.Coalesce)):
            known.replace(exp.null())
        return any(
            one.kind not in ("count", "distinct")
            and one.over is None
            and (one.condition, one.among) == (count.condition, count.among)
            and count.argument in (None, one.argument)
            for one in self._named(strict)
        )

    def _named(self, node: exp.Expr) -> list[Aggregate]:
        """The aggregates whose placeholders stand in an expression."""
        return [self.aggregates[aggregate_place(c.name)] for c in node.find_all(exp.Column)]

    def term(self, node: exp.Expr, clause: str) -> exp.Expr:
        """An expression of aggregates and keys over their placeholders."""
        if is_alternatives(node):
            hint = "compare records with it, in WHERE, or ask for that number first"
            raise refused(f"a comparison of groups with a subquery in {clause}", hint)
        if isinstance(node, exp.Placeholder):
            return self._total(self.totals[node.name])
        if (variance := _squared(node)) is not None:
            return exp.Sqrt(this=self.term(variance, clause))
        if isinstance(node, AGGREGATES):
            return column(aggregate_name(self.place(node)))
        refuse_strange(node, clause)
        if isinstance(node, exp.Div) and (mean := as_mean(node, self._or_zero)) is not None:
            return _where_there(*(self.term(part, clause) if part else None for part in mean))
        if not has_aggregate(node):
            value = self.scope.scalar(node, clause)
            if value in self.keys:
                return column(key_name(self.keys.index(value)))
            if not value.find(exp.Column):
                return node.copy()
            if isinstance(node, exp.Column):
                what = f"{node.name}, which is neither a key nor in an aggregate"
                raise refused(f"{clause} names {what}", "add it to GROUP BY, or aggregate it")
        copy = node.copy()
        parts = list(zip(copy.iter_expressions(), node.iter_expressions(), strict=True))
        for old, part in parts:
            old.replace(self.term(part, clause))
        return copy

    def _aggregate(self, node: exp.Expr) -> Aggregate:
        condition = None
        if isinstance(node, exp.Filter):
            condition = self.scope.scalar(node.expression.this, "FILTER")
            node = node.this
        if isinstance(node, exp.CountIf):  # of no condition that is known it is NULL, like a sum
            counted = exp.cast(self.scope.scalar(node.this, "COUNT_IF"), "BOOLEAN")
            return Aggregate("sum", exp.cast(counted, "INTEGER"), condition)
        if isinstance(node, (exp.LogicalOr, exp.LogicalAnd)):
            truth = exp.cast(self.scope.scalar(node.this, node.sql_name()), "BOOLEAN")
            return Aggregate("max" if isinstance(node, exp.LogicalOr) else "min", truth, condition)
        if (quantile := _quantile(node)) is not None:
            of, argument, fraction = quantile
            value = self.scope.scalar(argument, of.upper())
            return Aggregate(of, value, condition, fraction=fraction)
        if (chosen := _chosen(node)) is not None:
            return self._chosen(node, *chosen, condition)
        kind = _KINDS.get(type(node))
        if kind is None:
            raise refused(named(node), instead_of(node))
        name = node.sql_name() if isinstance(node, exp.Func) else kind.upper()
        if any(value for clause, value in node.args.items() if clause not in ("this", "big_int")):
            raise refused(f"{name} of more than one argument", "give it one")
        argument = node.this
        if kind == "count" and (argument is None or isinstance(bare(argument), _PRESENT)):
            if isinstance(argument, exp.Star):
                only(argument, (), f" in {name}")
            return Aggregate("count", None, condition)
        if isinstance(argument, exp.Distinct):
            if kind != "count":
                raise refused(f"{name}(DISTINCT …)", "only COUNT may be DISTINCT")
            if len(argument.expressions) != 1:
                raise refused("COUNT(DISTINCT …) of several columns", "count one of them")
            kind, argument = "distinct", argument.expressions[0]
        return Aggregate(kind, self.scope.scalar(argument, name), condition)

    def _chosen(
        self, node: exp.Expr, value: exp.Expr, by: exp.Expr | None, condition: exp.Expr | None
    ) -> Aggregate:
        """MODE, ARG_MAX or ARG_MIN: of the groups by a value, the one with the most records, or
        with the greatest or least value of another expression."""
        key = self.scope.scalar(value, named(node))
        if not key.find(exp.Column):
            raise refused(f"{named(node)} of a constant")
        present = exp.paren(key.copy()).is_(exp.null()).not_()
        counted = present if condition is None else exp.and_(condition, present)
        of_group = column(aggregate_name(0))
        if by is None:
            one, some = Aggregate("count", None, counted), of_group > 0
            return Aggregate("arg_max", groups=Grouped((key,), (one,), of_group, some))
        least = isinstance(node, exp.ArgMin)
        argument = self.scope.scalar(by, named(node))
        one = Aggregate("min" if least else "max", argument, counted)
        kind: Kind = "arg_min" if least else "arg_max"
        return Aggregate(kind, groups=Grouped((key,), (one,), of_group))


def _where_there(mean: exp.Expr | None, count: exp.Expr | None) -> exp.Expr:
    """A mean or a sum, NULL where a count is 0."""
    assert mean is not None
    if count is None:
        return mean
    return exp.If(this=count > 0, true=mean)


def _squared(node: exp.Expr) -> exp.Expr | None:
    """The variance of which a standard deviation is the root; None of other nodes."""
    inner = node.this if isinstance(node, exp.Filter) else node
    kind = _ROOTS.get(type(inner))
    if kind is None:
        return None
    variance = kind(this=inner.this.copy())
    if inner is node:
        return variance
    return exp.Filter(this=variance, expression=node.expression.copy())


def _chosen(node: exp.Expr) -> tuple[exp.Expr, exp.Expr | None] | None:
    """What MODE, ARG_MAX or ARG_MIN chooses, and by what; None of other nodes."""
    if isinstance(node, exp.WithinGroup) and isinstance(node.this, exp.Mode):
        ordered = node.expression.expressions if isinstance(node.expression, exp.Order) else ()
        if len(ordered) != 1 or node.this.this is not None:
            raise refused("MODE of what is not one expression")
        return ordered[0].this, None
    if isinstance(node, exp.Mode):
        return node.this, None
    if not isinstance(node, (exp.ArgMax, exp.ArgMin)):
        return None
    if node.args.get("count") is not None:
        raise refused(f"{named(node)} of several values", "ask for one, or for the groups")
    return node.this, node.expression


def _quantile(node: exp.Expr) -> tuple[Kind, exp.Expr, Fraction] | None:
    """Which quantile of what an aggregate is; None if it is none.

    Raises:
        DataError: the fraction is not one number from 0 to 1, or the order is not plain.
    """
    argument, given = node.this, node.args.get("expression") or node.args.get("quantile")
    if isinstance(node, exp.WithinGroup):
        ordered = node.expression.expressions if isinstance(node.expression, exp.Order) else ()
        if len(ordered) != 1 or ordered[0].args.get("desc"):
            raise refused("WITHIN GROUP by another order than that of one expression")
        node, given, argument = node.this, node.this.this, ordered[0].this
    if isinstance(node, exp.Median):
        return "quantile_cont", argument, Fraction(1, 2)
    kind = _QUANTILES.get(type(node))
    if kind is None:
        return None
    number = bare(given) if given is not None else None
    if not isinstance(number, exp.Literal) or number.is_string:
        raise refused(f"{kind.upper()} of what is not one number", "ask for one at a time: 0.5")
    fraction = Fraction(number.name)
    if not 0 <= fraction <= 1 or fraction.denominator > _FINEST:
        raise refused(
            f"{kind.upper()} of a fraction that is not from 0 to 1, of 6 digits", "write it as 0.95"
        )
    return kind, argument, fraction


def _refuse_nan(known: exp.Expr, *, grouped: bool) -> None:
    """Refuse COALESCE of 0 / 0, which is NaN and not NULL."""
    for quotient in known.find_all(exp.Div):
        divisor = bare(quotient.expression)
        if isinstance(divisor, exp.Nullif) or constant(divisor) is not None:
            continue
        of_all = isinstance(divisor, exp.Count) and isinstance(divisor.this, exp.Star)
        if not (grouped and of_all):
            raise refused("COALESCE of a ratio whose divisor may be 0", "write x / NULLIF(y, 0)")


def _refuse_frame(spec: exp.Expr | None) -> None:
    """Refuse frames other than from the first group to this one."""
    if spec is None:
        return
    start = (spec.text("start").upper(), spec.text("start_side").upper())
    until = (spec.text("end").upper(), spec.text("end_side").upper())
    here = until in (("CURRENT ROW", ""), ("", ""))  # which a start alone means
    known = spec.text("kind").upper() in ("ROWS", "RANGE")
    if start != ("UNBOUNDED", "PRECEDING") or not here or not known or spec.text("exclude"):
        raise refused("a window of other groups than those from the first to this one")


_PLACES: dict[type[exp.Expr], Kind] = {
    exp.Rank: "rank",
    exp.DenseRank: "dense_rank",
    exp.RowNumber: "row_number",
}
_NEIGHBOURS: dict[type[exp.Expr], Kind] = {exp.Lag: "lag", exp.Lead: "lead"}
_FINEST = 1_000_000
_ROOTS: dict[type[exp.Expr], type[exp.AggFunc]] = {
    exp.Stddev: exp.Variance,
    exp.StddevSamp: exp.Variance,
    exp.StddevPop: exp.VariancePop,
}
_QUANTILES: dict[type[exp.Expr], Kind] = {
    exp.PercentileCont: "quantile_cont",
    exp.PercentileDisc: "quantile_disc",
    exp.Quantile: "quantile_disc",
}
# Never NULL, so that counting them counts records.
_PRESENT = (exp.Star, exp.Literal, exp.Boolean)
_KINDS: dict[type[exp.Expr], Kind] = {
    exp.Count: "count",
    exp.Sum: "sum",
    exp.Avg: "avg",
    exp.Min: "min",
    exp.Max: "max",
    exp.VariancePop: "var_pop",
    exp.Variance: "var_samp",
}
