"""Days that a query computes of constants are constants; other words for what is taken."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from dbdeid.engine.duckdb.session import Session
from dbdeid.query.desk.answer import answer
from dbdeid.query.forms.as_written import rounds
from dbdeid.query.parse.answerable import Answerable
from dbdeid.query.parse.statement import query

MakeRelease = Callable[..., Answerable]


@pytest.fixture
def stays(make_release: MakeRelease) -> Answerable:
    """Two stays of a month of 2024, and one of a temperature between 36 and 39."""
    return make_release(
        {
            "admitted": ("TIMESTAMP", "VARCHAR"),
            "temp": ("DOUBLE", "VARCHAR"),
            "ward": ("VARCHAR", "VARCHAR"),
            "cost": ("DOUBLE", "DOUBLE"),
        },
        [("2024-01", "[36, 39)", "A", 0.1), ("2024-02", "[37, 38)", "B", 1e300)],
        [
            ("admitted", "2024-01", 1, "2024-01-01 00:00:00", "2024-02-01 00:00:00", None),
            ("admitted", "2024-02", 1, "2024-02-01 00:00:00", "2024-03-01 00:00:00", None),
            ("temp", "[36, 39)", 1, "36.0", "39.0", None),
            ("temp", "[37, 38)", 1, "37.0", "38.0", None),
        ],
        sources=("stays",),
    )


@pytest.mark.parametrize(
    ("computed", "constant"),
    [
        ("DATE '2023-02-01' + INTERVAL 1 YEAR", "DATE '2024-02-01'"),
        ("TIMESTAMP '2024-03-01 00:00:00' - INTERVAL '29 days'", "DATE '2024-02-01'"),
        ("date_trunc('month', TIMESTAMP '2024-01-20 10:00:00')", "DATE '2024-01-01'"),
        (
            "date_trunc('month', (TIMESTAMP '2024-03-20 10:00:00' + (INTERVAL '-1 month')))",
            "DATE '2024-02-01'",
        ),
    ],
)
def test_what_is_computed_of_constants_is_a_constant(
    computed: str, constant: str, session: Session, stays: Answerable
) -> None:
    text = "SELECT COUNT(*) AS n FROM stays WHERE admitted >= {}"
    one, other = (answer(session, text.format(end), stays).rows for end in (computed, constant))
    assert one == other
    assert one[0][1] == one[0][2]


def test_bins_of_whole_numbers(session: Session, stays: Answerable) -> None:
    text = "SELECT FLOOR(temp) AS degrees, COUNT(*) AS n FROM stays GROUP BY 1 ORDER BY 1"
    third = pytest.approx(1 / 3)
    assert answer(session, text, stays).rows == (
        (36, third, 0, 1),
        (37, pytest.approx(4 / 3), 1, 2),
        (38, third, 0, 1),
    )


def test_words_of_postgres(session: Session, stays: Answerable) -> None:
    texts = (
        "SELECT EVERY(temp > 36.5) AS a, MODE() WITHIN GROUP (ORDER BY ward) AS b FROM stays",
        "SELECT BOOL_AND(temp > 36.5) AS a, MODE(ward) AS b FROM stays",
    )
    one, other = (answer(session, text, stays).rows for text in texts)
    assert one == other


def test_what_is_beyond_all_numbers_has_no_bounds(session: Session, stays: Answerable) -> None:
    text = "SELECT SUM(cost * cost) / SUM(cost * cost * cost) AS q FROM stays WHERE temp > 37.5"
    ((_, lower, upper),) = answer(session, text, stays).rows
    assert (lower, upper) == (None, None)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("SELECT SUM(cost) AS s FROM stays", True),
        ("SELECT ward, CORR(cost, cost) AS r FROM stays GROUP BY ward", True),
        ("SELECT AVG(LENGTH(ward) / 3) AS a FROM stays", True),
        ("SELECT SUM(AVG(LENGTH(ward))) OVER () AS a FROM stays GROUP BY ward", True),
        ("SELECT MAX(cost) AS m, SUM(LENGTH(ward)) AS n FROM stays", False),
    ],
)
def test_where_the_order_of_records_decides_the_last_digits(
    text: str, told: bool, stays: Answerable
) -> None:
    assert rounds(query(text), stays) is told
