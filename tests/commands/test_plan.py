"""Plans: what a seed for dbt holds of a release, what it must not, and what is refused."""

from __future__ import annotations

import csv
import io
import json
import subprocess
import sys
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any

import duckdb
import jinja2
import pytest
import tiers
from specs import PEOPLE, small
from typer.testing import CliRunner

from dbdeid.cli.app import app
from dbdeid.cli.text.plan import model
from dbdeid.commands.plan import plan
from dbdeid.errors import DataError, SpecError, Unsatisfiable

COLUMNS: dict[str, Any] = {
    "name": "identifier",
    "age": {"role": "quasi_identifier", "hierarchy": {"intervals": [10, 20]}},
    "zip": {"role": "quasi_identifier", "hierarchy": {"prefix": [3, 1]}},
    "sex": {"role": "quasi_identifier", "hierarchy": "suppress", "domain": ["f", "m", "x"]},
    "illness": {"role": "sensitive", "accept": "homogeneity"},
}
LEVELS = {"age": 1, "zip": 1, "sex": 0}


@pytest.fixture(scope="module")
def database(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("plan") / "people.duckdb"
    with duckdb.connect(str(path)) as con:
        con.execute(PEOPLE)
    return path


def at(
    levels: dict[str, int], columns: dict[str, Any] | None = None, **more: Any
) -> dict[str, Any]:
    method = {"name": "full_domain", "suppression_limit": 1.0, "transformation": levels}
    return small(columns=COLUMNS | (columns or {}), method=method, **more)


PROMISES = ("k", "suppression_limit", "subject", "withheld", "l_diversity", "t_closeness", "column")


def lines(text: str) -> list[list[str]]:
    return list(csv.reader(io.StringIO(text)))[2:]


def rules(text: str, column: str) -> list[tuple[str, ...]]:
    found = [row for row in lines(text) if row[2] not in PROMISES]
    return [tuple(row[2:]) for row in found if row[1] == column]


def promised(text: str) -> list[tuple[str, ...]]:
    """Column, promise, and what it says."""
    return [tuple(row[1:5]) for row in lines(text) if row[2] in PROMISES]


def test_a_policy_is_what_was_declared_at_the_levels_found(database: Path) -> None:
    found = plan(at(LEVELS), database=database)
    assert found.transformation == LEVELS
    assert found.policy.splitlines()[:2] == [
        "place,column_name,rule,argument,label,lower_end,upper_end",
        "0,*,policy,dbdeid 0.2.0,release people_public,inclusive,exclusive",
    ]
    assert rules(found.policy, "age") == [("intervals", "0 10", "", "", "")]
    assert rules(found.policy, "zip") == [("prefix", "3", "", "", "")]
    # the whole domain, whatever of it is in the data
    assert rules(found.policy, "sex") == [("value", v, v, "", "") for v in "fmx"]
    assert promised(found.policy) == [
        ("*", "k", "2", ""),
        ("*", "suppression_limit", "1", ""),
        ("name", "withheld", "", ""),
        ("age", "column", "text", ""),
        ("zip", "column", "text", ""),
        ("sex", "column", "text", ""),
        ("illness", "column", "text", ""),
    ]
    assert found.seed is None
    assert [
        r[:3] for r in rules(plan(at(LEVELS | {"zip": 3}), database=database).policy, "zip")
    ] == [("top", "", "*")]


INTERVALS = {
    "open": ({"intervals": [10]}, [("intervals", "0 10", "", "", "")]),
    "listed": (
        {"intervals": [25], "lower": 30, "upper": 80},
        [
            ("numbers", "", "< 30", "", "30"),
            ("numbers", "", "[30, 50)", "30", "50"),
            ("numbers", "", "[50, 75)", "50", "75"),
            ("numbers", "", "[75, 80)", "75", "80"),
            ("numbers", "", ">= 80", "80", ""),
        ],
    ),
    "cut": (
        {"intervals": [10], "lower": 25, "origin": 3},
        [
            ("numbers", "", "< 25", "", "25"),
            ("numbers", "", "[25, 33)", "25", "33"),
            ("intervals", "3 10", "", "", ""),
        ],
    ),
    "above": (
        {"intervals": [10], "upper": 75},
        [
            ("numbers", "", ">= 75", "75", ""),
            ("numbers", "", "[70, 75)", "70", "75"),
            ("intervals", "0 10", "", "", ""),
        ],
    ),
}


@pytest.mark.sampled(2)
@pytest.mark.parametrize("name", INTERVALS)
def test_intervals_are_listed_between_limits_and_computed_beyond(database: Path, name: str) -> None:
    hierarchy, expected = INTERVALS[name]
    age = {"age": {"role": "quasi_identifier", "hierarchy": hierarchy}}
    assert rules(plan(at(LEVELS, age), database=database).policy, "age") == expected


def test_a_policy_holds_no_value_that_is_only_in_the_data(tmp_path: Path) -> None:
    canary = "9733"
    with duckdb.connect(str(tmp_path / "people.duckdb")) as con:
        con.execute(PEOPLE)
        con.execute(
            f"INSERT INTO people VALUES ('Ada', {canary}, '{canary}7', 'f', 'rare'), "
            f"('Ida', {canary}, '{canary}7', 'f', 'rare')"
        )
    for age, code in tiers.some([*product((0, 1, 2), (0, 1, 2))], 4):
        found = plan(at({"age": age, "zip": code, "sex": 0}), database=tmp_path / "people.duckdb")
        assert canary[:2] not in found.policy
        assert "rare" not in found.policy


def test_method_policy_is_planned_as_the_intervals_chosen(database: Path) -> None:
    columns = {
        "name": "identifier",
        "age": {"role": "quasi_identifier", "domain": [0, 99]},
        "zip": "drop",
        "sex": "drop",
        "illness": {"role": "sensitive", "accept": "homogeneity"},
    }
    method = {"name": "policy", "choose": {"max_loss": 0.9}}
    spec = small(columns=columns, method=method, accept="rows")
    found = plan(spec, database=database)
    listed = rules(found.policy, "age")
    assert [int(r[1]) for r in listed if r[0] == "value"] == sorted(
        map(int, (str(n) for n in range(100))), key=str
    )
    assert len({r[2] for r in listed}) > 1


REFUSED: dict[str, tuple[dict[str, Any], str]] = {
    "relocation": ({"method": "relocation"}, "is no rule for each value"),
    "local": ({"method": "local_recoding"}, "is no rule for each value"),
    "counterfeit": (
        {"method": "counterfeit"},
        "is no rule for each value",
    ),
    "kept": ({"method": {"name": "full_domain", "suppressed": "keep"}}, "leaves records out"),
    "nulls": ({"null_policy": "wildcard"}, "a NULL equals a NULL"),
    "bounds": ({"output": {"bounds": True}}, "a table without bounds"),
    "model": (
        {
            "privacy": [
                {"model": "l_diversity", "column": "illness", "kind": "recursive", "l": 2, "c": 2}
            ]
        },
        "does not measure l_diversity as it is declared",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_dbt_cannot_do_is_refused_with_the_reason(database: Path, name: str) -> None:
    more, told = REFUSED[name]
    with pytest.raises(SpecError, match=told) as error:
        plan(small(**more), database=database)
    assert "Hint" in str(error.value)


@pytest.mark.sampled(3)
@pytest.mark.parametrize("word", ["", "null", "NULL"])
def test_values_that_dbt_takes_for_null_are_refused(database: Path, word: str) -> None:
    sex = {"role": "quasi_identifier", "hierarchy": "suppress", "domain": ["f", "m", word]}
    with pytest.raises(DataError, match="which dbt takes for NULL"):
        plan(at(LEVELS, {"sex": sex}), database=database)


def test_intervals_that_can_be_neither_listed_nor_computed_are_refused(database: Path) -> None:
    half = {"role": "quasi_identifier", "hierarchy": {"intervals": [0.5]}}
    with pytest.raises(DataError, match=r"its intervals of 0.5 cannot be written"):
        plan(at(LEVELS, {"age": half}), database=database)
    listed = {
        "role": "quasi_identifier",
        "hierarchy": {"intervals": [0.5], "lower": 0, "upper": 99},
    }
    assert len(rules(plan(at(LEVELS, {"age": listed}), database=database).policy, "age")) == 200


def test_nothing_is_written_where_nothing_satisfies(database: Path, tmp_path: Path) -> None:
    with pytest.raises(Unsatisfiable):
        plan(
            small(privacy=[{"model": "k_anonymity", "k": 1000}]),
            database=database,
            output=tmp_path,
        )
    assert not list(tmp_path.iterdir())


def test_a_seed_replaces_a_policy_and_nothing_else(database: Path, tmp_path: Path) -> None:
    found = plan(at(LEVELS), database=database, output=tmp_path)
    assert found.seed == tmp_path / "people_public_policy.csv"
    assert found.seed.read_text() == found.policy
    again = plan(at(LEVELS | {"zip": 2}), database=database, output=found.seed)
    assert found.seed.read_text() == again.policy != found.policy
    found.seed.write_text("id,amount\n1,2\n")
    with pytest.raises(DataError, match="is no policy of dbdeid"):
        plan(at(LEVELS), database=database, output=tmp_path)
    assert found.seed.read_text() == "id,amount\n1,2\n"
    taken = tmp_path / "taken"
    taken.write_text("")
    wrong = {
        tmp_path / "policy.txt": "no place for a seed",
        taken: "no place for a seed",
        taken / "policy": "cannot be made",
        tmp_path / "no" / "policy.csv": "no such folder",
    }
    for place, told in wrong.items():
        with pytest.raises(DataError, match=told):
            plan(at(LEVELS), database=database, output=place)
    assert taken.read_text() == ""


def test_a_folder_that_is_missing_is_made(database: Path, tmp_path: Path) -> None:
    found = plan(at(LEVELS), database=database, output=tmp_path / "dbt" / "seeds")
    assert found.seed == tmp_path / "dbt" / "seeds" / "people_public_policy.csv"
    assert found.seed.read_text() == found.policy


@pytest.mark.parametrize("name", ["export.csv", "link.csv"])
def test_a_seed_never_takes_the_place_of_a_file_of_the_spec(
    database: Path, tmp_path: Path, name: str
) -> None:
    export = tmp_path / "export.csv"
    (tmp_path / "link.csv").symlink_to(export)
    plan(at(LEVELS), database=database, output=export)  # what a policy could replace
    before = export.read_text()
    spec = at(LEVELS, output={"export": [str(export)]})
    with pytest.raises(DataError, match="belongs to this spec"):
        plan(spec, database=database, output=tmp_path / name)
    assert export.read_text() == before
    assert (tmp_path / "link.csv").is_symlink()


def test_the_model_names_columns_as_sql_and_jinja_do(database: Path) -> None:
    spec = at(LEVELS, {"illness": "sensitive"}) | {
        "privacy": [
            {"model": "k_anonymity", "k": 3},
            {"model": "l_diversity", "column": "illness", "l": 2},
            {"model": "t_closeness", "column": "illness", "t": 0.9},
        ]
    }
    found = plan(spec, database=database)
    assert any("against the table that it releases" in text for text in found.warnings)
    assert {
        ("illness", "l_diversity", "2", "distinct"),
        ("illness", "t_closeness", "0.9", "equal"),
    } <= {*promised(found.policy)}
    text = model(found)
    assert "meta={'deid': {'policy': 'people_public_policy', 'source': 'people'}}" in text
    assert "ref('people')" in text
    assert """{{ deid.generalize("age", ref('people_public_policy')) }} AS age""" in text


TYPED = """
CREATE OR REPLACE TABLE typed AS
SELECT i % 3 AS age, i AS number, i / 4 AS share, CAST(i AS DECIMAL(9, 2)) AS cost,
  DATE '2024-01-01' + i AS day, TIMESTAMP '2024-01-01' + to_days(i) AS moment,
  TIMESTAMPTZ '2024-01-01' AS zoned, i > 3 AS sick,
  CAST('a' AS ENUM('a', 'b')) AS kind, 'Ann' AS name
FROM (SELECT CAST(range AS INTEGER) AS i FROM range(30))
"""


def test_types_are_called_alike_in_every_database() -> None:
    plain = {"role": "insensitive", "reason": "made up", "accept": "looks_like_identifier"}
    named = ("number", "share", "cost", "day", "moment", "zoned", "sick", "kind")
    spec = {
        "release": "typed_public",
        "source": "typed",
        "columns": {
            "age": {"role": "quasi_identifier", "hierarchy": {"intervals": [10]}},
            **dict.fromkeys(named, plain),
            "name": "identifier",
        },
        "privacy": [{"model": "k_anonymity", "k": 3}],
        "accept": "rows",
        "method": {"name": "full_domain", "transformation": {"age": 0}},
    }
    with duckdb.connect() as con:
        con.execute(TYPED)
        found = plan(spec, con)
    assert {name: kind for name, rule, kind, _ in promised(found.policy) if rule == "column"} == {
        **{"age": "integer", "number": "integer", "share": "float", "cost": "decimal"},
        **{"day": "date", "moment": "timestamp", "zoned": "timestamptz", "sick": "boolean"},
        "kind": "text",
    }
    # an ENUM lists all values there are, so that it never leaves
    assert "CAST(kind AS {{ type_string() }}) AS kind" in model(found)


def test_a_name_with_a_quote_stays_a_name(database: Path) -> None:
    found = replace(plan(at(LEVELS), database=database), source="it's", release="one's", seed=None)
    text = model(found)
    assert r"""{{ ref('it\'s') }}""" in text
    jinja2.Environment().parse(text)


def test_subjects_are_counted_and_need_not_be_released(database: Path) -> None:
    found = plan(at(LEVELS, subject="name"), database=database)
    assert ("name", "subject", "", "") in promised(found.policy)
    assert "name  -- counted, and not released\n  FROM" in model(found)


def test_the_command_writes_and_prints(database: Path, tmp_path: Path) -> None:
    spec = tmp_path / "people.yml"
    spec.write_text(json.dumps(at(LEVELS)))
    words = ["dbt", "plan", str(spec), "--database", str(database)]
    command = [sys.executable, "-m", "dbdeid", *words]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert "nothing was released; policy written to" in done.stderr
    assert done.stdout.startswith("{{ config(materialized='deid_release'")
    assert (tmp_path / "people_public_policy.csv").exists()
    told = json.loads(CliRunner().invoke(app, [*words, "--json"]).stdout)
    assert told["transformation"] == LEVELS
    assert told["seed"] == str(tmp_path / "people_public_policy.csv")
    where = CliRunner().invoke(app, ["dbt", "path"])
    assert (Path(where.stdout.strip()) / "dbt_project.yml").is_file()


def test_the_model_reads_the_table_of_a_schema_by_its_own_name(database: Path) -> None:
    assert plan(at(LEVELS, source="main.people"), database=database).source == "people"
