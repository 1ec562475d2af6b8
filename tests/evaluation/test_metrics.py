"""The metrics of a run: what the written table has is what the search said of its node."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from math import log2
from types import SimpleNamespace
from typing import Any

import duckdb
import numpy as np
import pytest
import tiers
from specs import small

import dbdeid
from dbdeid.data.classes import CODED
from dbdeid.data.coding import code
from dbdeid.data.hierarchy import from_rows
from dbdeid.engine.duckdb.session import Session
from dbdeid.errors import SpecError
from dbdeid.evaluation import measurement, metrics
from dbdeid.evaluation.evidence import RunEvidence, meanings
from dbdeid.evaluation.fidelity import COMPARED
from dbdeid.methods.common.mixed_levels import Mixed
from dbdeid.spec.metric_spec import METRICS, OF_EVERY, ON_REQUEST, metrics_of
from dbdeid.utility.catalog import CATALOG

OF_LOCAL = metrics_of("local")
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


@pytest.mark.sampled(18)
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
    kept = {key: value for key, value in more.items() if key != "linked"}
    asked = spec(objective, evaluate={"metrics": [objective]}, **kept)
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
        *(*SUMMED, "block_entropy", "node_entropy", "reconstruction_error", *OF_ILLNESS),
        *("moments", "distribution", "downcoding"),
    }
    assert {name for name in result.metrics if "." in name} == {
        *(f"moments.age.{moment}" for moment in ("mean", "sum", "median")),
        "reconstruction_error.quasi_identifiers",
        "downcoding.attempted",
        *(f"{n}.value" for n in OF_ILLNESS),
        *(f"distribution.{n}" for n in ("age", "records", "label", "value")),
    }
    of_each = {metric.name for metric in CATALOG if metric.sensitive == "each"}
    assert {name for name in named if name not in result.metrics} == of_each == {*OF_ILLNESS}
    if tiers.full:
        again = dbdeid.run(spec("loss"), con)
        assert dict(again.metrics) == dict(result.metrics)  # to the last digit
    no_illness = spec("loss")
    no_illness["columns"] = {**COLUMNS, "value": "drop"}
    metrics = dbdeid.run(no_illness, con).metrics
    only = [name for name in metrics if "." in name and not name.startswith(("mom", "dist"))]
    assert only == ["reconstruction_error.quasi_identifiers", "downcoding.attempted"]
    assert metrics[only[0]] == metrics["reconstruction_error"]


def test_only_what_is_asked_for_is_kept(con: Any) -> None:
    asked = ["class_entropy_change", "ambiguity"]
    result = dbdeid.run(spec("kl_divergence", evaluate={"metrics": asked}), con)
    assert [*result.metrics] == ["ambiguity", "class_entropy_change.value"]
    if tiers.full:
        assert dict(dbdeid.run(spec("loss", evaluate={"metrics": []}), con).metrics) == {}


@pytest.mark.full
def test_each_sensitive_column_has_its_own(con: Any) -> None:
    asked = spec("loss", evaluate={"metrics": [*OF_ILLNESS]})
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


@pytest.mark.full
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
    asked = {"metrics": ["reconstruction_error"]}
    result = dbdeid.run(spec("loss", evaluate=asked, **more), con)
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


def entropy(things: Sequence[Any]) -> float:
    return sum(n / len(things) * log2(len(things) / n) for n in Counter(things).values())


@pytest.mark.full
@pytest.mark.parametrize(
    "more",
    [
        {},
        {"method": {"suppressed": "keep"}},
        {"null_policy": "exclude", "method": {"suppression_limit": 0.4, "suppressed": "keep"}},
        {"subject": "person"},
        {"method": {"transformation": {"age": 3, "records": 1, "label": 1}}},
        {"method": {"engine": "sql"}},
        {"output": {"as": "view"}},
    ],
    ids=["drop", "keep", "exclude", "subject", "top", "sql", "view"],
)
def test_entropies_of_the_written_table(con: Any, more: dict[str, Any]) -> None:
    asked = {"metrics": ["block_entropy", "node_entropy"]}
    result = dbdeid.run(spec("loss", evaluate=asked, **more), con)
    names = ("age", "records", "label")
    levels = [result.transformation[name] for name in names]
    people = con.execute('SELECT age, "records", "label" FROM people').fetchall()

    def read(name: str, level: int, value: Any) -> str | None:
        if level == {"age": 3, "records": 3, "label": 1}[name]:
            return "*"
        if level == 0 or value is None:
            return None if value is None else str(value)
        if name == "age":
            width = {1: 4, 2: 8}[level]
            return f"[{value // width * width}, {value // width * width + width})"
        return value[: {1: 3, 2: 1}[level]] + "*" * {1: 2, 2: 4}[level]

    rows = con.execute('SELECT age, "records", "label" FROM people_public').fetchall()
    sizes = Counter(tuple(None if v is None else str(v) for v in row) for row in rows)
    labels = [tuple(map(read, names, levels, row)) for row in people]
    kept = [n for n, cells in enumerate(labels) if sizes[cells]]
    assert len(kept) == sum(sizes[cells] for cells in set(labels)) > 80
    inside = below = 0.0
    for i, weight in enumerate([1.5, 0.75, 0.75]):  # 2, 1, 1 over their mean
        values = [row[i] for row in people]
        whole = entropy(values) * (len(people) - len(kept))
        inside += weight * whole
        below += weight * whole
        for cells, size in Counter(labels[n] for n in kept).items():
            alike = [v for v, own in zip(values, labels, strict=True) if own == cells]
            inside += weight * size * entropy(alike)
            under = [v for v, own in zip(values, labels, strict=True) if own[i] == cells[i]]
            below += weight * size * entropy(under)
    assert result.metrics["block_entropy"] == pytest.approx(inside / len(people), abs=1e-9)
    assert result.metrics["node_entropy"] == pytest.approx(below / len(people), abs=1e-9)


@pytest.mark.full
def test_a_crosswalk_tells_what_a_transformation_does(
    con: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    found: list[dict[str, float]] = []

    def both(of: RunEvidence, asked: Any) -> dict[str, float]:
        names, labels, written, session = of.names, of.labels, of.written, of.session
        session.execute("CREATE TEMP TABLE labels AS " + " UNION ALL ".join(
            f"SELECT {i} AS number, * FROM ({query.sql('duckdb')})"
            for i, query in enumerate(labels.values())
        ))  # fmt: skip
        joined = " ".join(
            f'JOIN labels l{i} ON l{i}.number = {i} AND l{i}.code = coded."{name}" '
            f'JOIN temp.deid_values_{i} v{i} ON v{i}.code = coded."{name}"'
            for i, name in enumerate(names)
        )
        texts = ", ".join(f"v{i}.value::VARCHAR" for i in range(len(names)))
        record_ = ", ".join(
            f"l{names.index(name)}.label" if name in names else f'coded."{name}"::VARCHAR'
            for name in written.released.names
        )
        session.execute(
            f"CREATE TEMP TABLE walked AS SELECT [{texts}] AS source, [{record_}] AS record,"
            f" count(*) AS records FROM {CODED.table.sql('duckdb')} AS coded {joined} GROUP BY ALL"
        )
        walked = replace(of, written=replace(written, crosswalk=session.temp("walked")))
        found.extend(metrics.measured(one, asked) for one in (of, walked))
        return found[0]

    monkeypatch.setattr(measurement, "measured", both)
    result = dbdeid.run(spec("loss", method={"suppression_limit": 0.0}), con)
    assert result.suppressed_rows == 0
    of_one, of_crosswalk = found
    # no number is released as it is, and no model is of a sensitive value
    besides = {"loss", "moments", "minimality", "downcoding", "inference"}
    assert {name.partition(".")[0] for name in of_crosswalk} | besides == {*OF_LOCAL} - {*OF_EVERY}
    for name, value in of_crosswalk.items():
        expected = of_one.get(name, result.metrics.get(name))
        assert value == pytest.approx(expected, abs=1e-12), name


def test_a_label_of_two_levels_means_what_is_below_each() -> None:
    rows = [["a", "x", "any"], ["b", "x", "any"], ["c", "z", "x"], ["x", "u", "x"]]
    coding = code(from_rows("city", "rows", rows, declared=True), ["a", "b", "c", "x", None])
    column = Mixed.of(coding, np.array([0, 0, 0, 1, 1, 2, 3]), np.array([1, 3, 4, 0, 2, 3, 1]))
    prepared: Any = SimpleNamespace(quasi_identifiers=[SimpleNamespace(name="city", coding=coding)])
    outcome: Any = SimpleNamespace(shown=[column.shown])
    with duckdb.connect() as connection, Session.over(connection, None, read_only=False) as session:
        means = meanings(prepared, outcome, session)["city"]
        found: dict[str | None, set[str | None]] = {}
        for label, number, value in session.rows(means):
            assert value == ["a", "b", "c", "x", None][number]
            found.setdefault(label, set()).add(value)
    assert found == {
        **{"b": {"b"}, "x": {"x"}, None: {None}, "x@1": {"a", "b"}, "z": {"c"}},
        **{"x@2": {"c", "x"}, "*": {"a", "b", "c", "x", None}},
    }


@pytest.mark.parametrize("name", sorted({*metrics_of("generalized")} - {*OF_LOCAL}))
def test_metrics_that_levels_that_differ_do_not_have(con: Any, name: str) -> None:
    asked = spec("loss", evaluate={"metrics": ["loss", name]})
    asked["method"] = {"name": "local_recoding"}
    with pytest.raises(SpecError, match=rf"(?s)'{name}'.*method local_recoding levels differ"):
        dbdeid.run(asked, con)


@pytest.mark.sampled(2)
@pytest.mark.parametrize("kind", ["strict", "relaxed"])
def test_a_locally_recoded_release_has_what_applies(con: Any, kind: str) -> None:
    asked = spec("loss")
    asked["method"] = {"name": "local_recoding", "algorithm": "mondrian", "mondrian": kind}
    found = dbdeid.run(asked, con).metrics  # and what the search promised, or the run had failed
    # no number is released as it is, and no model is of a sensitive value
    besides = {"moments", "minimality"}
    assert {name.partition(".")[0] for name in found} | besides == {*OF_LOCAL} - {*ON_REQUEST}
    assert min(found["block_entropy"], found["node_entropy"]) > 0
    assert 0 < found["nonuniform_entropy"] < 1


def test_every_metric_is_measured() -> None:
    # how far a transformation goes is counted by its search
    assert {*METRICS} - {*metrics.MEASURES, *COMPARED} == {"precision", "height"}
    assert {*metrics.MEASURES, *COMPARED} <= {*METRICS}
    assert (*COMPARED,) == OF_EVERY  # measured later, too
    assert {*metrics_of("external")} == {*metrics.OF_TABLES, *COMPARED}
