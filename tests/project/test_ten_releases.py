"""Ten releases of three datasets: one fails on purpose, is mended, and the run goes on."""

from __future__ import annotations

import json
from importlib.resources import files
from pathlib import Path
from typing import Any

import duckdb
import pytest
from folders import PATIENTS

import dbdeid

TABLES = f"""
{PATIENTS};
CREATE TABLE adult AS
SELECT age, sex, race, income, hours_per_week
FROM '{files("dbdeid.sample").joinpath("adult.parquet")}'
LIMIT 1000;
CREATE TABLE stays AS
SELECT 'p' || i // 3 AS person, 2000 + i % 4 AS year, ['a', 'b'][1 + i % 2] AS house, i AS bill
FROM range(240) AS r(i);
"""
AGE = {"role": "quasi_identifier", "hierarchy": {"intervals": [10, 40], "lower": 0, "upper": 120}}
QUASI = {"role": "quasi_identifier", "hierarchy": "suppress"}
INCOME = {"role": "sensitive", "accept": "homogeneity"}
ADULT: dict[str, Any] = {
    "source": "adult",
    "columns": {
        "age": AGE,
        "sex": QUASI,
        "race": QUASI,
        "income": INCOME,
        "hours_per_week": {"role": "insensitive", "reason": "nobody knows them"},
    },
}
NUMBERS = {**ADULT["columns"], "sex": "drop", "race": "drop", "income": "drop"}
PEOPLE: dict[str, Any] = {
    "source": "patients",
    "columns": {"name": "identifier", "age": AGE, "ward": QUASI, "illness": INCOME},
}
STAYS: dict[str, Any] = {
    "source": "stays",
    "subject": "person",
    "columns": {"person": "identifier", "year": QUASI, "house": QUASI, "bill": "drop"},
}
SAFE = {"model": "k_anonymity", "k": 3}
DIVERSE = {"model": "l_diversity", "column": "illness", "l": 2}
TEACHING = {
    "database": "../../released/adult.duckdb",
    "source": {"sql": "SELECT sex, income FROM adult", "name": "adult"},
    "columns": {"sex": QUASI, "income": INCOME},
}
SPECS: dict[str, dict[str, Any]] = {
    "adult/adult": {
        **ADULT,
        "expect": {"loss": "< 0.9", "suppressed": "<= 0.05"},
        "evaluate": {"metrics": ["loss"]},
    },
    "adult/adult_local": {**ADULT, "method": "local_recoding"},
    "adult/adult_means": {
        **ADULT,
        "columns": NUMBERS | {"age": {"role": "quasi_identifier"}},
        "method": "microaggregation",
    },
    "adult/adult_teaching": TEACHING,
    "patients": {**PEOPLE, "tags": ["weekly"]},
    "patients_diverse": {**PEOPLE, "privacy": [SAFE, DIVERSE], "depends_on": ["patients"]},
    "patients_internal": {**PEOPLE, "output": {"as": "view"}},
    "stays": {**STAYS, "tags": ["weekly"]},
    "stays_strict": {**STAYS, "privacy": [{"model": "k_anonymity", "k": 20}]},
    "stays_kept": {**STAYS, "method": {"name": "full_domain", "suppressed": "keep"}},
}
PROJECT = {
    "database": "owner.duckdb",
    "target": "released/{release}.duckdb",
    "defaults": {
        "privacy": [SAFE],
        "evaluate": {"metrics": []},
        "method": {"name": "full_domain", "suppression_limit": 0.05},
    },
}


def write(folder: Path, name: str, spec: dict[str, Any]) -> None:
    path = folder / "releases" / f"{name}.yml"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({"release": path.stem, **spec}))


def kept(folder: Path) -> dict[str, str]:
    found = json.loads((folder / "results" / "run_results.json").read_text())
    return {result["release"]: result["status"] for result in found["results"]}


@pytest.mark.full
def test_ten_releases_run_fail_and_go_on(tmp_path: Path) -> None:
    with duckdb.connect(str(tmp_path / "owner.duckdb")) as con:
        con.execute(TABLES)
    (tmp_path / "dbdeid.yml").write_text(json.dumps(PROJECT))
    for name, spec in SPECS.items():
        write(tmp_path, name, spec)
    impossible = [{"model": "k_anonymity", "k": 61}]
    write(tmp_path, "patients", {**SPECS["patients"], "privacy": impossible})

    first = dbdeid.project(tmp_path).run()
    statuses = {result.release: result.status for result in first.results}
    assert kept(tmp_path) == statuses
    assert statuses.pop("patients") == "failed"
    assert statuses.pop("patients_diverse") == "skipped"
    assert len(statuses) == 8
    assert set(statuses.values()) == {"success"}, [r.message for r in first.results]
    assert first.exit_code == 3
    assert not (tmp_path / "released" / "patients.duckdb").exists()

    write(tmp_path, "patients", SPECS["patients"])
    again = dbdeid.project(tmp_path).run(["result:failed"])
    assert [r.release for r in again.results] == ["patients", "patients_diverse"]
    assert again.exit_code == 0
    assert dbdeid.project(tmp_path).select("result:failed state:modified") == []

    tested = dbdeid.project(tmp_path).test("tag:weekly+ adult_teaching")
    names = {"patients", "patients_diverse", "stays", "adult_teaching"}
    assert {r.release for r in tested.results} == names
    assert tested.exit_code == 0
    index = dbdeid.project(tmp_path).docs("public")
    assert len(list(index.parent.glob("*.html"))) == 1 + 9  # all but the preview
    assert len(list((tmp_path / "private").glob("*.private.duckdb"))) == 9
