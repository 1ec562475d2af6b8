"""Long expressions of aggregates are computed in steps: the same answers, in text that is short."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from random import Random

import pytest
from random_releases import RandomRelease, random_release
from text_worlds import WORLDS, drawers, judged_all, number

from dbdeid.engine.duckdb.session import Session
from dbdeid.engine.sqltext import sql
from dbdeid.errors import DataError, DbdeidError
from dbdeid.query.desk.answer import Desk
from dbdeid.query.groups import held
from dbdeid.query.parse.answerable import Answerable
from dbdeid.query.parse.outputs import MOST_AGGREGATES
from dbdeid.query.parse.reading import parse
from dbdeid.query.rewrite.rewrite import estimate

MakeRelease = Callable[..., Answerable]

TYPES = {"age": ("INTEGER", "VARCHAR"), "sex": ("VARCHAR", "VARCHAR"), "cost": ("INTEGER",) * 2}
WORDS = [("age", "[20, 40)", 1, "20", "39", None), ("age", "[40, 60)", 1, "40", "59", None)]
ROWS = [
    ("[20, 40)", "F", 10),
    ("[20, 40)", "M", None),
    ("[40, 60)", "F", 30),
    ("[40, 60)", "M", 50),
]
NESTED = (
    "({a} / NULLIF({b}, 0)) / (1 + {c})",
    "({a} / NULLIF({b}, 0)) * ({c} - {b})",
    "({a} / NULLIF({b}, 0)) / NULLIF({c} / NULLIF({b}, 0), 0)",
    "ROUND(({a} - {b}) / NULLIF({c}, 0), 2) / NULLIF({a}, 0)",
    "CASE WHEN {a} / NULLIF({b}, 0) > 1 THEN {c} / NULLIF({a}, 0) ELSE {b} END",
    "CASE WHEN {a} > 2 THEN CASE WHEN {b} > {c} THEN {b} * {c} ELSE {a} END ELSE {a} * {b} END",
    "COALESCE({a} / NULLIF({b}, 0), {c} * {a}, 3)",
    "GREATEST({a} * {b}, {c} / NULLIF({a}, 0), 1)",
    "LEAST(ROUND({a} * {b}, 1), {c}, ABS({a} * {c}))",
    "SQRT(ABS({a} * {b} - {c}))",
    "POWER({a} / NULLIF({b}, 0), 2) - {c}",
    "RANK() OVER (ORDER BY ({a} * {b}) - {c})",
)


def texts(release: RandomRelease, random: Random) -> Iterator[str]:
    """Queries with one nested expression of aggregates."""
    for drawer, names in drawers(release, random):
        a, b, c = (number(drawer).written(names) for _ in range(3))
        shown = random.choice(NESTED).format(a=a, b=b, c=c)
        where = f" WHERE {drawer.condition(1).written(names)}" if random.random() < 0.4 else ""
        if "RANK" in shown or random.random() < 0.6:
            key = drawer.key().written(names)
            yield f"SELECT {key}, {shown} AS shown FROM people{where} GROUP BY 1"
        else:
            yield f"SELECT {shown} AS shown FROM people{where}"


@pytest.mark.full
@pytest.mark.parametrize("tenth", range(10))
def test_no_world_is_out_of_the_bounds_of_what_is_nested(tenth: int) -> None:
    seen = judged_all("nested", list(range(tenth, 60, 10)), texts, 10)
    assert seen["worlds"] > 20 * WORLDS
    assert seen["bounded"] > 20


@pytest.mark.full
@pytest.mark.parametrize("seed", range(20))
def test_steps_change_no_answer(
    seed: int, session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    for attempt in range(4):  # of some releases all questions are refused
        random = Random(f"steps {seed} {attempt}")
        release = random_release(random)
        target = release.write(session)
        drawn = texts(release, random)
        if sum(_same(session, next(drawn), target, monkeypatch) for _ in range(6)):
            return
    pytest.fail("no question was answered")


def _same(session: Session, text: str, target: Answerable, monkeypatch: pytest.MonkeyPatch) -> bool:
    """Whether a query is answered: with the same rows, whatever is computed in steps."""
    found = []
    for long in (1, 40, 10**9):
        monkeypatch.setattr(held, "LONG", long)
        desk = Desk(session, target.dictionary)
        try:
            found.append(sorted(map(repr, desk.rows(desk.plan(text, target)).rows)))
        except DbdeidError:
            found.append([])
    assert found[0] == found[1] == found[2], text
    return bool(found[0])


def risk(sex: str, part: str) -> str:
    """The share of those who cost more than 20 among some."""
    one = f"COUNT(*) FILTER (WHERE sex = '{sex}' AND {part}"
    return f"({one} AND cost > 20) * 1.0 / {one}))"


def test_a_relative_risk(session: Session, make_release: MakeRelease) -> None:
    target = make_release(TYPES, ROWS, WORDS)
    text = f"SELECT {risk('F', 'age >= 20')} / {risk('M', 'cost > 1')} AS x FROM people"
    query = estimate(parse(text, target), target)
    assert session.rows(query) == [(0.5, 0.5, 0.5)]  # 1 of 2 women, and 1 of 1 man
    assert len(sql(query)) < 50_000


@pytest.mark.full
@pytest.mark.parametrize(
    ("first", "more"),
    [
        ("COUNT(*) FILTER (WHERE age < 33)", "1 / (1 + {})"),
        ("COUNT(*) FILTER (WHERE age < 33)", "ROUND({} / 7, 3)"),
        ("SUM(age)", "SQRT({})"),
        ("SUM(age)", "ABS({} - 1)"),
        ("SUM(age)", "GREATEST(1, 1 + {})"),
        ("SUM(age)", "CASE WHEN COUNT(*) > 3 THEN 1 + ({}) ELSE 2 END"),
        ("SUM(age)", "COALESCE({}, AVG(cost), 1)"),
        ("SUM(age)", "({}) * AVG(age)"),
    ],
)
def test_the_text_grows_with_the_expression(
    first: str, more: str, make_release: MakeRelease
) -> None:
    target = make_release(TYPES, ROWS, WORDS)

    def size(depth: int) -> int:
        shown = first
        for _ in range(depth):
            shown = more.format(shown)
        return len(sql(estimate(parse(f"SELECT {shown} AS x FROM people", target), target)))

    few, some, many = map(size, (4, 6, 8))
    assert many - some < 2 * (some - few) + 2_000


WIDE = ", ".join(f"SUM(age + {n}) AS x{n}" for n in range(MOST_AGGREGATES + 1))
LONG = ", ".join(f"SUM(age){' + SUM(cost)' * 90} AS x{n}" for n in range(20))
MANY = ", ".join(map(str, range(0, 9_000, 3)))


@pytest.mark.parametrize(
    ("text", "why"),
    [
        pytest.param(
            f"SELECT {WIDE} FROM people", "121 aggregates, where 120 are", marks=pytest.mark.full
        ),
        pytest.param(f"SELECT {LONG} FROM people", "is too long", marks=pytest.mark.full),
        (f"SELECT COUNT(*) AS n FROM people WHERE age IN ({MANY})", "too many constants"),
    ],
    ids=["wide", "long", "many"],
)
def test_what_would_take_long_to_plan_is_refused(
    text: str, why: str, session: Session, make_release: MakeRelease
) -> None:
    target = make_release(TYPES, ROWS, WORDS)
    with pytest.raises(DataError, match=why) as refused:
        Desk(session, target.dictionary).plan(text, target)
    assert refused.value.hint
