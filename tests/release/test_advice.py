"""What a check says beyond that a spec fits: uniqueness, costs, advice, earlier runs."""

from __future__ import annotations

from itertools import combinations
from pathlib import Path
from typing import Any

import duckdb

from dbdeid.release import advice
from dbdeid.release.check import check
from dbdeid.release.run import run
from dbdeid.words import checked

QI = "quasi_identifier"


def spec(folder: Path, **more: Any) -> dict[str, Any]:
    """A table of 60 records, of 20 people, and a spec for it."""
    file = folder / "owner.duckdb"
    if not file.exists():
        with duckdb.connect(str(file)) as con:
            con.execute(
                "CREATE TABLE people AS SELECT i // 3 AS person, i * 7 % 23 AS age, i % 2 AS sex, "
                "'r' || (i * 5 % 4) AS region, 'd' || (i % 9) AS illness FROM range(60) t(i)"
            )
    return {
        "release": "people_public",
        "database": str(file),
        "target": str(folder / "people_public.duckdb"),
        "source": "people",
        "columns": {
            "person": "identifier",
            "age": {"role": QI, "hierarchy": {"intervals": [4, 12], "lower": 0, "upper": 24}},
            "sex": {"role": QI, "type": "categorical", "hierarchy": "suppress"},
            "region": {"role": QI, "hierarchy": "suppress"},
            "illness": {"role": "sensitive", "accept": "homogeneity"},
        },
        "accept": "rows",
        "privacy": [{"model": "k_anonymity", "k": 3}],
        "method": {"name": "full_domain", "suppression_limit": 0.1},
    } | more


def unique(folder: Path, columns: tuple[str, ...]) -> int:
    """Records that no other shares some columns with, as the engine counts them."""
    named = ", ".join(columns)
    with duckdb.connect(str(folder / "owner.duckdb"), read_only=True) as con:
        query = f"SELECT count(*) FROM (FROM people SELECT {named} GROUP BY ALL HAVING count(*)=1)"
        return int(con.execute(query).fetchall()[0][0])


def test_uniqueness_is_what_the_engine_counts(tmp_path: Path) -> None:
    found = check(spec(tmp_path))
    told, names = found["uniqueness"], ("age", "sex", "region")
    assert told["records"] == 60
    assert told["unique_records"] == unique(tmp_path, names) == found["risk"]["unique_records"]
    for c in told["columns"]:
        others = tuple(n for n in names if n != c["name"])
        assert c["alone"] == unique(tmp_path, (c["name"],))
        assert c["without"] == unique(tmp_path, others)
    for some in told["sets"]:
        most = max(unique(tmp_path, s) for s in combinations(names, len(some["columns"])))
        assert some["unique_records"] == most == unique(tmp_path, tuple(some["columns"]))


def test_subjects_count_where_they_are_declared(tmp_path: Path) -> None:
    given = {k: v for k, v in spec(tmp_path).items() if k != "accept"} | {"subject": "person"}
    found = check(given)
    assert found["uniqueness"]["unique_records"] == found["risk"]["unique_records"]


def test_costs_are_told_of_the_transformation_that_a_run_finds(tmp_path: Path) -> None:
    found = check(spec(tmp_path))
    made = run(spec(tmp_path))
    cost = found["cost"]
    assert cost["proven_optimal"]
    assert cost["transformation"] == made.transformation
    for c in cost["columns"]:
        assert 0 <= c["others_without"] <= c["others_with"] + 1e-12 <= 1 + 1e-12


def test_advice_names_what_makes_records_unique(tmp_path: Path) -> None:
    found = check(spec(tmp_path))
    first = found["advice"][0]
    assert first.startswith("age: ")
    assert "of the unique records are unique only by it" in first
    text = checked(found)
    assert "what to change first\n    1. age: " in text
    assert "unique by it alone" in text


def test_a_column_that_singles_everybody_out_is_named_though_another_does_too(
    tmp_path: Path,
) -> None:
    """Without either of them all are unique still, by the other."""
    given = spec(tmp_path)
    with duckdb.connect(given["database"]) as con:
        con.execute(
            "CREATE TABLE beds AS SELECT *, 7 * rowid AS bed, 9 * rowid AS chart FROM people"
        )
    both = {name: {"role": QI, "hierarchy": {"intervals": [100]}} for name in ("bed", "chart")}
    asked = given | {"source": "beds", "columns": given["columns"] | both}
    advised = check(asked)["advice"]
    assert advised[0].startswith("bed: 100% of the records are unique by it alone")
    assert advised[1].startswith("chart: 100% of the records are unique by it alone")


def test_a_level_that_is_there_is_not_advised(tmp_path: Path) -> None:
    columns = spec(tmp_path)["columns"]
    columns["age"] |= {"min_level": 1}
    advised = check(spec(tmp_path, columns=columns))["advice"]
    assert not any("`min_level: 1`" in text for text in advised if text.startswith("age: "))


def test_large_sources_are_looked_at_when_asked(tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.setattr(advice, "QUICK", 0)
    found = check(spec(tmp_path))
    assert found["uniqueness"] is not None
    assert found["cost"] is None
    assert "check --deep" in checked(found)
    assert check(spec(tmp_path), deep=True)["cost"] is not None
    monkeypatch.setattr(advice, "LARGE", 0)
    assert check(spec(tmp_path))["uniqueness"] is None
    assert check(spec(tmp_path), deep=True)["uniqueness"] is not None


def test_earlier_runs_on_the_source_are_remembered(tmp_path: Path) -> None:
    assert check(spec(tmp_path))["earlier"] == []
    run(spec(tmp_path))
    other = spec(tmp_path, release="other", target=str(tmp_path / "other.duckdb"))
    (one,) = check(other)["earlier"]
    assert one["release"] == "people_public"
    assert "released before from the same source: people_public (" in checked(check(other))


def test_models_that_nothing_holds_have_no_costs(tmp_path: Path) -> None:
    columns = spec(tmp_path)["columns"]
    columns["age"] |= {"max_level": 0}
    found = check(spec(tmp_path, columns=columns))
    assert found["cost"] is None


def test_no_cell_of_a_sensitive_column_is_told(tmp_path: Path) -> None:
    text = checked(check(spec(tmp_path)))
    assert not any(f"d{i}" in text.replace("dbdeid", "") for i in range(9))
