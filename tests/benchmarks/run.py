"""Whole runs as processes: wall and CPU seconds, peak memory, the search's share, numpy beside SQL.

    python tests/benchmarks/run.py [adult creditcard ss13_8 ss13_10 ss13_12 ihis] [--repeat 3]

Needs the reference data beside the checkout. Each command runs on two threads; the ratio is of the
search's wall seconds, SQL engine over numpy, in runs taken in turn.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))
from specs import SHARED, oracle, spec_of

CASES = {
    "adult": ("adult9_k5_s0.05", None),
    "creditcard": ("creditcard8_k5_s0.05", None),
    "ss13_8": ("ss13_8_k5_s0.05", None),
    "ss13_10": ("ss13_8_k5_s0.05", 10),
    "ss13_12": ("ss13_8_k5_s0.05", 12),
    "ihis": ("ihis9_k5_s0.05", None),
}


def spec(case: str, engine: str, folder: Path) -> Path:
    name, width = CASES[case]
    entry = next(e for e in oracle(SHARED) if e["id"] == name)
    if width:
        schema = json.loads((SHARED / "data" / "synth" / "ss13_like.json").read_text())
        entry |= {key: schema[key][:width] for key in ("qis", "hierarchies")}
    made = spec_of(entry, SHARED, target="out.duckdb", output={"export": ["out.parquet"]})
    made["method"]["engine"] = engine
    path = folder / f"{case}_{engine}.json"
    path.write_text(json.dumps(made))
    return path


def run(path: Path) -> dict[str, Any]:
    """One process: what it says of itself, and what the system says of it."""
    for old in path.parent.glob("out*"):
        old.unlink()
    command = [sys.executable, "-m", "dbdeid", "run", str(path), "--json", "--threads", "2"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE)
    assert process.stdout is not None
    said = json.loads(process.stdout.read())
    _, status, usage = os.wait4(process.pid, 0)
    assert status == 0
    return {
        "said": said,
        "cpu": usage.ru_utime + usage.ru_stime,
        "wall": said["seconds"]["total"],
        "search": said["search"]["seconds"],
        "memory": usage.ru_maxrss / 1024,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("cases", nargs="*", default=list(CASES))
    parser.add_argument("--repeat", type=int, default=3)
    arguments = parser.parse_args()
    print("case        rows  lattice  checks  run wall   cpu   MB  search wall  sql/numpy")
    with tempfile.TemporaryDirectory() as folder:
        for case in arguments.cases:
            paths = {engine: spec(case, engine, Path(folder)) for engine in ("numpy", "sql")}
            runs = [{e: run(p) for e, p in paths.items()} for _ in range(arguments.repeat)]
            ours = [pair["numpy"] for pair in runs]
            ratio = statistics.median(p["sql"]["search"] / p["numpy"]["search"] for p in runs)
            middle = {
                key: statistics.median(one[key] for one in ours)
                for key in ("wall", "cpu", "search", "memory")
            }
            said = ours[0]["said"]
            print(
                f"{case:<10}{said['source_rows']:>9,}{said['search']['lattice_size']:>9,}"
                f"{said['search']['checked']:>8,}{middle['wall']:>9.2f} s{middle['cpu']:>6.2f} s"
                f"{middle['memory']:>5.0f}{middle['search']:>11.3f} s{ratio:>11.1f}"
            )


if __name__ == "__main__":
    main()
