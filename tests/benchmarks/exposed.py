"""How many counterfeit records two releases of a source expose together.

    python tests/benchmarks/exposed.py [k …]

Adult with occupation as the sensitive column, as in `suspicion.py`, beside itself with another
seed, and with k + 1.
"""

from __future__ import annotations

import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from shown import show

import dbdeid
from dbdeid.papers.common.data import Data
from dbdeid.papers.lee2017 import TABLES, H, spec_of, what_of


def exposed(table: str, k: int, folder: Path) -> list[dict[str, Any]]:
    """What each of the two tells beside the first."""
    found = []
    for other, more, seed in (("another seed", k, 2), ("k + 1", k + 1, 1)):
        target = str(folder / f"{table}{k}{seed}.duckdb")
        for size, draw in ((k, 1), (more, seed)):
            spec = spec_of(what_of(Data(), table, folder), "pool, fewest counterfeits", size, H)
            made = dbdeid.run(spec | {"target": target, "seed": draw})
        beside = made.rerelease[-1]
        found.append(
            {
                "table": table,
                "k": k,
                "beside": other,
                "exposed": f"{beside['exposed']:,} of {beside['counterfeits']:,}",
                "of the first": f"{beside['exposed_before']} of {beside['counterfeits_before']:,}",
            }
        )
    return found


def main() -> None:
    """Print a row of each pair."""
    sizes = [int(k) for k in sys.argv[1:]] or [3, 5]
    with TemporaryDirectory() as folder:
        rows = [row for t in TABLES for k in sizes for row in exposed(t, k, Path(folder))]
    show("counterfeit records that two releases expose", rows)


if __name__ == "__main__":
    main()
