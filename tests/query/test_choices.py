"""An answer says where the original may have other groups than those that are shown."""

from __future__ import annotations

import pytest

from dbdeid.commands.queries.notes import of_choice
from dbdeid.engine.duckdb.session import Session
from dbdeid.query.desk.answer import Desk
from dbdeid.query.parse.answerable import Answerable

OTHERS = "which groups are shown goes by expected values"
EQUALS = "groups beyond the last one are as good by ORDER BY"
SOME = "no group is expected to satisfy the conditions"
UNEXPECTED = "groups in which no record is expected, as of NULL, are not listed"
LACKING = "no group of the records released satisfies the conditions"


@pytest.mark.parametrize(
    ("text", "suppressed", "told"),
    [
        ("SELECT sex, COUNT(*) AS n FROM people GROUP BY sex HAVING COUNT(*) > 1", 0, OTHERS),
        ("SELECT sex, COUNT(*) AS n FROM people GROUP BY sex HAVING COUNT(*) > 4", 0, SOME),
        ("SELECT sex, COUNT(*) AS n FROM people GROUP BY sex HAVING sex = 'F'", 0, None),
        ("SELECT sex, COUNT(*) AS n FROM people GROUP BY sex ORDER BY n DESC LIMIT 1", 0, OTHERS),
        ("SELECT sex, COUNT(*) AS n FROM people GROUP BY sex ORDER BY n DESC LIMIT 3", 0, None),
        ("SELECT sex, COUNT(*) AS n FROM people GROUP BY sex ORDER BY n OFFSET 1", 0, OTHERS),
        (
            "SELECT sex, COUNT(*) AS n FROM people GROUP BY sex "
            "QUALIFY RANK() OVER (ORDER BY COUNT(*)) = 1",
            0,
            OTHERS,
        ),
        ("SELECT job, COUNT(*) AS n FROM people GROUP BY job ORDER BY n DESC LIMIT 1", 0, None),
        ("SELECT job, COUNT(*) AS n FROM people GROUP BY job ORDER BY n LIMIT 1", 0, EQUALS),
        ("SELECT job, COUNT(*) AS n FROM people GROUP BY job ORDER BY n, job LIMIT 1", 0, None),
        ("SELECT job, COUNT(*) AS n FROM people GROUP BY job HAVING COUNT(*) > 9", 0, None),
        ("SELECT job, COUNT(*) AS n FROM people GROUP BY job HAVING COUNT(*) > 9", 1, LACKING),
        ("SELECT job, COUNT(*) AS n FROM people WHERE job = 'x' GROUP BY job", None, LACKING),
        ("SELECT job, COUNT(*) AS n FROM people WHERE age < 50 GROUP BY job LIMIT 1", 0, OTHERS),
        ("SELECT COUNT(*) AS n FROM people WHERE sex = 'F' HAVING COUNT(*) > 4", 0, SOME),
        ("SELECT COUNT(*) AS n FROM people LIMIT 1", 0, None),
        (
            "SELECT sex, COUNT(*) AS n FROM people WHERE job = 'Sales' GROUP BY sex",
            0,
            UNEXPECTED,
        ),
        ("SELECT sex, COUNT(*) AS n FROM people GROUP BY sex", 0, None),  # NULL is there
        ("SELECT bmi = 18.5 AS thin, COUNT(*) AS n FROM people GROUP BY thin", 0, UNEXPECTED),
        ("SELECT age < 50 AS young, COUNT(*) AS n FROM people GROUP BY young", 0, None),
        ("SELECT job, COUNT(*) AS n FROM people WHERE sex IS NULL AND age > 0 GROUP BY 1", 1, SOME),
    ],
)
def test_what_chooses_groups(
    text: str, suppressed: int | None, told: str | None, session: Session, people: Answerable
) -> None:
    desk = Desk(session, people.dictionary)
    plan = desk.plan(text, people)
    found, beyond = desk.found(plan)
    assert len(found.rows) == len(session.rows(plan.sql))
    notes = list(of_choice(plan, found.rows, beyond, suppressed))
    assert [note.startswith(told) for note in notes] == [True] if told else notes == []
