"""Bounds hold what DuckDB adds up, in whichever order the records of the original are."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Sequence
from itertools import permutations
from typing import Any

import duckdb
import pytest

from dbdeid.engine.duckdb.session import Session
from dbdeid.query.desk.answer import Answer, answer
from dbdeid.query.parse.answerable import Answerable

MakeRelease = Callable[..., Answerable]

# Added up in different orders these give different sums.
TENTHS = [0.1, 0.2, 0.3, -0.3, 0.7]
CANCELLING = [1e16, 1.0, -1e16, 3.0]
ASKED = (
    "SUM(x)",
    "AVG(x)",
    "SUM(x) FILTER (WHERE flag)",
    "AVG(x * 3)",
    "VARIANCE(x)",
    "SUM(x) / 3",
)
LISTED = ", ".join(f"{one} AS a{place}" for place, one in enumerate(ASKED))


@pytest.fixture
def measured(make_release: MakeRelease) -> Callable[[Sequence[float]], Answerable]:
    """A release with a column of DOUBLE as it is, beside one that is generalized."""

    def made(values: Sequence[float]) -> Answerable:
        rows = [("*" if place % 2 else "true", value) for place, value in enumerate(values)]
        return make_release(
            {"flag": ("BOOLEAN", "VARCHAR"), "x": ("DOUBLE", "DOUBLE")},
            rows,
            [
                ("flag", "true", 0, None, None, ["true"]),
                ("flag", "*", 1, None, None, ["false", "true"]),
            ],
            sources=("measured",),
        )

    return made


def _outside(found: Answer, original: Sequence[Any]) -> list[str]:
    (row,) = found.rows
    cells = [row[place : place + 3] for place in range(0, len(row), 3)]
    return [
        f"{asked}: {value!r} is not between {lower!r} and {upper!r}"
        for asked, value, (_, lower, upper) in zip(ASKED, original, cells, strict=True)
        if value is not None and not lower <= value <= upper
    ]


@pytest.mark.full
@pytest.mark.parametrize("values", [TENTHS, CANCELLING, [0.1] * 6, [0.3, 1.9, 1.1, 0.7]])
def test_sums_in_any_order_are_within_bounds(
    values: list[float], session: Session, measured: Callable[[Sequence[float]], Answerable]
) -> None:
    found = answer(session, f"SELECT {LISTED} FROM measured", measured(values))
    flags = [place % 2 == 0 for place in range(len(values))]
    worlds = duckdb.connect()
    for order in set(permutations(zip(values, flags, strict=True))):
        listed = ", ".join(f"({value!r}::DOUBLE, {flag})" for value, flag in order)
        asked = f"SELECT {LISTED} FROM (VALUES {listed}) AS m(x, flag)"
        (original,) = worlds.execute(asked).fetchall()
        assert not _outside(found, original), order


@pytest.mark.full
def test_whole_numbers_and_quarters_are_added_up_exactly(
    session: Session, measured: Callable[[Sequence[float]], Answerable]
) -> None:
    target = measured([3.25, -1.5, 8.0, 100.0])
    text = "SELECT SUM(x) AS s, AVG(x) AS m FROM measured WHERE flag OR NOT flag OR x > 0"
    ((total, low, high, mean, *ends),) = answer(session, text, target).rows
    assert (low, high) == (109.75, 111.25)  # -1.5 may be of no known flag
    assert low <= total <= high
    assert all(math.isfinite(end) for end in (mean, *ends))


def test_many_values_are_told_no_worse_than_by_their_last_digits(
    session: Session, measured: Callable[[Sequence[float]], Answerable]
) -> None:
    draw = random.Random(5)
    values = [draw.uniform(-5, 900) for _ in range(2_000)]
    text = "SELECT SUM(x) AS s, AVG(x) AS m FROM measured"
    (row,) = answer(session, text, measured(values)).rows
    for value, lower, upper in (row[:3], row[3:]):
        assert lower <= value <= upper
        assert upper - lower < 1e-11 * value


@pytest.mark.full
def test_a_correlation_may_be_rounded_above_1(
    session: Session, measured: Callable[[Sequence[float]], Answerable]
) -> None:
    target = measured(TENTHS)
    text = "SELECT CORR(x, x) FILTER (WHERE flag) AS a, CORR(x, 2 * x) AS b FROM measured"
    (row,) = answer(session, text, target).rows
    assert row[1] < -1
    assert row[2] > 1.0000000000000002
    assert row[5] > 1.0000000000000002
