"""How like its source a release is, whatever made it: measured by the run, or afterwards."""

from __future__ import annotations

from typing import Any

import duckdb
import pytest
from alike import METHODS, PEOPLE

import dbdeid
from dbdeid.spec.metric_spec import OF_EVERY

SIDES = ("release", "source", "baseline")


def measured(found: dict[str, float], made: dict[str, Any], targets: set[str]) -> None:
    names = {n for n, c in made["columns"].items() if n != "name" and c != "drop"}
    assert {name for name in found if "." not in name} == {*OF_EVERY}
    assert {n.partition(".")[2] for n in found if n.startswith("distribution.")} == names
    pairs = [n for n in found if n.startswith("association.")]
    assert len(pairs) == len(names) * (len(names) - 1) // 2
    assert {n.partition(".")[2] for n in found if n.startswith("classification.")} == {
        f"{target}.{side}{figure}"
        for target in targets
        for side in SIDES
        for figure in ("", ".accuracy")
    }
    assert found["propensity.ratio"] > 0
    assert found["distribution"] > 0
    assert -1 <= found["classification"] <= 1
    others = found.keys() - {"propensity.ratio", "classification"}
    assert all(0 <= found[name] <= 1 for name in others)


@pytest.mark.full
@pytest.mark.parametrize("method", METHODS)
def test_every_method_has_them(method: str) -> None:
    made = METHODS[method]
    with duckdb.connect() as con:
        con.execute(PEOPLE)
        found = dict(dbdeid.run(made, con).metrics)
    # without a sensitive column all categories are explained
    targets = {"sex", "smoker", "illness"} if method == "condensation" else {"illness"}
    measured(found, made, targets)


@pytest.mark.full
@pytest.mark.parametrize("method", ["kept", "counterfeit", "condensation"])
def test_what_was_not_asked_for_is_measured_of_the_release_that_is_there(method: str) -> None:
    made, names = METHODS[method], ["distribution", "association"]
    with duckdb.connect() as con:
        con.execute(PEOPLE)
        ran = dbdeid.run(made | {"evaluate": {"metrics": names}}, con).metrics
        dbdeid.run(made | {"evaluate": {"metrics": []}}, con)
        assert dbdeid.evaluate(made | {"evaluate": {"metrics": []}}, con)["metrics"] == {}
        later = dbdeid.evaluate(made | {"evaluate": {"metrics": names}}, con)["metrics"]
        assert later == dict(ran)
