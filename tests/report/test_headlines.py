"""What charts say: it follows what was promised, and what was found."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

import pytest
from records import failing, full, padded

from dbdeid.record.border import from_json
from dbdeid.record.release_record import ReleaseRecord
from dbdeid.record.usefulness import Share
from dbdeid.report.content.audience import public
from dbdeid.report.content.headlines import headlines, shift


def said(record: dict[str, Any], *losses: tuple[str, float]) -> dict[str, str]:
    return headlines(from_json(record), losses)


def test_class_sizes_are_held_against_the_promise() -> None:
    assert said(full())["classes"] == "No class is smaller than the promised k = 5"
    assert said(failing())["classes"] == (
        "Promise broken: the smallest class has 1 record, k = 5 was promised"
    )
    other = full() | {"privacy": [{"model": "k_map", "k": 5, "population": "census"}]}
    assert said(other)["classes"] == "No class size is promised: the smallest class has 5 records"
    assert said(other)["risk"] == "The highest risk is 20%: no declared model limits it"


def test_loss_names_what_is_gone_or_what_lost_most() -> None:
    assert said(full(), ("a", 1.0), ("b", 1.0), ("c", 0.5))["loss"] == "Nothing is left of a and b"
    assert said(full(), ("a", 0.4), ("b", 0.1))["loss"] == "a loses most"
    assert said(full(), ("a", 0.0))["loss"] == "No column lost any detail"
    many = [(name, 1.0) for name in "abcd"]
    assert said(full(), *many)["loss"] == "Nothing is left of 4 columns"
    assert "loss" not in said(full())


def test_risk_and_errors_are_told_with_what_they_were() -> None:
    record = full()
    assert said(record)["risk"] == "The highest risk falls from 100% to 20%"
    assert said(record)["queries"] == "Answers to 2 of 3 questions are 61.4% off on average"
    same = deepcopy(record)
    same["risk"]["before"]["highest_risk"] = 0.2
    assert said(same)["risk"] == "The highest risk stays 20%"
    told: ReleaseRecord = from_json(record)
    shown = headlines(public(told), ())
    assert shown["risk"] == "The highest risk is 20%"
    assert not {"queries", "distributions"} & set(shown)


def test_shares_that_shift_are_those_that_the_chart_shows() -> None:
    rows = [
        {"label": "[0, 20)", "source": 0.5, "released": 0.6},
        {"label": ">=20", "source": 0.5, "released": 0.4},
    ]
    even = [{"label": "*", "source": 1.0, "released": 1.0}]
    drawn = [{"column": "sex", "rows": even}, {"column": "age", "rows": rows}]
    found = said(full() | {"distributions": drawn})["distributions"]
    assert found == "The shares of age shift most: by 10% of the records"
    alike = [{"column": "sex", "rows": even}]
    assert said(full() | {"distributions": alike})["distributions"] == (
        "The shares are those of the source"
    )
    assert "classes" in said(padded())


def test_shares_that_differ_by_rounding_alone_do_not_shift() -> None:
    def one(source: float, released: float) -> Share:
        return Share(label="a", source=source, released=released)

    assert 0.1 + 0.2 != 0.3
    assert shift([one(0.1 + 0.2, 0.3), one(0.7, 0.7)]) == 0
    assert shift([one(0.3, 0.4), one(0.7, 0.6)]) == pytest.approx(0.1)
