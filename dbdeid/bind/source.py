"""The source of a release, found in the database or in a file."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from dbdeid.data.location.file_formats import is_remote
from dbdeid.data.source_files import no_source
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
from dbdeid.engine.reading import NotSql, plain_table, table_parts, tables_in
from dbdeid.engine.relation import Column, Relation
from dbdeid.engine.session import Session
from dbdeid.engine.sqltext import statements
from dbdeid.errors import DataError, SpecError, did_you_mean
from dbdeid.sources.attached import Database, provide
from dbdeid.sources.files import Opened, kept, open_files, open_remote
from dbdeid.sources.rows import of_python, staged, temporary
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
    plain = [aliased(plain_value(c, nan=nan), c.name) for c in odd]
    return select(every_column(replace=plain)).from_(source.subquery("source"))


def _other_timestamp(found: Column) -> bool:
    return found.family == "timestamp" and found.type != "TIMESTAMP"


def plain_value(found: Column, table: str | None = None, *, nan: bool = True) -> Expr:
    """A value with one spelling, as `plain_values` has it."""
    value: Expr = column(found.name, table)
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


SOURCE = "deid_parsed"


def open_source(file: SpecFile, session: Session, *, again: bool = False) -> Opened:
    """All rows of the source: of a table or view, files, an attached database, a query, or Python.

    Args:
        file: the spec.
        session: that reads it.
        again: read files each time where the engine can, for a view or to show how.

    Raises:
        DataError: it is not there, or cannot be read.
        EngineError: the engine refuses it.
        SpecError: the query is none.
    """
    source = file.spec.source
    if file.rows is not None:
        rows = of_python(file.rows, file.spec.source_name)
        return Opened(select("*").from_(staged(session, temporary(SOURCE), rows).table))
    if isinstance(source, SourceQuery):
        query = owners_query(file, source)
        if not _provided(file, session, query):
            return Opened(query, passing=False)
        return Opened(query) if again else kept(session, query, SOURCE)
    return open_table(file, session, source, "source", as_table=SOURCE, again=again)


def open_table(
    file: SpecFile,
    session: Session,
    name: str,
    *place: str | int,
    as_table: str = "",
    again: bool = False,
) -> Opened:
    """Open the source that the spec names: a table or view, files, or an attached table."""
    kind = file.spec.kind_of(name)
    as_table = as_table or "_".join(("deid_read", *map(str, place)))
    if kind == "attached":
        relation = attached_table(file, session, name)
        query = select("*").from_(relation.table)
        if session.is_foreign(relation.catalog or ""):
            return kept(session, query, as_table)
        return Opened(query)
    if kind == "file":
        if is_remote(name):
            return open_remote(session, name, as_table)
        return open_files(session, located(file, name, *place), as_table, again=again)
    try:
        found = find_table(session, name, str(place[-1]))
    except DataError as error:
        if (rows := session.borrowed(name)) is not None:
            borrowed = staged(session, temporary(as_table), of_python(rows, name))
            return Opened(select("*").from_(borrowed.table))
        raise (no_source(file.folder / name) or error) from None
    query = select("*").from_(found.table)
    if session.is_foreign(found.catalog or session.catalog):
        return kept(session, query, as_table)
    return Opened(query, passing=False)


def attached_table(file: SpecFile, session: Session, name: str) -> Relation:
    """A table of a database that the spec attaches, as `clinic.public.visits`.

    Raises:
        DataError: the database or the table is not there, or cannot be read.
        MissingExtra: the library that would read it is not installed.
    """
    database, schema, table = attached_place(file, name)
    return provide(session, database, schema, table)


def attached_place(file: SpecFile, name: str) -> tuple[Database, str | None, str]:
    """The attached database of a table, its schema where one is given, and its name."""
    alias = file.spec.attached_as(name)
    assert alias is not None
    parts = table_parts(name)
    return _database(file, alias), parts[1] if len(parts) > 2 else None, parts[-1]


def _database(file: SpecFile, alias: str) -> Database:
    return Database(alias, file.spec.attach[alias], file.folder)


def databases(file: SpecFile) -> Iterator[Database]:
    """The databases that the spec attaches."""
    return (_database(file, alias) for alias in file.spec.attach)


def _provided(file: SpecFile, session: Session, query: Query) -> bool:
    """Attach what a query reads of databases that the spec attaches; whether it reads any."""
    aliases = {alias.lower(): alias for alias in file.spec.attach}
    found = False
    for table in tables_in(query):
        alias = aliases.get((table.catalog or table.schema).lower())
        if alias is not None and table.given is None:
            schema = table.schema if table.catalog else None
            provide(session, _database(file, alias), schema, table.name)
            found = True
    return found


def owners_query(file: SpecFile, source: SourceQuery) -> Query:
    """The owner's own query, as a tree.

    Raises:
        SpecError: it is not one SELECT statement.
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
    """A table or view of the owner's database, or of another one of the caller's connection.

    Args:
        session: that has the databases attached.
        name: `visits`, `clinic.visits`, or `catalog.schema.visits`.
        what: names it, for a message.

    Raises:
        DataError: there is none of that name.
    """
    for catalog, schema, table in _readings(session, name):
        if session.exists(table, schema, catalog):
            return session.relation(table, schema, catalog)
    known = session.tables()
    hint = did_you_mean(name, known) if known else "the database holds no tables"
    raise DataError(f"{what}: no table or view {name!r} in the database", hint=hint)


def table_in_database(session: Session, name: str) -> Relation | None:
    """A table or view of the owner's database by its name; None where it holds none of it."""
    try:
        found = find_table(session, name, "source")
    except DataError:
        return None
    return found if found.catalog == session.catalog else None


def _readings(session: Session, name: str) -> Iterator[tuple[str, str, str]]:
    own = session.catalog
    yield own, "main", name
    # as the database's own list of tables spells it, without quotes
    yield from ((own, name[:i], name[i + 1 :]) for i, sign in enumerate(name) if sign == ".")
    if (plain := plain_table(name)) is not None:
        yield own, *plain
    parts = table_parts(name)
    if len(parts) > 1:  # another database of the connection
        yield parts[0], parts[1] if len(parts) > 2 else "main", parts[-1]
