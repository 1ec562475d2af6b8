"""What a run of each method takes as the table grows, beside what `dbdeid check` foretells.

    python tests/benchmarks/curves.py [--rows 20000 100000 400000] [--method full_domain ...]
        [--threads 2] [--folder FOLDER]

The table is that of `baseline.py`. 19 columns are released, eight of them quasi-identifiers; of
condensation eight numbers, of microaggregation three quasi-identifiers, and of counterfeit records,
which copy what is not generalized, the quasi-identifiers and the diagnosis. A line each: seconds by
the clock and gigabytes at the peak of the run, how long `check` took to stage the source, and what
it foretold. `review/forecast.py` has the first three.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from baseline import KEPT, Spent, make, spec

NUMBERS = "length_of_stay, cost, temperature, systolic, diastolic, pulse, procedures, medications"
MOMENTS = ("birth_date", "admission_date", "length_of_stay")
SHOWN = {"role": "insensitive", "reason": "a benchmark"}
ALONE = {"role": "sensitive", "accept": "homogeneity", "reason": "a benchmark"}
K = {"model": "k_anonymity", "k": 5}
METHODS: Mapping[str, dict[str, Any]] = {
    "full_domain": {"name": "full_domain", "suppression_limit": 0.05, "time_limit": 60},
    "dealing": {"name": "local_recoding"},
    "mondrian": {"name": "local_recoding", "algorithm": "mondrian"},
    "counterfeit": {"name": "counterfeit"},
    "borrow": {"name": "counterfeit", "recoding": "borrow", "h": 0.5},
    "condensation": {"name": "condensation"},
    "microaggregation": {"name": "microaggregation"},
}


def declared(name: str, source: Path, folder: Path) -> dict[str, Any]:
    """The specification of a release by a method."""
    told: dict[str, Any] = spec(source, folder, "full_domain")
    columns, method = told["columns"], METHODS[name]
    if method["name"] == "counterfeit":
        columns |= dict.fromkeys(KEPT, "drop")
    elif name == "condensation":
        columns = {c: "drop" for c in columns if c not in NUMBERS.split(", ")}
        columns |= {"record_id": "identifier", NUMBERS: "synthesize"}
        told["privacy"] = [{"model": "cluster_size", "k": 100}]
    elif name == "microaggregation":
        others = [c for c, of in columns.items() if isinstance(of, dict) and "hierarchy" in of]
        columns |= dict.fromkeys(others, SHOWN) | dict.fromkeys(MOMENTS, "quasi_identifier")
        columns["diagnosis"], told["privacy"] = ALONE, [K]
    return {**told, "columns": columns, "method": method}


def timed(*words: str | Path) -> tuple[float, Spent, dict[str, Any]]:
    """Seconds by the clock of a command, its costs, and what it printed."""
    started = time.perf_counter()
    spent, printed = Spent.by(sys.executable, "-m", "dbdeid", *words, "--json")
    return time.perf_counter() - started, spent, json.loads(printed)


STAGED = """
import sys
from dbdeid.commands import check
told = check.forecast
def staged(prepared, seconds):
    print(seconds)
    return told(prepared, seconds)
check.forecast = staged
check.check(sys.argv[1])
"""


def main() -> None:
    """A line for each method and number of rows."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, nargs="+", default=[20_000, 100_000, 400_000])
    parser.add_argument("--method", nargs="+", default=list(METHODS), choices=METHODS)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--folder", type=Path)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as passing:
        folder = asked.folder or Path(passing)
        for name in asked.method:
            for rows in asked.rows:
                source = folder / f"stays_{rows}.parquet"
                if not source.exists():
                    make(rows, source)
                with tempfile.TemporaryDirectory(dir=folder) as place:
                    text = Path(place) / "spec.yml"
                    text.write_text(json.dumps(declared(name, source, Path(place))))
                    limit = ("--threads", str(asked.threads))
                    _, _, check = timed("check", text, *limit)
                    _, staged = Spent.by(sys.executable, "-c", STAGED, text)
                    seconds, spent, _ = timed("run", text, *limit)
                told = check["forecast"]
                print(
                    f"{name:16} {rows:9,} rows: {seconds:6.1f} s, {spent.peak:.2f} GB, staged in "
                    f"{float(staged):.2f} s; foretold {told['seconds']:.1f} s, "
                    f"{told['gigabytes']:.2f} GB",
                    flush=True,
                )


if __name__ == "__main__":
    main()
