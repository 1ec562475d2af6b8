"""The steps of a run are those that it executes, shown without executing any."""

from __future__ import annotations

import logging
import sys
from pathlib import Path

import duckdb
import pytest

import dbdeid
from dbdeid.release.explain import steps

sys.path.insert(0, str(Path(__file__).parents[1]))
from specs import PEOPLE, small


def test_explained_steps_are_executed_by_a_run_and_by_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.chdir(tmp_path)
    with duckdb.connect("owner.duckdb") as con:
        con.execute(PEOPLE)
    before = Path("owner.duckdb").read_bytes()
    spec = small(database="owner.duckdb", target="out.duckdb")
    with caplog.at_level(logging.DEBUG, logger="dbdeid"):
        shown = steps(spec)
        assert not [r for r in caplog.messages if r.upper().startswith("CREATE")]
        assert Path("owner.duckdb").read_bytes() == before
        assert [p.name for p in tmp_path.iterdir()] == ["owner.duckdb"]
        caplog.clear()
        dbdeid.run(spec)
    made = [r for r in caplog.messages if r.startswith("CREATE OR REPLACE TEMPORARY TABLE")]
    for step in shown:
        if not step.name.startswith("verify_"):
            assert any(f'"{step.name}"' in statement for statement in made), step.name
