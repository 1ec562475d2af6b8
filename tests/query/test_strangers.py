"""A text that is no value of its column is noted, with what may be meant by it."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from dbdeid.commands.queries.notes import of_strangers
from dbdeid.engine.duckdb.session import Session
from dbdeid.query.desk.answer import Desk
from dbdeid.query.parse.answerable import Answerable


@pytest.fixture
def told(session: Session, make_release: Callable[..., Answerable]) -> Callable[[str], list[str]]:
    target = make_release(
        {
            "sex": ("VARCHAR", "VARCHAR"),
            "area": ("VARCHAR",) * 2,
            "zip": ("VARCHAR",) * 2,
            "job": ("VARCHAR",) * 2,
        },
        [("*", "north", "12*", "Sales"), ("Male", "south", "13*", "Tech")],
        [
            ("sex", "Male", 0, None, None, None),
            ("sex", "*", 1, None, None, ["Female", "Male"]),
            ("area", "north", 0, None, None, None),
            ("area", "south", 0, None, None, None),
            ("zip", "12*", 1, None, None, None),
            ("zip", "13*", 1, None, None, None),
        ],
    )
    desk = Desk(session, target.dictionary)

    def notes(text: str) -> list[str]:
        return list(of_strangers(desk.strangers(desk.plan(text, target), text, target)))

    return notes


@pytest.mark.parametrize(
    ("text", "hints"),
    [
        ("SELECT COUNT(*) FROM people WHERE sex = 'M'", ["'M' …; did you mean 'Male'?"]),
        ("SELECT COUNT(*) FROM people WHERE 'male' <> sex", ["'male' …; did you mean 'Male'?"]),
        (
            "SELECT COUNT(*) FROM people WHERE sex IN ('Male', 'w')",
            ["'w' …; known: Female, Male."],
        ),
        (
            "SELECT COUNT(*) FILTER (WHERE s = 'f') FROM (SELECT sex AS s FROM people)",
            ["'f' …; did you mean 'Female'?"],
        ),
        (
            "SELECT AVG(n) FROM (SELECT sex, COUNT(*) AS n FROM people WHERE sex <> 'fem' "
            "GROUP BY sex)",
            ["'fem' …; did you mean 'Female'?"],
        ),
        ("SELECT COUNT(*) FROM people WHERE sex = 'Male' OR sex <> 'Female'", []),
        ("SELECT COUNT(*) FROM people WHERE lower(sex) = 'male'", []),
        ("SELECT COUNT(*) FROM people WHERE job = 'nurse'", []),
        ("SELECT area FROM people WHERE area = 'nort'", ["'nort' …; did you mean 'north'?"]),
        ("SELECT COUNT(*) FROM (SELECT job AS area FROM people) WHERE area = 'Tech'", []),
    ],
)
def test_a_text_that_is_no_value(
    text: str, hints: list[str], told: Callable[[str], list[str]]
) -> None:
    parts = [note.split(" is no value of ") for note in told(text)]
    assert [f"{constant} …; {rest.split('; ')[1]}" for constant, rest in parts] == hints
