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


SHOWN = {
    "SUM(fee) - SUM(part)": lambda fee, part: fee - part,
    "0.1 * SUM(fee)": lambda fee, part: fee / 10,
    "-(SUM(part) - 0.3)": lambda fee, part: Decimal("0.3") - part,
    "COALESCE(SUM(fee), 0) * 3 + SUM(part) / 1": None,  # a quotient is a DOUBLE there, too
    "COALESCE(SUM(fee), 0) * 3 + SUM(part)": lambda fee, part: 3 * fee + part,
    "SUM(part) * SUM(fee) - 0.01": lambda fee, part: part * fee - Decimal("0.01"),
    "ROUND(SUM(fee), 1) - 0.1": lambda fee, part: fee - Decimal("0.1"),
}


def test_arithmetic_of_sums_of_decimals_is_exact(session: Session, bills: Answerable) -> None:
    """As the original adds and multiplies them in DECIMAL, whatever DOUBLE makes of it."""
    shown = ", ".join(f"{one} AS a{place}" for place, one in enumerate(SHOWN))
    running = "SUM(SUM(part)) OVER (ORDER BY ward), SUM(part) - LAG(SUM(part)) OVER (ORDER BY ward)"
    text = f"SELECT ward, {shown}, {running} FROM bills WHERE age < 60 GROUP BY ward ORDER BY ward"
    found, before = answer(session, text, bills).rows, Decimal(0)
    assert [row[0] for row in found] == ["A", "B"]
    for row, first in zip(found, (0, 1), strict=True):
        fees = {n: fee for n, fee in enumerate(CENTS) if n % 3 < 2 and n % 2 == first}
        fee, part = sum(fees.values()), sum(f / 10 for n, f in fees.items() if n % 7)
        for place, compute in enumerate(SHOWN.values()):
            if compute is not None:
                exact = float(compute(fee, part))
                assert row[1 + 3 * place : 4 + 3 * place] == (exact,) * 3, list(SHOWN)[place]
        assert row[-6:-3] == (float(before + part),) * 3
        assert row[-3:] == ((float(part - before),) * 3 if first else (None,) * 3)
        before = Decimal(part)


def test_decimals_that_no_double_holds_lie_between_bounds(
    session: Session, make_release: MakeRelease
) -> None:
    amounts = [(Decimal(n * 10**15 + 7 * n) / 100, Decimal(n * 10**15 - n) / 100) for n in range(9)]
    kind = ("DECIMAL(20,2)", "DECIMAL(20,2)")
    made = make_release({"one": kind, "two": kind}, amounts, [], sources=("t",))
    text = "SELECT SUM(one) - SUM(two) AS less, SUM(one) * 3 + 0.01 AS more FROM t"
    less, lower, upper, more, least, most = answer(session, text, made).rows[0]
    one, two = (sum(column) for column in zip(*amounts, strict=True))
    assert Decimal(lower) <= one - two <= Decimal(upper)
    assert lower <= less <= upper < 10
    assert Decimal(least) <= one * 3 + Decimal("0.01") <= Decimal(most)
    assert least <= more <= most < least * (1 + 1e-13)


@pytest.mark.full
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
