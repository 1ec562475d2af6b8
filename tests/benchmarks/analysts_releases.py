"""Five releases of a made-up hospital, and the truth of each: see `analysts.py`."""

from __future__ import annotations

import csv
import json
import re
import shutil
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb

import dbdeid

SQL = Path(__file__).with_name("analysts_sql")
DATABASE = "hospital.duckdb"
RELEASE = "visits_public"
K, SEED = 5, 2024

Columns = dict[str, Any]

_WHY = "known inside the hospital only"
_PLAIN: Columns = {"role": "insensitive", "reason": _WHY}
# Released as they are, by all methods that do not say otherwise.
AS_THEY_ARE: Columns = {
    "ward": _PLAIN,
    "diagnosis": {"role": "sensitive", "accept": "homogeneity"},
    "cost": _PLAIN,
    "los": _PLAIN,
    "satisfied": _PLAIN,
    "billed": _PLAIN,
}


def generalized(**hierarchy: Any) -> Columns:
    """A quasi-identifier, and what becomes of it."""
    return {"role": "quasi_identifier", **hierarchy}


GENERALIZED: Columns = {
    "age": generalized(hierarchy={"intervals": [5, 10, 20, 40], "lower": 0, "upper": 100}),
    "sex": generalized(hierarchy="suppress", domain=["F", "M"]),
    "zip": generalized(hierarchy="zip.csv"),
    "admitted": generalized(
        hierarchy={
            "dates": ["month", "quarter", "year"],
            "lower": "2022-01-01",
            "upper": "2025-01-01",
        }
    ),
}
# Method policy has no hierarchies, and a domain of moments must be listed: 6,000 visits have too
# many. So `admitted` is released as it is.
_MERGED: Columns = {
    "age": generalized(domain=[0, 99]),
    "sex": generalized(order=["F", "M"]),
    "zip": GENERALIZED["zip"],
    "admitted": _PLAIN,
}
# Method counterfeit copies what is released as it is from a record, and refuses what is nearly
# unique: copies tell. So cost, stay and bill are generalized, too.
_COPIED: Columns = {
    **GENERALIZED,
    "cost": generalized(hierarchy={"intervals": [250, 500, 1000, 2000], "lower": 0, "upper": 6000}),
    "los": generalized(hierarchy={"intervals": [2, 4, 8], "lower": 0, "upper": 24}),
    "satisfied": generalized(hierarchy="suppress", domain=["true", "false"]),
    "billed": generalized(
        hierarchy={
            "dates": ["month", "quarter", "year"],
            "lower": "2022-01-01",
            "upper": "2026-01-01",
        }
    ),
}
# Method condensation draws all columns, a TIMESTAMP as well, and promises no bounds.
_DRAWN: Columns = {
    name: {"role": "synthesize", "reason": "all values are drawn"}
    for name in (*GENERALIZED, *AS_THEY_ARE)
}


@dataclass(frozen=True)
class Way:
    """A way to make a release.

    Attributes:
        method: as the specification has it.
        columns: the roles that differ from `AS_THEY_ARE`.
        truthful: whether each released record is one of the source, and counts as one.
        model: the promise.
    """

    method: Columns
    columns: Columns
    truthful: bool = True
    model: tuple[str, int] = ("k_anonymity", K)

    @property
    def generalizes(self) -> frozenset[str]:
        """The columns that an answer may be unsure of."""
        return frozenset(n for n, c in self.columns.items() if c["role"] != "insensitive")

    def spec(self) -> Columns:
        """The specification, in a folder that has the database and its hierarchy."""
        name, k = self.model
        return {
            "release": RELEASE,
            "database": DATABASE,
            "target": "released.duckdb",
            "source": "visits",
            "columns": {"visit": "identifier", **AS_THEY_ARE, **self.columns},
            "privacy": [{"model": name, "k": k}],
            "method": self.method,
            "seed": SEED,
            "evaluate": {"metrics": []},
        }


WAYS = {
    "full_domain": Way({"name": "full_domain", "suppression_limit": 0.05}, GENERALIZED),
    "local_recoding": Way({"name": "local_recoding"}, GENERALIZED),
    "policy": Way({"name": "policy", "choose": {"max_risk": 0.9}}, _MERGED),
    "condensation": Way(
        {"name": "condensation", "strata": ["satisfied"]}, _DRAWN, False, ("cluster_size", 50)
    ),
    "counterfeit": Way(
        {"name": "counterfeit", "h": "auto", "max_counterfeits": 0.1}, _COPIED, False
    ),
}


@dataclass(frozen=True, eq=False)
class Release:
    """A release that was made, beside its truth.

    Attributes:
        spec: the specification.
        truth: a database with the records that were not suppressed, for the same queries.
        records: of the source.
        suppressed: how many of them the release lacks.
    """

    name: str
    way: Way
    spec: Path
    truth: Path
    records: int
    suppressed: int

    def names_generalized(self, text: str) -> bool:
        """Whether a query names a column that the release does not have as it was."""
        words = set(re.findall(r"\w+", text.lower()))
        return not words.isdisjoint(self.way.generalizes)


def write_source(folder: Path) -> None:
    """The owner's database, and the hierarchy of ZIP codes."""
    with duckdb.connect(folder / DATABASE) as connection:
        connection.execute((SQL / "hospital.sql").read_text(encoding="utf-8"))
        zips = connection.sql("SELECT zip FROM districts ORDER BY zip").fetchall()
    with (folder / "zip.csv").open("w", newline="", encoding="utf-8") as file:
        csv.writer(file, delimiter=";").writerows((z, f"{z[:2]}***", "*") for (z,) in zips)


def releases(folder: Path, ways: Iterable[str]) -> Iterator[Release]:
    """A release of each way that is named, one after another."""
    source = folder / "source"
    source.mkdir()
    write_source(source)
    for name in ways:
        own = folder / name
        shutil.copytree(source, own)
        way, spec = WAYS[name], own / "spec.yml"
        spec.write_text(json.dumps(way.spec()), encoding="utf-8")
        suppressed = dbdeid.run(spec).suppressed_rows
        truth = own / "truth" / DATABASE  # of the same name, for queries that name the database
        truth.parent.mkdir()
        shutil.copy(source / DATABASE, truth)
        records = without_suppressed(truth, own / "released.duckdb", suppressed)
        yield Release(name, way, spec, truth, records, suppressed)


def without_suppressed(truth: Path, released: Path, suppressed: int) -> int:
    """Take the suppressed records out of a copy of the source; how many records there were.

    They are those whose columns that are released as they are come with no released record. No two
    records have the same of these.
    """
    same = " AND ".join(f"own.{name} IS NOT DISTINCT FROM visits.{name}" for name in AS_THEY_ARE)
    with duckdb.connect(truth) as connection:
        ((records,),) = connection.sql("SELECT COUNT(*) FROM visits").fetchall()
        if suppressed:
            connection.execute(f"ATTACH '{released}' AS released (READ_ONLY)")
            connection.execute(
                f"DELETE FROM visits WHERE NOT EXISTS (FROM released.{RELEASE} AS own WHERE {same})"
            )
            ((kept,),) = connection.sql("SELECT COUNT(*) FROM visits").fetchall()
            assert kept == records - suppressed, (kept, records, suppressed)
        connection.execute(f"CREATE VIEW {RELEASE} AS FROM visits")
        return int(records)
