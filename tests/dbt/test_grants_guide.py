"""The guide to roles in PostgreSQL is followed on a server: a role reads the release alone."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest
from guide import DOCS, blocks, shell, write
from hospital import ROOT
from postgres_server import programs, running
from warehouses import NO_SERVER


@pytest.mark.full
@pytest.mark.skipif(programs() is None, reason=NO_SERVER)
def test_the_guide_can_be_followed(dbt: Path, tmp_path: Path) -> None:
    found = programs()
    assert found is not None
    folders = [str(Path(p).parent) for p in (sys.executable, dbt, found["psql"])]
    hidden = ("PYTHONPATH", "PYTHONWARNINGS")
    environment = {k: v for k, v in os.environ.items() if k not in hidden} | {
        "PATH": ":".join([*folders, os.environ["PATH"]]),
        "DBDEID_DBT": str(ROOT / "sql" / "dbt"),
        "DO_NOT_TRACK": "1",
        "PGUSER": "owner",
        "PGPASSWORD": "none",
        "PGDATABASE": "postgres",
    }
    printed, compared = "", 0
    with running(found) as server:
        environment["PGHOST"] = str(server.folder)
        for block in blocks(DOCS / "grants.md"):
            if block.file is not None:
                write(block, tmp_path)
            elif block.language == "sh":
                fails = block.mark == "fails"
                printed = shell(block.text, tmp_path, fails=fails, environment=environment)
            elif block.language == "text":
                assert printed.strip().splitlines()[: block.text.count("\n")] == (
                    block.text.strip().splitlines()
                )
                compared += 1
    assert compared == 4
