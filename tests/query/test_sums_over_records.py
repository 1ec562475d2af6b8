"""A sum over the number of all records is bounded as the mean that it is."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from dbdeid.engine.duckdb.session import Session
from dbdeid.query.desk.answer import answer
from dbdeid.query.parse.answerable import Answerable

MakeRelease = Callable[..., Answerable]


@pytest.fixture
def bills(make_release: MakeRelease) -> Answerable:
    """Two wards; the fee of one record is not known, nor the age of another."""
    return make_release(
        {
            "age": ("INTEGER", "VARCHAR"),
            "ward": ("VARCHAR",) * 2,
            "fee": ("DECIMAL(8,2)",) * 2,
            "smoker": ("BOOLEAN",) * 2,
            "none": ("INTEGER",) * 2,
        },
        [
            ("[20, 40)", "A", "10.5", True, None),
            ("[20, 40)", "A", "30.5", False, None),
            ("[40, 60)", "A", None, None, None),
            ("[20, 40)", "B", "60", True, None),
            (None, "B", "20", True, None),
        ],
        [
            ("age", "[20, 40)", 1, "20", "39", None),
            ("age", "[40, 60)", 1, "40", "59", None),
            ("age", None, 0, None, None, None),
        ],
        sources=("t",),
    )


@pytest.mark.parametrize(
    ("shown", "wanted"),
    [
        ("SUM(fee) / COUNT(*)", [(41 / 3,) * 3, (40.0,) * 3]),
        ("SUM(fee) / NULLIF(COUNT(*), 0)", [(41 / 3,) * 3, (40.0,) * 3]),
        ("SUM(fee) * 1.0 / COUNT(*)", [(41 / 3,) * 3, (40.0,) * 3]),
        ("SUM(smoker) / COUNT(*)", [(1 / 3,) * 3, (1.0,) * 3]),
        ("SUM(none) / COUNT(*)", [(None,) * 3] * 2),
        ("SUM(age) / COUNT(*)", [(36 + 1 / 6, 80 / 3, 137 / 3), (14.75, 10, 19.5)]),
        (
            "SUM(fee) FILTER (WHERE age < 40) / COUNT(*) FILTER (WHERE age < 40)",
            [(20.5,) * 3, (60.0,) * 3],
        ),
        # of either record or of both: 10.5 and 30.5
        (
            "SUM(fee) FILTER (WHERE age < 30) / COUNT(*) FILTER (WHERE age < 30)",
            [(20.5, 10.5, 30.5), (60.0,) * 3],
        ),
    ],
)
def test_bounds_are_those_of_the_mean(
    shown: str,
    wanted: list[tuple[float | None, ...]],
    session: Session,
    bills: Answerable,
) -> None:
    text = f"SELECT ward, {shown} AS x FROM t GROUP BY ward ORDER BY ward"
    found = answer(session, text, bills)
    assert [row[1:] for row in found.rows] == [pytest.approx(one) for one in wanted]


def test_groups_are_kept_by_it(session: Session, bills: Answerable) -> None:
    text = "SELECT ward FROM t GROUP BY ward HAVING SUM(fee) / COUNT(*) > 20"
    assert answer(session, text, bills).rows == (("B",),)
    text = "SELECT ward FROM t GROUP BY ward ORDER BY SUM(fee) / COUNT(*) DESC"
    assert answer(session, text, bills).rows == (("B",), ("A",))
