"""The folder of a case: an owner's database full of canaries, a spec, and what is left of them."""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Iterator, Mapping
from copy import deepcopy
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import duckdb

# In every cell of the identifiers and sensitive columns of the source; in no message.
CANARIES = ("KANARI", "7700000")

PEOPLE = """
CREATE TABLE people AS
SELECT
  'KANARI person ' || i AS name,
  20 + (i * 7) % 60 AS age,
  (10000 + (i * 37) % 400)::VARCHAR AS zip,
  CASE WHEN i % 11 = 0 THEN NULL WHEN i % 2 = 0 THEN 'f' ELSE 'm' END AS sex,
  'KANARI illness ' || i % 3 AS illness,
  77000001 + i % 4 AS wage
FROM range(200) AS r(i);
CREATE SCHEMA clinic;
CREATE TABLE clinic.visits AS FROM people;
"""

SPEC: dict[str, Any] = {
    "release": "people_public",
    "database": "owner.duckdb",
    "target": "out.duckdb",
    "source": "people",
    "columns": {
        "name": "identifier",
        "age": {"role": "quasi_identifier", "hierarchy": {"intervals": [10, 20]}},
        "zip": {"role": "quasi_identifier", "hierarchy": {"prefix": [3, 1]}},
        "sex": {"role": "quasi_identifier", "hierarchy": "suppress"},
        "illness": {"role": "sensitive", "accept": "homogeneity"},
        "wage": {"role": "sensitive", "accept": "homogeneity"},
    },
    "privacy": [{"model": "k_anonymity", "k": 2}],
    "method": {"name": "full_domain", "suppression_limit": 0.1},
}

GONE = object()

Changes = Mapping[str, Any]


def changed(changes: Changes) -> dict[str, Any]:
    """The spec with values put at places such as `columns/age/weight`; GONE takes a key away."""
    spec = deepcopy(SPEC)
    for place, value in changes.items():
        *parents, last = place.split("/")
        node: Any = spec
        for key in parents:
            node = node[int(key)] if isinstance(node, list) else node.setdefault(key, {})
        if value is GONE:
            del node[last]
        elif isinstance(node, list):
            node[int(last)] = value
        else:
            node[last] = value
    return spec


def written(spec: Changes | str | bytes) -> bytes:
    """The text of a spec file: changes to the good one, or a text of its own."""
    if isinstance(spec, Mapping):
        spec = json.dumps(changed(spec), indent=1, ensure_ascii=False)
    # a lone surrogate goes to disk as the three bytes that are no UTF-8
    return spec.encode("utf-8", "surrogatepass") if isinstance(spec, str) else spec


def make_template(folder: Path) -> Path:
    """The folder that every case starts from."""
    folder.mkdir()
    with duckdb.connect(folder / "owner.duckdb") as con:
        con.execute(PEOPLE)
    return folder


def build(
    folder: Path,
    template: Path,
    spec: Changes | str | bytes | None,
    sql: str,
    files: Mapping[str, str | bytes],
) -> None:
    """A fresh folder for one case."""
    shutil.copytree(template, folder)
    if spec is not None:
        (folder / "spec.yml").write_bytes(written(spec))
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
    if sql:
        with duckdb.connect(folder / "owner.duckdb") as con:
            con.execute(sql)


def tree(folder: Path) -> dict[str, str]:
    """Every entry of a folder: what it is, its permissions, and a hash of a file's bytes."""
    return {str(p.relative_to(folder)): _entry(p) for p in _entries(folder)}


def _entries(folder: Path) -> Iterator[Path]:
    for path in sorted(folder.iterdir()):
        yield path
        if path.is_dir() and not path.is_symlink():
            yield from _entries(path)


def _entry(path: Path) -> str:
    mode = path.lstat().st_mode
    if path.is_symlink() or not path.is_file():
        return f"{mode:o}"
    return f"{mode:o} {hashlib.sha256(path.read_bytes()).hexdigest()}"


OBJECTS = """
SELECT kind, place, definition FROM (
  SELECT 'table' AS kind, schema_name || '.' || table_name AS place, sql AS definition
  FROM duckdb_tables() WHERE NOT internal
  UNION ALL
  SELECT 'view', schema_name || '.' || view_name, sql FROM duckdb_views() WHERE NOT internal
  UNION ALL
  SELECT 'schema', schema_name, NULL FROM duckdb_schemas() WHERE NOT internal
  UNION ALL
  SELECT 'macro', schema_name || '.' || function_name, macro_definition FROM duckdb_functions()
  WHERE NOT internal
)
WHERE place IS NOT NULL ORDER BY ALL
"""


def objects(connection: duckdb.DuckDBPyConnection) -> dict[str, Any]:
    """All that can be read through a connection: its objects, and a hash of the rows of each."""
    found: dict[str, Any] = {}
    # A cursor starts in the main database of a connection, and has no temporary objects.
    for kind, place, definition in connection.execute(OBJECTS).fetchall():
        found[f"{kind} {place}"] = definition
    tables = connection.execute(
        "SELECT database_name, schema_name, table_name FROM duckdb_tables() WHERE NOT internal"
    ).fetchall()
    for parts in tables:
        name = ".".join('"' + part.replace('"', '""') + '"' for part in parts)
        query = f"SELECT count(*), coalesce(sum(hash(t)), 0) FROM {name} AS t"
        found["rows of " + ".".join(parts)] = connection.execute(query).fetchall()
    return found


def objects_of(data: bytes) -> dict[str, Any]:
    """The objects of a database file, from its bytes."""
    with TemporaryDirectory() as folder:
        path = Path(folder) / "owner.duckdb"
        path.write_bytes(data)
        with duckdb.connect(path, read_only=True) as con:
            return objects(con)
