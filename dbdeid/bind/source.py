"""The source of a release, found in the database or in a file."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from dbdeid.data.source_files import FILES, file_query, no_source
from dbdeid.engine.expressions import (
    Expr,
    Query,
    aliased,
    case,
    cast,
    column,
    every_column,
    function,
    literal,
    null,
    select,
)
from dbdeid.engine.reading import NotSql, plain_table
from dbdeid.engine.relation import Column, Relation
from dbdeid.engine.session import Session
from dbdeid.engine.sqltext import statements
from dbdeid.errors import DataError, SpecError, did_you_mean
from dbdeid.spec.file import SpecFile
from dbdeid.spec.files import located
from dbdeid.spec.release_spec import SourceQuery


def plain_values(source: Query, released: Sequence[Column], *, nan: bool = True) -> Query:
    """The source with one spelling for equal values, so that the order of its rows is lost.

    Moments with a time zone become those of UTC, as on every machine, and all timestamps of one
    kind. 0.0 and -0.0 are one value with two texts, and so are nan and -nan, which are missing
    where `nan` is false.
    """
    odd = [c for c in released if c.family == "float" or _other_timestamp(c)]
    if not odd:
        return source
    plain = [aliased(_plain_value(c, nan), c.name) for c in odd]
    return select(every_column(replace=plain)).from_(source.subquery("source"))


def _other_timestamp(found: Column) -> bool:
    return found.family == "timestamp" and found.type != "TIMESTAMP"


def _plain_value(found: Column, nan: bool) -> Expr:
    value: Expr = column(found.name)
    if found.family == "float":
        missing = _nan(found) if nan else null()
        twice = [(literal(0), literal(0)), (_nan(found), missing)]
        ifs = [(value.copy().eq(equal), one) for equal, one in twice]
        return cast(case(*ifs, otherwise=value), found.type)
    if found.type == "TIMESTAMP WITH TIME ZONE":
        value = function("timezone", literal("UTC"), value)
    return cast(value, "TIMESTAMP")


def _nan(found: Column) -> Expr:
    return cast(literal("nan"), found.type)


def resolve_source(file: SpecFile, session: Session) -> Query:
    """A query for all rows of the source: a table or view, a file, or the owner's own query."""
    source = file.spec.source
    if isinstance(source, SourceQuery):
        return owners_query(file, source)
    return table_or_file(file, session, source, "source")


def table_or_file(file: SpecFile, session: Session, name: str, *place: str | int) -> Query:
    """A query for all rows of what the spec names at a place: a table or view, or a file."""
    if name.lower().endswith(tuple(FILES)):
        query = file_query(located(file, name, *place))
        assert query is not None
        return query
    try:
        return select("*").from_(find_table(session, name, str(place[-1])).table)
    except DataError as error:
        raise (no_source(file.folder / name) or error) from None


def owners_query(file: SpecFile, source: SourceQuery) -> Query:
    """The query that a spec has as its source.

    Raises:
        SpecError: it is not one SELECT.
    """
    try:
        trees = statements(source.sql)
    except NotSql:
        trees = []
    if len(trees) != 1 or not isinstance(trees[0], Query):
        mistake = file.mistake(
            "must be one SELECT statement", "source", "sql", hint="DuckDB SQL, without semicolon"
        )
        raise SpecError([mistake], source=file.label)
    return trees[0]


def find_table(session: Session, name: str, what: str) -> Relation:
    """A table or view of the owner's database by its plain or schema-qualified name."""
    for schema, table in _readings(name):
        if session.exists(table, schema):
            return session.relation(table, schema)
    known = session.tables()
    hint = did_you_mean(name, known) if known else "the database holds no tables"
    raise DataError(f"{what}: no table or view {name!r} in the database", hint=hint)


def _readings(name: str) -> Iterator[tuple[str, str]]:
    yield "main", name
    # as the database's own list of tables spells it, without quotes
    yield from ((name[:i], name[i + 1 :]) for i, sign in enumerate(name) if sign == ".")
    if (plain := plain_table(name)) is not None:
        yield plain
