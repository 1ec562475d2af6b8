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
            "write the name or the alias that FROM gives the table",
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


def test_another_form_is_offered_where_the_form_is_refused(
    session: Session, people: Answerable
) -> None:
    with pytest.raises(DataError) as refused:
        answer(session, "SELECT REGR_SLOPE(age, age) FROM people", people)
    assert refused.value.hint.startswith(f"{SUPPORTED}; or ask in any form of columns")
