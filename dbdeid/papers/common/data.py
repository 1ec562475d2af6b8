"""Where the tables of the papers are: in the package, or in a folder of the user's.

The package carries UCI Adult, with the hierarchies of ARX for it, and the recipe of two simulated
registries. Nothing is downloaded.
"""

from __future__ import annotations

import csv
import gzip
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from io import StringIO
from pathlib import Path
from typing import TYPE_CHECKING

from dbdeid.errors import DataError

if TYPE_CHECKING:
    import pandas as pd

# Files that the package does not carry: what each is, and where it is to be had.
WANTED = {
    "arx_creditcard_int.parquet": (
        "UCI Default of Credit Card Clients, integers, 30,000 rows",
        "github.com/arx-deidentifier/genetic-benchmark, data/creditcard_int.csv",
    ),
    "synth/ss13_like.parquet": (
        "a table on the schema of the ACS PUMS 2013, 68,725 rows",
        "anonbench's ss13acs_int.csv does as well: `reproduce prasser2016` takes ss13acs.csv",
    ),
    "synth/ihis_like.parquet": (
        "a table on the schema of IHIS, 1,193,504 rows",
        "the Integrated Health Interview Series, now IPUMS NHIS: nhis.ipums.org",
    ),
    "ehr/diabetes130.parquet": (
        "Diabetes 130-US hospitals, 101,766 encounters (Strack et al. 2014)",
        "archive.ics.uci.edu/dataset/296, its CSV with column names in lower snake case",
    ),
    "survival/recipient_support2.parquet": (
        "ten columns of SUPPORT2, 9,105 patients",
        "archive.ics.uci.edu/dataset/880; docs/gal2014.md names the columns",
    ),
}
_TENNESSEE = (
    "people and records of {} Tennessee by age, race, sex and ZIP code",
    "made from tables of the census; docs/xia2013.md names their columns",
)
for _which in ("synthetic", "modelled"):
    for _file in ("tn_{}_population", "adult_tn_{}"):
        WANTED[f"population/{_file.format(_which)}.parquet"] = (
            _TENNESSEE[0].format(_which),
            _TENNESSEE[1],
        )


@dataclass(frozen=True, slots=True)
class Data:
    """Tables and hierarchies by their names.

    Attributes:
        folder: of the user's tables; None: only what the package carries.
    """

    folder: Path | None = None

    def has(self, name: str) -> bool:
        """Whether the folder has a file."""
        return self.folder is not None and (self.folder / name).exists()

    def file(self, name: str) -> Path:
        """A file of the folder.

        Raises:
            DataError: it is not there; the error says what it is and where it is to be had.
        """
        if self.folder is not None and (self.folder / name).exists():
            return self.folder / name
        what, where = WANTED.get(name, ("a table of the paper", "see the page of the paper"))
        place = f"no {self.folder / name}" if self.folder else f"the package has no {name}"
        raise DataError(f"{place}: {what}", hint=f"put it into a folder, --data FOLDER: {where}")

    def adult(self, complete: bool = True) -> pd.DataFrame:
        """UCI Adult as text, 15 columns: all 32,561 records, or the 30,162 without unknowns."""
        return _adult(complete).copy()

    def hierarchy(self, family: str, column: str) -> list[list[str]]:
        """The rows of a hierarchy: a leaf, and its label on each level.

        Args:
            family: the prefix of the file, as in `adult_hierarchy_age.csv`. `adult_full` is
                `adult` with the unknown values of the file of UCI.
            column: in the spelling of the file; blanks are underscores there.

        Raises:
            DataError: there is no such file.
        """
        name = column.replace(" ", "_")
        if family in ("adult", "adult_full"):
            return _of_adult(name, unknown=family == "adult_full")
        file = f"hierarchies/{family}/{family}_hierarchy_{name}.csv"
        path = self.file(f"{file}.gz") if self.has(f"{file}.gz") else self.file(file)
        raw = path.read_bytes()
        return _rows((gzip.decompress(raw) if path.suffix == ".gz" else raw).decode("utf-8"))

    def written(self, family: str, column: str, folder: Path) -> str:
        """The path of a hierarchy as a file, for a specification."""
        path = folder / f"{family}_{column.replace(' ', '_')}.csv"
        if not path.exists():
            with path.open("w", newline="", encoding="utf-8") as file:
                csv.writer(file, delimiter=";").writerows(self.hierarchy(family, column))
        return str(path)


@cache
def _adult(complete: bool) -> pd.DataFrame:
    import pandas as pd

    with files("dbdeid.sample").joinpath("adult.parquet").open("rb") as file:
        found = pd.read_parquet(file)
    return found[~(found == "?").any(axis=1)].reset_index(drop=True) if complete else found


# In the file of UCI only; where anonbench's hierarchies of the whole file have them.
_UNKNOWN = {
    "workclass": ["?", "Unemployed", "*"],
    "occupation": ["?", "Other", "*"],
    "native-country": ["?", "Other", "*"],
}


@cache
def _of_adult(column: str, unknown: bool) -> list[list[str]]:
    name = {"income": "salary-class"}.get(column, column).replace("_", "-")
    place = files("dbdeid.papers").joinpath("hierarchies", f"adult_hierarchy_{name}.csv")
    rows = _rows(place.read_text(encoding="utf-8"))
    return [*rows, _UNKNOWN[name]] if unknown and name in _UNKNOWN else rows


def _rows(text: str) -> list[list[str]]:
    return [row for row in csv.reader(StringIO(text), delimiter=";") if row]
