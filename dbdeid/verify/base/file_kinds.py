"""Published files opened for the verifier: fresh, read-only, every row in its stored order.

Tables of a `.duckdb` file are read in place. Other files are read into temporary tables, whose
order of rows is that of the file. CSV has no types: its cells are taken as text, NULL being
the empty unquoted cell and `""` the empty text, so that no two of them fall into one class.
"""

from __future__ import annotations

import csv
import gzip
import re
import zlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from io import TextIOWrapper
from pathlib import Path
from typing import BinaryIO, TextIO, cast

from dbdeid.engine.engines import ENGINE
from dbdeid.engine.expressions import (
    Expr,
    FileReader,
    Select,
    aliased,
    column,
    count_where,
    literal,
    not_same_value,
    select,
    struct_of,
    table_function,
    try_cast,
    type_name,
)
from dbdeid.engine.failure import EngineError
from dbdeid.engine.file_names import KINDS, Form, parsed
from dbdeid.engine.relation import Column, Relation
from dbdeid.engine.session import Session, Settings, Step
from dbdeid.errors import DataError
from dbdeid.verify.base.classes import as_text
from dbdeid.verify.base.declaration import Check

DATABASE, PARQUET, TEXT, JSON, WORKBOOK = ".duckdb", ".parquet", ".csv", ".json", ".xlsx"
_KINDS: Mapping[Form, str] = {
    "database": DATABASE,
    "parquet": PARQUET,
    "csv": TEXT,
    "tsv": TEXT,
    "json": JSON,
    "lines": JSON,
    "workbook": WORKBOOK,
}

# Integers this wide and coarse timestamps have no Parquet type of their own.
WIDE = ("HUGEINT", "UHUGEINT")
IN_PARQUET = {
    **dict.fromkeys(WIDE, "DECIMAL(38,0)"),
    "TIMESTAMP_S": "TIMESTAMP",
    "TIMESTAMP_MS": "TIMESTAMP",
}


def kind(path: Path) -> str:
    """The kind of a file by its ending: `.duckdb`, `.parquet`, `.csv`, `.json` or `.xlsx`.

    That of tabs for commas is `.csv`, that of one object to a line `.json`, packed or not.

    Raises:
        DataError: no such file, or none of these kinds.
    """
    if not path.is_file():
        what = "no regular file" if path.exists() else "no such file"
        raise DataError(f"{path}: {what}", hint="check the path")
    return kind_named(path)


def kind_named(path: Path) -> str:
    """The kind of a file that need not be there.

    Raises:
        DataError: its ending is none of these kinds.
    """
    found = parsed(path.name)
    if found is None:
        raise DataError(f"{path}: not a file that can be verified", hint=f"give {KINDS}")
    return _KINDS[found.form]


@contextmanager
def opened(path: Path, settings: Settings | None) -> Iterator[Session]:
    """A fresh in-memory session, a `.duckdb` file attached to it read-only and sealed."""
    database = path if not path.is_dir() and kind(path) == DATABASE else None
    sealed = database is not None  # rows and names are all that the other kinds can hold
    with ENGINE.open(database, read_only=True, settings=settings, sealed=sealed) as session:
        if not sealed:
            session.keep_order()
        yield session


def parquet(session: Session, path: Path, name: str) -> Relation:
    """The rows of a Parquet file as a temporary table, in the order of the file."""
    return load(session, path, name, parquet_rows(path))


def exported_csv(session: Session, path: Path, name: str) -> Relation:
    """The rows of a CSV file that COPY wrote, as text, in the order of the file."""
    return load(session, path, name, csv_rows(path))


def foreign_csv(session: Session, path: Path, name: str) -> Relation:
    """The rows of anyone's CSV file with a header, as text; separator and quotes are sniffed.

    Every line is a row: none is taken for a comment, or for what stands before the table.
    """
    options = {"all_varchar": literal(True)} | _TEXT | _EVERY_LINE
    return load(session, path, name, rows_of("read_csv", path, options))


def sniffed_csv(path: Path) -> Select:
    """A query for the rows of anyone's CSV file, of types that fit every row."""
    return rows_of("read_csv", path, {"sample_size": literal(-1)} | _EVERY_LINE)


def parquet_rows(path: Path) -> Select:
    """A query for the rows of a Parquet file."""
    return rows_of("read_parquet", path, {"hive_partitioning": literal(False)})


def csv_rows(path: Path) -> Select:
    """A query for the rows of a CSV file that COPY wrote, as text.

    Raises:
        DataError: its header is no text.
    """
    sign = _delimiter(path)
    with opened_text(path) as lines:
        try:
            header = next(csv.reader(lines, delimiter=sign), [])
        except csv.Error:
            raise _no_text(path, "not UTF-8 text") from None
    fields = {name: literal("VARCHAR") for name in header}
    options: dict[str, Expr] = {
        "auto_detect": literal(False),
        "columns": struct_of(fields),
        "delim": literal(sign),
        "quote": literal('"'),
        "escape": literal('"'),
    }
    return rows_of("read_csv", path, options | _TEXT | unpacked(path))


@contextmanager
def opened_text(path: Path) -> Iterator[TextIO]:
    """A file of text, unpacked where its name says that it is packed.

    Raises:
        DataError: it is not packed so, or is no UTF-8.
    """
    try:
        with _unpacked(path) as text:
            yield text
    except UnicodeDecodeError:
        raise _no_text(path, "not UTF-8 text") from None
    except (OSError, EOFError, zlib.error):  # Arrow's are of these, too
        raise _no_text(path, "it cannot be unpacked") from None


def size(path: Path) -> int:
    """How many bytes of text a file holds, unpacked."""
    if not _packing(path):
        return path.stat().st_size
    total = 0
    with opened_text(path) as text:
        while part := text.read(2**20):
            total += len(part.encode())
    return total


def unpacked(path: Path) -> dict[str, Expr]:
    """The option that says how a file is packed, which a reader of text might guess otherwise."""
    return {"compression": literal(_packing(path) or "none")}


def _unpacked(path: Path) -> TextIO:
    match _packing(path):
        case "gzip":
            return gzip.open(path, "rt", encoding="utf-8", newline="")
        case "zstd":
            import pyarrow as pa  # which takes long, and is needed for these files only

            packed = cast(BinaryIO, pa.input_stream(str(path), compression="zstd"))
            return TextIOWrapper(packed, encoding="utf-8", newline="")
    return path.open(encoding="utf-8", newline="")


def _packing(path: Path) -> str:
    found = parsed(path.name)
    return found.packing if found is not None else ""


def _delimiter(path: Path) -> str:
    found = parsed(path.name)
    return "\t" if found is not None and found.form == "tsv" else ","


def _no_text(path: Path, why: str) -> DataError:
    what = _called(path)
    return DataError(f"{path}: cannot be read as {what} ({why})", hint=f"give a whole {what} file")


def _called(path: Path) -> str:
    return {TEXT: "CSV", JSON: "JSON", WORKBOOK: "workbook"}.get(kind(path), "Parquet")


_TEXT: dict[str, Expr] = {
    "header": literal(True),
    "allow_quoted_nulls": literal(False),
    "hive_partitioning": literal(False),
}


_EVERY_LINE: dict[str, Expr] = {"comment": literal(""), "skip": literal(0)}


def rows_of(reader: FileReader, path: Path, options: Mapping[str, Expr]) -> Select:
    """What a reader gives of one file."""
    return select("*").from_(table_function(reader, literal(unglobbed(path)), **options))


def load(session: Session, path: Path, name: str, rows: Select) -> Relation:
    """The rows of a file as a temporary table.

    Raises:
        DataError: it cannot be read.
    """
    try:
        return session.run(Step(name, rows))
    except EngineError as error:
        raise unreadable(path, error) from None


def unreadable(path: Path, error: EngineError) -> DataError:
    """Why a file of one table cannot be read."""
    return _no_text(path, error.message.removeprefix("DuckDB: "))


_TYPELESS = "CSV has no types; every cell reads as its declared type"


def typed(
    session: Session, text: Relation, declared: Sequence[Column], name: str, told: str = _TYPELESS
) -> tuple[Relation, Check]:
    """The rows of a file of text under their declared types, if every cell is written canonically.

    A cell that is not what DuckDB writes for its value (`1.0` for `1.00`) would make classes look
    larger than a reader finds them: the rows then stay text, and the check fails.
    """
    types_ = {c.name: c.type for c in declared}
    cells: dict[str, Expr] = {}
    for c in text.names:
        kind_ = types_.get(c)
        cells[c] = try_cast(column(c), kind_) if kind_ else column(c)
    unlike = [count_where(not_same_value(as_text(cell), column(c))) for c, cell in cells.items()]
    counts = session.row(select(*unlike).from_(text.table)) if unlike else ()
    wrong = [
        f"{count} cells of {c!r} are not written as {type_name(types_[c])}"
        for c, count in zip(cells, counts, strict=True)
        if count
    ]
    if wrong:
        return text, Check("types", False, "; ".join(wrong))
    named = [aliased(cell, c) for c, cell in cells.items()]
    rows = session.run(Step(name, select(*named).from_(text.table)))
    return rows, Check("types", True, told)


def unglobbed(path: Path) -> str:
    """A path that DuckDB takes literally: `*`, `?` and `[` in it match only themselves."""
    return re.sub(r"[*?\[]", lambda found: f"[{found[0]}]", str(path))
