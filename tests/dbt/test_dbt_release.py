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
TABLES = {"visits"} | {f"{n}_public{s}" for n in ("visits", "wards") for s in ("", "_policy")}
OUTLIER = f"P9999,44,F,A1,03701,{RARE}-05-05,flu"


def everything(project: Project, table: str) -> list[tuple[Any, ...]]:
    return project.rows(f"FROM {table}")


def test_a_build_passes_and_releases_sorted_rows_without_identifiers(built: Project) -> None:
    assert built.tables == TABLES
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
    assert project.tables == TABLES
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
GATE = "'policy': 'wards_public_policy', 'source': 'visits'"
READ = "-- {{ ref('wards_public_policy') }}\n" + WARDS


def gate(text: str) -> str:
    return f", meta={{'deid': {{{text}}}}}"


def of(policy: str) -> tuple[str, str]:
    """A gate by some policy, and a query that reads it."""
    read = f"-- {{{{ ref('{policy}') }}}}\n{WARDS}"
    return gate(f"'policy': '{policy}', 'source': 'visits'"), read


REFUSED = {
    "no_gate": ("", READ, "no gate is declared, and without one nothing is released"),
    "no_mapping": (", meta={'deid': 'strict'}", READ, "no gate is declared"),
    "empty_gate": (gate(""), READ, "the gate has no source"),
    "no_policy": (gate("'source': 'visits'"), READ, "the gate has no policy"),
    "earlier": (
        gate("'quasi_identifiers': ['ward'], 'k': 5"),
        READ,
        "quasi_identifiers is what the plan says, not the model",
    ),
    "weaker": (gate(GATE + ", 'k': 1"), READ, "k is what the plan says, not the model"),
    "misspelt": (gate(GATE + ", 'polices': {}"), READ, "unknown key polices"),
    "two_gates": (gate(GATE) + f", deid={{{GATE}}}", READ, "two gates are declared"),
    "no_boolean": (gate(GATE + ", 'incremental': 'yes'"), READ, "incremental is true or false"),
    "keyed": (gate(GATE) + ", unique_key='ward'", READ, "unique_key needs records that can be"),
    "unread_policy": (
        gate(GATE),
        WARDS,
        "the policy of the gate is wards_public_policy, which the model does not read",
    ),
    "unread_source": (
        gate("'policy': 'wards_public_policy', 'source': 'visitors'"),
        READ,
        "the source of the gate is visitors, which the model does not read",
    ),
    "ephemeral_source": (
        gate("'policy': 'wards_public_policy', 'source': 'fleeting'"),
        READ + " -- {{ ref('fleeting') }}",
        "fleeting is ephemeral, so that its records cannot be compared with",
    ),
    "of_an_earlier_version": (*of("old_policy"), "does not say how large a class must be"),
    "of_no_columns": (*of("bare_policy"), "does not say which columns are released"),
    "of_an_unknown_rule": (*of("odd_policy"), "a policy has a rule that is none"),
    "of_an_unknown_type": (*of("typed_policy"), "a policy has a rule that is none"),
    "of_no_number": (*of("worded_policy"), "a policy has a rule that is none"),
    "of_half_a_record": (*of("half_policy"), "k: expects a whole number from 1"),
    "of_people_in_increments": (
        gate("'policy': 'people_policy', 'source': 'visits', 'incremental': true"),
        "-- {{ ref('people_policy') }}\n" + WARDS,
        "nobody can count whose records are there already",
    ),
    "of_another_table": (
        *of("strange_policy"),
        "there is no column shoe, which the plan has: select it, or plan again without it",
    ),
}
HEAD = "place,column_name,rule,argument,label,lower_end,upper_end\n0,*,policy,a,b,c,d\n"
PLANS = {
    "old": "1,ward,keep,,,,",
    "bare": "1,*,k,5,,,\n2,*,suppression_limit,0,,,\n3,ward,keep,,,,",
    "odd": "1,*,k,5,,,\n2,ward,lenient,,,,",
    "typed": "1,*,k,5,,,\n2,*,suppression_limit,0,,,\n3,ward,column,ENUM,,,\n4,ward,keep,,,,",
    "worded": "1,*,k,few,,,",
    "half": "1,*,k,0.5,,,",
    "people": "1,*,k,5,,,\n2,*,suppression_limit,0,,,\n3,patient,subject,,,,\n"
    "4,ward,column,text,,,\n5,ward,keep,,,,",
    "strange": "1,*,k,5,,,\n2,*,suppression_limit,0,,,\n3,ward,column,text,,,\n"
    "4,shoe,column,text,,,\n5,diagnosis,column,text,,,\n6,ward,keep,,,,",
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
    for name, lines in PLANS.items():
        project.write(f"seeds/{name}_policy.csv", f"{HEAD}{lines}\n")
    project.write("models/fleeting.sql", f"{{{{ config(materialized='ephemeral') }}}}\n{WARDS}")
    project.write(
        "models/measured.sql",
        "{{ config(materialized='table') }}\n"
        "SELECT deid.k('main.visits_public', ['age', 'sex']) AS k,\n"
        "  deid_entropy_l([1, 1]) AS l FROM {{ ref('visits_public') }} LIMIT 1",
    )
    project.plant(OUTLIER)
    with duckdb.connect(str(project.database)) as con:
        con.execute("DROP TABLE wards_public")
    seeds = [f"{name}_policy" for name in PLANS]
    chosen = ("+wards_public", "measured", *seeds, *REFUSED)
    return project, project.run("build", "--select", *chosen, code=1)


@pytest.mark.full
def test_a_first_release_that_fails_leaves_nothing(ran: tuple[Project, Done]) -> None:
    project, done = ran
    message = done.message("wards_public")
    assert "not released, and there is none yet" in message
    assert "the smallest class has 1 of 5 records; 1 of 601 records are in 1 of" in message
    assert "entropy l-diversity of diagnosis: the worst class has l = 1, not 2" in message
    assert "t-closeness of diagnosis: the worst class has t = 0." in message
    assert RARE not in done.output
    left = {name for name in project.tables if name.startswith("wards_public")}
    assert left == {"wards_public_policy"}


@pytest.mark.full
def test_what_declares_no_sound_gate_is_refused(ran: tuple[Project, Done], built: Project) -> None:
    project, done = ran
    for name, (_, _, told) in REFUSED.items():
        assert done.status(name) == "error", name
        assert told in done.message(name), (name, done.message(name))
        assert "Hint: " in done.message(name)
    tables = project.rows("SELECT table_name FROM duckdb_tables() WHERE schema_name = 'main'")
    assert {name for (name,) in tables} == (
        built.tables - {"wards_public"} | {"measured"} | {f"{name}_policy" for name in PLANS}
    )


@pytest.mark.full
def test_the_plugin_gives_models_the_macros_and_functions(ran: tuple[Project, Done]) -> None:
    project, done = ran
    assert done.status("measured") == "success"
    ((k, diverse),) = project.rows("FROM measured")
    assert (k >= 5, diverse) == (True, 2)


ODD = f"""{HEAD}1,*,k,5,,,
2,*,suppression_limit,1,,,
3,Who,subject,,,,
4,WARD,column,text,,,
5,class size,column,text,,,
6,WARD,keep,,,,
7,class size,keep,,,,
"""


@pytest.mark.full
def test_a_gate_in_the_config_and_any_spelling_of_columns_hold(project: Project) -> None:
    project.write("seeds/odd_policy.csv", ODD)
    project.write(
        "models/people.sql",
        "{{ config(materialized='table') }}\n"
        """SELECT ward, sex AS "class size", age {{ var('fewer', '') }} AS who """
        "FROM {{ ref('visits') }} WHERE sex IS NOT NULL",
    )
    config = ", deid={'policy': 'odd_policy', 'source': 'people'}"
    query = "SELECT * FROM {{ ref('people') }} -- {{ ref('odd_policy') }}"
    project.write("models/odd.sql", GATED % (config, query))
    project.run("build", "--select", "odd_policy", "people", "odd")
    # whose they are was counted, and is not released
    assert [name for name, *_ in project.rows("DESCRIBE odd")] == ["ward", "class size"]
    before = everything(project, "odd")
    fewer = ("--vars", "{fewer: '% 4'}")
    done = project.run("build", "--select", "people", "odd", *fewer, code=1)
    assert "the smallest class has 4 of 5 subjects" in done.message("odd")
    assert everything(project, "odd") == before
    assert not {name for name in project.tables if "__" in name}


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
        plan = [sys.executable, "-m", "dbdeid", "dbt", "plan", "visits.yml", "-o", "seeds"]
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
