"""The tables of the bench, how each comes about, and what a reviewer said of their columns.

A review is `reviewed/<table>.yml`: for each column the roles that a careful reviewer could
defend, whether it is a direct identifier or free text that holds one, and whether it (nearly)
tells one subject from all others. The reviews were written from the tables alone, by somebody who
had not read what drafts them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb
import pandas as pd
from ruamel.yaml import YAML

from drafts import nasty
from drafts.registries import registry
from drafts.words import LANGUAGES

REVIEWS = Path(__file__).parent / "reviewed"
WITHHELD = frozenset({"identifier", "drop"})
ROLES = WITHHELD | {"quasi_identifier", "sensitive", "insensitive"}

# Reference data, cut so that a draft is quick: the first rows, or people by the digest of their
# number, each with all rows.
FIRST = "SELECT * FROM read_parquet(?) LIMIT 3000"
REAL: Mapping[str, tuple[str, str]] = {
    "adult": ("adult_uci.parquet", FIRST),
    "adult_tennessee": ("population/adult_tn_modelled.parquet", FIRST),
    "credit_card": ("arx_creditcard_int.parquet", FIRST),
    "acs": ("arx_ss13acs_5attr.parquet", FIRST),
    "diabetes": ("ehr/diabetes130.parquet", "{people} md5(patient_nbr::VARCHAR) < '08'"),
    "nafld": ("ehr/r_survival_nafld2.parquet", "{people} md5(id::VARCHAR) < '02'"),
    "census_casc": ("sdc/sdc_census_casc.parquet", FIRST),
    "tarragona": ("sdc/sdc_tarragona.parquet", FIRST),
    "households": ("sdc/sdcmicro_testdata.parquet", "{people} md5(ori_hid::VARCHAR) < 'a'"),
    "students": ("sdc/students_math_score.csv", "SELECT * FROM read_csv(?)"),
    "colon_registry": ("survival/biostat3_colon.parquet", "{people} md5(id::VARCHAR) < '30'"),
    "colon_trial": ("survival/r_survival_colon.parquet", FIRST),
    "breast_trial": ("survival/r_survival_gbsg.parquet", FIRST),
    "lung_trial": ("survival/r_survival_lung.parquet", FIRST),
    "breast_bank": ("survival/r_survival_rotterdam.parquet", FIRST),
    "support": ("survival/support2.parquet", FIRST),
    "support_recipient": ("survival/recipient_support2.parquet", FIRST),
    "lung_recipient": ("survival/recipient_lung_simulated.parquet", FIRST),
    "ihis": ("synth/ihis_like.parquet", FIRST),
}
PEOPLE = "SELECT * FROM read_parquet(?) WHERE"


@dataclass(frozen=True, slots=True)
class Reviewed:
    """What a reviewer said of a column.

    Attributes:
        roles: those that can be defended; for a direct identifier only those that withhold it.
        direct: a name, street, number or address of a person, or text that holds one.
        determines_subject: alone it tells (nearly) every subject from all others.
        concept: of a registry, the same in each language; "" elsewhere.
    """

    roles: frozenset[str]
    direct: bool
    determines_subject: bool
    concept: str


@dataclass(frozen=True, slots=True)
class Review:
    """What a reviewer said of a table.

    Attributes:
        source: where the table is from; generated ones share one source a generator.
        kind: `real`, `registry` (26 columns, headers written out), `short` (the same,
            abbreviated) or `nasty`.
        subject: columns that may be proposed as whose privacy it is; none may, where empty.
    """

    table: str
    language: str
    source: str
    kind: str
    subject: frozenset[str]
    columns: Mapping[str, Reviewed]


def reviews() -> dict[str, Review]:
    """All reviews, by the name of their table."""
    return {path.stem: _review(path) for path in sorted(REVIEWS.glob("*.yml"))}


def _review(path: Path) -> Review:
    read = YAML(typ="safe").load(path.read_text(encoding="utf-8"))
    return Review(
        path.stem,
        read["language"],
        read["source"],
        read["kind"],
        frozenset(read["subject"]),
        {name: _reviewed(column) for name, column in read["columns"].items()},
    )


def _reviewed(column: Mapping[str, Any]) -> Reviewed:
    return Reviewed(
        frozenset(column["roles"]),
        column.get("direct", False),
        column.get("determines_subject", False),
        column.get("concept", ""),
    )


def write(review: Review, shared: Path, folder: Path) -> Path:
    """The file of a table, as its owner would have it: Parquet, or a CSV of abbreviated headers."""
    if review.kind == "real":
        path = folder / f"{review.table}.parquet"
        file, query = REAL[review.table]
        with duckdb.connect() as con:
            cut = f"COPY ({query.format(people=PEOPLE)}) TO '{path}'"
            con.execute(cut, [str(shared / "data" / file)])
        return path
    return written(made(review.table), folder / review.table)


def made(table: str) -> pd.DataFrame:
    """A generated table."""
    if table in nasty.TABLES:
        return nasty.TABLES[table]()
    language, _, short = table.partition("_")
    words = next(w for w in LANGUAGES if w.language.lower() == language)
    return registry(words, short=bool(short))


def written(frame: pd.DataFrame, path: Path) -> Path:
    """A frame as Parquet, or as CSV where its name ends with `_short`."""
    if path.name.endswith("_short"):
        file = path.with_suffix(".csv")
        frame.to_csv(file, index=False, sep=";")
    else:
        file = path.with_suffix(".parquet")
        frame.to_parquet(file, index=False)
    return file
