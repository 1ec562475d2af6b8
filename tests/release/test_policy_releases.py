"""Releases under a policy of the frontier, from spec to files: what is chosen, and what holds."""

from __future__ import annotations

import json
import re
from collections import Counter
from itertools import pairwise
from math import log
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

import duckdb
import numpy as np
import pytest
import tiers
import zoo

import dbdeid
from dbdeid.commands.explain import steps
from dbdeid.commands.report import write_report
from dbdeid.commands.search import search
from dbdeid.commands.verify_evaluate_export import evaluate, export_release
from dbdeid.engine.session import Settings
from dbdeid.errors import DataError, SpecError, Unsatisfiable
from dbdeid.methods.policy.search import measures
from dbdeid.methods.policy.search.measures import Measure
from dbdeid.release.result import RunResult
from dbdeid.release.run import run as run_release
from dbdeid.spec.method.policy import Policy

# 400 patients of a town of some thousands, whose ages and ZIP codes lie unevenly.
TOWN = """
CREATE TABLE town AS
SELECT (i * i + i // 7) % 97 AS age, CAST(37010 + 41 * ((i * 7 + i // 5) % 13) AS VARCHAR) AS zip,
  CASE WHEN i % 3 = 0 THEN 'f' ELSE 'm' END AS sex, CAST(sum(1 + i % 5) AS INTEGER) AS people
FROM range(3000) AS r(i) GROUP BY ALL
"""
WARD = """
CREATE TABLE ward AS
SELECT 'patient ' || number AS name, age, zip, sex,
  ['asthma', 'flu', 'none', 'gout'][1 + number % 4] AS illness
FROM (SELECT *, row_number() OVER (ORDER BY hash(age || zip || sex)) AS number FROM town)
WHERE number <= 400
"""
MADE_UP = {"role": "quasi_identifier", "reason": "made up"}  # a policy may lower no risk
COLUMNS = {
    "name": "identifier",
    "age": {**MADE_UP, "domain": [0, 109]},
    "zip": {**MADE_UP, "domain": "from_population"},
    "sex": {**MADE_UP, "order": ["f", "m"]},
    "illness": {"role": "sensitive", "accept": "homogeneity"},
}
CHAIN = {"name": "policy", "search": "random_chain", "budget": 400}
QIS = ("age", "zip", "sex")


@pytest.fixture
def con() -> Any:
    with duckdb.connect() as con:
        con.execute(TOWN)
        con.execute(WARD)
        yield con


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with the owner's database."""
    monkeypatch.chdir(tmp_path)
    zoo.fill(owned)
    return tmp_path


def owned() -> None:
    with duckdb.connect("owner.duckdb") as con:
        con.execute(TOWN)
        con.execute(WARD)


def spec(*models: dict[str, Any], **changes: Any) -> dict[str, Any]:
    """Choosing little risk of a population, with k = 1, which asks for nothing."""
    method = {"population": "town", "choose": {"max_risk": 0.2}, **changes.pop("method", {})}
    return {
        "release": "public",
        "source": "ward",
        "columns": COLUMNS | changes.pop("columns", {}),
        "privacy": list(models) or [{"model": "k_anonymity", "k": 1}],
        "evaluate": {"metrics": []},
        "method": {key: value for key, value in (CHAIN | method).items() if value is not None},
        "seed": 7,
        **changes,
    }


def alone(con: Any, *models: dict[str, Any], **changes: Any) -> dict[str, Any]:
    """The same where the source is its own population."""
    zips = [row[0] for row in con.execute("SELECT DISTINCT zip FROM town ORDER BY 1").fetchall()]
    changes["method"] = {"population": None} | changes.pop("method", {})
    columns = {"zip": {"role": "quasi_identifier", "domain": zips}} | changes.pop("columns", {})
    return spec(*models, columns=columns, **changes)


class Made(NamedTuple):
    """A release that tests look at and do not change, and the frontier that it is a point of."""

    con: Any
    spec: dict[str, Any]
    frontier: dict[str, Any]
    result: RunResult


@pytest.fixture(scope="module")
def made() -> Any:
    with duckdb.connect() as con:
        con.execute(TOWN)
        con.execute(WARD)
        given = spec(output={"bounds": True}, evaluate={"metrics": ["kl_divergence"]})
        yield Made(con, given, dbdeid.frontier(given, con), dbdeid.run(given, con))


def in_files(**changes: Any) -> dict[str, Any]:
    exports = ["out.parquet", "out.csv", *(["copy.duckdb"] if tiers.full else [])]
    output = {"bounds": True, "export": exports}
    return spec(database="owner.duckdb", target="out.duckdb", **({"output": output} | changes))


# -- by hand ------------------------------------------------------------------------------------


def condition(name: str, label: str) -> str:
    """What an interval means, told from its label alone."""
    if label == "*":
        return "true"
    if " to " in label:
        first, last = label.split(" to ")
        return f"CAST({name} AS INTEGER) BETWEEN {first} AND {last}"
    if label.endswith("*"):
        return f"{name} LIKE '{label.replace('*', '_')}'"
    return f"{name} = '{label}'"


def recoded(policy: dict[str, list[str]]) -> str:
    """The quasi-identifiers under a policy, as a person would write it in SQL."""
    cases = []
    for name in QIS:
        whens = " ".join(f"WHEN {condition(name, one)} THEN '{one}'" for one in policy[name])
        cases.append(f"CASE {whens} END AS {name}")
    return ", ".join(cases)


def classes(con: Any, policy: dict[str, list[str]] | None, *, people: bool) -> Counter[Any]:
    """Records, or people, of each class of a policy; of the source where it is None."""
    values = recoded(policy) if policy else "age, zip, sex"
    table, number = ("town", "people") if people else ("ward", "1")
    rows = con.execute(f"SELECT {values}, {number} FROM {table}").fetchall()
    found: Counter[Any] = Counter()
    for *key, count in rows:
        found[tuple(key)] += count
    return found


def chances(con: Any, policy: dict[str, list[str]] | None, *, population: bool = True) -> float:
    records = classes(con, policy, people=False)
    people = classes(con, policy, people=population)
    return sum(n / people[key] for key, n in records.items())


def means(label: str, value: str) -> bool:
    """Whether an interval has a value, told from its label alone."""
    if " to " in label:
        first, last = map(int, label.split(" to "))
        return first <= int(value) <= last
    stem = label.rstrip("*")
    return label == "*" or value == label or (stem != label and value.startswith(stem))


def nats(con: Any, policy: dict[str, list[str]]) -> float:
    """KL divergence of the records from what a policy says of them, value by value (eq. 4)."""
    records = classes(con, None, people=False)
    merged = classes(con, policy, people=False)
    zips = [z for (z,) in con.execute("SELECT DISTINCT zip FROM town").fetchall()]
    domains = {"age": [*map(str, range(110))], "zip": zips, "sex": ["f", "m"]}
    interval, width = {}, Counter[Any]()
    for name, domain in domains.items():
        for value in domain:
            (label,) = [one for one in policy[name] if means(one, value)]
            interval[name, value] = label
            width[name, label] += 1
    found, total = 0.0, sum(records.values())
    for key, n in records.items():
        labels = [interval[name, str(value)] for name, value in zip(QIS, key, strict=True)]
        spread = merged[tuple(labels)] / total
        for name, label in zip(QIS, labels, strict=True):
            spread /= width[name, label]
        found += n / total * log(n / total / spread)
    return found


def released(con: Any, table: str = "public") -> list[Any]:
    return con.execute(f"SELECT age, zip, sex, illness FROM {table} ORDER BY ALL").fetchall()


def promise(result: dbdeid.RunResult) -> dict[str, Any]:
    return next(p for p in result.promises if p["model"] == "policy")


def tables(con: Any) -> set[str]:
    return {name for (name,) in con.execute("SELECT table_name FROM duckdb_tables()").fetchall()}


# -- what is told and what is written -------------------------------------------------------------


@pytest.mark.full
def test_risk_and_loss_are_those_counted_by_hand(made: Made) -> None:
    counted_by_hand(made.con, made.frontier, population=True)


def test_risk_and_loss_without_a_population_are_those_counted_by_hand(con: Any) -> None:
    counted_by_hand(con, dbdeid.frontier(alone(con), con), population=False)


def counted_by_hand(con: Any, found: dict[str, Any], *, population: bool) -> None:
    assert found["source_rows"] == 400
    points = found["points"]
    top = nats(con, {name: ["*"] for name in QIS})
    whole = chances(con, None, population=population)
    for point in (points[0], points[len(points) // 3], points[len(points) // 2], points[-1]):
        policy = point["policy"]
        assert point["risk"] == pytest.approx(
            chances(con, policy, population=population) / whole, abs=1e-11
        )
        assert point["kl"] == pytest.approx(nats(con, policy), abs=1e-9)
        assert point["loss"] == pytest.approx(point["kl"] / top, abs=1e-9)
        sizes = classes(con, policy, people=False)
        assert (point["classes"], point["smallest_class"]) == (len(sizes), min(sizes.values()))


@pytest.mark.full
def test_the_frontier_is_an_antichain_in_order_of_risk(made: Made) -> None:
    found = made.frontier
    points = found["points"]
    assert [p["point"] for p in points] == list(range(1, len(points) + 1))
    for one, other in pairwise(points):
        assert one["risk"] < other["risk"]
        assert one["loss"] > other["loss"]
    # ages beyond the greatest of the source stay with it
    assert 0.99 < points[-1]["risk"] <= 1
    assert 0 < points[-1]["loss"] < 0.05
    assert found["evaluated"] == found["spent"] == found["budget"] == 400
    assert [c["bits"] for c in found["columns"]] == [109, 12, 1]


def test_the_release_is_the_recoding_that_the_policy_says(made: Made) -> None:
    recoded_as_said(made, population=True)
    points = made.frontier["points"]
    point = points[made.frontier["chosen"] - 1]
    assert point["policy"] == made.result.policy
    assert made.result.metrics["kl_divergence"] == pytest.approx(point["kl"], abs=1e-9)
    assert evaluate(made.spec, made.con)["metrics"] == pytest.approx(made.result.metrics)
    assert point["loss"] == min(p["loss"] for p in points if p["risk"] <= 0.2)


@pytest.mark.full
def test_a_release_that_is_its_own_population_is_recoded_as_its_policy_says(con: Any) -> None:
    given = alone(con)
    made = Made(con, given, dbdeid.frontier(given, con), dbdeid.run(given, con))
    recoded_as_said(made, population=False)


def recoded_as_said(made: Made, *, population: bool) -> None:
    con, given, result = made.con, made.spec, made.result
    assert result.verified
    assert (result.released_rows, result.suppressed_rows) == (400, 0)
    policy = result.policy
    assert any(" to " in label for label in policy["age"])
    expected = f"SELECT {recoded(policy)}, illness FROM ward ORDER BY ALL"
    rows = released(con)
    assert rows == con.execute(expected).fetchall()
    point = next(p for p in made.frontier["points"] if p["policy"] == policy)
    assert promise(result)["declared"]["risk"] == point["risk"] <= 0.2
    found = chances(con, policy, population=population)
    assert promise(result)["found"] == pytest.approx(
        found / chances(con, None, population=population)
    )
    assert dbdeid.verify(given, con).verified


@pytest.mark.full
@pytest.mark.parametrize(
    ("utility", "metric"),
    [
        ("kl", "kl_divergence"),
        ("loss", "loss"),
        ("discernibility", "discernibility"),
        ("average_class_size", "average_class_size"),
        ("nonuniform_entropy", "nonuniform_entropy"),
    ],
)
def test_the_metrics_of_the_release_are_what_the_frontier_said(
    con: Any, utility: str, metric: str
) -> None:
    given = spec(method={"utility": utility, "choose": {"point": 3}}, evaluate={})
    told = dbdeid.frontier(given, con)
    result = dbdeid.run(given, con)
    point = told["points"][2]
    assert result.policy == point["policy"]
    assert result.metrics["kl_divergence"] == pytest.approx(point["kl"], abs=1e-9)
    assert evaluate(given, con)["metrics"] == pytest.approx(result.metrics)
    if utility in ("kl", "loss"):
        scale = nats(con, {name: ["*"] for name in QIS}) if utility == "kl" else 1.0
        assert result.metrics[metric] == pytest.approx(point["loss"] * scale, abs=1e-9)
        return
    # of the others, how much more than of the records as they are, of how much there could be
    ends = [
        dbdeid.run(given | {"method": given["method"] | {"choose": choose}}, con).metrics[metric]
        for choose in ({"max_loss": 0}, {"max_risk": told["points"][0]["risk"]})
    ]
    if told["points"][0]["loss"] == 1:
        share = (result.metrics[metric] - ends[0]) / (ends[1] - ends[0])
        assert share == pytest.approx(point["loss"], abs=1e-9)


@pytest.mark.full
def test_weights_of_quasi_identifiers_count_in_the_loss(con: Any) -> None:
    heavy = {"sex": {"role": "quasi_identifier", "order": ["f", "m"], "weight": 50}}
    given = spec(columns=heavy, method={"utility": "loss", "choose": {"max_risk": 0.3}})
    result = dbdeid.run(given, con)
    told = dbdeid.frontier(given, con)
    point = told["points"][told["chosen"] - 1]
    assert point["policy"] == result.policy
    assert result.loss == pytest.approx(point["loss"], abs=1e-9)


@pytest.mark.full
def test_uniques_are_a_risk(con: Any) -> None:
    given = alone(con, method={"risk": "uniques", "choose": {"max_risk": 0.3}})
    found = dbdeid.run(given, con)
    ones = [n for n in classes(con, found.policy, people=False).values() if n == 1]
    raw = [n for n in classes(con, None, people=False).values() if n == 1]
    assert promise(found)["found"] == pytest.approx(len(ones) / len(raw))
    assert promise(found)["declared"] == {"risk": len(ones) / len(raw), "measure": "uniques"}


def test_no_risk_is_nothing_to_choose_from(con: Any) -> None:
    con.execute("INSERT INTO ward FROM ward")
    with pytest.raises(Unsatisfiable, match="have no risk by measure uniques"):
        dbdeid.frontier(alone(con, accept="rows", method={"risk": "uniques"}), con)


# -- choosing -------------------------------------------------------------------------------------


def chosen(con: Any, given: dict[str, Any]) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """The points, and the one that is released, which the frontier marks."""
    told = dbdeid.frontier(given, con)
    result = dbdeid.run(given, con)
    point = told["points"][told["chosen"] - 1]
    assert point["policy"] == result.policy
    assert dbdeid.verify(given, con).verified
    return told["points"], point


@pytest.mark.full
@pytest.mark.parametrize("most", [1.0, 0.5, 0.01])
def test_least_loss_within_a_risk(con: Any, most: float) -> None:
    points, point = chosen(con, spec(method={"choose": {"max_risk": most}}))
    assert point["loss"] == min(p["loss"] for p in points if p["risk"] <= most)


@pytest.mark.full
@pytest.mark.parametrize("most", [1.0, 0.5, 0.05])
def test_least_risk_within_a_loss(con: Any, most: float) -> None:
    points, point = chosen(con, spec(method={"choose": {"max_loss": most}}))
    assert point["risk"] == min(p["risk"] for p in points if p["loss"] <= most)


@pytest.mark.full
def test_a_point_by_its_number(con: Any) -> None:
    _, point = chosen(con, spec(method={"choose": {"point": 5}}))
    assert point["point"] == 5


def test_a_point_that_there_is_not(con: Any) -> None:
    given = spec(method={"choose": {"point": 5000}})
    for command in (dbdeid.run, dbdeid.frontier):
        with pytest.raises(SpecError, match=r"method\.choose\.point: the frontier has \d+ points"):
            command(given, con)
    assert tables(con) == {"town", "ward"}


def test_nothing_within_so_little_risk(con: Any) -> None:
    given = spec(method={"choose": {"max_risk": 0}})
    with pytest.raises(Unsatisfiable, match="no policy has at most the risk 0"):
        dbdeid.run(given, con)
    told = dbdeid.frontier(given, con)  # which the hint says to look at
    assert told["points"]
    assert told["chosen"] is None
    assert "nothing is chosen: no policy has at most the risk 0" in told["warnings"][-1]


def test_a_run_needs_a_choice_and_a_frontier_does_not(con: Any) -> None:
    given = spec(method={"choose": None})
    with pytest.raises(SpecError, match=r"method\.choose: no policy is chosen") as error:
        dbdeid.run(given, con)
    assert "dbdeid frontier" in str(error.value)
    told = dbdeid.frontier(given, con)
    assert (told["chosen"], told["choose"], told["neighbours"]) == (None, None, [])


def test_neighbours_are_all_one_bit_merges_of_the_chosen_point(made: Made) -> None:
    con, told = made.con, made.frontier
    point = told["points"][told["chosen"] - 1]
    whole, top = chances(con, None), nats(con, {name: ["*"] for name in QIS})
    assert len(told["neighbours"]) == sum(len(own) - 1 for own in point["policy"].values())
    for one in tiers.some(told["neighbours"], 5):
        labels = list(point["policy"][one["column"]])
        at = labels.index(one["from"][0])
        assert labels[at : at + 2] == one["from"]
        labels[at : at + 2] = [one["merged"]]
        policy = point["policy"] | {one["column"]: labels}
        assert one["risk"] == pytest.approx(chances(con, policy) / whole, abs=1e-11)
        assert one["loss"] == pytest.approx(nats(con, policy) / top, abs=1e-9)


# -- models ---------------------------------------------------------------------------------------

KS = [{"model": "k_anonymity", "k": k} for k in (2, 3, 5)]
OTHERS = [
    {"model": "k_map", "population": "town", "k": 40},
    {"model": "max_risk", "attacker": "prosecutor", "threshold": 0.25},
    {"model": "max_risk", "attacker": "journalist", "population": "town", "threshold": 0.02},
    {"model": "max_risk", "attacker": "marketer", "threshold": 0.1},
    {"model": "max_risk", "attacker": "marketer", "population": "town", "threshold": 0.004},
    {"model": "max_risk", "attacker": "marketer", "population": "county", "threshold": 0.002},
    {"model": "delta_presence", "population": "town", "max": 0.15},
    {"model": "l_diversity", "column": "illness", "l": 3},
    {"model": "t_closeness", "column": "illness", "t": 0.4},
]


@pytest.mark.full
@pytest.mark.parametrize(
    ("model", "population"),
    [(m, True) for m in (*KS, *OTHERS)]
    + [(m, False) for m in (*KS, *OTHERS) if "population" not in m],
    ids=lambda m: "-".join(map(str, m.values())) if isinstance(m, dict) else str(m),
)
def test_the_first_point_that_holds_the_models_is_taken(
    con: Any, model: dict[str, Any], population: bool
) -> None:
    con.execute("CREATE TABLE county AS SELECT * REPLACE (people + 3 AS people) FROM town")
    least = {"model": "k_anonymity", "k": 1}
    models = [model] if model["model"] == "k_anonymity" else [least, model]
    make = (lambda **more: spec(*models, **more)) if population else (
        lambda **more: alone(con, *models, **more)
    )  # fmt: skip
    points, point = chosen(con, make(method={"choose": {"max_risk": 1}}))
    assert point["point"] < len(points)  # the records as they are do not hold it
    records = classes(con, point["policy"], people=False)
    people = classes(con, point["policy"], people=True)
    if model["model"] == "k_anonymity":
        assert min(records.values()) >= model["k"]
        # and no point of less loss does
        better = points[point["point"] :]
        assert all(p["smallest_class"] < model["k"] for p in better)
    elif model["model"] == "k_map":
        assert min(people[key] for key in records) >= 40
    elif model.get("attacker") == "marketer" and model.get("population") == "town":
        assert sum(n / people[key] for key, n in records.items()) / 400 <= 0.004
    if point["point"] < len(points):
        beyond = make(method={"choose": {"point": point["point"] + 1}})
        with pytest.raises(Unsatisfiable, match=f"declared models .*{model['model']}"):
            dbdeid.run(beyond, con)


def test_models_that_no_point_holds(con: Any) -> None:
    con.execute("UPDATE ward SET illness = 'flu'")
    diverse = {"model": "l_diversity", "column": "illness", "l": 2}
    with pytest.raises(Unsatisfiable):
        dbdeid.run(spec({"model": "k_anonymity", "k": 2}, diverse), con)
    assert tables(con) == {"town", "ward"}
    given = spec({"model": "k_anonymity", "k": 5}, method={"choose": {"max_loss": 0.05}})
    with pytest.raises(Unsatisfiable, match=r"none of the .* policies") as error:
        dbdeid.run(given, con)
    number = int(re.findall(r"point (\d+) is the one of least loss that does", error.value.hint)[0])
    given["method"]["choose"] = {"point": number}
    assert dbdeid.run(given, con).smallest_class >= 5
    given["method"]["choose"] = {"point": number + 1}
    with pytest.raises(Unsatisfiable):
        dbdeid.run(given, con)


# -- Safe Harbor ----------------------------------------------------------------------------------

HARBOR = {"safe_harbor": {"age": "Age", "zip": "zip"}}


def test_safe_harbor_by_hand(con: Any) -> None:
    con.execute("UPDATE town SET people = people * 100")
    told = dbdeid.frontier(spec(method=HARBOR | {"choose": None}), con)
    found = told["reference"]["safe_harbor"]
    areas = con.execute(
        "SELECT left(zip, 3), sum(people) FROM town GROUP BY 1 ORDER BY 1"
    ).fetchall()
    assert [area for area, _ in areas] == ["370", "371", "372", "373", "374", "375"]
    assert min(people for _, people in areas) >= 20_000
    assert told["not_representable"] == []
    assert found["policy"]["age"] == [*map(str, range(90)), "90 to 109"]
    assert len(found["policy"]["zip"]) == len(areas)
    assert found["policy"]["sex"] == ["f", "m"]
    policy = found["policy"]
    assert found["risk"] == pytest.approx(chances(con, policy) / chances(con, None), abs=1e-11)
    assert found["kl"] == pytest.approx(nats(con, policy), abs=1e-9)
    dominating = [
        p for p in told["points"]
        if p["risk"] <= found["risk"] and p["loss"] <= found["loss"]
        and (p["risk"], p["loss"]) != (found["risk"], found["loss"])
    ]  # fmt: skip
    assert told["dominating_safe_harbor"] == len(dominating)
    assert len(told["neighbours"]) == 90 + len(areas) - 1 + 1  # of Safe Harbor, as none is chosen


def test_small_areas_are_pooled_with_a_neighbour(con: Any) -> None:
    con.execute("UPDATE town SET people = people * 100")
    con.execute("UPDATE town SET people = people // 100 WHERE left(zip, 3) = '372'")
    told = dbdeid.frontier(spec(method=HARBOR | {"choose": None}), con)
    zips = told["reference"]["safe_harbor"]["policy"]["zip"]
    assert len(zips) == 5
    (sentence,) = told["not_representable"]
    assert sentence.startswith("1 three-digit ZIP areas have no more than 20,000 people (372)")
    for label in zips:
        query = f"SELECT sum(people) FROM town WHERE {condition('zip', label)}"
        assert con.execute(query).fetchone()[0] >= 20_000


BUDGETS = [("bisect", 4000 if tiers.full else 1500), ("random_chain", 9000)]


@pytest.mark.sampled(2)
@pytest.mark.parametrize(("search_", "budget"), BUDGETS, ids=["bisect", "random_chain"])
def test_a_policy_that_dominates_safe_harbor(con: Any, search_: str, budget: int) -> None:
    con.execute("UPDATE town SET people = people * 100")
    given = spec(
        method=HARBOR
        | {"search": search_, "budget": budget, "choose": {"dominates": "safe_harbor"}},
    )
    told = dbdeid.frontier(given, con)
    harbor = told["reference"]["safe_harbor"]
    point = told["points"][told["chosen"] - 1]
    better = [
        p for p in told["points"]
        if p["risk"] <= harbor["risk"] and p["loss"] <= harbor["loss"]
    ]  # fmt: skip
    assert point["loss"] == min(p["loss"] for p in better)
    assert 0 < told["distance"]["least"] <= told["distance"]["mean"]
    result = dbdeid.run(given, con)
    assert result.policy == point["policy"]
    assert promise(result)["found"] <= harbor["risk"] + 1e-9


def test_nothing_dominates_safe_harbor(con: Any) -> None:
    given = spec(method=HARBOR | {"budget": 1, "choose": {"dominates": "safe_harbor"}})
    with pytest.raises(Unsatisfiable, match="no policy that was found dominates Safe Harbor"):
        dbdeid.run(given, con)


def test_safe_harbor_of_ages_alone(con: Any) -> None:
    told = dbdeid.frontier(alone(con, method={"safe_harbor": {"age": "age"}, "choose": None}), con)
    policy = told["reference"]["safe_harbor"]["policy"]
    assert (len(policy["age"]), len(policy["zip"]), len(policy["sex"])) == (91, 13, 2)


@pytest.mark.parametrize(
    ("kinds", "message"),
    [
        ({"age": "zip"}, "'zip' does not hold ages"),
        ({"zip": "age"}, "'age' does not hold ZIP codes"),
        ({"age": "sex"}, "'sex' does not hold ages"),
    ],
)
def test_safe_harbor_of_other_columns(con: Any, kinds: dict[str, str], message: str) -> None:
    with pytest.raises(DataError, match=message) as error:
        dbdeid.frontier(spec(method={"safe_harbor": kinds}), con)
    assert error.value.hint


@pytest.mark.full
def test_safe_harbor_of_a_key_of_several_columns(con: Any) -> None:
    given = spec(method={"safe_harbor": {"age": "age, zip"}})
    given["columns"] = {
        "age, zip": {"role": "quasi_identifier", "domain": "from_population"},
        **{name: COLUMNS[name] for name in ("name", "sex", "illness")},
    }
    for command in (dbdeid.check, dbdeid.frontier, dbdeid.run):
        with pytest.raises(SpecError, match="names 'age, zip', which is no quasi-identifier"):
            command(given, con)
    given["method"]["safe_harbor"] = {"age": "age"}
    assert dbdeid.frontier(given, con)["reference"]


# -- measures -------------------------------------------------------------------------------------


@pytest.mark.parametrize(("key", "wrong"), [("risk", "rising"), ("utility", "falling")])
def test_a_measure_that_is_not_monotone_is_refused(
    con: Any, key: str, wrong: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def pairs(records: Any, people: Any) -> Any:
        return np.where(records % 2 == 0, 1.0, 0.0) + (records == 1)

    table = {"risk": "RISKS", "utility": "LOSSES"}[key]
    more = MappingProxyType({**getattr(measures, table), wrong: Measure(wrong, pairs)})
    from dbdeid.methods.policy import cells as methods

    monkeypatch.setattr(methods, table, more)
    monkeypatch.setitem(Policy.model_fields, key, Policy.model_fields[key])
    monkeypatch.setattr(
        "dbdeid.methods.policy.choose.method_of", _with_measure(key, wrong), raising=True
    )
    message = rf"method\.{key}: measure '{wrong}' is not monotone on these records"
    with pytest.raises(SpecError, match=message) as error:
        dbdeid.frontier(alone(con), con)
    assert "utility: kl" in str(error.value)


def _with_measure(key: str, name: str) -> Any:
    from dbdeid.methods.policy.choose import method_of

    return lambda prepared: method_of(prepared).model_copy(update={key: name})


# -- bounds, dictionary, exports ------------------------------------------------------------------


def test_bounds_and_dictionary_are_those_of_the_intervals(made: Made) -> None:
    con, result = made.con, made.result
    ages = con.execute("SELECT DISTINCT age, age_lower, age_upper FROM public").fetchall()
    shown = set(con.execute("SELECT age FROM public").fetchall())
    assert {(age,) for age, *_ in ages} == shown
    for label, lower, upper in ages:
        first, _, last = label.partition(" to ")
        assert (str(lower), str(upper)) == (first, last or first)
    listed = con.execute("FROM public_dictionary").fetchall()
    for name in QIS:
        values = {row[0] for row in con.execute(f"SELECT {name} FROM public").fetchall()}
        assert {row[1] for row in listed if row[0] == name} == values
    domains = {
        "age": {str(i) for i in range(110)},
        "zip": {z for (z,) in con.execute("SELECT zip FROM town").fetchall()},
        "sex": {"f", "m"},
    }
    for name, label, level, lower, upper, leaves in listed:
        meant = {value for value in domains[name] if means(label, value)}
        assert set(leaves or [label]) == meant
        assert level == (0 if len(result.policy[name]) == len(domains[name]) else 1)
        if name == "age":
            assert (lower, upper) == (min(meant, key=int), max(meant, key=int))
        else:
            assert (lower, upper) == (None, None)


def test_exports_are_reopened_and_hold_the_release_alone(place: Path) -> None:
    given = in_files()
    result = zoo.run(given)
    assert result.verified
    rows = [
        duckdb.sql(f"FROM '{name}' ORDER BY ALL").fetchall() for name in ("out.parquet", "out.csv")
    ]
    for name in ("out.duckdb", *given["output"]["export"][2:]):
        with duckdb.connect(name, read_only=True) as con:
            rows.append(con.execute("FROM public ORDER BY ALL").fetchall())
            assert tables(con) == {"public", "public_dictionary"}
    assert len(rows[0]) == 400
    assert all(found == rows[0] for found in rows[2:])
    assert [tuple(map(str, row)) for row in rows[1]] == [tuple(map(str, row)) for row in rows[0]]


@pytest.mark.full
def test_a_later_export_holds_the_release_alone(place: Path) -> None:
    given = in_files()
    zoo.run(given)
    assert dbdeid.verify(given).verified
    later = export_release(write(given), place / "later.duckdb")
    assert later
    with duckdb.connect("later.duckdb", read_only=True) as con:
        assert tables(con) == {"public", "public_dictionary"}


def write(given: dict[str, Any]) -> Path:
    path = Path("spec.yml")
    path.write_text(json.dumps(given))
    return path


@pytest.mark.full
def test_the_public_report_tells_of_the_chosen_policy_alone(place: Path) -> None:
    given = in_files()
    zoo.run(given)
    path = write(given)
    told = dbdeid.frontier(path)
    page = write_report(path, "public").read_text()
    assert "_frontier" not in page
    assert "_evaluations" not in page
    chosen_ = told["chosen"]
    others = [p for p in told["points"] if p["point"] != chosen_ and 0 < p["risk"] < 1 > p["loss"]]
    assert others
    for point in others:
        assert str(point["risk"]) not in page
        assert str(point["loss"]) not in page


# -- private tables -------------------------------------------------------------------------------

KEPT = {
    "public_frontier": "point INTEGER, risk DOUBLE, kl DOUBLE, loss DOUBLE, policy VARCHAR",
    "public_evaluations": "evaluation INTEGER, risk DOUBLE, loss DOUBLE, policy BIT",
}


@pytest.mark.full
@pytest.mark.parametrize("command", [dbdeid.frontier, dbdeid.run])
def test_the_frontier_is_kept_beside_the_database(place: Path, command: Any) -> None:
    given = in_files()
    if command is dbdeid.run:
        zoo.run(given)
    else:
        command(given)
    told = dbdeid.frontier(given)
    with duckdb.connect("out.private.duckdb", read_only=True) as con:
        for table, columns in KEPT.items():
            found = con.execute(f"DESCRIBE {table}").fetchall()
            assert ", ".join(f"{name} {kind}" for name, kind, *_ in found) == columns
        rows = con.execute("SELECT point, risk, kl, loss FROM public_frontier").fetchall()
        assert rows == [(p["point"], p["risk"], p["kl"], p["loss"]) for p in told["points"]]
        ((words,),) = con.execute("SELECT policy FROM public_frontier WHERE point = 1").fetchall()
        assert words == "; ".join(
            f"{name}: {', '.join(own)}" for name, own in told["points"][0]["policy"].items()
        )
        ((evaluated, lengths),) = con.execute(
            "SELECT count(*), list(DISTINCT length(policy)) FROM public_evaluations"
        ).fetchall()
        assert (evaluated, lengths) == (400, [122])
    with duckdb.connect("owner.duckdb", read_only=True) as con:
        assert tables(con) == {"town", "ward"}
    if command is dbdeid.run:
        with duckdb.connect("out.duckdb", read_only=True) as con:
            assert tables(con) == {"public", "public_dictionary"}
    assert Path("out.private.duckdb").stat().st_mode & 0o077 == 0


@pytest.mark.full
def test_the_next_one_takes_its_place(con: Any) -> None:
    dbdeid.frontier(spec(), con)
    dbdeid.run(spec(method={"budget": 37}), con)
    assert con.execute("SELECT count(*) FROM public_evaluations").fetchone() == (37,)
    assert con.execute("SELECT count(*) FROM deid.frontiers").fetchone() == (2,)
    if tiers.full:
        dbdeid.frontier(spec(method={"budget": 21}, release="PUBLIC"), con)
        assert con.execute("SELECT count(*) FROM public_evaluations").fetchone() == (21,)
        assert con.execute("SELECT count(*) FROM deid.frontiers").fetchone() == (2,)


@pytest.mark.sampled(4)
@pytest.mark.parametrize("command", [dbdeid.frontier, dbdeid.run])
@pytest.mark.parametrize(
    "theirs",
    [
        "CREATE TABLE Public_Frontier AS SELECT 1 AS mine",
        "CREATE TABLE public_evaluations AS SELECT 1 AS mine",
        "CREATE VIEW public_frontier AS SELECT 1 AS mine",
    ],
)
def test_somebody_elses_table_is_refused_and_untouched(con: Any, theirs: str, command: Any) -> None:
    con.execute(theirs)
    before = tables(con)
    with pytest.raises(DataError, match="exists and was not written by dbdeid"):
        command(spec(), con)
    assert tables(con) == before
    assert con.execute(f"FROM {theirs.split()[2]}").fetchall() == [(1,)]


# -- again ----------------------------------------------------------------------------------------


@pytest.mark.full
def test_equal_seeds_give_equal_bytes_whatever_the_order_and_threads(place: Path) -> None:
    given = in_files()
    names = ("out.duckdb", "out.parquet", "out.csv", "copy.duckdb")
    seen = []
    for order, threads in (("name", 1), ("hash(name)", 2)):
        with duckdb.connect("owner.duckdb") as con:
            con.execute(f"CREATE OR REPLACE TABLE ward AS FROM ward ORDER BY {order}")
            con.execute(
                f"CREATE OR REPLACE TABLE town AS FROM town ORDER BY hash(age || '{order}')"
            )
        run_release(given, settings=Settings(threads=threads))
        seen.append([Path(name).read_bytes() for name in names])
    assert all(found == seen[0] for found in seen)


@pytest.mark.full
def test_without_a_seed_other_policies_are_drawn(con: Any) -> None:
    given = spec(method={"choose": None, "budget": 200})
    del given["seed"]
    first, second = (dbdeid.frontier(given, con)["points"] for _ in range(2))
    assert first != second


@pytest.mark.full
@pytest.mark.parametrize(
    ("change", "failing"),
    [
        ("UPDATE town SET people = 1", "policy"),
        ("DELETE FROM town WHERE age = (SELECT min(age) FROM ward)", "policy"),
    ],
)
def test_a_later_verification_finds_what_was_changed(con: Any, change: str, failing: str) -> None:
    given = spec()
    dbdeid.run(given, con)
    assert dbdeid.verify(given, con).verified
    con.execute(change)
    found = dbdeid.verify(given, con)
    assert failing in {p.model for p in found.promises if not p.holds}


@pytest.mark.full
@pytest.mark.parametrize(
    "change",
    ["DELETE FROM ward WHERE rowid < 100", "UPDATE ward SET age = (age + 40) % 97"],
)
def test_a_changed_source_is_no_broken_promise(con: Any, change: str) -> None:
    given = spec()
    dbdeid.run(given, con)
    con.execute(change)
    found = dbdeid.verify(given, con)
    assert found.verified
    assert found.source_changed is not None
    assert {"policy", "truthfulness"} <= {*found.source_changed.not_compared}


@pytest.mark.full
def test_nothing_to_merge(con: Any) -> None:
    """Domains of one value have no policies but one."""
    con.execute("CREATE OR REPLACE TABLE ward AS FROM ward LIMIT 1")
    con.execute("CREATE OR REPLACE TABLE town AS SELECT age, zip, sex, 9 AS people FROM ward")
    columns = {name: {"role": "quasi_identifier", "domain": "from_population"} for name in QIS}
    told = dbdeid.frontier(spec(columns=columns, method={"choose": None}), con)
    assert [(p["risk"], p["loss"], p["kl"]) for p in told["points"]] == [(1, 0, 0)]
    given = spec(columns=columns, method={"choose": {"max_risk": 1}})
    result = dbdeid.run(given, con)
    assert released(con) == con.execute("SELECT age, zip, sex, illness FROM ward").fetchall()
    assert promise(result)["found"] == 1


@pytest.mark.full
def test_one_value_of_a_column_that_has_more(con: Any) -> None:
    con.execute("UPDATE ward SET sex = 'f'; UPDATE town SET sex = 'f'")
    con.execute("CREATE OR REPLACE TABLE town AS SELECT age, zip, sex, sum(people)::INT AS people "
                "FROM town GROUP BY ALL")  # fmt: skip
    assert dbdeid.run(spec(), con).verified


# -- everywhere else ------------------------------------------------------------------------------


def test_from_sql(place: Path) -> None:
    path = write(spec(database="owner.duckdb"))
    with duckdb.connect("owner.duckdb") as con:
        dbdeid.install(con)
        ((told,),) = con.execute("SELECT deid_frontier(?)", [str(path)]).fetchall()
        assert json.loads(told)["points"] == dbdeid.frontier(path, con)["points"]
        if tiers.full:
            ((ran,),) = con.execute("SELECT deid_run(?)", [str(path)]).fetchall()
            assert json.loads(ran)["verified"]


@pytest.mark.full
def test_in_memory_nothing_is_kept(place: Path) -> None:
    with duckdb.connect("owner.duckdb") as con:
        con.execute("COPY ward TO 'ward.parquet'; COPY town TO 'town.parquet'")
    given = spec(source="ward.parquet", method={"population": "town.parquet"})
    told = dbdeid.frontier(given)
    assert told["chosen"]
    result = dbdeid.run(given)
    assert result.policy == told["points"][told["chosen"] - 1]["policy"]
    assert len(result.to_df()) == 400
    assert sorted(p.name for p in place.iterdir()) == [
        "owner.duckdb", "town.parquet", "ward.parquet",
    ]  # fmt: skip


def test_check_tells_how_many_bits(con: Any) -> None:
    found = dbdeid.check(spec(method={"choose": None}), con)
    assert (found["bits"], found["lattice_size"]) == (122, None)
    con.execute("UPDATE town SET people = 0 WHERE age = (SELECT min(age) FROM ward)")
    with pytest.raises(DataError, match="records have values that nobody in the population has"):
        dbdeid.check(spec(), con)


def test_the_steps_can_be_shown(place: Path) -> None:
    shown = [step.text() for step in steps(spec(database="owner.duckdb"))]
    assert any('"town"' in text for text in shown)
    assert any('"ward"' in text for text in shown)


def test_there_are_no_levels_to_search(con: Any) -> None:
    with pytest.raises(SpecError, match="chooses intervals, not levels"):
        search(spec(), con)


def test_other_methods_have_no_frontier(con: Any) -> None:
    columns = {name: {"role": "quasi_identifier", "hierarchy": "suppress"} for name in QIS}
    given = spec(columns=columns) | {"method": "full_domain"}
    with pytest.raises(SpecError, match="method full_domain has no frontier"):
        dbdeid.frontier(given, con)


def test_more_combinations_of_values_than_can_be_numbered_are_refused() -> None:
    names = [f"c{i}" for i in range(7)]
    with duckdb.connect() as con:
        picked = ", ".join(f"i AS {name}" for name in names)
        con.execute(f"CREATE TABLE wide AS SELECT {picked} FROM range(100) r(i)")
        wide = {
            "release": "released",
            "source": "wide",
            "columns": {n: {"role": "quasi_identifier", "domain": [0, 699]} for n in names},
            "privacy": [{"model": "k_anonymity", "k": 1}],
            "method": "policy",
        }
        with pytest.raises(dbdeid.DataError, match=r"8\.2e\+19 combinations"):
            dbdeid.frontier(wide, con)


@pytest.mark.full
def test_no_released_value_tells_the_least_or_the_greatest_of_the_source(con: Any) -> None:
    grown = {"sql": "SELECT * FROM ward WHERE age BETWEEN 18 AND 80", "name": "ward"}
    least, greatest = 18, 80
    for method in ({"choose": {"max_risk": 1}}, {"choose": {"max_risk": 0.3}}):
        found = dbdeid.frontier(spec(method=method, source=grown), con)
        for ages in (point["policy"]["age"] for point in found["points"]):
            if ages != ["*"]:
                first, last = ages[0].split(" to "), ages[-1].split(" to ")
                assert first[0] == "0"
                assert int(first[1]) >= least
                assert int(last[0]) <= greatest
                assert last[1] == "109"
        dbdeid.run(spec(method=method, source=grown), con)
        bounds = "SELECT min(lower::INT), max(upper::INT) FROM public_dictionary"
        assert con.execute(f"{bounds} WHERE \"column\" = 'age'").fetchone() == (0, 109)
