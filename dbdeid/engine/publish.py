"""Writing a database file to be published, in a process of its own.

DuckDB leaves stretches of its blocks as the memory was that it got: in the process that staged the
original, they could hold anything of it. So the file is written by a process that has only ever
seen what is released, on memory that its allocator sets to zero, by one thread: equal releases
are equal files, to the byte.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from tempfile import TemporaryDirectory

import sqlglot
from sqlglot import exp

from dbdeid.engine import macros
from dbdeid.engine.relation import Column, Relation, cast, column, identifier
from dbdeid.engine.session import MEMORY, Session, Settings
from dbdeid.engine.sqltext import sql
from dbdeid.errors import DataError, DbdeidError

# DuckDB's own allocator, where it has one, hands out zeroed memory.
_ZEROED = {"DUCKDB_JE_MALLOC_CONF": "zero:true"}
# Parquet has no integers this wide.
_AS_TEXT = ("HUGEINT", "UHUGEINT")


def write_database(
    session: Session,
    path: Path,
    tables: Mapping[str, Relation],
    views: Mapping[str, exp.Query],
) -> None:
    """Write verified tables, views of them and the public macros into a new database file.

    Args:
        session: where the tables are.
        path: the file, which does not exist yet; what is passed on lies beside it meanwhile.
        tables: each table by the name it gets.
        views: queries of these names, by the name that each view gets.

    Raises:
        DataError: the file cannot be written.
    """
    try:
        beside = TemporaryDirectory(dir=path.parent)
    except OSError as error:
        raise DataError(f"{path.name} cannot be written ({error.strerror})") from None
    with beside as folder:
        entries = []
        for number, (name, table) in enumerate(tables.items()):
            columns = session.describe(table.table)
            file = Path(folder) / f"{number}.parquet"
            session.execute(_copy(table, columns, file))
            entry = {"name": name, "file": str(file), "columns": [asdict(c) for c in columns]}
            entries.append(entry)
        order = {
            "path": str(path),
            "spill": str(Path(folder) / "spill"),
            "tables": entries,
            "views": {name: sql(query) for name, query in views.items()},
        }
        _in_another_process(json.dumps(order), path)


def _copy(table: Relation, columns: tuple[Column, ...], file: Path) -> str:
    picked = [
        exp.alias_(cast(column(c.name), "VARCHAR"), identifier(c.name))
        if c.type in _AS_TEXT
        else column(c.name)
        for c in columns
    ]
    rows = sql(exp.select(*picked).from_(table.table))
    return f"COPY ({rows}) TO {sql(exp.Literal.string(str(file)))} (FORMAT parquet)"


def _in_another_process(order: str, path: Path) -> None:
    package = str(Path(__file__).parents[2])
    search = os.pathsep.join(p for p in (package, os.environ.get("PYTHONPATH")) if p)
    with subprocess.Popen(
        # -P: a folder called dbdeid in the working directory is not this package
        [sys.executable, "-P", "-m", "dbdeid.engine.publish"],
        stdin=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={**_without_secrets(), **_ZEROED, "PYTHONPATH": search},
        text=True,
        process_group=0,  # Ctrl-C is for this process, which then ends the other
    ) as other:
        assert other.stdin is not None
        assert other.stderr is not None
        try:
            with suppress(BrokenPipeError):
                other.stdin.write(f"{order}\n")
                other.stdin.flush()  # and left open: its end tells that this process is gone
            told = other.stderr.read().strip().splitlines()
        except BaseException:
            other.kill()
            raise
        code = other.wait()
    if code:
        cause = told[-1] if code == 2 and told else f"exit code {code}"
        hint = "check that the disk has room, and who may write there"
        raise DataError(f"{path.name} cannot be written ({cause})", hint=hint)


def _without_secrets() -> dict[str, str]:
    return {key: value for key, value in os.environ.items() if not key.startswith("DBDEID_")}


def _write(order: str) -> None:
    """The other process: the order on standard input, the file as its result."""
    asked = json.loads(order)
    settings = Settings(threads=1, spill=Path(asked["spill"]))
    with Session.open(None, read_only=False, settings=settings) as session:
        # FSST is chosen by a random sample, and bit-packing leaves what lay on the stack.
        session.execute("SET disabled_compression_methods = 'fsst,dict_fsst,bitpacking'")
        catalog = session.attach_new(Path(asked["path"]))
        with session.transaction():
            for table in asked["tables"]:
                columns = [Column(**c) for c in table["columns"]]
                target = Relation(table["name"], schema="main", catalog=catalog)
                create_table(session, target, _rows(table["file"], columns), columns)
            macros.install(session.cursor, catalog, private=False)
            _create_views(session, catalog, asked["views"])
        session.detach(catalog)


def _create_views(session: Session, catalog: str, views: Mapping[str, str]) -> None:
    """Views name the tables beside them, which is where they are looked for when it is opened."""
    if not views:
        return
    session.execute(exp.Use(this=exp.to_identifier(catalog, quoted=True)))
    for name, query in views.items():
        session.execute(
            exp.Create(
                this=Relation(name, schema="main", catalog=catalog).table,
                kind="VIEW",
                expression=sqlglot.parse_one(query, dialect="duckdb"),
            )
        )
    session.execute(exp.Use(this=exp.to_identifier(MEMORY, quoted=True)))


def _rows(file: str, columns: list[Column]) -> exp.Select:
    call = exp.Anonymous(this="read_parquet", expressions=[exp.Literal.string(file)])
    picked = [exp.alias_(cast(column(c.name), c.type), identifier(c.name)) for c in columns]
    return exp.select(*picked).from_(exp.Table(this=call))


def create_table(
    session: Session, target: Relation, rows: exp.Query, columns: list[Column]
) -> None:
    """Write a table afresh, sorted by all its columns.

    The rows come sorted, but how they lie in memory depends on threads; sorting once more costs no
    more than copying.
    """
    order = [exp.Ordered(this=column(c.name), nulls_first=False) for c in columns]
    query = exp.select("*").from_(rows.subquery("rows")).order_by(*order)
    session.execute(exp.Create(this=target.table, kind="TABLE", expression=query))


def _end_with_the_first() -> None:
    os.read(0, 1)  # not through sys.stdin, whose lock would be held while Python ends
    os._exit(1)


if __name__ == "__main__":
    order = sys.stdin.readline()
    threading.Thread(target=_end_with_the_first, daemon=True).start()
    try:
        _write(order)
    except DbdeidError as error:
        sys.stderr.write(f"{error.message}\n")
        sys.exit(2)
