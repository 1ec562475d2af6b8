"""A server of a small release, for clients of PostgreSQL."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path

import duckdb
import pytest
from clients import COLUMNS, VISITS, answering
from specs import small

import dbdeid
from dbdeid.serve.server import Server


@pytest.fixture(scope="session")
def hospital(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the database of an owner and a release of it in a file of its own."""
    folder = tmp_path_factory.mktemp("served")
    with contextlib.chdir(folder):
        with duckdb.connect("owner.duckdb") as con:
            con.execute(VISITS)
        spec = small(
            source="visits",
            columns=COLUMNS,
            release="visits_public",
            database="owner.duckdb",
            target="visits_public.duckdb",
            evaluate={"metrics": []},
        )
        dbdeid.run(spec)
    return folder


@pytest.fixture(scope="module")
def server(hospital: Path) -> Iterator[Server]:
    """A server of the exported release."""
    with answering(hospital / "visits_public.duckdb") as found:
        yield found
