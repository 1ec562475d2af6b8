"""Tests of the default tier whose every branch others run, dearest first: what could wait.

Run the default tier first, with its seconds and with coverage by test:

    pytest --cov --cov-context=test --cov-report= --durations=0 > durations.txt
    python tests/benchmarks/shared_branches.py .coverage durations.txt
"""

from __future__ import annotations

import re
import sqlite3
import sys
from collections import Counter, defaultdict
from pathlib import Path

OTHERS = 2  # tests that every branch is left to
LEAST = 0.3  # seconds

Branch = tuple[int, int, int]  # file, from and to line
TIME = re.compile(r"^([0-9.]+)s (?:setup|call|teardown) +(\S.*)$", re.MULTILINE)


def branches(coverage: Path) -> dict[str, set[Branch]]:
    """What each test runs."""
    found: dict[str, set[Branch]] = defaultdict(set)
    with sqlite3.connect(coverage) as database:
        query = (
            "SELECT context, file_id, fromno, tono FROM arc JOIN context ON context.id = context_id"
        )
        for context, *branch in database.execute(query):
            if test := context.rpartition("|")[0]:  # its name may hold bars, too
                found[test].add(tuple(branch))
    return found


def shared(runs: dict[str, set[Branch]], seconds: Counter[str]) -> list[str]:
    """Tests that can be left out together, chosen from the dearest on."""
    left = Counter(branch for branches in runs.values() for branch in branches)
    chosen = []
    for test, time in seconds.most_common():
        if time >= LEAST and test in runs and all(left[b] > OTHERS for b in runs[test]):
            chosen.append(test)
            left.subtract(runs[test])
    return chosen


def main(coverage: str, durations: str) -> None:
    """Print them, with their seconds."""
    seconds: Counter[str] = Counter()
    for time, test in TIME.findall(Path(durations).read_text("utf-8")):
        seconds[test] += float(time)
    chosen = shared(branches(Path(coverage)), seconds)
    for test in chosen:
        print(f"{seconds[test]:7.2f} s  {test}")
    print(f"{sum(map(seconds.get, chosen)):7.2f} s of {sum(seconds.values()):.2f}")


if __name__ == "__main__":
    main(*sys.argv[1:])
