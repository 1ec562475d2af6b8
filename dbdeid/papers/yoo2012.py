"""Yoo, Shin & Lee (Interact J Med Res 1(2):e14, 2012): Figures 4 to 6, on Adult.

Information loss, blocks with one, two and more sensitive values, and seconds of a processor
against the number of records, k = 3: means over three samples, each with its own draws. Every
record has a block. `eight` are the paper's quasi-identifiers, `seven` those of ARX's file, without
relationship. Occupation is sensitive. Dealing beside Mondrian is not of the paper.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from statistics import mean

from dbdeid.papers.common.charts import Look, lines
from dbdeid.papers.common.data import Data
from dbdeid.papers.common.outcome import Asked, Beside, Outcome, Picture, Row, Table
from dbdeid.papers.yoo_blocks import AGED, CONDITIONS, EIGHT, SEVEN, WAYS, Made, adult, beside

COLUMNS = {"seven": SEVEN, "eight": EIGHT}
RECORDS = 30_162
SIZES, QUICK = (500, 2000, 5000, RECORDS), (500, 2000)
SEEDS = (0, 1, 2)
DATA = "UCI Adult, complete records, with ARX's hierarchies; k = 3, occupation is sensitive"

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

_SAMPLES = "the paper names neither its samples nor its hierarchies"


@cache
def made(data: Data, columns: str, way: str, size: int, seed: int) -> Made:
    """The blocks of a sample in a way."""
    whole = size == RECORDS
    table = adult(data, COLUMNS[columns], None if whole else size, 0 if whole else seed)
    return WAYS[way].made(table, seed)


def drawn(asked: Asked, columns: str, way: str, size: int, measure: Measure) -> float:
    """The mean of a measure over the seeds."""
    seeds = asked.of(SEEDS, SEEDS[:1])
    return mean(measure(made(asked.data, columns, way, size, seed)) for seed in seeds)


def _columns(asked: Asked) -> list[str]:
    return asked.of([*COLUMNS], ["seven"])


def compared(
    asked: Asked, name: str, measures: Mapping[str, Measure], digits: int
) -> tuple[list[Table], Picture]:
    """A table of each measure, and a picture of all of them."""
    points: list[Row] = []
    tables = []
    for columns in _columns(asked):
        for measure, of in measures.items():
            rows = []
            for way in WAYS:
                sizes = asked.of(SIZES, QUICK)
                means = {n: drawn(asked, columns, way, n, of) for n in sizes}
                rows.append({"": way} | {f"{n:,}": f"{x:,.{digits}f}" for n, x in means.items()})
                points += [
                    {"way": way, "records": n, "value": x, "measure": measure, "columns": columns}
                    for n, x in means.items()
                ]
            tables.append(Table(f"{measure}, {columns} quasi-identifiers", rows))
    look = Look("columns", "measure", [*WAYS], log_x=True, log_y=True, own_axes="y")
    words = f"{name} against the number of records, a line for each way of making blocks"
    return tables, Picture(name, words, lines(points, "records", "value", "way", look))


def _times(asked: Asked, way: str, measure: Measure = LOSSES["entropy inside blocks, bits"]) -> str:
    """How many times as much a way has as the paper's, from 2,000 records on."""
    sizes = [n for n in asked.of(SIZES, QUICK) if n >= 2000]
    found = [
        drawn(asked, columns, way, n, measure) / drawn(asked, columns, "paper, λ = 1", n, measure)
        for columns in _columns(asked)
        for n in sizes
    ]
    return f"{min(found):.1f} to {max(found):.1f} times"


def loss(asked: Asked) -> Outcome:
    """Figure 4: what is lost."""
    tables, picture = compared(asked, "yoo2012_loss", LOSSES, 3)
    diverse = Beside(
        "loss of entropy l-diversity, l = 3, beside the paper's method",
        "over 4 times",
        _times(asked, "diversity first, l = 3"),
        "from 2,000 records on, and only for blocks that look at nothing but diversity: the "
        f"paper's method with the same l costs {_times(asked, 'paper, entropy l = 3')}; {_SAMPLES}",
    )
    close = Beside(
        "loss of t-closeness, t = .15, beside the paper's method",
        "3 times",
        _times(asked, "closeness, t = .15"),
        "no three records are within .15: the best three are .60 off, and it takes 14 records",
    )
    return Outcome(DATA, [diverse, close], tables, [picture])


def diversity(asked: Asked) -> Outcome:
    """Figure 5: the blocks by their sensitive values."""
    tables, picture = compared(asked, "yoo2012_diversity", DIVERSE, 0)
    size = asked.of(5000, 2000)
    ratios = [
        drawn(asked, columns, "paper, λ = 1", size, DIVERSE["l = 1"])
        / drawn(asked, columns, "CE", size, DIVERSE["l = 1"])
        for columns in _columns(asked)
    ]
    line = Beside(
        "blocks of one sensitive value, beside conditional entropy alone",
        "fewer (drawn, not printed)",
        f"{min(ratios):.2f} to {max(ratios):.2f} of them at {size:,} records",
        f"the first of equals instead of one by lot makes the comparator look worse; {_SAMPLES}",
    )
    return Outcome(DATA, [line], tables, [picture])


def seconds(asked: Asked) -> Outcome:
    """Figure 6: how long it takes, and how many records are placed in blocks of others."""
    tables, picture = compared(asked, "yoo2012_seconds", SECONDS, 2)
    for columns in _columns(asked):
        rows = [
            {"": way}
            | {
                f"{n:,}": f"{drawn(asked, columns, way, n, lambda made: made.left):,.0f} · "
                f"{drawn(asked, columns, way, n, lambda made: made.seconds[1]):.2f} s"
                for n in asked.of(SIZES, QUICK)
            }
            for way in WAYS
        ]
        tables.append(Table(f"records placed afterwards · seconds, {columns}", rows))
    small, large = asked.of(SIZES, QUICK)[0], asked.of(SIZES, QUICK)[-1]
    own = [drawn(asked, "seven", "paper, λ = 1", n, SECONDS["seconds"]) for n in (small, large)]
    line = Beside(
        "growth of the paper's method with the number of records",
        "drawn, not printed",
        f"{large / small:.0f} times the records, {own[1] / own[0]:.0f} times the seconds",
        "records that are alike are looked at once, and many are; another machine",
    )
    return Outcome(DATA, [line], tables, [picture])


def mondrian(asked: Asked) -> Outcome:
    """Dealing beside Mondrian, which is not of the paper; the same in every run."""
    tables = []
    for columns, names in {"seven": SEVEN, "with age": AGED}.items():
        table = adult(asked.data, names)
        rows = []
        for k in asked.of((3, 5, 10), (5,)):
            for condition in CONDITIONS:
                row = {"": f"k = {k}, {condition}"}
                for way, own in beside(table, k, condition).items():
                    found = own.figures
                    row[way] = (
                        f"{found.node:.3f} · {found.loss:.4f} · {found.inside:.3f} · "
                        f"{sum(own.seconds):.2f}"
                    )
                rows.append(row)
        title = f"node entropy · loss · entropy inside blocks · seconds, {columns}"
        tables.append(Table(title, rows))
    return Outcome(DATA, [], tables)
