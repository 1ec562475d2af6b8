"""Of groups that are equal in what they are sorted by, the same come first each time."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from dbdeid.engine.duckdb.session import Session
from dbdeid.query.desk.answer import answer
from dbdeid.query.parse.answerable import Answerable

MakeRelease = Callable[..., Answerable]

WARDS = [f"{letter}{number}" for number in range(10) for letter in "TQAZMC"]


@pytest.fixture
def wards(make_release: MakeRelease) -> Answerable:
    """Two records of each ward, in no order."""
    return make_release(
        {"ward": ("VARCHAR", "VARCHAR"), "age": ("INTEGER", "VARCHAR")},
        [(ward, "[0, 10)") for ward in WARDS] + [(ward, "[0, 10)") for ward in reversed(WARDS)],
        [("age", "[0, 10)", 1, "0", "9", None)],
        sources=("t",),
    )


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("SELECT ward, COUNT(*) AS n FROM t GROUP BY 1 ORDER BY n DESC LIMIT 5", slice(5)),
        ("SELECT ward, COUNT(*) AS n FROM t GROUP BY 1 LIMIT 4", slice(4)),
        ("SELECT ward, COUNT(*) FROM t GROUP BY 1 ORDER BY 2 LIMIT 3 OFFSET 7", slice(7, 10)),
        (
            "SELECT ward, AVG(age) FROM t GROUP BY 1 "
            "QUALIFY ROW_NUMBER() OVER (ORDER BY AVG(age) DESC) <= 6 ORDER BY 2",
            slice(6),
        ),
    ],
)
def test_the_first_of_equals_are_those_of_their_keys(
    text: str, wanted: slice, session: Session, wards: Answerable
) -> None:
    found = answer(session, text, wards)
    assert [row[0] for row in found.rows] == sorted(WARDS)[wanted]


def test_keys_that_are_sorted_by_are_sorted_as_asked(session: Session, wards: Answerable) -> None:
    text = "SELECT ward FROM t GROUP BY ward ORDER BY COUNT(*), ward DESC LIMIT 5"
    assert [row[0] for row in answer(session, text, wards).rows] == sorted(WARDS)[:-6:-1]


@pytest.mark.full
def test_the_first_rows_of_several_queries(session: Session, wards: Answerable) -> None:
    one = "SELECT ward, COUNT(*) AS n FROM t WHERE age < 5 GROUP BY ward"
    text = f"{one} UNION ALL {one.replace('<', '>=')} ORDER BY n LIMIT 6"
    found = answer(session, text, wards)
    assert [row[0] for row in found.rows] == sorted(WARDS * 2)[:6]
