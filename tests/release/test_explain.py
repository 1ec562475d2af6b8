"""The steps of a run are those that it executes, shown without executing any."""

from __future__ import annotations

import logging
import sys
from pathlib import Path

import duckdb
import pytest

import dbdeid
from dbdeid.engine.session import Step
from dbdeid.engine.sqltext import sql
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


def test_what_each_model_is_measured_by_can_be_run(tmp_path: Path) -> None:
    models = [
        {"model": "k_anonymity", "k": 2},
        {"model": "l_diversity", "column": ["illness", "sex"], "joint": True, "l": 2},
        {"model": "t_closeness", "column": ["illness", "sex"], "t": 0.9},
        {"model": "max_risk", "attacker": "marketer", "threshold": 0.5},
    ]
    spec = small(database=str(tmp_path / "owner.duckdb"), privacy=models)
    spec["columns"]["sex"] = {"role": "sensitive"}
    with duckdb.connect(tmp_path / "owner.duckdb") as con:
        con.execute(PEOPLE)
    shown = steps(spec)
    with duckdb.connect(tmp_path / "owner.duckdb") as con:
        con.execute("CREATE TEMPORARY TABLE deid_staged AS FROM people")
        found = {s.name: con.execute(sql(s.query)).fetchall() for s in shown if measures(s)}
    names = [s.name for s in shown if measures(s)]
    assert names == [f"verify_{m}" for m in ("k_anonymity", "l_diversity", *MEASURED)]
    assert found["verify_k_anonymity"] == [(1,)]
    assert found["verify_max_risk"][0][0] > 0.5


MEASURED = ("t_closeness", "t_closeness", "max_risk")


def measures(step: Step) -> bool:
    return step.name.startswith("verify_")
