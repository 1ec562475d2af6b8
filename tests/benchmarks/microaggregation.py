"""Information loss of MDAV and TFRP on Tarragona and Census, and how long they take.

    python tests/benchmarks/microaggregation.py [losses] [seconds]

SSE / SST · 100 of all 13 standardized columns, for k = 3, 5 and 10, beside what the literature
reports; seconds of a processor on random points of 5 dimensions.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from pathlib import Path

import duckdb
import numpy as np
from shown import show

from dbdeid.data.records import Attribute
from dbdeid.methods.microaggregation.groups import Groups, means
from dbdeid.methods.microaggregation.mdav import mdav
from dbdeid.methods.microaggregation.mixed_points import Points, points_of
from dbdeid.methods.microaggregation.mst import mst
from dbdeid.methods.microaggregation.tfrp import grouped, tfrp

SHARED = Path(__file__).resolve().parents[3] / "shared"
TABLES = {"Tarragona": "sdc_tarragona", "Census": "sdc_census_casc"}
SIZES = (3, 5, 10)
ALGORITHMS: dict[str, Callable[[Points, int], Groups]] = {
    "mdav": mdav,
    "tfrp, first phase": grouped,
    "tfrp": tfrp,
    "mst": mst,
}
# Domingo-Ferrer & Mateo-Sanz 2002 as later papers cite it; Chang, Li & Huang 2007.
REPORTED = {
    ("Tarragona", "mdav"): (16.93, 22.46, 33.19),
    ("Census", "mdav"): (5.69, 9.09, 14.16),
    ("Tarragona", "tfrp"): (17.23, 22.11, 33.19),
    ("Census", "tfrp"): (5.80, 8.98, 13.96),
}


def table(name: str) -> Points:
    """All records of one of the tables."""
    path = SHARED / "data/sdc" / f"{TABLES[name]}.parquet"
    columns = duckdb.sql(f"FROM '{path}'").fetchnumpy()
    attributes = [Attribute(n, np.asarray(v, np.float64)) for n, v in columns.items()]
    return points_of(attributes, np.ones(len(attributes[0].values), np.int64))


def loss(points: Points, groups: Groups) -> float:
    """SSE / SST · 100 of the numbers."""
    apart = [own[groups.point] - means(own, groups)[groups.group] for own in points.numbers]
    return (
        100
        * float(np.square(apart) @ groups.records @ np.ones(len(apart)))
        / float(np.square(points.numbers).sum())
    )


def losses() -> list[dict[str, str]]:
    """Each algorithm on each table."""
    rows = []
    for name in TABLES:
        points = table(name)
        for algorithm, make in ALGORITHMS.items():
            row = {"table": name, "algorithm": algorithm}
            reported = REPORTED.get((name, algorithm), ())
            row |= {f"k = {k}": f"{loss(points, make(points, k)):.2f}" for k in SIZES}
            row["reported"] = ", ".join(f"{value:.2f}" for value in reported)
            rows.append(row)
    return rows


def seconds() -> list[dict[str, str]]:
    """Each algorithm on random points, k = 5."""
    rng, rows = np.random.default_rng(0), []
    for number in (10_000, 30_000, 100_000):
        values = rng.normal(size=(5, number))
        ones = np.ones(number, np.int64)
        points = points_of([Attribute(str(i), own) for i, own in enumerate(values)], ones)
        for algorithm in ("mdav", "tfrp"):
            started = time.process_time()
            ALGORITHMS[algorithm](points, 5)
            took = f"{time.process_time() - started:.1f}"
            rows.append({"records": f"{number:,}", "algorithm": algorithm, "seconds": took})
    return rows


def main() -> None:
    """Run what is asked for."""
    parser = argparse.ArgumentParser()
    parser.add_argument("what", nargs="*", default=["losses", "seconds"])
    asked = parser.parse_args().what
    if "losses" in asked:
        show("Information loss, percent", losses())
    if "seconds" in asked:
        show("Seconds of a processor, k = 5", seconds())


if __name__ == "__main__":
    main()
