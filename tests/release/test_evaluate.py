"""Workloads of a release: how queries may call its source."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from dbdeid.release.evaluate import source_names
from dbdeid.release.existing import evaluate
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
        "evaluate": {"queries": "*.sql"},
    }
    (work / "r.yml").write_text(json.dumps(spec))
    run(work / "r.yml")
    *answered, refused = evaluate(work / "r.yml")["queries"]["queries"]
    assert [query["relative_error"] for query in answered] == [0, 0, 0]
    assert "FROM persons is not the source" in refused["refused"]
    assert "the source is ../data/people.csv or people.csv or people" in refused["refused"]
