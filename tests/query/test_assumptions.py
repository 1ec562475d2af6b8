"""What of an answer the hierarchies decide is noted, however a question names their columns."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from dbdeid.engine.duckdb.session import Session
from dbdeid.engine.relation import Column, Relation
from dbdeid.query.desk.plan import assumptions
from dbdeid.query.parse.answerable import Answerable
from dbdeid.query.parse.reading import parse

MakeRelease = Callable[..., Answerable]

QUARTERS = [
    ("2020-01-01", "2020-04-01"),
    ("2020-04-01", "2020-07-01"),
    ("2020-07-01", "2020-10-01"),
]


@pytest.fixture
def target(session: Session, make_release: MakeRelease) -> Answerable:
    """Ages in intervals, a sex that is suppressed, moments by quarter, and a zip as it was."""
    rows = [
        (("[0, 50)", "[50, 100)")[n % 2], "*", "9", QUARTERS[n % 3][0], n % 4) for n in range(12)
    ]
    quarters = [("seen", low, 1, low, high, None) for low, high in QUARTERS]
    found = make_release(
        {
            "age": ("INTEGER", "VARCHAR"),
            "sex": ("VARCHAR", "VARCHAR"),
            "zip": ("VARCHAR",) * 2,
            "seen": ("TIMESTAMP", "VARCHAR"),
            "cost": ("INTEGER",) * 2,
        },
        rows,
        [
            ("age", "[0, 50)", 1, "0", "49", None),
            ("age", "[50, 100)", 1, "50", "99", None),
            ("sex", "*", 1, None, None, ["F", "M"]),
            ("zip", "9", 0, None, None, None),
            *quarters,
        ],
    )
    session.execute("CREATE OR REPLACE TABLE sexes (code VARCHAR, shown VARCHAR)")
    session.execute("INSERT INTO sexes VALUES ('F', 'female'), ('M', 'male')")
    names = Relation("sexes", (Column("code", "VARCHAR"), Column("shown", "VARCHAR")))
    return replace(found, tables=(names,))


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("GROUP BY sex, zip", {"sex": "groups"}),
        ("GROUP BY lower(sex)", {"sex": "groups"}),
        ("GROUP BY CASE WHEN sex = 'F' THEN 1 ELSE 2 END", {"sex": "groups"}),
        ("JOIN sexes ON sex = code GROUP BY shown", {"sex": "groups"}),
        ("GROUP BY sex || zip", {"sex": "groups"}),
        ("GROUP BY sex, age < 50", {"sex": "groups"}),
        ("GROUP BY hour(seen)", {"seen": "groups"}),
        ("GROUP BY dayname(seen)", {"seen": "groups"}),
        ("GROUP BY month(seen)", {"seen": "finer"}),
        ("GROUP BY quarter(seen)", {}),
        ("GROUP BY age // 10", {"age": "finer"}),
        ("GROUP BY age % 2", {"age": "groups"}),
        ("GROUP BY age < 50", {}),
        ("GROUP BY age // 50, zip", {}),
        ("WHERE sex = 'F'", {"sex": "condition"}),
        ("WHERE sex LIKE 'F%'", {"sex": "condition"}),
        ("WHERE age % 2 = 1", {"age": "condition"}),
        ("WHERE hour(seen) BETWEEN 8 AND 17", {"seen": "condition"}),
        ("WHERE age < 40", {}),
        ("WHERE age < 50 AND zip = '9'", {}),
        ("JOIN sexes ON sex = code WHERE shown = 'male'", {"sex": "condition"}),
    ],
)
def test_what_hierarchies_decide(
    text: str, told: dict[str, str], session: Session, target: Answerable
) -> None:
    found = assumptions(session, parse(f"SELECT COUNT(*) FROM people {text}", target), target)
    assert {one.column: one.what for one in found} == told


def test_the_condition_of_a_filter(session: Session, target: Answerable) -> None:
    text = "SELECT COUNT(*) FILTER (WHERE sex = 'M'), SUM(cost) FILTER (WHERE age < 20) FROM people"
    found = assumptions(session, parse(text, target), target)
    assert [(one.column, one.what) for one in found] == [("sex", "condition")]


def test_released_values_are_counted(session: Session, target: Answerable) -> None:
    text = "SELECT COUNT(*) FROM people WHERE seen < '2020-07-01' GROUP BY month(seen)"
    (found,) = assumptions(session, parse(text, target), target)
    assert (found.what, found.split, found.released) == ("finer", 2, 2)
