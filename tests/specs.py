"""Specifications for tests, as the dicts that users write."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import duckdb

SHARED = Path(__file__).resolve().parents[2] / "shared"

# File names of the oracle's datasets beside the checkout.
DATASETS = {
    "adult.csv": "adult_arx.parquet",
    "creditcard_int.csv": "arx_creditcard_int.parquet",
    "ss13_like.csv": "synth/ss13_like.parquet",
    "ihis_like.csv": "synth/ihis_like.parquet",
    "ihis_like_100k.csv": "synth/ihis_like.parquet",
}
FOLDERS = {
    "adult": "adult",
    "creditcard_int": "creditcard_int",
    "ss13acs_int": "ss13acs_int",
    "ihis_int": "ihis_int",
}


def oracle(shared: Path) -> list[dict[str, Any]]:
    """The k-anonymity entries of the oracle, for objectives that exist."""
    entries = json.loads((shared / "oracle" / "full_domain.json").read_text())
    return [entry for entry in entries if entry["model"] == "k"]


def spec_of(entry: dict[str, Any], shared: Path, **more: Any) -> dict[str, Any]:
    """A spec that asks for what an entry of the oracle says."""
    data = shared / "data"
    qis = [_column(entry["dataset"], name) for name in entry["qis"]]
    columns: dict[str, Any] = {
        name: {"role": "quasi_identifier", "hierarchy": str(_hierarchy(data, file))}
        for name, file in zip(qis, entry["hierarchies"], strict=True)
    }
    path = data / DATASETS[entry["dataset"]]
    limit = " LIMIT 100000" if entry["dataset"].endswith("100k.csv") else ""
    names = ", ".join(f'"{name}"' for name in qis)
    return {
        "release": "released",
        "source": {"sql": f"SELECT {names} FROM (FROM '{path}'{limit})", "name": "source"},
        "columns": columns,
        "privacy": [{"model": "k_anonymity", "k": entry["k"]}],
        "method": {
            "name": "full_domain",
            "suppression_limit": entry["suppression"],
            "objective": OBJECTIVES.get(entry["metric"], "loss"),
        },
        **more,
    }


OBJECTIVES = {"dm": "discernibility", "aecs": "average_class_size", "height": "height"}


def _column(dataset: str, name: str) -> str:
    return name if dataset.endswith("like.csv") or "100k" in dataset else name.replace("-", "_")


def _hierarchy(data: Path, file: str) -> Path:
    folder = data / "hierarchies" / file.split("_hierarchy_")[0]
    found = folder / file.replace(" ", "_")
    return found if found.exists() else folder / f"{found.name}.gz"


def small(source: str = "people", **more: Any) -> dict[str, Any]:
    """A small spec over a table with name, age, zip, sex and illness."""
    return {
        "release": "people_public",
        "source": source,
        "columns": {
            "name": "identifier",
            "age": {"role": "quasi_identifier", "hierarchy": {"intervals": [10, 20]}},
            "zip": {"role": "quasi_identifier", "hierarchy": {"prefix": [3, 1]}},
            "sex": {"role": "quasi_identifier", "hierarchy": "suppress"},
            "illness": {"role": "sensitive", "accept": "homogeneity"},
        },
        "privacy": [{"model": "k_anonymity", "k": 2}],
        "method": {"name": "full_domain", "suppression_limit": 0.1},
        **more,
    }


def unmeasured(source: str = "people", **more: Any) -> dict[str, Any]:
    """The same, where nobody asks how much was lost: that takes a third of a small release."""
    return small(source, **{"evaluate": {"metrics": []}, **more})


PEOPLE = """
CREATE TABLE people AS
SELECT
  'person ' || i AS name,
  20 + (i * 7) % 60 AS age,
  (10000 + (i * 37) % 400)::VARCHAR AS zip,
  CASE WHEN i % 11 = 0 THEN NULL WHEN i % 2 = 0 THEN 'f' ELSE 'm' END AS sex,
  ['asthma', 'flu', 'none'][1 + i % 3] AS illness
FROM range(200) AS r(i)
"""


def owned() -> None:
    """A database `owner.duckdb` in the working directory, with the people."""
    with duckdb.connect("owner.duckdb") as con:
        con.execute(PEOPLE)
