"""Reusing the levels of the last run: they hold, or nothing is replaced."""

from __future__ import annotations

import json
from datetime import datetime
from pathlib import Path
from typing import Any

import duckdb
import pytest
from patients import Patient, fill, spec
from typer.testing import CliRunner

import dbdeid
from dbdeid.cli.app import app
from dbdeid.commands.verify_evaluate_export import verify
from dbdeid.errors import DataError, SpecError, Unsatisfiable


def searching(k: int = 5, **more: Any) -> dict[str, Any]:
    return spec((0, 0), k, method={"name": "full_domain", "suppression_limit": 0.05}, **more)


def crowd(number: int, ages: int, start: int = 0) -> list[Patient]:
    return [(start + i, i % ages, 2 * (i % 4), "flu") for i in range(number)]


def test_levels_are_those_of_the_last_run_though_others_would_be_found() -> None:
    con = duckdb.connect()
    coarse = searching()
    fill(con, crowd(16, 8))
    levels = dbdeid.run(coarse, con).transformation
    fill(con, crowd(400, 8))
    again = dbdeid.run({**coarse, "seed": 3}, con, reuse=True)
    assert again.transformation == levels
    assert again.search["checked"] == 1
    assert again.verified
    assert verify({**coarse, "seed": 3}, con).verified
    assert dbdeid.run(coarse, con).transformation != levels


def test_levels_that_no_longer_hold_replace_nothing(tmp_path: Path) -> None:
    database, target = tmp_path / "hospital.duckdb", tmp_path / "out.duckdb"
    asked = searching(database=str(database), target=str(target))
    with duckdb.connect(str(database)) as con:
        fill(con, crowd(40, 8))
    dbdeid.run(asked)
    before = target.read_bytes()
    with duckdb.connect(str(database)) as con:
        fill(con, crowd(16, 8))
    with pytest.raises(Unsatisfiable, match=r"age 0, zip 0\) no longer hold") as caught:
        dbdeid.run(asked, reuse=True)
    assert caught.value.exit_code == 3
    assert target.read_bytes() == before


def test_there_must_be_a_run_of_the_same_spec() -> None:
    con = duckdb.connect()
    fill(con, crowd(40, 8))
    with pytest.raises(DataError, match="was never run here: there is nothing to reuse"):
        dbdeid.run(searching(), con, reuse=True)
    dbdeid.run(searching(), con)
    with pytest.raises(DataError, match="is not the spec that made release"):
        dbdeid.run(searching(k=4), con, reuse=True)


@pytest.mark.parametrize("name", ["local_recoding", "counterfeit", "microaggregation"])
def test_methods_without_levels_are_refused(name: str) -> None:
    con = duckdb.connect()
    fill(con, crowd(40, 8))
    asked = spec((0, 0), method={"name": name} | ({"h": 0.5} if name == "counterfeit" else {}))
    if name == "microaggregation":
        asked["columns"] = {
            **asked["columns"],
            **dict.fromkeys(("age", "zip"), "quasi_identifier"),
        }
    with pytest.raises(SpecError, match=f"run of method {name} cannot be repeated"):
        dbdeid.run(asked, con, reuse=True)


def test_levels_that_mean_something_else_now_are_refused(tmp_path: Path) -> None:
    con = duckdb.connect()
    fill(con, crowd(16, 8))
    csv = tmp_path / "age.csv"
    csv.write_text("".join(f"{i};{i // 2 * 2};*\n" for i in range(8)))
    asked = spec((1, 0), 2)
    asked["columns"]["age"] = {"role": "quasi_identifier", "hierarchy": str(csv)}
    del asked["method"]["transformation"]
    asked["columns"]["age"]["min_level"] = 1
    assert dbdeid.run(asked, con).transformation["age"] == 1
    dbdeid.run(asked, con, reuse=True)
    csv.write_text("".join(f"{i};{i // 4 * 4};*\n" for i in range(8)))
    with pytest.raises(DataError, match="level 1 of its hierarchy is not what it was: 4 values"):
        dbdeid.run(asked, con, reuse=True)


@pytest.mark.full
def test_the_command_takes_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with duckdb.connect("hospital.duckdb") as con:
        fill(con, crowd(40, 8))
    path = tmp_path / "patients.yml"
    path.write_text(json.dumps(searching(database="hospital.duckdb")))
    assert CliRunner().invoke(app, ["run", str(path), "--reuse"]).exit_code == 2
    assert CliRunner().invoke(app, ["run", str(path)]).exit_code == 0
    assert CliRunner().invoke(app, ["run", str(path), "--reuse"]).exit_code == 0


@pytest.mark.full
def test_the_last_run_is_the_last_one_booked_whatever_the_clock_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Late(datetime):
        @classmethod
        def now(cls, tz: Any = None) -> datetime:
            return datetime(2099, 1, 1, tzinfo=tz)

    place = {"database": str(tmp_path / "hospital.duckdb")}
    with duckdb.connect(place["database"]) as con:
        fill(con, crowd(40, 8))
    with monkeypatch.context() as patched:
        patched.setattr("dbdeid.release.record.datetime", Late)
        dbdeid.run(searching(k=4, **place))
    dbdeid.run(searching(k=5, **place))
    assert verify(searching(k=5, **place)).verified
    latest, first = (one.entry.created for one in dbdeid.releases(place["database"]))
    assert first.year == 2099
    assert latest.year < 2099
