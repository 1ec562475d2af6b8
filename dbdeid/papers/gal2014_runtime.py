"""Seconds of the methods of Gal et al. 2014 (Figures 5 to 8), of a processor with one thread."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from dbdeid.methods.condensation.clusters import condense
from dbdeid.methods.condensation.encoding import encode
from dbdeid.papers.common.charts import Look, bars, beside, lines
from dbdeid.papers.common.outcome import Asked, Beside, Outcome, Picture, Table
from dbdeid.papers.gal2014 import COLOURS, PRIVATE, SIZES, K
from dbdeid.papers.gal2014_ways import DRAWN, recipe_of
from dbdeid.papers.recipient_tables import Table as Records
from dbdeid.papers.recipient_tables import calibrated, simulated, widened

RECORDS = (10_000, 20_000, 50_000, 100_000, 200_000, 430_000)
COLUMNS = (2, 3, 5, 7, 9, 11, 13)
PHASES = ("clustering", "balancing", "synthesis", "mapping", "calibration")
Found = dict[str, Any]


def timed(source: Records, way: str, k: int) -> Found:
    """CPU seconds of each phase, the least of two runs; of large tables one."""
    runs = [_timed(source, way, k, seed) for seed in range(2 if source.number <= 20_000 else 1)]
    return min(runs, key=lambda row: row["all"])


def _timed(source: Records, way: str, k: int, seed: int) -> Found:
    strata, rng = way != "original", np.random.default_rng(seed)
    recipe = recipe_of("recipient" if way == "calibrated" else way, k)
    records = source.records(strata)
    wall, start = time.perf_counter(), time.process_time()
    made = condense(records, recipe, rng, now=time.process_time)
    phases = dict(made.seconds)
    whole = time.process_time() - start
    if way == "calibrated":
        start = time.process_time()
        calibrated(source, source.released(made, strata), made.clusters, rng)
        phases["calibration"] = time.process_time() - start
        whole += phases["calibration"]
    return {"method": way, **phases, "all": whole, "wall": time.perf_counter() - wall}


def lloyd(source: Records, k: int) -> float:
    """CPU seconds of scikit-learn's k-means, as it comes, on the standardized columns."""
    from sklearn.cluster import KMeans

    records = source.records(strata=False)
    points = encode(records, np.arange(records.number)).points
    start = time.process_time()
    KMeans(len(points) // k, n_init=1, random_state=0).fit(points)
    return time.process_time() - start


def runtime(asked: Asked) -> Outcome:
    """Figures 5 to 8: seconds by records, phases, cluster size and columns; beside k-means."""
    with threadpool_limits(1):
        rows = _rows(asked)
    shown = [
        Table(
            f"CPU seconds by {sweep}",
            [
                {
                    sweep: row["at"],
                    "": row["method"],
                    **{p: f"{row[p]:.2f}" if p in row else "–" for p in PHASES},
                    "all": f"{row['all']:.2f}",
                }
                for row in rows
                if row["sweep"] == sweep
            ],
        )
        for sweep in ("records", "cluster size", "columns")
    ]
    pictures = [
        Picture("gal2014_phases", "seconds of the phases against records", _phases(rows)),
        Picture("gal2014_runtime", "seconds against records, cluster size, columns", _swept(rows)),
    ]
    at = {(r["sweep"], r["at"], r["method"]): r["all"] for r in rows}
    numbers = [n for sweep, n, way in at if sweep == "records" and way == "recipient"]
    low, high = min(numbers), max(numbers)
    growth = at["records", high, "recipient"] / at["records", low, "recipient"]
    line = Beside(
        "growth with the number of records",
        "near linear (drawn, not printed)",
        f"{high / low:.0f} times the records, {growth:.1f} times the seconds (recipient)",
        f"another machine; {PRIVATE}",
    )
    data = f"registries of lung cancer, simulated, K = {K}"
    return Outcome(data, [line], shown, pictures, (), {"runtime": rows})


def _rows(asked: Asked) -> list[Found]:
    rows = []
    middle = asked.of(20_000, 5_000)
    timed(simulated(asked.of(10_000, 2_000)), "improved, rank", K)  # imports are not counted
    for n in asked.of(RECORDS, (2_000, 10_000)):
        source = simulated(n)
        for way in DRAWN:
            if way in ("recipient", "calibrated") or n <= 100_000:
                rows.append({"sweep": "records", "at": n, "k": K, **timed(source, way, K)})
        if n in (50_000, 100_000):
            row = {"method": "k-means", "all": lloyd(source, K)}
            rows.append({"sweep": "records", "at": n, "k": K, **row})
    for k in asked.of(SIZES, SIZES[2:4]):
        for way in DRAWN:
            row = timed(simulated(middle), way, k)
            rows.append({"sweep": "cluster size", "at": k, "k": k, **row})
    for m in asked.of(COLUMNS, COLUMNS[2:4]):
        source = widened(simulated(middle), m, np.random.default_rng(0))
        for way in ("original", "improved, rank", "recipient"):
            rows.append({"sweep": "columns", "at": m, "k": K, **timed(source, way, K)})
    return rows


def _phases(rows: Sequence[Found]) -> Any:
    flat = [
        {"records": row["at"], "table": row["method"], "phase": phase, "CPU seconds": row[phase]}
        for row in rows
        if row["sweep"] == "records"
        for phase in PHASES
        if row.get(phase)
    ]
    look = Look("table", own_axes="xy", size=(150, 220))
    return bars(flat, "records", "CPU seconds", "phase", look)


def _swept(rows: Sequence[Found]) -> Any:
    charts = []
    for sweep in ("records", "cluster size", "columns"):
        own = [
            {sweep: row["at"], "method": row["method"], "CPU seconds": row["all"]}
            for row in rows
            if row["sweep"] == sweep and row["method"] != "k-means"
        ]
        look = Look(
            order=[*COLOURS],
            colours=[*COLOURS.values()],
            log_x=sweep != "columns",
            log_y=sweep == "records",
            ticks=sorted({row[sweep] for row in own}),
            size=(250, 240),
        )
        charts.append(lines(own, sweep, "CPU seconds", "method", look))
    return beside(*charts)
