"""The benchmark tables of Prasser, Kohlmayer & Kuhn 2016 by name, coded for a search.

`adult` is in the package; of the others the user has a copy, as Parquet or as the CSV of ARX's
benchmarks (`;` between cells), with one hierarchy a quasi-identifier. IHIS and ACS have stand-ins
on the same schemas, whose records are made up.
"""

from __future__ import annotations

import csv
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from dbdeid.errors import DataError
from dbdeid.lattice.lattice import Attribute, Lattice
from dbdeid.lattice.tuples import Tuples, Values
from dbdeid.papers.common.data import Data

if TYPE_CHECKING:
    import pandas as pd

_ADULT = "sex age race marital-status education native-country workclass occupation salary-class"
_CARDS = "LIMIT_BAL SEX EDUCATION MARRIAGE AGE PAY_0 PAY_2 default-payment-next-month"
_IHIS = "YEAR QUARTER REGION PERNUM AGE MARSTAT SEX RACEA EDUC"
ACS = (
    *("Age", "Weight", "Income", "Education", "Relationship", "Workclass", "Marital status"),
    *("Citizenship", "Mobility", "Grade level", "Military service", "Sex"),
)


@dataclass(frozen=True, slots=True)
class Named:
    """A benchmark table.

    Attributes:
        files: in which it may be, the first that is there; none: it is in the package.
        family: the prefix of its hierarchies.
        first: so many of its records only; None: all.
        keys: its quasi-identifiers; none: the columns that have a hierarchy.
        where: it is to be had; empty: `WANTED` says it of its file.
    """

    files: tuple[str, ...]
    family: str
    first: int | None = None
    keys: tuple[str, ...] = ()
    where: str = ""


_FARS = "the Fatality Analysis Reporting System of NHTSA; ARX's benchmarks had it as fars.csv"
_CUP = "the KDD Cup 1998, kdd.ics.uci.edu; ARX's benchmarks had eight columns of it as cup.csv"
_ATUS = "the American Time Use Survey, www.bls.gov/tus; ARX's benchmarks had it as atus.csv"
TABLES = {
    "adult": Named((), "adult", keys=tuple(_ADULT.split())),
    "creditcard_int": Named(
        ("arx_creditcard_int.parquet",), "creditcard_int", keys=tuple(_CARDS.split())
    ),
    "ss13_like": Named(("synth/ss13_like.parquet",), "ss13acs_int", keys=ACS),
    "ihis_like": Named(("synth/ihis_like.parquet",), "ihis_int", keys=tuple(_IHIS.split())),
    "ihis_like_100k": Named(
        ("synth/ihis_like.parquet",), "ihis_int", 100_000, tuple(_IHIS.split())
    ),
    "cup": Named(("cup.parquet", "cup.csv"), "cup", where=_CUP),
    "fars": Named(("fars.parquet", "fars.csv"), "fars", where=_FARS),
    "atus": Named(("atus.parquet", "atus_int.csv", "atus.csv"), "atus_int", where=_ATUS),
    "ihis": Named(
        ("ihis.parquet", "ihis_int.csv", "ihis.csv"),
        "ihis_int",
        keys=tuple(_IHIS.split()),
        where="the Integrated Health Interview Series, now IPUMS NHIS: nhis.ipums.org",
    ),
    "ss13": Named(
        ("ss13acs.parquet", "ss13acs_int.csv", "ss13acs.csv"),
        "ss13acs_int",
        keys=ACS,
        where="the ACS PUMS 2013; anonbench had 30 columns of it as ss13acs_int.csv",
    ),
}


def named(name: str) -> Named:
    """A benchmark table; the oracle's names end in .csv.

    Raises:
        DataError: there is none of this name.
    """
    found = TABLES.get(name.removesuffix(".csv"))
    if found is None:
        raise DataError(f"no benchmark table {name!r}", hint=f"one of {', '.join(TABLES)}")
    return found


def there(data: Data, name: str) -> bool:
    """Whether a benchmark table can be read."""
    own = named(name)
    return not own.files or any(map(data.has, own.files))


def keys_of(data: Data, name: str) -> tuple[str, ...]:
    """The quasi-identifiers of a benchmark table: those that were declared, or have a hierarchy.

    Raises:
        DataError: the table, or all of its hierarchies, are not there.
    """
    own = named(name)
    return own.keys or tuple(
        column for column in _frame(data, name).columns if _has_hierarchy(data, own.family, column)
    )


def _has_hierarchy(data: Data, family: str, column: str) -> bool:
    file = f"hierarchies/{family}/{family}_hierarchy_{column.replace(' ', '_')}.csv"
    return data.has(file) or data.has(f"{file}.gz")


def attribute(name: str, rows: Sequence[Sequence[str]]) -> Attribute:
    """Code a hierarchy given as one row a leaf, with loss by leaves of the hierarchy."""
    groups, losses = [], []
    for level, labels in enumerate(zip(*rows, strict=True)):
        _, codes, counts = np.unique(labels, return_inverse=True, return_counts=True)
        if level == 0:
            codes, counts = np.arange(len(rows)), np.ones(len(rows), np.int64)
        groups.append(codes.astype(np.uint32))
        losses.append((counts[codes] - 1) / (len(rows) - 1))
    return Attribute(name, tuple(groups), tuple(losses))


@cache
def load(data: Data, name: str, keys: tuple[str, ...] = ()) -> tuple[Lattice, Tuples]:
    """The lattice and the distinct tuples of a benchmark table.

    Args:
        data: where it is.
        name: of it.
        keys: its quasi-identifiers, in the spelling of the hierarchies; none: all of them.

    Raises:
        DataError: a file is not there, or a value of the table is not in its hierarchy.
    """
    keys = keys or keys_of(data, name)
    rows = [data.hierarchy(named(name).family, key) for key in keys]
    tuples = _tuples(_frame(data, name), name, keys, rows)
    return Lattice(tuple(map(attribute, keys, rows))), tuples


@cache
def load_valued(
    data: Data, name: str, keys: tuple[str, ...], column: str
) -> tuple[Lattice, Tuples]:
    """The same with one sensitive column, its values numbered in their order."""
    lattice, tuples = load(data, name, (*keys, column))
    *codes, values = tuples.codes
    distinct, row = np.unique(np.stack(codes), axis=1, return_inverse=True)
    names, value = np.unique(values, return_inverse=True)
    order = np.lexsort((value, row))
    weights = np.rint(np.bincount(row, tuples.weights)).astype(np.int64)
    held = Values(row[order], value[order], tuples.weights[order], len(names))
    return Lattice(lattice.attributes[:-1]), Tuples(tuple(distinct), weights, None, (held,))


@cache
def _frame(data: Data, name: str) -> pd.DataFrame:
    import pandas as pd

    own = named(name)
    if not own.files:
        return data.adult()
    file = next(filter(data.has, own.files), own.files[0])
    if own.where and not data.has(file):
        place = f"no {' or '.join(own.files)} in {data.folder or 'the package'}"
        raise DataError(place, hint=f"put it into a folder, --data FOLDER: {own.where}")
    path = data.file(file)
    found = pd.read_parquet(path) if path.suffix == ".parquet" else _csv(path)
    return found if own.first is None else found.head(own.first)


def _csv(path: Path) -> pd.DataFrame:
    import pandas as pd

    with path.open(newline="", encoding="utf-8") as lines:
        first = next(csv.reader(lines, delimiter=";"), [])
    separator = ";" if len(first) > 1 else ","
    return pd.read_csv(path, sep=separator, dtype=str, keep_default_na=False)


def _tuples(
    frame: pd.DataFrame, name: str, keys: Sequence[str], hierarchies: Iterable[list[list[str]]]
) -> Tuples:
    import pandas as pd

    names = {_plain(column): column for column in map(str, frame.columns)}
    names |= {"salary-class": names.get("income", "income")} if name.startswith("adult") else {}
    codes = {}
    for place, (key, rows) in enumerate(zip(keys, hierarchies, strict=True)):
        column = names.get(_plain(key))
        if column is None:
            raise DataError(f"{name} has no column {key!r}", hint="see its hierarchies")
        leaves = {row[0]: code for code, row in enumerate(rows)}
        own = frame[column].astype(str).map(leaves)
        if own.isna().any():
            raise DataError(
                f"{name}: {int(own.isna().sum()):,} values of {key} are not in its hierarchy",
                hint="the table and its hierarchies are of different versions",
            )
        codes[place] = own.to_numpy(np.uint32)
    found = pd.DataFrame(codes).groupby(list(codes), sort=True).size()
    columns = (found.index.get_level_values(i) for i in range(len(codes)))
    return Tuples(
        tuple(np.asarray(column, np.uint32) for column in columns),
        np.asarray(found, np.int64),
    )


def _plain(name: str) -> str:
    return name.lower().replace("_", "-").replace(" ", "-")
