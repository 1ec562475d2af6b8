"""What the gate of dbt costs: a release beside a plain table of the same query.

    python tests/benchmarks/dbt_gate.py --dbt ENVIRONMENT/bin/dbt [--rows 100937] [--repeats 3]
        [--adapter postgres]…

The table has the columns and the size of the fatal accidents (FARS) that papers on anonymization
measure on: age, race, sex, hispanic, state, month and day of death, injury. It is drawn anew from a
seed, with a few percent of NULLs. dbt builds two models of the query of `dbdeid dbt plan`: one of
materialization table, and one of deid_release, which also sorts, measures and compares. The time
of each is that of dbt's run_results.json, its start left out; medians and their ratio are printed.

Two shared cores that others used as well, PostgreSQL 15, DuckDB 2.0.1, 100,937 rows, three builds:

    duckdb: plain 1.96 s, gated 3.97 s, 2.02 times
    postgres: plain 1.88 s, gated 3.67 s, 1.95 times
"""

from __future__ import annotations

import argparse
import csv
import json
import os
import subprocess
import sys
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any

import duckdb

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "tests" / "support"))

from postgres_server import programs, running  # noqa: E402

from dbdeid.cli.text.plan import model  # noqa: E402
from dbdeid.commands.plan import DbtPlan, plan  # noqa: E402

STATES = [f"S{n:02d}" for n in range(1, 52)]
REGIONS = {f"region {n}": STATES[n::4] for n in range(4)}
INJURIES = ["none", "possible", "minor", "serious", "fatal"]
MADE = f"""
CREATE TABLE accidents AS
SELECT
  i AS record,
  CASE WHEN u(i, 9) < .03 THEN NULL ELSE CAST(floor(99 * pow(u(i, 1), 1.2)) AS INTEGER) END AS age,
  CAST(1 + floor(19 * pow(u(i, 2), 6)) AS INTEGER) AS race,
  CASE WHEN u(i, 3) < .68 THEN 'male' ELSE 'female' END AS sex,
  CASE WHEN u(i, 10) < .02 THEN NULL WHEN u(i, 4) < .1 THEN 'yes' ELSE 'no' END AS hispanic,
  {STATES}[1 + CAST(floor(51 * pow(u(i, 5), 1.5)) AS INTEGER)] AS state,
  CAST(1 + floor(12 * u(i, 6)) AS INTEGER) AS death_month,
  CAST(1 + floor(31 * u(i, 7)) AS INTEGER) AS death_day,
  {INJURIES}[1 + CAST(floor(5 * pow(u(i, 8), .8)) AS INTEGER)] AS injury
FROM range(?) AS numbers(i)
"""
SPEC: dict[str, Any] = {
    "release": "accidents_public",
    "source": "accidents",
    "columns": {
        "record": "identifier",
        "age": {
            "role": "quasi_identifier",
            "hierarchy": {"intervals": [5, 10, 20], "lower": 0, "upper": 100},
        },
        "race": {
            "role": "quasi_identifier",
            "hierarchy": {"intervals": [5, 10], "lower": 0, "upper": 20},
        },
        "sex": {
            "role": "quasi_identifier",
            "hierarchy": "suppress",
            "domain": ["male", "female"],
        },
        "hispanic": {"role": "quasi_identifier", "hierarchy": "suppress", "domain": ["yes", "no"]},
        "state": {"role": "quasi_identifier", "hierarchy": {"groups": [REGIONS]}},
        "death_month": "drop",
        "death_day": "drop",
        "injury": "sensitive",
    },
    "privacy": [
        {"model": "k_anonymity", "k": 5},
        {"model": "l_diversity", "column": "injury", "l": 2},
    ],
    "method": {
        "name": "full_domain",
        "suppression_limit": 0.05,
        "transformation": {"age": 2, "race": 2, "sex": 0, "hispanic": 0, "state": 1},
    },
}
PROFILES = {
    "duckdb": "{type: duckdb, path: bench.duckdb, threads: 1}",
    "postgres": "{type: postgres, host: %s, port: 5432, user: owner, password: none, "
    "dbname: postgres, schema: main, threads: 1}",
}


def made(folder: Path, rows: int) -> DbtPlan:
    """The table as a Parquet and a CSV file, and its plan as a seed."""
    with duckdb.connect() as con:
        con.execute("CREATE MACRO u(i, n) AS hash(i * 64 + n) / 18446744073709551616.0")
        con.execute(MADE, [rows])
        con.execute(f"COPY accidents TO '{folder / 'accidents.parquet'}'")
        con.execute(f"COPY accidents TO '{folder / 'accidents.csv'}'")
        return plan(SPEC, con, output=folder / "seeds")


def project(folder: Path, found: DbtPlan) -> None:
    """A project with both models."""
    text = model(found)
    for place in ("models", "dbt_packages"):
        (folder / place).mkdir()
    (folder / "dbt_packages" / "deid").symlink_to(ROOT / "sql" / "dbt")
    (folder / "packages.yml").write_text(f"packages: [{{local: {ROOT / 'sql' / 'dbt'}}}]\n")
    (folder / "dbt_project.yml").write_text(
        "name: bench\nversion: 1.0.0\nprofile: bench\nflags: {send_anonymous_usage_stats: false}\n"
    )
    source = "ref('accidents')"
    there = "source('given', 'accidents')"
    query = text.split("\n\n", 1)[1].replace(source, there)
    config = text.split("\n\n", 1)[0]
    (folder / "models" / "gated.sql").write_text(f"{config}\n{query}\n")
    plain = "{{ config(materialized='table') }}"
    (folder / "models" / "plain.sql").write_text(f"{plain}\n{query}\n")
    (folder / "models" / "schema.yml").write_text(
        "sources: [{name: given, schema: main, tables: [{name: accidents}]}]\n"
    )


def timed(dbt: str, folder: Path, *words: str) -> dict[str, float]:
    """Seconds of each model of a run."""
    hidden = ("PYTHONPATH", "PYTHONWARNINGS")
    environment = {k: v for k, v in os.environ.items() if k not in hidden} | {"DO_NOT_TRACK": "1"}
    done = subprocess.run(
        [dbt, *words], cwd=folder, env=environment, capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise SystemExit(done.stdout + done.stderr)
    results = json.loads((folder / "target" / "run_results.json").read_text())["results"]
    return {r["unique_id"].split(".")[2]: r["execution_time"] for r in results}


def load_postgres(server: Any, file: Path) -> None:
    """The table in the schema that dbt writes to."""
    with file.open() as lines:
        names = next(csv.reader(lines))
    numbers = ("record", "age", "race", "death_month", "death_day")
    columns = ", ".join(f"{n} {'INTEGER' if n in numbers else 'TEXT'}" for n in names)
    server.run(
        f"CREATE SCHEMA main; CREATE TABLE main.accidents ({columns});\n"
        f"\\copy main.accidents FROM '{file}' CSV HEADER\nANALYZE main.accidents;"
    )


def measure(adapter: str, dbt: str, folder: Path, repeats: int) -> None:
    """Build both models in turns, and print what each took."""
    timed(dbt, folder, "seed")
    runs = [timed(dbt, folder, "run") for _ in range(repeats)]
    plain, gated = (median(run[name] for run in runs) for name in ("plain", "gated"))
    print(f"{adapter}: plain {plain:.2f} s, gated {gated:.2f} s, {gated / plain:.2f} times")


def main() -> None:
    """Measure with the adapters asked for."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--dbt", required=True, help="the dbt of an environment with its adapters")
    parser.add_argument("--rows", type=int, default=100_937)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--adapter", action="append", choices=[*PROFILES])
    given = parser.parse_args()
    for adapter in given.adapter or PROFILES:
        with TemporaryDirectory() as name:
            folder = Path(name)
            folder.chmod(0o755)
            project(folder, made(folder, given.rows))
            profile = "bench: {target: dev, outputs: {dev: %s}}\n"
            if adapter == "duckdb":
                with duckdb.connect(str(folder / "bench.duckdb")) as con:
                    con.execute(f"CREATE TABLE accidents AS FROM '{folder / 'accidents.parquet'}'")
                (folder / "profiles.yml").write_text(profile % PROFILES[adapter])
                measure(adapter, given.dbt, folder, given.repeats)
                continue
            found = programs()
            if found is None:
                raise SystemExit("no PostgreSQL server here: initdb, postgres or psql is missing")
            with running(found) as server:
                load_postgres(server, folder / "accidents.csv")
                (folder / "profiles.yml").write_text(profile % (PROFILES[adapter] % server.folder))
                measure(adapter, given.dbt, folder, given.repeats)


if __name__ == "__main__":
    main()
