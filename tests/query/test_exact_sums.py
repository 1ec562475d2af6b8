"""Expected values lie between their bounds to the last digit, and sums of decimals are exact."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from typing import Any

import pytest

from dbdeid.engine.duckdb.session import Session
from dbdeid.query.desk.answer import answer
from dbdeid.query.parse.answerable import Answerable

MakeRelease = Callable[..., Answerable]

# Sums of these as DOUBLE are off in the last digit, whichever way they are added up.
CENTS = [Decimal(n * 37 % 1000) / 10 for n in range(120)]


@pytest.fixture
def bills(make_release: MakeRelease) -> Answerable:
    """Bills of two wards, whose ages are in intervals that a condition may cut."""
    ages = ["[20, 40)", "[40, 60)", "[60, 63)"]
    rows = [
        (ages[n % 3], "AB"[n % 2], fee, float(fee), None if n % 7 == 0 else fee / 10)
        for n, fee in enumerate(CENTS)
    ]
    return make_release(
        {
            "age": ("INTEGER", "VARCHAR"),
            "ward": ("VARCHAR", "VARCHAR"),
            "fee": ("DECIMAL(8,2)", "DECIMAL(8,2)"),
            "weight": ("DOUBLE", "DOUBLE"),
            "part": ("DECIMAL(9,3)", "DECIMAL(9,3)"),
        },
        rows,
        [
            ("age", "[20, 40)", 1, "20", "39", None),
            ("age", "[40, 60)", 1, "40", "59", None),
            ("age", "[60, 63)", 1, "60", "62", None),
        ],
        sources=("bills",),
    )


def test_sums_of_decimals_are_exact(session: Session, bills: Answerable) -> None:
    text = (
        "SELECT SUM(fee) AS a, SUM(fee * 2.5) AS b, SUM(part) AS c, AVG(fee) AS d, "
        "SUM(CASE WHEN ward = 'A' THEN fee ELSE 0 END) AS e, SUM(fee - 1) AS f FROM bills"
    )
    (row,) = answer(session, text, bills).rows
    part = sum(fee / 10 for n, fee in enumerate(CENTS) if n % 7)
    total = sum(CENTS)
    wanted = [total, total * Decimal("2.5"), part, None, sum(CENTS[::2]), total - len(CENTS)]
    for place, value in enumerate(wanted):
        if value is not None:
            assert row[3 * place : 3 * place + 3] == (float(value),) * 3
    mean = float(total) / len(CENTS)  # which DuckDB divides in two steps
    assert row[9:12] == pytest.approx((mean,) * 3, rel=1e-14)
    assert row[10] <= row[9] <= row[11]


@pytest.mark.parametrize("condition", ["TRUE", "age < 50", "age <> 61", "age % 3 = 1"])
def test_what_is_expected_is_possible(condition: str, session: Session, bills: Answerable) -> None:
    asked = (
        *("SUM(fee)", "SUM(weight)", "SUM(part)", "AVG(fee)", "AVG(weight)", "AVG(part)"),
        *("SUM(age)", "AVG(age)", "COUNT(*)", "COUNT(part)", "COUNT(DISTINCT age)"),
        *("AVG(age + fee)", "SUM(age * weight)", "MEDIAN(fee)", "VARIANCE(weight)"),
    )
    shown = ", ".join(f"{one} AS a{place}" for place, one in enumerate(asked))
    text = f"SELECT ward, age // 20, {shown} FROM bills WHERE {condition} GROUP BY ALL"
    found = answer(session, text, bills)
    assert found.rows
    for row in found.rows:
        values: list[Any] = list(row[2:])
        for value, lower, upper in zip(*(values[n::3] for n in range(3)), strict=True):
            if lower is not None and value is not None:
                assert lower <= value <= upper


def test_groups_that_differ_by_rounding_alone_are_equal(
    session: Session, bills: Answerable
) -> None:
    text = f"SELECT ward FROM bills GROUP BY ward HAVING SUM(fee) <= {sum(CENTS[::2])}"
    assert ("A",) in answer(session, text, bills).rows
