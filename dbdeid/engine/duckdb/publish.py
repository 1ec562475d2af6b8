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
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory

from sqlglot import exp

from dbdeid.engine.duckdb import macros
from dbdeid.engine.duckdb.opening import MEMORY, PUBLISHED_STORAGE
from dbdeid.engine.expressions import cast, column, identifier
from dbdeid.engine.file_names import PACKED, Form, parsed
from dbdeid.engine.relation import Column, Relation
from dbdeid.engine.session import Session
from dbdeid.engine.sqltext import sql
from dbdeid.errors import DataError

# DuckDB's own allocator, where it has one, hands out zeroed memory.
_ZEROED = {"DUCKDB_JE_MALLOC_CONF": "zero:true"}
# DuckDB writes it into the file, so it is one that tells nothing.
_CATALOG = "release"
# Parquet has no integers this wide.
_AS_TEXT = ("HUGEINT", "UHUGEINT")


def write_database(
    session: Session,
    path: Path,
    tables: Mapping[str, Relation],
    views: Mapping[str, exp.Query],
    files: Mapping[str, Path] | None = None,
) -> None:
    """Write verified tables, views of them and the public macros into a new database file.

    The tables come sorted, as was verified, and one thread writes their rows as they come: sorting
    them once more would give the same file.

    Args:
        session: where the tables are.
        path: the file, which does not exist yet; what is passed on lies beside it meanwhile.
        tables: each table by the name it gets.
        views: queries of these names, by the name that each view gets.
        files: of some tables, by the name, a Parquet file of their rows that was just written.

    Raises:
        DataError: the file cannot be written.
    """
    try:
        beside = TemporaryDirectory(dir=path.parent)
    except OSError as error:
        raise DataError(f"{path.name} cannot be written ({error.strerror})") from None
    with beside as folder:
        statements = [*_opened(path), "BEGIN TRANSACTION"]
        for number, (name, table) in enumerate(tables.items()):
            columns = session.describe(table.table)
            if (file := (files or {}).get(name)) is None:
                file = Path(folder) / f"{number}.parquet"
                session.execute(_copy(table, columns, file))
            target = Relation(name, schema="main", catalog=_CATALOG)
            rows = _rows(str(file), columns)
            statements.append(sql(exp.Create(this=target.table, kind="TABLE", expression=rows)))
        statements += macros.definitions(_CATALOG, private=False)
        statements += [*_views(views), "COMMIT", f"DETACH {_CATALOG}"]
        order = {"spill": str(Path(folder) / "spill"), "statements": statements}
        _in_another_process(json.dumps(order), path)


def _opened(path: Path) -> Iterator[str]:
    # FSST is chosen by a random sample, and bit-packing leaves what lay on the stack.
    yield "SET disabled_compression_methods = 'fsst,dict_fsst,bitpacking'"
    file, version = (sql(exp.Literal.string(text)) for text in (str(path), PUBLISHED_STORAGE))
    yield f"ATTACH {file} AS {_CATALOG} (STORAGE_VERSION {version})"


def _views(views: Mapping[str, exp.Query]) -> Iterator[str]:
    """Views name the tables beside them, which is where they are looked for when it is opened."""
    if not views:
        return
    yield f"USE {_CATALOG}"
    for name, query in views.items():
        place = Relation(name, schema="main", catalog=_CATALOG).table
        yield sql(exp.Create(this=place, kind="VIEW", expression=query.copy()))
    yield f"USE {sql(identifier(MEMORY))}"


def _copy(table: Relation, columns: tuple[Column, ...], file: Path) -> str:
    picked = [
        exp.alias_(cast(column(c.name), "VARCHAR"), identifier(c.name))
        if c.type in _AS_TEXT
        else column(c.name)
        for c in columns
    ]
    rows = sql(exp.select(*picked).from_(table.table))
    # read once, and at once: packing takes longer than it saves
    packed = "FORMAT parquet, COMPRESSION uncompressed"
    return f"COPY ({rows}) TO {sql(exp.Literal.string(str(file)))} ({packed})"


def _in_another_process(order: str, path: Path) -> None:
    package = str(Path(__file__).parents[3])
    search = os.pathsep.join(p for p in (package, os.environ.get("PYTHONPATH")) if p)
    with subprocess.Popen(
        # As a file, which loads nothing of the package; -P: and nothing from the folder it is in
        [sys.executable, "-P", str(Path(__file__).with_name("writer.py"))],
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


def _rows(file: str, columns: Sequence[Column]) -> exp.Select:
    call = exp.Anonymous(this="read_parquet", expressions=[exp.Literal.string(file)])
    picked = [exp.alias_(cast(column(c.name), c.type), identifier(c.name)) for c in columns]
    return exp.select(*picked).from_(exp.Table(this=call))


_FORMS: dict[Form, str] = {
    "parquet": "FORMAT parquet, COMPRESSION zstd",
    "csv": "FORMAT csv, HEADER true",
    "tsv": "FORMAT csv, HEADER true, DELIMITER '\t'",
    "json": "FORMAT json, ARRAY true",
    "lines": "FORMAT json, ARRAY false",
}


def write_file(session: Session, rows: exp.Query, path: Path) -> None:
    """Write the rows of a query into a new file of one table, by its ending."""
    name = parsed(path.name)
    assert name is not None
    form = _FORMS[name.form]
    # else it is by the last part of a name alone, which a folder may have as well
    form += f", COMPRESSION {name.packing or 'none'}" if name.form in PACKED else ""
    place = sql(exp.Literal.string(str(path)))
    session.execute(f"COPY ({sql(rows)}) TO {place} ({form})")


def create_table(
    session: Session, target: Relation, rows: exp.Query, columns: Sequence[Column]
) -> None:
    """Write a table afresh, sorted by all its columns.

    The rows come sorted, but how they lie in memory depends on threads; sorting once more costs no
    more than copying.
    """
    session.execute(_created(target, rows, columns))


def _created(target: Relation, rows: exp.Query, columns: Sequence[Column]) -> exp.Create:
    order = [exp.Ordered(this=column(c.name), nulls_first=False) for c in columns]
    query = exp.select("*").from_(rows.subquery("rows")).order_by(*order)
    return exp.Create(this=target.table, kind="TABLE", expression=query)
