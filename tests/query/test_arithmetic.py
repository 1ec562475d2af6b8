"""Ratios, differences and other arithmetic of aggregates: expected values, and bounds that hold."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import replace
from random import Random
from typing import Any

import pytest
import tiers
from asking import bounded
from random_releases import RandomRelease
from text_worlds import drawers, judged_all, number

from dbdeid.engine.duckdb.session import Session
from dbdeid.engine.relation import Column, Relation
from dbdeid.errors import DataError
from dbdeid.query.parse.answerable import Answerable
from dbdeid.query.parse.reading import parse

MakeRelease = Callable[..., Answerable]
RELEASES = 60
QUERIES = 10

SHOWN = (
    "{a} / {b}",
    "{a} / NULLIF({b}, 0)",
    "ROUND(100.0 * {a} / {b}, 1)",
    "{a} - {b}",
    "{a} + 2 * {b}",
    "{a} * {b}",
    "COALESCE({a}, 0)",
    "COALESCE({a}, 0) / NULLIF({b}, 0)",
    "COALESCE({a}, {b}, -1)",
    "1 - {a} / ({b} + 1)",
    "-({a} - {b}) / 2",
    "CAST({a} AS DOUBLE) / (0 - {b})",
    "ABS({a} - {b})",
    "ABS({a}) - 2",
    "POWER({a} - {b}, 2)",
    "POWER({a}, 3)",
    "SQRT({a})",
    "SQRT(ABS({a} - 3))",
    "LN({a})",
    "EXP({a} / 10)",
    "LOG10(ABS({a}) + 1)",
    "TRUNC({a} / 2)",
    "GREATEST({a}, {b})",
    "LEAST({a}, {b}, 3)",
    "GREATEST({a} - {b}, 0)",
    "CASE WHEN {a} > 2 THEN {b} ELSE 0 END",
    "CASE WHEN {a} > {b} THEN {a} - {b} WHEN NOT {b} <= 1 THEN -{a} END",
    "IF({a} BETWEEN 1 AND 3 OR {b} IS NULL, {a}, {b} + 1)",
    "COALESCE(CASE WHEN {a} >= 2 THEN {a} END, {b}, -1)",
)
MEANS = (
    "SUM({x}) / COUNT({x})",
    "SUM({x}) / COUNT(*)",
    "100.0 * COUNT(*) FILTER (WHERE {c}) / COUNT(*)",
    "SUM(CASE WHEN {c} THEN 1 ELSE 0 END) / NULLIF(COUNT(*), 0)",
    "ROUND(100 * (COUNT_IF({c}) / COUNT(*)), 2)",
    "COUNT({x}) * 1.0 / COUNT(*)",
    "SUM({x}) FILTER (WHERE {c}) / COUNT({x}) FILTER (WHERE {c})",
    "SUM({x}) FILTER (WHERE {c}) / COUNT(*) FILTER (WHERE {c})",
)


def texts(release: RandomRelease, random: Random) -> Iterator[str]:
    """Queries with one expression of aggregates."""
    for drawer, names in drawers(release, random):
        key = drawer.key().written(names) if random.random() < 0.6 else ""
        where = f" WHERE {drawer.condition(2).written(names)}" if random.random() < 0.5 else ""
        grouped = f" GROUP BY {key}" if key else ""
        head, tail = f"SELECT {key}, " if key else "SELECT ", f" FROM people{where}{grouped}"
        if random.random() < 0.6:
            a, b = (number(drawer).written(names) for _ in range(2))
            shown = random.choice(SHOWN).format(a=a, b=b)
        else:
            x, c = drawer.number(), drawer.condition(1)
            value = x.written(names) if x is not None else "1"
            shown = random.choice(MEANS).format(x=value, c=c.written(names))
        yield f"{head}{shown} AS shown{tail}"


@pytest.mark.sampled(10)
@pytest.mark.parametrize("tenth", range(10))
def test_no_world_is_out_of_the_bounds(tenth: int) -> None:
    seeds = tiers.some(range(tenth, RELEASES, 10), 6)
    seen = judged_all("arithmetic", seeds, texts, QUERIES)
    assert seen["worlds"] > 50
    assert seen["bounded"] > seen["unbounded"]


# -- what is known by hand -----------------------------------------------------------------------

WORDS = [("age", "[20, 40)", 1, "20", "39", None), ("age", "[40, 60)", 1, "40", "59", None)]
PEOPLE = {"age": ("INTEGER", "VARCHAR"), "sex": ("VARCHAR", "VARCHAR"), "cost": ("INTEGER",) * 2}
ROWS = [
    ("[20, 40)", "F", 10),
    ("[20, 40)", "F", None),
    ("[40, 60)", "F", 30),
    ("[40, 60)", "M", 50),
]


@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    ("shown", "expected"),
    [
        # by what is released as it is: no doubt
        ("SUM(cost) / COUNT(*)", (22.5, 22.5, 22.5)),
        ("SUM(cost) / COUNT(cost)", (30, 30, 30)),
        ("ROUND(100.0 * COUNT(*) FILTER (sex = 'F') / COUNT(*), 1)", (75, 75, 75)),
        ("COALESCE(SUM(cost) FILTER (sex = 'X'), 0)", (0, 0, 0)),
        ("COALESCE(SUM(cost), 0) - MIN(cost)", (80, 80, 80)),
        ("MAX(cost) - MIN(cost)", (40, 40, 40)),
        ("COUNT(NOT cost > 20) / COUNT(*)", (0.75, 0.75, 0.75)),  # of no cost that is not known
        (
            "COALESCE(COUNT_IF(cost > 20) FILTER (sex = 'X') / NULLIF(COUNT(*), 0), -1)",
            (-1, None, None),
        ),
        # two records are under 40; of one of them half of the ages are under 30
        ("COUNT(*) FILTER (age < 30) / COUNT(*)", (0.25, 0, 0.5)),
        ("COUNT_IF(age < 30) * 100.0 / COUNT(*)", (25, 0, 50)),
        ("SUM(CASE WHEN age < 30 THEN 1 ELSE 0 END) / NULLIF(COUNT(*), 0)", (0.25, 0, 0.5)),
        ("COUNT(*) - COUNT(*) FILTER (age < 30)", (3, 2, 4)),
        ("1 - COUNT(*) FILTER (age < 30) / COUNT(*)", (0.75, 0.5, 1)),
        ("-COUNT(*) FILTER (age < 30) / 2", (-0.5, -1, 0)),
        # at least one of those counted is there, or it is NULL
        ("SUM(cost) / NULLIF(COUNT(*) FILTER (age < 30), 0)", (90, 45, 90)),
        ("SUM(cost) / COUNT(*) FILTER (age < 30)", (90, None, None)),
        ("COUNT(*) FILTER (age < 30) * COUNT(*) FILTER (age >= 50)", (1, 0, 4)),
        ("MIN(cost) / (COUNT(*) FILTER (age < 30) - 1)", (None, None, None)),
        # a sum of cases is NULL where none has a value: 10 and NULL are of those under 40
        ("SUM(CASE WHEN age < 40 THEN cost ELSE 0 END)", (10, 10, 10)),
        ("SUM(CASE WHEN sex = 'X' THEN cost ELSE 0 END)", (0, 0, 0)),
        (
            "SUM(CASE WHEN sex = 'F' THEN cost ELSE 0 END) FILTER (cost IS NULL)",
            (None, None, None),
        ),
        ("SUM(CASE WHEN cost < 20 THEN cost ELSE 0 END) / SUM(cost)", (1 / 9, 1 / 9, 1 / 9)),
        # functions that rise, and such as fall and rise: one record is expected of 0 to 2
        ("SQRT(COUNT(*))", (2, 2, 2)),
        ("LOG2(COUNT(*))", (2, 2, 2)),
        ("EXP(COUNT(*) FILTER (age < 30) - 1)", (1, math.exp(-1), math.e)),
        ("LN(COUNT(*) FILTER (age < 30))", (0, None, math.log(2))),  # of 0 it is no number
        ("SQRT(COUNT(*) FILTER (age < 30) - 1)", (0, None, None)),  # of less it is none
        ("ABS(COUNT(*) FILTER (age < 30) - 1)", (0, 0, 1)),
        ("ABS(COUNT(*) FILTER (age < 30) - 4)", (3, 2, 4)),
        ("POWER(COUNT(*) FILTER (age < 30) - 1, 2)", (0, 0, 1)),
        ("(COUNT(*) FILTER (age < 30) - 1) ^ 3", (0, -1, 1)),
        ("TRUNC(-COUNT(*) FILTER (age < 30) / 2)", (0, -1, 0)),
        ("GREATEST(COUNT(*) FILTER (age < 30), 1)", (1, 1, 2)),
        ("LEAST(COUNT(*) FILTER (age < 30), 1)", (1, 0, 1)),
        ("GREATEST(SUM(cost) FILTER (sex = 'X'), 7)", (7, 7, 7)),
        # NULL is left out: where no record is under 30 the least is 50
        ("LEAST(SUM(cost) FILTER (age < 30), 50)", (5, 0, 50)),
        # CASE is between what may be chosen
        ("CASE WHEN COUNT(*) > 3 THEN 1 ELSE 2 END", (1, 1, 1)),
        ("CASE WHEN COUNT(*) FILTER (age < 30) > 1 THEN COUNT(*) ELSE 0 END", (0, 0, 4)),
        (
            "CASE WHEN COUNT(*) FILTER (age < 30) > 5 THEN -1 WHEN COUNT(*) = 4 THEN 3 END",
            (3, 3, 3),
        ),
        ("IF(NOT COUNT(*) FILTER (age < 30) BETWEEN 0 AND 2, 1, NULL)", (None, None, None)),
        ("CASE WHEN COUNT(*) > 0 THEN SUM(cost) / COUNT(*) END", (22.5, 22.5, 22.5)),
        ("IF(SUM(cost) FILTER (sex = 'M') IS NULL, 0, 5)", (5, 0, 5)),
        ("CASE WHEN CORR(cost, cost) > 0.5 AND AVG(cost) < 99 THEN 1 ELSE 0 END", (1, 0, 1)),
    ],
)
def test_arithmetic_by_hand(
    shown: str, expected: tuple[float, ...], session: Session, make_release: MakeRelease
) -> None:
    target = make_release(PEOPLE, ROWS, WORDS)
    ((value, lower, upper),) = bounded(session, f"SELECT {shown} AS x FROM people", target)
    assert (value, lower, upper) == pytest.approx(expected, abs=1e-9)


def test_a_sum_of_cases_is_null_where_none_has_a_value(
    session: Session, make_release: MakeRelease
) -> None:
    target = make_release(PEOPLE, ROWS, WORDS)
    asked = "SELECT SUM(CASE WHEN sex = 'F' THEN cost ELSE 0 END) AS x FROM people WHERE {}"
    for none in ("cost IS NULL", "cost > 99"):
        assert bounded(session, asked.format(none), target) == [(None, None, None)]
    assert bounded(session, asked.format("sex = 'M'"), target) == [(0, 0, 0)]
    assert bounded(session, asked.format("age < 30"), target) == [(5, 0, 10)]


@pytest.mark.parametrize(
    ("kind", "shown", "lower", "upper"),
    [
        ("TINYINT", "MAX(n) + MAX(n)", 180, 198),
        ("TINYINT", "ABS(-MIN(n) - 100) - 1", 189, 198),
        ("TINYINT", "CASE WHEN MAX(n) * 2 > 100 THEN MAX(n) * 3 ELSE 1 END", 270, 297),
        ("TINYINT", "GREATEST(MAX(n) * 2, MIN(n))", 180, 198),
        ("SMALLINT", "400 * MAX(n)", 36_000, 39_600),
        ("BIGINT", "9000000000000000000 * MAX(n)", 81 * 10**19, 891 * 10**18),
    ],
)
def test_arithmetic_of_whole_numbers_does_not_overflow(
    kind: str, shown: str, lower: int, upper: int, session: Session, make_release: MakeRelease
) -> None:
    """It may in the original, for values that it need not have."""
    words = [("n", "[90, 100)", 1, "90", "99", None)]
    target = make_release({"n": (kind, "VARCHAR")}, [("[90, 100)",)] * 2, words)
    ((value, *ends),) = bounded(session, f"SELECT {shown} AS x FROM people", target)
    assert ends == [lower, upper]
    assert lower < value < upper
    text = f"SELECT COUNT(*) AS n FROM people HAVING {shown} > 5 ORDER BY {shown}"
    assert bounded(session, text, target) == [(2, 2, 2)]


def truth(session: Session, text: str) -> float:
    """The one number that a query gives of a release that generalizes nothing, as it is."""
    session.execute("CREATE OR REPLACE VIEW people AS FROM release")
    ((found,),) = session.rows(text)
    session.execute("DROP VIEW people")
    return float(found)


@pytest.mark.parametrize(
    ("shown", "rows"),
    [
        ("ROUND(100.0 * COUNT(*) FILTER (n = 1) / COUNT(*), 1)", [1] * 23 + [0] * 57),
        ("ROUND(100.0 * COUNT(*) FILTER (n = 1) / COUNT(*))", [1] * 57 + [0] * 143),
        ("FLOOR(100 * COUNT(*) FILTER (n = 1) / COUNT(*))", [1] * 29 + [0] * 71),
        ("FLOOR(100.0 * SUM(n) / COUNT(n))", [1] * 29 + [0] * 71),
        ("CEIL(100 * COUNT(n) / COUNT(*))", [1] * 7 + [None] * 18),
        ("CAST(SUM(g) AS INTEGER)", [1.25, 1.25, 0]),
        ("CAST(SUM(n) * 0.5 AS INTEGER)", [1]),
        ("CEIL(SUM(g) * 10)", [0.1, 0.2]),
        ("FLOOR(SUM(g) / 0.1)", [0.1, 0.2]),
        ("CEIL(AVG(g) * 20)", [0.1, 0.2]),
    ],
)
def test_a_step_is_within_the_bounds_however_numbers_are_computed(
    shown: str, rows: list[Any], session: Session, make_release: MakeRelease
) -> None:
    types = {"n": ("INTEGER", "INTEGER"), "g": ("DECIMAL(8,2)", "DECIMAL(8,2)")}
    whole = [n if n is None or n == int(n) else None for n in rows]
    target = make_release(types, list(zip(whole, rows, strict=True)), [])
    text = f"SELECT {shown} AS x FROM people"
    ((value, lower, upper),) = bounded(session, text, target)
    true = truth(session, text)
    assert lower <= true <= upper
    assert lower <= value <= upper
    assert upper - lower <= 1


def test_whole_numbers_have_no_error(session: Session, make_release: MakeRelease) -> None:
    target = make_release(PEOPLE, ROWS, WORDS)
    text = "SELECT FLOOR((COUNT(*) - COUNT(cost)) * 3) AS x FROM people"
    assert bounded(session, text, target) == [(3, 3, 3)]


def test_an_expected_extreme_lies_between_its_bounds(
    session: Session, make_release: MakeRelease
) -> None:
    """However small the chance is that nobody has the least value."""
    words = [("age", "[0, 40)", 1, "0", "39", None)]
    rows = [("[0, 40)", "F", cost / 3) for cost in range(600)]
    types = {**PEOPLE, "cost": ("DOUBLE", "DOUBLE")}
    target = make_release(types, [*rows, *[("[0, 40)", "F", 0.0)] * 600], words)
    text = "SELECT MIN(cost) AS x FROM people WHERE age < 20"
    ((value, lower, upper),) = bounded(session, text, target)
    assert lower <= value <= upper


def test_a_cast_of_text_is_refused(session: Session, make_release: MakeRelease) -> None:
    target = make_release(PEOPLE, ROWS, WORDS)
    with pytest.raises(DataError, match="arithmetic of MIN, which is no number"):
        bounded(session, "SELECT CAST(MIN(sex) AS INTEGER) FROM people", target)


def test_what_may_be_too_large_may_be_null(session: Session, make_release: MakeRelease) -> None:
    target = make_release(PEOPLE, [("[40, 60)", "F", 1)] * 6, WORDS)
    text = "SELECT COALESCE(TRY_CAST(SUM(age) AS UTINYINT), -1) AS x FROM people"
    ((_, lower, upper),) = bounded(session, text, target)
    assert (lower, upper) == (-1, None)


@pytest.mark.parametrize(
    "shown",
    [
        "SUM(cost)::FLOAT / COUNT(*)",
        "SUM(cost)::FLOAT / COUNT(cost)",
        "100 * COUNT(*) FILTER (sex = 'F')::FLOAT / COUNT(*)",
        "CAST(COUNT(cost) AS FLOAT) / COUNT(DISTINCT sex) / 7",
    ],
)
def test_single_precision_is_within_the_bounds(
    shown: str, session: Session, make_release: MakeRelease
) -> None:
    target = make_release(PEOPLE, [*ROWS, *ROWS, *ROWS[:3]], WORDS)
    text = f"SELECT {shown} AS x FROM people"
    ((_, lower, upper),) = bounded(session, text, target)
    true = truth(session, text)
    assert lower <= true <= upper
    assert upper - lower < 1e-5 * true


def test_a_count_of_a_group_is_not_0(session: Session, make_release: MakeRelease) -> None:
    target = make_release(PEOPLE, ROWS, WORDS)
    text = "SELECT age < 30 AS young, COUNT(DISTINCT sex) / COUNT(*) AS x FROM people GROUP BY 1"
    found = {young: (lower, upper) for young, _, lower, upper in bounded(session, text, target)}
    assert found == {True: (0, 1), False: (0.5, 1)}


def test_without_bounds_there_are_none_of_arithmetic(
    session: Session, make_release: MakeRelease
) -> None:
    target = replace(make_release(PEOPLE, ROWS, WORDS), truthful=False)
    for shown in ("SUM(cost) / SUM(age)", "COALESCE(SUM(cost), 0)", "SUM(cost) - COUNT(*)"):
        ((value, *ends),) = bounded(session, f"SELECT {shown} AS x FROM people", target)
        assert value is not None
        assert ends == [None, None]


@pytest.mark.parametrize(
    ("shown", "same"),
    [
        ("SUM(age) / COUNT(age)", "AVG(age)"),
        ("SUM(age) / NULLIF(COUNT(age), 0)", "AVG(age)"),
        ("100.0 * SUM(age) / COUNT(age)", "AVG(100.0 * (age))"),
        ("CAST(SUM(age) AS DOUBLE) / COUNT(age)", "AVG(age)"),
        (
            "SUM(age) FILTER (sex = 'F') / COUNT(age) FILTER (sex = 'F')",
            "AVG(age) FILTER (sex = 'F')",
        ),
        ("COUNT(age) / COUNT(*)", "AVG(CASE WHEN NOT age IS NULL THEN 1 ELSE 0 END)"),
    ],
)
def test_a_ratio_that_is_a_mean_is_read_as_one(shown: str, same: str) -> None:
    one, two = (parse(f"SELECT {text} AS x FROM people", TARGET) for text in (shown, same))
    assert one == two


@pytest.mark.parametrize(
    "shown",
    [
        "SUM(age) / COUNT(cost)",
        "SUM(DISTINCT age) / COUNT(age)",
        "SUM(age) FILTER (sex = 'F') / COUNT(age)",
        "SUM(age) / COUNT(age) FILTER (sex = 'F')",
        "COUNT(DISTINCT age) / COUNT(*)",
        "SUM(age) / SUM(cost)",
    ],
)
def test_other_ratios_are_none(shown: str) -> None:
    try:
        question = parse(f"SELECT {shown} AS x FROM people", TARGET)
    except DataError:
        return  # no aggregate of distinct values but COUNT
    assert "avg" not in {one.kind for one in question.aggregates}
    assert len(question.aggregates) == 2


TARGET = Answerable(
    ("people",),
    tuple(Column(name, kind) for name, (kind, _) in PEOPLE.items()),
    (),
    Relation("release"),
    None,
)
