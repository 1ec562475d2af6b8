"""The materialization deid_release and the tests beside it, in real runs of dbt."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import duckdb
import pytest
from hospital import ROOT, Done, Project

QIS = ("age", "sex", "ward", "zip", "admitted")
# A value that no other record has, and which nothing may tell.
RARE = "2031"
OUTLIER = f"P9999,44,F,A1,03701,{RARE}-05-05,flu"


def everything(project: Project, table: str) -> list[tuple[Any, ...]]:
    return project.rows(f"FROM {table}")


def test_a_build_passes_and_releases_sorted_rows_without_identifiers(built: Project) -> None:
    assert built.tables == {"visits", "visits_public", "visits_public_policy", "wards_public"}
    assert everything(built, "visits_public") == built.rows("FROM visits_public ORDER BY ALL")
    columns = [name for name, *_ in built.rows("DESCRIBE visits_public")]
    assert columns == [*QIS, "diagnosis"]
    ((fewest, all_),) = built.rows(
        "SELECT min(n), sum(n) FROM (SELECT count(*) AS n FROM visits_public "
        f"GROUP BY {', '.join(QIS)})"
    )
    assert fewest >= 5
    assert 500 < all_ < 600


@pytest.mark.full
def test_a_rare_record_closes_the_gate_and_the_table_before_stays(project: Project) -> None:
    before = everything(project, "wards_public")
    project.plant(OUTLIER)
    done = project.run("build", code=1)
    assert done.status("wards_public") == "error"
    message = done.message("wards_public")
    assert "not released, and the one before stays" in message
    assert "the smallest class has 1 of 5 records; 1 of 601 records are in 1 of" in message
    assert "entropy l-diversity of diagnosis: the worst class has l = 1, not 2" in message
    assert "t-closeness of diagnosis: the worst class has t = 0." in message
    assert RARE not in done.output
    assert everything(project, "wards_public") == before
    assert project.tables == {"visits", "visits_public", "visits_public_policy", "wards_public"}
    # where small classes are left out, the release goes on
    assert done.status("visits_public") == "success"
    assert RARE not in str(everything(project, "visits_public"))
    # the next good build takes its place again
    visits = project.folder / "seeds" / "visits.csv"
    visits.write_text(visits.read_text().replace(f"{OUTLIER}\n", ""))
    project.run("build")


@pytest.mark.full
def test_values_that_the_policy_does_not_map_close_the_gate(project: Project) -> None:
    before = everything(project, "visits_public")
    project.plant(
        *(
            f"Q{i},4{i % 10},F,C7,03701,2023-05-05,{d}"
            for i in range(20)
            for d in ("flu", "asthma")
        ),
        "Q99,44,M,C8,03701,2023-05-05,flu",  # which is not left out as a small class would be
    )
    done = project.run("build", code=1)
    for name in ("visits_public", "wards_public"):
        assert "column ward: 41 records have a value that the policy does not map" in (
            done.message(name)
        )
    assert "C7" not in done.output
    assert everything(project, "visits_public") == before


GATED = "{{ config(materialized='deid_release'%s) }}\n%s\n"
WARDS = "SELECT ward, diagnosis FROM {{ ref('visits') }}"
ENUM = "SELECT CAST(ward AS ENUM('A1', 'A2', 'B1', 'B2', 'B3')) AS ward FROM {{ ref('visits') }}"
GATE = "'quasi_identifiers': ['ward'], 'k': 5"
WITH_DIAGNOSIS = GATE + ", 'released_as_is': ['diagnosis']"


def gate(text: str) -> str:
    return f", meta={{'deid': {{{text}}}}}"


REFUSED = {
    "no_gate": ("", WARDS, "no gate is declared, and without one nothing is released"),
    "empty_gate": (gate(""), WARDS, "the gate has no quasi_identifiers"),
    "no_k": (gate("'quasi_identifiers': ['ward']"), WARDS, "the gate has no k"),
    "no_number": (
        gate("'quasi_identifiers': ['ward'], 'k': '5'"),
        WARDS,
        "expects a whole number from 1",
    ),
    "no_list": (gate("'quasi_identifiers': 'ward', 'k': 5"), WARDS, "expects a list of columns"),
    "twice": (gate("'quasi_identifiers': ['ward', 'WARD'], 'k': 5"), WARDS, "is listed twice"),
    "misspelt": (gate(GATE + ", 'l_diverse': {}"), WARDS, "unknown key l_diverse"),
    "misspelt_model": (
        gate(GATE + ", 'l_diversity': {'column': 'diagnosis', 'L': 2}"),
        WARDS,
        "unknown key L",
    ),
    "no_l": (gate(GATE + ", 'l_diversity': {'column': 'diagnosis'}"), WARDS, "l: expects a whole"),
    "no_t": (
        gate(GATE + ", 't_closeness': {'column': 'diagnosis', 't': 2}"),
        WARDS,
        "t: expects a number from 0 to 1",
    ),
    "two_gates": (gate(GATE) + f", deid={{{GATE}}}", WARDS, "two gates are declared"),
    "no_column": (
        gate("'quasi_identifiers': ['ward', 'Shoe'], 'k': 5"),
        WARDS,
        "there is no column Shoe",
    ),
    "identifier": (
        gate(GATE + ", 'direct_identifiers': ['PATIENT']"),
        "SELECT patient, ward FROM {{ ref('visits') }}",
        "column patient is a direct identifier",
    ),
    "unnamed": (
        gate(WITH_DIAGNOSIS),
        "SELECT ward, diagnosis, zip, age FROM {{ ref('visits') }}",
        "the gate does not name column zip: list it in released_as_is, or leave it out. "
        "the gate does not name column age",
    ),
    "as_is_gone": (
        gate(GATE + ", 'released_as_is': ['Shoe']"),
        WARDS,
        "there is no column Shoe",
    ),
    "enum": (gate(GATE), ENUM, "column ward is an ENUM, whose type lists all original values"),
    "empty": (gate(WITH_DIAGNOSIS), WARDS + " WHERE ward = 'none'", "the table is empty"),
}


@pytest.fixture(scope="module")
def ran(built: Project, tmp_path_factory: pytest.TempPathFactory) -> tuple[Project, Done]:
    """One build of what is refused, of a first release of which a rare record closes the gate, and,
    with the plugin, of a model that calls macros."""
    project = built.copied(tmp_path_factory.mktemp("ran") / "hospital")
    profile = (project.folder / "profiles.yml").read_text()
    project.write("profiles.yml", profile + "      plugins: [{module: dbdeid.dbt}]\n")
    for name, (config, query, _) in REFUSED.items():
        project.write(f"models/{name}.sql", GATED % (config, query))
    project.write(
        "models/measured.sql",
        "{{ config(materialized='table') }}\n"
        "SELECT deid.k('main.visits_public', ['age', 'sex']) AS k,\n"
        "  deid_entropy_l([1, 1]) AS l FROM {{ ref('visits_public') }} LIMIT 1",
    )
    project.plant(OUTLIER)
    with duckdb.connect(str(project.database)) as con:
        con.execute("DROP TABLE wards_public")
    return project, project.run("build", "--select", "+wards_public", "measured", *REFUSED, code=1)


@pytest.mark.full
def test_a_first_release_that_fails_leaves_nothing(ran: tuple[Project, Done]) -> None:
    project, done = ran
    message = done.message("wards_public")
    assert "not released, and there is none yet" in message
    assert "the smallest class has 1 of 5 records; 1 of 601 records are in 1 of" in message
    assert "entropy l-diversity of diagnosis: the worst class has l = 1, not 2" in message
    assert "t-closeness of diagnosis: the worst class has t = 0." in message
    assert RARE not in done.output
    assert not {name for name in project.tables if name.startswith("wards_public")}


def test_what_declares_no_sound_gate_is_refused(ran: tuple[Project, Done], built: Project) -> None:
    project, done = ran
    for name, (_, _, told) in REFUSED.items():
        assert done.status(name) == "error", name
        assert told in done.message(name), (name, done.message(name))
        assert "Hint: " in done.message(name)
    tables = project.rows("SELECT table_name FROM duckdb_tables() WHERE schema_name = 'main'")
    assert {name for (name,) in tables} == built.tables - {"wards_public"} | {"measured"}


def test_the_plugin_gives_models_the_macros_and_functions(ran: tuple[Project, Done]) -> None:
    project, done = ran
    assert done.status("measured") == "success"
    ((k, diverse),) = project.rows("FROM measured")
    assert (k >= 5, diverse) == (True, 2)


@pytest.mark.full
def test_a_gate_in_the_config_and_any_spelling_of_columns_hold(project: Project) -> None:
    gate = "{'quasi_identifiers': ['WARD', 'class size'], 'k': 5, 'subject': 'Who'}"
    project.write(
        "models/odd.sql",
        GATED
        % (
            f", deid={gate}",
            'SELECT ward, sex AS "class size", age AS who '
            "FROM {{ ref('visits') }} WHERE sex IS NOT NULL",
        ),
    )
    project.run("run", "--select", "odd")
    assert project.rows("SELECT count(DISTINCT who) > 5 FROM odd") == [(True,)]
    project.write(
        "models/odd.sql",
        GATED
        % (
            f", deid={gate}",
            'SELECT ward, sex AS "class size", age % 4 AS who '
            "FROM {{ ref('visits') }} WHERE sex IS NOT NULL",
        ),
    )
    done = project.run("run", "--select", "odd", code=1)
    assert "the smallest class has 4 of 5 subjects" in done.message("odd")


TESTS = """
version: 2
models:
  - name: raw
    data_tests:
      - deid.k_anonymity: {name: sizes, arguments: {quasi_identifiers: [zip, Ward], k: 50}}
      - deid.k_anonymity:
          {name: few, arguments: {quasi_identifiers: [zip, ward], k: 50, sample_limit: 3}}
      - deid.k_anonymity:
          name: shown
          arguments: {quasi_identifiers: [zip, ward], k: 50, show_values: true}
      - deid.k_anonymity:
          name: some_rows
          config: {where: "ward = 'A1'"}
          arguments: {quasi_identifiers: [ward], k: 100000}
      - deid.l_diversity:
          name: alike
          arguments: {quasi_identifiers: [patient], sensitive_column: diagnosis, l: 2}
      - deid.t_closeness:
          name: apart
          arguments: {quasi_identifiers: [patient], sensitive_column: age, t: 0.1, ordered: true}
      - deid.no_direct_identifiers: {name: direct, arguments: {patterns: ["PAT.*", "diag"]}}
      - deid.no_unmapped_values:
          {name: raw_values, arguments: {policy: "ref('visits_public_policy')"}}
      - deid.suppression_limit:
          {name: none_left_out, arguments: {source: "ref('visits')", most: 0}}
  - name: nothing
    data_tests:
      - deid.suppression_limit:
          {name: all_left_out, arguments: {source: "ref('visits')", most: 0.99}}
      - deid.k_anonymity: {name: nobody, arguments: {quasi_identifiers: [ward], k: 2}}
"""


@pytest.mark.full
def test_failing_tests_tell_sizes_and_no_values(project: Project) -> None:
    project.write("models/raw.sql", "SELECT * FROM {{ ref('visits') }}")
    project.write("models/nothing.sql", "SELECT * FROM {{ ref('visits') }} WHERE ward = 'none'")
    project.write("models/tests.yml", TESTS)
    project.run("run", "--select", "raw", "nothing")
    done = project.run("test", "--select", "raw", "nothing", "--store-failures", code=1)
    stored = "main_dbt_test__audit"
    sizes = project.rows("SELECT count(*) FROM visits GROUP BY zip, ward HAVING count(*) < 50")
    assert project.rows(f"FROM {stored}.sizes") == sorted(sizes)
    assert done.failures("sizes") == len(sizes) > 3
    assert project.rows(f"FROM {stored}.few") == sorted(sizes)[:3]
    names = [name for name, *_ in project.rows(f"DESCRIBE {stored}.shown")]
    assert names == ["class_size", "zip", "ward"]
    ((of_ward,),) = project.rows("SELECT count(*) FROM visits WHERE ward = 'A1'")
    assert project.rows(f"FROM {stored}.some_rows") == [(of_ward,)]
    assert project.rows(f"SELECT DISTINCT * FROM {stored}.alike") == [(1, 1)]
    assert done.failures("alike") == 600
    assert [n for n, *_ in project.rows(f"DESCRIBE {stored}.apart")] == ["class_size", "t"]
    assert project.rows(f"FROM {stored}.direct") == [("patient",)]
    assert set(project.rows(f"FROM {stored}.raw_values")) == {("age", 600), ("ward", 600)}
    assert project.rows(f"FROM {stored}.nobody") == [(0,)]
    assert project.rows(f"FROM {stored}.all_left_out") == [(600, 0)]
    assert done.status("none_left_out") == "pass"


@pytest.mark.full
def test_a_database_that_is_in_use_is_told_and_nothing_is_lost(project: Project) -> None:
    before = everything(project, "visits_public")
    with duckdb.connect(str(project.database)) as con:
        con.execute("SELECT 1")
        done = project.run("build", code=2)
        assert "Could not set lock on file" in done.output
        plan = [sys.executable, "-m", "dbdeid", "plan", "visits.yml", "-o", "seeds"]
        found = subprocess.run(
            plan, cwd=project.folder, capture_output=True, text=True, check=False
        )
        assert found.returncode == 2, found.stderr
        assert "hospital.duckdb" in found.stderr
        assert "Hint: " in found.stderr
    assert everything(project, "visits_public") == before
    assert (project.folder / "seeds/visits_public_policy.csv").read_bytes() == (
        ROOT / "tests/dbt/project/seeds/visits_public_policy.csv"
    ).read_bytes()


@pytest.mark.full
def test_a_release_of_dbt_is_exported_and_verified_as_any_file(built: Project) -> None:
    exported = built.folder / "visits_public.parquet"
    built.rows(f"COPY visits_public TO '{exported}'")
    options = [word for name in QIS for word in ("--qi", name)]
    for k, code in ((5, 0), (500, 4)):
        command = [sys.executable, "-m", "dbdeid", "verify", str(exported), *options]
        done = subprocess.run([*command, "--k", str(k)], check=False)
        assert done.returncode == code


@pytest.mark.sampled(2)
@pytest.mark.parametrize("module", ["dbdeid", "dbdeid.cli.app"])
def test_dbdeid_works_without_dbt(module: str) -> None:
    code = f"import sys, {module}; assert not any(n.split('.')[0] == 'dbt' for n in sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True, cwd=Path(__file__).parents[2])
