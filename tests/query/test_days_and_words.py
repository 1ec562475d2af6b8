"""The days between the first and the last of dates, and words chosen by aggregates."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from random import Random

import pytest
from random_releases import RandomRelease
from text_worlds import drawers, judged_all, number

from dbdeid.engine.duckdb.session import Session
from dbdeid.errors import DataError
from dbdeid.query.desk.answer import answer
from dbdeid.query.parse.answerable import Answerable

MakeRelease = Callable[..., Answerable]

TYPES = {"day": ("DATE", "VARCHAR"), "ward": ("VARCHAR",) * 2, "seen": ("TIMESTAMP",) * 2}
WORDS = [
    ("day", "2024-01", 1, "2024-01-01", "2024-01-31", None),
    ("day", "2024-03", 1, "2024-03-01", "2024-03-31", None),
]
ROWS = [
    ("2024-01", "A", "2024-01-05 10:00"),
    ("2024-03", "A", "2024-01-09 09:00"),
    ("2024-03", "B", None),
]


@pytest.fixture
def stays(make_release: MakeRelease) -> Answerable:
    return make_release(TYPES, ROWS, WORDS)


@pytest.mark.parametrize(
    ("shown", "bounds"),
    [
        ("MAX(day) - MIN(day)", (30, 90)),
        ("MIN(day) - MAX(day)", (-90, -30)),
        ("date_diff('day', MIN(day), MAX(day))", (30, 90)),
        ("DATE '2025-01-01' - MAX(day)", (276, 306)),
        ("MAX(day) - MIN(day) FILTER (WHERE ward = 'B')", (-30, 30)),
        ("MAX(day) FILTER (WHERE ward = 'B') - MIN(day) FILTER (WHERE ward = 'B')", (0, 30)),
        ("(MAX(day) - MIN(day)) / COUNT(*)", (10, 30)),
        ("MAX(CAST(seen AS DATE)) - MIN(day)", (-22, 8)),
        # a word is between the first and the last, in order of text, of those that may be chosen
        ("CASE WHEN MAX(day) - MIN(day) > 91 THEN 'long' ELSE 'short' END", ("short", "short")),
        ("CASE WHEN MAX(day) - MIN(day) > 40 THEN 'long' ELSE 'short' END", ("long", "short")),
        ("IF(COUNT(*) FILTER (WHERE day < '2024-01-16') > 0, 'a', NULL)", ("a", "a")),
        (
            "CASE WHEN COUNT(*) = 3 THEN CASE WHEN COUNT(day) > 2 THEN 'x' END ELSE '' END",
            ("x", "x"),
        ),
    ],
)
def test_bounds_by_hand(
    shown: str, bounds: tuple[object, object], session: Session, stays: Answerable
) -> None:
    ((value, *found),) = answer(session, f"SELECT {shown} AS x FROM people", stays).rows
    assert tuple(found) == bounds
    if isinstance(value, float):
        assert bounds[0] <= value <= bounds[1]  # type: ignore[operator]
    else:
        assert value in (*bounds, None)


@pytest.mark.parametrize(
    ("shown", "why"),
    [
        ("date_diff('month', MIN(day), MAX(day))", "DATEDIFF of an aggregate"),
        ("MAX(day) - MIN(seen)", "arithmetic of"),
        ("AVG(LENGTH(ward)) - DATE '2024-01-01'", "- of an aggregate"),
        ("CASE WHEN MIN(day) > '2024-01-01' THEN 'a' ELSE 1 END", "CASE of an aggregate and"),
        ("CASE WHEN COUNT(*) > 'a' THEN 'b' ELSE 'c' END", "no number"),
        ("LENGTH(CASE WHEN COUNT(day) > 2 THEN 'b' ELSE 'c' END)", "LENGTH of an aggregate"),
        ("COALESCE(CASE WHEN COUNT(*) > 2 THEN 'b' END, 'c')", "no number"),
    ],
)
def test_others_are_refused(shown: str, why: str, session: Session, stays: Answerable) -> None:
    with pytest.raises(DataError, match=why):
        answer(session, f"SELECT {shown} AS x, MIN(day) AS d FROM people", stays)


SHOWN = (
    "MAX({d}) - MIN({d})",
    "date_diff('day', MIN({d}) FILTER (WHERE {c}), MAX({d}))",
    "DATE '2024-06-30' - MIN({d})",
    "({a}) / NULLIF(MAX({d}) - MIN({d}), 0)",
    "CASE WHEN MAX({d}) - MIN({d}) > 9 THEN {a} ELSE 0 END",
    "ASCII(CASE WHEN {a} > 2 THEN 'b' WHEN {a} < 1 THEN 'a' ELSE 'c' END)",
)


def texts(release: RandomRelease, random: Random) -> Iterator[str]:
    """Queries of the forms above, of releases that have dates."""
    for drawer, names in drawers(release, random):
        dates = [a.name for a in release.attributes if a.type == "DATE"]
        shown = random.choice(SHOWN).format(
            d=random.choice(dates) if dates else "DATE '2024-01-01'",
            c=drawer.condition(1).written(names),
            a=number(drawer).written(names),
        )
        where = f" WHERE {drawer.condition(1).written(names)}" if random.random() < 0.4 else ""
        if random.random() < 0.5:
            key = drawer.key().written(names)
            yield f"SELECT {key}, {shown} AS shown FROM people{where} GROUP BY 1"
        else:
            yield f"SELECT {shown} AS shown FROM people{where}"


@pytest.mark.full
@pytest.mark.parametrize("fifth", range(5))
def test_no_world_is_out_of_the_bounds(fifth: int) -> None:
    seen = judged_all("days", list(range(fifth, 60, 5)), texts, 8)
    assert seen["worlds"] > 60
