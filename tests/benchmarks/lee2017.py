"""The experiments of Lee, Kim & Chung (BMC Med Inform Decis Mak 17:104, 2017), on our data.

    python tests/benchmarks/lee2017.py [--pictures DIR] [experiment …]

Each experiment prints a table and draws it where a folder is given. Counterfeit records stand
beside generalization alone, with 1 % and 5 % of the records suppressed, and beside relocation.
Errors of queries are those of `dbdeid evaluate`; seconds are CPU seconds of one run.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import random
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from functools import cache
from itertools import combinations
from math import isclose
from pathlib import Path
from statistics import mean
from tempfile import TemporaryDirectory
from typing import Any
from unittest import mock

import hospital
from shown import save, show

import dbdeid
from dbdeid.bind.read import read
from dbdeid.commands.verify_evaluate_export import existing
from dbdeid.engine.session import Settings
from dbdeid.evaluation.evaluate import evaluate_workload
from dbdeid.methods.counterfeit import counterfeit
from dbdeid.publish.queryable import answerable
from dbdeid.query.desk.answer import answer
from dbdeid.release import run as running
from dbdeid.release.result import RunResult
from dbdeid.utility.query_error import QueryError

SHARED = Path(__file__).resolve().parents[3] / "shared"
SEED = 2017
FEWEST = {"objective": "counterfeits", "max_counterfeits": 1.0}

# What is compared: each takes the same h, and the baselines take none.
PADDED: dict[str, dict[str, Any]] = {
    "pool, fewest counterfeits": FEWEST,
    "pool, budget of 10 %": {"objective": "reconstruction_error", "max_counterfeits": 0.1},
    "borrow": {"recoding": "borrow"},
    "paper's catalog": FEWEST | {"catalog": "paper"},
    "no catalog": FEWEST | {"catalog": "none"},
}
BASELINES: dict[str, dict[str, Any]] = {
    "generalization alone": {"name": "full_domain"},
    "1 % suppressed": {"name": "full_domain", "suppression_limit": 0.01},
    "5 % suppressed": {"name": "full_domain", "suppression_limit": 0.05},
    "5 % relocated": {"name": "relocation", "limit": 0.05},
}
CONFIGURATIONS = (*PADDED, *BASELINES)
# Those that are also asked without weights, as who does not read the catalog would.
UNWEIGHTED = ("pool, fewest counterfeits", "pool, budget of 10 %", "borrow")
KS, HS = (3, 5, 10), (0.2, 0.25, 0.3, 0.35, 0.4)
K, H = 5, 0.3


@dataclass(frozen=True)
class Table:
    """A source: the folder of the hierarchy of each quasi-identifier, and what is dropped."""

    file: str
    folders: dict[str, str]
    dropped: str

    @property
    def spec(self) -> dict[str, Any]:
        """The part of a specification that says what is released."""
        roles: dict[str, Any] = {
            name: {
                "role": "quasi_identifier",
                "hierarchy": f"{SHARED}/data/hierarchies/{folder}/{folder}_hierarchy_"
                f"{name.replace('_', '-')}.csv",
            }
            for name, folder in self.folders.items()
        }
        roles["occupation"] = {"role": "sensitive", "accept": "homogeneity"}
        return {
            "source": f"{SHARED}/data/{self.file}.parquet",
            "columns": {**roles, self.dropped: "drop"},
        }


QIS = ("age", "sex", "race", "marital_status", "education", "native_country", "workclass")
TABLES = {
    "30,162 rows": Table("adult_arx", dict.fromkeys(QIS, "adult"), "salary_class"),
    # with its unknown values, which only the full hierarchies list
    "32,561 rows": Table(
        "adult_uci",
        {name: "adult" if name == "age" else "adult_full" for name in QIS},
        "fnlwgt, education_num, relationship, capital_gain, capital_loss, hours_per_week, income",
    ),
}


def method_of(configuration: str, h: float) -> dict[str, Any]:
    """The method of a specification."""
    if configuration in BASELINES:
        return BASELINES[configuration]
    return {"name": "counterfeit", "h": h} | PADDED[configuration]


def spec_of(what: dict[str, Any], configuration: str, k: int, h: float) -> dict[str, Any]:
    """A specification of a release."""
    return what | {
        "release": "released",
        "privacy": [{"model": "k_anonymity", "k": k}],
        "method": method_of(configuration, h),
        "evaluate": {"metrics": ["loss", "reconstruction_error"]},
        "seed": SEED,
    }


@dataclass(frozen=True)
class Figures:
    """What is known of a release; `reason` where there is none."""

    changed: int = 0
    loss: float = 0.0
    error: float = 0.0
    of_keys: float = 0.0
    risk: float | None = None
    seconds: float = 0.0
    reason: str | None = None

    @staticmethod
    def of(made: RunResult, seconds: float) -> Figures:
        """The figures of a finished run."""
        return Figures(
            made.counterfeit_rows + made.suppressed_rows + made.relocated_rows,
            made.loss,
            made.metrics["reconstruction_error"],
            made.metrics["reconstruction_error.quasi_identifiers"],
            made.padding["risk"] if made.padding else None,
            seconds,
        )

    def __str__(self) -> str:
        if self.reason:
            return "none"
        return f"{self.changed:,} · {self.loss:.3f} · {self.error:.3f} · {self.of_keys:.3f}"


@cache
def figures(table: str, configuration: str, k: int, h: float) -> Figures:
    """Make a release in memory."""
    start = time.process_time()
    try:
        made = dbdeid.run(spec_of(TABLES[table].spec, configuration, k, h))
    except dbdeid.DbdeidError as error:
        return Figures(reason=str(error))
    return Figures.of(made, time.process_time() - start)


def at(table: str, configuration: str, k: int, h: float) -> Figures:
    """The figures of a release; one of a baseline for all h."""
    return figures(table, configuration, k, H if configuration in BASELINES else h)


def sweep(
    pictures: Path | None, over: str, settings: Sequence[tuple[int, float]], title: str
) -> None:
    """One table for each source: its configurations against k or h."""
    drawn = []
    for table in TABLES:
        rows, risks, seconds, none = [], [], [], []
        for configuration in CONFIGURATIONS:
            row: dict[str, Any] = {"configuration": configuration}
            for k, h in settings:
                found, x = at(table, configuration, k, h), k if over == "k" else h
                row[f"{over} = {x}"] = found
                if found.reason:
                    none.append(f"{configuration}, {over} = {x}: {found.reason}")
                    continue
                seconds.append(found.seconds)
                if found.risk is not None:
                    risks.append(f"{configuration}, {over} = {x}: {found.risk * k:.2f}/{k}")
                of = {"rows": table, "configuration": configuration, over: x}
                measures = {"information loss": found.loss, "reconstruction error": found.of_keys}
                drawn += [of | {"measure": m, "value": value} for m, value in measures.items()]
            rows.append(row)
        show(f"{title}, {table}: records changed · LM · RCE · RCE of quasi-identifiers", rows)
        print("\nProsecutor risk: " + "; ".join(risks) + ".")
        print(f"CPU seconds of a run: {min(seconds):.1f} to {max(seconds):.1f}.")
        print("".join(f"\n{line}" for line in none))
    if pictures:
        save(lines(drawn, over), pictures / f"lee2017_{over}.svg")


def against_k(pictures: Path | None) -> None:
    """LM and RCE for k = 3, 5, 10."""
    sweep(pictures, "k", [(k, H) for k in KS], f"Against k, h = {H}")


def against_h(pictures: Path | None) -> None:
    """LM and RCE for h from .2 to .4."""
    sweep(pictures, "h", [(K, h) for h in HS], f"Against h, k = {K}")


def lines(rows: list[dict[str, Any]], over: str) -> Any:
    """Measures against k or h, a panel for each source and measure."""
    import altair as alt
    import pandas as pd

    return (
        alt.Chart(pd.DataFrame(rows))
        .mark_line(point=True)
        .encode(
            x=alt.X(over, type="quantitative", scale=alt.Scale(zero=False)),
            y=alt.Y("value", type="quantitative", title=None),
            color=alt.Color("configuration", type="nominal", sort=[*CONFIGURATIONS]),
        )
        .properties(width=260, height=200)
        .facet(row=alt.Row("measure", title=None), column=alt.Column("rows", title=None))
        .resolve_scale(y="independent")
    )


def dots(rows: list[dict[str, Any]], over: str, order: Sequence[str]) -> Any:
    """Errors beside each other on a logarithmic axis, from a thousandth up."""
    import altair as alt
    import pandas as pd

    frame = pd.DataFrame(rows)
    frame["error"] = frame["error"].clip(lower=0.001)
    return (
        alt.Chart(frame)
        .mark_point(filled=True, size=70)
        .encode(
            x=alt.X(over, type="nominal", sort=list(order), title=None),
            y=alt.Y("error", type="quantitative", scale=alt.Scale(type="log")),
            color=alt.Color("configuration", type="nominal", sort=[*CONFIGURATIONS]),
            shape=alt.Shape("configuration", type="nominal", sort=[*CONFIGURATIONS]),
        )
        .properties(width=420, height=240)
        .facet(column=alt.Column("of", type="nominal", title=None))
    )


# -- queries ------------------------------------------------------------------------------------


def grouped(file: str, keys: Sequence[str]) -> str:
    """How many of one occupation there are in each group."""
    listed = ", ".join(keys)
    return f"SELECT {listed}, COUNT(*) FROM {file} WHERE occupation = 'Sales' GROUP BY {listed}"


def chosen(number: int) -> list[tuple[str, ...]]:
    """Combinations of so many attributes: at most ten, always the same."""
    every = list(combinations(QIS, number))
    return sorted(random.Random(SEED).sample(every, min(10, len(every))), key=every.index)


def written(spec: dict[str, Any], queries: dict[str, str], folder: Path) -> Path:
    """Run a spec into a file of its own; give the same spec with a workload."""
    (folder / "queries").mkdir()
    for name, text in queries.items():
        (folder / "queries" / f"{name}.sql").write_text(text, encoding="utf-8")
    path = folder / "spec.yml"
    for evaluate in (spec["evaluate"], {"queries": "queries/*.sql"}):
        named = spec | {"target": "released.duckdb", "evaluate": evaluate}
        path.write_text(json.dumps(named), encoding="utf-8")
        if "metrics" in evaluate:
            dbdeid.run(path)
    return path


def asked(spec: Path, *, weighted: bool) -> dict[str, QueryError]:
    """The errors of the workload, by name; without weights counterfeits count as real."""
    with existing(read(spec)) as found:
        bound = found.bound()
        public = found.public if weighted else replace(found.public, catalog=None)
        workload = evaluate_workload(bound, found.work.session, public, found.declared(bound))
    assert workload is not None
    refused = [f"{q.name}: {q.refused}" for q in workload.queries if q.refused]
    assert not refused, refused
    return {query.name: query for query in workload.queries}


def readings(configuration: str) -> dict[str, bool]:
    """How a release is read, and whether that is by weights."""
    found = {configuration: True}
    return found | ({f"{configuration}, unweighted": False} if configuration in UNWEIGHTED else {})


ERRORS = {"mean_group_error": "mean |e − t|/t", "relative_error": "Σ|e − t|/Σt"}


@cache
def workload_errors(table: str) -> dict[str, dict[str, QueryError]]:
    """Of each reading of each release, the errors of all queries by their attributes."""
    file = TABLES[table].file
    queries = {"-".join(keys): grouped(file, keys) for n in range(1, 5) for keys in chosen(n)}
    found = {}
    for configuration in CONFIGURATIONS:
        with TemporaryDirectory() as folder:
            spec = spec_of(TABLES[table].spec, configuration, K, H)
            try:
                path = written(spec, queries, Path(folder))
            except dbdeid.DbdeidError as error:
                print(f"\n{configuration}: {error}")
                continue
            for reading, weighted in readings(configuration).items():
                found[reading] = asked(path, weighted=weighted)
    return found


def per_attribute(pictures: Path | None) -> None:
    """Query error by the attribute that groups."""
    compared(pictures, "attribute", {name: (name,) for name in QIS})


def per_number(pictures: Path | None) -> None:
    """Query error by the number of attributes that group, at most ten combinations each."""
    for n in range(2, 5):
        print(f"\n{n} attributes: " + "; ".join(", ".join(keys) for keys in chosen(n)))
    ways = {str(n): ("-".join(keys) for keys in chosen(n)) for n in range(1, 5)}
    compared(pictures, "attributes", {n: tuple(names) for n, names in ways.items()})


def compared(pictures: Path | None, over: str, asks: dict[str, tuple[str, ...]]) -> None:
    """Tables of errors, each a mean over queries."""
    drawn = []
    for table in TABLES:
        for measure, named in ERRORS.items():
            rows = []
            for reading, of in workload_errors(table).items():
                means = {x: mean(getattr(of[q], measure) for q in qs) for x, qs in asks.items()}
                rows.append({"reading": reading} | {x: short(v) for x, v in means.items()})
                drawn += [
                    {"configuration": reading, over: x, "error": v, "of": named}
                    for x, v in means.items()
                    if reading in CONFIGURATIONS and table == next(iter(TABLES))
                ]
            show(f"Query error by {over}, {named}, {table}, k = {K}, h = {H}", rows)
    if pictures:
        save(dots(drawn, over, [*asks]), pictures / f"lee2017_{over}.svg")


def short(error: float) -> str:
    """An error to three decimals, or to as many digits as matter."""
    return f"{error:.3f}" if error < 10 else f"{error:.1f}"


def hospital_queries(pictures: Path | None) -> None:
    """Q1 to Q4 on hospital encounters, k = 10, h = .2."""
    source = SHARED / "data" / "ehr" / "diabetes130.parquet"
    true = hospital.truth(source)
    counts, rows, drawn = [], [], []
    with TemporaryDirectory() as declared:
        what = {
            "source": {"sql": hospital.ENCOUNTERS.format(file=source), "name": "encounters"},
            "columns": hospital.columns(hospital.hierarchies(Path(declared))),
            "accept": "rows",
        }
        for configuration in CONFIGURATIONS:
            start = time.process_time()
            with TemporaryDirectory() as folder:
                spec = spec_of(what, configuration, 10, 0.2)
                try:
                    found = Figures.of(dbdeid.run(spec), time.process_time() - start)
                    path = written(spec, hospital.queries(), Path(folder))
                except dbdeid.DbdeidError as error:
                    print(f"\n{configuration}: {error}")
                    continue
                counts.append({"configuration": configuration, "figures": found})
                for reading, weighted in readings(configuration).items():
                    errors = answered(path, true, weighted and configuration in WEIGHED)
                    rows.append({"reading": reading} | {q: cell(e) for q, e in errors.items()})
                    drawn += [
                        {"configuration": reading, "question": q, "error": e, "of": named}
                        for q, both in errors.items()
                        for e, named in zip(both, ERRORS.values(), strict=True)
                        if reading in CONFIGURATIONS
                    ]
    show("Encounters: records changed · LM · RCE · RCE of quasi-identifiers", counts)
    show("Encounters: " + " · ".join(ERRORS.values()), rows)
    if pictures:
        save(dots(drawn, "question", [*hospital.QUESTIONS]), pictures / "lee2017_hospital.svg")


WEIGHED = [name for name in PADDED if name != "no catalog"]


def cell(errors: tuple[float, float]) -> str:
    """Both errors."""
    return " · ".join(map(short, errors))


def answered(
    spec: Path, true: dict[str, hospital.Groups], weighted: bool
) -> dict[str, tuple[float, float]]:
    """The errors of Q1 to Q4. Of counts `dbdeid evaluate` must find the same."""
    with existing(read(spec)) as found:
        bound, session = found.bound(), found.work.session
        public = found.public if weighted else replace(found.public, catalog=None)
        target = answerable(bound, session, public, found.declared(bound))
        told = {
            question: hospital.groups(answer(session, text, target).rows)
            for question, text in hospital.queries().items()
        }
    by_product = asked(spec, weighted=weighted)
    errors = {}
    for patients, stays in hospital.COUNTED.items():
        errors[patients] = hospital.errors(true[patients], told[patients])
        errors[stays] = hospital.errors(true[stays], told[stays], true[patients])
        same = by_product[patients]
        assert isclose(errors[patients][0], same.mean_group_error or 0, abs_tol=1e-6)
        assert isclose(errors[patients][1], same.relative_error or 0, abs_tol=1e-6)
    return errors


# -- time and repetition ------------------------------------------------------------------------


# What is timed, and where a run finds it.
PARTS = {
    "one node staged": (counterfeit, "stage_node"),
    "sizes to places": (counterfeit, "draw"),
    "records to catalog": (counterfeit, "write"),
    "checks": (running, "verify_table"),
}


def seconds(pictures: Path | None) -> None:
    """Where a run goes: CPU and wall seconds of its parts, at one transformation."""
    parts: dict[str, list[float]] = {}

    def timed(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        def call(*args: Any, **options: Any) -> Any:
            wall, cpu = time.perf_counter(), time.process_time()
            found = function(*args, **options)
            kept = parts.setdefault(name, [0.0, 0.0])
            kept[0] += time.process_time() - cpu
            kept[1] += time.perf_counter() - wall
            return found

        return call

    rows = []
    for configuration in ("pool, fewest counterfeits", "pool, budget of 10 %"):
        with TemporaryDirectory() as folder:
            spec = spec_of(TABLES["30,162 rows"].spec, configuration, K, H)
            spec |= {"target": f"{folder}/released.duckdb"}
            parts.clear()
            with ExitStack() as patched:
                for name, (module, function) in PARTS.items():
                    call = timed(name, getattr(module, function))
                    patched.enter_context(mock.patch.object(module, function, call))
                timed("whole run", dbdeid.run)(spec)
        rows += [
            {"configuration": configuration, "part": p, "CPU s": f"{c:.3f}", "wall s": f"{w:.3f}"}
            for p, (c, w) in parts.items()
        ]
    show("A run on 30,162 rows, k = 5, h = .3", rows)


def repeated(pictures: Path | None) -> None:
    """The same seed gives the same bytes at 1 and 4 threads, from rows in any order."""
    rows = []
    for configuration in PADDED:
        digests = {}
        for threads in (1, 4):
            with TemporaryDirectory() as folder:
                spec = spec_of(TABLES["30,162 rows"].spec, configuration, K, H)
                spec |= {"output": {"export": [f"{folder}/released.parquet"]}}
                dbdeid.run(spec, settings=Settings(threads=threads))
                digests[threads] = {
                    path.name: hashlib.sha256(path.read_bytes()).hexdigest()
                    for path in sorted(Path(folder).glob("*.parquet"))
                }
        same = digests[1] == digests[4]
        files = ", ".join(f"{name} {digest[:12]}" for name, digest in digests[1].items())
        rows.append({"configuration": configuration, "same bytes": same, "files": files})
    show("One seed, 1 and 4 threads", rows)


ASKED = (against_k, against_h, per_attribute, per_number, hospital_queries, seconds, repeated)
EXPERIMENTS = {experiment.__name__: experiment for experiment in ASKED}


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("experiments", nargs="*", help=", ".join(EXPERIMENTS))
    parser.add_argument("--pictures", type=Path, help="folder")
    arguments = parser.parse_args()
    for name in arguments.experiments or EXPERIMENTS:
        EXPERIMENTS[name](arguments.pictures)
    print(f"\n{time.process_time():.0f} CPU seconds")
