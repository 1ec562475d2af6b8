"""What the name of a file says of the table in it: its form, how it is packed, what lies beside it.

An ending may have two parts, as in `visits.csv.gz`, so that the stem is what is before both.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path, PurePath
from typing import Literal

from dbdeid.engine import regular

Form = Literal["database", "parquet", "csv", "tsv", "json", "lines", "workbook"]
Packing = Literal["", "gzip", "zstd"]

# The endings under which a release is written.
FORMS: dict[str, Form] = {
    ".parquet": "parquet",
    ".csv": "csv",
    ".tsv": "tsv",
    ".json": "json",
    ".ndjson": "lines",
    ".jsonl": "lines",
    ".xlsx": "workbook",
    ".duckdb": "database",
}
PACKINGS: dict[str, Packing] = {".gz": "gzip", ".zst": "zstd"}
PACKED: tuple[Form, ...] = ("csv", "tsv", "json", "lines")
KINDS = ", ".join(FORMS)
# Under which files of others come, too.
_OTHERS: dict[str, Form] = {".db": "database", ".pq": "parquet"}


@dataclass(frozen=True, slots=True)
class FileName:
    """The name of a file of a table, in parts.

    Attributes:
        stem: what is before the ending.
        ending: as it is spelled, as in `.csv.gz`.
        form: in which the table is written.
        packing: how that text is compressed; empty where it is not.
    """

    stem: str
    ending: str
    form: Form
    packing: Packing = ""

    @property
    def lasting(self) -> bool:
        """Whether a release may be written under this ending."""
        return self.ending.removesuffix(Path(self.ending).suffix if self.packing else "") in FORMS


def given_path(path: str | Path | None) -> Path | None:
    """A path that a caller may have given as text."""
    return None if path is None else Path(path)


def parsed(name: str) -> FileName | None:
    """The parts of a file name; None where its ending is none of a table.

    >>> parsed("visits.csv.gz")
    FileName(stem='visits', ending='.csv.gz', form='csv', packing='gzip')
    >>> parsed("visits.parquet.gz") is None
    True
    """
    outer = Path(name).suffix
    packing = PACKINGS.get(outer.lower(), "")
    inner = Path(name.removesuffix(outer)).suffix if packing else outer
    form = (FORMS | _OTHERS).get(inner.lower())
    if form is None or (packing and form not in PACKED):
        return None
    ending = inner + (outer if packing else "")
    return FileName(name.removesuffix(ending), ending, form, packing)


def is_export(name: str) -> bool:
    """Whether a release is written to a file of this name: its ending is known, in small letters.

    >>> is_export("public.tsv.zst"), is_export("public.CSV"), is_export("public.db")
    (True, False, False)
    """
    found = parsed(name)
    return found is not None and found.lasting


def names_file(name: str) -> bool:
    """Whether an export of this name is a file or a folder, and no table of another database.

    >>> [names_file(n) for n in ("public.csv", "public/", "lake.public.visits", 'lake."csv"')]
    [True, True, False, False]
    """
    return name.endswith("/") or is_export(name)


def of_one_table(name: str) -> bool:
    """Whether a name is of a file that is one table, and no database.

    >>> of_one_table("anon.ndjson"), of_one_table("main.anon"), of_one_table("anon.duckdb")
    (True, False, False)
    """
    found = parsed(name)
    return found is not None and found.form != "database"


def stem(path: Path) -> str:
    """The name of a file without its ending, of however many parts that is."""
    found = parsed(path.name)
    return path.stem if found is None else found.stem


def is_folder(path: PurePath) -> bool:
    """Whether a release is written to a folder of this name, of Parquet files."""
    return parsed(path.name) is None


def beside(path: Path, what: str) -> Path:
    """The file of another table of the same release, as of its dictionary.

    >>> beside(Path("visits.csv.gz"), "dictionary").name
    'visits_dictionary.csv.gz'
    >>> beside(Path("visits"), "dictionary").name
    'visits_dictionary.parquet'
    """
    if is_folder(path):
        return path.with_name(f"{path.name}_{what}.parquet")
    return path.with_name(f"{stem(path)}_{what}{path.name.removeprefix(stem(path))}")


def holds_table(path: Path) -> bool:
    """Whether a path names a file of a table, and not of a specification, which may be JSON too.

    A table in JSON is a list of objects, and a specification is one object.
    """
    found = parsed(path.name)
    if found is None or found.form != "json" or found.packing:
        return found is not None
    try:
        return regular.text(path, 64).lstrip().startswith("[")
    except (OSError, UnicodeDecodeError):
        return False
