"""Workloads of a release: how queries may call its source."""

from __future__ import annotations

import json
from dataclasses import FrozenInstanceError
from pathlib import Path

import pytest

import dbdeid
from dbdeid.bind.read import read
from dbdeid.commands.verify_evaluate_export import evaluate
from dbdeid.errors import DataError
from dbdeid.evaluation.evaluate import queries_of
from dbdeid.publish.queryable import source_names
from dbdeid.release.run import run


@pytest.mark.parametrize(
    ("source", "names"),
    [
        ("visits", ("visits",)),
        ("main.visits", ("main.visits",)),
        ("visits.csv", ("visits.csv", "visits")),
        ("../d/v.1.Parquet", ("../d/v.1.Parquet", "v.1.Parquet", "v.1")),
        ("../visits.csv.gz", ("../visits.csv.gz", "visits.csv.gz", "visits")),
        ("data/.csv", ("data/.csv", ".csv")),
    ],
)
def test_names_of_a_source(source: str, names: tuple[str, ...]) -> None:
    assert source_names(source) == names


@pytest.mark.full
def test_a_query_may_call_a_file_by_its_stem_and_is_told_every_name(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    people = "sex\n" + "".join(f"{'mf'[i % 2]}\n" for i in range(20))
    (tmp_path / "data" / "people.csv").write_text(people)
    work = tmp_path / "work"
    work.mkdir()
    for i, name in enumerate(("people", "people.csv", "'../data/people.csv'", "persons")):
        (work / f"{i}.sql").write_text(f"SELECT sex, COUNT(*) FROM {name} GROUP BY sex")
    spec = {
        "release": "r",
        "target": "r.duckdb",
        "source": "../data/people.csv",
        "columns": {"sex": {"role": "quasi_identifier", "hierarchy": "suppress"}},
        "privacy": [{"model": "k_anonymity", "k": 2}],
        "method": "full_domain",
        "evaluate": {"metrics": [], "queries": "*.sql"},
    }
    (work / "r.yml").write_text(json.dumps(spec))
    (told,) = (w for w in run(work / "r.yml").warnings if "not answered" in w)
    assert told.startswith("3 of the workload is not answered: the query cannot be answered")
    assert "source; the source is" in told
    *answered, refused = evaluate(work / "r.yml")["queries"]["queries"]
    assert [query["relative_error"] for query in answered] == [0, 0, 0]
    assert "FROM persons is not the source" in refused["refused"]
    assert "the source is ../data/people.csv or people.csv or people" in refused["refused"]


def written(folder: Path, queries: str) -> Path:
    """A spec of people of whom two are suppressed, with its workload."""
    people = "age,sex\n" + "".join(f"{20 + i % 2},{'mf'[i % 2]}\n" for i in range(20))
    (folder / "people.csv").write_text(people + "90,m\n91,f\n")
    spec = {
        "release": "r",
        "target": "r.duckdb",
        "source": "people.csv",
        "columns": {
            "age": {
                "role": "quasi_identifier",
                "hierarchy": {"intervals": [10], "lower": 0, "upper": 100},
            },
            "sex": {"role": "quasi_identifier", "hierarchy": "suppress"},
        },
        "privacy": [{"model": "k_anonymity", "k": 3}],
        "method": {"name": "full_domain", "suppression_limit": 0.1},
        "evaluate": {"metrics": [], "queries": queries},
    }
    (folder / "r.yml").write_text(json.dumps(spec))
    return folder / "r.yml"


def test_a_workload_may_be_anywhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    place = tmp_path / "asked [of] people"
    place.mkdir()
    for name in ("b", "a"):
        (place / f"{name}.sql").write_text("SELECT COUNT(*) FROM people")
    pattern = str(place).replace("[", "[[]") + "/*.sql"
    monkeypatch.setenv("HOME", str(tmp_path))
    for spelled in (pattern, "~/asked*/*.sql"):
        spec = written(tmp_path, spelled)
        assert [name for name, _ in queries_of(read(spec))] == ["a", "b"]
    with pytest.raises(DataError, match=r"evaluate.queries: /nowhere/\*.sql matches no file"):
        queries_of(read(written(tmp_path, "/nowhere/*.sql")))


def test_bounds_hold_for_the_source_with_its_suppressed_records(tmp_path: Path) -> None:
    (tmp_path / "queries").mkdir()
    text = "SELECT sex, COUNT(*) AS n, AVG(age) AS mean, MIN(age) AS least FROM people GROUP BY sex"
    (tmp_path / "queries" / "a.sql").write_text(text)
    spec = written(tmp_path, "queries/*.sql")
    made = run(spec)
    assert made.suppressed_rows == 2
    found = evaluate(spec)["queries"]
    (query,) = found["queries"]
    assert query["refused"] is None
    assert [a["within_bounds"] for a in query["aggregates"]] == [1, None, None]
    assert query["within_bounds"] == found["within_bounds"] == 1
    assert query["aggregates"][0]["relative_error"] == pytest.approx(2 / 22)


@pytest.mark.full
def test_what_is_found_has_attributes(tmp_path: Path) -> None:
    (tmp_path / "a.sql").write_text("SELECT sex, COUNT(*) AS n FROM people GROUP BY sex")
    spec = written(tmp_path, "*.sql")
    run(spec)
    found = evaluate(spec)
    assert isinstance(found, dbdeid.Evaluated)
    assert found.queries is not None
    (query,) = found.queries.queries
    told = json.loads(json.dumps(found.to_dict()))
    assert told["queries"]["queries"][0]["relative_error"] == query.relative_error
    assert (found.queries.answered, found.models, found.unpublishable) == (1, (), None)
    assert dict(found) == found.to_dict()
    assert found["metrics"] == found.metrics
    with pytest.raises(FrozenInstanceError):
        found.recoding = "local"  # type: ignore[misc]
