"""The experiments of Yoo, Shin, Lee & Shim (JCSE 6(3), 2012), Figures 4 to 6, on Adult.

    python tests/benchmarks/yoo2012.py [--sizes N …] [--quasi-identifiers seven eight]
        [--pictures DIR] [experiment …]

Information loss, blocks with one, two and more sensitive values, and seconds of a processor,
against the number of records, k = 3: means over three samples, each with its own draws. Every
record has a block. `eight` are the paper's quasi-identifiers, of the complete records of UCI's
file; `seven` are those of ARX's file, without relationship. Occupation is sensitive.

`mondrian` is not of the paper: dealing beside Mondrian with other k and models, on all records.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable
from functools import cache
from pathlib import Path
from statistics import mean
from typing import Any

from shown import save, show

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from yoo import AGED, CONDITIONS, EIGHT, SEVEN, WAYS, Made, adult, beside

SHARED = Path(__file__).resolve().parents[3] / "shared"
COLUMNS = {"seven": SEVEN, "eight": EIGHT}
RECORDS = 30_162
SIZES = (500, 1000, 2000, 5000, 10_000, 20_000, RECORDS)
SEEDS = (0, 1, 2)

Measure = Callable[[Made], float]

LOSSES: dict[str, Measure] = {
    "entropy inside blocks, bits": lambda made: made.figures.inside,
    "node entropy, bits": lambda made: made.figures.node,
    "loss": lambda made: made.figures.loss,
}
DIVERSE: dict[str, Measure] = {
    "l = 1": lambda made: made.figures.diverse[0],
    "l = 2": lambda made: made.figures.diverse[1],
    "l ≥ 3": lambda made: made.figures.diverse[2],
}
SECONDS: dict[str, Measure] = {"seconds": lambda made: sum(made.seconds)}


@cache
def made(columns: str, way: str, size: int, seed: int) -> Made:
    """The blocks of a sample in a way."""
    table = adult(
        SHARED, COLUMNS[columns], None if size == RECORDS else size, seed * (size < RECORDS)
    )
    return WAYS[way].made(table, seed)


def drawn(columns: str, way: str, size: int, measure: Measure) -> float:
    """The mean of a measure over the seeds."""
    return mean(measure(made(columns, way, size, seed)) for seed in SEEDS)


def compared(
    asked: argparse.Namespace, name: str, measures: dict[str, Measure], digits: int
) -> None:
    """A table of each measure, and a picture of all of them."""
    points = []
    for columns in asked.quasi_identifiers:
        for measure, of in measures.items():
            rows = []
            for way in WAYS:
                means = {size: drawn(columns, way, size, of) for size in asked.sizes}
                rows.append({"": way} | {f"{n:,}": f"{x:,.{digits}f}" for n, x in means.items()})
                points += [
                    {"way": way, "records": n, "measure": measure, "value": x, "columns": columns}
                    for n, x in means.items()
                ]
            show(f"{measure}, {columns} quasi-identifiers, k = 3", rows)
    if asked.pictures:
        save(lines(points), asked.pictures / f"yoo2012_{name}.svg")


def loss(asked: argparse.Namespace) -> None:
    """Figure 4: what is lost."""
    compared(asked, "loss", LOSSES, 3)


def diversity(asked: argparse.Namespace) -> None:
    """Figure 5: the blocks by their sensitive values."""
    compared(asked, "diversity", DIVERSE, 0)


def seconds(asked: argparse.Namespace) -> None:
    """Figure 6: how long it takes."""
    compared(asked, "seconds", SECONDS, 2)


def placed(asked: argparse.Namespace) -> None:
    """How many records are placed in blocks of others, and what that takes of the seconds."""
    for columns in asked.quasi_identifiers:
        rows = [
            {"": way}
            | {
                f"{size:,}": f"{drawn(columns, way, size, lambda made: made.left):,.0f} · "
                f"{drawn(columns, way, size, lambda made: made.seconds[1]):.2f} s"
                for size in asked.sizes
            }
            for way in WAYS
        ]
        show(f"records placed afterwards, {columns} quasi-identifiers, k = 3", rows)


def mondrian(asked: argparse.Namespace) -> None:
    """Dealing beside Mondrian; the same in every run."""
    for columns, names in {"seven": SEVEN, "with age": AGED}.items():
        table = adult(SHARED, names)
        rows = []
        for k in (3, 5, 10):
            for condition in CONDITIONS:
                row = {"": f"k = {k}, {condition}"}
                for way, own in beside(table, k, condition).items():
                    found = own.figures
                    row[way] = (
                        f"{found.node:.3f} · {found.loss:.4f} · {found.inside:.3f} · "
                        f"{sum(own.seconds):.2f}"
                    )
                rows.append(row)
        show(f"node entropy · loss · entropy inside blocks · seconds, {columns}", rows)


def lines(points: list[dict[str, Any]]) -> Any:
    """Measures against the number of records, a panel for each and for each set of columns."""
    import altair as alt
    import pandas as pd

    positive = all(point["value"] > 0 for point in points)
    heights = alt.Scale(type="log" if positive else "symlog", nice=False)
    sizes = alt.Scale(type="log", nice=False)
    plain = alt.Axis(grid=False)
    measures = list(dict.fromkeys(point["measure"] for point in points))
    colours = alt.Scale(scheme="tableau20")
    return (
        alt.Chart(pd.DataFrame(points))
        .mark_line()
        .encode(
            x=alt.X("records", type="quantitative", scale=sizes, axis=plain),
            y=alt.Y("value", type="quantitative", title=None, scale=heights),
            color=alt.Color("way", type="nominal", sort=[*WAYS], scale=colours),
        )
        .properties(width=340, height=340)
        .facet(
            row=alt.Row("measure", title=None, sort=measures),
            column=alt.Column("columns", title=None, sort=[*COLUMNS]),
        )
        .resolve_scale(y="independent")
        # a page shows the picture as an image, whose parts have no voice
        .configure(aria=False)
    )


EXPERIMENTS = {one.__name__: one for one in (loss, diversity, seconds, placed, mondrian)}


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("experiments", nargs="*", help=", ".join(EXPERIMENTS))
    parser.add_argument("--sizes", nargs="+", type=int, default=SIZES, help="numbers of records")
    parser.add_argument("--quasi-identifiers", nargs="+", choices=COLUMNS, default=[*COLUMNS])
    parser.add_argument("--pictures", type=Path, help="folder")
    arguments = parser.parse_args()
    for name in arguments.experiments or EXPERIMENTS:
        EXPERIMENTS[name](arguments)
    print(f"\n{time.process_time():.0f} CPU seconds")
