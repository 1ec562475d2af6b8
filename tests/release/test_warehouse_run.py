"""A release in a warehouse, here one that needs no other program: as of any table, from counts."""

from __future__ import annotations

import random
from collections import Counter
from typing import Any

import duckdb
import pyarrow as pa
import pytest
from warehouse_here import WarehouseHere

import dbdeid
from dbdeid.engine.duckdb.statements import Statements
from dbdeid.engine.relation import Relation
from dbdeid.engine.session import Step
from dbdeid.errors import DataError, SpecError, VerificationError
from dbdeid.release.result import RunResult

REASON = "nobody outside has it"
RECORDS = 4000


def visits(records: int = RECORDS, seed: int = 7) -> pa.Table:
    """Records of which many are alike, and some lack a value."""
    rng = random.Random(seed)

    def some(value: Any, share: float) -> Any:
        return None if rng.random() < share else value

    rows = [
        {
            "age": some(round(90 * rng.random() ** 2), 0.02),
            "zip": some(f"8{rng.randint(0, 2)}{rng.randint(0, 4)}01", 0.02),
            "sex": rng.choice(["f", "m"]),
            "ill": some(rng.choice(["flu", "Flu ", "cold", "gout"]), 0.01),
            "cost": rng.randint(1, 6),
        }
        for _ in range(records)
    ]
    return pa.Table.from_pylist(rows)


def spec(**more: Any) -> dict[str, Any]:
    """A specification of them."""
    return {
        "release": "visits_public",
        "source": "visits",
        "columns": {
            "age": {"role": "quasi_identifier", "hierarchy": {"intervals": [5, 10, 20, 40]}},
            "zip": {"role": "quasi_identifier", "hierarchy": {"prefix": [4, 3, 2, 1]}},
            "sex": {"role": "quasi_identifier", "hierarchy": "suppress"},
            "ill": {"role": "sensitive", "accept": "homogeneity", "reason": REASON},
            "cost": {"role": "sensitive", "accept": "homogeneity", "reason": REASON},
        },
        "privacy": [
            {"model": "k_anonymity", "k": 5},
            {"model": "l_diversity", "column": "ill", "l": 2},
        ],
        "method": {"name": "full_domain", "suppression_limit": 0.05},
        "accept": "rows",
        **more,
    }


def counted(rows: pa.Table) -> Counter[str]:
    return Counter(map(repr, rows.to_pylist()))


def run_there(
    monkeypatch: pytest.MonkeyPatch, given: dict[str, Any], warehouse: WarehouseHere
) -> RunResult:
    monkeypatch.setattr("dbdeid.release.run.warehouse_of", lambda _: warehouse)
    try:
        return dbdeid.run(given, connection=object())
    finally:
        monkeypatch.undo()


STAR: dict[str, Any] = {
    "method": {"name": "full_domain", "suppression_limit": 0.1, "suppressed": "keep"},
    "output": {"bounds": True},
}
RELATIVE: dict[str, Any] = {
    "privacy": [
        {"model": "t_closeness", "column": "ill", "t": 0.3},
        {"model": "enhanced_beta", "column": "cost", "beta": 2},
        {"model": "max_risk", "attacker": "prosecutor", "threshold": 0.1},
    ]
}
PEOPLE: dict[str, Any] = {
    "privacy": [
        {"model": "k_map", "k": 8, "population": "census"},
        {"model": "delta_presence", "min": 0, "max": 0.6, "population": "census"},
        {"model": "max_risk", "attacker": "journalist", "threshold": 0.1, "population": "counts"},
    ]
}
MORE: dict[str, dict[str, Any]] = {
    "l": {},
    "bounds": {"output": {"bounds": True}, "privacy": [{"model": "k_anonymity", "k": 20}]},
    "metrics": {"evaluate": {"metrics": ["loss", "association", "propensity"]}},
    "exclude": {"null_policy": "exclude", "privacy": [{"model": "k_anonymity", "k": 4}]},
    "wildcard": {"null_policy": "wildcard", "privacy": [{"model": "k_anonymity", "k": 7}]},
}


@pytest.mark.parametrize(
    "more",
    [
        pytest.param(STAR, id="star"),
        pytest.param(RELATIVE, id="relative", marks=pytest.mark.full),
        pytest.param(PEOPLE, id="people"),
        *(pytest.param(more, id=name, marks=pytest.mark.full) for name, more in MORE.items()),
    ],
)
def test_a_release_of_counts_is_that_of_the_records(
    monkeypatch: pytest.MonkeyPatch, more: dict[str, Any]
) -> None:
    given, warehouse = spec(**more), WarehouseHere()
    others = visits(3 * RECORDS, seed=8).drop_columns(["ill", "cost"])
    people = others.append_column("people", pa.array([1, 2, 0] * RECORDS))
    kept = {"visits": visits(), "census": others, "counts": people}
    for name, rows in kept.items():
        warehouse.keep(name, rows)
    there = run_there(monkeypatch, given, warehouse)
    with duckdb.connect() as connection:
        for name, rows in kept.items():
            connection.register("given", rows)
            connection.execute(f"CREATE TABLE {name} AS FROM given")
        here = dbdeid.run(given, connection=connection)
        tables = [connection.sql(f"FROM {name}").to_arrow_table() for name in _names()]
    assert there.verified
    assert there.transformation == here.transformation
    assert there.suppressed_rows == here.suppressed_rows > 0
    assert there.promises == here.promises
    assert there.remains == here.remains
    assert there.record.risk is not None
    assert here.record.risk is not None
    for side in ("before", "after"):
        own = getattr(there.record.risk, side).model_dump()
        assert own == pytest.approx(getattr(here.record.risk, side).model_dump())
    assert there.metrics == pytest.approx(here.metrics)
    for name, own in zip(_names(), tables, strict=True):
        assert counted(warehouse.rows(name)) == counted(own)
    assert warehouse.names() == {*kept, *_names()}


def _names() -> tuple[str, str]:
    return "visits_public", "visits_public_dictionary"


def of_people(number: int = 1500) -> tuple[dict[str, Any], pa.Table]:
    """A specification that counts people, some of whom have several records, and the table."""
    given = spec(columns={"who": "identifier", **spec()["columns"]}, subject="who")
    del given["accept"]
    who = [f"Ann {i if i % 3 else i % 40}" for i in range(number)]
    return given, visits(number).add_column(0, "who", pa.array(who))


@pytest.mark.parametrize(
    "more",
    [
        pytest.param(STAR, id="star"),
        pytest.param({"privacy": [*PEOPLE["privacy"][:1], *spec()["privacy"]]}, id="population"),
        pytest.param(RELATIVE, id="relative", marks=pytest.mark.full),
        pytest.param({"null_policy": "exclude"}, id="exclude", marks=pytest.mark.full),
    ],
)
def test_people_count_from_profiles_as_from_records(
    monkeypatch: pytest.MonkeyPatch, more: dict[str, Any]
) -> None:
    given, rows = of_people()
    limit = {"method": {"name": "full_domain", "suppression_limit": 0.2}}
    given, warehouse = {**given, **limit, **more}, WarehouseHere()
    kept = {"visits": rows, "census": visits(6000, seed=8).drop_columns(["ill", "cost"])}
    for name, table in kept.items():
        warehouse.keep(name, table)
    there = run_there(monkeypatch, given, warehouse)
    with duckdb.connect() as connection:
        for name, table in kept.items():
            connection.register("given", table)
            connection.execute(f"CREATE TABLE {name} AS FROM given")
        here = dbdeid.run(given, connection=connection)
        own = [connection.sql(f"FROM {name}").to_arrow_table() for name in _names()]
    assert there.transformation == here.transformation
    assert there.suppressed_subjects == here.suppressed_subjects > 0
    assert there.promises == here.promises
    assert there.remains == here.remains
    assert there.metrics == pytest.approx(here.metrics)
    for name, table in zip(_names(), own, strict=True):
        assert counted(warehouse.rows(name)) == counted(table)
    assert not any("who" in names for _, names in warehouse.left)


def test_people_with_the_same_records_come_once(monkeypatch: pytest.MonkeyPatch) -> None:
    given, rows = of_people()
    others = pa.array([f"Bea {name}" for name in rows["who"].to_pylist()])
    warehouse = WarehouseHere()
    warehouse.keep("visits", pa.concat_tables([rows, rows.set_column(0, "who", others)]))
    assert run_there(monkeypatch, given, warehouse).verified
    left = [number for number, names in warehouse.left if "deid_first" in names]
    assert len(left) == 2  # of the source to plan, and generalized to verify
    assert max(left) <= rows.num_rows


def test_nothing_is_staged_for_each_record(monkeypatch: pytest.MonkeyPatch) -> None:
    made: dict[str, int] = {}
    run = Statements.run

    def watched(self: Statements, step: Step) -> Relation:
        found = run(self, step)
        if step.stored:
            made[step.name] = self.row(f'SELECT count(*) FROM temp.main."{step.name}"')[0]
        return found

    warehouse = WarehouseHere()
    once = visits()
    warehouse.keep("visits", pa.concat_tables([once] * 5))
    monkeypatch.setattr(Statements, "run", watched)
    monkeypatch.setattr("dbdeid.release.run.warehouse_of", lambda _: warehouse)
    found = dbdeid.run(spec(), connection=object())
    assert found.released_rows > 4 * RECORDS
    most = len(counted(once))
    assert most < RECORDS
    assert {"deid_tuples", "deid_coded_once", "deid_staged_once"} <= set(made)
    assert {name: number for name, number in made.items() if number > most} == {}
    # what leaves the warehouse: the combinations once, and of the written table its own
    raw = [number for number, names in warehouse.left if "deid_records" in names]
    assert raw == [most]
    assert max(number for number, _ in warehouse.left[1:]) < most


def test_a_source_that_changes_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    class Growing(WarehouseHere):
        def write(self, *given: Any) -> None:
            super().write(*given)
            self._session.execute("INSERT INTO visits FROM visits LIMIT 1")

    warehouse = Growing()
    warehouse.keep("visits", visits())
    with pytest.raises(VerificationError, match="truthfulness"):
        run_there(monkeypatch, spec(), warehouse)
    assert warehouse.names() == {"visits"}


def test_a_population_that_changes_is_judged_as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    class Leaving(WarehouseHere):
        def write(self, *given: Any) -> None:
            super().write(*given)
            self._session.execute("DELETE FROM census WHERE sex = 'f'")

    warehouse = Leaving()
    warehouse.keep("visits", visits())
    warehouse.keep("census", visits(3 * RECORDS, seed=8))
    with pytest.raises(VerificationError, match="k_map"):
        run_there(monkeypatch, spec(**PEOPLE_ALONE), warehouse)
    assert warehouse.names() == {"visits", "census"}


PEOPLE_ALONE: dict[str, Any] = {"privacy": [{"model": "k_map", "k": 8, "population": "census"}]}
POPULATIONS = {
    "nowhere": ("nowhere", None, "population 'nowhere' cannot be read: no table 'nowhere'"),
    "the release": ("visits_public", None, "the release would replace it"),
    "a column less": ("census", ["zip"], "population 'census' has no column 'zip'"),
    "people below 0": ("census", -1, "has fewer than 0 people in 1 of 100 rows"),
    "no people": ("census", 0, "is empty"),
}


@pytest.mark.parametrize("case", POPULATIONS)
def test_a_population_that_does_not_fit_is_refused(
    monkeypatch: pytest.MonkeyPatch, case: str
) -> None:
    name, odd, told = POPULATIONS[case]
    warehouse, people = WarehouseHere(), visits(100, seed=8)
    warehouse.keep("visits", visits())
    if isinstance(odd, list):
        people = people.drop_columns(odd)
    elif isinstance(odd, int):
        people = people.append_column("people", pa.array([odd] + [0 if odd == 0 else 3] * 99))
    if name != "nowhere":
        warehouse.keep(name, people)
    model = {"model": "k_map", "k": 8, "population": name}
    given = spec(privacy=[model], release="others" if name == "nowhere" else "visits_public")
    with pytest.raises((SpecError, DataError)) as error:
        run_there(monkeypatch, given, warehouse)
    assert told in str(error.value) or name == "visits_public"


def test_a_table_without_rows_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    warehouse = WarehouseHere()
    warehouse.keep("visits", visits().slice(0, 0))
    with pytest.raises(DataError, match="the source has no rows"):
        run_there(monkeypatch, spec(), warehouse)
