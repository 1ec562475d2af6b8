"""The process that writes a database file to be published: it gets statements, one JSON line.

It has only ever seen what is released, and loads nothing but DuckDB; see `engine.duckdb.publish`.
"""

from __future__ import annotations

import json
import os
import sys
import threading

# What the package adds to DuckDB itself takes longer to load than most files to write.
try:
    import _duckdb as duckdb
except ImportError:  # it is the package's own matter how it calls DuckDB
    import duckdb  # type: ignore[no-redef]


def _write(order: str) -> None:
    asked = json.loads(order)
    config = {"threads": 1, "temp_directory": asked["spill"]}
    with duckdb.connect(config=config) as connection:
        for statement in asked["statements"]:
            connection.execute(statement)


def _end_with_the_first() -> None:
    os.read(0, 1)  # not through sys.stdin, whose lock would be held while Python ends
    os._exit(1)


if __name__ == "__main__":
    order = sys.stdin.readline()
    threading.Thread(target=_end_with_the_first, daemon=True).start()
    try:
        _write(order)
    except duckdb.Error as error:
        from dbdeid.engine.duckdb.failure import refused

        sys.stderr.write(f"{refused(error).message}\n")
        sys.exit(2)
