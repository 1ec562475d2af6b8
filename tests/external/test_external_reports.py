"""The utility of releases made elsewhere, and their reports."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb
import pytest
from foreign import absent, make, spec

import dbdeid
from dbdeid.cli.text.release.verdict import evaluated
from dbdeid.commands.report import write_report


@pytest.fixture
def con() -> Iterator[duckdb.DuckDBPyConnection]:
    with duckdb.connect() as opened:
        opened.execute("SET threads = 1")
        make(opened)
        yield opened


@pytest.mark.full
def test_metrics_of_the_table_and_its_original(con: Any) -> None:
    metrics = dbdeid.evaluate(spec(), con)["metrics"]
    rows = con.execute("SELECT age, zip, sex FROM anon").fetchall()
    sizes = Counter(rows).values()
    assert metrics["discernibility"] == sum(n * n for n in sizes) + 200
    assert metrics["average_class_size"] == pytest.approx(200 / (len(sizes) + 1))
    present = [a for (a,) in con.execute("SELECT DISTINCT age FROM people").fetchall()]
    inside = {"young": (20, 39), "middle": (20, 49), "old": (50, 79)}
    ages = {a: sum(low <= p <= high for p in present) for a, (low, high) in inside.items()}
    values = con.execute("SELECT DISTINCT zip FROM people").fetchall()
    zips = Counter(z[:3] + "**" for (z,) in values)
    sexes = {"f": 1, "m": 1, "*": 3}  # NULL occurs too
    domain = len(present) * sum(zips.values()) * 3
    combinations = sum(ages[a] * zips[z] * sexes[s] for a, z, s in rows) + domain
    assert metrics["ambiguity"] == pytest.approx(combinations / 200)
    told = sum(1 / ages[a] + 1 / zips[z] + 1 / sexes[s] for a, z, s in rows)
    error = metrics["reconstruction_error.quasi_identifiers"]
    assert error == pytest.approx(1 - told / 3 / 200)
    assert 0 < metrics["attacker_gain.illness"] < 1


def test_metrics_that_are_asked_for(con: Any) -> None:
    wanted = {"metrics": ["average_class_size", "moments"]}
    assert set(dbdeid.evaluate(spec(evaluate=wanted), con)["metrics"]) == {"average_class_size"}
    with pytest.raises(dbdeid.SpecError, match="is about how a release was made"):
        dbdeid.evaluate(spec(evaluate={"metrics": ["precision"]}), con)


@pytest.mark.full
def test_a_column_of_the_release_alone_hides_no_metric(con: Any) -> None:
    wanted = {"metrics": ["ambiguity", "reconstruction_error"]}
    before = dbdeid.evaluate(spec(evaluate=wanted), con)["metrics"]
    con.execute("ALTER TABLE anon ADD COLUMN batch INTEGER; UPDATE anon SET batch = rowid % 2")
    columns = spec()["columns"] | {"batch": {"role": "insensitive", "reason": "made up"}}
    after = dbdeid.evaluate(spec(columns=columns, evaluate=wanted), con)["metrics"]
    of_values = ("ambiguity", "reconstruction_error", "reconstruction_error.quasi_identifiers")
    assert [after[name] for name in of_values] == [before[name] for name in of_values]


def test_what_the_tables_do_not_tell_is_named(con: Any) -> None:
    con.execute("DELETE FROM anon_dictionary WHERE released_value = 'young'")
    wanted = {"metrics": ["average_class_size", "ambiguity"]}
    found = dbdeid.evaluate(spec(evaluate=wanted), con)
    assert found["not_measured"] == ["ambiguity"]
    assert "not measured: ambiguity" in evaluated(found)


def test_moments_of_numbers_that_are_released(con: Any) -> None:
    con.execute("ALTER TABLE people ADD COLUMN wage INTEGER; UPDATE people SET wage = rowid % 9")
    con.execute("ALTER TABLE anon ADD COLUMN wage INTEGER; UPDATE anon SET wage = 4")
    columns = spec()["columns"] | {"wage": {"role": "insensitive", "reason": "made up"}}
    wanted = {"metrics": ["moments"]}
    metrics = dbdeid.evaluate(spec(columns=columns, evaluate=wanted), con)["metrics"]
    mean, deviation = con.execute("SELECT avg(wage), stddev_pop(wage) FROM people").fetchone()
    assert metrics["moments.wage.mean"] == pytest.approx(abs(4 - mean) / deviation, rel=0.01)


def test_the_workload_and_the_recipients_models(
    con: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("q.sql").write_text("SELECT sex, count(*) AS n FROM people WHERE age < 45 GROUP BY sex")
    model = {
        "kind": "logistic",
        "response": "illness = 'flu'",
        "covariates": ["age", "zip < '102'"],
    }
    found = dbdeid.evaluate(spec(evaluate={"queries": "*.sql", "models": [model]}), con)
    (query,) = found["queries"]["queries"]
    assert query["refused"] is None
    assert 0 < found["queries"]["mean_relative_error"] < 1
    (fitted,) = found["models"]
    assert fitted["reason"] is None
    terms = {term["text"]: term for term in fitted["terms"]}
    assert terms["age"]["entered"] == terms["zip < '102'"]["entered"] == "expected"
    # of ZIP codes only the original knows which there are
    assert (terms["age"]["told"], terms["zip < '102'"]["told"]) == (True, False)


@pytest.fixture
def written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Write the report of a spec, and give its text."""
    monkeypatch.chdir(tmp_path)
    with duckdb.connect("owner.duckdb") as con:
        make(con)

    def write(declared: dict[str, Any], audience: Any) -> str:
        Path("s.json").write_text(json.dumps(declared | {"database": "owner.duckdb"}))
        return write_report(Path("s.json"), audience).read_text()

    return write


def test_the_report_needs_no_run(written: Any) -> None:
    page = written(spec(), "internal")
    assert "a method outside dbdeid" in page
    assert "199 of 200 records" in page
    assert "none declared; suppressed: 1" in page
    assert "explained by its dictionary" in page
    assert {p.name for p in Path().iterdir()} == {
        *("owner.duckdb", "s.json", "anon_internal_report.html", "anon_internal_report.json")
    }


@pytest.mark.full
def test_the_public_report_tells_nothing_of_the_original(written: Any) -> None:
    page = written(spec(), "public")
    assert "199 records" in page
    for told in ("199 of 200", "0.5%", "explained by", "anon_dictionary", "owner.duckdb"):
        assert told not in page


def test_the_report_without_the_original(written: Any) -> None:
    page = written(absent(), "internal")
    assert "199 records" in page
    assert "none declared; suppressed: not known" in page
    assert "original" in page
    assert "199 records" in written(absent(), "public")
