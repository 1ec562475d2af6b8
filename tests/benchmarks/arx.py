"""Time dbdeid beside ARX on the reference datasets, in one run and on the same two cores.

    python tests/benchmarks/arx.py --classpath 'CLASSES:JARS' [--threshold 1.0] [dataset …]
    python tests/benchmarks/arx.py --classpath 'CLASSES:JARS' --process

ARX is not part of dbdeid: `--classpath` names a build of its core made elsewhere. The searches run
in turn, ARX's repeated in one warm virtual machine and ours in one interpreter; what counts is the
least CPU time of each, for ARX that of the searching thread alone. With `--process` whole fresh
processes are compared that read Adult from CSV, search and write a CSV file; only dbdeid's verifies
what it wrote.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import subprocess
import sys
import tempfile
import time
from functools import partial
from pathlib import Path
from typing import Any

import duckdb

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))
sys.path.insert(0, str(Path(__file__).parent))
from realdata import FILES, load
from search import CASES, SHARED

CORES = {0, 1}
REPETITIONS = {"adult": 25, "adult_s0": 25, "creditcard": 40, "ihis": 2}  # others 5
Measured = list[dict[str, Any]]


# -- ARX -----------------------------------------------------------------------------------------


def compiled(classpath: str, folder: Path) -> list[str]:
    """The command that runs our program on top of ARX."""
    program = Path(__file__).parent / "arx" / "Search.java"
    subprocess.run(["javac", "-cp", classpath, "-d", folder, program], check=True)
    return ["-cp", f"{folder}:{classpath}", "Search"]


def inputs(case: str, folder: Path) -> list[str]:
    """Data and hierarchies of a case as files that ARX reads: the data's path, then each QI."""
    name, qis, _, _ = CASES[case]
    file, family, first = FILES[name]
    data = folder / f"{case}.csv"
    source = duckdb.read_parquet(str(SHARED / "data" / file))
    spelled = {column.lower().replace("_", "-"): column for column in source.columns}
    columns = [spelled[qi.lower().replace("_", "-")] for qi in qis]
    picked = [f'"{column}" AS "{qi}"' for column, qi in zip(columns, qis, strict=True)]
    source.limit(first or 1 << 40).select(", ".join(picked)).write_csv(str(data), sep=";")
    hierarchies = SHARED / "data" / "hierarchies" / family / f"{family}_hierarchy_"
    return [str(data), *(f"{qi}={hierarchies}{qi.replace(' ', '_')}.csv" for qi in qis)]


def arguments_of(case: str, files: list[str], threshold: str, repetitions: int, to: str) -> Any:
    _, _, k, share = CASES[case]
    return [files[0], str(k), str(share), threshold, str(repetitions), to, *files[1:]]


def arx(
    program: list[str], case: str, files: list[str], threshold: str, repetitions: int
) -> Measured:
    """ARX's repetitions in one virtual machine."""
    arguments = arguments_of(case, files, threshold, repetitions, "-")
    command = ["java", "-Xmx8g", *program, *arguments]
    said = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout
    return [json.loads(line) for line in said.splitlines()]


# -- dbdeid --------------------------------------------------------------------------------------


def ours(case: str, repetitions: int) -> Measured:
    """Our repetitions in one interpreter, from coded tuples in memory to the optimum."""
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        return pool.apply(search, (case, repetitions))


def search(case: str, repetitions: int) -> Measured:
    """What `ours` does, in its process."""
    from dbdeid.lattice.checker import NumpyChecker
    from dbdeid.lattice.exploration import Problem, explore
    from dbdeid.lattice.objectives import LOSS
    from dbdeid.lattice.rule import Rule
    from dbdeid.methods.full_domain.search.optimal import optimal

    file, qis, k, share = CASES[case]
    lattice, tuples = load(SHARED, file, tuple(qis))
    limit, measured = int(share * tuples.records), []
    for _ in range(repetitions):
        cpu, wall = time.process_time(), time.perf_counter()
        checker = NumpyChecker(lattice, tuples, Rule(k))
        found = explore(optimal, Problem(lattice, tuples, checker, limit, LOSS))
        cpu, wall = time.process_time() - cpu, time.perf_counter() - wall
        measured.append(
            {
                "cpu": cpu,
                "wall": wall,
                "checks": found.checked,
                "nodes": found.lattice_size,
                "records": tuples.records,
                "loss": found.score,
                "node": list(found.node or ()),
                "proven": found.proven_optimal,
            }
        )
    return measured


def compare(case: str, program: list[str], threshold: str, folder: Path) -> str:
    """One line of the table of searches."""
    repetitions = REPETITIONS.get(case, 5)
    files = inputs(case, folder)
    theirs = arx(program, case, files, threshold, repetitions)
    mine = ours(case, repetitions)
    place = folder / f"{case}_run"
    place.mkdir()
    said = whole(sys.executable, ["-m", "dbdeid", *run_of(case, files, place)], place)[1]
    for one in (*theirs, *mine):
        assert one["proven"]
        assert abs(one["loss"] - mine[0]["loss"]) < 1e-9, (case, one, mine[0])
    assert abs(json.loads(said)["loss"] - mine[0]["loss"]) < 1e-9
    best = partial(_least, mine)
    their = partial(_least, theirs)
    return (
        f"{case:<11}{mine[0]['records']:>9,}{mine[0]['nodes']:>8,}"
        f"{theirs[0]['checks']:>8,}{mine[0]['checks']:>7,}"
        f"{their('thread'):>10.3f}{their('cpu'):>9.3f}{their('wall'):>9.3f}"
        f"{best('cpu'):>9.3f}{best('wall'):>8.3f}"
        f"{json.loads(said)['seconds']['search']:>8.3f}"
        f"{best('cpu') / their('thread'):>8.3f}{best('wall') / their('wall'):>7.3f}"
        f"{mine[0]['checks'] / theirs[0]['checks']:>8.2f}"
    )


def _least(measured: Measured, key: str) -> float:
    return float(min(one[key] for one in measured))


# -- whole processes -----------------------------------------------------------------------------


def run_of(case: str, files: list[str], folder: Path, **more: Any) -> list[str]:
    """The arguments of `dbdeid` that release the same file, written as CSV as ARX does."""
    _, _, k, share = CASES[case]
    spec = {
        "release": "released",
        "source": files[0],
        "columns": {
            qi: {"role": "quasi_identifier", "hierarchy": path}
            for qi, path in (pair.split("=", 1) for pair in files[1:])
        },
        "privacy": [{"model": "k_anonymity", "k": k}],
        "method": {"name": "full_domain", "suppression_limit": share},
        "output": {"export": ["ours.csv"]},
        **more,
    }
    path = folder / "spec.json"
    path.write_text(json.dumps(spec))
    return ["run", str(path), "--json", "--threads", "2"]


def whole(executable: str, arguments: list[str], place: Path) -> tuple[tuple[float, float], str]:
    """CPU and wall seconds of a fresh process without files of an earlier one, and its words."""
    for old in place.glob("ours*"):
        old.unlink()
    start = time.perf_counter()
    process = subprocess.Popen([executable, *arguments], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    said = process.stdout.read()
    _, status, usage = os.wait4(process.pid, 0)
    assert status == 0, said
    return (usage.ru_utime + usage.ru_stime, time.perf_counter() - start), said


# What makes a short-lived virtual machine cheaper, each tried beside the default.
MACHINES = {
    "default": [],
    "serial": ["-XX:+UseSerialGC"],
    "serial, C1": ["-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1"],
}


def processes(program: list[str], threshold: str, folder: Path, repetitions: int) -> None:
    """Whole processes on Adult, in turn."""
    files = inputs("adult", folder)
    search = arguments_of("adult", files, threshold, 1, str(folder / "theirs.csv"))
    java = {
        f"ARX, {name}": ("java", ["-Xmx8g", *flags, *program, *search])
        for name, flags in MACHINES.items()
    }
    kinds: dict[str, dict[str, Any]] = {
        "dbdeid, CSV": {},
        "dbdeid, target and Parquet": {
            "target": "ours.duckdb",
            "output": {"export": ["ours.parquet"]},
        },
    }
    python, places = {}, dict.fromkeys(java, folder)
    for number, (name, more) in enumerate(kinds.items()):
        place = folder / str(number)
        place.mkdir()
        places[name] = place
        python[name] = (sys.executable, ["-m", "dbdeid", *run_of("adult", files, place, **more)])
    commands = java | python
    measured: dict[str, list[tuple[float, float]]] = {name: [] for name in commands}
    for number in range(repetitions + 1):
        for name, (executable, arguments) in commands.items():
            times, _ = whole(executable, arguments, places[name])
            if number:  # the first round fills the caches of files, and of compiled modules
                measured[name].append(times)
    least = {name: tuple(map(min, zip(*times, strict=True))) for name, times in measured.items()}
    first = min(least[name][0] for name in java)
    print("whole process on adult         CPU s  wall s  CPU / ARX's least")
    for name, (cpu, wall) in least.items():
        print(f"{name:<28}{cpu:>8.2f}{wall:>8.2f}{cpu / first:>8.2f}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("cases", nargs="*", metavar="dataset", help=", ".join(CASES))
    parser.add_argument("--classpath", required=True, help="compiled ARX and its libraries")
    parser.add_argument("--threshold", default="1.0", help="of ARX's precomputed loss, or none")
    parser.add_argument("--process", action="store_true", help="whole processes on Adult")
    parser.add_argument("--repeat", type=int, default=7, help="of whole processes")
    arguments = parser.parse_args()
    os.sched_setaffinity(0, CORES)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        # modules are compiled once, as where a package is installed
        os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
        os.environ["PYTHONPYCACHEPREFIX"] = str(folder / "compiled")
        program = compiled(arguments.classpath, folder)
        if arguments.process:
            processes(program, arguments.threshold, folder, arguments.repeat)
            return
        print(
            "                             checks             ARX: least of         dbdeid"
            "                  dbdeid / ARX\n"
            "dataset      records   nodes     ARX dbdeid"
            "   thread  process     wall      CPU    wall     run     CPU   wall  checks"
        )
        for case in arguments.cases or [case for case in CASES if case != "ss13_12"]:
            print(compare(case, program, arguments.threshold, folder), flush=True)


if __name__ == "__main__":
    main()
