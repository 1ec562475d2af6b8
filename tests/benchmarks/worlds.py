"""Answers to random queries of random releases against brute force.

    python tests/benchmarks/worlds.py QUERIES [SEED [WORLDS]]

Prints how many queries, groups, expected values, bounds and possible worlds were looked at, what
was refused and why, and everything that is wrong. The first release is drawn from SEED, the next
from SEED + 1.
"""

from __future__ import annotations

import sys
from pathlib import Path
from time import perf_counter

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "query"))

from judging import Tally, opened, run

A_RELEASE = 5  # queries


def main(queries: int, seed: int = 1, worlds: int = 6) -> int:
    """Judge so many queries; the number of those that are wrong."""
    tally = Tally()
    begin = perf_counter()
    with opened() as session:
        while tally.counts["queries"] < queries:
            known = len(tally.wrong)
            run(session, seed, A_RELEASE, worlds, tally)
            for fault in tally.wrong[known:]:
                print(f"{fault}\n", flush=True)
            seed += 1
    for name, count in sorted(tally.counts.items()):
        print(f"{count:9} {name}")
    for reason, count in tally.refusals.most_common():
        print(f"{count:9} {count / queries:7.2%} refused: {reason}")
    print(f"{len(tally.wrong):9} wrong, {perf_counter() - begin:.0f} s")
    return len(tally.wrong)


if __name__ == "__main__":
    sys.exit(bool(main(*map(int, sys.argv[1:]))))
