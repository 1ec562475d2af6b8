"""Memory of a release from counts, without Spark: the most that Python had in each phase, in GB.

    python tests/benchmarks/counts_memory.py 5000000
    python tests/benchmarks/counts_memory.py 5000000 --memory-limit 500MB

The table is like that of `spark_growth.py`, in a Parquet file. Another process of DuckDB counts it
in place of Spark, so that what is measured is what dbdeid itself has; nothing is written there, and
so nothing verified. Give one size a run: what was free once stays with the process.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.ipc as ipc
import pyarrow.parquet as pq
from spark_growth import _MORE, _SKEWED, Memory, spec

from dbdeid.bind.counted_there import counted_there, held_there
from dbdeid.bind.read import read
from dbdeid.engine.engines import ENGINE
from dbdeid.engine.relation import Column, Relation
from dbdeid.engine.session import Settings
from dbdeid.engine.sqltext import sql
from dbdeid.methods.registry import method_of, ready

_COUNT = """
import sys, duckdb, pyarrow.ipc as ipc
rows = duckdb.sql(sys.stdin.read()).to_arrow_reader(1_000_000)
with ipc.new_file(sys.argv[1], rows.schema) as file:
    for batch in rows:
        file.write_batch(batch)
"""


def make(path: Path, rows: int) -> None:
    """The table, as `spark_growth.table` draws it."""
    rng = np.random.default_rng(1)
    sizes = {name: size for name, (size, _) in (_SKEWED | _MORE).items()}
    drawn = {n: (size * rng.random(rows) ** 2).astype(np.int32) for n, size in sizes.items()}
    ill = np.array([f"d{i}" for i in range(100)])[rng.integers(0, 100, rows)]
    columns = {**drawn, "diagnosis": ill, "dose": rng.random(rows)}
    pq.write_table(pa.table({name: pa.array(cells) for name, cells in columns.items()}), path)


class Beside:
    """As much of a warehouse as counting needs, in a process of its own."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def source(self) -> Relation:
        """The table, which its file has the name of."""
        shape = pq.read_schema(self._path)
        types = {pa.int32(): "INTEGER", pa.float64(): "DOUBLE", pa.string(): "VARCHAR"}
        return Relation(str(self._path), tuple(Column(f.name, types[f.type]) for f in shape))

    def arrow(self, query: Any) -> pa.Table:
        """All rows of a query."""
        out = f"{self._path}.arrow"
        command = [sys.executable, "-c", _COUNT, out]
        subprocess.run(command, input=sql(query), text=True, check=True)
        with pa.OSFile(out) as file:
            return ipc.open_file(file).read_all()


def main(rows: int, memory_limit: str) -> None:
    """Print one line of JSON."""
    path = Path(tempfile.mkdtemp()) / "people.parquet"
    command = f"import counts_memory as c; c.make(c.Path({str(path)!r}), {rows})"
    subprocess.run([sys.executable, "-c", command], check=True, cwd=Path(__file__).parent)
    memory, settings = Memory(), Settings(memory_limit=memory_limit)
    with ENGINE.open(None, read_only=False, settings=settings) as session:
        warehouse: Any = Beside(path)
        full = held_there(read(spec(8)), warehouse.source(), session)
        memory("count", None)
        counted = counted_there(full, warehouse, session)
        memory("prepare", None)
        prepared = ready(counted, session)
        memory("search", None)
        method = method_of(prepared.bound)
        planned = method.plan(prepared, session)
        memory("write", None)
        method.write(planned, session)
        memory.end()
    told = {
        "rows": rows,
        "memory_limit": memory_limit,
        "python_cpu": round(time.process_time(), 1),
        "peaks_gb": memory.peaks,
        "transformation": planned.plan.node,
    }
    print(json.dumps(told), flush=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("rows", type=int, nargs="?", default=1_000_000)
    parser.add_argument("--memory-limit", default="1GB")
    given = parser.parse_args()
    main(given.rows, given.memory_limit)
