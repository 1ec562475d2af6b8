"""Folders of projects, as users lay them out."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import duckdb

# 60 people of 6 ages and 3 wards; each of the 18 classes holds 3 or 4 of them.
PATIENTS = """
CREATE TABLE patients AS
SELECT
  'patient ' || i AS name,
  20 + 10 * (i % 6) AS age,
  'ward ' || i % 3 AS ward,
  ['asthma', 'flu', 'none'][1 + (i // 6) % 3] AS illness
FROM range(60) AS r(i)
"""


def spec(release: str, **more: Any) -> dict[str, Any]:
    """A spec of the patients; what is None is left out."""
    found = {
        "release": release,
        "source": "patients",
        "columns": {
            "name": "identifier",
            "age": {"role": "quasi_identifier", "hierarchy": {"intervals": [20, 60]}},
            "ward": {"role": "quasi_identifier", "hierarchy": "suppress"},
            "illness": {"role": "sensitive", "accept": "homogeneity"},
        },
        "privacy": [{"model": "k_anonymity", "k": 3}],
        "method": "full_domain",
        "evaluate": {"metrics": []},  # nobody asks here how much was lost
        **more,
    }
    return {key: value for key, value in found.items() if value is not None}


PROJECT = {"database": "owner.duckdb", "target": "out/{release}.duckdb"}


def lay_out(
    folder: Path,
    specs: dict[str, dict[str, Any]],
    project: dict[str, Any] | str = PROJECT,
    tables: str = PATIENTS,
) -> Path:
    """A project with a database, its file, and specs by the names of their files.

    Args:
        folder: where it is made.
        specs: changes to the spec; the release is called as its file where they do not say.
        project: of its file.
        tables: of the database.
    """
    (folder / "releases").mkdir(parents=True)
    text = project if isinstance(project, str) else json.dumps(project)
    (folder / "dbdeid.yml").write_text(text)
    for name, changes in specs.items():
        write(folder, name, **changes)
    with duckdb.connect(str(folder / "owner.duckdb")) as con:
        con.execute(tables)
    return folder


def write(folder: Path, name: str, **changes: Any) -> Path:
    """One spec of a project, in place of the one of that name."""
    path = folder / "releases" / f"{name}.yml"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(spec(**{"release": Path(name).name, **changes}), indent=1))
    return path
