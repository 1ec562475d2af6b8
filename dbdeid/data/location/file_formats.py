"""Files that hold one table: which formats there are, by the endings of their names.

A source may be one file, a folder of files, or a pattern of names such as `visits/*.parquet`.
"""

from __future__ import annotations

import glob
from collections.abc import Mapping
from pathlib import Path

from dbdeid.engine.expressions import FileReader
from dbdeid.errors import DataError

_PACKED = ("", ".gz", ".zst")  # the engine unpacks these itself
_JSON = (".json", ".ndjson", ".jsonl")

# Formats that the engine reads, by ending.
FILES: Mapping[str, FileReader] = {
    ".parquet": "read_parquet",
    **{f"{end}{packed}": "read_csv" for end in (".csv", ".tsv") for packed in _PACKED},
    **{f"{end}{packed}": "read_json" for end in _JSON for packed in _PACKED},
}
# Text that is unpacked into a private folder first.
UNPACKED = tuple(f"{end}{packed}" for end in (".csv", ".tsv") for packed in (".bz2", ".xz"))
TEXT_FILES = (*(end for end, reader in FILES.items() if reader == "read_csv"), *UNPACKED)
JSON_FILES = tuple(end for end, reader in FILES.items() if reader == "read_json")
# Formats that a library reads.
ARROW = (".arrow", ".arrows", ".feather", ".ipc")
SHEETS = (".xlsx", ".xlsm", ".xlsb", ".xls", ".ods")
ENDINGS = (*FILES, *UNPACKED, *ARROW, *SHEETS)
KINDS = (
    ".csv, .tsv, .parquet, .json, .ndjson, .arrow, .xlsx, a folder of such files, or a DuckDB "
    "database"
)
_PATTERN = ("*", "?")


def names_file(name: str) -> bool:
    """Whether a source is a file, a folder or a pattern of files, and no table, by its name.

    >>> [names_file(name) for name in ("visits.csv.zst", "visits/", "v/*.parquet", "clinic.visits")]
    [True, True, True, False]
    """
    return name.lower().endswith((*ENDINGS, "/")) or (is_pattern(name) and "/" in name)


def is_remote(name: str) -> bool:
    """Whether a name is the address of files on the network, as `s3://bucket/visits.parquet`."""
    return "://" in name and _scheme(name) in (*_REMOTE, *_HADOOP)


def is_of_hadoop(address: str) -> bool:
    """Whether an address is of a file system that only programs beside Hadoop reach, as Spark."""
    return _scheme(address) in _HADOOP


def _scheme(address: str) -> str:
    return address.partition("://")[0].lower()


_REMOTE = ("s3", "gs", "gcs", "r2", "az", "azure", "abfss", "http", "https", "hf")
_HADOOP = ("hdfs", "viewfs", "s3a", "abfs", "wasb", "wasbs", "dbfs")


def is_pattern(name: str | Path) -> bool:
    """Whether a name stands for all files that it matches."""
    return any(sign in str(name) for sign in _PATTERN)


def ending_of(name: str | Path) -> str:
    """The ending that marks the format of a file, in lower case; empty where none is known.

    >>> ending_of("Visits.CSV.gz")
    '.csv.gz'
    """
    lower = str(name).lower()
    return max((end for end in ENDINGS if lower.endswith(end)), key=len, default="")


def is_text(name: str | Path) -> bool:
    """Whether a name is of a CSV file, or of a pattern of some."""
    return str(name).lower().endswith(TEXT_FILES)


def is_text_source(path: Path) -> bool:
    """Whether a file is of text, or those of a folder or pattern are."""
    if path.is_dir():
        return is_lake(path) is None and is_text(files_at(path)[0])
    return is_text(path)


def is_lake(path: Path) -> str | None:
    """Which format of tables a folder is in that keeps a log of its files: delta or iceberg."""
    if (path / "_delta_log").is_dir():
        return "delta"
    return "iceberg" if any((path / "metadata").glob("*.metadata.json")) else None


def files_at(path: Path) -> tuple[Path, ...]:
    """The files of a source, all of one format: itself, those in a folder, or those that match.

    In folders, what begins with `.` or `_` is left out, as are files of no format that is known:
    programs keep notes of their own beside the data.

    Raises:
        DataError: there are none, or they are of several formats.
    """
    if path.is_dir():
        held = (p for p in path.rglob("*") if not _hidden(p.relative_to(path)))
        found = sorted(p for p in held if ending_of(p) and p.is_file())
        return _of_one_format(found, path, f"{path} is a folder that holds no file that is read")
    if is_pattern(path) and not path.exists():
        named = sorted(Path(p) for p in glob.glob(str(path), recursive=True))
        found = [p for p in named if p.is_file()]
        return _of_one_format(found, path, f"{path} matches no file")
    if not path.is_file():
        what = "is no regular file" if path.exists() else "does not exist"
        raise DataError(f"{path.name} {what}", hint=f"looked in {path.parent}")
    return (path,)


def _hidden(path: Path) -> bool:
    return any(part.startswith((".", "_")) for part in path.parts)


def _of_one_format(found: list[Path], path: Path, none: str) -> tuple[Path, ...]:
    endings = sorted({ending_of(p) for p in found})
    if not found:
        raise DataError(none, hint=f"check the path; dbdeid reads {KINDS}")
    if len(endings) > 1 or not endings[0]:
        listed = ", ".join(end or "others" for end in endings)
        raise DataError(
            f"{path} stands for files of several formats: {listed}",
            hint="name those of one format, as in visits/*.parquet",
        )
    return tuple(found)
