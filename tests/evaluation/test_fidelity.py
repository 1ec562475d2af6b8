"""How like its source a release is: what values are spread over, and who may see it."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Iterator
from datetime import date, datetime
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pytest
import zoo
from alike import COLUMNS, METHODS, NAMES, PEOPLE, ROWS, at, table
from scipy.stats import wasserstein_distance

import dbdeid
from dbdeid.cli.text.release.verdict import evaluated
from dbdeid.commands.report import write_report
from dbdeid.commands.verify_evaluate_export import evaluate
from dbdeid.errors import SpecError
from dbdeid.release.result import RunResult
from dbdeid.spec.metric_spec import OF_EVERY, ON_REQUEST

Con = duckdb.DuckDBPyConnection
UNCHANGED = {"evaluate": {"metrics": ["distribution"]}}


@pytest.fixture
def con() -> Iterator[Con]:
    with duckdb.connect() as con:
        con.execute(PEOPLE)
        yield con


def number(value: Any) -> float:
    if isinstance(value, datetime):
        return (value - datetime(1970, 1, 1)).total_seconds()
    return float(value.toordinal() if isinstance(value, date) else value)


def moved(source: list[Any], spread: dict[float, float]) -> float:
    """The earth mover's distance of what is known, over the range of the source."""
    values = [number(v) for v in source if v is not None]
    area = wasserstein_distance(values, [*spread], v_weights=[*spread.values()])
    return float(area / (max(values) - min(values)))


def members(column: str, lower: str, upper: str) -> list[float]:
    """Whole values from end to end, or the middles of many pieces."""
    match column:
        case "age":
            return [*range(int(lower), int(upper) + 1)]
        case "born":
            first, last = (date.fromisoformat(end).toordinal() for end in (lower, upper))
            return [*range(first, last + 1)]
        case "seen":
            low, high = (number(datetime.fromisoformat(end)) for end in (lower, upper))
        case _:
            low, high = float(lower), float(upper)
    return [low + (high - low) * (i + 0.5) / 1000 for i in range(1000)]


@pytest.mark.sampled(2)
@pytest.mark.parametrize("level", [1, 2])
def test_a_generalized_value_is_spread_over_what_it_stands_for(con: Con, level: int) -> None:
    levels = dict.fromkeys(("age", "fee", "born", "seen"), level)
    found = dbdeid.run(at(levels) | UNCHANGED, con).metrics
    source, released = table(con, "people"), table(con, "alike")
    told = {(row["column"], row["released_value"]): row for row in table(con, "alike_dictionary")}
    for name in levels:
        spread: dict[float, float] = defaultdict(float)
        shown = Counter(row[name] for row in released)
        missing = shown.pop(None, 0)
        for label, records in shown.items():
            own = members(name, told[name, label]["lower"], told[name, label]["upper"])
            for value in own:
                spread[value] += records / len(own)
        assert missing == sum(row[name] is None for row in source)
        expected = (1 - missing / ROWS) * moved([row[name] for row in source], spread)
        assert found[f"distribution.{name}"] == pytest.approx(expected, abs=1e-4), name
    for name in ("zip", "sex", "smoker", "illness"):
        assert found[f"distribution.{name}"] == 0
    own = [found[f"distribution.{name}"] for name in NAMES]
    assert found["distribution"] == pytest.approx(np.mean(own))


@pytest.mark.full
def test_what_the_dictionary_does_not_tell_the_private_hierarchies_do(con: Con) -> None:
    found = dbdeid.run(at({"zip": 2, "sex": 1, "age": 3}) | UNCHANGED, con).metrics
    source, released = table(con, "people"), table(con, "alike")
    told = {(row["column"], row["released_value"]): row for row in table(con, "alike_dictionary")}
    zips = {row["zip"] for row in source}
    for name in ("zip", "sex"):
        spread: dict[str | None, float] = defaultdict(float)
        for shown, records in Counter(row[name] for row in released).items():
            leaves = told[name, shown]["leaves"] or [
                z for z in zips if shown and z.startswith(shown.rstrip("*"))
            ]
            for value in leaves or [None]:
                spread[value] += records / len(leaves or [None])
        counts = Counter(row[name] for row in source)
        expected = sum(abs(counts[v] - spread[v]) for v in counts | spread) / ROWS / 2
        assert found[f"distribution.{name}"] == pytest.approx(expected)
        assert expected > 0
    # every age that occurs is as likely, and none is missing
    ages = [row["age"] for row in source if row["age"] is not None]
    missing = 1 - len(ages) / ROWS
    expected = (1 - missing) * moved(ages, dict.fromkeys(map(float, ages), 1.0)) + missing
    assert found["distribution.age"] == pytest.approx(expected)


@pytest.mark.full
def test_a_release_that_changed_nothing_is_like_its_source(con: Con) -> None:
    found = dbdeid.run(at({}), con).metrics
    for name in ("distribution", "association", "propensity", "propensity.ratio"):
        assert found[name] == pytest.approx(0, abs=1e-9), name
    assert {name for name in found if name.startswith("distribution.")} == {
        f"distribution.{name}" for name in NAMES
    }
    pairs = [name for name in found if name.startswith("association.")]
    assert len(pairs) == len(NAMES) * (len(NAMES) - 1) / 2
    assert "association.age.fee" in pairs
    assert found["classification"] < 0.01
    assert found["classification.illness.baseline"] == pytest.approx(1 / 3)


@pytest.mark.full
def test_counterfeit_records_count_by_what_the_catalog_tells(con: Con) -> None:
    found = dbdeid.run(METHODS["counterfeit"] | UNCHANGED, con).metrics
    of_weights = "SELECT illness, sum(weight) FROM alike_weighted GROUP BY 1"
    of_rows = "SELECT illness, count(*) FROM alike GROUP BY 1"
    counts = Counter(row["illness"] for row in table(con, "people"))

    def distance(query: str) -> float:
        shown = con.execute(query).fetchall()
        total = sum(mass for _, mass in shown)
        return float(sum(abs(counts[v] / ROWS - mass / total) for v, mass in shown) / 2)

    assert found["distribution.illness"] == pytest.approx(distance(of_weights))
    assert distance(of_rows) != pytest.approx(distance(of_weights))


@pytest.mark.full
@pytest.mark.parametrize("method", ["condensation", "microaggregation"])
def test_values_that_stand_for_themselves_are_compared_as_they_are(con: Con, method: str) -> None:
    found = dbdeid.run(METHODS[method] | UNCHANGED, con).metrics
    source, released = table(con, "people"), table(con, "alike")
    for name in ("age", "fee", "born", "seen"):
        before, after = ([row[name] for row in side] for side in (source, released))
        missing = [sum(v is None for v in side) / len(side) for side in (before, after)]
        spread = Counter(number(v) for v in after if v is not None)
        expected = (1 - max(missing)) * min(moved(before, dict(spread)), 1)
        expected += abs(missing[0] - missing[1])
        assert found[f"distribution.{name}"] == pytest.approx(expected, abs=1e-9), name
    for name in ("sex", "smoker", "illness"):
        counts, shown = (Counter(row[name] for row in side) for side in (source, released))
        expected = sum(abs(counts[v] - shown[v]) for v in counts | shown) / ROWS / 2
        assert found[f"distribution.{name}"] == pytest.approx(expected), name


OWNED = METHODS["full_domain"] | {"database": "owner.duckdb"}


def measured() -> RunResult:
    with duckdb.connect("owner.duckdb") as con:
        con.execute(PEOPLE)
    return dbdeid.run(OWNED)


def test_removed_records_are_missing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    result = zoo.fill(measured)
    assert result.suppressed_rows > 0
    with duckdb.connect("owner.duckdb", read_only=True) as con:
        source, released = table(con, "people"), table(con, "alike")
    share = [sum(row["smoker"] for row in side) / len(side) for side in (source, released)]
    assert result.metrics["distribution.smoker"] == pytest.approx(abs(share[0] - share[1]))


def test_the_loss_of_what_is_learned_is_told_with_both_sides(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    found = zoo.fill(measured).metrics
    sides = ("release", "source", "baseline")
    assert {name for name in found if name.startswith("classification.")} == {
        f"classification.illness.{side}{figure}" for side in sides for figure in ("", ".accuracy")
    }
    assert found["classification.illness.baseline"] == pytest.approx(1 / 3)  # of three illnesses
    release, source = (found[f"classification.illness.{side}"] for side in sides[:2])
    assert found["classification"] == pytest.approx(source - release)


@pytest.mark.full
def test_the_order_of_rows_changes_no_figure(con: Con) -> None:
    before = dbdeid.run(METHODS["full_domain"], con).metrics
    con.execute("CREATE OR REPLACE TABLE people AS FROM people ORDER BY hash(name)")
    assert dict(dbdeid.run(METHODS["full_domain"], con).metrics) == dict(before)


@pytest.mark.full
def test_only_distances_of_distributions_are_measured_unasked(con: Con) -> None:
    found = dbdeid.run(METHODS["microaggregation"] | {"evaluate": {}}, con).metrics
    measured = {name.partition(".")[0] for name in found}
    assert "distribution" in measured
    assert not measured & {*ON_REQUEST}


@pytest.mark.full
def test_pseudonyms_and_bounds_are_not_compared(con: Con, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DBDEID_PSEUDONYM_KEY", "ab" * 32)
    made = at({"age": 2, "fee": 2}, output={"bounds": True}, subject="name") | UNCHANGED
    made["columns"] = COLUMNS | {"name": {"role": "identifier", "pseudonym": True}}
    found = dbdeid.run(made, con).metrics
    assert "age_lower" in {c for row in table(con, "alike") for c in row}
    assert {n.partition(".")[2] for n in found} == {"", *NAMES}


@pytest.mark.parametrize("name", OF_EVERY)
def test_a_view_does_not_have_them(con: Con, name: str) -> None:
    made = at({}, output={"as": "view"}) | {"evaluate": {"metrics": ["loss", name]}}
    with pytest.raises(SpecError, match=rf"metric '{name}'.*a view is a preview"):
        dbdeid.run(made, con)


@pytest.mark.full
def test_a_view_is_previewed_without_them(con: Con) -> None:
    found = dbdeid.run(at({}, output={"as": "view"}) | {"evaluate": {}}, con).metrics
    assert "loss" in found
    assert "distribution" not in found


@pytest.mark.full
def test_the_owner_sees_them_and_the_public_does_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    metrics = zoo.fill(measured).metrics
    Path("spec.json").write_text(json.dumps(OWNED))
    page = write_report(Path("spec.json"), "internal").read_text(encoding="utf-8")
    shown = write_report(Path("spec.json"), "public").read_text(encoding="utf-8")
    for title in ("Distributions", "Associations", "Propensity", "Classification"):
        assert f">{title}<" in page
        assert title not in shown
    for name in ("propensity", "association", "distribution"):
        assert f"<b>{metrics[name]:.4g}</b>" in page
        assert f"{metrics[name]:.4g}" not in shown
    found = evaluate("spec.json")
    text, pairs = evaluated(found), {n for n in metrics if n.startswith("association.")}
    assert len(pairs) == 10
    assert not any(f"  {name} " in text for name in pairs)
    whole = evaluated(found, every=True)
    assert all(f"  {name} " in whole for name in metrics)
    assert "more figures" not in whole
