"""The engine that releases are made in. Rooms above open sessions here, and name none."""

from __future__ import annotations

from dbdeid.engine.duckdb.engine import DuckDB
from dbdeid.engine.engine import Engine

ENGINE: Engine = DuckDB()
