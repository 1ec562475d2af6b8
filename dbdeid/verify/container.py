"""What a published file could carry beside its tables, by kind of file.

A `.duckdb` file:
- `objects`: only the release, its dictionary and the shipped `deid` macros, word for word; beside
  a catalog also that and its two views, as shipped. Any other view shows rows it filters through
  column statistics, a type or sequence lists or counts originals.
- `storage`: no freed blocks (dropped and updated rows stay readable there), no deleted rows, no
  write-ahead log beside the file, no bytes after its last block.
- `statistics`: nullness, smallest and largest numbers and distinct counts kept for a column are
  those of its rows; after UPDATE they still tell about the rows before.

A `.parquet` file:
- `metadata`: written by DuckDB, no key-value metadata, no byte outside columns and footer, and no
  value in a column's dictionary that does not occur: pandas categories are written with all their
  values, ENUM columns with a place for each, and both read back as plain text.
"""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from sqlglot import exp

from dbdeid.engine import macros
from dbdeid.engine.failure import EngineError
from dbdeid.engine.relation import Relation, column, identifier
from dbdeid.engine.session import MEMORY, Session, Step
from dbdeid.engine.sqltext import sql, step
from dbdeid.verify.classes import quoted
from dbdeid.verify.declared import Check

HEADER_BYTES = 3 * 4096  # a database file opens with its header, twice
MACROS = "deid"

# What other writers add to Parquet files: names and types, and nothing else is let pass in them.
BENIGN_KEYS = frozenset({"ARROW:schema", "pandas"})
_FIELD_KEYS = frozenset({b"PARQUET:field_id"})
_PANDAS_KEYS = frozenset(
    {
        *("index_columns", "column_indexes", "columns", "attributes"),
        *("partition_columns", "creator", "pandas_version"),
    }
)


def objects(session: Session, tables: Sequence[Relation], views: Sequence[str] = ()) -> Check:
    """Whether the session's database holds the given objects and shipped macros, nothing else.

    Args:
        session: its database is looked at.
        tables: the tables of the release.
        views: names of views whose text is held against the shipped one elsewhere.
    """
    found = session.rows(step("verify_objects", values={"database": session.catalog}))
    own = {("table", "main", table.name) for table in tables}
    own |= {("view", "main", view) for view in views}
    shipped = {("macro", MACROS, name.lower()) for name in public_macros()}
    shipped.add(("schema", "", MACROS))
    foreign = [
        f"{kind} {name!r}"
        for kind, schema, name in found
        if (kind, schema, name) not in own
        and (kind, schema, name.lower()) not in shipped
        and kind != "index"  # named with its table under `definition`
    ]
    if foreign:
        return Check("objects", False, f"not part of a release: {', '.join(foreign)}")
    try:
        altered = _altered_macros(session)
    except EngineError as error:
        return Check("objects", False, f"the definitions cannot be read ({error.kind})")
    detail = f"not as shipped: macro {quoted(altered)}" if altered else ""
    return Check("objects", not altered, detail)


def public_macros() -> tuple[str, ...]:
    """Names of the macros that may stand in a published file."""
    return tuple(macro.name for macro in macros.MACROS if not macro.private)


def _altered_macros(session: Session) -> list[str]:
    """Macros of the file whose text, defaults included, is not the shipped one."""
    shipped = _shipped_texts()
    written = _stored_texts(session, session.catalog)
    return sorted(name for name, texts in written.items() if texts - shipped.get(name, set()))


@cache
def _shipped_texts() -> dict[str, set[str]]:
    """The shipped macros as a new database shows them, and as a published and reopened file does.

    Storage for older readers changes their text: `lambda x: …` comes back as `x -> …`.
    """
    with (
        Session.open(None, read_only=False) as fresh,
        TemporaryDirectory(dir=fresh.scratch) as folder,
    ):
        script = macros.script(private=False)
        fresh.execute(script)
        texts = _macro_texts(fresh, MEMORY)
        path = Path(folder) / "shipped.duckdb"
        name = fresh.attach_new(path)
        fresh.execute(f"USE {sql(identifier(name))}")
        fresh.execute(script)
        fresh.execute(f"USE {sql(identifier(MEMORY))}")
        fresh.detach(name)
        for macro, stored in _stored_texts(fresh, fresh.attach(path, read_only=True)).items():
            texts[macro] |= stored
    return texts


def _stored_texts(session: Session, database: str) -> dict[str, set[str]]:
    copy = f"{database}_schema"
    names = sql(identifier(database)), sql(identifier(copy))
    session.execute(f"ATTACH ':memory:' AS {names[1]}")
    try:
        session.execute(f"COPY FROM DATABASE {names[0]} TO {names[1]} (SCHEMA)")
        return _macro_texts(session, copy)
    finally:
        session.execute(f"DETACH {names[1]}")


def _macro_texts(session: Session, database: str) -> defaultdict[str, set[str]]:
    """The CREATE statements of each macro, from EXPORT DATABASE, which alone shows defaults."""
    with TemporaryDirectory(dir=session.scratch) as folder:
        target = sql(exp.Literal.string(folder))
        session.execute(f"EXPORT DATABASE {sql(identifier(database))} TO {target}")
        script = (Path(folder) / "schema.sql").read_text(encoding="utf-8")
    texts: defaultdict[str, set[str]] = defaultdict(set)
    for statement in re.split(r"^(?=CREATE )", script, flags=re.MULTILINE):
        if named := re.match(rf"CREATE MACRO {MACROS}\.(\w+)", statement):
            texts[named[1].lower()].add(statement.strip())
    return texts


def storage(session: Session, path: Path, tables: Sequence[Relation]) -> Check:
    """Whether the file holds the rows of its tables and nothing that was there before."""
    wrong = []
    total, free, size = session.row(step("verify_storage", values={"database": session.catalog}))
    if free:
        wrong.append(f"{free} freed blocks, which keep what was deleted")
    if path.stat().st_size > HEADER_BYTES + total * size:
        wrong.append("bytes after the last block")
    if path.with_name(f"{path.name}.wal").exists():
        wrong.append("a write-ahead log beside the file")
    for table in tables:
        stored = step("verify_stored_rows", values={"table": sql(table.table)})
        rows = exp.select(exp.Count(this=exp.Star())).from_(table.table)
        if deleted := int(session.row(stored)[0]) - int(session.row(rows)[0]):
            wrong.append(f"{deleted} deleted rows of {table.name!r}")
    return Check("storage", not wrong, "; ".join(wrong))


def statistics(session: Session, tables: Sequence[Relation]) -> Check:
    """Whether the statistics of each column tell no more than a fresh copy of the table does."""
    wrong = []
    for table in tables:
        copy = session.run(Step("verify_copy", exp.select("*").from_(table.table)))
        kept, fresh = _statistics(session, table), _statistics(session, copy)
        session.drop_temp(copy.name)
        wrong += [
            f"{table.name!r}.{name!r}" for name in kept if _tell_more(kept[name], fresh[name])
        ]
    detail = f"statistics of {', '.join(wrong)} are not those of the rows" if wrong else ""
    return Check("statistics", not wrong, detail)


def _statistics(session: Session, table: Relation) -> dict[str, dict[str, object]]:
    shown = [exp.func("stats", column(name)) for name in table.names]
    rows = session.rows(exp.select(*shown).from_(table.table).limit(1))
    return dict(zip(table.names, rows[0], strict=True)) if rows else {}


def _tell_more(kept: dict[str, object], fresh: dict[str, object]) -> bool:
    numbers = [s.get(side) for side in ("min", "max") for s in (kept, fresh)]
    exact = all(n is not None and not isinstance(n, str) for n in numbers)
    if exact and (numbers[0] != numbers[1] or numbers[2] != numbers[3]):
        return True
    if kept.get("has_null") and not fresh.get("has_null"):
        return True
    # an estimate: differs by some percent with the way the rows came in
    distinct = [s.get("approx_unique") for s in (kept, fresh)]
    return (
        isinstance(distinct[0], int)
        and isinstance(distinct[1], int)
        and distinct[0] > 2 * distinct[1] + 10
    )


def parquet(session: Session, paths: Sequence[Path], *, ours: bool) -> Check:
    """Whether Parquet files hold columns and a footer, nothing else.

    Args:
        session: any session.
        paths: the files.
        ours: they must be written by DuckDB; else what other writers usually add is only told.
    """
    wrong: list[str] = []
    told: list[str] = []
    for path in paths:
        created_by, size, accounted, encrypted, keys, noted = session.row(
            step("verify_parquet", values={"path": unglobbed(path)})
        )
        foreign = [key for key in keys or () if ours or key not in BENIGN_KEYS]
        if foreign:
            wrong.append(f"key-value metadata {quoted(foreign)}")
        if noted:
            wrong.append(f"key-value metadata on {noted} column chunks")
        if encrypted:
            wrong.append("encrypted columns")
        by_duckdb = str(created_by).startswith("DuckDB ")
        if not by_duckdb:
            (wrong if ours else told).append("not written by DuckDB")
        if size != accounted:
            text = f"{abs(size - accounted)} bytes outside its columns and footer"
            (wrong if ours or by_duckdb else told).append(text)
        if noted_fields := _noted_fields(path):
            wrong.append(f"metadata on {quoted(noted_fields)}")
        if holders := _unused_values(path):
            wrong.append(f"values that do not occur in the dictionary of {quoted(holders)}")
    return Check("metadata", not wrong, "; ".join(wrong + told))


def _noted_fields(path: Path) -> list[str]:
    """What other writers noted beside names and types of columns: in Arrow's schema, in pandas'."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    def noted(field: pa.Field) -> bool:
        inner = [field.type.field(i) for i in range(field.type.num_fields)]
        return bool(set(field.metadata or ()) - _FIELD_KEYS) or any(map(noted, inner))

    schema = pq.read_schema(path)
    found = [field.name for field in schema if noted(field)]
    try:
        about = dict(json.loads((schema.metadata or {}).get(b"pandas", b"{}")))
    except (ValueError, TypeError):
        return [*found, "pandas"]
    if set(about) - _PANDAS_KEYS or about.get("attributes"):
        found.append("pandas")
    return found


def _unused_values(path: Path) -> list[str]:
    """Text columns whose dictionary on disk lists more values than occur."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    with pq.ParquetFile(path) as plain:
        schema = plain.schema
        texts = [
            schema.column(i).path
            for i in range(len(schema))
            if schema.column(i).physical_type == "BYTE_ARRAY"
        ]
    found: set[str] = set()
    with pq.ParquetFile(path, read_dictionary=texts) as file:
        for group in range(file.num_row_groups):
            rows = file.read_row_group(group, columns=texts)
            for name, cells in zip(rows.column_names, rows.columns, strict=True):
                if pa.types.is_dictionary(cells.type) and _lists_unused(cells):
                    found.add(name)
    return sorted(found)


def _lists_unused(cells: Any) -> bool:
    return any(
        len(chunk.indices.drop_null().unique()) < len(chunk.dictionary) for chunk in cells.chunks
    )


def unglobbed(path: Path) -> str:
    """A path that DuckDB takes literally: `*`, `?` and `[` in it match only themselves."""
    return re.sub(r"[*?\[]", lambda found: f"[{found[0]}]", str(path))
