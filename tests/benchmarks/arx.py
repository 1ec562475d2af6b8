"""Time dbdeid beside ARX on the reference datasets, in one run and on the same two cores.

    python tests/benchmarks/arx.py --classpath 'CLASSES:JARS' [--threshold 1.0] [dataset …]
    python tests/benchmarks/arx.py --classpath … [--suppression 0] [--promise t_closeness:0.3] …
    python tests/benchmarks/arx.py --classpath 'CLASSES:JARS' --process

ARX is not part of dbdeid: `--classpath` names a build of its core made elsewhere. The searches run
in turn, ARX's repeated in one warm virtual machine and ours in one interpreter; what counts is the
least CPU time of each, for ARX that of the searching thread alone. With `--process` whole fresh
processes are compared that read Adult from CSV, search and write a CSV file; only dbdeid's verifies
what it wrote.
"""

from __future__ import annotations

import argparse
import gzip
import json
import multiprocessing
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import Any

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # as the command line does

import duckdb

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))
sys.path.insert(0, str(Path(__file__).parent))
from models import CASES as VALUED
from models import problem, ruled
from realdata import load
from search import CASES, SHARED

from dbdeid.papers.common.tables import named
from dbdeid.prepare.sensitive_conditions import Sensitive
from dbdeid.privacy import MODELS

CORES = {0, 1}
REPETITIONS = {"adult": 25, "adult_s0": 25, "creditcard": 40, "ihis": 2}  # others 5
Measured = list[dict[str, Any]]


# -- ARX -----------------------------------------------------------------------------------------


def compiled(classpath: str, folder: Path) -> list[str]:
    """The command that runs our program on top of ARX."""
    program = Path(__file__).parent / "arx" / "Search.java"
    subprocess.run(["javac", "-cp", classpath, "-d", folder, program], check=True)
    return ["-cp", f"{folder}:{classpath}", "Search"]


def inputs(file: str, qis: Sequence[str], folder: Path, more: Sequence[str] = ()) -> list[str]:
    """A table and hierarchies as files that ARX reads: the data's path, then each QI.

    Args:
        file: its name among the reference datasets.
        qis: its quasi-identifiers.
        folder: where the data go.
        more: columns without a hierarchy.
    """
    table = named(file)
    name, family, first = (*table.files, "adult_arx.parquet")[0], table.family, table.first
    data = folder / f"{file}_{len(qis)}.csv"
    source = duckdb.read_parquet(str(SHARED / "data" / name))
    spelled = {column.lower().replace("_", "-"): column for column in source.columns}
    picked = [f'"{spelled[c.lower().replace("_", "-")]}" AS "{c}"' for c in (*qis, *more)]
    source.limit(first or 1 << 40).select(", ".join(picked)).write_csv(str(data), sep=";")
    return [str(data), *(f"{qi}={hierarchy_of(family, qi, folder)}" for qi in qis)]


def hierarchy_of(family: str, qi: str, folder: Path) -> Path:
    """The file of a hierarchy, unpacked."""
    file = f"{family}_hierarchy_{qi.replace(' ', '_')}.csv"
    path = SHARED / "data" / "hierarchies" / family / file
    if path.exists():
        return path
    (folder / file).write_bytes(gzip.decompress(path.with_suffix(".csv.gz").read_bytes()))
    return folder / file


def options(**asked: object) -> list[str]:
    """Options as the program takes them."""
    return [word for name, value in asked.items() for word in (f"--{name}", str(value))]


class Arx:
    """A virtual machine that searches the same data whenever it is told to."""

    def __init__(self, program: list[str], files: list[str], **asked: object) -> None:
        command = ["java", "-Xmx8g", *program, files[0], *options(**asked), *files[1:]]
        pipe = subprocess.PIPE
        self._process = subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True)

    def __call__(self) -> dict[str, Any]:
        """What one search found, and its times."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write("\n")
        self._process.stdin.flush()
        return json.loads(self._process.stdout.readline())

    def close(self) -> None:
        """End the machine."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait()


# -- dbdeid --------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Case:
    """What is searched for.

    Attributes:
        file: the name of the dataset.
        qis: its quasi-identifiers.
        k: subjects of a class.
        share: of the records may be suppressed.
        promise: a model over one more column, or none.
    """

    file: str
    qis: tuple[str, ...]
    k: int
    share: float
    promise: tuple[str, float, str] | None = None


def case_of(name: str, share: float | None, promise: str | None) -> Case:
    """A reference dataset, its share of suppressed records and its promise replaced where given."""
    file, qis, k, usual = CASES[name]
    if promise is None:
        return Case(file, tuple(qis), k, usual if share is None else share)
    file, valued, column = VALUED[name]
    model, value = promise.split(":")
    share = usual if share is None else share
    return Case(file, tuple(valued), k, share, (model, float(value), column))


def ours(case: Case) -> dict[str, Any]:
    """One search in this process, from coded tuples in memory to the optimum."""
    from dbdeid.lattice.checker import NumpyChecker
    from dbdeid.lattice.exploration import Problem, explore
    from dbdeid.lattice.objectives import LOSS
    from dbdeid.methods.full_domain.search.optimal import optimal

    lattice, tuples, rule = ground(case)
    cpu, wall = time.process_time(), time.perf_counter()
    checker = NumpyChecker(lattice, tuples, rule)
    limit = int(case.share * tuples.records)
    found = explore(optimal, Problem(lattice, tuples, checker, limit, LOSS, convex=True))
    cpu, wall = time.process_time() - cpu, time.perf_counter() - wall
    return {
        "cpu": cpu,
        "wall": wall,
        "checks": found.checked,
        "nodes": found.lattice_size,
        "records": tuples.records,
        "loss": found.score,
        "node": list(found.node or ()),
        "proven": found.proven_optimal,
    }


@cache
def ground(case: Case) -> tuple[Any, Any, Any]:
    """The lattice, the tuples and the rule of a case."""
    from dbdeid.lattice.rule import Rule

    if case.promise is None:
        return *load(SHARED, case.file, case.qis), Rule(case.k)
    name, value, column = case.promise
    parameter = {"t_closeness": "t", "delta_disclosure": "delta"}.get(name, "beta")
    asked: dict[str, Any] = {"model": name, "column": column, parameter: value}
    model = MODELS[name](**asked)
    lattice, tuples, whole = problem(case.file, case.qis, column)
    return lattice, tuples, ruled(Sensitive, model, column, whole)


def compare(name: str, case: Case, program: list[str], threshold: str, folder: Path) -> str:
    """One line of the table of searches: either side searches in turn, each in its process."""
    column = [case.promise[2]] if case.promise else []
    files = inputs(case.file, case.qis, folder, column)
    asked = {"k": case.k, "suppression": case.share, "threshold": threshold}
    if case.promise:
        asked["promise"] = ":".join(map(str, case.promise))
    arx = Arx(program, files, **asked)
    theirs, mine = [], []
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        for _ in range(REPETITIONS.get(name, 5)):
            theirs.append(arx())
            mine.append(pool.apply(ours, (case,)))
    arx.close()
    for one in (*theirs, *mine):
        assert one["proven"]
        assert abs(one["loss"] - mine[0]["loss"]) < 1e-9, (case, one, mine[0])
    best = partial(_least, mine)
    their = partial(_least, theirs)
    return (
        f"{name:<11}{mine[0]['records']:>9,}{mine[0]['nodes']:>8,}"
        f"{theirs[0]['checks']:>8,}{mine[0]['checks']:>7,}"
        f"{their('thread'):>10.3f}{their('cpu'):>9.3f}{their('wall'):>9.3f}"
        f"{best('cpu'):>9.3f}{best('wall'):>8.3f}"
        f"{best('cpu') / their('thread'):>8.3f}{best('wall') / their('wall'):>7.3f}"
        f"{mine[0]['checks'] / theirs[0]['checks']:>8.2f}"
        f"  {mine[0]['loss']:.9f} {'same' if theirs[0]['node'] == mine[0]['node'] else 'tie'}"
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
    pipe = subprocess.PIPE
    process = subprocess.Popen([executable, *arguments], stdin=pipe, stdout=pipe, text=True)
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write("\n")  # one search, of the program for ARX
    process.stdin.close()
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
    file, qis, k, share = CASES["adult"]
    files = inputs(file, qis, folder)
    asked = {"k": k, "suppression": share, "threshold": threshold}
    search = [files[0], *options(**asked, output=folder / "theirs.csv"), *files[1:]]
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
    parser.add_argument("--suppression", type=float, help="the share that may be")
    parser.add_argument("--promise", metavar="MODEL:VALUE", help="beside k, over one more column")
    parser.add_argument("--process", action="store_true", help="whole processes on Adult")
    parser.add_argument("--repeat", type=int, default=7, help="of whole processes")
    arguments = parser.parse_args()
    os.sched_setaffinity(0, CORES)
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        # modules are compiled once, as where a package is installed
        os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
        os.environ["PYTHONPYCACHEPREFIX"] = str(folder / "compiled")
        program = compiled(arguments.classpath, folder)
        if arguments.process:
            processes(program, arguments.threshold, folder, arguments.repeat)
            return
        print(
            "                             checks             ARX: least of         dbdeid"
            "          dbdeid / ARX\n"
            "dataset      records   nodes     ARX dbdeid"
            "   thread  process     wall      CPU    wall     CPU   wall  checks  loss"
        )
        names = [*(VALUED if arguments.promise else CASES)]
        for name in arguments.cases or [name for name in names if name != "ss13_12"]:
            case = case_of(name, arguments.suppression, arguments.promise)
            print(compare(name, case, program, arguments.threshold, folder), flush=True)


if __name__ == "__main__":
    main()
