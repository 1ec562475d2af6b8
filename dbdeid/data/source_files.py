"""Parquet and CSV files as sources: how they are read, and why one cannot be.

The names of the columns of a CSV file are its first line. Where that is a row of data, or runs
into one, they are cells: they are then counted, and not told.
"""

from __future__ import annotations

import csv
import gzip
import zlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, cast

from dbdeid.engine.expressions import Expr, FileReader, Query, literal, select, table_function
from dbdeid.engine.failure import AS_UTF8, EngineError
from dbdeid.errors import DataError

FILES: Mapping[str, FileReader] = {
    ".parquet": "read_parquet",
    ".csv": "read_csv",
    ".csv.gz": "read_csv",
    ".tsv": "read_csv",
}
TEXT_FILES = tuple(end for end, reader in FILES.items() if reader == "read_csv")
# Else DuckDB takes lines that begin with # for comments, and lines before a table for none of it.
EVERY_LINE: Mapping[str, Expr] = {"comment": literal(""), "skip": literal(0)}
KINDS = ".csv, .csv.gz, .tsv, .parquet, or a DuckDB database"
SHEETS = (".xlsx", ".xls", ".xlsm", ".xlsb", ".ods", ".numbers")
SEPARATORS = ",;\t|"
LONGEST_CELL = 2**27  # bytes; a quote that is not closed makes a cell of the rest of a file
OTHERWISE = "or read the file in `source: {sql: …}` with read_csv's options"
NO_HEADER = (
    "their names are not shown, for they may be cells: see whether the first line of the file has "
    "the names of the columns and nothing else. If it has, `dbdeid init` drafts a role for each"
)


def file_query(path: Path) -> Query | None:
    """A query for all rows of a Parquet or CSV file; None when the ending is neither.

    Raises:
        DataError: there is no such file.
    """
    reader = next((f for end, f in FILES.items() if path.name.lower().endswith(end)), None)
    if reader is None:
        return None
    if not path.is_file():
        what = "is no regular file" if path.exists() else "does not exist"
        raise DataError(f"{path.name} {what}", hint=f"looked in {path.parent}")
    options: dict[str, Expr] = {}
    if reader == "read_csv":
        # types that fit every row, not the first 20,480 alone: a rare value may come late
        options = {"sample_size": literal(-1), **EVERY_LINE}
    return select("*").from_(table_function(reader, literal(str(path)), **options))


def is_text(name: str | Path) -> bool:
    """Whether a name is of a CSV file."""
    return str(name).lower().endswith(TEXT_FILES)


@contextmanager
def reading_source(path: Path | None = None) -> Iterator[None]:
    """What the engine refuses of the source, told as such; of a file, what is wrong in it.

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

    Folders, devices and pipes, spreadsheets, and files that are neither a database of DuckDB nor
    named like one of the kinds that are read.
    """
    try:
        if not path.exists():
            return None
    except (OSError, ValueError):  # no file can be called that
        return None
    if path.is_dir():
        return DataError(f"{path} is a folder", hint=f"name one file in it: {KINDS}")
    if not path.is_file():
        what = "is a device or a pipe, which may never end"
        return DataError(f"{path} {what}", hint=f"save what it gives as a file: {KINDS}")
    if path.suffix.lower() in SHEETS:
        return DataError(
            f"{path} is a spreadsheet", hint="save the sheet as CSV in UTF-8, and give that file"
        )
    try:
        with path.open("rb") as file:
            known = file.read(12)[8:] == b"DUCK"
    except OSError:
        return None  # opening it tells why
    if known:
        return None
    return DataError(
        f"{path} is not a DuckDB database, nor named like a file of one table",
        hint=f"if it is a table of text, give it the ending .csv; dbdeid reads {KINDS}",
    )


def require_table(path: Path, names: Sequence[str]) -> None:
    """A text file was read as a table, and not each line of it as one cell.

    Args:
        path: the file.
        names: of the columns that were found.

    Raises:
        DataError: some lines have more or fewer cells than others, or a quote is open.
    """
    signs = [sign for sign in SEPARATORS if len(names) == 1 and sign in names[0]]
    if is_text(path) and signs and not all(_one_cell(path, sign) for sign in signs):
        raise broken(path) or DataError(
            f"{path.name} reads as one column: some line has more or fewer cells than the first",
            hint=f"mend that line, {OTHERWISE}",
        )


def _one_cell(path: Path, separator: str) -> bool:
    """Whether the first line of a text file is one cell, in which the separator is quoted."""
    try:
        with _lines(path) as lines:
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
    """What is wrong in a file that could not be read as what its name says; None: not known.

    Nothing of its contents is told but numbers of lines and of cells.
    """
    try:
        if not is_text(path):
            return _no_parquet(path)
        with _lines(path) as lines:
            return _ragged(path.name, lines)
    except (gzip.BadGzipFile, EOFError, zlib.error):
        return DataError(
            f"{path.name} is no whole gzip file", hint="compress it again, or give the CSV itself"
        )
    except OSError:
        return None


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


def _lines(path: Path) -> IO[bytes]:
    packed = path.name.lower().endswith(".gz")
    return cast("IO[bytes]", gzip.open(path) if packed else path.open("rb"))


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
