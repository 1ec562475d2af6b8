"""Approximate aggregates, and WIDTH_BUCKET, mean what exact words of DuckDB do."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random

import duckdb
import pytest
import tiers
from random_releases import RandomRelease
from text_worlds import drawers, judged_all

from dbdeid.engine.duckdb.session import Session
from dbdeid.engine.sqltext import sql
from dbdeid.errors import DataError
from dbdeid.query.desk.answer import answer
from dbdeid.query.parse.answerable import Answerable
from dbdeid.query.parse.counterparts import approximated
from dbdeid.query.parse.statement import query

# As PostgreSQL computes it.
BUCKET = (
    "width_bucket(x, low, high, many) AS CASE WHEN x < low THEN 0 WHEN x >= high THEN many + 1 "
    "WHEN x >= low THEN CAST(FLOOR((x - low) * many / (high - low)) AS INTEGER) + 1 END"
)
FALLING = (
    "width_bucket(x, low, high, many) AS CASE WHEN x > low THEN 0 WHEN x <= high THEN many + 1 "
    "WHEN x <= low THEN CAST(FLOOR((low - x) * many / (low - high)) AS INTEGER) + 1 END"
)
MACROS = (
    BUCKET,
    "approx_percentile(x, part) AS QUANTILE_CONT(x, part)",
    "approx_median(x) AS MEDIAN(x)",
    "approx_distinct(x) AS COUNT(DISTINCT x)",
)
SHOWN = (
    "WIDTH_BUCKET({x}, -3, 13, 4) AS k, COUNT(*) AS shown FROM people GROUP BY 1",
    "{k} AS k, SUM(WIDTH_BUCKET({x}, 0, 8, 16)) AS shown FROM people GROUP BY 1",
    "{k} AS k, APPROX_DISTINCT({x}) AS shown FROM people GROUP BY 1",
    "{k} AS k, APPROX_PERCENTILE({x}, 0.25) AS shown FROM people GROUP BY 1",
    "APPROX_MEDIAN({x}) AS shown FROM people WHERE WIDTH_BUCKET({x}, 0, 10, 2) <> 1",
)


def texts(release: RandomRelease, random: Random) -> Iterator[str]:
    """Queries with one of the expressions above."""
    for drawer, names in drawers(release, random):
        if (x := drawer.number()) is not None:
            key = drawer.key().written(names)
            yield f"SELECT {random.choice(SHOWN).format(x=x.written(names), k=key)}"


@pytest.mark.sampled(10)
@pytest.mark.parametrize("tenth", range(10))
def test_no_world_is_out_of_the_bounds(tenth: int) -> None:
    seeds = tiers.some(range(tenth, 60, 10), 4)
    seen = judged_all("counterparts", seeds, texts, 10, MACROS)
    assert seen["worlds"] > 20
    assert seen["bounded"] > seen["refused"]


@pytest.mark.parametrize(
    ("low", "high", "many"),
    [
        ("0", "10", 3),
        ("-1.5", "2", 7),
        ("-7", "-1", 9),
        ("10", "0", 3),
        ("2", "-1.5", 7),
        ("-1", "-7", 9),
    ],
)
def test_buckets_are_those_of_postgres(low: str, high: str, many: int) -> None:
    called = f"WIDTH_BUCKET(x, {low}, {high}, {many})"
    made = sql(query(f"SELECT {called} AS k FROM numbers"))
    with duckdb.connect() as connection:
        connection.execute(f"CREATE MACRO {BUCKET if float(low) < float(high) else FALLING}")
        numbers = "SELECT CAST(i AS DECIMAL(9, 3)) / 100 AS x FROM range(-1000, 1200) AS t(i)"
        connection.execute(f"CREATE TABLE numbers AS {numbers} UNION ALL SELECT NULL")
        apart = f"({made}) EXCEPT ALL (SELECT {called} FROM numbers)"
        assert connection.execute(apart).fetchall() == []
    assert "WIDTH_BUCKET" not in made


@pytest.mark.parametrize(
    ("asked", "instead"),
    [
        ("APPROX_COUNT_DISTINCT(age)", "COUNT(DISTINCT age)"),
        ("APPROX_QUANTILE(age, 0.25)", "QUANTILE_CONT(age, 0.25)"),
        ("PERCENTILE_APPROX(cost, 0.75, 100)", "QUANTILE_CONT(cost, 0.75)"),
        ("APPROX_MEDIAN(age)", "MEDIAN(age)"),
    ],
)
def test_what_is_approximate_is_answered_as_exact(
    asked: str, instead: str, session: Session, visits: Answerable
) -> None:
    text = "SELECT {} AS x FROM visits WHERE age > 0"
    one, other = (answer(session, text.format(node), visits) for node in (asked, instead))
    assert one.rows == other.rows
    assert approximated(text.format(asked))
    assert not approximated(text.format(instead))


def test_a_column_is_called_as_it_was_asked_for(session: Session, visits: Answerable) -> None:
    found = answer(session, "SELECT APPROX_COUNT_DISTINCT(age) FROM visits", visits)
    assert found.columns[0] == "approx_count_distinct(age)"


def test_functions_of_other_names_are_left_as_they_are() -> None:
    for text in ("yearweek(day)", "approx_median()", "approx_percentile(age)"):
        assert not approximated(f"SELECT {text} AS approx FROM visits")


def test_a_word_in_a_text_is_no_aggregate() -> None:
    assert not approximated("SELECT COUNT(*) FROM visits WHERE ward = 'approx_median(age)'")
    assert not approximated("SELECT approx_ FROM (")


@pytest.mark.parametrize(
    "asked",
    [
        "WIDTH_BUCKET(age, 10, 10, 5)",
        "WIDTH_BUCKET(age, 0, 10, 101)",
        "WIDTH_BUCKET(age, 0, cost, 5)",
        "WIDTH_BUCKET(age, 0, 10, 2.5)",
        "WIDTH_BUCKET(WIDTH_BUCKET(age, 0, 10, 5), 0, 5, 2)",
    ],
)
def test_other_buckets_are_refused(asked: str, session: Session, visits: Answerable) -> None:
    with pytest.raises(DataError, match="WIDTH_BUCKET"):
        answer(session, f"SELECT {asked} AS k, COUNT(*) FROM visits GROUP BY 1", visits)
