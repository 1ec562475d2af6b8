"""What analysts ask of the releases of Lee et al. 2017: errors by attribute, by number, Q1 to Q4.

Errors are those of `dbdeid evaluate`: generalized values are spread evenly, records count by their
weight; unweighted is the same without the catalog.
"""

from __future__ import annotations

import json
import random
import time
from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from itertools import combinations
from math import isclose
from pathlib import Path
from statistics import mean
from tempfile import TemporaryDirectory
from typing import Any

from dbdeid.bind.read import read
from dbdeid.commands.verify_evaluate_export import existing
from dbdeid.errors import DbdeidError
from dbdeid.evaluation.evaluate import evaluate_workload
from dbdeid.papers import hospital
from dbdeid.papers.common.charts import Look, dots
from dbdeid.papers.common.data import Data
from dbdeid.papers.common.outcome import Asked, Beside, Outcome, Picture, Row, Table
from dbdeid.papers.lee2017 import (
    CONFIGURATIONS,
    DATA,
    PADDED,
    QIS,
    SEED,
    TABLES,
    Figures,
    H,
    K,
    spec_of,
    what_of,
)
from dbdeid.publish.queryable import answerable
from dbdeid.query.desk.answer import answer
from dbdeid.release.run import run
from dbdeid.utility.query_error import QueryError

# Those that are also asked without weights, as who does not read the catalog would.
UNWEIGHTED = ("pool, fewest counterfeits", "pool, budget of 10 %", "borrow")
WEIGHED = [name for name in PADDED if name != "no catalog"]
ERRORS = {"mean_group_error": "mean |e − t|/t", "relative_error": "Σ|e − t|/Σt"}
QUICK = ("pool, fewest counterfeits", "generalization alone", "5 % suppressed")
_LEAST = 0.001  # below it an error is drawn as this: the axis is logarithmic


def grouped(keys: Sequence[str]) -> str:
    """How many of one occupation there are in each group."""
    listed = ", ".join(keys)
    return f"SELECT {listed}, COUNT(*) FROM adult WHERE occupation = 'Sales' GROUP BY {listed}"


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
            run(path)
    return path


def asked_of(spec: Path, *, weighted: bool) -> dict[str, QueryError]:
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


@cache
def workload_errors(data: Data, table: str, names: tuple[str, ...], most: int) -> Any:
    """Of each reading of each release, the errors of all queries by their attributes."""
    queries = {"-".join(keys): grouped(keys) for n in range(1, most + 1) for keys in chosen(n)}
    found: dict[str, dict[str, QueryError]] = {}
    for configuration in names:
        with TemporaryDirectory() as folder:
            spec = spec_of(what_of(data, table, Path(folder)), configuration, K, H)
            try:
                path = written(spec, queries, Path(folder))
            except DbdeidError:  # no release: it has no line
                continue
            for reading, weighted in readings(configuration).items():
                found[reading] = asked_of(path, weighted=weighted)
    return found


def per_attribute(asked: Asked) -> Outcome:
    """Query error by the attribute that groups."""
    return compared(asked, "attribute", {name: (name,) for name in QIS}, 1)


def per_number(asked: Asked) -> Outcome:
    """Query error by the number of attributes that group, at most ten combinations each."""
    most = asked.of(4, 2)
    ways = {str(n): ["-".join(keys) for keys in chosen(n)] for n in range(1, most + 1)}
    return compared(asked, "attributes", {n: tuple(names) for n, names in ways.items()}, most)


def compared(asked: Asked, over: str, asks: dict[str, tuple[str, ...]], most: int) -> Outcome:
    """Tables of errors, each a mean over queries."""
    drawn: list[Row] = []
    tables, better = [], 0
    of_tables = asked.of([*TABLES], ["30,162 rows"])
    for table in of_tables:
        errors = workload_errors(asked.data, table, asked.of(CONFIGURATIONS, QUICK), most)
        for measure, named in ERRORS.items():
            rows = []
            means: dict[str, dict[str, float]] = {}
            for reading, of in errors.items():
                means[reading] = {
                    x: mean(getattr(of[query], measure) for query in queries)
                    for x, queries in asks.items()
                }
                rows.append({"reading": reading} | {x: short(v) for x, v in means[reading].items()})
                drawn += [
                    {"configuration": reading, over: x, "error": max(v, _LEAST), "of": named}
                    for x, v in means[reading].items()
                    if reading in CONFIGURATIONS and table == of_tables[0]
                ]
            tables.append(Table(f"query error by {over}, {named}, {table}", rows))
            if table == of_tables[0] and measure == "mean_group_error":
                own, alone = means["pool, fewest counterfeits"], means["generalization alone"]
                better = sum(own[x] <= alone[x] for x in asks)
    line = Beside(
        "query error beside generalization alone",
        "lower (drawn, not printed)",
        f"not higher in {better} of {len(asks)}",
        "an attribute is answered well that the search left alone, whatever the method; "
        "suppressing 5 % stands beside it here",
    )
    look = Look("of", order=CONFIGURATIONS, log_y=True, size=(420, 240))
    chart = dots(drawn, over, "error", "configuration", look)
    picture = Picture(f"lee2017_{over}", f"query error by {over}", chart)
    return Outcome(f"{DATA}; k = {K}, h = {H}", [line], tables, [picture])


def short(error: float) -> str:
    """An error to three decimals, or to as many digits as matter."""
    return f"{error:.3f}" if error < 10 else f"{error:.1f}"


def hospital_queries(asked: Asked) -> Outcome:
    """Q1 to Q4 on hospital encounters, k = 10, h = .2."""
    source = asked.data.file("ehr/diabetes130.parquet")
    true = hospital.truth(source)
    counts, rows, notes = [], [], []
    drawn: list[Row] = []
    with TemporaryDirectory() as declared:
        what = {
            "source": {"sql": hospital.ENCOUNTERS.format(file=source), "name": "encounters"},
            "columns": hospital.columns(hospital.hierarchies(Path(declared))),
            "accept": "rows",
        }
        for configuration in asked.of(CONFIGURATIONS, QUICK):
            start = time.process_time()
            with TemporaryDirectory() as folder:
                spec = spec_of(what, configuration, 10, 0.2)
                try:
                    found = Figures.of(run(spec), time.process_time() - start)
                    path = written(spec, hospital.queries(), Path(folder))
                except DbdeidError as error:
                    notes.append(f"{configuration}: {error}")
                    continue
                counts.append({"configuration": configuration, "figures": str(found)})
                for reading, weighted in readings(configuration).items():
                    errors = answered(path, true, weighted and configuration in WEIGHED)
                    rows.append(
                        {"reading": reading}
                        | {q: " · ".join(map(short, both)) for q, both in errors.items()}
                    )
                    drawn += [
                        {"configuration": reading, "question": q, "error": max(e, _LEAST)}
                        | {"of": named}
                        for q, both in errors.items()
                        for e, named in zip(both, ERRORS.values(), strict=True)
                        if reading in CONFIGURATIONS
                    ]
    line = Beside(
        "errors of Q1 to Q4",
        "small (drawn by age group, not printed)",
        next(f"{row['Q1']} and {row['Q2']} for Q1 and Q2" for row in rows),
        "the paper's Korean sample of inpatients is not to be had; these are American encounters, "
        "and the fewest counterfeits merge ages",
    )
    tables = [
        Table("records changed · LM · RCE · RCE of quasi-identifiers", counts),
        Table(" · ".join(ERRORS.values()), rows),
    ]
    look = Look("of", order=CONFIGURATIONS, log_y=True, size=(420, 240))
    chart = dots(drawn, "question", "error", "configuration", look)
    data = "encounters of Diabetes 130-US hospitals; k = 10, h = 0.2"
    return Outcome(data, [line], tables, [Picture("lee2017_hospital", "errors", chart)], notes)


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
    by_product = asked_of(spec, weighted=weighted)
    errors = {}
    for patients, stays in hospital.COUNTED.items():
        errors[patients] = hospital.errors(true[patients], told[patients])
        errors[stays] = hospital.errors(true[stays], told[stays], true[patients])
        same = by_product[patients]
        assert isclose(errors[patients][0], same.mean_group_error or 0, abs_tol=1e-6)
        assert isclose(errors[patients][1], same.relative_error or 0, abs_tol=1e-6)
    return errors
