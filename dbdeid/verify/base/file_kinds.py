"""Published files opened for the verifier: fresh, read-only, every row in its stored order.

Tables of a `.duckdb` file are read in place. Parquet and CSV files are read into temporary tables,
whose order of rows is that of the file. CSV has no types: its cells are taken as text, NULL being
the empty unquoted cell and `""` the empty text, so that no two of them fall into one class.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

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
from dbdeid.engine.relation import Column, Relation
from dbdeid.engine.session import Session, Settings, Step
from dbdeid.errors import DataError
from dbdeid.verify.base.classes import as_text
from dbdeid.verify.base.declaration import Check

DATABASE, PARQUET, TEXT = ".duckdb", ".parquet", ".csv"
KINDS = (DATABASE, PARQUET, TEXT)

# Integers this wide and coarse timestamps have no Parquet type of their own.
WIDE = ("HUGEINT", "UHUGEINT")
IN_PARQUET = {
    **dict.fromkeys(WIDE, "DECIMAL(38,0)"),
    "TIMESTAMP_S": "TIMESTAMP",
    "TIMESTAMP_MS": "TIMESTAMP",
}


def kind(path: Path) -> str:
    """The kind of a file by its ending: `.duckdb`, `.parquet` or `.csv`.

    Raises:
        DataError: no such file, or none of these kinds.
    """
    if not path.is_file():
        what = "no regular file" if path.exists() else "no such file"
        raise DataError(f"{path}: {what}", hint="check the path")
    name = path.name.lower().removesuffix(".gz")
    endings = {".db": DATABASE, ".tsv": TEXT, ".pq": PARQUET} | {k: k for k in KINDS}
    found = endings.get(Path(name).suffix)
    if found is None:
        raise DataError(f"{path}: not a file that can be verified", hint=f"give {', '.join(KINDS)}")
    return found


@contextmanager
def opened(path: Path, settings: Settings | None) -> Iterator[Session]:
    """A fresh in-memory session, a `.duckdb` file attached to it read-only and sealed."""
    database = path if kind(path) == DATABASE else None
    sealed = database is not None  # rows and names are all that the other kinds can hold
    with ENGINE.open(database, read_only=True, settings=settings, sealed=sealed) as session:
        if not sealed:
            session.keep_order()
        yield session


def parquet(session: Session, path: Path, name: str) -> Relation:
    """The rows of a Parquet file as a temporary table, in the order of the file."""
    return _load(session, path, name, parquet_rows(path))


def exported_csv(session: Session, path: Path, name: str) -> Relation:
    """The rows of a CSV file that COPY wrote, as text, in the order of the file."""
    return _load(session, path, name, csv_rows(path))


def foreign_csv(session: Session, path: Path, name: str) -> Relation:
    """The rows of anyone's CSV file with a header, as text; separator and quotes are sniffed.

    Every line is a row: none is taken for a comment, or for what stands before the table.
    """
    options = {"all_varchar": literal(True)} | _TEXT | _EVERY_LINE
    return _load(session, path, name, _rows("read_csv", path, options))


def parquet_rows(path: Path) -> Select:
    """A query for the rows of a Parquet file."""
    return _rows("read_parquet", path, {"hive_partitioning": literal(False)})


def csv_rows(path: Path) -> Select:
    """A query for the rows of a CSV file that COPY wrote, as text.

    Raises:
        DataError: its header is no text.
    """
    try:
        with path.open(encoding="utf-8", newline="") as lines:
            header = next(csv.reader(lines), [])
    except (UnicodeDecodeError, csv.Error):
        raise DataError(
            f"{path}: cannot be read as CSV (not UTF-8 text)", hint="give a whole CSV file"
        ) from None
    fields = {name: literal("VARCHAR") for name in header}
    options: dict[str, Expr] = {
        "auto_detect": literal(False),
        "columns": struct_of(fields),
        "delim": literal(","),
        "quote": literal('"'),
        "escape": literal('"'),
    }
    return _rows("read_csv", path, options | _TEXT)


_TEXT: dict[str, Expr] = {
    "header": literal(True),
    "allow_quoted_nulls": literal(False),
    "hive_partitioning": literal(False),
}


_EVERY_LINE: dict[str, Expr] = {"comment": literal(""), "skip": literal(0)}


def _rows(reader: FileReader, path: Path, options: Mapping[str, Expr]) -> Select:
    return select("*").from_(table_function(reader, literal(unglobbed(path)), **options))


def _load(session: Session, path: Path, name: str, rows: Select) -> Relation:
    try:
        return session.run(Step(name, rows))
    except EngineError as error:
        raise unreadable(path, error) from None


def unreadable(path: Path, error: EngineError) -> DataError:
    """Why a Parquet or CSV file cannot be read."""
    what = "CSV" if kind(path) == TEXT else "Parquet"
    why = error.message.removeprefix("DuckDB: ")
    return DataError(f"{path}: cannot be read as {what} ({why})", hint=f"give a whole {what} file")


def typed(
    session: Session, text: Relation, declared: Sequence[Column], name: str
) -> tuple[Relation, Check]:
    """The rows of a CSV file under their declared types, where every cell is written canonically.

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
    return rows, Check("types", True, "CSV has no types; every cell reads as its declared type")


def unglobbed(path: Path) -> str:
    """A path that DuckDB takes literally: `*`, `?` and `[` in it match only themselves."""
    return re.sub(r"[*?\[]", lambda found: f"[{found[0]}]", str(path))
