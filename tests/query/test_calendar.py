"""Moments by their year, month, day and hour, where they are released as intervals."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from random import Random

import pytest
import tiers
from random_releases import FIRST_MOMENT, RandomRelease
from sqlglot import exp, parse_one
from text_worlds import drawers, judged_all, number

from dbdeid.engine.duckdb.session import Session
from dbdeid.errors import DataError
from dbdeid.query.desk.answer import answer
from dbdeid.query.parse.answerable import Answerable
from dbdeid.query.rewrite.scale import unit_of

MakeRelease = Callable[..., Answerable]
RELEASES = 160
QUERIES = 12

KEYS = (
    "date_trunc('month', {m})",
    "date_trunc('day', {m})",
    "date_trunc('hour', {m})",
    "CAST({m} AS DATE)",
    "year({m})",
    "dayname({m})",
    "hour({m}) // 6",
    "strftime({m}, '%Y-%m')",
    "strftime({m}, '%d %H')",
    "EXTRACT(dow FROM {m})",
    "date_part('day', {m})",
    "date_diff('day', TIMESTAMP '2023-12-31 13:00:00', {m})",
    "date_diff('hour', {m}, {n})",
    "date_diff('year', {m}, {n})",
    "last_day({m})",
)
CONDITIONS = (
    "{m} >= TIMESTAMP '2023-12-31 18:00:00'",
    "CAST({m} AS DATE) < DATE '2024-01-01'",
    "hour({m}) BETWEEN 6 AND 17",
    "month({m}) = 12 OR {c}",
    "year({m}) = 2024 AND NOT ({c})",
    "date_diff('day', {m}, {n}) > 0",
)


def texts(release: RandomRelease, random: Random) -> Iterator[str]:
    """Queries with the keys and conditions above."""
    moments = [a.name for a in release.attributes if a.type == "TIMESTAMP"]
    for drawer, names in drawers(release, random):
        given = {
            "m": random.choice(moments) if moments else f"TIMESTAMP '{FIRST_MOMENT}'",
            "n": random.choice(moments) if moments else f"TIMESTAMP '{FIRST_MOMENT}'",
            "c": drawer.condition(1).written(names),
        }
        key = random.choice(KEYS).format(**given)
        where = random.choice(CONDITIONS).format(**given)
        shown = number(drawer).written(names)
        if random.random() < 0.3:
            shown = f"COUNT(DISTINCT {random.choice(KEYS).format(**given)})"
        text = f"SELECT {key} AS k, {shown} AS shown FROM people"
        if random.random() < 0.5:
            text += f" WHERE {where}"
        yield f"{text} GROUP BY {key}" if moments else "SELECT COUNT(*) AS shown FROM people"


@pytest.mark.sampled(10)
@pytest.mark.parametrize("tenth", range(10))
def test_no_world_is_out_of_the_bounds(tenth: int) -> None:
    seeds = tiers.some(range(tenth, RELEASES, 10), 6)
    seen = judged_all("calendar", seeds, texts, QUERIES)
    assert seen["worlds"] > 20
    assert seen["bounded"] > seen["refused"]


@pytest.fixture
def visits(make_release: MakeRelease) -> Answerable:
    """One visit of January or February 2024, which have 60 days, and one from March on."""
    return make_release(
        {"at": ("TIMESTAMP", "VARCHAR"), "ward": ("VARCHAR",) * 2},
        [("2024-01 to 02", "A"), ("from 2024-03", "B")],
        [
            ("at", "2024-01 to 02", 1, "2024-01-01 00:00:00", "2024-03-01 00:00:00", None),
            ("at", "from 2024-03", 1, "2024-03-01 00:00:00", None, None),
        ],
        sources=("visits",),
    )


@pytest.mark.parametrize(
    ("key", "expected"),
    [
        ("month(at)", [(1, 31 / 60, 0, 1), (2, 29 / 60, 0, 1)]),
        ("date_trunc('year', at)::DATE::VARCHAR", [("2024-01-01", 1, 1, 1)]),
        ("CAST(at AS DATE) < DATE '2024-01-16'", [(False, 0.75, 0, 1), (True, 0.25, 0, 1)]),
        ("hour(at) < 6", [(False, 0.75, 0, 1), (True, 0.25, 0, 1)]),
        (
            "at < TIMESTAMP '2024-01-16' AND year(at) = 2024",
            [(False, 0.75, 0, 1), (True, 0.25, 0, 1)],
        ),
    ],
)
def test_a_moment_is_as_likely_in_each_period_as_that_is_long(
    key: str, expected: list[tuple[object, ...]], session: Session, visits: Answerable
) -> None:
    closed = "FROM visits WHERE ward = 'A' AND at < TIMESTAMP '2024-03-01'"
    session.execute("DELETE FROM release_dictionary WHERE upper IS NULL")
    session.execute("DELETE FROM release WHERE ward = 'B'")
    found = answer(
        session, f"SELECT {key} AS k, COUNT(*) AS n {closed} GROUP BY k ORDER BY k", visits
    )
    assert [(k, pytest.approx(n), *ends) for k, n, *ends in expected] == list(found.rows)


@pytest.mark.parametrize(
    ("kind", "condition", "expected"),
    [
        # a whole second or more after three o'clock, of six hours
        ("TIMESTAMP_S", "at > TIMESTAMP '2020-01-01 03:00:00'", (0.5, 0, 1)),
        ("TIMESTAMP_MS", "at <= TIMESTAMP '2020-01-01 03:00:00'", (0.5, 0, 1)),
        ("TIMESTAMP_S", "at IS NOT NULL", (1, 1, 1)),
        # a day has no time
        ("TIMESTAMP", "at > DATE '2020-01-01 12:00:00'", (1, 0, 1)),
        ("TIMESTAMP", "at <= CAST('2020-01-01 23:30' AS DATE)", (0, 0, 1)),
    ],
)
def test_constants_cut_where_the_engine_compares(
    kind: str,
    condition: str,
    expected: tuple[float, int, int],
    session: Session,
    make_release: MakeRelease,
) -> None:
    word = ("at", "early", 1, "2020-01-01 00:00:00", "2020-01-01 06:00:00", None)
    made = make_release({"at": (kind, "VARCHAR")}, [("early",)], [word], sources=("visits",))
    found = answer(session, f"SELECT COUNT(*) AS n FROM visits WHERE {condition}", made)
    assert found.rows == (pytest.approx(expected, abs=1e-6),)


def test_nanoseconds_are_finer_than_any_cell(session: Session, make_release: MakeRelease) -> None:
    word = ("at", "early", 1, "2020-01-01 00:00:00", "2020-01-01 06:00:00", None)
    made = make_release(
        {"at": ("TIMESTAMP_NS", "VARCHAR")}, [("early",)], [word], sources=("visits",)
    )
    with pytest.raises(DataError, match="it uses at"):
        answer(session, "SELECT COUNT(*) FROM visits WHERE at > TIMESTAMP '2020-01-01'", made)


def test_an_open_end_has_no_periods(session: Session, visits: Answerable) -> None:
    with pytest.raises(DataError, match="open end"):
        answer(session, "SELECT month(at) AS m, COUNT(*) FROM visits GROUP BY m", visits)


@pytest.mark.parametrize(
    ("text", "unit"),
    [
        ("strftime(a, '%B %Y')", "month"),
        ("strftime(a, '%-d. %m')", "day"),
        ("strftime(a, '%H h')", "hour"),
        ("strftime(a, '%H:%M')", None),
        ("strftime(a, '%x')", None),
        ("minute(a)", None),
        ("date_trunc('minute', a)", None),
        ("EXTRACT(epoch FROM a)", None),
        ("date_trunc('week', (a))", "day"),
        ("TRY_CAST(a AS DATE)", "day"),
        ("CAST(a AS VARCHAR)", None),
        ("yearweek(a)", "day"),
        ("century(a)", "month"),
        ("a", None),
    ],
)
def test_the_periods_in_which_a_function_is_one(text: str, unit: str | None) -> None:
    (reference,) = parse_one(text, dialect="duckdb").find_all(exp.Column)
    assert unit_of(reference) == unit
