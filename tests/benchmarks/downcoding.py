"""What who knows the method takes back of generalized values, and what a release itself teaches.

    python tests/benchmarks/downcoding.py SHARED [TABLE …]

Of local recodings of the tables of `minimality.py`, with k-anonymity alone and with two distinct
sensitive values.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import duckdb
from minimality import SEVEN, TABLES
from shown import show

import dbdeid
from dbdeid.errors import Unsatisfiable


def attacked(shared: Path, name: str, algorithm: str, k: int, least: int) -> dict[str, Any]:
    """The figures of a release of one table."""
    file, rows, columns, sensitive = TABLES[name]
    if name == "adult":
        folder = shared / "data" / "hierarchies" / "adult"
        columns = {
            n: {
                "role": "quasi_identifier",
                "hierarchy": str(folder / f"adult_hierarchy_{n.replace('_', '-')}.csv"),
            }
            for n in SEVEN
        } | {"age": "drop"}
    accepted = {"role": "sensitive", "accept": "homogeneity", "reason": "to see what is learned"}
    privacy: list[dict[str, Any]] = [{"model": "k_anonymity", "k": k}]
    if least > 1:
        privacy.append({"model": "l_diversity", "column": sensitive, "l": least})
    spec = {
        "release": "out",
        "source": "people",
        "accept": "rows",
        "seed": 1,
        "columns": {
            **{n: c for n, c in columns.items() if n != sensitive},
            sensitive: "sensitive" if least > 1 else accepted,
        },
        "privacy": privacy,
        "method": {"name": "local_recoding", "algorithm": algorithm},
        "evaluate": {"metrics": ["loss", "downcoding", "inference"]},
    }
    told = {"table": name, "algorithm": algorithm, "k": k, "l": least}
    with duckdb.connect() as con:
        con.execute(f"CREATE TABLE people AS SELECT {rows or '*'} FROM '{shared / 'data' / file}'")
        try:
            found = dbdeid.run(spec, con).metrics
        except Unsatisfiable as error:
            return {**told, "loss": str(error).splitlines()[0][:60]}
    own = f"inference.{sensitive}"
    return {
        **told,
        "loss": f"{found['loss']:.4f}",
        "downcoded": f"{found['downcoding']:.1%}",
        **{
            part: f"{found[f'{own}.{part}']:.3f}"
            for part in ("right", "by_class", "by_all", "surest_1", "surest_5")
        },
    }


def main(shared: Path, names: list[str]) -> None:
    """Print a row of each release."""
    found = [
        attacked(shared, name, algorithm, k, least)
        for name in names or TABLES
        for algorithm in ("dealing", "mondrian")
        for k in (2, 3, 5)
        for least in (1, 2)
    ]
    show("what is taken back, and what is taught", found)


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2:])
