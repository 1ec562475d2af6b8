"""Who learns from a release with counterfeit records: which are, and who is who.

    python tests/benchmarks/suspicion.py [k …]

Adult with occupation as the sensitive column, as in `lee2017.py`: the pool with the fewest
counterfeits under h = 0.3.
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


def attacked(table: str, k: int, folder: Path) -> dict[str, Any]:
    spec = spec_of(what_of(Data(), table, folder), "pool, fewest counterfeits", k, H)
    made = dbdeid.run(spec | {"target": str(folder / f"{k}.duckdb"), "seed": 1})
    assert made.padding is not None
    found = made.padding["learned"]
    return {
        "table": table,
        "k": k,
        "counterfeits": made.counterfeit_rows,
        "bound": f"{made.padding['risk']:.3f}",
        "AUC": f"{found['auc']:.3f}",
        "counterfeit of the 5 % most suspicious": f"{found['among_most']:.0%}",
        "found": f"{found['success']:.3f}",
        "found, surest": f"{found['surest']:.3f}",
        "told": f"{made.padding['told']:.3f}",
    }


def main() -> None:
    sizes = [int(k) for k in sys.argv[1:]] or [3, 5]
    with TemporaryDirectory() as folder:
        rows = [attacked(t, k, Path(folder)) for t in TABLES for k in sizes]
    show("who learns from a release with counterfeit records", rows)


if __name__ == "__main__":
    main()
