"""The steps of a run are those that it executes, shown without executing any."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

import duckdb
import pytest
from specs import PEOPLE, small

import dbdeid
from dbdeid.commands.explain import steps
from dbdeid.engine.session import Step
from dbdeid.engine.sqltext import sql

METHODS: list[dict[str, Any]] = [
    {"name": "full_domain", "suppression_limit": 0.1},
    {"name": "counterfeit", "h": 0.7},
    {"name": "counterfeit", "h": 0.7, "catalog": "paper"},
    {"name": "counterfeit", "h": 0.7, "catalog": "none"},
    {"name": "counterfeit", "h": 0.7, "recoding": "borrow"},
    {"name": "relocation"},
    {"name": "local_recoding"},
    {"name": "local_recoding", "engine": "sql"},
    {"name": "local_recoding", "algorithm": "mondrian"},
]


@pytest.mark.full
@pytest.mark.parametrize("method", METHODS, ids=lambda m: "-".join(map(str, m.values())))
def test_explained_steps_are_executed_by_a_run_and_by_nothing_else(
    method: dict[str, Any],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    monkeypatch.chdir(tmp_path)
    with duckdb.connect("owner.duckdb") as con:
        con.execute(PEOPLE)
    before = Path("owner.duckdb").read_bytes()
    spec = small(database="owner.duckdb", target="out.duckdb", method=method)
    with caplog.at_level(logging.DEBUG, logger="dbdeid"):
        shown = steps(spec)
        assert not [r for r in caplog.messages if r.upper().startswith("CREATE")]
        assert Path("owner.duckdb").read_bytes() == before
        assert [p.name for p in tmp_path.iterdir()] == ["owner.duckdb"]
        caplog.clear()
        dbdeid.run(spec)
    made = [r for r in caplog.messages if r.startswith("CREATE OR REPLACE TEMPORARY TABLE")]
    views = [r for r in caplog.messages if r.startswith("CREATE VIEW")]
    for step in shown:
        if step.text().startswith("CREATE VIEW"):
            assert any(f'"{step.name}"' in statement for statement in views), step.name
        elif not step.name.startswith("verify_"):
            assert any(f'"{step.name}"' in statement for statement in made), step.name


def test_the_steps_of_counterfeit_records_are_named_and_hide_their_key(tmp_path: Path) -> None:
    with duckdb.connect(tmp_path / "owner.duckdb") as con:
        con.execute(PEOPLE)
        con.execute("ALTER TABLE people ADD COLUMN shift INTEGER DEFAULT 1")
    spec = small(database=str(tmp_path / "owner.duckdb"), method="counterfeit", seed=918273645)
    spec["columns"]["shift"] = {"role": "insensitive", "reason": "everyone sees it"}
    shown = steps(spec)
    names = [step.name for step in shown]
    wanted = ["real", "members", "deficits", "quotas", "slots", "donors", "counterfeits"]
    first = names.index("deid_real")
    assert names[first : first + 8] == [*(f"deid_{n}" for n in wanted), "padding_risk"]
    assert names[-4:-1] == ["deid_catalog", "people_public_weighted", "people_public_truthful"]
    assert "918273645" not in "".join(step.text() for step in shown)


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
