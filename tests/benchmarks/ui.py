"""How fast the page of `dbdeid ui` answers, and how much memory its server takes.

    python tests/benchmarks/ui.py [--rows 1000000]

Two servers, each with a cold start: on the example Diabetes 130 (50 columns), and on a made one of
many rows. The first view, clicks and pages are asked as the browser does, over a socket, and are
told as the median of several; a step of a slider asks nothing of the server, for all levels of a
column come with the page. What the server keeps is its resident memory at the end; what its work
takes is the peak of the processes that it starts, which end with the work.
"""

from __future__ import annotations

import argparse
import http.cookiejar
import json
import re
import resource
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from urllib.parse import urlencode
from urllib.request import HTTPCookieProcessor, Request, build_opener

import duckdb

DIABETES = Path(__file__).parents[2] / "examples" / "diabetes130" / "diabetes130.parquet"
TIMES = 9
MADE = """
COPY (
    SELECT i AS patient_id, 'name ' || i AS name, 18 + (hash(i) % 80)::INT AS age,
        ['F', 'M'][1 + (hash(i, 1) % 2)::INT] AS sex, (10000 + hash(i, 2) % 900)::VARCHAR AS zip,
        ['asthma', 'gout', 'flu', 'none'][1 + (hash(i, 3) % 4)::INT] AS diagnosis,
        DATE '2020-01-01' + (hash(i, 4) % 1500)::INT AS admitted, (hash(i, 5) % 1000) / 10 AS bmi
    FROM range({rows}) AS r(i)
) TO '{path}' (FORMAT parquet)
"""


class Page:
    """The page of a server that was started for it."""

    def __init__(self, source: Path) -> None:
        command = [sys.executable, "-m", "dbdeid", "ui", str(source), "--no-browser"]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        assert self.process.stdout is not None
        link = self.process.stdout.readline().split()[1]
        self.base = link.partition("/?")[0]
        self.browser = build_opener(HTTPCookieProcessor(http.cookiejar.CookieJar()))
        self.began = time.perf_counter()
        self.first = self.browser.open(link).read().decode()
        self.first_seconds = time.perf_counter() - self.began

    def get(self, path: str) -> str:
        return self.browser.open(self.base + path).read().decode()

    def state(self) -> dict[str, object]:
        return json.loads(self.get("/0/state"))

    def post(self, action: str, **fields: object) -> str:
        given = {"version": self.state()["version"], "page": "columns", **fields}
        headers = {"origin": self.base, "dbdeid-part": "page"}
        started = time.perf_counter()
        asked = Request(f"{self.base}/0/{action}", urlencode(given).encode(), headers)
        shown = self.browser.open(asked).read().decode()
        self.seconds = time.perf_counter() - started
        return shown

    def wait(self) -> float:
        started = time.perf_counter()
        while (now := self.state())["running"] or not now["version"]:
            time.sleep(0.05)
        return time.perf_counter() - started

    def megabytes(self) -> float:
        status = Path(f"/proc/{self.process.pid}/status").read_text()
        return int(re.findall(r"VmRSS:\s+(\d+)", status)[0]) / 1024

    def close(self) -> None:
        self.process.send_signal(signal.SIGINT)
        self.process.wait(30)


def timed(work: Callable[[], object]) -> float:
    started = time.perf_counter()
    work()
    return time.perf_counter() - started


def tell(what: str, seconds: float) -> None:
    print(f"  {what:<58} {1000 * seconds:>8.0f} ms", flush=True)


def decide(page: Page) -> None:
    """Whatever is open is dropped."""
    while found := re.findall(
        r'<tr class="[a-z_]+ open"[^>]*id="row-(\d+)"', page.get("/0/columns")
    ):
        for number in found:
            page.post("role", column=number, role="drop")
    page.post("subject", subject="rows")


def diabetes(folder: Path) -> None:
    shutil.copy(DIABETES, folder)
    source = folder / DIABETES.name
    first = Page(source)
    print("Diabetes 130: 101,766 records, 50 columns")
    tell("first view without a draft", first.first_seconds)
    tell("until it is drafted", first.wait())
    first.close()
    page = Page(source.with_suffix(".yml"))
    tell("first view of its spec, the server just started", page.first_seconds)
    tell("until its columns were looked at (in the background)", page.wait())
    tell("page of columns", median(timed(lambda: page.get("/0/columns")) for _ in range(TIMES)))
    clicks = []
    for number in range(TIMES):
        page.post("role", column=10 + number, role="identifier")
        clicks.append(page.seconds)
    tell("click on a role: the file written, the page shown again", median(clicks))
    tell("page of levels, computed", timed(lambda: page.get("/0/levels")))
    tell(
        "page of levels, again", median(timed(lambda: page.get("/0/levels")) for _ in range(TIMES))
    )
    page.post("level", column=4, level=1, which="from", page="levels")
    tell("click on a level", page.seconds)
    decide(page)
    page.post("begin", what="search", page="tradeoff")
    tell("search: what a run would choose", page.wait())
    print(f"  {'server':<58} {page.megabytes():>8.0f} MB")
    page.close()


def large(folder: Path, rows: int) -> None:
    source = folder / "large.parquet"
    duckdb.execute(MADE.format(rows=rows, path=source))
    print(f"A made table: {rows:,} records, 8 columns")
    page = Page(source)
    tell("until it is drafted and looked at", page.wait() + page.wait())
    decide(page)
    tell("page of levels", timed(lambda: page.get("/0/levels")))
    page.post("begin", what="search", page="tradeoff")
    tell("search: what a run would choose", page.wait())
    print(f"  {'server':<58} {page.megabytes():>8.0f} MB")
    page.close()
    peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
    print(f"  {'largest process of all, of its work or this server':<58} {peak:>8.0f} MB")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=1_000_000)
    given = parser.parse_args()
    with TemporaryDirectory() as folder:
        diabetes(Path(folder))
    with TemporaryDirectory() as folder:
        large(Path(folder), given.rows)


if __name__ == "__main__":
    main()
