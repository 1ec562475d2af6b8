"""The metrics of a run: what the written table has is what the search said of its node."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import duckdb
import pytest

import dbdeid
from dbdeid.errors import SpecError

sys.path.insert(0, str(Path(__file__).parents[1]))
from specs import small

SUMMED = ("nonuniform_entropy", "ambiguity", "kl_divergence")
OF_ILLNESS = ("mutual_information", "attacker_gain", "class_entropy_change")

# Crowded and missing values, a person in several rows, and names that a query may use itself.
PEOPLE = """
CREATE OR REPLACE TABLE people AS
SELECT
  'person ' || (i // 2) AS person,
  CASE WHEN i % 13 = 0 THEN NULL ELSE 20 + (i * i) % 17 END AS age,
  (10000 + (i * 37) % 90 * (i % 3))::VARCHAR AS "records",
  CASE WHEN i % 11 = 0 THEN NULL WHEN i % 2 = 0 THEN 'f' ELSE 'm' END AS "label",
  CASE WHEN i % 7 = 0 THEN NULL ELSE ['asthma', 'flu', 'none'][1 + i % 3] END AS "value"
FROM range(160) AS r(i)
"""
COLUMNS: dict[str, Any] = {
    "person": "identifier",
    "age": {"role": "quasi_identifier", "hierarchy": {"intervals": [4, 8]}, "weight": 2.0},
    "records": {"role": "quasi_identifier", "hierarchy": {"prefix": [3, 1]}},
    "label": {"role": "quasi_identifier", "hierarchy": {"groups": [{"any": ["f", "m", "x"]}]}},
    "value": {"role": "sensitive", "accept": "homogeneity"},
}


@pytest.fixture
def con() -> Any:
    with duckdb.connect() as connection:
        connection.execute(PEOPLE)
        yield connection


def spec(objective: str, **more: Any) -> dict[str, Any]:
    method = {"suppression_limit": 0.15, "objective": objective, **more.pop("method", {})}
    made = small(columns=COLUMNS, accept="rows", **more)
    made["method"] |= method
    if "subject" in more:
        del made["accept"]
    return made


@pytest.mark.parametrize("objective", SUMMED)
@pytest.mark.parametrize(
    "more",
    [
        {},
        {"method": {"suppressed": "keep"}},
        {"null_policy": "wildcard"},
        {"null_policy": "exclude", "method": {"suppression_limit": 0.4, "suppressed": "keep"}},
        {"subject": "person"},
        {"subject": "person", "linked": True, "method": {"suppression_limit": 0.9}},
        {"output": {"as": "view"}},
    ],
    ids=["drop", "keep", "wildcard", "exclude", "subject", "linked", "view"],
)
def test_the_written_table_scores_what_the_search_promised(
    con: Any, objective: str, more: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DBDEID_PSEUDONYM_KEY", "ab" * 32)
    linked = more.get("linked", False)
    asked = spec(objective, **{key: value for key, value in more.items() if key != "linked"})
    if linked:
        pseudonym = {"role": "identifier", "pseudonym": True}
        asked["columns"] = {**COLUMNS, "person": pseudonym}
    result = dbdeid.run(asked, con)
    assert result.search["proven_optimal"]
    promised = result.search["lower_bound"]
    assert result.metrics[objective] == pytest.approx(promised, rel=1e-9, abs=1e-11)


def test_what_applies_is_measured(con: Any) -> None:
    result = dbdeid.run(spec("loss"), con)
    named = {name.partition(".")[0] for name in result.metrics}
    assert named == {
        *("loss", "discernibility", "average_class_size", "precision", "height"),
        *(*SUMMED, "reconstruction_error", *OF_ILLNESS),
    }
    assert {name for name in result.metrics if "." in name} == {
        "reconstruction_error.quasi_identifiers",
        *(f"{n}.value" for n in OF_ILLNESS),
    }
    again = dbdeid.run(spec("loss"), con)
    assert dict(again.metrics) == dict(result.metrics)  # to the last digit
    no_illness = spec("loss")
    no_illness["columns"] = {**COLUMNS, "value": "drop"}
    metrics = dbdeid.run(no_illness, con).metrics
    only = [name for name in metrics if "." in name]
    assert only == ["reconstruction_error.quasi_identifiers"]
    assert metrics[only[0]] == metrics["reconstruction_error"]


def test_only_what_is_asked_for_is_kept(con: Any) -> None:
    asked = ["class_entropy_change", "ambiguity"]
    result = dbdeid.run(spec("kl_divergence", evaluate={"metrics": asked}), con)
    assert [*result.metrics] == ["ambiguity", "class_entropy_change.value"]
    assert dict(dbdeid.run(spec("loss", evaluate={"metrics": []}), con).metrics) == {}


def test_each_sensitive_column_has_its_own(con: Any) -> None:
    asked = spec("loss")
    asked["columns"] = {**COLUMNS, "label": {"role": "sensitive", "accept": "homogeneity"}}
    metrics = dbdeid.run(asked, con).metrics
    assert {n for n in metrics if n.startswith("attacker")} == {
        "attacker_gain.label",
        "attacker_gain.value",
    }


def test_a_metric_of_a_sensitive_column_needs_one(con: Any) -> None:
    asked = spec("loss", evaluate={"metrics": ["attacker_gain"]})
    asked["columns"] = {**COLUMNS, "value": "drop"}
    with pytest.raises(SpecError, match=r"'attacker_gain' needs a sensitive column"):
        dbdeid.run(asked, con)


@pytest.mark.parametrize("objective", SUMMED)
def test_the_sql_engine_refuses_what_it_does_not_count(con: Any, objective: str) -> None:
    with pytest.raises(SpecError, match=r"(?s)adds up more of a class.*engine: numpy"):
        dbdeid.run(spec(objective, method={"engine": "sql"}), con)


@pytest.mark.parametrize(
    "more",
    [
        {},
        {"method": {"suppressed": "keep"}},
        {"null_policy": "exclude", "method": {"suppression_limit": 0.4, "suppressed": "keep"}},
        {"method": {"transformation": {"age": 3, "records": 1, "label": 1}}},
        {"output": {"as": "view"}},
    ],
    ids=["drop", "keep", "exclude", "top", "view"],
)
def test_reconstruction_error_of_the_written_table(con: Any, more: dict[str, Any]) -> None:
    result = dbdeid.run(spec("loss", **more), con)
    total = [0.0, 0.0]
    values = {name: {v for (v,) in con.execute(f'SELECT "{name}" FROM people').fetchall()} for name
              in ("age", "records", "label")}  # fmt: skip

    def size(name: str, released: Any) -> int:
        present = values[name] - {None}
        if released is None or str(released) in map(str, present):
            return 1
        if released == "*":  # the domain of the groups is declared, and has an x
            return len(values[name] | ({"x"} if name == "label" else set()))
        if name == "records":
            return sum(str(value).startswith(released.rstrip("*")) for value in present)
        low, high = released.strip("[)").split(", ")
        return sum(float(low) <= value < float(high) for value in present)

    rows = con.execute('SELECT age, "records", "label" FROM people_public').fetchall()
    for row in rows:
        cells = [1 - 1 / size(name, v) for name, v in zip(values, row, strict=True)]
        total[0] += sum(cells) / 3
        total[1] += sum(cells) / 4
    removed = 160 - len(rows)
    found = result.metrics
    only = found["reconstruction_error.quasi_identifiers"]
    assert only == pytest.approx((total[0] + removed) / 160)
    assert found["reconstruction_error"] == pytest.approx((total[1] + removed) / 160)
