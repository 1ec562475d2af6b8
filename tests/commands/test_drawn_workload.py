"""Workloads drawn from a spec: whatever is released answers them, and what they hold is private."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import duckdb
import pytest
import zoo

from dbdeid.commands.queries.query import query
from dbdeid.commands.queries.workload import Drawing, Written, write
from dbdeid.commands.verify_evaluate_export import evaluate
from dbdeid.engine.relation import Column, Relation
from dbdeid.errors import DataError
from dbdeid.publish.queryable import source_names
from dbdeid.query.parse.answerable import Answerable
from dbdeid.query.parse.reading import parse
from dbdeid.release.run import run

ODD = 'say "O\'Hara",\n-- zip'
PEOPLE = f"""
CREATE TABLE people AS SELECT
  'person ' || i AS name,
  a % 80 AS age,
  CAST(20 + (b % 1000) / 40 AS DECIMAL(6, 3)) AS bmi,
  DATE '1950-01-01' + c % 18000 AS born,
  TIMESTAMP '2020-01-01' + INTERVAL (d % 63072000) SECOND AS "at",
  CAST(37010 + a % 40 AS VARCHAR) AS "{ODD.replace('"', '""')}",
  1 + b % 3 AS kind,
  c % 2 = 0 AS smokes,
  ['none', 'it''s flu', 'a; b', '"gout"'][1 + d % 4] AS illness,
  CAST(['low', 'high'][1 + a % 2] AS ENUM ('low', 'high')) AS risk,
  CAST(b % 1000 AS DOUBLE) / 8 AS dose,
  CASE WHEN i % 7 > 0 THEN 5 + i % 9 END AS stay
FROM (
  SELECT i, CAST(n[1] AS INTEGER) AS a, CAST(n[2] AS INTEGER) AS b, CAST(n[3] AS INTEGER) AS c,
    CAST(n[4] AS INTEGER) AS d
  FROM (SELECT i, [hash(i * 4 + j) % 2_000_000_000 FOR j IN [0, 1, 2, 3]] AS n FROM range(600) t(i))
)
"""
COLUMNS: dict[str, Any] = {
    "name": "identifier",
    "age": {
        "role": "quasi_identifier",
        "hierarchy": {"intervals": [10, 40], "lower": 0, "upper": 80},
    },
    "bmi": {
        "role": "quasi_identifier",
        "hierarchy": {"intervals": [12.5], "lower": 20, "upper": 45},
    },
    "born": {
        "role": "quasi_identifier",
        "hierarchy": {"dates": ["decade"], "lower": "1950-01-01", "upper": "2000-01-01"},
    },
    "at": {
        "role": "quasi_identifier",
        "hierarchy": {"dates": ["year"], "lower": "2020-01-01", "upper": "2022-01-01"},
    },
    ODD: {
        "role": "quasi_identifier",
        "hierarchy": {"prefix": [4, 3]},
        "domain": [str(37010 + i) for i in range(40)],
    },
    "kind": {
        "role": "quasi_identifier",
        "type": "categorical",
        "hierarchy": {"groups": [{"one": ["1"], "more": ["2", "3"]}]},
    },
    "smokes": {"role": "quasi_identifier", "hierarchy": "suppress", "domain": ["true", "false"]},
    "illness": {"role": "sensitive", "accept": "homogeneity"},
    "risk": {"role": "insensitive", "reason": "known"},
    "dose": {"role": "insensitive", "reason": "known"},
    "stay": {"role": "insensitive", "reason": "known"},
}


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with the owner's database."""
    monkeypatch.chdir(tmp_path)
    zoo.fill(owner)
    return tmp_path


def owner() -> None:
    with duckdb.connect("owner.duckdb") as con:
        con.execute(PEOPLE)


def spec(*, without: tuple[str, ...] = (), columns: Any = None, **more: Any) -> Path:
    """A spec of these people, as a file."""
    kept = {name: of for name, of in (COLUMNS | (columns or {})).items() if name not in without}
    document = {
        "release": "r",
        "database": "owner.duckdb",
        "target": "r.duckdb",
        "source": "people",
        "columns": kept | dict.fromkeys(without, "drop"),
        "privacy": [{"model": "k_anonymity", "k": 2}],
        "method": "full_domain",
        "evaluate": {"queries": "queries/*.sql", "metrics": []},
        **more,
    }
    Path("r.yml").write_text(json.dumps(document))
    return Path("r.yml")


def drawn(spec: Path, to: str = "queries", **how: Any) -> Written:
    return write(spec, Path(to), Drawing(**how))


def files(folder: str) -> dict[str, str]:
    return {path.name: path.read_text() for path in sorted(Path(folder).iterdir())}


def answered(spec: Path) -> dict[str, Any]:
    """The workload on the release, which answers all of it."""
    run(json.loads(spec.read_text()) | {"evaluate": {"metrics": []}})
    found: dict[str, Any] = evaluate(spec)["queries"]
    assert {query["refused"] for query in found["queries"]} == {None}
    return found


HEIGHTS = {"age": 3, "bmi": 2, "born": 2, "at": 2, ODD: 3, "kind": 2, "smokes": 1}


@pytest.mark.sampled(3)
@pytest.mark.parametrize("level", [1, 0, 3])
def test_whatever_the_levels_every_query_is_answered(place: Path, level: int) -> None:
    levels = {name: min(level, height) for name, height in HEIGHTS.items()}
    method = {"name": "full_domain", "transformation": levels}
    columns = {
        name: {**of, "reason": "made up"}
        for name, of in COLUMNS.items()
        if isinstance(of, dict) and of["role"] == "quasi_identifier"
    }
    made = spec(method=method, columns=columns, privacy=[{"model": "k_anonymity", "k": 1}])
    written = drawn(made, queries=12)
    assert written.columns == tuple(name for name in COLUMNS if name != "name")
    assert written.left_out == {}
    found = answered(made)
    assert found["answered"] == 12
    assert found["within_bounds"] == 1
    assert (found["mean_relative_error"] == 0) == (level == 0)


@pytest.mark.full
def test_queries_count_about_what_is_asked_for(place: Path) -> None:
    made = spec(without=("stay",))  # some of whose values are missing
    written = drawn(made, queries=60, dimensions=1, selectivity=0.3)
    least, most = written.reached
    assert 0.2 < least <= most <= 0.5
    with duckdb.connect("owner.duckdb") as con:
        for text in files("queries").values():
            told = re.search(r"it counts ([\d.]+)", text)
            assert told is not None
            (count,) = con.execute(text).fetchall()[0]
            # four standard deviations of a binomial count
            assert count / 600 == pytest.approx(float(told[1]), abs=0.08)


@pytest.mark.full
def test_a_seed_fixes_every_file(place: Path) -> None:
    made = spec()
    first = drawn(made, "first", queries=30)
    assert first.to_dict() | {"directory": "second"} == drawn(made, "second", queries=30).to_dict()
    assert files("first") == files("second")
    assert list(files("first"))[:2] == ["q001.sql", "q002.sql"]
    drawn(made, "third", queries=30, seed=8)
    assert files("third") != files("first")
    drawn(made, "more", queries=1000, dimensions=1)
    assert list(files("more"))[-1] == "q1000.sql"
    assert Path("first").stat().st_mode & 0o077 == 0


def test_columns_whose_domain_is_not_declared_are_left_out(place: Path) -> None:
    columns = {
        "age": {"role": "quasi_identifier", "hierarchy": {"intervals": [40]}},
        "bmi": {
            "role": "quasi_identifier",
            "hierarchy": {"intervals": [10], "lower": 20, "upper": 30},
        },
        "smokes": {"role": "quasi_identifier", "hierarchy": "suppress"},
        "name": {"role": "identifier", "pseudonym": True},
    }
    with duckdb.connect("owner.duckdb") as con:
        con.execute("ALTER TABLE people ALTER illness TYPE UUID USING uuid()")
        con.execute("ALTER TABLE people ALTER risk TYPE VARCHAR USING 'no code ' || name")
        con.execute("INSERT INTO people (risk) SELECT 'risk ' || i FROM range(401) t(i)")
        con.execute("UPDATE people SET stay = 5, dose = 'nan'")
    written = drawn(spec(columns=columns, subject="name"))
    assert written.left_out == {
        "name": "its values are pseudonyms",
        "age": "its domain is not declared (intervals of 40)",
        "bmi": "it has values outside of its `lower` and `upper`",
        "smokes": "its domain is not declared (suppress)",
        "illness": "its type is UUID",
        "risk": "it has more than 1,000 values without an order",
        "dose": "it has no values",
        "stay": "it has one value",
    }
    assert written.columns == ("born", "at", ODD, "kind")


def test_too_few_columns_are_told_with_the_reasons(place: Path) -> None:
    kept = ("age", "smokes")
    without = tuple(name for name in COLUMNS if name not in (*kept, "name"))
    undeclared = {"smokes": {"role": "quasi_identifier", "hierarchy": "suppress"}}
    with pytest.raises(DataError, match=r"--dimensions 2: only age can .*; smokes: its domain"):
        drawn(spec(without=without, columns=undeclared))
    assert not Path("queries").exists()


@pytest.mark.parametrize("selectivity", [0, -0.1, 1.1, float("nan")])
def test_a_selectivity_is_a_share(place: Path, selectivity: float) -> None:
    with pytest.raises(DataError, match="--selectivity"):
        drawn(spec(), selectivity=selectivity)


def test_only_a_new_or_empty_folder_is_written(place: Path) -> None:
    made = spec()
    Path("empty").mkdir()
    Path("link").symlink_to("empty")
    drawn(made, "link", queries=3)
    assert len(files("empty")) == 3
    with pytest.raises(DataError, match="link is not empty"):
        drawn(made, "link")
    Path("file").write_text("mine")
    with pytest.raises(DataError, match="file is no folder"):
        drawn(made, "file")
    with pytest.raises(DataError, match="cannot be written"):
        drawn(made, "file/queries")
    drawn(made, "new/folders", queries=3)
    assert len(files("new/folders")) == 3
    assert sorted(p.name for p in place.iterdir() if p.name.startswith(".")) == []


@pytest.mark.full
@pytest.mark.parametrize("source", ["people.csv", "people", "other.people", "od d.people"])
def test_the_source_is_named_as_queries_may(place: Path, source: str) -> None:
    with duckdb.connect("owner.duckdb") as con:
        if source.endswith(".csv"):
            con.execute(f"COPY people TO '{source}'")
        elif source != "people":
            schema = source.split(".")[0]
            con.execute(f'CREATE SCHEMA "{schema}"; CREATE TABLE "{schema}".people AS FROM people')
    drawn(spec(source=source, without=("bmi", "dose", "at", "born")), queries=3)
    names = tuple(Column(name, "VARCHAR") for name in COLUMNS)
    target = Answerable(source_names(source), names, (), Relation("r", names), None)
    with duckdb.connect("owner.duckdb") as con:
        for text in files("queries").values():
            assert parse(text, target).where is not None
            if source in ("people", "other.people"):
                assert len(con.execute(text).fetchall()) == 1


@pytest.mark.full
def test_policies_are_asked_over_their_domains(place: Path) -> None:
    columns = {
        "age": {"role": "quasi_identifier", "domain": [0, 79]},
        "smokes": {"role": "quasi_identifier"},
        "kind": {"role": "quasi_identifier", "type": "categorical", "order": ["3", "1", "2"]},
    }
    without = ("bmi", "born", "at", ODD)
    method = {"name": "policy", "budget": 200, "choose": {"max_risk": 0.9}}
    privacy = [{"model": "k_anonymity", "k": 1}]
    made = spec(columns=columns, without=without, method=method, privacy=privacy)
    written = drawn(made, queries=6)
    assert {"age", "smokes", "kind"} < set(written.columns)
    assert any(re.search(r'"age" BETWEEN', text) for text in files("queries").values())
    assert answered(made)["within_bounds"] == 1


@pytest.mark.full
def test_masked_and_synthetic_records_are_asked_over_the_values_there_are(place: Path) -> None:
    without = ("born", "at", ODD, "kind", "smokes", "risk", "name")
    masked = {"age": "quasi_identifier", "bmi": "quasi_identifier"}
    made = spec(columns=masked, without=without, method="microaggregation")
    assert drawn(made, queries=5).columns == ("age", "bmi", "illness", "dose", "stay")
    assert answered(made)["within_bounds"] is None
    synthetic = dict.fromkeys(("age", "bmi", "illness", "dose", "stay"), "synthesize")
    made = spec(
        columns=synthetic,
        without=without,
        method="condensation",
        privacy=[{"model": "cluster_size", "k": 20}],
        target="s.duckdb",
        evaluate={"queries": "synthetic/*.sql", "metrics": []},
    )
    drawn(made, "synthetic", queries=5)
    assert answered(made)["within_bounds"] is None


def test_a_release_made_elsewhere_is_asked_for_what_its_original_has_too(place: Path) -> None:
    with duckdb.connect("owner.duckdb") as con:
        con.execute("CREATE TABLE anon AS SELECT '*' AS age, illness, 1 AS batch FROM people")
    columns = dict.fromkeys(COLUMNS, "drop") | {
        "age": {
            "role": "quasi_identifier",
            "hierarchy": {"labels": "intervals", "lower": 0, "upper": 80},
        },
        "illness": {"role": "sensitive", "accept": "homogeneity"},
        "batch": {"role": "insensitive", "reason": "made up"},
    }
    declared = {
        "release": "elsewhere",
        "database": "owner.duckdb",
        "source": "people",
        "columns": columns,
        "privacy": [{"model": "k_anonymity", "k": 5}],
        "method": {"name": "external", "table": "anon"},
    }
    made = write(declared, Path("asked"), Drawing(queries=3, dimensions=1))
    assert set(made.columns) == {"age", "illness"}
    for asked in Path("asked").iterdir():
        assert len(query(declared, asked.read_text()).rows) == 1
