"""A part of a total lies between 0 and 1, whatever lies behind the release."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random

import pytest
import tiers
from asking import bounded
from random_releases import RandomRelease
from text_worlds import drawers, judged_all

from dbdeid.engine.duckdb.session import Session
from dbdeid.query.parse.answerable import Answerable

# F is certain of one record and may be of three; two to four have a sex.
KNOWN = "FROM people WHERE sex IS NOT NULL GROUP BY sex ORDER BY sex"


@pytest.mark.parametrize(
    ("shown", "text", "lower", "upper"),
    [
        ("COUNT(*) / SUM(COUNT(*)) OVER ()", KNOWN, 0.25, 1),
        ("ROUND(COUNT(*) * 100.0 / NULLIF(SUM(COUNT(*)) OVER (), 0), 1)", KNOWN, 25, 100),
        ("100 * CAST(COUNT(*) AS DOUBLE) / SUM(COUNT(*)) OVER ()", KNOWN, 25, 100),
        ("COUNT(*) / (SELECT COUNT(*) FROM people)", KNOWN, 0.2, 0.6),
        ("COUNT(*) / (SELECT COUNT(*) FROM people WHERE age < 30)", KNOWN, 1 / 3, 1.5),
        ("-1 * COUNT(*) / SUM(COUNT(*)) OVER ()", KNOWN, -1.5, -0.25),
    ],
)
def test_a_part_of_a_total(
    shown: str, text: str, lower: float, upper: float, session: Session, people: Answerable
) -> None:
    first, *_ = bounded(session, f"SELECT sex, {shown} AS part {text}", people)
    assert first[0] == "F"
    assert first[2:] == pytest.approx((lower, upper))
    assert lower <= first[1] <= upper


SUMS = (
    "SUM({x}) FILTER (WHERE {c}) / SUM({x})",
    "SUM(CASE WHEN {c} THEN ABS({x}) ELSE 0 END) / NULLIF(SUM(ABS({x})), 0)",
    "100 * SUM(ABS({x})) / SUM(SUM(ABS({x}))) OVER ()",
    "SUM({x}) / (SELECT SUM({x}) FROM people)",
    "ROUND(COUNT({x}) FILTER (WHERE {c}) * 100.0 / COUNT({x}), 1)",
)
MOST = "SELECT MAX(n) AS shown FROM (SELECT {k}, COUNT(*) AS n FROM people {w} GROUP BY 1) AS t"


def texts(release: RandomRelease, random: Random) -> Iterator[str]:
    """Shares of sums, and the greatest numbers of records of groups."""
    for drawer, names in drawers(release, random):
        x, key = drawer.number(), drawer.key().written(names)
        where = f"WHERE {drawer.condition(1).written(names)}" if random.random() < 0.5 else ""
        if x is None or random.random() < 0.2:
            yield MOST.format(k=key, w=where)
            continue
        condition = drawer.condition(1).written(names)
        shown = random.choice(SUMS).format(x=x.written(names), c=condition)
        yield f"SELECT {key} AS k, {shown} AS shown FROM people {where} GROUP BY 1"


@pytest.mark.sampled(10)
@pytest.mark.parametrize("tenth", range(10))
def test_no_world_is_out_of_the_bounds(tenth: int) -> None:
    seen = judged_all("parts of totals", tiers.some(range(tenth, 60, 10), 2), texts, 10)
    assert seen["worlds"] > 20
    assert seen["bounded"] > seen["refused"]


@pytest.mark.parametrize(
    ("shown", "lower", "upper"),
    [
        # ages are 0 to 99, of which those below 30 are of three records at most
        ("SUM(age) FILTER (WHERE age < 30) / SUM(age)", 40 / 196, 1),
        (
            "SUM(CASE WHEN age < 30 THEN age ELSE 0 END) * 100.0 / NULLIF(SUM(age), 0)",
            4000 / 196,
            100,
        ),
        ("COUNT(age) FILTER (WHERE age < 30) / COUNT(age)", 0.5, 1),
    ],
)
def test_a_part_of_a_sum_is_no_more_than_all_of_it(
    shown: str, lower: float, upper: float, session: Session, people: Answerable
) -> None:
    text = f"SELECT {shown} AS part FROM people WHERE age IS NOT NULL"
    ((value, least, most),) = bounded(session, text, people)
    assert (least, most) == (pytest.approx(lower), upper)
    assert least <= value <= most


def test_a_part_of_numbers_below_zero_may_be_more_than_all(
    session: Session, people: Answerable
) -> None:
    text = "SELECT SUM(50 - age) FILTER (WHERE age < 30) / SUM(50 - age) AS part FROM people"
    ((_, *ends),) = bounded(session, f"{text} WHERE age < 40 OR job = 'Tech'", people)
    assert ends[1] is None or ends[1] > 1


def test_one_of_few_groups_has_many_records(session: Session, people: Answerable) -> None:
    """Three records are certain to be of two halves of ages."""
    inner = "SELECT age // 30 AS half, COUNT(*) AS n FROM people WHERE age BETWEEN 20 AND 39"
    ((value, *ends),) = bounded(session, f"SELECT MAX(n) AS n FROM ({inner} GROUP BY 1)", people)
    assert ends == [2, 3]
    assert value >= 2


def test_no_group_is_expected_to_be_beyond_its_condition(
    session: Session, people: Answerable
) -> None:
    inner = "SELECT sex, AVG(age) AS a FROM people GROUP BY sex"
    ((value, *_),) = bounded(session, f"SELECT MAX(a) AS m FROM ({inner}) WHERE a > 90", people)
    assert value is None
