"""A part of a total lies between 0 and 1, whatever lies behind the release."""

from __future__ import annotations

import pytest
from asking import bounded

from dbdeid.engine.duckdb.session import Session
from dbdeid.query.parse.answerable import Answerable

# F is certain of one record and may be of three; two to four have a sex.
KNOWN = "FROM people WHERE sex IS NOT NULL GROUP BY sex ORDER BY sex"


@pytest.mark.parametrize(
    ("shown", "text", "lower", "upper"),
    [
        ("COUNT(*) / SUM(COUNT(*)) OVER ()", KNOWN, 0.25, 1),
        ("ROUND(COUNT(*) * 100.0 / NULLIF(SUM(COUNT(*)) OVER (), 0), 1)", KNOWN, 25, 100),
        ("100 * CAST(COUNT(*) AS DOUBLE) / SUM(COUNT(*)) OVER ()", KNOWN, 25, 100),
        ("COUNT(*) / (SELECT COUNT(*) FROM people)", KNOWN, 0.2, 0.6),
        ("COUNT(*) / (SELECT COUNT(*) FROM people WHERE age < 30)", KNOWN, 1 / 3, 1.5),
        ("-1 * COUNT(*) / SUM(COUNT(*)) OVER ()", KNOWN, -1.5, -0.25),
    ],
)
def test_a_part_of_a_total(
    shown: str, text: str, lower: float, upper: float, session: Session, people: Answerable
) -> None:
    first, *_ = bounded(session, f"SELECT sex, {shown} AS part {text}", people)
    assert first[0] == "F"
    assert first[2:] == pytest.approx((lower, upper))
    assert lower <= first[1] <= upper
