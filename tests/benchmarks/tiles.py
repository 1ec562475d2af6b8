"""Twenty tiles of a dashboard over the wire, asked of a release of a large table.

    python tests/benchmarks/tiles.py [--rows 1000000] [--repeats 5] [--connections 1 4]
        [--folder FOLDER]

The table is that of `large.py` with a cost beside it, released with k = 5. `dbdeid serve` runs as a
process of its own, and psycopg asks what a dashboard asks: every tile once, over one connection or
several at once. The first opening is that of a server that was just started; the others are told as
their median. Beside each stands the same SQL, asked of the source in DuckDB, without a wire.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from time import perf_counter

import duckdb
import psycopg
from large import HIERARCHIES, MADE

COST = "floor(100 + 40000 * pow(u(i, 10), 4))::INTEGER AS cost"
TILES = (
    'SELECT COUNT(*) AS "count" FROM public.stays',
    "SELECT SUM(cost) AS total FROM stays",
    "SELECT AVG(cost) AS mean FROM stays WHERE sex = 'F'",
    "SELECT SUM(cost) / COUNT(*) AS a_stay FROM stays WHERE length_of_stay >= 4",
    "SELECT COUNT(DISTINCT diagnosis) AS diagnoses FROM stays WHERE race = 'Black'",
    "SELECT sex, COUNT(*) AS n FROM stays GROUP BY sex ORDER BY n DESC",
    "SELECT race, COUNT(*) AS n FROM stays GROUP BY 1 ORDER BY 2 DESC LIMIT 10",
    "SELECT race, AVG(cost) AS cost FROM stays GROUP BY 1 ORDER BY 2 DESC LIMIT 10",
    "SELECT education, COUNT(*) AS n FROM stays WHERE education <> 'Doctorate' GROUP BY 1",
    "SELECT marital_status, AVG(YEAR(birth_date)) AS born FROM stays GROUP BY 1 ORDER BY 1",
    "SELECT diagnosis, COUNT(*) AS n FROM stays GROUP BY 1 ORDER BY 2 DESC LIMIT 20",
    "SELECT diagnosis, SUM(cost) AS s FROM stays WHERE sex = 'M' GROUP BY 1 ORDER BY 2 LIMIT 9",
    "SELECT date_trunc('year', admission_date) AS \"year\", COUNT(*) AS n FROM stays GROUP BY 1 "
    "ORDER BY 1",
    "SELECT EXTRACT(year FROM birth_date) >= 1960 AS young, COUNT(*) AS n FROM stays GROUP BY 1",
    "SELECT sex, 100.0 * COUNT(*) FILTER (WHERE length_of_stay > 7) / COUNT(*) AS long FROM stays "
    "GROUP BY 1",
    "SELECT CASE WHEN length_of_stay < 4 THEN 'short' ELSE 'long' END AS stay, COUNT(*) AS n, "
    "SUM(cost) AS s FROM stays GROUP BY 1",
    "SELECT MIN(birth_date) AS l, MAX(birth_date) AS h FROM stays WHERE sex = 'F'",
    "SELECT sex, MEDIAN(cost) AS middle FROM stays GROUP BY 1",
    "SELECT race, sex, COUNT(*) AS n FROM stays GROUP BY 1, 2 ORDER BY 1, 2",
    "SELECT sex, COUNT(*) AS n, RANK() OVER (ORDER BY COUNT(*) DESC) AS place FROM stays "
    "GROUP BY sex",
)


def release(rows: int, folder: Path) -> tuple[Path, Path]:
    """The table and its released database, made where they are not there yet."""
    source, target = folder / f"stays_{rows}.parquet", folder / f"public_{rows}.duckdb"
    if not source.exists():
        with duckdb.connect() as con:
            con.execute("CREATE MACRO u(i, c) AS (hash(i, c) % 1000003) / 1000003")
            made = MADE.replace("  FROM range(?)", f", {COST}\n  FROM range(?)")
            con.execute(made.format(path=source), [rows])
    if not target.exists():
        quasi = {name: {"role": "quasi_identifier", **of} for name, of in HIERARCHIES.items()}
        why = {"reason": "a benchmark"}
        spec = folder / "stays.yml"
        spec.write_text(
            json.dumps(
                {
                    "release": "stays",
                    "source": str(source),
                    "target": str(target),
                    "columns": {
                        "record_id": "identifier",
                        **quasi,
                        "diagnosis": {"role": "sensitive", "accept": "homogeneity", **why},
                        "cost": {"role": "insensitive", **why},
                    },
                    "privacy": [{"model": "k_anonymity", "k": 5}],
                    "method": {"name": "full_domain", "suppression_limit": 0.05, "time_limit": 60},
                    "evaluate": {"metrics": []},
                }
            )
        )
        subprocess.run([sys.executable, "-m", "dbdeid", "run", spec], check=True)
    return source, target


@contextmanager
def served(target: Path) -> Iterator[str]:
    """The address of a server that was just started."""
    words = [sys.executable, "-m", "dbdeid", "serve", str(target), "--port", "0"]
    process = subprocess.Popen(words, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    try:
        yield next(
            found[0] for line in process.stdout if (found := re.search(r"postgres\S+", line))
        )
    finally:
        process.terminate()
        process.wait()


def dashboard(address: str, connections: int) -> list[float]:
    """Seconds of each tile, and of all of them at last."""

    def ask(texts: Sequence[str]) -> list[float]:
        found = []
        with psycopg.connect(address, autocommit=True) as con:
            for text in texts:
                begin = perf_counter()
                con.execute(text).fetchall()
                found.append(perf_counter() - begin)
        return found

    begin = perf_counter()
    with ThreadPoolExecutor(connections) as pool:
        shares = [TILES[at::connections] for at in range(connections)]
        seconds = [one for share in pool.map(ask, shares) for one in share]
    return [*seconds, perf_counter() - begin]


def plain(source: Path) -> list[float]:
    """Seconds of each tile as SQL on the source in memory, and of all of them."""
    found = []
    with duckdb.connect() as con:
        con.execute(f"CREATE TABLE stays AS FROM '{source}'")
        for text in TILES:
            begin = perf_counter()
            con.execute(text.replace("public.", "")).fetchall()
            found.append(perf_counter() - begin)
    return [*found, sum(found)]


def told(name: str, seconds: Sequence[float]) -> None:
    *each, whole = seconds
    print(
        f"{name:34} {whole:6.2f} s, a tile {1000 * median(each):6.1f} ms, "
        f"the slowest {1000 * max(each):6.1f} ms",
        flush=True,
    )


def main() -> None:
    """Print one line for each way of asking."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--connections", type=int, nargs="+", default=[1, 4])
    parser.add_argument("--folder", type=Path)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as passing:
        folder = asked.folder or Path(passing)
        folder.mkdir(exist_ok=True)
        source, target = release(asked.rows, folder)
        told("the source in DuckDB", plain(source))
        for connections in asked.connections:
            with served(target) as address:
                told(f"connections: {connections}, first", dashboard(address, connections))
                again = [dashboard(address, connections) for _ in range(asked.repeats)]
            middle = sorted(again, key=lambda seconds: seconds[-1])[len(again) // 2]
            told(f"connections: {connections}, later", middle)


if __name__ == "__main__":
    main()
