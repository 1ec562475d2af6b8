"""Opening files: those that the engine reads again each time, and those that are read once."""

from __future__ import annotations

import shutil
from codecs import getreader
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from lzma import LZMAError
from pathlib import Path

from dbdeid.data.location.file_formats import (
    ARROW,
    FILES,
    KINDS,
    SHEETS,
    UNPACKED,
    ending_of,
    files_at,
    is_lake,
    is_of_hadoop,
)
from dbdeid.data.source_files import lines_of, reading
from dbdeid.engine.expressions import FileReader, Query, literal, select, table_function
from dbdeid.engine.failure import EngineError
from dbdeid.engine.process import private_files
from dbdeid.engine.scratch import Scratch, spill_folder
from dbdeid.engine.session import Session, Step
from dbdeid.errors import DataError, MissingExtra
from dbdeid.sources import libraries
from dbdeid.sources.rows import Rows, library, staged, temporary

_LOOKED_AT = 2**16  # bytes of lines by which an encoding is told
_MOST_TOLD = 5
_UTF16 = (b"\xff\xfe", b"\xfe\xff")


@dataclass(frozen=True, slots=True)
class State:
    """A file as it was found, by which it is seen whether it was changed since."""

    path: Path
    size: int
    changed: int
    inode: int

    @classmethod
    def of(cls, path: Path) -> State:
        """The state of a file now.

        Raises:
            DataError: it is gone.
        """
        try:
            found = path.stat()
        except OSError as error:
            raise DataError(
                f"{path.name} cannot be read ({error.strerror})", hint="check the path in the spec"
            ) from None
        return cls(path, found.st_size, found.st_mtime_ns, found.st_ino)


@dataclass(frozen=True, slots=True)
class Opened:
    """A source as a relation of the session.

    Attributes:
        query: for all rows; what it reads stays as it is while the session lives, but for `states`.
        states: files that are read each time, as they were found.
        notes: what its owner is to be told of how it was read.
        read: the file of text as it is, where its lines can be looked at once more.
        passing: whether what it reads is gone after the session, so that no view can show it.
    """

    query: Query
    states: tuple[State, ...] = ()
    notes: tuple[str, ...] = ()
    read: Path | None = None
    passing: bool = True

    def require_unchanged(self) -> None:
        """Refuse files that are not as they were when they were opened.

        Raises:
            DataError: one of them was changed, or is gone.
        """
        changed = [state.path.name for state in self.states if State.of(state.path) != state]
        if changed:
            raise DataError(
                f"{', '.join(changed[:_MOST_TOLD])} changed while the source was read",
                hint="nothing was published; run it again once nobody writes there",
            )


def open_files(session: Session, path: Path, name: str, *, again: bool = False) -> Opened:
    """All rows of a file, of a folder of files, or of those that match a pattern.

    Parquet is read where it lies. What takes longer to read than to keep is read once, into a
    temporary table.

    Args:
        session: that reads it.
        path: of it.
        name: of the temporary table.
        again: read it each time where the engine can, for a view or to show how.

    Raises:
        DataError: it is not there, is in no format that is known, or cannot be read.
        EngineError: the engine cannot read it.
        MissingExtra: a library that it needs is not installed.
    """
    if path.is_dir() and (lake := is_lake(path)) is not None:
        return _lake(session, path, lake, name)
    files = files_at(path)
    ending = ending_of(files[0])
    reader = FILES.get(ending)
    if ending in ARROW:
        return _kept(session, libraries.arrow_rows(files), name)
    if ending in SHEETS:
        if len(files) > 1:
            raise DataError(f"{path} is several workbooks", hint="name one file")
        return _kept(session, libraries.sheet_rows(files[0], None), name)
    if reader is None and ending not in UNPACKED:
        raise DataError(f"{path.name} is in no format that is known", hint=f"one of {KINDS}")
    if len(files) > 1 and reader is not None:
        _require_alike(session, reader, files)
    if reader == "read_parquet" or (again and reader is not None):
        return Opened(reading(reader, files), tuple(map(State.of, files)), passing=False)
    if reader is not None:
        try:
            table = session.run(Step(name, reading(reader, files)))
            single = files[0] if len(files) == 1 else None
            return Opened(select("*").from_(table.table), read=single)
        except EngineError as error:
            if reader != "read_csv" or error.of_memory or not _foreign(files):
                raise
    return _transcoded(session, files, name)


def open_remote(session: Session, address: str, name: str) -> Opened:
    """All rows of files on the network, read once.

    Raises:
        DataError: they cannot be read, or the extension that would is not installed.
    """
    if is_of_hadoop(address):
        raise DataError(
            f"{address.partition(':')[0]}:// is a file system of Hadoop, which Spark reads",
            hint="give a session of Spark, or --spark-remote; or copy the files",
        )
    if not session.extends("httpfs"):
        raise DataError(
            "reading files from the network needs DuckDB's extension 'httpfs'",
            hint=session.install_hint("httpfs"),
        )
    reader = FILES.get(ending_of(address))
    if reader is None:
        raise DataError(f"{ending_of(address) or 'this'} is not read from the network", hint=KINDS)
    table = session.run(Step(name, reading(reader, [address])))
    return Opened(select("*").from_(table.table))


def kept(session: Session, query: Query, name: str) -> Opened:
    """The rows of a query, read once into a temporary table."""
    return Opened(select("*").from_(session.run(Step(name, query)).table))


def _kept(session: Session, rows: Rows, name: str) -> Opened:
    return Opened(select("*").from_(staged(session, temporary(name), rows).table))


def _lake(session: Session, path: Path, lake: str, name: str) -> Opened:
    """A table of Delta Lake or Iceberg, by an extension or a library."""
    reader: FileReader = "delta_scan" if lake == "delta" else "iceberg_scan"
    if session.extends(lake):
        rows = select("*").from_(table_function(reader, literal(str(path))))
        return kept(session, rows, name)
    if lake == "delta":
        return _kept(session, libraries.delta_rows(path), name)
    raise DataError(
        f"{path} is a table of Iceberg, and reading it needs DuckDB's extension {lake!r}",
        hint=session.install_hint(lake),
    )


def _require_alike(session: Session, reader: FileReader, files: Sequence[Path]) -> None:
    """Refuse files of which one has a column that another lacks: cells would be lost, or missing.

    Raises:
        DataError: they differ in their columns, which are counted and not named.
    """
    names = [_columns(session, reader, file) for file in files]
    for file, found in zip(files, names, strict=True):
        if found != names[0]:
            less, more = len(names[0] - found), len(found - names[0])
            raise DataError(
                f"{file.name} does not have the columns of {files[0].name}: {less} missing, "
                f"{more} added",
                hint="give all files the same columns, or read them in `source: {sql: …}` with "
                "union_by_name = true, where missing ones become NULL",
            )


def _columns(session: Session, reader: FileReader, file: Path) -> frozenset[str]:
    found = session.describe(reading(reader, [file], typed=False))
    return frozenset(column.name.lower() for column in found)


# -- text in other encodings -----------------------------------------------------------------------


def _foreign(files: Sequence[Path]) -> bool:
    """Whether one of some files of text is not in UTF-8, and each is text."""
    return all(map(_may_be_text, files)) and not all(map(_is_utf8, files))


def _may_be_text(file: Path) -> bool:
    try:
        with lines_of(file) as lines:
            start = lines.read(_LOOKED_AT)
    except (OSError, EOFError, LZMAError):
        return False
    return start.startswith(_UTF16) or (b"\0" not in start and start[:4] != b"PK\x03\x04")


def _is_utf8(file: Path) -> bool:
    try:
        with lines_of(file) as lines:
            for _ in getreader("utf-8")(lines):
                pass
    except UnicodeDecodeError:
        return False
    except (OSError, EOFError, LZMAError):
        return True  # of another kind of fault, reading it tells
    return True


def _transcoded(session: Session, files: Sequence[Path], name: str) -> Opened:
    """Files of text that are unpacked, or written anew in UTF-8, in a private folder meanwhile."""
    encodings = [None if _is_utf8(file) else _encoding(file) for file in files]
    with _private_folder() as folder:
        plain = [folder / f"{number}.csv" for number in range(len(files))]
        for file, encoding, place in zip(files, encodings, plain, strict=True):
            _write_plain(file, encoding, place)
        if len(plain) > 1:
            _require_alike(session, "read_csv", plain)
        table = session.run(Step(name, reading("read_csv", plain)))
    notes = tuple(
        f"{file.name} is not UTF-8 text: it was read as {encoding}, which its bytes suggest. If "
        "letters are wrong, save it as UTF-8"
        for file, encoding in zip(files, encodings, strict=True)
        if encoding is not None
    )
    return Opened(select("*").from_(table.table), notes=notes[:_MOST_TOLD])


def _encoding(file: Path) -> str:
    """The encoding of a file of text, as its bytes suggest.

    Raises:
        DataError: nothing fits.
        MissingExtra: the library that tells is not installed.
    """
    telling = b""
    with lines_of(file) as lines:
        for line in lines:
            if not telling and line.startswith(_UTF16):
                return "utf-16"
            telling += b"" if line.isascii() else line
            if len(telling) > _LOOKED_AT:
                break
    try:
        guess = library("charset_normalizer", "charset-normalizer").from_bytes
        found = list(guess(telling, cp_isolation=[*_ENCODINGS], threshold=0.5))
    except MissingExtra as missing:
        raise DataError(f"{file.name} is not UTF-8 text", hint=_AS_UTF8 + missing.hint) from None
    if not found:
        raise DataError(
            f"{file.name} is text in no encoding that is known", hint="save it as UTF-8"
        )
    likely = {e for m in found if m.chaos == found[0].chaos for e in m.could_be_from_charset}
    return max((e for e in _ENCODINGS if e in likely), key=lambda e: _letters(telling, e))


def _letters(text: bytes, encoding: str) -> int:
    """How many of its signs beyond ASCII an encoding takes for letters, where others see signs."""
    return sum(sign.isalpha() for sign in text.decode(encoding, "ignore") if not sign.isascii())


# What tables are written in, the usual ones first.
_ENCODINGS = (
    *("cp1252", "cp1250", "cp1251", "cp1253", "cp1254", "cp1257", "cp932", "gb18030", "big5"),
    "euc_kr",
)
_AS_UTF8 = "save it as UTF-8; or let its encoding be found: "


def _write_plain(file: Path, encoding: str | None, place: Path) -> None:
    try:
        with lines_of(file) as lines, place.open("wb") as plain:
            if encoding is None:
                shutil.copyfileobj(lines, plain)
            else:
                for text in getreader(encoding)(lines):
                    plain.write(text.encode())
    except (UnicodeError, EOFError, OSError, LZMAError):
        raise DataError(
            f"{file.name} cannot be read to its end",
            hint="save it as UTF-8, and compress it again",
        ) from None


@contextmanager
def _private_folder() -> Iterator[Path]:
    """A folder for its owner only, which is gone afterwards."""
    scratch = Scratch.make(spill_folder(None))
    try:
        with private_files():
            yield scratch.path
    finally:
        scratch.remove()
