"""Subqueries in conditions whose values are known without the records that are generalized.

`IN (SELECT …)`, EXISTS and subqueries of one number in WHERE and FILTER are constants of the query
where they read ordinary tables, or columns that are released as they are, and nothing of the query
around them. `EXISTS (… WHERE inner = outer AND …)` is `outer IN (SELECT inner …)`. The columns that
PIVOT makes are values of this kind, too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from datetime import date, datetime
from decimal import Decimal
from math import isfinite
from typing import Any

from sqlglot import exp

from dbdeid.engine.expressions import identifier
from dbdeid.query.parse.aliases import has_aggregate
from dbdeid.query.parse.expressions import bare, refused
from dbdeid.query.parse.layers import with_terms
from dbdeid.query.parse.naming import shown_name
from dbdeid.query.parse.statement import only, within

# A longer list is no list of constants that a query would hold.
MOST_VALUES = 5_000

Values = Callable[[exp.Select], "Sequence[Any] | None"]


def with_constants(select: exp.Select, values: Values) -> bool:
    """Put the values of subqueries in their places; whether there are any.

    Args:
        select: of the source; it is changed.
        values: the rows of a subquery of one column, at most `MOST_VALUES`; None where they are not
            known without the query around it.
    """
    _without_joins(select)
    found = False
    given = select.args.get("with_")
    terms = given.expressions if given is not None else ()
    for clause in list(select.find_all(exp.Where)):
        for node in list(_subqueries(clause)):
            made = _constant(node, terms, values)
            if made is not None:
                node.replace(made)
                found = True
    return found


def _without_joins(select: exp.Select) -> None:
    """Put conditions in the place of joins with groups of which only a key is used.

    BI tools name the groups of a chart in this way: `JOIN (SELECT x AS y, COUNT(*) … GROUP BY x
    ORDER BY 2 DESC LIMIT 5) AS t ON x = y` leaves the records whose x is one of five.
    """
    joins = select.args.get("joins") or []
    kept = [join for join in joins if (member := _member_of(select, join)) is None]
    for join in joins:
        if (member := _member_of(select, join)) is not None:
            select.where(member, copy=False)
    select.set("joins", kept)


def _member_of(select: exp.Select, join: exp.Join) -> exp.Expr | None:
    """A join with groups as a condition on its one key; None of another join."""
    on, inner = join.args.get("on"), within(join.this.this)
    plain = not join.side and not join.method and join.kind in ("", "INNER")
    if not plain or not isinstance(join.this, exp.Subquery) or not isinstance(inner, exp.Select):
        return None
    group, alias = inner.args.get("group"), join.this.alias.lower()
    grouped = list(group.expressions) if group is not None else []
    equal = bare(on) if on is not None else None
    if not isinstance(equal, exp.EQ) or len(grouped) != 1:
        return None
    shown = {node.alias_or_name.lower(): node.unalias() for node in inner.expressions}
    sides = [bare(side) for side in (equal.this, equal.expression)]
    for outer, own in (sides, sides[::-1]):
        if not isinstance(own, exp.Column) or own.table.lower() not in ("", alias):
            continue
        key = shown.get(own.name.lower())
        if key is None or key != grouped[0]:  # an alias may be a column there, which is meant then
            continue
        rest = select.copy()
        rest.set("joins", [other.copy() for other in select.args["joins"] if other is not join])
        names = {(c.table.lower(), c.name.lower()) for c in rest.find_all(exp.Column)}
        if any(table == alias or (not table and name in shown) for table, name in names):
            return None  # what it shows is used, or something else is called so
        if any(not isinstance(star.parent, exp.Count) for star in rest.find_all(exp.Star)):
            return None
        listed = exp.select(exp.column(own.this.copy())).from_(exp.Subquery(this=inner.copy()))
        return exp.In(this=outer.copy(), query=listed.subquery(copy=False))
    return None


def _subqueries(clause: exp.Expr) -> Iterator[exp.Expr]:
    """Those that are not within another one."""
    pending = [clause.this]
    while pending:
        node = pending.pop()
        listed = isinstance(node, exp.In) and node.args.get("query") is not None
        if listed or isinstance(node, exp.Exists | exp.Subquery):
            yield node
        else:
            pending += node.iter_expressions()


def _constant(node: exp.Expr, terms: Sequence[exp.Expr], values: Values) -> exp.Expr | None:
    if isinstance(node, exp.Exists):
        return _member(*apart, terms, values) if (apart := _as_member(node)) else None
    if isinstance(node, exp.In):
        inner = within(node.args["query"])
        made = _listed(inner, terms, values) if isinstance(inner, exp.Select) else None
        return None if made is None else _is_among(node.this, made)
    inner = within(node)
    made = _listed(inner, terms, values) if isinstance(inner, exp.Select) else None
    if made is None or len(made) > 1:
        return None
    return exp.paren(made[0]) if made else exp.null()


def _member(
    outer: exp.Expr, inner: exp.Select, terms: Sequence[exp.Expr], values: Values
) -> exp.Expr | None:
    """EXISTS is never NULL."""
    made = _listed(inner, terms, values)
    if made is None:
        return None
    return exp.Coalesce(this=_is_among(outer, made), expressions=[exp.false()])


def _is_among(value: exp.Expr, made: Sequence[exp.Expr]) -> exp.Expr:
    if not made:
        return exp.false()
    return exp.paren(exp.In(this=value.copy(), expressions=list(made)))


def _as_member(node: exp.Exists) -> tuple[exp.Expr, exp.Select] | None:
    """The outer column that must be one of an inner one, and the query of that."""
    select = node.this
    if not isinstance(select, exp.Select) or any(map(has_aggregate, select.expressions)):
        return None  # of no records, an aggregate shows a row, too
    if any(value for clause, value in select.args.items() if clause not in _OF_EXISTS):
        return None
    source, where = select.args.get("from_"), select.args.get("where")
    if source is None or where is None or source.this.args.get("joins"):
        return None
    own = source.this.alias_or_name.lower()
    parts = list(where.this.flatten()) if isinstance(where.this, exp.And) else [where.this]
    for place, part in enumerate(parts):
        if not isinstance(part, exp.EQ):
            continue
        for inner, outer in ((part.this, part.expression), (part.expression, part.this)):
            columns = isinstance(inner, exp.Column) and isinstance(outer, exp.Column)
            if columns and inner.table.lower() == own and outer.table.lower() not in ("", own):
                rest = [other.copy() for at, other in enumerate(parts) if at != place]
                query = select.copy()
                query.set("expressions", [inner.copy()])
                query.set("where", None)
                query = query.where(inner.copy().is_(exp.null()).not_(), *rest, copy=False)
                return outer, query
    return None


# A limit would be one of all values, not of those that are equal.
_OF_EXISTS = ("expressions", "from_", "where", "with_")


def _listed(select: exp.Select, terms: Sequence[exp.Expr], values: Values) -> list[exp.Expr] | None:
    rows = values(with_terms(select, terms))
    if rows is None:
        return None
    listed = [written(value) for value in dict.fromkeys(rows)]
    return None if any(value is None for value in listed) else [v for v in listed if v]


def written(value: object) -> exp.Expr | None:
    """A value as a constant of a query; None for kinds that a query cannot hold."""
    if isinstance(value, datetime):
        return None if value.tzinfo else exp.cast(exp.Literal.string(str(value)), "TIMESTAMP")
    if isinstance(value, date):
        return exp.cast(exp.Literal.string(value.isoformat()), "DATE")
    if isinstance(value, float):  # with an exponent it is one to the engine, too
        written = repr(value) if "e" in repr(value) else f"{value!r}e0"
        return exp.Literal.number(written) if isfinite(value) else None
    if value is None or isinstance(value, bool | int | Decimal | str):
        return exp.convert(value)
    return None


# -- PIVOT ---------------------------------------------------------------------------------------

MOST_COLUMNS = 100


def without_pivot(select: exp.Query, values: Values) -> exp.Select | None:
    """The query of groups that `SELECT * FROM (PIVOT …)` is; None of another query.

    Args:
        select: it is not changed.
        values: as of `with_constants`.

    Raises:
        DataError: it makes columns of what is not known, or is not of the supported form.
    """
    source = select.args.get("from_")
    if source is None or not isinstance(source.this, exp.Subquery):
        return None
    pivot = source.this.this
    if not isinstance(pivot, exp.Pivot):
        return None
    starred = isinstance(select, exp.Select) and [type(e) for e in select.expressions]
    if starred != [exp.Star]:
        raise refused("PIVOT below other columns than *", "select them after it")
    only(select.expressions[0], set(), " after * of PIVOT")
    only(select, {"expressions", "from_", "order", "limit", "offset"}, " around PIVOT")
    only(pivot, {"this", "expressions", "using", "group"}, " of PIVOT")
    if len(pivot.expressions) != 1:
        raise refused("PIVOT ON several columns", "pivot on one, and group by the others")
    (on,) = pivot.expressions
    of, listed = (on.this, on.expressions) if isinstance(on, exp.In) else (on, None)
    if listed is not None and not isinstance(bare(of), exp.Column):
        raise refused("PIVOT ON an expression with IN", "name the expression in a subquery first")
    if listed is not None and any(isinstance(bare(value), exp.Null) for value in listed):
        raise refused("PIVOT ON NULL", "count it apart: COUNT(*) FILTER (WHERE x IS NULL)")
    if listed is None:
        distinct = exp.select(of.copy()).distinct().from_(pivot.this.copy())
        present = exp.paren(of.copy()).is_(exp.null()).not_()
        listed = _listed(distinct.where(present), (), values)
        listed = listed and sorted(listed, key=_shown)  # as texts, whatever they are
    if not listed or len(listed) > MOST_COLUMNS:
        raise refused("PIVOT ON values that are not known, or too many", "list them: ON x IN (…)")
    group = pivot.args.get("group")
    if group is None:
        raise refused("PIVOT without GROUP BY", "write what its rows are grouped by")
    made = exp.select(*(term.copy() for term in group.expressions)).from_(pivot.this.copy())
    using = pivot.args.get("using") or [exp.Count(this=exp.Star())]
    for value in listed:
        for aggregate in using:
            inner = bare(aggregate.unalias())
            known = exp.Where(this=of.copy().eq(value.copy()))
            counted = exp.Filter(this=inner.copy(), expression=known)
            ending = aggregate.alias or (shown_name(inner) if len(using) > 1 else "")
            name = f"{_shown(value)}_{ending}" if ending else _shown(value)
            made = made.select(exp.alias_(counted, identifier(name)))
    made = made.group_by(*(term.copy() for term in group.expressions))
    for clause in ("order", "limit", "offset"):
        made.set(clause, select.args[clause].copy() if select.args.get(clause) else None)
    return made


def _shown(value: exp.Expr) -> str:
    """A constant as the name of a column."""
    inner = value.this if isinstance(value, exp.Cast) else value
    if isinstance(inner, exp.Boolean):
        return "true" if inner.this else "false"
    return f"-{inner.name}" if isinstance(inner, exp.Neg) else inner.name
