"""From an analyst's SQL to a checked question about groups of records.

Everything outside the supported form is refused by name; nothing is guessed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import count

from sqlglot import exp

from dbdeid.engine.expressions import column, identifier
from dbdeid.query.parse.aliases import AGGREGATES, Item, expanded, has_aggregate, read_item
from dbdeid.query.parse.answerable import Answerable
from dbdeid.query.parse.expressions import Scope, bare, instead_of, refused
from dbdeid.query.parse.groups import Groups, Total
from dbdeid.query.parse.layers import (
    Below,
    Layer,
    Regroups,
    of_groups,
    refuse_values_as_keys,
    with_terms,
)
from dbdeid.query.parse.question import Order, Output, Question, key_name
from dbdeid.query.parse.single_records import refuse_records
from dbdeid.query.parse.statement import number_of_rows, only, statement, within
from dbdeid.query.parse.tables import tables

_ADD = "add it to GROUP BY, or aggregate it"
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
    "distinct",
    "qualify",
}


def parse(text: str, target: Answerable) -> Question:
    """Read one analyst statement.

    Raises:
        DataError: it is not one valid SELECT of the supported form; the clause is named.
    """
    return read(statement(text), target)


def read(select: exp.Select, target: Answerable) -> Question:
    """What a statement asks; it is changed.

    Raises:
        DataError: it is not of the supported form; the clause is named.
    """
    try:
        if select.find(exp.Placeholder, exp.Parameter):
            raise refused("a parameter", "write its value")
        return _Reader(target).read(select).question()
    except RecursionError:
        raise refused("the query is nested too deeply", "ask several simpler queries") from None


@dataclass
class _Read:
    """A SELECT of groups, as far as it has been read.

    Attributes:
        groups: its keys and aggregates.
        items: what it shows.
        having: the condition on groups.
        order: how they are sorted.
        limit, offset: which of them are wanted.
    """

    groups: Groups
    items: list[Item]
    having: exp.Expr | None = None
    order: tuple[Order, ...] = ()
    limit: int | None = None
    offset: int | None = None

    def question(self) -> Question:
        """What it asks.

        Raises:
            DataError: it shows what is neither a key nor of aggregates, or two columns alike.
        """
        groups = self.groups
        for item in self.items:  # what is not released is told before what is no key
            if not item.aggregates:
                groups.scope.scalar(item.expression, "SELECT")
        outputs = tuple(_apart_by_name([_output(item, groups) for item in self.items]))
        if not groups.keys and all(output.shown is None for output in outputs):
            raise refused("SELECT without an aggregate", "add COUNT(*)")
        _refuse_alike(outputs)
        return Question(
            keys=tuple(groups.keys),
            aggregates=tuple(groups.aggregates),
            outputs=outputs,
            joins=groups.joins,
            where=groups.where,
            having=self.having,
            order=self.order,
            limit=self.limit,
            offset=self.offset,
        )


@dataclass
class _Reader:
    """Reads SELECTs of one statement, tables of all of them under names of their own."""

    target: Answerable
    numbers: count[int] = field(default_factory=lambda: count(1))

    def read(self, select: exp.Select, *, of_number: bool = False) -> _Read:
        """A SELECT of groups, or one of the groups of a subquery.

        `of_number`: whether one number is asked for, so that a list is another mistake.

        Raises:
            DataError: it is not of the supported form.
        """
        below = of_groups(select)
        if below is not None:
            return self._over(select, below)
        only(select, _CLAUSES)
        if select.args.get("from_") is None and _of_subqueries(select):
            name, *_ = self.target.source_names
            select.set("from_", exp.From(this=exp.Table(this=identifier(name))))
        totals = self._totals(select)
        read = tables(select, self.target, self.numbers)
        if not of_number:
            refuse_records(select, read.scope, self.target)
        items = _items(select, read.scope)
        where = [*read.conditions]
        if condition := select.args.get("where"):
            given = expanded(condition.this, items, read.scope.knows)
            where.append(read.scope.scalar(given, "WHERE"))
        keys = _keys(select, items, read.scope)
        groups = Groups(read.scope, keys, read.joins, _all(where), totals)
        having = None
        if condition := select.args.get("having"):
            _refuse_windows([*select.expressions, select.args.get("order")])
            if _of_all(select):
                _refuse_two_meanings(condition.this, items, groups)
            having = groups.term(expanded(condition.this, items, groups.hides), "HAVING")
            if _of_all(select):
                _refuse_more_groups(having, groups.keys)
        if condition := select.args.get("qualify"):
            if having is not None:
                raise refused("QUALIFY beside HAVING")
            if not keys:
                raise refused("QUALIFY")
            having = groups.term(expanded(condition.this, items, groups.hides), "QUALIFY")
        order = _order(select, items, groups)
        limit, offset = (number_of_rows(select, clause) for clause in ("limit", "offset"))
        return _Read(groups, items, having, order, limit, offset)

    def _over(self, select: exp.Select, below: Below) -> _Read:
        """A SELECT of what another one shows of its groups."""
        inner = self.read(below.select)
        layer = Layer.of(below.alias, inner.items)
        if _groups_again(select):
            return self._regrouped(select, inner, layer)
        only(select, {"expressions", "with_", "from_", "where", "order", "limit", "offset"}, _OVER)
        where, order = select.args.get("where"), select.args.get("order")
        part = inner.having is not None or inner.limit is not None or inner.offset is not None
        if part or where is not None:
            _refuse_windows([*select.expressions, order])
        if (where is not None or order is not None) and (inner.limit, inner.offset) != (None, None):
            raise refused("LIMIT of a subquery that is filtered or sorted again")
        items, having = layer.items(select.expressions), inner.having
        if where is not None:
            condition = layer.meaning(where.this, items, "WHERE")
            kept = inner.groups.term(condition, "WHERE")
            having = kept if having is None else exp.and_(having, kept)
        found = _Read(inner.groups, items, having, inner.order)
        if order is not None:

            def meant(node: exp.Expr) -> exp.Expr:
                plain = isinstance(node, exp.Column)
                return layer.meaning(node, items, "ORDER BY", alias_first=plain)

            found.order = _order(select, items, inner.groups, meant)
        limit, offset = (number_of_rows(select, clause) for clause in ("limit", "offset"))
        if inner.limit is not None or inner.offset is not None:
            if offset is not None:
                raise refused("OFFSET of a subquery with a LIMIT")
            limit = min((n for n in (limit, inner.limit) if n is not None), default=None)
            offset = inner.offset
        found.limit, found.offset = limit, offset
        return found

    def _regrouped(self, select: exp.Select, inner: _Read, layer: Layer) -> _Read:
        """A SELECT that groups what another one shows of its groups."""
        only(select, _CLAUSES - {"joins", "qualify"}, _OVER)
        if inner.limit is not None or inner.offset is not None:
            raise refused("an aggregate of groups of which LIMIT leaves some out", _LIMITED)
        if not inner.groups.keys:
            if select.find(exp.Window):
                raise refused("a window over single records", "ask for quantiles of them")
            raise refused("an aggregate of one row", "ask for what is in it")
        if any(node.find(exp.Query) for node in select.expressions):
            raise refused("a subquery beside an aggregate of groups")
        refuse_values_as_keys([*select.expressions, *_terms(select)], layer)
        below, conditions = inner.groups, [*_given(inner.having)]
        records = [*_given(below.where)]
        if given := select.args.get("where"):
            for part in given.this.flatten() if isinstance(given.this, exp.And) else [given.this]:
                meant = layer.meaning(part, [], "WHERE")
                if has_aggregate(meant):
                    conditions.append(below.term(meant, "WHERE"))
                else:  # what holds of keys holds of all their records
                    records.append(below.scope.scalar(meant, "WHERE"))
        scope = layer.keys(below)
        items = _items(select, scope)
        keys = _keys(select, items, scope)
        condition = _all(conditions)
        groups = Regroups(
            scope,
            keys,
            below.joins,
            _all(records),
            below=below,
            layer=layer,
            condition=condition,
        )
        kept: list[exp.Expr] = []
        if condition is not None and keys:
            kept.append(groups.term(exp.Count(this=exp.Star()), "HAVING") > 0)
        if given := select.args.get("having"):
            kept.append(groups.term(expanded(given.this, items, groups.hides), "HAVING"))
        order = _order(select, items, groups)
        limit, offset = (number_of_rows(select, clause) for clause in ("limit", "offset"))
        return _Read(groups, items, _all(kept), order, limit, offset)

    def _totals(self, select: exp.Select) -> dict[str, Total]:
        """What the subqueries of one number stand for, whose places are taken by placeholders."""
        given = select.args.get("with_")
        terms = given.expressions if given is not None else ()
        found: dict[str, Total] = {}
        for clause in (*select.expressions, select.args.get("having"), select.args.get("order")):
            nodes = list(clause.find_all(exp.Subquery)) if clause is not None else []
            for node in nodes:
                inner = within(node)
                inside = node.find_ancestor(exp.Select) is not select or isinstance(
                    node.parent, exp.In
                )
                if inside or not isinstance(inner, exp.Select):
                    continue
                name = f"total_{len(found) + 1}"
                found[name] = self._total(with_terms(inner, terms))
                node.replace(exp.Placeholder(this=name))
        return found

    def _total(self, select: exp.Select) -> Total:
        """A subquery of one number."""
        read = self.read(select, of_number=True)
        groups = read.groups
        if groups.keys or len(read.items) != 1 or not read.items[0].aggregates:
            raise refused("a subquery that is not of one number", instead_of(select))
        if read.having is not None or read.offset is not None or read.limit == 0:
            raise refused("a subquery that may show no row", instead_of(select))
        shown = bare(groups.shown(read.items[0].expression))
        return Total(shown, tuple(groups.aggregates), groups.joins, groups.where)


_OVER = " of the groups of a subquery"
_LIMITED = "leave LIMIT out, or filter the groups by a condition"


def _of_subqueries(select: exp.Select) -> bool:
    """Whether a SELECT shows numbers of subqueries and nothing else."""
    if any(
        value for clause, value in select.args.items() if clause not in ("expressions", "with_")
    ):
        return False
    outside = exp.select(*(node.copy() for node in select.expressions))
    there = list(outside.find_all(exp.Subquery))
    for node in there:
        node.replace(exp.null())
    return bool(there) and outside.find(exp.AggFunc, exp.Column, exp.Star) is None


def _groups_again(select: exp.Select) -> bool:
    """Whether a SELECT of groups has aggregates or groups of its own."""
    if any(select.args.get(clause) for clause in ("group", "having", "distinct")):
        return True
    clauses = (*select.expressions, select.args.get("where"), select.args.get("order"))
    found = (one for clause in clauses if clause for one in clause.find_all(exp.AggFunc))
    return any(one.find_ancestor(exp.Window) is None for one in found)


def _terms(select: exp.Select) -> list[exp.Expr]:
    """What a SELECT groups by, as it is written."""
    group = select.args.get("group")
    return list(group.expressions) if group is not None else []


def _given(node: exp.Expr | None) -> list[exp.Expr]:
    return [] if node is None else [node]


def _refuse_windows(nodes: Iterable[exp.Expr | None]) -> None:
    """Refuse windows over groups of which some have been left out."""
    if any(node is not None and node.find(exp.Window) for node in nodes):
        why = "a window over groups of which a condition or a limit leaves some out"
        raise refused(why, "ask without it, and leave groups out of the answer")


def _all(conditions: Sequence[exp.Expr]) -> exp.Expr | None:
    return exp.and_(*conditions) if conditions else None


# -- the SELECT list ----------------------------------------------------------------------------


def _items(select: exp.Select, scope: Scope) -> list[Item]:
    items: list[Item] = []
    for node in select.expressions:
        items.append(read_item(node, items, scope, "SELECT"))
    return items


def _output(made: Item, groups: Groups) -> Output:
    if made.aggregates:
        return Output(made.name, shown=bare(groups.shown(bare(made.expression), text=True)))
    key = groups.scope.scalar(made.expression, "SELECT")
    if not key.find(exp.Column):
        return Output(made.name, label=key)
    if key not in groups.keys:
        names = ", ".join(sorted({c.name for c in key.find_all(exp.Column)}))
        plain = names if isinstance(key, exp.Column) else f"an expression of {names}"
        raise refused(f"{plain} is selected but not in GROUP BY", _ADD)
    return Output(made.name, key=groups.keys.index(key))


def _apart_by_name(outputs: Sequence[Output]) -> Iterator[Output]:
    """The outputs, of which those that have no alias are numbered where they are called alike."""
    taken = {output.name.lower() for output in outputs}
    seen: set[str] = set()
    for output in outputs:
        name, number = output.name, 0
        while "(" in output.name and (name.lower() in seen or (number and name.lower() in taken)):
            number += 1
            name = f"{output.name}_{number}"
        seen.add(name.lower())
        yield replace(output, name=name)


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
    group, distinct = select.args.get("group"), select.args.get("distinct")
    if distinct is not None:
        if group is not None or distinct.args.get("on") or any(i.aggregates for i in items):
            raise refused("SELECT DISTINCT of groups, or ON a part of the columns")
        return _apart([item.expression for item in items], scope)
    if group is None:
        return []
    only(group, {"expressions", "all"}, " in GROUP BY")
    if _of_all(select):
        terms = [item.expression for item in items if not item.aggregates]
    else:
        terms = [_grouped(bare(term), items, scope) for term in group.expressions]
    return _apart(terms, scope)


def _apart(terms: Sequence[exp.Expr], scope: Scope) -> list[exp.Expr]:
    """What records are grouped by, each once."""
    keys: list[exp.Expr] = []
    for term in terms:
        key = scope.scalar(term, "GROUP BY")
        if not key.find(exp.Column):
            raise refused("GROUP BY of a constant", "name a column, or leave it out")
        if key not in keys:
            keys.append(key)
    return keys


def _of_all(select: exp.Select) -> bool:
    group = select.args.get("group")
    return group is not None and bool(group.args.get("all"))


def _refuse_two_meanings(having: exp.Expr, items: Sequence[Item], groups: Groups) -> None:
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
        raise refused(
            f"{clause} {place}: the SELECT list has {len(items)} columns",
            "count its columns from 1",
        )
    return items[place - 1]


# -- order and limit ----------------------------------------------------------------------------


def _order(
    select: exp.Select,
    items: Sequence[Item],
    groups: Groups,
    meant: Callable[[exp.Expr], exp.Expr] | None = None,
) -> tuple[Order, ...]:
    """The terms of ORDER BY; `meant` gives the meaning of a term over the groups of a subquery."""
    order = select.args.get("order")
    found: list[Order] = []
    for term in order.expressions if order else ():
        if term.args.get("with_fill"):
            raise refused("WITH FILL")
        for node in _ordered(bare(term.this), items, groups.scope, meant):
            value = groups.term(node, "ORDER BY")
            if not value.find(exp.Column):
                raise refused("ORDER BY of a constant", "name a column, or leave it out")
            descending = bool(term.args.get("desc"))
            found.append(Order(value, descending, bool(term.args.get("nulls_first"))))
    return tuple(found)


def _ordered(
    term: exp.Expr,
    items: Sequence[Item],
    scope: Scope,
    meant: Callable[[exp.Expr], exp.Expr] | None,
) -> list[exp.Expr]:
    """What a term of ORDER BY means: outputs by place or name, or an expression of them."""
    if isinstance(term, exp.Var) and term.name.upper() == "ALL":
        return [item.expression for item in items]
    if isinstance(term, exp.Literal):
        if not term.is_int:
            raise refused("ORDER BY of a constant", "name a column, or leave it out")
        return [_place(term, items, "ORDER BY").expression]
    if meant is not None:
        return [meant(term)]
    return [expanded(term, items, None if isinstance(term, exp.Column) else scope.knows)]
