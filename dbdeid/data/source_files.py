"""Files as sources: how the engine reads them, and why one cannot be read.

The names of the columns of a CSV file are its first line. Where that is a row of data, or runs
into one, they are cells: they are then counted, and not told.
"""

from __future__ import annotations

import bz2
import csv
import gzip
import lzma
import zlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from io import BufferedReader
from pathlib import Path
from typing import IO, Literal, cast

from dbdeid.data.location.file_formats import (
    FILES,
    JSON_FILES,
    KINDS,
    ending_of,
    files_at,
    is_pattern,
    is_text,
    is_text_source,
)
from dbdeid.engine.expressions import (
    Expr,
    FileReader,
    Query,
    list_of,
    literal,
    select,
    table_function,
)
from dbdeid.engine.failure import AS_UTF8, EngineError
from dbdeid.errors import DataError

# Else DuckDB takes lines that begin with # for comments, and lines before a table for none of it.
EVERY_LINE: Mapping[str, Expr] = {"comment": literal(""), "skip": literal(0)}
SEPARATORS = ",;\t|"
LONGEST_CELL = 2**27  # bytes; a quote that is not closed makes a cell of the rest of a file
OTHERWISE = "or read the file in `source: {sql: …}` with read_csv's options"
NO_HEADER = (
    "their names are not shown, for they may be cells: see whether the first line of the file has "
    "the names of the columns and nothing else. If it has, `dbdeid init` drafts a role for each"
)


def file_query(path: Path) -> Query | None:
    """A query for all rows of a file, folder or pattern of files that the engine reads.

    Of several files, columns are matched by name and have types that fit all of them; that all
    files have the same columns is for the caller to see. None for other formats.

    Raises:
        DataError: there is no such file, or files are of several formats.
    """
    if not (path.is_dir() or is_pattern(path)) and ending_of(path) not in FILES:
        return None
    files = files_at(path)
    reader = FILES.get(ending_of(files[0]))
    return None if reader is None else reading(reader, files)


def reading(reader: FileReader, files: Sequence[Path | str], *, typed: bool = True) -> Query:
    """A query for all rows of some files.

    Args:
        reader: what reads them.
        files: their paths, or addresses.
        typed: types that fit every row; else only the names of the columns can be relied on.
    """
    options: dict[str, Expr] = {}
    if reader in ("read_csv", "read_json") and typed:
        # types that fit every row, not the first 20,480 alone: a rare value may come late
        options["sample_size"] = literal(-1)
    if reader == "read_csv":
        options |= EVERY_LINE
    if len(files) > 1:
        options["union_by_name"] = literal(True)
    names = [literal(str(path)) for path in files]
    place = names[0] if len(names) == 1 else list_of(*names)
    return select("*").from_(table_function(reader, place, **options))


@contextmanager
def reading_source(path: Path | None = None) -> Iterator[None]:
    """Turn errors of reading the source into a DataError that names the fault in a file.

    Raises:
        DataError: in place of an error of the engine.
    """
    try:
        yield
    except EngineError as error:
        if path is not None and not error.of_memory and (told := broken(path)):
            raise told from None
        raise DataError(f"the source cannot be read: {error.message}", hint=error.hint) from None


def no_source(path: Path) -> DataError | None:
    """Why something that is there is no table that can be read; None: it is not there, or may be.

    Folders, devices and pipes, and files that are neither a database nor named like one of the
    kinds that are read.
    """
    try:
        if not path.exists():
            return None
    except (OSError, ValueError):  # no file can be called that
        return None
    if path.is_dir():
        hint = f"with a slash at its end it means all files in it: source: {path.name}/"
        return DataError(f"{path} is a folder", hint=hint)
    if not path.is_file():
        what = "is a device or a pipe, which may never end"
        return DataError(f"{path} {what}", hint=f"save what it gives as a file: {KINDS}")
    if (kind := database_kind(path)) is not None:
        if kind == "own":
            return None
        return DataError(
            f"{path} is a database of SQLite",
            hint=f"attach it: `attach: {{name: {path.name}}}`, and `source: name.TABLE`",
        )
    return DataError(
        f"{path} is not a DuckDB database, nor named like a file of one table",
        hint=f"if it is a table of text, give it the ending .csv; dbdeid reads {KINDS}",
    )


def database_kind(path: Path) -> Literal["own", "sqlite"] | None:
    """Whether a file is a database of the engine's own or of SQLite; None where it is neither."""
    try:
        with path.open("rb") as file:
            start = file.read(16)
    except OSError:
        return "own"  # opening it tells why not
    if start[8:12] == b"DUCK":
        return "own"
    return "sqlite" if start == b"SQLite format 3\0" else None


def require_table(path: Path, names: Sequence[str]) -> None:
    """A text file was read as a table, and not each line of it as one cell.

    Args:
        path: the file.
        names: of the columns that were found.

    Raises:
        DataError: some lines have more or fewer cells than others, or a quote is open.
    """
    signs = [sign for sign in SEPARATORS if len(names) == 1 and sign in names[0]]
    if not signs or not is_text_source(path):
        return
    if not all(_one_cell(file, sign) for file in files_at(path) for sign in signs):
        raise broken(path) or DataError(
            f"{path.name} reads as one column: some line has more or fewer cells than the first",
            hint=f"mend that line, {OTHERWISE}",
        )


def _one_cell(path: Path, separator: str) -> bool:
    """Whether the first line of a text file is one cell, in which the separator is quoted."""
    try:
        with lines_of(path) as lines:
            return len(next(csv.reader(_decoded(lines, [0, 0]), delimiter=separator), ())) == 1
    except (OSError, EOFError, zlib.error, UnicodeDecodeError, csv.Error):
        return False


def told_names(names: Sequence[str], declared: Sequence[str]) -> bool:
    """Whether the first line of a text file may be shown: most of it are declared names.

    Args:
        names: in the file.
        declared: in the specification.
    """
    known = {name.lower() for name in declared}
    return 2 * sum(name.lower() in known for name in names) > len(names)


def broken(path: Path) -> DataError | None:
    """Find the fault in a file that does not read as its name says; None where it is not found.

    Nothing of its contents is told but numbers of lines and of cells.

    Args:
        path: of a file, or of a folder or pattern of some: then of the first that is wrong.
    """
    try:
        files = files_at(path)
    except DataError:
        return None
    return next((told for file in files if (told := _broken(file))), None)


def _broken(path: Path) -> DataError | None:
    try:
        if is_text(path):
            with lines_of(path) as lines:
                return _ragged(path.name, lines)
        if ending_of(path) == ".parquet":
            return _no_parquet(path)
        if ending_of(path) in JSON_FILES:
            return DataError(
                f"{path.name} cannot be read as records in JSON",
                hint="one object on each line, or one list of objects",
            )
        return None
    except (OSError, EOFError, zlib.error, lzma.LZMAError) as error:
        kind = _PACKED.get(path.suffix.lower())
        if kind is None or getattr(error, "errno", None) is not None:
            return None
        return DataError(
            f"{path.name} is no whole {kind} file", hint="compress it again, or give the CSV itself"
        )


_PACKED = {".gz": "gzip", ".zst": "zstd", ".bz2": "bzip2", ".xz": "xz"}


def _no_parquet(path: Path) -> DataError | None:
    with path.open("rb") as file:
        start = file.read(4)
        file.seek(0, 2)
        if file.tell() >= 12:  # the marks at both ends, and the length of the footer
            file.seek(-4, 2)
        whole = start == file.read(4) == b"PAR1"
    if whole:
        return None
    cut = "; it begins like one, and its end is missing" if start == b"PAR1" else ""
    return DataError(
        f"{path.name} is no Parquet file{cut}",
        hint="write it again, or give it the ending of what it is, as .csv",
    )


def lines_of(path: Path) -> IO[bytes]:
    """The bytes of a text file, unpacked, to be read line by line.

    Raises:
        OSError: it cannot be opened.
    """
    packed = path.suffix.lower()
    if packed == ".gz":
        return cast("IO[bytes]", gzip.open(path))
    if packed == ".bz2":
        return bz2.open(path)
    if packed == ".xz":
        return lzma.open(path)
    if packed == ".zst":
        import pyarrow as pa

        return cast("IO[bytes]", BufferedReader(pa.input_stream(str(path), compression="zstd")))
    return path.open("rb")


def _ragged(name: str, lines: IO[bytes]) -> DataError | None:
    """The first line of a CSV file that is not as the first one is."""
    first = lines.readline()
    if b"\0" in first or first.startswith(b"PK\x03\x04"):
        return DataError(f"{name} is no text", hint="save the table as CSV in UTF-8, and give that")
    if not first.strip() and lines.readline():
        return DataError(
            f"{name}, line 1: it is empty, and the first line names the columns",
            hint="delete the empty lines at the beginning of the file",
        )
    separator = max(SEPARATORS, key=lambda sign: first.count(sign.encode()))
    lines.seek(0)
    at = [0, 0]  # the line that is read, and the one that a row begins in
    rows = csv.reader(_decoded(lines, at), delimiter=separator, strict=True)
    before = csv.field_size_limit(LONGEST_CELL)
    wanted = 0
    try:
        for row in rows:
            wanted = wanted or len(row)
            if row and len(row) != wanted:
                cells = f"{len(row)} cell{'s' * (len(row) != 1)}"
                return DataError(
                    f"{name}, line {at[1] + 1}: it has {cells}, and the first line {wanted}",
                    hint=f"mend that line, {OTHERWISE}",
                )
            at[1] = at[0]
    except UnicodeDecodeError:
        return DataError(f"{name}, line {at[0] + 1}: it is not UTF-8 text", hint=AS_UTF8)
    except csv.Error:
        return DataError(
            f"{name}, line {at[1] + 1}: a quote is opened there and not closed, or closed too soon",
            hint=f"mend that line, {OTHERWISE}",
        )
    finally:
        csv.field_size_limit(before)
    return None


def _decoded(lines: IO[bytes], at: list[int]) -> Iterator[str]:
    for number, line in enumerate(lines, 1):
        text = line.decode("utf-8-sig" if number == 1 else "utf-8")
        at[0] = number
        yield text
