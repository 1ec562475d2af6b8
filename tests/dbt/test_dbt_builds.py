"""Builds of other kinds: increments, --empty, subjects, and models that have no gate."""

from __future__ import annotations

from pathlib import Path

import duckdb
import pytest
import tiers
from dbt_attempts import NOT_ITS
from hospital import Project

import dbdeid
from dbdeid.cli.text.plan import model
from dbdeid.commands.plan import plan

GATE = "'policy': 'wards_public_policy', 'source': '%s'"


def test_a_gate_that_a_materialization_would_ignore_stops_the_run(project: Project) -> None:
    before = project.tables
    for name in ("table", "view", "incremental"):
        project.write(
            f"models/as_{name}.sql",
            f"{{{{ config(materialized='{name}', meta={{'deid': {{{GATE % 'visits'}}}}}) }}}}\n"
            "SELECT * FROM {{ ref('visits') }}",
        )
    done = project.run("run", "--select", "as_table", "as_view", "as_incremental", code=2)
    open_ = "as_incremental (incremental), as_table (table), as_view (view)"
    assert f"materialized as something that has none: {open_}" in " ".join(done.output.split())
    assert project.tables == before
    assert not project.rows("SELECT view_name FROM duckdb_views() WHERE view_name LIKE 'as_%'")


@pytest.mark.full
def test_a_project_that_measures_by_macros_of_its_own_is_stopped(project: Project) -> None:
    """Whatever stands under `adapter.dispatch` or the materialization would decide what passes."""
    before = project.tables
    (project.folder / "macros").mkdir()
    project.write(
        "macros/own.sql",
        "{% macro duckdb__types_of(relation) %}{{ return({}) }}{% endmacro %}\n"
        "{% macro default__class_sizes(relation, qis, subject) %}SELECT 9{% endmacro %}\n"
        "{% macro gate_failures(relation, gate, plan) %}{{ return([]) }}{% endmacro %}\n"
        "{% materialization deid_release, adapter='duckdb' %}{% endmaterialization %}\n",
    )
    done = project.run("run", "--select", "wards_public", code=2)
    told = " ".join(done.output.split())
    own = "default__class_sizes (hospital), duckdb__types_of (hospital), materialization"
    assert f"by which the gate of dbdeid measures: {own}" in told
    assert "materialization_deid_release_duckdb (hospital)" in told
    assert "gate_failures (" not in told  # nobody asks for it: the package names its own
    assert project.tables == before
    if tiers.full:
        project.run("seed", "--select", "visits")  # what has no gate is built


@pytest.mark.full
def test_an_empty_build_checks_columns_and_replaces_nothing(project: Project) -> None:
    before = project.rows("FROM visits_public")
    with duckdb.connect(str(project.database)) as con:
        con.execute("DROP TABLE wards_public")
    done = project.run("run", "--empty")
    assert "--empty checks columns and types; the one before stays" in done.output
    assert project.rows("FROM visits_public") == before
    # what is not there yet is made, so that models after it can be built
    assert project.rows("FROM wards_public") == []
    columns = [name for name, *_ in project.rows("DESCRIBE wards_public")]
    assert columns == ["ward", "admitted", "diagnosis"]
    path = project.folder / "models" / "wards_public.sql"
    path.write_text(path.read_text().replace("  diagnosis\n", "  diagnosis, patient\n"))
    done = project.run("run", "--empty", "--select", "wards_public", code=1)
    assert "column patient is withheld by the plan" in done.message("wards_public")
    # records that do not come by ref() or source() are measured in full
    path.write_text(
        path.read_text().replace(", patient\n", "\n") + "UNION ALL SELECT 'a', 'b', 'c'"
    )
    done = project.run("run", "--empty", "--select", "wards_public", code=1)
    assert "the smallest class has 1 of 5 records" in done.message("wards_public")


GROWN = (
    "{{ config(materialized='deid_release', meta={'deid': {"
    + GATE % "come"
    + """, 'incremental': true}}) }}
WITH generalized AS (
  SELECT
    {{ deid.generalize('ward', ref('wards_public_policy')) }} AS ward,
    {{ deid.generalize('admitted', ref('wards_public_policy')) }} AS admitted,
    diagnosis
  FROM {{ ref('come') }}
  {% if deid.is_incremental() %}WHERE patient >= '{{ var('since') }}'{% endif %}
)
{{ deid.suppress('generalized', ref('wards_public_policy')) }}
"""
)
COME = """{{ config(materialized='table') }}
SELECT * FROM {{ ref('visits') }}
WHERE patient < '{{ var('upto') }}' AND patient <> '{{ var('gone', '') }}'
"""


@pytest.mark.full
def test_increments_are_measured_with_all_that_is_released(project: Project) -> None:
    project.write("models/come.sql", COME)
    project.write("models/grown.sql", GROWN)

    def build(code: int = 0, *words: str, **given: str) -> str:
        variables = ", ".join(f"{name}: {value}" for name, value in given.items())
        chosen = ("--select", "come", "grown", "--vars", f"{{{variables}}}")
        return project.run("run", *chosen, *words, code=code).message("grown")

    def count() -> int:
        ((found,),) = project.rows("SELECT COUNT(*) FROM grown")
        return int(found)

    build(upto="P0300")
    assert count() == 300
    build(upto="P0400", since="P0300")
    # one record alone is in a class of those that are there
    build(upto="P0401", since="P0400")
    grown = project.rows("FROM grown")
    assert len(grown) == 401
    assert grown == project.rows("FROM grown ORDER BY ALL")
    # released twice: copies of a record are no other records
    told = build(1, upto="P0401", since="P0390")
    assert f"11 of 412 records {NOT_ITS.replace('stays', 'come')}" in told
    # forgotten
    assert "10 of 411 records are left out" in build(1, upto="P0411", since="P0411")
    # withdrawn from the source
    told = build(1, upto="P0401", since="P0401", gone="P0007")
    assert "1 of 401 records" in told
    assert "--full-refresh" in told
    # generalized otherwise
    seed = project.folder / "seeds" / "wards_public_policy.csv"
    text = seed.read_text()
    seed.write_text(text.replace("calendar,year", "calendar,quarter"))
    project.run("seed", "--select", "wards_public_policy")
    assert "401 of 401 records" in build(1, upto="P0401", since="P0401")
    seed.write_text(text)
    project.run("seed", "--select", "wards_public_policy")
    assert project.rows("FROM grown") == grown
    build(0, "--full-refresh", upto="P0401", since="P0401", gone="P0007")
    assert count() == 400


STAYS = """{{ config(materialized='table') }}
SELECT 'P' || CAST(i % 90 AS VARCHAR) AS patient,
  (i % 90) % 7 + CASE WHEN i % 90 = 13 THEN 10 ELSE 0 END AS age,
  CASE WHEN (i % 90) % 3 = 0 THEN 'flu' WHEN i % 2 = 0 THEN 'fracture' ELSE 'asthma' END
    AS diagnosis
FROM range(300) AS numbers(i)
"""
PEOPLE = {
    "release": "people_public",
    "source": "people",
    "subject": "patient",
    "columns": {
        "patient": "identifier",
        "age": {"role": "quasi_identifier", "hierarchy": {"intervals": [5, 10]}},
        "diagnosis": "sensitive",
    },
    "privacy": [
        {"model": "k_anonymity", "k": 10},
        {"model": "l_diversity", "column": "diagnosis", "l": 2},
    ],
    "method": {"name": "full_domain", "suppression_limit": 0.1, "transformation": {"age": 1}},
}


@pytest.mark.full
def test_subjects_are_counted_as_dbdeid_counts_them(project: Project) -> None:
    project.write("models/people.sql", STAYS)
    project.run("run", "--select", "people")
    found = plan(PEOPLE, database=project.database, output=project.folder / "seeds")
    project.write("models/people_public.sql", model(found))
    project.run("build", "--select", "people_public_policy", "people_public")
    target: Path = project.folder / "released.duckdb"
    dbdeid.run({**PEOPLE, "target": str(target)}, database=project.database)
    with duckdb.connect(str(target), read_only=True) as con:
        expected = con.execute("SELECT age, diagnosis FROM people_public ORDER BY ALL").fetchall()
    assert project.rows("FROM people_public") == expected
    assert 200 < len(expected) < 300
