"""A small release that goes into tables of attached databases, and what those hold."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import Any

WHY = {"role": "sensitive", "accept": "homogeneity", "reason": "known in the hospital only"}


def spec(*exports: str, k: int = 3, attach: dict[str, str] | None = None, **more: Any) -> Any:
    """The specification, with a database of SQLite as `lake`."""
    return {
        "release": "visits_public",
        "source": "visits.parquet",
        "attach": {"lake": "lake.sqlite", **(attach or {})},
        "database": "owner.duckdb",
        "columns": {
            "name": "identifier",
            "age": {"role": "quasi_identifier", "hierarchy": {"intervals": [10, 20]}},
            "sex": {"role": "quasi_identifier", "hierarchy": "suppress"},
            "dose": WHY,
            "ill": WHY,
            "seen": WHY,
        },
        "privacy": [{"model": "k_anonymity", "k": k}],
        "method": {"name": "full_domain", "suppression_limit": 0.5},
        "evaluate": {"metrics": []},
        "output": {"export": list(exports)},
        **more,
    }


def rows(query: str) -> list[tuple[Any, ...]]:
    """What SQLite itself answers."""
    connection = sqlite3.connect("lake.sqlite")
    try:
        return connection.execute(query).fetchall()
    finally:
        connection.close()


def tables() -> set[str]:
    """What the database of SQLite holds."""
    return {name for (name,) in rows("SELECT name FROM sqlite_master")}


def change(*statements: str) -> None:
    """Do something to the database of SQLite, as somebody else would."""
    connection = sqlite3.connect("lake.sqlite")
    for statement in statements:
        connection.execute(statement)
    connection.commit()
    connection.close()


def left_behind(folder: Path) -> set[str]:
    """Files that belong to no release and no source."""
    known = {"owner.duckdb", "lake.sqlite", "visits.parquet"}
    return {path.name for path in folder.iterdir()} - known
