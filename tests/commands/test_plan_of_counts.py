"""Planning of counts: the same choice as of the table, and nothing but what was counted."""

from __future__ import annotations

import csv
import json
from collections import Counter
from pathlib import Path
from typing import Any

import duckdb
import pytest
from specs import PEOPLE, oracle, small, spec_of
from typer.testing import CliRunner

import dbdeid
from dbdeid.cli.app import app
from dbdeid.commands.histogram import histogram
from dbdeid.commands.plan import DbtPlan, plan
from dbdeid.commands.search import search
from dbdeid.errors import DataError, SpecError

COLUMNS: dict[str, Any] = {
    "name": "identifier",
    "age": {
        "role": "quasi_identifier",
        "hierarchy": {"intervals": [10, 20], "lower": 0, "upper": 120},
        "min_level": 1,
    },
    "zip": {"role": "quasi_identifier", "hierarchy": {"prefix": [3, 1]}},
    "sex": {"role": "quasi_identifier", "hierarchy": "suppress", "domain": ["f", "m", "x"]},
    "illness": {"role": "sensitive", "accept": "homogeneity"},
}
MODELS = [
    {"model": "k_anonymity", "k": 2},
    {"model": "l_diversity", "column": "illness", "l": 2},
    {"model": "t_closeness", "column": "illness", "t": 0.8},
]


def people(**more: Any) -> dict[str, Any]:
    method = {"name": "full_domain", "suppression_limit": 0.5}
    return small(**{"columns": COLUMNS, "method": method, "privacy": MODELS} | more)


@pytest.fixture
def database(tmp_path: Path) -> Path:
    path = tmp_path / "people.duckdb"
    with duckdb.connect(str(path)) as con:
        con.execute(PEOPLE)
    return path


def counted(spec: dict[str, Any], database: Path | None, place: Path) -> Path:
    """The histogram of a spec, as its query gives it."""
    with duckdb.connect(str(database or ":memory:"), read_only=database is not None) as con:
        con.execute(f"COPY ({histogram(spec).sql}) TO '{place}'")
    place.chmod(0o600)
    return place


def rules(found: DbtPlan) -> list[str]:
    """The lines of a policy that tell no type."""
    return [line for line in found.policy.splitlines() if ",column," not in line]


def typeless(found: DbtPlan) -> dict[str, Any]:
    """The promises of a plan, of columns their names."""
    promises = found.promises.to_dict()
    return promises | {"columns": list(promises["columns"])}


@pytest.mark.full
@pytest.mark.parametrize("ending", ["parquet", "csv"])
def test_a_plan_of_counts_is_the_plan_of_the_table(
    database: Path, tmp_path: Path, ending: str
) -> None:
    spec = people()
    counts = counted(spec, database, tmp_path / f"counts.{ending}")
    of_table, of_counts = plan(spec, database=database), plan(spec, histogram=counts)
    assert rules(of_counts) == rules(of_table)
    assert typeless(of_counts) == typeless(of_table)
    types = {c.name: c.type for c in of_counts.promises.columns}
    assert set(types.values()) <= {"text", "as_source"}
    assert types["illness"] == "as_source"
    assert of_counts.source == of_table.source
    assert (of_counts.source_rows, of_counts.suppressed_rows) == (
        *(of_table.source_rows, of_table.suppressed_rows),
    )
    assert of_counts.loss == pytest.approx(of_table.loss)


@pytest.mark.sampled(6)
@pytest.mark.parametrize(
    ("dataset", "metric"),
    [
        ("adult", "loss"),
        ("creditcard", "loss"),
        ("ss13", "loss"),
        ("ihis", "loss"),
        ("adult", "dm"),
    ],
)
def test_a_search_of_counts_is_the_search_of_the_table(
    dataset: str, metric: str, shared: Path, tmp_path: Path
) -> None:
    entry = next(
        e
        for e in oracle(shared)
        if e["dataset"].startswith(dataset) and (e["metric"] == "dm") == (metric == "dm")
    )
    spec = spec_of(entry, shared)
    for column in list(spec["columns"].values())[::2]:
        column["min_level"] = 1
    counts = counted(spec, None, tmp_path / "counts.parquet")
    of_table, of_counts = search(spec), search(spec, histogram=counts)
    same = ("suppressed_rows", "classes", "smallest_class", "source_rows")
    assert {key: of_counts[key] for key in same} == {key: of_table[key] for key in same}
    assert [*of_counts["transformation"].values()] == [*of_table["transformation"].values()]
    assert of_counts["score"] == pytest.approx(of_table["score"])


def labelled(value: Any, lines: list[list[str]]) -> Any:
    """A value generalized by the lines of a policy, read here without the macros of dbt."""
    if lines[-1][2] in ("keep", "top"):
        return value if lines[-1][2] == "keep" else lines[-1][4]
    if value is None:
        return None
    for _, _, rule, argument, label, lower, upper in lines:
        if rule == "prefix":
            return str(value)[: int(argument)] + "*" * (len(str(value)) - int(argument))
        if rule == "value" and str(value) == argument:
            return label
        if rule == "numbers" and float(lower or "-inf") <= value < float(upper or "inf"):
            return label
        if rule == "intervals":
            origin, width = map(int, argument.split())
            start = (value - origin) // width * width + origin
            return f"[{start}, {start + width})"
    raise AssertionError(lines)


def test_what_a_policy_says_is_what_a_run_releases(database: Path, tmp_path: Path) -> None:
    models, qis = MODELS[:2], ("age", "zip", "sex")
    spec = people(privacy=models, evaluate={"metrics": []})
    found = plan(spec, histogram=counted(spec, database, tmp_path / "counts.parquet"))
    lines = list(csv.reader(found.policy.splitlines()))[1:]
    of = {q: [row for row in lines if row[1] == q and row[2] != "column"] for q in qis}
    with duckdb.connect(str(database)) as con:
        rows = con.execute("SELECT age, zip, sex, illness FROM people").fetchall()
    made = [
        (*(labelled(v, of[q]) for q, v in zip(qis, row[:3], strict=True)), row[3]) for row in rows
    ]
    classes: dict[Any, list[Any]] = {}
    for row in made:
        classes.setdefault(row[:3], []).append(row)
    kept = Counter(r for c in classes.values() if len({x[3] for x in c}) >= 2 for r in c)
    target = tmp_path / "released.duckdb"
    run = dbdeid.run({**spec, "target": str(target)}, database=database)
    assert dict(run.transformation) == dict(found.transformation)
    with duckdb.connect(str(target)) as con:
        released = con.execute("SELECT age, zip, sex, illness FROM people_public").fetchall()
    assert Counter(released) == kept
    assert len(released) == 200 - found.suppressed_rows


@pytest.mark.full
def test_fractions_count_as_fractions(database: Path, tmp_path: Path) -> None:
    with duckdb.connect(str(database)) as con:
        con.execute("ALTER TABLE people ALTER age TYPE DOUBLE")
    counts = counted(people(), database, tmp_path / "counts.parquet")
    of_table, of_counts = plan(people(), database=database), plan(people(), histogram=counts)
    assert rules(of_counts) == rules(of_table)
    assert of_counts.loss == pytest.approx(of_table.loss)


def test_what_a_minimal_level_hides_is_not_counted(database: Path, tmp_path: Path) -> None:
    written = histogram(people())
    assert written.generalized == {"age": 1}
    counts = counted(people(), database, tmp_path / "counts.parquet")
    ages = duckdb.sql(f"SELECT DISTINCT age FROM '{counts}'").fetchall()
    assert all(age is None or age % 10 == 0 for (age,) in ages)
    assert "name" not in written.sql


def test_texts_stay_texts(tmp_path: Path) -> None:
    place = tmp_path / "counts.csv"
    rows = ["01,f,flu,2", "1,f,cold,2", "01,m,cold,2", "1,m,flu,2"]
    place.write_text("zip,sex,illness,deid_records\n" + "\n".join(rows) + "\n")
    columns = {key: COLUMNS[key] for key in ("zip", "sex", "illness")}
    spec = people(columns=columns, privacy=[{"model": "k_anonymity", "k": 2}])
    spec["privacy"].append({"model": "l_diversity", "column": "illness", "l": 1})
    found = search(spec, histogram=place)
    assert found["classes"] == 4
    assert found["transformation"] == {"zip": 0, "sex": 0}


HEAD = "age,zip,sex,illness,deid_records\n"


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("age,zip,sex,deid_records\n30,123,f,3\n", "no column 'illness'"),
        ("age,zip,sex,illness,name,deid_records\n30,123,f,flu,Ann,3\n", "has columns besides"),
        (HEAD, "has no rows"),
        (HEAD + "30,123,f,flu,0\n", "no count in 1 of 1 rows"),
        (HEAD + "30,123,f,flu,1.5\n", "no count in 1 of 1 rows"),
        (HEAD + "30,123,f,flu,\n30,123,m,flu,2\n", "no count in 1 of 2 rows"),
        (HEAD + "30,123,f,flu,many\n", "is no number"),
        (HEAD + "30,123,f,flu,2\n30,123,f,flu,3\n", "1 of 2 rows count a combination"),
    ],
)
def test_what_is_no_histogram_is_refused(tmp_path: Path, text: str, told: str) -> None:
    place = tmp_path / "counts.csv"
    place.write_text(text)
    with pytest.raises(DataError, match=told) as error:
        plan(people(), histogram=place)
    assert "Ann" not in str(error.value)


def test_a_histogram_that_is_not_there(tmp_path: Path, database: Path) -> None:
    with pytest.raises(DataError, match="does not exist"):
        plan(people(), histogram=tmp_path / "counts.parquet")
    with pytest.raises(DataError, match="histogram: no table or view 'counts'"):
        plan(people(), histogram="counts", database=database)


def test_a_folder_of_files_is_a_histogram(database: Path, tmp_path: Path) -> None:
    folder = tmp_path / "counts"
    folder.mkdir(mode=0o755)
    whole = counted(people(), database, tmp_path / "whole.parquet")
    for n in (0, 1):  # as Spark writes them
        rows = f"SELECT * FROM '{whole}' WHERE sex IS NULL = ({n} = 0)"
        duckdb.sql(f"COPY ({rows}) TO '{folder}/part-{n}.parquet'")
    found = plan(people(), histogram=f"{folder}/")
    assert typeless(found) == typeless(plan(people(), histogram=whole))
    assert any("chmod 700 counts" in w for w in found.warnings)


def test_a_table_is_a_histogram(database: Path) -> None:
    with duckdb.connect(str(database)) as con:
        con.execute(f"CREATE TABLE counts AS {histogram(people()).sql}")
    found = plan(people(), histogram="counts", database=database)
    assert typeless(found) == typeless(plan(people(), database=database))


def test_others_may_not_read_it(database: Path, tmp_path: Path) -> None:
    counts = counted(people(), database, tmp_path / "counts.parquet")
    assert not [w for w in plan(people(), histogram=counts).warnings if "chmod" in w]
    counts.chmod(0o644)
    assert [w for w in plan(people(), histogram=counts).warnings if "chmod 600" in w]


def test_columns_that_were_not_looked_at_are_named(database: Path, tmp_path: Path) -> None:
    columns = COLUMNS | {"illness": {**COLUMNS["illness"], "reason": "a word of eight"}}
    spec = people(columns=columns, privacy=[{"model": "k_anonymity", "k": 2}])
    counts = counted(spec, database, tmp_path / "counts.parquet")
    found = plan(spec, histogram=counts)
    assert typeless(found) == typeless(plan(spec, database=database))
    assert any("not looked at before they leave: illness" in w for w in found.warnings)


def test_columns_that_nobody_looks_at_need_a_reason(database: Path, tmp_path: Path) -> None:
    spec = people(columns=COLUMNS | {"name": "insensitive"})
    with pytest.raises(SpecError, match="column 'name' looks like a direct identifier"):
        plan(spec, database=database)
    counts = counted(spec, database, tmp_path / "counts.parquet")
    with pytest.raises(SpecError, match="column 'name' leaves as it is, and is not in the histog"):
        plan(spec, histogram=counts)
    assert search(spec, histogram=counts)["transformation"]


@pytest.mark.parametrize(
    ("more", "told"),
    [
        ({"subject": "name"}, "counts records"),
        ({"method": {"name": "local_recoding"}}, "needs the records"),
    ],
)
def test_what_counts_do_not_suffice_for(more: dict[str, Any], told: str) -> None:
    with pytest.raises(SpecError, match=told):
        histogram(people(**more))


def test_what_a_plan_would_refuse_is_told_before_anybody_counts(tmp_path: Path) -> None:
    assert not histogram(people()).unplanned
    (told,) = histogram(people(output={"bounds": True})).unplanned
    assert "without bounds" in told
    file = tmp_path / "people.yml"
    file.write_text(json.dumps(people(output={"bounds": True})))
    done = CliRunner().invoke(app, ["dbt", "histogram", str(file)])
    assert done.exit_code == 0
    assert "`dbdeid dbt plan` would refuse this" in done.stderr


def test_a_dialect_that_is_not_known() -> None:
    with pytest.raises(DataError, match="no dialect 'snowflak'") as error:
        histogram(people(), dialect="snowflak")
    assert "snowflake" in str(error.value)


def test_a_source_that_is_not_in_the_warehouse(tmp_path: Path) -> None:
    for source in ("people.csv", {"sql": "SELECT * FROM people", "name": "people"}):
        with pytest.raises(DataError, match="which bigquery cannot read"):
            histogram(people(source=source), dialect="bigquery")
        written = histogram(people(source=source), dialect="bigquery", table="raw.people")
        assert "FROM `raw`.`people`" in written.sql


def test_by_command(database: Path, tmp_path: Path) -> None:
    file = tmp_path / "people.yml"
    file.write_text(json.dumps(people()))
    done = CliRunner().invoke(
        app, ["dbt", "histogram", str(file), "--table", "{{ ref('people') }}"]
    )
    assert done.exit_code == 0
    assert "FROM {{ ref('people') }}" in done.stdout
    counts = counted(people(), database, tmp_path / "counts.parquet")
    for command in (
        ["dbt", "plan", str(file), "-o", str(tmp_path / "p.csv")],
        ["search", str(file)],
    ):
        done = CliRunner().invoke(app, [*command, "--histogram", str(counts)])
        assert done.exit_code == 0, done.output
    assert (tmp_path / "p.csv").is_file()
