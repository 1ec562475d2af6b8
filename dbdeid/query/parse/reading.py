"""From an analyst's SQL to a checked question about groups of records.

Everything outside the supported form is refused by name; nothing is guessed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from sqlglot import exp

from dbdeid.engine.expressions import column
from dbdeid.query.parse.aliases import AGGREGATES, Item, expanded, has_aggregate, read_item
from dbdeid.query.parse.answerable import Answerable
from dbdeid.query.parse.expressions import (
    Scope,
    bare,
    constant,
    instead_of,
    named,
    refuse_strange,
    refused,
)
from dbdeid.query.parse.outputs import as_mean, operands
from dbdeid.query.parse.question import (
    Aggregate,
    Kind,
    Order,
    Output,
    Question,
    aggregate_name,
    aggregate_place,
    key_name,
)
from dbdeid.query.parse.statement import only, statement
from dbdeid.query.parse.tables import tables

_CLAUSES = {
    "expressions",
    "with_",
    "from_",
    "joins",
    "where",
    "group",
    "having",
    "order",
    "limit",
    "offset",
}


def parse(text: str, target: Answerable) -> Question:
    """Read one analyst statement.

    Raises:
        DataError: it is not one valid SELECT of the supported form; the clause is named.
    """
    try:
        return _read(statement(text), target)
    except RecursionError:
        raise refused("the query is nested too deeply", "ask several simpler queries") from None


def _read(select: exp.Select, target: Answerable) -> Question:
    if select.args.get("distinct"):
        raise refused("SELECT DISTINCT", "GROUP BY the columns and COUNT(*) them")
    only(select, _CLAUSES)
    read = tables(select, target)
    items = _items(select, read.scope)
    where = [*read.conditions]
    if condition := select.args.get("where"):
        given = expanded(condition.this, items, read.scope.knows)
        where.append(read.scope.scalar(given, "WHERE"))
    groups = _Groups(read.scope, _keys(select, items, read.scope))
    outputs = tuple(_output(item, groups) for item in items)
    if all(output.shown is None for output in outputs):
        raise refused("SELECT without an aggregate", "add COUNT(*)")
    _refuse_alike(outputs)
    having = None
    if condition := select.args.get("having"):
        if _of_all(select):
            _refuse_two_meanings(condition.this, items, groups)
        having = groups.term(expanded(condition.this, items, groups.hides), "HAVING")
        if _of_all(select):
            _refuse_more_groups(having, groups.keys)
    order = _order(select, items, groups)
    return Question(
        keys=tuple(groups.keys),
        aggregates=tuple(groups.aggregates),
        outputs=outputs,
        joins=read.joins,
        where=_all(where),
        having=having,
        order=order,
        limit=_number(select, "limit"),
        offset=_number(select, "offset"),
    )


def _all(conditions: Sequence[exp.Expr]) -> exp.Expr | None:
    return exp.and_(*conditions) if conditions else None


# -- the SELECT list ----------------------------------------------------------------------------


def _items(select: exp.Select, scope: Scope) -> list[Item]:
    items: list[Item] = []
    for node in select.expressions:
        items.append(read_item(node, items, scope, "SELECT"))
    return items


def _output(made: Item, groups: _Groups) -> Output:
    if made.aggregates:
        return Output(made.name, shown=bare(groups.shown(made.expression)))
    key = groups.scope.scalar(made.expression, "SELECT")
    if key not in groups.keys:
        names = ", ".join(sorted({c.name for c in key.find_all(exp.Column)}))
        what = f"an expression of {names}" if names else "a constant"
        plain = names if isinstance(key, exp.Column) else what
        raise refused(f"{plain} is selected but not in GROUP BY")
    return Output(made.name, key=groups.keys.index(key))


def _refuse_alike(outputs: Sequence[Output]) -> None:
    """Refuse names that the answer, with its bounds, would hold twice."""
    taken: dict[str, int] = {}
    for place, output in enumerate(outputs, start=1):
        bounds = ("_lower", "_upper") if output.shown is not None else ()
        for name in (output.name, *(output.name + bound for bound in bounds)):
            other = taken.setdefault(name.lower(), place)
            if other != place:
                hint = "name them apart: … AS name; an aggregate x has bounds x_lower and x_upper"
                raise refused(f"columns {other} and {place} of SELECT share a name", hint)


# -- groups -----------------------------------------------------------------------------------


def _keys(select: exp.Select, items: Sequence[Item], scope: Scope) -> list[exp.Expr]:
    group = select.args.get("group")
    if group is None:
        return []
    for kind in ("cube", "rollup", "grouping_sets"):
        if group.args.get(kind):
            raise refused(kind.upper().replace("_", " "))
    only(group, {"expressions", "all"}, " in GROUP BY")
    if _of_all(select):
        terms = [item.expression for item in items if not item.aggregates]
    else:
        terms = [_grouped(bare(term), items, scope) for term in group.expressions]
    keys: list[exp.Expr] = []
    for term in terms:
        key = scope.scalar(term, "GROUP BY")
        if not key.find(exp.Column):
            raise refused("GROUP BY of a constant")
        if key not in keys:
            keys.append(key)
    return keys


def _of_all(select: exp.Select) -> bool:
    group = select.args.get("group")
    return group is not None and bool(group.args.get("all"))


def _refuse_two_meanings(having: exp.Expr, items: Sequence[Item], groups: _Groups) -> None:
    """Refuse a key that is called like another item: what DuckDB takes it for in HAVING depends on
    whether the keys are written."""
    for reference in having.find_all(exp.Column):
        if reference.table or reference.find_ancestor(*AGGREGATES) or not groups.hides(reference):
            continue
        key = groups.scope.scalar(reference, "HAVING")
        alike = [item for item in items if item.name.lower() == reference.name.lower()]
        if any(
            has_aggregate(item.expression) or groups.scope.scalar(item.expression, "SELECT") != key
            for item in alike
        ):
            raise refused(
                f"HAVING {reference.name} under GROUP BY ALL: it is a column and another's alias",
                "write the keys, or their places, after GROUP BY, or another alias",
            )


def _refuse_more_groups(having: exp.Expr, keys: Sequence[exp.Expr]) -> None:
    """Refuse what makes DuckDB group by more than is selected under GROUP BY ALL."""
    for place, key in enumerate(keys):
        used = column(key_name(place)) in having.find_all(exp.Column)
        if used and any(part not in keys for part in key.find_all(exp.Column)):
            raise refused(
                "HAVING of a computed key under GROUP BY ALL, which groups by its columns as well",
                "write the keys, or their places, after GROUP BY",
            )


def _grouped(term: exp.Expr, items: Sequence[Item], scope: Scope) -> exp.Expr:
    """A term of GROUP BY: a place in the SELECT list, else an expression of columns and aliases."""
    if isinstance(term, exp.Literal) and term.is_int:
        return _place(term, items, "GROUP BY").expression
    return expanded(term, items, scope.knows)


def _place(term: exp.Expr, items: Sequence[Item], clause: str) -> Item:
    place = int(term.name)
    if not 1 <= place <= len(items):
        raise refused(f"{clause} {place}: the SELECT list has {len(items)} columns")
    return items[place - 1]


@dataclass
class _Groups:
    """The keys, and the aggregates as they are met."""

    scope: Scope
    keys: list[exp.Expr]
    aggregates: list[Aggregate] = field(default_factory=list)

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
        return self._add(self._aggregate(node))

    def _add(self, found: Aggregate) -> int:
        if found not in self.aggregates:
            self.aggregates.append(found)
        return self.aggregates.index(found)

    def shown(self, node: exp.Expr) -> exp.Expr:
        """What an output shows of aggregates, over their placeholders."""
        if isinstance(node, AGGREGATES):
            return column(aggregate_name(self.place(node)))
        if not has_aggregate(node):
            return node.copy()
        if isinstance(node, exp.Div) and (mean := as_mean(node)) is not None:
            return self.shown(mean)
        made = node.copy()
        for old, part in zip(operands(made), operands(node), strict=True):
            if not has_aggregate(part) and constant(part) is None:
                raise refused(f"{named(node)} of an aggregate and of what is no number")
            old.replace(self.shown(part))
        if isinstance(made, exp.Div) and self._divides_none(made):
            zero = exp.Literal.number(0)
            made.set("expression", exp.Nullif(this=made.expression, expression=zero))
        if isinstance(made, exp.Coalesce):  # it is NULL where there are no such records
            for one in self._named(made.this):
                self._add(Aggregate("count", one.argument, one.condition))
        return made

    def _divides_none(self, quotient: exp.Div) -> bool:
        """Whether a quotient is NULL wherever its divisor is a count of 0."""
        divisor = bare(quotient.expression)
        if not isinstance(divisor, exp.Column):
            return False
        (count,) = self._named(divisor)
        if count == Aggregate("count"):
            if self.keys:  # no group without a record
                return True
        elif count.kind not in ("count", "distinct"):
            return False
        strict = exp.paren(quotient.this.copy())
        for known in list(strict.find_all(exp.Coalesce)):
            known.replace(exp.null())
        return any(
            one.kind not in ("count", "distinct")
            and one.condition == count.condition
            and count.argument in (None, one.argument)
            for one in self._named(strict)
        )

    def _named(self, node: exp.Expr) -> list[Aggregate]:
        """The aggregates whose placeholders stand in an expression."""
        return [self.aggregates[aggregate_place(c.name)] for c in node.find_all(exp.Column)]

    def term(self, node: exp.Expr, clause: str) -> exp.Expr:
        """An expression of aggregates and keys over their placeholders."""
        if isinstance(node, AGGREGATES):
            return column(aggregate_name(self.place(node)))
        refuse_strange(node, clause)
        if isinstance(node, exp.Div) and (mean := as_mean(node)) is not None:
            return self.term(mean, clause)
        if not has_aggregate(node):
            value = self.scope.scalar(node, clause)
            if value in self.keys:
                return column(key_name(self.keys.index(value)))
            if not value.find(exp.Column):
                return node.copy()
            if isinstance(node, exp.Column):
                what = f"{node.name}, which is neither a key nor in an aggregate"
                raise refused(f"{clause} names {what}")
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
        kind = _KINDS.get(type(node))
        if kind is None:
            raise refused(named(node), instead_of(node))
        name = node.sql_name() if isinstance(node, exp.Func) else kind.upper()
        if any(value for clause, value in node.args.items() if clause not in ("this", "big_int")):
            raise refused(f"{name} of more than one argument")
        argument = node.this
        if kind == "count" and (argument is None or isinstance(bare(argument), _PRESENT)):
            if isinstance(argument, exp.Star):
                only(argument, (), f" in {name}")
            return Aggregate("count", None, condition)
        if isinstance(argument, exp.Distinct):
            if kind != "count":
                raise refused(f"{name}(DISTINCT …)", "only COUNT may be DISTINCT")
            if len(argument.expressions) != 1:
                raise refused("COUNT(DISTINCT …) of several columns")
            kind, argument = "distinct", argument.expressions[0]
        return Aggregate(kind, self.scope.scalar(argument, name), condition)


# Never NULL, so that counting them counts records.
_PRESENT = (exp.Star, exp.Literal, exp.Boolean)
_KINDS: dict[type[exp.Expr], Kind] = {
    exp.Count: "count",
    exp.Sum: "sum",
    exp.Avg: "avg",
    exp.Min: "min",
    exp.Max: "max",
}


# -- order and limit ----------------------------------------------------------------------------


def _order(select: exp.Select, items: Sequence[Item], groups: _Groups) -> tuple[Order, ...]:
    order = select.args.get("order")
    found: list[Order] = []
    for term in order.expressions if order else ():
        if term.args.get("with_fill"):
            raise refused("WITH FILL")
        for node in _ordered(bare(term.this), items, groups.scope):
            value = groups.term(node, "ORDER BY")
            if not value.find(exp.Column):
                raise refused("ORDER BY of a constant")
            descending = bool(term.args.get("desc"))
            found.append(Order(value, descending, bool(term.args.get("nulls_first"))))
    return tuple(found)


def _ordered(term: exp.Expr, items: Sequence[Item], scope: Scope) -> list[exp.Expr]:
    """What a term of ORDER BY means: outputs by place or name, or an expression of them."""
    if isinstance(term, exp.Var) and term.name.upper() == "ALL":
        return [item.expression for item in items]
    if isinstance(term, exp.Literal):
        if not term.is_int:
            raise refused("ORDER BY of a constant")
        return [_place(term, items, "ORDER BY").expression]
    return [expanded(term, items, None if isinstance(term, exp.Column) else scope.knows)]


def _number(select: exp.Select, clause: str) -> int | None:
    """The number of rows after LIMIT or OFFSET."""
    given = select.args.get(clause)
    if given is None:
        return None
    count = given.args.get("expression")
    plain = {name for name, value in given.args.items() if value} == {"expression"}
    if not plain or not isinstance(count, exp.Literal) or not count.is_int:
        raise refused(f"{clause.upper()} that is not a whole number")
    return int(count.name)
