"""What the values of a question are: numbers, something with an order, or not even that.

A release holds the text of an ENUM. The order of its members, by which DuckDB compares them, is not
that of the text, and released nowhere.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from sqlglot import exp
from sqlglot.optimizer.annotate_types import annotate_types

from dbdeid.engine.expressions import column, type_named
from dbdeid.engine.relation import NUMBERS, Column
from dbdeid.errors import DataError
from dbdeid.query.parse.answerable import Answerable
from dbdeid.query.parse.expressions import bare, constant
from dbdeid.query.parse.question import Aggregate, Question, key_name, replaced


def is_number(argument: exp.Expr, question: Question, target: Answerable) -> bool:
    """Whether an expression of one record is a number."""
    return bool(_type(argument, question, target).is_type(*exp.DataType.NUMERIC_TYPES))


def is_date(argument: exp.Expr, question: Question, target: Answerable) -> bool:
    """Whether an expression of one record is a DATE."""
    return bool(_type(argument, question, target).is_type(exp.DType.DATE))


def is_decimal(argument: exp.Expr, question: Question, target: Answerable) -> bool:
    """Whether an expression of one record is a DECIMAL."""
    return bool(_type(argument, question, target).is_type(exp.DType.DECIMAL))


def places_between(argument: exp.Expr, question: Question, target: Answerable) -> int | None:
    """The decimal places to which a value between two values of an argument is rounded.

    Returns:
        None where it is not rounded: between whole numbers and between values of type DOUBLE.

    Raises:
        DataError: it is not known, as of FLOAT, or of decimals that are computed with.
    """
    if isinstance(argument, exp.Column):
        found = _type(argument, question, target)
        if found.is_type(exp.DType.DECIMAL):
            sizes = [int(size.name) for size in found.expressions]
            return sizes[1] if len(sizes) > 1 else 0 if sizes else 3
    if _is_whole_or_double(argument, question, target):
        return None
    raise DataError(
        "the query cannot be answered from the release: what lies between values of FLOAT, or of "
        "decimals that are computed with, is rounded",
        hint="write CAST(… AS DOUBLE) in the quantile",
    )


def _is_whole_or_double(node: exp.Expr, question: Question, target: Answerable) -> bool:
    """Whether an expression is a whole number or DOUBLE, whatever sqlglot takes it for."""

    def fits(part: exp.Expr) -> bool:
        return _is_whole_or_double(part, question, target)

    if isinstance(node, exp.Column):
        return bool(_type(node, question, target).is_type(*_UNROUNDED))
    if isinstance(node, exp.Literal):
        return not node.is_string and node.is_int
    if isinstance(node, (exp.Cast, exp.TryCast)):
        return node.to.this in _UNROUNDED
    if isinstance(node, (exp.Paren, exp.Neg, exp.Abs)):
        return fits(node.this)
    if isinstance(node, (exp.Add, exp.Sub, exp.Mul, exp.IntDiv, exp.Mod, exp.Div)):
        return fits(node.this) and fits(node.expression)
    if isinstance(node, (exp.Coalesce, exp.Greatest, exp.Least)):
        return all(map(fits, (node.this, *node.expressions)))
    return isinstance(node, _WHOLE)


_WHOLE = (exp.Length, exp.Year, exp.Quarter, exp.Month, exp.Day, exp.DateDiff)
_UNROUNDED = (
    *(exp.DType.TINYINT, exp.DType.SMALLINT, exp.DType.INT, exp.DType.BIGINT, exp.DType.INT128),
    *(exp.DType.UTINYINT, exp.DType.USMALLINT, exp.DType.UINT, exp.DType.UBIGINT),
    exp.DType.DOUBLE,
)


# Sums of so many digits and places stay exact: there is room for ten digits more, and engines that
# keep 38 digits of a sum keep these places.
_MOST_DIGITS, _MOST_PLACES = 28, 6


def decimals_of(
    argument: exp.Expr, question: Question, target: Answerable
) -> tuple[int, int] | None:
    """The digits and decimal places of an expression of decimals, of which a sum stays exact.

    Returns:
        None of other types, and of decimals that are too long for their sum to be.
    """

    def size(node: exp.Expr) -> tuple[int, int] | None:
        if isinstance(node, (exp.Paren, exp.Neg, exp.Abs)):
            return size(node.this)
        if isinstance(node, exp.Column):
            return _size_of_type(_type(node, question, target))
        if isinstance(node, exp.Literal) and not node.is_string and node.name.isascii():
            whole, _, part = node.name.partition(".")
            return (len(whole + part), len(part)) if (whole + part).isdecimal() else None
        if isinstance(node, exp.Case) and node.this is None:
            branches = [branch.args["true"] for branch in node.args["ifs"]]
            other = node.args.get("default")
            return _widest([size(b) for b in (*branches, *([other] if other is not None else []))])
        if isinstance(node, exp.Coalesce):
            return _widest([size(part) for part in (node.this, *node.expressions)])
        if isinstance(node, (exp.Add, exp.Sub, exp.Mul)):
            sizes = [size(node.this), size(node.expression)]
            if isinstance(node, exp.Mul):
                known = [s for s in sizes if s is not None]
                return (sum(s[0] for s in known), sum(s[1] for s in known)) if known[1:] else None
            wider = _widest(sizes)
            return (wider[0] + 1, wider[1]) if wider else None
        return None

    found = size(argument)
    if found is None or not 0 < found[1] <= _MOST_PLACES or found[0] > _MOST_DIGITS:
        return None
    return found


def _widest(sizes: Sequence[tuple[int, int] | None]) -> tuple[int, int] | None:
    """The digits and places that hold the values of all."""
    known = [s for s in sizes if s is not None]
    if len(known) < len(sizes):
        return None
    places = max(places for _, places in known)
    return max(digits - own for digits, own in known) + places, places


def _size_of_type(kind: exp.DataType) -> tuple[int, int] | None:
    if kind.is_type(exp.DType.DECIMAL):
        sizes = [int(size.name) for size in kind.expressions]
        return (sizes[0], sizes[1]) if len(sizes) == 2 else None
    digits = next((n for of, n in _DIGITS.items() if kind.is_type(of)), None)
    return (digits, 0) if digits is not None else None


_DIGITS = {
    **{exp.DType.TINYINT: 3, exp.DType.SMALLINT: 5, exp.DType.INT: 10, exp.DType.BIGINT: 19},
    **{exp.DType.UTINYINT: 3, exp.DType.USMALLINT: 5, exp.DType.UINT: 10, exp.DType.UBIGINT: 20},
}


def is_rounded(aggregate: Aggregate, question: Question, target: Answerable) -> bool:
    """Whether the last digits of an aggregate depend on the order of its records, or on the steps
    in which it is computed: as of DOUBLE, but not of whole numbers, or of sums of decimals.
    """
    if aggregate.kind not in _ADDED_UP:
        return False
    if aggregate.argument is None:  # of groups
        return True
    found = _type(aggregate.argument, question, target)
    if found.is_type(*exp.DataType.INTEGER_TYPES):
        return aggregate.kind.startswith("var")
    return not (aggregate.kind == "sum" and found.is_type(exp.DType.DECIMAL))


def exact_places(aggregate: Aggregate, question: Question, target: Answerable) -> int | None:
    """The decimal places in which the original has an aggregate exactly; None where it is rounded,
    or of another type."""
    if aggregate.kind in ("count", "distinct"):
        return 0
    if aggregate.kind not in ("sum", "min", "max", "quantile_disc") or aggregate.argument is None:
        return None
    found = _type(aggregate.argument, question, target)
    if found.is_type(*exp.DataType.INTEGER_TYPES, exp.DType.BOOLEAN):
        return 0
    sizes = decimals_of(aggregate.argument, question, target)
    return sizes[1] if sizes is not None else None


def wider_type(aggregate: Aggregate, question: Question, target: Answerable) -> str | None:
    """The type in which arithmetic of an aggregate of whole numbers does not overflow.

    MIN and MAX have the type of their argument: 100 times a SMALLINT is one for DuckDB, which the
    original may never exceed, but what the release allows may.
    """
    if aggregate.kind not in ("min", "max", "quantile_disc") or aggregate.argument is None:
        return None
    found = _type(aggregate.argument, question, target)
    if not found.is_type(*exp.DataType.INTEGER_TYPES):
        return None
    return "BIGINT" if found.is_type(*_NARROW) else "HUGEINT"


_NARROW = (
    *(exp.DType.TINYINT, exp.DType.SMALLINT, exp.DType.INT),
    *(exp.DType.UTINYINT, exp.DType.USMALLINT, exp.DType.UINT),
)
_ADDED_UP = ("sum", "avg", "quantile_cont", "var_pop", "var_samp")


def require_meaning(aggregate: Aggregate, question: Question, target: Answerable) -> None:
    """Refuse sums, means, quantiles and variances of what is no number.

    Raises:
        DataError: the aggregate and the type of its argument.
    """
    if aggregate.kind not in _OF_NUMBERS or aggregate.argument is None:
        return
    found = _type(aggregate.argument, question, target)
    if found.is_type(*_ADDED, *([exp.DType.BOOLEAN] if aggregate.kind == "sum" else [])):
        return
    argument = aggregate.argument
    of = f"{argument.name}, which is" if isinstance(argument, exp.Column) else "a value of type"
    what = f"{aggregate.kind.upper()} of {of} {found.sql('duckdb')}"
    raise DataError(
        f"the query cannot be answered from the release: {what}",
        hint="add up numbers, or count records",
    )


def require_numbers(question: Question, target: Answerable) -> None:
    """Refuse arithmetic, rounding and casts of aggregates that are no numbers.

    Raises:
        DataError: the aggregate that is none.
    """
    for output in question.outputs:
        plain = isinstance(output.shown, exp.Column)
        for one in (question.aggregates[place] for place in output.aggregates if not plain):
            if one.kind in ("arg_max", "arg_min") and one.groups is not None:
                if not is_number(one.groups.keys[0], question.of(one), target):
                    raise _no_number("MODE, ARG_MAX or ARG_MIN")
                continue
            if one.kind not in _OF_ITS_TYPE or one.argument is None:
                continue
            if _may_be_float(one.argument, question.of(one), target):
                raise DataError(
                    "the query cannot be answered from the release: arithmetic of "
                    f"{one.kind.upper()} of FLOAT, which has some 7 digits",
                    hint="write CAST(… AS DOUBLE) in the aggregate, or select it alone",
                )
            if not is_number(one.argument, question.of(one), target):
                raise _no_number(one.kind.upper())


def _no_number(what: str) -> DataError:
    return DataError(
        f"the query cannot be answered from the release: arithmetic of {what}, which is no number "
        "here",
        hint="select the aggregates themselves",
    )


_OF_ITS_TYPE = ("min", "max", "quantile_cont", "quantile_disc")


def _may_be_float(argument: exp.Expr, question: Question, target: Answerable) -> bool:
    """Whether the type of an expression may be FLOAT."""
    if isinstance(argument, (exp.Cast, exp.TryCast)):
        return bool(argument.to.this == exp.DType.FLOAT)
    inside = exp.paren(argument.copy())
    casts = inside.find_all(exp.Cast, exp.TryCast)
    return any(cast.to.this == exp.DType.FLOAT for cast in casts) or any(
        _type(c, question, target).is_type(exp.DType.FLOAT) for c in inside.find_all(exp.Column)
    )


_ORDERS = (exp.GT, exp.GTE, exp.LT, exp.LTE, exp.Between, exp.Greatest, exp.Least)


def require_order(question: Question, target: Answerable) -> None:
    """Refuse what depends on the order of the members of an ENUM.

    Rows of the answer are sorted by its text instead, unless only the first are wanted.

    Raises:
        DataError: the clause or aggregate that does.
    """
    if not any(source.family == "enum" for source in target.columns):
        return
    keys = {key_name(i) for i, key in enumerate(question.keys) if _is_enum(key, question, target)}
    part = question.limit is not None or question.offset is not None
    orders = list(question.order if part else ())
    orders += [order for one in question.aggregates if one.over for order in one.over.order]
    for order in orders:
        if any(c.name in keys for c in order.term.find_all(exp.Column)):
            raise _unordered("ORDER BY")
    if question.having is not None:
        for node in question.having.find_all(*_ORDERS):
            if any(isinstance(n, exp.Column) and n.name in keys for n in _operands(node)):
                raise _unordered("HAVING")
    for aggregate in question.aggregates:
        argument = aggregate.argument
        ordered = aggregate.kind in ("min", "max") and argument is not None
        if ordered and argument is not None and _is_enum(argument, question.of(aggregate), target):
            raise _unordered(aggregate.kind.upper())
    of: list[tuple[exp.Expr | None, Question]]
    of = [(clause, question) for clause in (*question.keys, question.where)]
    for one in question.aggregates:
        own = question.of(one)
        of += [(clause, own) for clause in (one.argument, one.condition, own.where)]
    for used, own in of:
        for node in used.find_all(*_ORDERS) if used is not None else ():
            if any(_is_enum(operand, own, target) for operand in _operands(node)):
                raise _unordered("a comparison")


def _operands(node: exp.Expr) -> list[exp.Expr]:
    return [bare(operand) for operand in node.iter_expressions()]


def _is_enum(node: exp.Expr, question: Question, target: Answerable) -> bool:
    return bool(_type(node, question, target).is_type(exp.DType.ENUM))


def _unordered(what: str) -> DataError:
    return DataError(
        f"the query cannot be answered from the release: {what} by the order of an ENUM, which is "
        "not released",
        hint="CAST(… AS VARCHAR) has the order of text",
    )


_OF_NUMBERS = ("sum", "avg", "quantile_cont", "quantile_disc", "var_pop", "var_samp")
# NULL, and what sqlglot cannot tell, are left to the engine.
_ADDED = (*exp.DataType.NUMERIC_TYPES, exp.DType.NULL, exp.DType.UNKNOWN)


def _type(argument: exp.Expr, question: Question, target: Answerable) -> exp.DataType:
    """The DuckDB type of an expression, as sqlglot derives it from those of its columns."""
    joined = {join.alias: join.table for join in question.joins}

    def typed(reference: exp.Column) -> exp.Expr:
        table = joined.get(reference.table)
        found = target.find(reference.name) if table is None else table.find(reference.name)
        assert found is not None
        if found.family == "enum" and table is None:
            return exp.cast(exp.null(), exp.DataType(this=exp.DType.ENUM))
        return exp.cast(exp.null(), source_type(found))

    node: exp.Expr = replaced(exp.paren(argument.copy()), typed)
    # Numbers like what they are of, which sqlglot knows of ABS only.
    rounded = (exp.Floor, exp.Ceil, exp.Trunc)
    node = node.transform(lambda n: exp.Abs(this=n.this) if isinstance(n, rounded) else n)
    # The days between two dates, which sqlglot takes for a date.
    node = annotate_types(node, dialect="duckdb").transform(
        lambda n: exp.Literal.number(1) if _is_of_dates(n) else n
    )
    found = annotate_types(node, dialect="duckdb").type
    return found if isinstance(found, exp.DataType) else exp.DataType.build("UNKNOWN")


def constants_read(found: exp.Query, target: Answerable) -> Iterator[tuple[str, exp.DataType]]:
    """The texts in quotes that a query has read as values of a type: compared, or cast.

    Args:
        found: as written.
        target: the release, of whose columns the texts may be values.
    """
    for node in found.find_all(*_COMPARED):
        sides = [bare(side) for side in node.iter_expressions()]
        columns = [target.find(s.name) for s in sides if isinstance(s, exp.Column)]
        kinds = [source_type(c) for c in columns if c is not None and c.family in _READ]
        texts = [s.name for s in sides if isinstance(s, exp.Literal) and s.is_string]
        yield from ((text, kind) for kind in kinds for text in texts)
    for node in found.find_all(exp.Cast):
        inner = bare(node.this)
        if type(node) is exp.Cast and isinstance(inner, exp.Literal) and inner.is_string:
            yield inner.name, node.to


def mistaken_kinds(found: exp.Query, target: Answerable) -> Iterator[tuple[str, str]]:
    """Numbers of a query that are used as text, and text that is compared with numbers.

    Returns:
        What is wrong, and what to write, of each.
    """
    for node in found.find_all(*_OF_TEXT):
        inner = bare(node.this)
        source = target.find(inner.name) if isinstance(inner, exp.Column) else None
        if source is not None and source.family in NUMBERS:
            yield f"{source.name} is a number, no text", f"write CAST({source.name} AS VARCHAR)"
    for node in found.find_all(*_COMPARED):
        sides = [bare(side) for side in node.iter_expressions()]
        columns = [target.find(s.name) for s in sides if isinstance(s, exp.Column)]
        texts = [c for c in columns if c is not None and c.family in ("text", "enum")]
        numbers = [s for s in sides if constant(s) is not None]
        if texts and numbers:
            why = f"{texts[0].name} is text, which is compared with a number"
            yield why, f"write a text in single quotes: '{numbers[0].sql('duckdb')}'"


_OF_TEXT = (
    *(exp.Like, exp.ILike, exp.RegexpLike, exp.RegexpILike, exp.RegexpExtract, exp.RegexpReplace),
    *(exp.Left, exp.Right, exp.Substring, exp.Upper, exp.Lower, exp.Length, exp.Trim),
    *(exp.StartsWith, exp.EndsWith, exp.Contains, exp.StrPosition, exp.Pad, exp.Split),
)


def texts_compared(question: Question) -> Iterator[tuple[str, str]]:
    """The texts in quotes that columns of the source are to equal or not, by these columns."""
    clauses = [*question.keys, question.where]
    for one in question.aggregates:
        clauses += [one.argument, one.condition, one.among.where if one.among else None]
        if one.groups is not None:
            yield from texts_compared(question.below(one))
    yield from _texts_equalled([clause for clause in clauses if clause is not None])


def texts_written(found: exp.Query) -> Iterator[tuple[str, str]]:
    """Those of a query as it is written, where no subquery gives columns another meaning."""
    if len(list(found.find_all(exp.Query))) == 1:
        yield from _texts_equalled([found])


def _texts_equalled(nodes: Sequence[exp.Expr]) -> Iterator[tuple[str, str]]:
    for node in (found for root in nodes for found in root.find_all(*_EQUALLED)):
        sides = [bare(side) for side in node.iter_expressions()]
        names = [s.name for s in sides if isinstance(s, exp.Column)]
        texts = [s.name for s in sides if isinstance(s, exp.Literal) and s.is_string]
        if len(names) == 1:
            yield from ((names[0], text) for text in texts)


_EQUALLED = (exp.EQ, exp.NEQ, exp.In)
_COMPARED = (exp.EQ, exp.NEQ, exp.GT, exp.GTE, exp.LT, exp.LTE, exp.Between, exp.In)
_READ = (*NUMBERS, "date", "timestamp", "boolean")


def _is_of_dates(node: exp.Expr) -> bool:
    return isinstance(node, exp.Sub) and all(
        side.is_type(exp.DType.DATE) for side in (node.this, node.expression)
    )


def source_type(source: Column) -> exp.DataType:
    """The type in which a column's values are answered; ENUM as the text it holds."""
    name = "VARCHAR" if source.family == "enum" else source.type
    return type_named(name)


def typed(held: Column, table: str | None = None) -> exp.Column:
    """A reference to a column that knows its type; ENUM as the text it holds."""
    reference = column(held.name, table)
    if held.family != "other":
        reference.type = source_type(held)
    return reference


def exact(reference: exp.Column, target: Answerable) -> exp.Expr:
    """A column that is released as it is, of the table `source`, in the type that it has there."""
    if reference.table:
        return reference.copy()
    name = reference.name
    source, released = target.find(name), target.release.find(name)
    held = column(name, "source") if released is None else typed(released, "source")
    if source is None or released is None or source.type == released.type:
        return held
    return exp.cast(held, source_type(source))
