"""Thresholds of a spec: how they are read, what they are held against, and what they prevent."""

from __future__ import annotations

import hashlib
import math
from pathlib import Path
from typing import Any

import pytest
import zoo
from hypothesis import given
from hypothesis import strategies as st
from specs import owned, small

import dbdeid
from dbdeid.bind.read import read
from dbdeid.errors import ExpectationError, SpecError, VerificationError
from dbdeid.evaluation import expectations
from dbdeid.record.border import from_json
from dbdeid.record.usefulness import Expectation
from dbdeid.spec.expect_spec import parse

RECORD: dict[str, Any] = {
    **{"release": "r", "method": "full_domain", "version": "0.2.0", "created": "2026-02-03"},
    **{"source": "people", "verified": True},
    "source_rows": 200,
    "source_subjects": None,
    "released_rows": 190,
    "suppressed_rows": 10,
    "suppressed_subjects": 10,
    "counterfeit_rows": 4,
    "classes": 12,
    "smallest_class": 5,
    "risk": {"after": {"records": 190, "highest_risk": 0.2, "average_risk": 0.06}},
    "queries": {"mean_relative_error": 0.15, "within_bounds": 1.0},
    "metrics": {
        "loss": 0.25,
        "distribution.age": 0.1,
        "distribution.zip": 0.4,
        "kl_divergence": None,
    },
}
FOUND = {
    "source_rows": 200,
    "released_rows": 190,
    "classes": 12,
    "smallest_class": 5,
    "suppressed": 0.05,
    "counterfeits": 0.02,
    "highest_risk": 0.2,
    "average_risk": 0.06,
    "query_error": 0.15,
    "within_bounds": 1.0,
    "loss": 0.25,
    "distribution.zip": 0.4,
}


MEASURED = {"evaluate": {"metrics": ["loss"]}}


def judged(expect: dict[str, str], kept: dict[str, Any]) -> tuple[Expectation, ...]:
    return expectations.judged(expect, from_json(kept))


def test_everything_that_can_be_expected_is_found() -> None:
    found = {e.name: e.found for e in judged(dict.fromkeys(FOUND, ">= 0"), RECORD)}
    assert found == FOUND


def test_people_are_counted_where_they_are_declared() -> None:
    record = {**RECORD, "source_subjects": 100, "suppressed_subjects": 20}
    (found,) = judged({"suppressed": "<= 0.1"}, record)
    assert (found.found, found.holds) == (0.2, False)


@pytest.mark.parametrize(
    ("text", "worst"), [("< 0.5", 0.4), ("< 0.3", 0.4), ("> 0.05", 0.1), ("> 0.2", 0.1)]
)
def test_of_a_metric_of_each_column_all_must_hold(text: str, worst: float) -> None:
    (found,) = judged({"distribution": text}, RECORD)
    assert found.found == worst
    threshold = parse(text)
    assert threshold is not None
    assert found.holds == all(threshold.holds(value) for value in (0.1, 0.4))


@pytest.mark.parametrize("name", ["propensity", "kl_divergence", "query_error", "highest_risk"])
def test_what_was_not_measured_holds_nothing(name: str) -> None:
    (found,) = judged({name: ">= 0"}, {**RECORD, "queries": None, "risk": None})
    assert (found.found, found.holds) == (None, False)


@pytest.mark.parametrize(("value", "holds"), [(math.inf, True), (math.nan, False)])
def test_odd_numbers_are_no_json(value: float, holds: bool) -> None:
    (found,) = judged({"loss": "> 1"}, {**RECORD, "metrics": {"loss": value}})
    assert (found.found, found.holds) == (None, holds)


@given(
    st.sampled_from(["<", "<=", ">", ">=", "="]),
    st.floats(0, 1, allow_nan=False),
    st.sampled_from(["", " ", "  "]),
    st.floats(0, 1),
)
def test_a_threshold_says_what_python_says(sign: str, limit: float, gap: str, value: float) -> None:
    threshold = parse(f"{gap}{sign}{gap}{limit!r}{gap}")
    assert threshold is not None
    operator = "==" if sign == "=" else sign
    assert threshold.holds(value) == eval(f"{value!r} {operator} {limit!r}")


@pytest.mark.parametrize(
    "text",
    ["0.3", "<", "< 30%", "< 0,3", "< nan", "< inf", "<> 1", "!= 1", "< 1 and > 0", "== 1", "<1 2"],
)
def test_what_is_no_threshold(text: str) -> None:
    assert parse(text) is None


def mistakes(**more: Any) -> dict[str, tuple[str, str]]:
    with pytest.raises(SpecError) as raised:
        read(small(**more))
    return {m.place: (m.message, m.hint) for m in raised.value.mistakes}


@pytest.mark.parametrize(
    ("expect", "more", "says", "hint"),
    [
        ({"los": "< 0.3"}, {}, "nothing called 'los'", "did you mean 'loss'?"),
        ({"loss": "0.3"}, {}, "a sign and a number", '"< 0.3"'),
        ({"loss.age": "< x"}, {}, "a sign and a number", '"< 0.3"'),
        ({"suppressed.age": "< 1"}, {}, "nothing called", "Known"),
        ({"query_error": "< 0.3"}, {}, "by a workload", "queries:"),
        ({"propensity": "< 0.3"}, {}, "not measured", "[propensity, …]"),
        ({"loss": "< 1"}, {"evaluate": {"metrics": ["height"]}}, "not measured", "[loss, …]"),
        ({"information_loss": "< 1"}, {}, "values that are not generalized", "measured by"),
        ({"membership.outlier": "< 1"}, {}, "nothing called", "'membership.outliers'?"),
        ({"membership.outliers": "< 1"}, {}, "values that are not generalized", "measured by"),
        ({"counterfeits": "< 1"}, {}, "only method counterfeit", "leave it out"),
        ({"loss": "< 1"}, {"output": {"as": "view"}}, "a preview", "as a table"),
    ],
)
def test_mistakes_are_told_at_their_place(
    expect: dict[str, str], more: dict[str, Any], says: str, hint: str
) -> None:
    (name,) = expect
    found = mistakes(expect=expect, **more)
    texts = [text for place, text in found.items() if place == f"expect.{name}"]
    assert any(says in message and hint in told for message, told in texts)


def test_each_figure_of_an_attack_is_bounded() -> None:
    expect = {"membership": "<= 0.6", "membership.outliers": "<= 0.65", "people_at_risk": "= 0"}
    columns = {"age": "synthesize", "dose": "synthesize"}
    sizes = [{"model": "cluster_size", "k": 50}]
    read({**small(columns=columns, privacy=sizes, method="condensation"), "expect": expect})
    found = {"membership": 0.58, "membership.outliers": 0.7, "people_at_risk": 0}
    told = judged(expect, {**RECORD, "metrics": found})
    assert [(e.found, e.holds) for e in told] == [(0.58, True), (0.7, False), (0.0, True)]


def test_numbers_are_asked_for_in_quotes() -> None:
    (found,) = mistakes(expect={"loss": 0.3}).values()
    assert "expects text" in found[0]


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    zoo.fill(owned)
    return tmp_path


def prints(folder: Path) -> dict[str, str]:
    return {p.name: hashlib.sha256(p.read_bytes()).hexdigest() for p in folder.iterdir()}


AWAY = {"target": "out.duckdb"}
MET = {"loss": "< 0.9", "suppressed": "<= 0.1"}


def asked(**more: Any) -> dict[str, Any]:
    given = {"database": "owner.duckdb", "output": {"export": ["out.csv"]}, **MEASURED, **more}
    return small(**given)


@pytest.mark.sampled(2)
@pytest.mark.parametrize("target", [AWAY, {}], ids=["target", "database"])
def test_a_release_that_misses_them_replaces_nothing(place: Path, target: dict[str, str]) -> None:
    made = zoo.run(asked(**target, expect=MET))
    assert [e["holds"] for e in made.expectations] == [True, True]
    before = prints(place)
    with pytest.raises(ExpectationError, match=r"loss is 0\.\d+, expected < 0.001") as raised:
        dbdeid.run(asked(**target, expect={**MET, "loss": "< 0.001"}))
    assert "suppressed" not in str(raised.value)
    assert raised.value.exit_code == VerificationError.exit_code == 4
    assert prints(place) == before


@pytest.mark.full
def test_expectations_may_change_after_a_run(place: Path) -> None:
    zoo.run(asked(**AWAY, expect=MET))
    assert dbdeid.verify(asked(**AWAY, expect={"loss": "< 0.001"}, tags=["weekly"])).verified
