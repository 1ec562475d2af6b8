"""The persistent macros of schema `deid`, one a file in `sql/macros`, and their installation.

What several of them count or check alike is a file in `sql/macros/parts`. It stands in each as a
table, ``FROM __policy_classes__``, or as an expression on a line of its own, ``__given_qis__``: a
macro that called another would need it beside it, under its name.
Once installed they live in the database file and work in any DuckDB client, without Python.
Names inside a macro are looked up where it is called: a file that holds `deid.hierarchies` must be
the current database (opened directly, or after USE) for the macros that read it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.resources import files
from textwrap import indent

import duckdb
from sqlglot import exp

from dbdeid.engine.catalog import SCHEMA
from dbdeid.engine.duckdb.failure import refused
from dbdeid.engine.engine import Macro
from dbdeid.engine.expressions import identifier, table_named
from dbdeid.engine.sqltext import sql, text
from dbdeid.errors import DataError

_PRIVATE_TABLE = "deid.hierarchies"
_DEFINITION = re.compile(
    r"^CREATE OR REPLACE MACRO deid\.(?P<name>\w+)"
    r"\((?P<parameters>[^;]*?)\) AS(?P<table> TABLE)?\b",
    re.MULTILINE,
)
_PART = re.compile(
    r"^(?P<margin> *)(?:(?P<word>[A-Z ]+) )?__(?P<part>[a-z]\w*)__(?![\w:])", re.MULTILINE
)
_OWN_NAME = "__macro__"


def _load() -> tuple[Macro, ...]:
    folder = files("dbdeid.sql").joinpath("macros")
    names = sorted(entry.name for entry in folder.iterdir() if entry.name.endswith(".sql"))
    return tuple(macro for name in names for macro in _read(name, _whole(name)))


def _whole(file: str) -> str:
    """The text of a macro's file with its parts in place, whose errors begin with its name."""
    return _assembled(f"macros/{file}").replace(_OWN_NAME, file.removesuffix(".sql"))


def _assembled(path: str) -> str:
    """The text of a file with its parts in place, as if it had been written whole."""

    def whole(found: re.Match[str]) -> str:
        margin, part = found["margin"], _assembled(f"macros/parts/{found['part']}.sql")
        body = part[part.index("\n\n") :].strip()
        if found["word"] is None:
            return indent(body, margin)
        return f"{margin}{found['word']} (\n{indent(body, f'{margin}  ')}\n{margin})"

    return _PART.sub(whole, text(path))


def _read(file: str, content: str) -> Iterator[Macro]:
    """The macros of one file; two of one name when a word is both a table and a condition."""
    stem = file.removesuffix(".sql")
    header = re.match(
        r"-- (?P<name>\w+): (?P<description>.+)\n"
        r"-- reads   (?P<reads>(?:.+\n(?:--         .+\n)*))"
        r"-- gives   (?P<gives>(?:.+\n(?:--         .+\n)*))"
        r"-- example (?P<example>.+)\n",
        content,
    )
    heads = list(_DEFINITION.finditer(content))
    if header is None or header["name"] != stem or not heads:
        raise ValueError(f"sql/macros/{file}: the header must have name, reads, gives, example")
    ends = [head.start() for head in heads[1:]] + [len(content)]
    for head, end in zip(heads, ends, strict=True):
        definition = content[head.start() : end]
        definition = definition[: definition.rindex(";") + 1]
        if head["name"] != stem:
            raise ValueError(f"sql/macros/{file}: defines {head['name']}")
        yield Macro(
            name=stem,
            parameters=" ".join(head["parameters"].split()),
            kind="table" if head["table"] else "scalar",
            description=header["description"].strip(),
            private=_PRIVATE_TABLE in _code(definition),
            reads=_unindented(header["reads"]),
            gives=_unindented(header["gives"]),
            example=header["example"],
            definition=definition,
        )


def _code(definition: str) -> str:
    """A statement without comments and string literals, which only mention names."""
    return re.sub(r"'[^']*'|--.*", "", definition)


def _unindented(block: str) -> str:
    return re.sub(r"^--         ", "", block, flags=re.MULTILINE).strip()


MACROS: tuple[Macro, ...] = _load()


def script(private: bool = True) -> str:
    """All macros as one SQL script that makes the schema (and `deid.hierarchies`) first.

    Args:
        private: also those that read `deid.hierarchies`, the table itself, and comments that tell
            what each macro is for. An export has no comments at all.
    """
    parts = ["CREATE SCHEMA IF NOT EXISTS deid;\n"]
    if private:
        parts.append(_hierarchies() + ";\n")
    done = set()
    for macro in MACROS:
        if (macro.private and not private) or macro.name in done:
            continue
        done.add(macro.name)
        parts.append(_whole(f"{macro.name}.sql").strip() + "\n")
        if private:
            alike = (one for one in MACROS if one.name == macro.name)
            parts += [_comment(one, None) + ";\n" for one in alike]
    return "\n".join(parts)


def install(
    con: duckdb.DuckDBPyConnection, catalog: str | None = None, private: bool = True
) -> tuple[Macro, ...]:
    """Create the schema, `deid.hierarchies` and the macros in a database: all of them or none.

    Inside a transaction of the caller nothing is committed; a failure then leaves it to be rolled
    back.

    Args:
        con: an open connection.
        catalog: an attached database; None is the current one.
        private: also those that read `deid.hierarchies`, and the table itself where it is
            missing. An export gets none of these.

    Raises:
        EngineError: DuckDB refused, for example because the database is read-only.
        DataError: a database attached as `deid` makes every name `deid.x` ambiguous; or the
            database is a published release, which anything more would change.
    """
    if con.execute("SELECT 1 FROM duckdb_databases() WHERE database_name = 'deid'").fetchall():
        raise DataError(
            "a database is attached as 'deid', which hides the schema of that name",
            hint="attach it under another name: ATTACH 'deid.duckdb' AS hospital; if DuckDB's "
            "extension dbdeid was loaded: DETACH deid",
        )
    if private and in_release(con, catalog):
        raise DataError(
            "a published release is not changed; it carries the macros that are of use in it",
            hint="dbdeid sql reads it with all functions, and any DuckDB client with its macros; "
            "for the other macros, attach it to a database of your own",
        )
    try:
        with _in_catalog(con, catalog) as name, _atomic(con):
            for statement in definitions(name, private):
                con.execute(statement)
    except duckdb.Error as error:
        raise refused(error) from None
    return _wanted(private)


def _wanted(private: bool) -> tuple[Macro, ...]:
    return tuple(macro for macro in MACROS if private or not macro.private)


def definitions(catalog: str, private: bool = True) -> Iterator[str]:
    """The statements that make the schema and the macros in a database that is attached.

    Args:
        catalog: the name it is attached by.
        private: also the macros that read `deid.hierarchies`, the table itself, and comments that
            tell what each macro is for. An export has no comments at all.
    """
    prefix = f"{sql(identifier(catalog))}.{SCHEMA}"
    yield f"CREATE SCHEMA IF NOT EXISTS {prefix}"
    if private:
        yield _hierarchies().replace(_PRIVATE_TABLE, f"{prefix}.hierarchies", 1)
    for macro in _wanted(private):
        yield macro.definition.replace(f"MACRO {SCHEMA}.", f"MACRO {prefix}.", 1)
        if private:
            yield _comment(macro, catalog)


def _comment(macro: Macro, catalog: str | None) -> str:
    """The statement after which `duckdb_functions()` describes a macro and each parameter.

    Args:
        macro: one that is there.
        catalog: the name that its database is attached by; None is the current one.
    """
    parts = [
        f"{macro.description[0].upper()}{macro.description[1:]}.",
        f"Reads\n{macro.reads}",
        f"Gives\n{macro.gives}",
        f"Example\n{macro.example}",
    ]
    comment = exp.Comment(
        this=table_named(macro.name, SCHEMA, catalog),
        kind="MACRO TABLE" if macro.kind == "table" else "MACRO",
        expression=exp.Literal.string("\n\n".join(parts)),
    )
    return sql(comment)


def in_release(con: duckdb.DuckDBPyConnection, catalog: str | None = None) -> bool:
    """Whether a database is a published release: of ours, it holds public macros and no more.

    A database that macros were installed in has `deid.hierarchies` and the private macros, one
    that keeps book has its tables.

    Args:
        con: an open connection.
        catalog: an attached database; None is the current one.
    """
    if catalog is None:
        catalog = str(con.execute("SELECT system.main.current_database()").fetchall()[0][0])
    # Compared here: macros of the file could stand for what a query would compare with.
    listed = con.execute(
        "SELECT database_name, schema_name, function_name FROM system.main.duckdb_functions() "
        "UNION ALL SELECT database_name, schema_name, NULL FROM system.main.duckdb_tables()"
    ).fetchall()
    place = (catalog, SCHEMA)
    names = {
        name and name.lower() for database, schema, name in listed if (database, schema) == place
    }
    public = {macro.name for macro in MACROS if not macro.private}
    private = {None, *(macro.name for macro in MACROS if macro.private)}
    return not names.isdisjoint(public) and names.isdisjoint(private)


def _hierarchies() -> str:
    """The definition of `deid.hierarchies`, without its comments."""
    content = text("catalog/hierarchies.sql")
    return content[content.index("CREATE TABLE") :].strip().removesuffix(";")


@contextmanager
def _in_catalog(con: duckdb.DuckDBPyConnection, catalog: str | None) -> Iterator[str]:
    """Make a database the current one: DuckDB looks up the tables of a macro when it is created."""
    row = con.execute("SELECT current_database(), current_setting('search_path')").fetchone()
    assert row is not None
    current, path = str(row[0]), str(row[1])
    if catalog is None or catalog == current:
        yield current
        return
    con.execute(f"USE {sql(identifier(catalog))}")
    try:
        yield catalog
    finally:
        # the names of a search path are looked up in the current database
        con.execute(f"USE {sql(identifier(current))}")
        con.execute(f"SET search_path = {sql(exp.Literal.string(path))}")


@contextmanager
def _atomic(con: duckdb.DuckDBPyConnection) -> Iterator[None]:
    """A transaction of our own, unless the caller is inside one."""
    if _in_transaction(con):
        yield
        return
    con.begin()
    try:
        yield
    except BaseException:
        con.rollback()
        raise
    con.commit()


def _in_transaction(con: duckdb.DuckDBPyConnection) -> bool:
    # A BEGIN inside a transaction would abort it; outside of one every statement has its own id.
    first, second = (con.execute("SELECT txid_current()").fetchone() for _ in range(2))
    return first == second
