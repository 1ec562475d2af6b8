"""Releases of tables that Spark has: the same as in DuckDB, verified there, and put in place."""

from __future__ import annotations

from typing import Any

import duckdb
import pytest
from spark_releases import REASON, both, counted, lent, people, released, spec

import dbdeid

pytestmark = [pytest.mark.full, pytest.mark.filterwarnings("ignore")]


def test_a_release_is_the_same_in_both(here: Any) -> None:
    found = both(here, spec(), people())
    assert found.there.suppressed_rows > 0
    frame = found.there.to_df()
    assert len(frame) == found.there.released_rows


@pytest.mark.parametrize(
    "more",
    [
        {"output": {"bounds": True}},
        {"method": {"name": "full_domain", "suppression_limit": 0.1, "suppressed": "keep"}},
        {
            "method": {"name": "full_domain", "suppression_limit": 0.1, "suppressed": "keep"},
            "output": {"bounds": True},
        },
        {"null_policy": "exclude"},
        {"null_policy": "wildcard", "privacy": [{"model": "k_anonymity", "k": 7}]},
        {"privacy": [{"model": "t_closeness", "column": "ill", "t": 0.3}]},
        {
            "privacy": [
                {"model": "l_diversity", "column": "ill", "l": 2, "kind": "entropy"},
                {"model": "max_risk", "attacker": "prosecutor", "threshold": 0.1},
            ]
        },
        {
            "method": {
                "name": "full_domain",
                "suppression_limit": 0.1,
                "transformation": {"age": 2, "zip": 4, "sex": 0},
            }
        },
    ],
    ids=["bounds", "star", "star_bounds", "exclude", "wildcard", "t", "entropy", "given"],
)
def test_each_of_these_is_the_same_in_both(here: Any, more: dict[str, Any]) -> None:
    given = spec(**more)
    if not any(m.get("column") == "ill" for m in given["privacy"]):
        given["columns"]["ill"] = {"role": "sensitive", "accept": "homogeneity", "reason": REASON}
    both(here, given, people(1500, seed=2))


def test_a_population_there_is_counted_there(here: Any) -> None:
    kept = {
        "visits": people(1500, seed=2),
        "census": people(6000, seed=9).select(["age", "zip", "sex"]),
    }
    given = spec(
        privacy=[
            {"model": "k_map", "k": 12, "population": "census"},
            {"model": "l_diversity", "column": "ill", "l": 2},
        ]
    )
    for name, rows in kept.items():
        lent(here, name, rows)
    there = dbdeid.run(given, connection=here)
    with duckdb.connect() as connection:
        for name, rows in kept.items():
            connection.register("given", rows)
            connection.execute(f'CREATE TABLE "{name}" AS FROM given')
        own = dbdeid.run(given, connection=connection)
        wanted = connection.sql("FROM visits_public").to_arrow_table()
    assert there.verified
    assert there.promises == own.promises
    assert there.transformation == own.transformation
    assert counted(released(here, "visits_public")) == counted(wanted)
