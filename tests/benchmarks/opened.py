"""What a question costs when its release is open, against one that opens it.

    python tests/benchmarks/opened.py [REPEATS]

Prints medians of wall milliseconds over twelve questions to the release of docs/query.md: asked by
`dbdeid.query`; by an open release for the first time, again with another text of the same
conditions, and again with the same text; then their ratios to the first.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from contextlib import chdir
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from time import perf_counter

import duckdb

import dbdeid

GUIDE = Path(__file__).parents[2] / "docs" / "query.md"
QUESTIONS = (
    "SELECT COUNT(*) AS n FROM visits",
    "SELECT COUNT(*) AS n FROM visits WHERE age < 35 AND ward = 'A1'",
    "SELECT sex, COUNT(*) AS n FROM visits GROUP BY sex ORDER BY sex",
    "SELECT ward, COUNT(*) AS n FROM visits WHERE age BETWEEN 20 AND 44 GROUP BY ward "
    "ORDER BY ward",
    "SELECT SUM(cost) AS s FROM visits WHERE age >= 65",
    "SELECT AVG(age) AS a FROM visits WHERE sex = 'F'",
    "SELECT diagnosis, AVG(cost) AS a FROM visits WHERE age < 40 GROUP BY diagnosis "
    "ORDER BY diagnosis",
    "SELECT MIN(age) AS l, MAX(age) AS h FROM visits WHERE ward IN ('A1', 'A2')",
    "SELECT diagnosis, MIN(cost) AS l, MAX(cost) AS h FROM visits GROUP BY diagnosis "
    "ORDER BY diagnosis",
    "SELECT COUNT(DISTINCT ward) AS w FROM visits WHERE age > 50",
    "SELECT diagnosis, COUNT(*) AS n, SUM(cost) AS s, AVG(age) AS a FROM visits WHERE age < 40 "
    "GROUP BY diagnosis ORDER BY diagnosis",
    "SELECT sex, COUNT(*) FILTER (WHERE age < 35) AS n, COUNT(DISTINCT diagnosis) AS d "
    "FROM visits GROUP BY sex HAVING COUNT(*) > 5 ORDER BY sex",
)


def milliseconds(ask: Callable[[], object]) -> float:
    start = perf_counter()
    ask()
    return (perf_counter() - start) * 1000


def measure(source: str, repeats: int) -> None:
    """Print one line for a release."""
    times: dict[str, list[float]] = {"query": [], "first": [], "other text": [], "same text": []}
    for text in QUESTIONS:
        alone = [milliseconds(lambda t=text: dbdeid.query(source, t)) for _ in range(repeats)]
        times["query"].append(median(alone))
    with dbdeid.open(source) as release:
        for text in QUESTIONS:
            times["first"].append(milliseconds(lambda t=text: release.query(t)))
        for text in QUESTIONS:
            other = [f"{text}{' ' * n}" for n in range(1, repeats + 1)]
            found = median(milliseconds(lambda t=t: release.query(t)) for t in other)
            times["other text"].append(found)
        for text in QUESTIONS:
            same = [milliseconds(lambda t=text: release.query(t)) for _ in range(repeats)]
            times["same text"].append(median(same))
    whole = median(times["query"])
    for name, each in times.items():
        print(f"{source:22} {name:12} {median(each):8.1f} ms  {median(each) / whole:7.3f}")


def main() -> None:
    repeats = int(sys.argv[1]) if len(sys.argv) > 1 else 5
    text = GUIDE.read_text(encoding="utf-8")
    tables = re.findall(r"```sql\n(.*?)```", text, re.DOTALL)[0]
    spec = re.findall(r"<!-- file: visits.yml -->\n```yaml\n(.*?)```", text, re.DOTALL)[0]
    with TemporaryDirectory() as folder, chdir(folder):
        with duckdb.connect("hospital.duckdb") as con:
            con.execute(tables)
        Path("visits.yml").write_text(spec)
        dbdeid.run("visits.yml")
        for source in ("visits.yml", "visits_public.duckdb", "visits_public.csv"):
            measure(source, repeats)


if __name__ == "__main__":
    main()
