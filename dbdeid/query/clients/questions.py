"""Questions of PostgreSQL's clients to a release, as DuckDB would write them."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from datetime import datetime

from sqlglot import exp

from dbdeid.engine.expressions import identifier
from dbdeid.query.clients.statements import read_tables, with_names
from dbdeid.query.parse.expressions import constant, refused

Name = tuple[str, ...]
# How the names of an engine's own tables begin, in lower case: no source is called so.
OF_ENGINES = ("pg_", "sqlite_", "duckdb_")
_WHOLE = ("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "HUGEINT")
_PARTS = re.compile(r"%[YymdHMS]")
# JDBC writes a day with a zone.
_ZONE = re.compile(r"(?<=^\d{4}-\d\d-\d\d) ?[+-]\d\d(:?\d\d)?$")


def tables_of(query: exp.Query) -> frozenset[Name]:
    """The names of the tables that a query reads, in lower case and with what qualifies them."""
    return frozenset(_name_of(table) for table in read_tables(query))


def _name_of(table: exp.Table) -> Name:
    return tuple(part.name.lower() for part in table.parts)


def question(query: exp.Query, called: Mapping[Name, str], columns: Mapping[str, str]) -> str:
    """The text of a question in the SQL of DuckDB.

    What PostgreSQL spells otherwise is spelled as DuckDB does. A NUMERIC without precision, which
    DuckDB would cut to three decimal places, is a DOUBLE. `/` divides as in DuckDB, never cutting
    whole numbers off: what is divided are expected values, not numbers of records.

    Args:
        query: without parameters; it is changed.
        called: what the release calls its tables, by how the query may name them.
        columns: of the release, which `*` stands for, with their types.

    Raises:
        DataError: it holds a constant that cannot be read.
    """
    for select in query.find_all(exp.Select):
        _expand(select, called, list(columns))
    for table in list(read_tables(query)):
        name = called.get(_name_of(table))
        if name is None:
            continue
        if len(table.parts) > 1:
            _unqualify(query, table)
        if name.lower() != table.name.lower():
            if not table.alias:
                table.set("alias", exp.TableAlias(this=table.this.copy()))
            table.set("this", identifier(name))
        table.set("db", None)
        table.set("catalog", None)
    whole = {name.lower() for name, kind in columns.items() if kind in _WHOLE}
    for node in reversed(list(query.walk())):
        if isinstance(node, exp.Div) and all(_is_whole(n, whole) for n in _sides(node)):
            node.replace(exp.IntDiv(this=node.this.copy(), expression=node.expression.copy()))
            continue
        made = _as_duckdb(node)
        if made is not node:
            node.replace(made)
    sorts = {id(node.this) for node in _sorting(query, columns)}
    named = (node for node in query.find_all(exp.Identifier) if id(node) not in sorts)
    used = frozenset(node.name.lower() for node in named)
    return with_names(query, taken=used).sql(dialect="duckdb")


def _sorting(query: exp.Query, columns: Iterable[str]) -> Iterator[exp.Column]:
    """Names in ORDER BY that no column has: of aggregates, as PostgreSQL calls them."""
    known = {name.lower() for name in columns}
    order = query.args.get("order")
    for term in order.expressions if order is not None else ():
        node = term.this
        if isinstance(node, exp.Column) and not node.table and node.name.lower() not in known:
            yield node


def _expand(select: exp.Select, called: Mapping[Name, str], columns: Sequence[str]) -> None:
    """`*` of a release as the columns that clients know it to have."""
    source = select.args.get("from_")
    table = source.this if source is not None else None
    if not isinstance(table, exp.Table) or _name_of(table) not in called:
        return
    if select.args.get("joins") or table.args.get("joins"):
        return
    items: list[exp.Expr] = []
    for item in select.expressions:
        star = item.this if isinstance(item, exp.Column) else item
        if isinstance(star, exp.Star) and not any(star.args.values()):
            items += [exp.column(identifier(name)) for name in columns]
        else:
            items.append(item)
    select.set("expressions", items)


def _sides(node: exp.Div) -> tuple[exp.Expr, exp.Expr]:
    return node.this, node.expression


def _is_whole(node: exp.Expr, whole: Collection[str]) -> bool:
    """Whether a node is a column of whole numbers, or one as it is written."""
    while isinstance(node, exp.Paren | exp.Neg):
        node = node.this
    if isinstance(node, exp.Column):
        return node.name.lower() in whole
    return isinstance(node, exp.Literal) and node.is_int


def _unqualify(query: exp.Query, table: exp.Table) -> None:
    """Columns that are named with the schema of a table, by its name alone."""
    for column in query.find_all(exp.Column):
        if column.args.get("db") and column.table.lower() == table.name.lower():
            column.set("db", None)
            column.set("catalog", None)


def _as_duckdb(node: exp.Expr) -> exp.Expr:
    if isinstance(node, exp.SimilarTo):
        raise refused("SIMILAR TO", "LIKE, or ~ with a regular expression")
    if isinstance(node, exp.Like | exp.ILike) and not isinstance(node.parent, exp.Escape):
        pattern = node.expression
        if isinstance(pattern, exp.Literal) and "\\" in pattern.name:
            raise refused("LIKE with a backslash", "say which sign escapes: LIKE … ESCAPE '!'")
    if isinstance(node, exp.Fetch) and "TIES" in node.sql("postgres").upper():
        raise refused("FETCH … WITH TIES", "LIMIT, or QUALIFY with RANK()")
    if isinstance(node, exp.TimeToStr | exp.ToChar):
        form = node.args.get("format")
        known = _PARTS.sub("", form.name if isinstance(form, exp.Literal) else "x")
        if any(sign.isalpha() or sign in '%"' for sign in known):
            raise refused("this format of to_char", "of YYYY, MM, DD, HH24, MI, SS, or date_trunc")
    if isinstance(node, exp.Cast):
        return _cast(node)
    if isinstance(node, exp.Substring):
        return _substring(node)
    if isinstance(node, exp.WithinGroup):
        return _quantile(node)
    if isinstance(node, exp.StrToTime | exp.StrToDate):
        return _moment(node)
    if isinstance(node, exp.EQ | exp.NEQ) and isinstance(node.expression, exp.Any | exp.All):
        return _among(node)
    return node


def _substring(node: exp.Substring) -> exp.Expr:
    """Places before the first are empty in PostgreSQL; DuckDB counts negative ones from the end."""
    start = node.args.get("start")
    first = constant(start) if start is not None else None
    if first is None or first >= 1:
        return node
    length = node.args.get("length")
    known = constant(length) if length is not None else None
    if length is not None and known is None:
        raise refused("substring from before the first letter", "begin at 1")
    made = exp.Substring(this=node.this.copy(), start=exp.Literal.number(1))
    if known is not None:
        made.set("length", exp.Literal.number(max(int(first + known) - 1, 0)))
    return made


def _quantile(node: exp.WithinGroup) -> exp.Expr:
    """`percentile_cont(0.5) WITHIN GROUP (ORDER BY x)` as DuckDB's function of x and 0.5."""
    inner, order = node.this, node.expression
    if not isinstance(inner, exp.PercentileCont | exp.PercentileDisc) or inner.expression:
        return node
    terms = order.expressions if isinstance(order, exp.Order) else []
    if len(terms) != 1 or terms[0].args.get("desc"):
        return node
    return type(inner)(this=terms[0].this.copy(), expression=inner.this.copy())


def _cast(node: exp.Cast) -> exp.Expr:
    kind = node.to
    if kind.this in exp.DataType.TEXT_TYPES and kind.expressions:
        raise refused("a cast to text of some length", "left(…, n)")
    bare = kind.this == exp.DType.DECIMAL and not kind.expressions
    if bare or kind.this in (exp.DType.DOUBLE, exp.DType.FLOAT):  # FLOAT(53) has no equal
        node.set("to", exp.DType.DOUBLE.into_expr())
    if isinstance(node.parent, exp.Limit | exp.Offset) and isinstance(node.this, exp.Literal):
        return exp.Literal.number(node.name)
    if kind.this == exp.DType.DATE and isinstance(node.this, exp.Literal):
        node.set("this", exp.Literal.string(_ZONE.sub("", node.this.name)))
    return node


def _moment(node: exp.StrToTime | exp.StrToDate) -> exp.Expr:
    """`to_timestamp('…', '…')` of constants is one; of columns it is left as it is."""
    text, form = node.this, node.args.get("format")
    if not (isinstance(text, exp.Literal) and isinstance(form, exp.Literal)):
        return node
    try:
        found = datetime.strptime(text.name, form.name)
    except ValueError:
        raise refused(
            "a constant date or time does not fit its format",
            "write it in that format, or as a constant: DATE '2026-01-31'",
        ) from None
    if isinstance(node, exp.StrToDate):
        return exp.cast(exp.Literal.string(found.date().isoformat()), "DATE")
    return exp.cast(exp.Literal.string(found.isoformat(sep=" ")), "TIMESTAMP")


def _among(node: exp.EQ | exp.NEQ) -> exp.Expr:
    """`x = ANY(ARRAY[…])` is `x IN (…)`."""
    quantified = node.expression
    listed = quantified.this
    while isinstance(listed, exp.Paren | exp.Cast):
        listed = listed.this
    fits = isinstance(node, exp.EQ) == isinstance(quantified, exp.Any)
    if not (isinstance(listed, exp.Array) and fits):
        return node
    if not listed.expressions:
        return exp.convert(isinstance(node, exp.NEQ))
    made = exp.In(this=node.this.copy(), expressions=[e.copy() for e in listed.expressions])
    return made if isinstance(node, exp.EQ) else exp.not_(made)


# -- the types of parameters ---------------------------------------------------------------------


def column_beside(parameter: exp.Parameter) -> tuple[str, bool] | None:
    """The column that a parameter is compared with, and whether with any of a list; or None."""
    node: exp.Expr = parameter
    of_list = False
    while isinstance(node.parent, exp.Paren | exp.Tuple | exp.Neg | exp.Any | exp.All):
        node = node.parent
        of_list = of_list or isinstance(node, exp.Any | exp.All)
    parent = node.parent
    if not isinstance(parent, exp.Binary | exp.Between | exp.In):
        return None
    beside = [parent.this, *(v for v in parent.args.values() if isinstance(v, exp.Expr))]
    return next(((b.name, of_list) for b in beside if isinstance(b, exp.Column)), None)


def type_beside(parameter: exp.Parameter) -> str | None:
    """The type that a parameter is cast to, as DuckDB writes it; None where it is not."""
    node = parameter.parent
    return node.to.sql("duckdb").replace("TEXT", "VARCHAR") if isinstance(node, exp.Cast) else None


def is_count(parameter: exp.Parameter) -> bool:
    """Whether a parameter is a number of rows."""
    return isinstance(parameter.parent, exp.Limit | exp.Offset | exp.Fetch)
