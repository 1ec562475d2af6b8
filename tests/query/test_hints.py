"""A hint says what to do about the mistake that was made."""

from __future__ import annotations

import pytest

from dbdeid.engine.duckdb.session import Session
from dbdeid.errors import DataError
from dbdeid.query.desk.answer import answer
from dbdeid.query.parse.answerable import Answerable
from dbdeid.query.parse.expressions import SUPPORTED


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("SELECT COUNT(*) FROM people WHERE", "correct the text there"),
        ("SELECT COUNT(*) FROM people WHERE job = 'x", "close it"),
        ("SELECT 1; SELECT 2", "ask one SELECT at a time"),
        ("DROP TABLE people", "ask one SELECT at a time"),
        ("SELECT job, sex FROM people GROUP BY job", "add it to GROUP BY, or aggregate it"),
        ("SELECT COUNT(*) FROM people GROUP BY 7", "count its columns from 1"),
        (
            "SELECT COUNT(*) FROM people WHERE q.job = 'x'",
            "write the name or the alias that FROM gives the table; a subquery cannot name columns "
            "of the query around it",
        ),
        (
            "SELECT COUNT(*) FROM people WHERE job < current_time",
            "write the time of day: TIME '12:00:00'",
        ),
        (
            'SELECT COUNT(*) FROM people WHERE job = "books"',
            "double quotes name columns; a text stands in single quotes; known: age, bmi, job, "
            "sex, zip.",
        ),
        ("SELECT jobb FROM people", "did you mean 'job'? Known: age, bmi, job, sex, zip."),
    ],
)
def test_the_hint_is_of_the_mistake(
    text: str, hint: str, session: Session, people: Answerable
) -> None:
    with pytest.raises(DataError) as refused:
        answer(session, text, people)
    assert refused.value.hint == hint


@pytest.mark.parametrize(
    ("shown", "why", "hint"),
    [
        (
            "NTILE(2) OVER (ORDER BY SUM(age))",
            "the aggregate NTILE over groups",
            "RANK, DENSE_RANK",
        ),
        (
            "PERCENT_RANK() OVER (ORDER BY SUM(age))",
            "the aggregate PERCENT_RANK over groups",
            "RANK, DENSE_RANK",
        ),
        (
            "FIRST_VALUE(SUM(age)) OVER (ORDER BY job)",
            "the aggregate FIRST_VALUE over groups",
            "LAG",
        ),
        ("ANY_VALUE(age)", "the aggregate ANY_VALUE", "MIN and MAX"),
        ("FIRST(age)", "the aggregate FIRST", "MIN and MAX"),
        ("MAX(sex) || '!'", "|| of an aggregate", "select the aggregate itself"),
        ("RANK() OVER (ORDER BY SUM(age)) AS r{}", "a window over groups of which", "ask without"),
    ],
)
def test_what_is_refused_is_called_as_it_is_written(
    shown: str, why: str, hint: str, session: Session, people: Answerable
) -> None:
    having = " HAVING COUNT(*) > 1" if "{}" in shown else ""
    text = f"SELECT job, {shown.format('')} FROM people GROUP BY job{having}"
    with pytest.raises(DataError) as refused:
        answer(session, text, people)
    assert refused.value.message.removeprefix(_CANNOT).startswith(why)
    assert hint in refused.value.hint


_CANNOT = "the query cannot be answered from the release: "


def test_a_window_over_records_is_called_so(session: Session, people: Answerable) -> None:
    below = "SELECT age, NTILE(2) OVER (ORDER BY age) AS half FROM people"
    with pytest.raises(DataError, match="a window over single records"):
        answer(session, f"SELECT AVG(half) FROM ({below}) AS t", people)


def test_another_form_is_offered_where_the_form_is_refused(
    session: Session, people: Answerable
) -> None:
    with pytest.raises(DataError) as refused:
        answer(session, "SELECT REGR_SLOPE(age, age) FROM people", people)
    assert refused.value.hint.startswith(f"{SUPPORTED}; or ask in any form of columns")
