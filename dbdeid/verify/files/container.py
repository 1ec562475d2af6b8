"""What a published file could carry beside its tables, by kind of file.

A `.duckdb` file:
- `objects`: only the release, its dictionary and the shipped `deid` macros, word for word; beside
  a catalog also that and its two views, as shipped. Any other view shows rows it filters through
  column statistics, a type or sequence lists or counts originals.
- `storage`: no data of before, in its blocks or beside the file: see `storage_leftovers`.
- `statistics`: nullness, smallest and largest numbers and distinct counts kept for a column are
  those of its rows; after UPDATE they still tell about the rows before.

A `.parquet` file:
- `metadata`: written by DuckDB, whose footer has no other fields and true statistics (`footer`), no
  key-value metadata, no byte outside columns and footer; of another writer, no more than
  `foreign_parquet` allows; and no value in a column's dictionary that does not occur: pandas
  categories are written with all their values, ENUM columns with a place for each, and both read
  back as plain text.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

from dbdeid.engine.engines import ENGINE
from dbdeid.engine.expressions import column, function, identifier, literal, select
from dbdeid.engine.failure import EngineError
from dbdeid.engine.relation import Relation
from dbdeid.engine.session import Session, Step
from dbdeid.engine.sqltext import sql, step
from dbdeid.errors import exhausted
from dbdeid.verify.base.classes import quoted
from dbdeid.verify.base.declaration import Check
from dbdeid.verify.base.file_kinds import unglobbed
from dbdeid.verify.files import footer

MACROS = "deid"

_DICTIONARIES = frozenset({"PLAIN_DICTIONARY", "RLE_DICTIONARY"})
_FIELD_KEYS = frozenset({b"PARQUET:field_id"})


class Listed(NamedTuple):
    """What somebody has put into a database; `commented` is not told of tables and views."""

    kind: str
    schema: str
    name: str
    commented: bool


def listed(session: Session) -> list[Listed]:
    """Everything that somebody has put into the session's database."""
    found = session.rows(step("verify/objects", values={"database": session.catalog}))
    return [Listed(*row) for row in found]


def objects(
    session: Session, found: Sequence[Listed], tables: Sequence[Relation], views: Sequence[str] = ()
) -> Check:
    """Whether the session's database holds the given objects and shipped macros, nothing else.

    Args:
        session: its database is looked at.
        found: all that is in it.
        tables: the tables of the release.
        views: names of views whose text is held against the shipped one elsewhere.
    """
    own = {("table", "main", table.name) for table in tables}
    own |= {("view", "main", view) for view in views}
    shipped = {("macro", MACROS, name.lower()) for name in public_macros()}
    shipped.add(("schema", "", MACROS))
    foreign = [
        f"{kind} {name!r}"
        for kind, schema, name, _ in found
        if (kind, schema, name) not in own
        and (kind, schema, name.lower()) not in shipped
        and kind != "index"  # named with its table under `definition`
    ]
    if foreign:
        return Check("objects", False, f"not part of a release: {', '.join(foreign)}")
    try:
        altered = _altered_macros(session)
    except EngineError as error:
        if error.of_memory:
            raise
        return Check("objects", False, f"the definitions cannot be read ({error.kind})")
    detail = f"not as shipped: macro {quoted(altered)}" if altered else ""
    return Check("objects", not altered, detail)


def public_macros() -> tuple[str, ...]:
    """Names of the macros that may stand in a published file."""
    return tuple(macro.name for macro in ENGINE.macros() if not macro.private)


def _altered_macros(session: Session) -> list[str]:
    """Macros of the file whose text, defaults included, is not the shipped one.

    Storage for older readers changes it: `lambda x: …` comes back as `x -> …`. So a published file
    has the texts of one; those of a new database are made only for a file that has others.
    """
    left = _stored_texts(session, session.catalog)
    for shipped in (_published_texts, _new_texts):
        texts = shipped() if left else {}
        kept = {name: found - texts.get(name, set()) for name, found in left.items()}
        left = {name: found for name, found in kept.items() if found}
    return sorted(left)


@cache
def _published_texts() -> dict[str, set[str]]:
    """The shipped macros as a published and reopened file shows them."""
    with (
        ENGINE.open(None, read_only=False) as fresh,
        TemporaryDirectory(dir=fresh.scratch) as folder,
    ):
        path = Path(folder) / "shipped.duckdb"
        name = fresh.attach_new(path)
        fresh.execute(f"USE {sql(identifier(name))}")
        fresh.execute(ENGINE.macro_script(private=False))
        fresh.execute(f"USE {sql(identifier(fresh.catalog))}")
        fresh.detach(name)
        return _stored_texts(fresh, fresh.attach(path, read_only=True))


@cache
def _new_texts() -> dict[str, set[str]]:
    """The shipped macros as a new database shows them."""
    with ENGINE.open(None, read_only=False) as fresh:
        fresh.execute(ENGINE.macro_script(private=False))
        return _macro_texts(fresh, fresh.catalog)


def _stored_texts(session: Session, database: str) -> dict[str, set[str]]:
    copy = f"{database}_schema"
    names = sql(identifier(database)), sql(identifier(copy))
    session.execute(f"ATTACH ':memory:' AS {names[1]}")
    try:
        session.execute(f"COPY FROM DATABASE {names[0]} TO {names[1]} (SCHEMA)")
        return _macro_texts(session, copy)
    finally:
        session.execute(f"DETACH {names[1]}")


def _macro_texts(session: Session, database: str) -> dict[str, set[str]]:
    """The CREATE statements of each macro, from EXPORT DATABASE, which alone shows defaults."""
    with TemporaryDirectory(dir=session.scratch) as folder:
        target = sql(literal(folder))
        session.execute(f"EXPORT DATABASE {sql(identifier(database))} TO {target}")
        script = (Path(folder) / "schema.sql").read_text(encoding="utf-8")
    texts: defaultdict[str, set[str]] = defaultdict(set)
    for statement in re.split(r"^(?=CREATE )", script, flags=re.MULTILINE):
        if named := re.match(rf"CREATE MACRO {MACROS}\.(\w+)", statement):
            texts[named[1].lower()].add(statement.strip())
    return texts


def statistics(session: Session, tables: Sequence[Relation]) -> Check:
    """Whether the statistics of each column reveal no more than a fresh copy of the table does."""
    wrong = []
    for table in tables:
        copy = session.run(Step("verify_copy", select("*").from_(table.table)))
        kept, fresh = _statistics(session, table), _statistics(session, copy)
        session.drop_temp(copy.name)
        wrong += [
            f"{table.name!r}.{name!r}" for name in kept if _tell_more(kept[name], fresh[name])
        ]
    detail = f"statistics of {', '.join(wrong)} are not those of the rows" if wrong else ""
    return Check("statistics", not wrong, detail)


def _statistics(session: Session, table: Relation) -> dict[str, dict[str, object]]:
    shown = [function("stats", column(name)) for name in table.names]
    rows = session.rows(select(*shown).from_(table.table).limit(1))
    return dict(zip(table.names, rows[0], strict=True)) if rows else {}


def _tell_more(kept: dict[str, object], fresh: dict[str, object]) -> bool:
    numbers = [s.get(side) for side in ("min", "max") for s in (kept, fresh)]
    exact = all(n is not None and not isinstance(n, str) for n in numbers)
    if exact and not (_same(numbers[0], numbers[1]) and _same(numbers[2], numbers[3])):
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


def _same(one: object, other: object) -> bool:
    """Whether two numbers are one; NaN is itself, as DuckDB has it and Python does not."""
    return one == other or str(one) == str(other) == "nan"


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
        created_by, size, accounted, encrypted, keys, chunks = session.row(
            step("verify/parquet", values={"path": unglobbed(path)})
        )
        if ours and keys:
            wrong.append(f"key-value metadata {quoted(keys)}")
        if chunks:
            wrong.append(f"key-value metadata on {chunks} column chunks")
        if encrypted:
            wrong.append("encrypted columns")
        by_duckdb = str(created_by).startswith("DuckDB ")
        if ours:
            wrong += footer.found_wrong(path)
        else:
            from dbdeid.verify.files import (
                foreign_parquet,  # patterns that only files of others need
            )

            wrong += foreign_parquet.found_wrong(path)
            told += [] if by_duckdb else ["not written by DuckDB"]
        if ours and size != accounted:
            wrong.append(f"{abs(size - accounted)} bytes outside its columns and footer")
        wrong += _read_by_arrow(path)
    return Check("metadata", not wrong, "; ".join(wrong + told))


def _read_by_arrow(path: Path) -> Iterator[str]:
    """What can only be seen with the eyes of Arrow, in words."""
    import pyarrow as pa

    try:
        if noted_fields := _noted_fields(path):
            yield f"metadata on {quoted(noted_fields)}"
        if holders := _unused_values(path):
            yield f"values that do not occur in the dictionary of {quoted(holders)}"
    except (pa.ArrowException, OSError) as error:  # OSError: of encodings that it does not know
        if exhausted(error):
            raise
        yield "a schema or columns that Arrow cannot read"


def _noted_fields(path: Path) -> list[str]:
    """Columns with metadata of their own in the schema of another writer."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    def noted_(field: pa.Field) -> bool:
        inner = [field.type.field(i) for i in range(field.type.num_fields)]
        return bool(set(field.metadata or ()) - _FIELD_KEYS) or any(map(noted_, inner))

    return [field.name for field in pq.read_schema(path) if noted_(field)]


def _unused_values(path: Path) -> list[str]:
    """Text columns whose dictionary on disk lists more values than occur.

    Arrow cannot give delta-encoded columns with a dictionary: they have none, as their chunks say.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    def listed(chunk: Any) -> bool:
        return chunk.has_dictionary_page or not _DICTIONARIES.isdisjoint(chunk.encodings)

    with pq.ParquetFile(path) as plain:
        schema, metadata = plain.schema, plain.metadata
    texts = {
        place: schema.column(place).path
        for place in range(len(schema))
        if schema.column(place).physical_type == "BYTE_ARRAY"
    }
    found: set[str] = set()
    for place, name in texts.items():
        with pq.ParquetFile(path, read_dictionary=[name]) as file:
            for group in range(file.num_row_groups):
                try:
                    rows = file.read_row_group(group, columns=[name])
                except OSError:
                    if listed(metadata.row_group(group).column(place)):
                        raise
                    continue
                for top, cells in zip(rows.column_names, rows.columns, strict=True):
                    if pa.types.is_dictionary(cells.type) and _lists_unused(cells):
                        found.add(top)
    return sorted(found)


def _lists_unused(cells: Any) -> bool:
    return any(
        len(chunk.indices.drop_null().unique()) < len(chunk.dictionary) for chunk in cells.chunks
    )
