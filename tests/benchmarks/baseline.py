"""What a whole run costs, beside one GROUP BY and one write of the same release by DuckDB alone.

    python tests/benchmarks/baseline.py [--rows 1000000] [--method full_domain] [--repeats 1]
        [--threads 2] [--folder FOLDER] [--bare]

The table has 20 columns as a hospital's list of stays has them: a record's number, eight
quasi-identifiers, a diagnosis that must be diverse, and ten columns that are released as they are.
Two processes are compared by the seconds of their processors and by their peak memory:

- `dbdeid run`, from the Parquet file of the source to a database and a Parquet file, both
  verified, with its default metrics;
- the plain one: DuckDB reads the same file, groups its rows by the quasi-identifiers, and writes
  the columns of the release to a Parquet file once.

It prints both, the phases of the run in seconds of the wall, and the ratio. `--bare` adds what of a
run is left without search, metrics and review: a third process has one statement for each thing
that a verified release written twice cannot do without, over a fixed generalization.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

import duckdb
from large import HIERARCHIES, MADE

KEPT = {
    "cost": "floor(100 + 40000 * pow(u(i, 10), 4))::INTEGER",
    "temperature": "round(35 + 4 * u(i, 11), 1)",
    "systolic": "(90 + 80 * u(i, 12))::INTEGER",
    "diastolic": "(50 + 50 * u(i, 13))::INTEGER",
    "pulse": "(50 + 70 * u(i, 14))::INTEGER",
    "ward": "'W' || (1 + floor(30 * u(i, 15)))::INTEGER",
    "procedures": "floor(-2 * ln(1 - u(i, 16)))::INTEGER",
    "medications": "floor(-9 * ln(1 - u(i, 17)))::INTEGER",
    "emergency": "u(i, 18) < .4",
    "readmitted": "['no', 'within 30 days', 'later'][1 + floor(3 * u(i, 19))::INTEGER]",
}
LIMITS = {"full_domain": {"suppression_limit": 0.05, "time_limit": 60}}
PLAIN = """
import duckdb, sys
source, target, keys, columns, threads = sys.argv[1:]
con = duckdb.connect(config={"threads": int(threads)})
con.execute(f"CREATE TABLE classes AS SELECT {keys}, count(*) AS n FROM '{source}' GROUP BY ALL")
con.execute(f"COPY (SELECT {columns} FROM '{source}') TO '{target}' (FORMAT parquet)")
"""

COARSE = {
    "birth_date": "(year(birth_date) // 20 * 20)::VARCHAR",
    "zip": "substr(zip::VARCHAR, 1, 1) || '****'",
    "education": "'*'",
    "admission_date": "'*'",
    "length_of_stay": "(length_of_stay // 10)::VARCHAR",
}


@dataclass(frozen=True)
class Spent:
    """What a process took: seconds of processors and gigabytes at its peak."""

    cpu: float
    peak: float

    @classmethod
    def by(cls, *command: str | Path) -> tuple[Spent, str]:
        """The costs of a command, and what it printed."""
        with tempfile.TemporaryFile() as out:
            process = subprocess.Popen([*map(str, command)], stdout=out)
            _, status, used = os.wait4(process.pid, 0)
            process.returncode = os.waitstatus_to_exitcode(status)
            out.seek(0)
            printed = out.read().decode()
        if process.returncode:
            raise SystemExit(f"{command[0]} ended with {process.returncode}: {printed}")
        return cls(used.ru_utime + used.ru_stime, used.ru_maxrss / 2**20), printed


def make(rows: int, path: Path) -> None:
    """The table as a Parquet file; the same for the same number of rows."""
    more = ", ".join(f"{of} AS {name}" for name, of in KEPT.items())
    made = MADE.replace("  FROM range(?)", f", {more}\n  FROM range(?)")
    with duckdb.connect() as con:
        con.execute("CREATE MACRO u(i, c) AS (hash(i, c) % 1000003) / 1000003")
        con.execute(made.format(path=path), [rows])


def spec(source: Path, folder: Path, method: str) -> dict[str, object]:
    """The release, as `dbdeid init` drafts it and as an owner decides it."""
    quasi = {name: {"role": "quasi_identifier", **of} for name, of in HIERARCHIES.items()}
    kept = {name: {"role": "insensitive", "reason": "a benchmark"} for name in KEPT}
    diagnosis = {"role": "sensitive", "reason": "a benchmark"}
    return {
        "release": "stays_public",
        "target": str(folder / "public.duckdb"),
        "source": str(source),
        "columns": {"record_id": "identifier", **quasi, "diagnosis": diagnosis, **kept},
        "privacy": [
            {"model": "k_anonymity", "k": 5},
            {"model": "l_diversity", "column": "diagnosis", "kind": "distinct", "l": 2},
        ],
        "method": {"name": method, **LIMITS.get(method, {})},
        "output": {"export": [str(folder / "public.parquet")]},
    }


def measure(source: Path, method: str, threads: int) -> tuple[Spent, Spent, dict[str, float]]:
    """A run and the plain process, each in a new folder: their costs, and the run's phases."""
    with tempfile.TemporaryDirectory(dir=source.parent) as place:
        folder = Path(place)
        text = folder / "spec.yml"
        text.write_text(json.dumps(spec(source, folder, method)))
        words = ("run", text, "--json", "--threads", str(threads))
        run, printed = Spent.by(sys.executable, "-m", "dbdeid", *words)
        keys = ", ".join(HIERARCHIES)
        columns = ", ".join([*HIERARCHIES, "diagnosis", *KEPT])
        words = ("-c", PLAIN, source, folder / "plain.parquet", keys, columns, str(threads))
        plain, _ = Spent.by(sys.executable, *words)
        return run, plain, json.loads(printed)["seconds"]


def bare(source: Path, threads: int) -> tuple[Spent, str]:
    """The bare statements: their cost, and the seconds of processors of each."""
    keys, rest = list(HIERARCHIES), ["diagnosis", *KEPT]
    coarse = ", ".join([*(f"{COARSE.get(key, key)} AS {key}" for key in keys), *rest])
    with tempfile.TemporaryDirectory(dir=source.parent) as folder:
        words = (source, folder, ", ".join(keys), ", ".join([*keys, *rest]), coarse, str(threads))
        return Spent.by(sys.executable, Path(__file__).with_name("bare_statements.py"), *words)


def main() -> None:
    """Make the table where it is not there yet, and print what both processes cost."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--method", default="full_domain")
    parser.add_argument("--repeats", type=int, default=1)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--folder", type=Path)
    parser.add_argument("--bare", action="store_true")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as passing:
        folder = asked.folder or Path(passing)
        folder.mkdir(exist_ok=True)
        source = folder / f"stays_{asked.rows}.parquet"
        if not source.exists():
            make(asked.rows, source)
        for _ in range(asked.repeats):
            run, plain, phases = measure(source, asked.method, asked.threads)
            print(
                f"{asked.rows:,} rows, {asked.method}: {run.cpu:.1f} CPU s ({run.peak:.2f} GB), "
                f"plain {plain.cpu:.1f} ({plain.peak:.2f} GB), ratio {run.cpu / plain.cpu:.1f}",
                flush=True,
            )
            print("  wall s:", ", ".join(f"{name} {of:.1f}" for name, of in phases.items()))
            if asked.bare:
                least, each = bare(source, asked.threads)
                ratio = least.cpu / plain.cpu
                print(f"  bare: {least.cpu:.1f} CPU s, ratio {ratio:.1f}: {each.rstrip(', ')}")


if __name__ == "__main__":
    main()
