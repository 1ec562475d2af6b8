"""What questions to an open release of a million records cost, against the same SQL on its source.

    python tests/benchmarks/million.py [--rows 1000000] [--repeats 9] [--threads 2]
        [--folder FOLDER] [--only KIND]…

The source has six quasi-identifiers and three columns that are released as they are. Each question
is asked in turns: of the source; of the release with the same text again; with a text that is new,
but of the same kind (another constant); and both of a release of 2,000 records, which tells what of
it is fixed: reading, planning, and what the engine takes to read the query. Medians of milliseconds
are printed, and of the ratios to the source; then how long twenty tiles of a dashboard take.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

import duckdb

import dbdeid
from dbdeid.engine.session import Settings

MADE = """
CREATE TABLE stays AS
SELECT
  i AS record,
  CAST(floor(100 * pow(u(i, 1), .8)) AS INTEGER) AS age,
  CASE WHEN u(i, 2) < .52 THEN 'F' ELSE 'M' END AS sex,
  ['A', 'B', 'C', 'D'][1 + CAST(floor(4 * pow(u(i, 3), 1.5)) AS INTEGER)]
    || (1 + CAST(floor(5 * u(i, 4)) AS INTEGER)) AS ward,
  DATE '2020-01-01' + CAST(floor(1826 * u(i, 5)) AS INTEGER) AS admitted,
  CAST(floor(-6 * ln(1 - u(i, 6))) AS INTEGER) AS days,
  ['Married', 'Single', 'Divorced', 'Widowed'][
    1 + CAST(floor(4 * pow(u(i, 7), 1.7)) AS INTEGER)
  ] AS marriage,
  printf('D%02d', CAST(floor(40 * pow(u(i, 8), 2)) AS INTEGER)) AS diagnosis,
  CAST(100 + floor(40000 * pow(u(i, 9), 4)) AS INTEGER) AS cost,
  round(40 + 30 * (u(i, 10) + u(i, 11) + u(i, 12)), 1) AS pressure
FROM range(?) AS numbers(i)
"""
SMALL = 2000  # records, of which an answer takes what is fixed
WARDS = {kind: [f"{kind}{n}" for n in range(1, 6)] for kind in "ABCD"}
QUASI = {
    "age": {"hierarchy": {"intervals": [5, 10, 20, 40], "lower": 0, "upper": 100}},
    "sex": {"hierarchy": "suppress", "domain": ["F", "M"]},
    "ward": {"hierarchy": {"groups": [WARDS]}},
    "admitted": {"hierarchy": {"shelf": "dates"}},
    "days": {"hierarchy": {"intervals": [2, 4, 8, 16], "lower": 0, "upper": 128}},
    "marriage": {
        "hierarchy": {
            "groups": [{"with": ["Married"], "without": ["Single", "Divorced", "Widowed"]}]
        }
    },
}
KEPT = ("diagnosis", "cost", "pressure")


@dataclass(frozen=True)
class Question:
    """SQL with a number that varies, so that it can be asked anew.

    Attributes:
        kind: what is aggregated, by which ratios are summed up.
        text: SQL; `{n}` stands for a number from 0 on.
    """

    kind: str
    text: str

    def asked(self, turn: int) -> str:
        """The question of a turn."""
        return self.text.format(n=turn % 40)


QUESTIONS = (
    Question("count", "SELECT COUNT(*) AS n FROM stays WHERE age < {n} + 33 AND ward = 'A1'"),
    Question(
        "count",
        "SELECT sex, COUNT(*) AS n FROM stays WHERE days BETWEEN 3 AND {n} + 5 GROUP BY sex",
    ),
    Question(
        "count",
        "SELECT diagnosis, COUNT(*) AS n FROM stays WHERE age >= {n} + 21 GROUP BY diagnosis",
    ),
    Question(
        "count",
        "SELECT ward, COUNT(*) FILTER (WHERE age < {n} + 33) AS young, COUNT(*) AS n "
        "FROM stays GROUP BY ward",
    ),
    Question("sum", "SELECT SUM(cost) AS s FROM stays WHERE age >= {n} + 44"),
    Question("sum", "SELECT SUM(days) AS s FROM stays WHERE age < {n} + 44 AND sex = 'F'"),
    Question(
        "sum",
        "SELECT marriage, SUM(cost) AS s FROM stays WHERE admitted >= DATE '2021-03-01' + {n} "
        "GROUP BY marriage",
    ),
    Question(
        "sum",
        "SELECT diagnosis, SUM(cost) AS s, SUM(days) AS d FROM stays WHERE age < {n} + 44 "
        "GROUP BY diagnosis",
    ),
    Question("avg", "SELECT AVG(age) AS a FROM stays WHERE days > {n}"),
    Question("avg", "SELECT ward, AVG(cost) AS a FROM stays WHERE age < {n} + 40 GROUP BY ward"),
    Question(
        "avg",
        "SELECT diagnosis, AVG(pressure) AS a FROM stays WHERE days < {n} + 5 GROUP BY diagnosis",
    ),
    Question("extreme", "SELECT MIN(age) AS l, MAX(age) AS h FROM stays WHERE days > {n}"),
    Question("extreme", "SELECT MIN(cost) AS l, MAX(cost) AS h FROM stays WHERE age < {n} + 37"),
    Question(
        "extreme",
        "SELECT diagnosis, MIN(cost) AS l, MAX(pressure) AS h FROM stays WHERE age > {n} + 7 "
        "GROUP BY diagnosis",
    ),
    Question("extreme", "SELECT sex, MAX(days) AS h FROM stays WHERE age < {n} + 37 GROUP BY sex"),
    Question("quantile", "SELECT MEDIAN(age) AS m FROM stays WHERE days > {n}"),
    Question(
        "quantile", "SELECT sex, MEDIAN(cost) AS m FROM stays WHERE age < {n} + 37 GROUP BY sex"
    ),
    Question(
        "kept",
        "SELECT diagnosis, COUNT(*) AS n, AVG(cost) AS a, MAX(pressure) AS h "
        "FROM stays WHERE cost > {n} GROUP BY diagnosis",
    ),
)
# Of a dashboard: each by one key, and filtered as a reader has set it.
TILES = tuple(
    f"SELECT {key}, {shown} FROM stays WHERE {where} GROUP BY {key} ORDER BY {key}"
    for key in ("sex", "ward", "marriage", "diagnosis", "age // 10 * 10")
    for shown, where in (
        ("COUNT(*) AS n, SUM(cost) AS s", "age BETWEEN 18 AND 64"),
        ("COUNT(*) AS n, AVG(cost) AS a", "ward IN ('A1', 'A2', 'B1')"),
        ("SUM(days) AS d, COUNT(*) FILTER (WHERE days > 7) AS long", "age >= 18"),
        ("MIN(cost) AS l, MAX(cost) AS h", "days > 1"),
    )
)


def make(rows: int, folder: Path) -> None:
    """The table in two databases: one is released, the other asked beside it."""
    for name in ("stays", "plain"):
        with duckdb.connect(folder / f"{name}.duckdb") as con:
            con.execute("CREATE MACRO u(i, c) AS (hash(i, c) % 1000003) / 1000003")
            con.execute(MADE, [rows])
            con.execute("DROP MACRO u")


def spec(folder: Path) -> dict[str, object]:
    """The release, whose levels are found within a limit of time."""
    quasi = {name: {"role": "quasi_identifier", **of} for name, of in QUASI.items()}
    kept = {name: {"role": "insensitive", "reason": "a benchmark"} for name in KEPT}
    return {
        "release": "stays_public",
        "database": str(folder / "stays.duckdb"),
        "source": "stays",
        "columns": {"record": "identifier", **quasi, **kept},
        "privacy": [{"model": "k_anonymity", "k": 5}],
        "method": {"name": "full_domain", "suppression_limit": 0.02, "time_limit": 60},
    }


@dataclass(frozen=True)
class Spent:
    """Milliseconds of the wall and of the processors."""

    wall: float
    cpu: float

    @classmethod
    def on(cls, ask: Callable[[], object]) -> Spent:
        """What a question takes."""
        wall, cpu = time.perf_counter(), time.process_time()
        ask()
        return cls((time.perf_counter() - wall) * 1000, (time.process_time() - cpu) * 1000)


@dataclass(frozen=True)
class Place:
    """A source of some size, and the release of it."""

    release: dbdeid.OpenRelease
    plain: duckdb.DuckDBPyConnection


@contextmanager
def opened(folder: Path, threads: int) -> Iterator[dbdeid.OpenRelease]:
    """The release, for as many threads as the source has."""
    with dbdeid.open(spec(folder), settings=Settings(threads=threads)) as release:
        yield release


@contextmanager
def both(folder: Path, threads: int) -> Iterator[Place]:
    """A release and its source."""
    plain = folder / "plain.duckdb"
    with (
        opened(folder, threads) as release,
        duckdb.connect(plain, read_only=True, config={"threads": threads}) as con,
    ):
        yield Place(release, con)


def compare(question: Question, large: Place, small: Place, repeats: int) -> list[list[Spent]]:
    """What a question takes of the source, of its release and of a small one, in turns.

    Of the source, of the release with the same text and with a new one, and so of the small one.
    """
    same = question.asked(0)
    for place in (large, small):
        for turn in (1, 0):
            place.release.query(question.asked(turn))
    found = []
    for turn in range(repeats):
        new = question.asked(turn + 2)
        asks: Sequence[Callable[[], object]] = (
            lambda: large.plain.execute(same).fetchall(),
            lambda: large.release.query(same),
            lambda new=new: large.release.query(new),  # type: ignore[misc]
            lambda: small.release.query(same),
            lambda new=new: small.release.query(new),  # type: ignore[misc]
        )
        found.append([Spent.on(ask) for ask in asks])
    return found


def measure(folder: Path, repeats: int, threads: int, only: Sequence[str]) -> None:
    """Print a line for each question, and one for each kind."""
    ratios: dict[str, list[list[float]]] = {}
    with both(folder, threads) as large, both(folder / "small", threads) as small:
        heads = ("source", "same", "new", "fixed", "fixed new")
        print("medians of ms (of processors), then of ratios to the source")
        print(f"{'kind':9}", *(f"{head:>13}" for head in heads), "   same     new  question")
        for question in QUESTIONS:
            if only and question.kind not in only:
                continue
            turns = compare(question, large, small, repeats)
            cells = [
                f"{median(s.wall for s in each):6.1f} ({median(s.cpu for s in each):4.0f})"
                for each in zip(*turns, strict=True)
            ]
            over = [median(turn[at].wall / turn[0].wall for turn in turns) for at in (1, 2)]
            over += [median(turn[at].cpu / turn[0].cpu for turn in turns) for at in (1, 2)]
            ratios.setdefault(question.kind, []).append(over)
            shown = " ".join(f"{ratio:7.2f}" for ratio in over[:2])
            print(f"{question.kind:9}", *(f"{c:>13}" for c in cells), shown, "", question.text)
    for kind, found in ratios.items():
        most = [max(column) for column in zip(*found, strict=True)]
        middle = [median(column) for column in zip(*found, strict=True)]
        for name, of in (("median", middle), ("greatest", most)):
            print(
                f"{kind:9} {name:8} ratio: same text {of[0]:6.2f} (processors {of[2]:6.2f}), "
                f"new text {of[1]:6.2f} ({of[3]:6.2f})"
            )


def dashboard(folder: Path, threads: int) -> None:
    """Print how long the tiles take of a release that was just opened, and once more."""
    with opened(folder, threads) as release:
        release.columns()
        for when in ("first", "again"):
            spent = Spent.on(lambda: [release.query(text) for text in TILES])
            print(f"{len(TILES)} tiles, asked {when}: {spent.wall:.0f} ms ({spent.cpu:.0f})")


def main() -> None:
    """Make the release where it is not there yet, and measure it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--repeats", type=int, default=9)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--folder", type=Path)
    parser.add_argument("--only", action="append", default=[])
    asked = parser.parse_args()
    with TemporaryDirectory() as passing:
        folder = asked.folder or Path(passing)
        folder.mkdir(exist_ok=True)
        for place, rows in ((folder, asked.rows), (folder / "small", SMALL)):
            place.mkdir(exist_ok=True)
            if not (place / "stays.duckdb").exists():
                make(rows, place)
                made = dbdeid.run(spec(place))
                print(f"{rows:,} records, {made.suppressed_rows:,} suppressed, levels:", end=" ")
                print(made.transformation)
        measure(folder, asked.repeats, asked.threads, asked.only)
        if not asked.only:
            dashboard(folder, asked.threads)


if __name__ == "__main__":
    main()
