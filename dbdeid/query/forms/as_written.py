"""A query of any form that names only columns that are released as they are.

Its answer on the release is that on the records of the source that were released, so it is run as
it is written. Only its tables are replaced: the source by a subquery of those columns, so that the
engine itself knows no other. Deterministic functions without side effects are taken, no tables but
the source and those that a release may be joined with.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from sqlglot import exp

from dbdeid.engine.expressions import column, identifier
from dbdeid.engine.relation import Column, Relation
from dbdeid.engine.sqltext import sql
from dbdeid.errors import DataError
from dbdeid.query.forms.long_texts import refuse_long
from dbdeid.query.parse.answerable import Answerable
from dbdeid.query.parse.expressions import instead_of, refuse_strange, refused
from dbdeid.query.parse.meaning import source_type
from dbdeid.query.parse.question import Question
from dbdeid.query.parse.statement import is_common, only, query
from dbdeid.query.parse.tables import is_called, name_of, parts_of

_CLAUSES = {
    *("expressions", "with_", "from_", "joins", "where", "group", "having", "qualify", "windows"),
    *("order", "limit", "offset", "distinct"),
}
_AGGREGATES = (
    *(exp.Count, exp.CountIf, exp.Sum, exp.Avg, exp.Min, exp.Max, exp.Median, exp.Mode),
    *(exp.PercentileCont, exp.PercentileDisc, exp.Quantile, exp.ApproxQuantile, exp.ApproxDistinct),
    *(exp.Stddev, exp.StddevPop, exp.StddevSamp, exp.Variance, exp.VariancePop),
    *(exp.Corr, exp.CovarPop, exp.CovarSamp, exp.Skewness, exp.Kurtosis),
    *(exp.RegrSlope, exp.RegrIntercept, exp.RegrR2, exp.LogicalAnd, exp.LogicalOr),
    *(exp.ArgMax, exp.ArgMin, exp.GroupConcat, exp.AnyValue),
    *(exp.Filter, exp.WithinGroup, exp.Distinct, exp.IgnoreNulls, exp.RespectNulls),
)
_WINDOWS = (
    *(exp.Window, exp.WindowSpec, exp.RowNumber, exp.Rank, exp.DenseRank, exp.PercentRank),
    *(exp.CumeDist, exp.Ntile, exp.Lag, exp.Lead, exp.FirstValue, exp.LastValue, exp.NthValue),
)
_QUERIES = (
    *(exp.Select, exp.Subquery, exp.Union, exp.Except, exp.Intersect, exp.With, exp.CTE),
    *(exp.From, exp.Join, exp.Where, exp.Group, exp.Rollup, exp.Cube, exp.GroupingSets),
    *(exp.Having, exp.Qualify, exp.Order, exp.Ordered, exp.Limit, exp.LimitOptions, exp.Offset),
    *(exp.Table, exp.TableAlias, exp.Alias, exp.Star, exp.Values, exp.Tuple),
    *(exp.Exists, exp.Any, exp.All, exp.Grouping, exp.GroupingId),
)
# Of one record, beside those whose bounds are known elsewhere.
_SCALARS = (
    *(exp.DateBin, exp.Pad, exp.ConcatWs, exp.Pi, exp.Repeat, exp.Reverse),
    *(exp.Ascii, exp.Chr, exp.Levenshtein, exp.Array),
)
_NODES = (*_AGGREGATES, *_WINDOWS, *_QUERIES, *_SCALARS)


class Changed(DataError):
    """A query names columns that are released, but not as they are in the source."""


def as_written(text: str, target: Answerable, unchanged: Collection[str] = ()) -> exp.Query:
    """The query on the release that answers a query of its source exactly, whatever its form.

    Args:
        text: of the query.
        target: the release.
        unchanged: quasi-identifiers of which every released value is that of the source.

    Returns:
        The query, with the released table in the place of the source.

    Raises:
        Changed: it names other columns.
        DataError: it is no query whose answer would be known; why is told.
    """
    found = query(text)
    if not any(target.is_source(parts_of(t)) for t in found.find_all(exp.Table)):
        raise refused("no FROM that names the source")
    return exactly(found, target, unchanged)


def exactly(found: exp.Query, target: Answerable, unchanged: Collection[str] = ()) -> exp.Query:
    """As `as_written`, of a query that has been read, and that may read ordinary tables alone.

    The query itself is changed.
    """
    tables = [t for t in found.find_all(exp.Table) if not is_common(t)]
    _refuse_unknown(found)
    exact = exact_columns(target, unchanged)
    if any(target.is_source(parts_of(t)) for t in tables):
        if target.weight is not None:
            raise refused("some records are counterfeit")
        _refuse_names(found, target.withheld, DataError)
        _refuse_names(found, {c.name.lower() for c in target.columns if c not in exact}, Changed)
    _refuse_rows(found, exact)
    if target.truthful or target.dictionary is not None:
        _refuse_stars(found, target)
    for table in tables:
        _replace(table, target, exact)
    for reference in found.find_all(exp.Column):
        reference.set("db", None)
        reference.set("catalog", None)
    return found


def chooses(found: exp.Expr) -> bool:
    """Whether a query may show one of several that are alike by what it orders them by."""
    return found.find(*_CHOICES) is not None or any(
        not isinstance(joined.this, exp.Order) for joined in found.find_all(exp.GroupConcat)
    )


def rounds(found: exp.Expr, target: Answerable) -> bool:
    """Whether a query adds up floating point, so that its last digits depend on the order."""
    floats = {c.name.lower() for c in target.columns if c.family == "float"}
    for node in found.find_all(exp.AggFunc, exp.Anonymous):
        if isinstance(node, _SPREADS):
            return True
        inside = list(node.find_all(exp.Column, exp.Div, exp.Sqrt, exp.Ln))
        if isinstance(node, exp.Sum):  # of groups
            inside += node.find_all(exp.Avg)
        added = isinstance(node, (exp.Sum, exp.Avg, exp.Anonymous))
        if added and any(not isinstance(n, exp.Column) or n.name.lower() in floats for n in inside):
            return True
    return False


_SPREADS = (
    *(exp.Stddev, exp.StddevPop, exp.StddevSamp, exp.Variance, exp.VariancePop, exp.Corr),
    *(exp.CovarPop, exp.CovarSamp, exp.RegrSlope, exp.RegrIntercept, exp.RegrR2),
)


# MODE takes the first of several that are equally frequent.
_CHOICES = (
    *(exp.Limit, exp.Mode, exp.ArgMax, exp.ArgMin, exp.AnyValue, exp.RowNumber, exp.Ntile),
    *(exp.Lag, exp.Lead, exp.FirstValue, exp.LastValue, exp.NthValue),
)


def exact_columns(target: Answerable, unchanged: Collection[str]) -> tuple[Column, ...]:
    """The columns whose released values are those of the source, member order included."""
    names = target.quasi_identifiers if target.dictionary is not None else ()
    generalized = {name.lower() for name in names} - {name.lower() for name in unchanged}
    return tuple(
        c for c in target.columns if c.family != "enum" and c.name.lower() not in generalized
    )


# -- what is refused -----------------------------------------------------------------------------


def _refuse_unknown(found: exp.Expr) -> None:
    """Refuse nodes that are not known to be deterministic, free of side effects and short."""
    refuse_long(found)
    for node in found.walk():
        if isinstance(node, exp.Select):
            only(node, _CLAUSES)
        elif isinstance(node, exp.Subquery):
            only(node, {"this", "alias", "joins", "with_"}, " of a subquery")
        elif isinstance(node, exp.In):
            only(node, {"this", "expressions", "query"}, " in IN")
        elif isinstance(node, exp.Join) and node.method:  # it tells not which columns it compares
            raise refused(f"{node.method} JOIN")
        elif isinstance(node, exp.With) and node.recursive:
            raise refused("WITH RECURSIVE")
        elif not isinstance(node, _NODES):
            refuse_strange(node, "the query")


def _refuse_names(found: exp.Expr, others: Collection[str], error: type[DataError]) -> None:
    """Refuse names of columns that are not there: they would come to mean something else."""
    named = {i.name.lower() for i in found.find_all(exp.Identifier)}
    if both := sorted(named.intersection(others)):
        raise error(f"{', '.join(both)}: not released as in the source")


def _refuse_rows(found: exp.Expr, exact: Sequence[Column]) -> None:
    """Refuse names of tables in the place of columns, which stand for whole rows."""
    names = {c.name.lower() for c in exact}
    rows = {t.alias_or_name.lower() for t in found.find_all(exp.Table, exp.Subquery, exp.CTE)}
    for reference in found.find_all(exp.Column):
        if reference.name.lower() in rows - names:
            raise refused(f"a table in the place of a column: {reference.name}")


def _refuse_stars(found: exp.Expr, target: Answerable) -> None:
    """Refuse * where it would show all columns of the source."""
    for star in found.find_all(exp.Star):
        select = star.find_ancestor(exp.Select)
        if isinstance(star.parent, exp.Count) or select is None:
            continue
        if isinstance(select.parent, exp.Exists):
            continue
        source = select.args.get("from_")
        read = [source.this] if source is not None else []
        read += [join.this for join in select.args.get("joins") or ()]
        read += [join.this for table in read for join in table.args.get("joins") or ()]
        own = [t for t in read if isinstance(t, exp.Table) and not is_common(t)]
        if any(target.is_source(parts_of(t)) for t in own):
            raise refused("* of the source", instead_of(star))


# -- tables --------------------------------------------------------------------------------------


def _replace(table: exp.Table, target: Answerable, exact: Sequence[Column]) -> None:
    """Put what a table's name means in its place."""
    name_of(table, "FROM", "", "")
    if target.is_source(parts_of(table)):
        held = _released(target.release, exact)
    else:
        found = [t for t in target.tables if is_called(t, table)]
        if len(found) != 1:
            raise refused(f"FROM {table.name}, which is no table to join with")
        held = exp.select("*").from_(found[0].table)
    alias = table.args.get("alias") or exp.TableAlias(this=identifier(table.name))
    replaced = exp.Subquery(this=held, alias=alias.copy(), joins=table.args.get("joins"))
    table.replace(replaced)


def _released(release: Relation, exact: Sequence[Column]) -> exp.Select:
    """The columns of the release, in the types of the source."""
    shown = []
    for c in exact:
        held = release.find(c.name)
        cell: exp.Expr = column(c.name)
        if held is not None and held.type != c.type:
            cell = exp.cast(cell, source_type(c))
        shown.append(exp.alias_(cell, identifier(c.name)))
    return exp.select(*shown).from_(release.table)


def by_keys(text: str, question: Question) -> str:
    """A query of groups with those that its order finds equal sorted by the keys that it shows."""
    select = query(text)
    if not isinstance(select, exp.Select) or question.stable_order == question.order:
        return text
    if any(select.args.get(clause) for clause in ("distinct", "qualify")) or select.is_star:
        return text
    named = list(enumerate(question.outputs, start=1))
    keys = [exp.Literal.number(n) for n, one in named if one.shown is None and one.label is None]
    return sql(select.order_by(*(exp.Ordered(this=key, nulls_first=False) for key in keys)))
