"""(ε, m)-anonymity where numbers are awkward, and what a class must have however it grows."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from decimal import Decimal
from typing import Any

import brute
import duckdb
import numpy as np
import pytest
from brute import Counts, model
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError
from tiers import examples

from dbdeid.engine.duckdb.session import Session
from dbdeid.privacy.common.histogram import Histogram, Whole
from dbdeid.privacy.common.shares import Shares, class_values

CELLS = st.sampled_from([*range(-3, 12), 0.1, 0.2, 0.3, 0.4, 7.25])


def seen(classes: list[dict[Any, int]]) -> Histogram:
    """Classes as a search counts them, from how often each has each text."""
    texts = sorted({v for c in classes for v in c}, key=lambda v: (v is None, float(v or 0)))
    entries = [
        (i, place, c[v]) for i, c in enumerate(classes) for place, v in enumerate(texts) if v in c
    ]
    of_class, value, count = (np.array(x, np.int64) for x in zip(*entries, strict=True))
    known = np.array([sum(c.get(v, 0) for c in classes) for v in texts])
    whole = Whole(known, int(known.sum()), tuple(texts))
    return Histogram(np.array([sum(c.values()) for c in classes]), of_class, value, count, whole)


def measured(
    session: Session, asked: Any, sql_type: str, classes: list[dict[Any, int]]
) -> float | None:
    """What the written table is found to keep."""
    session.execute(f"CREATE OR REPLACE TABLE members (class INTEGER, s0 {sql_type})")
    cells = [
        f"({number}, {'NULL' if value is None else repr(value)})"
        for number, each in enumerate(classes)
        for value, count in each.items()
        for _ in range(count)
    ]
    if cells:
        session.execute(f"INSERT INTO members VALUES {', '.join(cells)}")
    held = class_values(session.relation("members"), ["s0"], by_subject=False)
    found = session.row(asked.measure(Shares(held)))[0]
    return None if found is None else float(found)


@pytest.fixture(scope="module")
def session() -> Iterator[Session]:
    with duckdb.connect() as con, Session.over(con, None, read_only=False) as opened:
        yield opened


def of(epsilon: float, m: int) -> Any:
    return model("em_anonymity", column="s", epsilon=epsilon, m=m)


@pytest.mark.sampled(4)
@pytest.mark.parametrize(
    ("sql_type", "epsilon", "values", "m"),
    [
        ("DOUBLE", 0.1, ["0.3", "0.4"], 1),  # 0.4 - 0.3 exceeds 0.1 as doubles do
        ("DOUBLE", 0.1, ["0.2", "0.3"], 1),
        ("FLOAT", 0.1, ["0.2", "0.3"], 1),  # 0.3 - 0.2 exceeds 0.1 as their floats do
        ("FLOAT", 0.1, ["0.2", "0.30001"], 2),
        ("DECIMAL(18,6)", 0.1, ["0.300000", "0.400000"], 1),
        ("DECIMAL(18,6)", 0.1, ["0.300000", "0.400001"], 2),
        ("UTINYINT", 3, ["0", "3"], 1),  # what is 3 less than 0 is no UTINYINT
        ("UTINYINT", 3, ["0", "4"], 2),
        ("UTINYINT", 9, ["250", "255"], 1),
        ("HUGEINT", 1, ["170141183460469231731687303715884105727", "0"], 2),
        ("UHUGEINT", 1, ["340282366920938463463374607431768211455", "0"], 2),
        # beyond the digits of a double neighbours count as near: more is asked, never less
        ("BIGINT", 1, ["9007199254740993", "9007199254740996"], 1),
        ("BIGINT", 1, ["9007199254740993", "9007199254741996"], 2),
        ("DOUBLE", 5, ["nan", "0"], 2),  # near to nothing but itself
        ("DOUBLE", 5, ["inf", "-inf"], 2),
        ("DOUBLE", 1e18, ["1.7e308", "1.6e308"], 2),
        ("DOUBLE", 0, ["-0.0", "0.0"], 1),
    ],
)
def test_two_numbers(
    session: Session, sql_type: str, epsilon: float, values: list[str], m: int
) -> None:
    classes = [dict.fromkeys(values, 1)]
    assert measured(session, of(epsilon, 2), sql_type, classes) == m
    assert of(epsilon, 2).satisfied(seen(classes)).tolist() == [m == 2]


@pytest.mark.full
def test_a_value_that_is_no_number_is_near_to_all(session: Session) -> None:
    assert measured(session, of(1, 2), "VARCHAR", [{"10": 2, "20": 1, "30 mg": 1}]) == 1
    assert measured(session, of(1, 2), "VARCHAR", [{"10": 1, "20": 1}]) == 2


def test_the_worst_class_counts_and_an_empty_table_holds(session: Session) -> None:
    classes = [{"1": 1, "9": 1, "20": 1}, {"1": 1, "2": 1, "30": 1, "40": 1}]
    assert measured(session, of(1, 3), "INTEGER", classes) == 2
    assert of(1, 3).satisfied(seen(classes)).tolist() == [True, False]
    assert measured(session, of(1, 3), "INTEGER", []) is None
    assert of(1, 3).holds(None)


@pytest.mark.sampled(3)
@pytest.mark.parametrize(
    "bad",
    [{"m": 1}, {"m": 2.5}, {"epsilon": -1.0}, {"epsilon": float("nan")}, {"epsilon": 1e19}],
)
def test_parameters_out_of_reach(bad: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        model("em_anonymity", **{"column": "s", "epsilon": 1.0, "m": 2} | bad)
    with pytest.raises(ValidationError, match="no distances"):
        model("em_anonymity", column=["s", "t"], joint=True, epsilon=1.0, m=2)


classes = st.dictionaries(CELLS.map(str) | st.none(), st.integers(1, 3), min_size=1, max_size=7)


@given(st.lists(classes, min_size=1, max_size=3), st.sampled_from([0, 0.1, 1, 2.5]))
@settings(max_examples=examples(60), deadline=None)
def test_every_type_is_counted_as_the_definition_says(
    session: Session, drawn: list[dict[Any, int]], epsilon: float
) -> None:
    held = [
        Counts(sum(c.values()), {None if v is None else Decimal(v): n for v, n in c.items()})
        for c in drawn
    ]
    least = min(brute.near(h, epsilon) for h in held)
    for sql_type in ("DOUBLE", "DECIMAL(9,3)", "FLOAT"):
        assert measured(session, of(epsilon, 2), sql_type, drawn) == float(least)
    kept = [brute.near(h, epsilon) >= 2 for h in held]
    assert of(epsilon, 2).satisfied(seen(drawn)).tolist() == kept


@given(
    st.lists(classes, min_size=1, max_size=4),
    st.sampled_from([0, 0.1, 1, 2.5, 6]),
    st.integers(2, 4),
)
@settings(max_examples=examples(150), deadline=None)
def test_what_is_necessary_is_kept_as_classes_merge(
    drawn: list[dict[Any, int]], epsilon: float, m: int
) -> None:
    asked, merged = of(epsilon, m), dict(drawn[0])
    for other in drawn[1:]:
        for value, count in other.items():
            merged[value] = merged.get(value, 0) + count
    found = seen([*drawn, merged])
    necessary = asked.necessary(found)
    assert not (asked.satisfied(found) & ~necessary).any()
    assert necessary[-1] or not necessary[:-1].any()


def test_merging_two_classes_that_hold_can_give_one_that_does_not() -> None:
    parts = [{"0": 1, "10": 1}, {"1": 1, "-9": 1}]
    merged = {"0": 1, "10": 1, "1": 1, "-9": 1}
    assert of(1, 2).satisfied(seen([*parts, merged])).tolist() == [True, True, True]
    worse = [{"0": 1, "10": 1}, {"1": 1, "-9": 1}, {"-1": 1, "30": 1}]
    merged = {v: 1 for part in worse for v in part}
    assert of(1, 3).satisfied(seen([merged])).tolist() == [False]
    assert of(1, 2).satisfied(seen([*worse, merged])).tolist() == [True, True, True, True]
    merged = {"0": 2, "1": 1, "10": 1, "-9": 1}
    assert of(1, 2).satisfied(seen([{"0": 1, "10": 1}, {"0": 1, "-9": 1}, merged]))[:2].all()
    assert not of(1, 2).satisfied(seen([merged]))[0]


def test_what_a_refusal_tells_is_what_is_reached_with_and_without_the_missing() -> None:
    one = seen([{"1": 3, "9": 2, None: 5}])
    one = replace(one, whole=replace(one.whole, missing=np.array([False, False, True])))
    asked = of(1, 2)
    assert not asked.satisfied(one).any()
    assert asked.reached(one) == "m = 1.666"


def test_no_more_values_are_looked_for_than_a_class_has() -> None:
    assert not of(1, 10**9).necessary(seen([{"1": 3, "9": 2}])).any()
