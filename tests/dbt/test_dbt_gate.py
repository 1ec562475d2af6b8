"""Nothing passes the gate of dbt that was not planned: no column, no type, no record."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import duckdb
import pytest
from dbt_attempts import ATTEMPTS, SPEC, STAYS, Attempt
from hospital import Done
from postgres_server import programs
from warehouses import NO_SERVER, Warehouse, warehouse

from dbdeid.cli.text.plan import model
from dbdeid.commands.plan import DbtPlan, plan

ADAPTERS = {
    "duckdb": (),
    "postgres": (
        pytest.mark.full,
        pytest.mark.skipif(programs() is None, reason=NO_SERVER),
    ),
}
# what the attempts cast to
TYPES = {
    "duckdb": """
        CREATE TYPE ward_kind AS ENUM ('surgery', 'medicine');
        CREATE TYPE diagnosis_kind AS ENUM ('asthma', 'flu', 'fracture', 'migraine');
    """,
    "postgres": """
        CREATE TYPE ward_kind AS ENUM ('surgery', 'medicine');
        CREATE TYPE diagnosis_kind AS ENUM ('asthma', 'flu', 'fracture', 'migraine');
        CREATE DOMAIN ward_domain AS TEXT CHECK (VALUE IN ('surgery', 'medicine'));
        CREATE COLLATION loose (provider = icu, locale = 'und-u-ks-level2', deterministic = false);
    """,
}


@pytest.fixture(scope="module")
def planned(tmp_path_factory: pytest.TempPathFactory) -> DbtPlan:
    """The plan that all attempts are held to: dbdeid makes it in DuckDB, for any database."""
    seed = Path(__file__).with_name("project") / "seeds" / "visits.csv"
    with duckdb.connect() as con:
        con.execute(f"CREATE TABLE visits AS FROM read_csv('{seed}', types = {{'zip': 'VARCHAR'}})")
        query = STAYS.split("\n", 1)[1].replace("{{ ref('visits') }}", "visits")
        con.execute(f"CREATE TABLE stays AS {query}")
        place = tmp_path_factory.mktemp("planned") / "stays_policy.csv"
        return plan(SPEC, con, output=place)


@dataclass(frozen=True)
class Gated:
    """One build of all attempts, and of releases that are as planned."""

    place: Warehouse
    done: Done


@pytest.fixture(scope="module")
def on_duckdb(
    dbt: Path, planned: DbtPlan, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Gated]:
    with warehouse("duckdb", tmp_path_factory.mktemp("on_duckdb") / "hospital", dbt) as place:
        yield built_in(place, "duckdb", planned)


@pytest.fixture(scope="module")
def on_postgres(
    dbt: Path, planned: DbtPlan, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Gated]:
    with warehouse("postgres", tmp_path_factory.mktemp("on_postgres") / "hospital", dbt) as place:
        yield built_in(place, "postgres", planned)


@pytest.fixture
def gated(request: pytest.FixtureRequest, adapter: str) -> Gated:
    found: Gated = request.getfixturevalue(f"on_{adapter}")
    return found


def built_in(place: Warehouse, adapter: str, planned: DbtPlan) -> Gated:
    project = place.project
    place.ask(TYPES[adapter])
    project.write("seeds/stays_policy.csv", planned.policy)
    project.write("models/stays.sql", STAYS)
    project.write(
        "models/own_policy.sql",
        "{{ config(materialized='table') }} SELECT * FROM {{ ref('stays_policy') }}",
    )
    project.write("models/as_planned.sql", model(planned))
    copied = "CREATE TABLE copied AS SELECT * FROM {{ this }}"
    hooked = Attempt("SELECT * FROM kept", "", config=f"post_hook='{copied}'")
    project.write("models/with_a_hook.sql", hooked.model)
    for name, attempt in attempts(adapter):
        project.write(f"models/{name}.sql", attempt.model)
    columns = ["ward", "age", "diagnosis", "admitted", "days", "cost"]
    listed = ", ".join(f"{{name: {c}, data_type: text}}" for c in columns)
    project.write("models/schema.yml", f"models: [{{name: contract, columns: [{listed}]}}]\n")
    return Gated(place, project.run("build", code=1))


def attempts(adapter: str) -> list[tuple[str, Attempt]]:
    return [(name, one) for name, one in ATTEMPTS.items() if adapter in one.adapters]


@pytest.mark.parametrize(
    ("adapter", "name"),
    [
        pytest.param(adapter, name, marks=marks)
        for adapter, marks in ADAPTERS.items()
        for name, _ in attempts(adapter)
    ],
)
def test_nothing_passes_that_is_not_planned(gated: Gated, name: str) -> None:
    message = gated.done.message(name)
    assert gated.done.status(name) == "error"
    assert ATTEMPTS[name].told in message, message
    assert "Hint: " in message
    assert not re.search(r"P0\d\d\d|fracture|03\d\d\d", message), message
    for left in (name, f"{name}__dbt_tmp", f"{name}__deid_tmp", f"{name}__dbt_backup"):
        assert not gated.place.has(left)


def test_there_are_many_attempts_of_each_kind() -> None:
    assert all(len(attempts(adapter)) >= 40 for adapter in ADAPTERS)


@pytest.mark.parametrize(
    "adapter", [pytest.param(adapter, marks=marks) for adapter, marks in ADAPTERS.items()]
)
def test_what_is_planned_passes_with_hooks_that_change_nothing(gated: Gated) -> None:
    assert gated.done.status("as_planned") == "success"
    assert gated.done.status("with_a_hook") == "success"
    query = "SELECT * FROM {} ORDER BY ward, age, diagnosis, admitted, days, cost"
    found = gated.place.ask(query.format("as_planned"))
    assert found == gated.place.ask(query.format("with_a_hook"))
    assert found == gated.place.ask(query.format("copied"))
    assert len(found) == 542
