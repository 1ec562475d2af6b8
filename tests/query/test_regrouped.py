"""Aggregates of groups: what is counted, added up or compared of the groups of a subquery."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random

import pytest
import tiers
from random_releases import RandomRelease
from text_worlds import drawers, judged_all, number

from dbdeid.engine.duckdb.session import Session
from dbdeid.errors import DataError
from dbdeid.query.desk.answer import answer
from dbdeid.query.parse.answerable import Answerable

RELEASES = 30
QUERIES = 10

# {k}, {l}: keys; {a}, {b}: aggregates; {w}, {v}: conditions of records; {x}: a number;
# {y}: a value; {f}: a function
INNER = "SELECT {k} AS k, {l} AS l, {a} AS a, {b} AS b FROM people {w} GROUP BY 1, 2"
FORMS = (
    "SELECT {f}(a) AS z FROM (" + INNER + ") AS t",
    "SELECT k, {f}(a) AS z FROM (" + INNER + ") AS t GROUP BY k",
    "SELECT k, COUNT(*) AS z FROM (" + INNER + ") AS t WHERE a > 2 GROUP BY k",
    "SELECT k, {f}(a) AS z FROM (" + INNER + ") AS t WHERE NOT (b < 3 OR a = 1) GROUP BY k",
    "SELECT k, SUM(n) AS z FROM (SELECT {k} AS k, {l} AS l, COUNT(*) AS n FROM people {w} "
    "GROUP BY 1, 2) AS t GROUP BY k ORDER BY z DESC",
    "SELECT k, {f}(n) AS z FROM (SELECT {k} AS k, {l} AS l, COUNT(*) AS n FROM people {w} "
    "GROUP BY 1, 2 HAVING COUNT(*) BETWEEN 1 AND 3) AS t GROUP BY k",
    "WITH t AS (" + INNER + ") SELECT l, {f}(a + b / 2) FILTER (WHERE a <> 1) AS z FROM t "
    "WHERE k IS NOT NULL GROUP BY l HAVING COUNT(*) > 0",
    "SELECT AVG(n) AS z FROM (SELECT {k} AS k, COUNT(*) AS n FROM people {w} GROUP BY 1) AS t",
    "SELECT MAX(n) - MIN(n) AS z FROM (SELECT {k} AS k, COUNT({x}) AS n FROM people {w} "
    "GROUP BY 1) AS t WHERE n >= 1",
    "SELECT COUNT(*) AS z FROM (SELECT {k} AS k, AVG({x}) AS n FROM people {w} GROUP BY 1) AS t "
    "WHERE n > 3",
    "SELECT COUNT(DISTINCT l) AS z FROM (" + INNER + ") AS t",
    "SELECT COUNT(*) AS z FROM (SELECT DISTINCT {k} AS k, {l} AS l FROM people {w}) AS t",
    "WITH t AS (SELECT DISTINCT {k} AS k, {l} AS l FROM people {w}) SELECT k, COUNT(*) AS z FROM t "
    "WHERE l IS NOT NULL GROUP BY k",
    "SELECT COUNT(DISTINCT k) AS z FROM (SELECT DISTINCT {k} AS k, {l} AS l FROM people {w}) AS t",
    "SELECT SUM(CASE WHEN a > 1 THEN 1 ELSE 0 END) * 100.0 / COUNT(*) AS z FROM (" + INNER + ") t",
    "SELECT {k} AS k, MODE({x}) AS z FROM people {w} GROUP BY 1",
    "SELECT {k} AS k, MODE({x}) FILTER (WHERE {k} IS NOT NULL) AS z FROM people {w} GROUP BY 1",
    "SELECT {k} AS k, ARG_MAX({x}, {y}) AS z FROM people {w} GROUP BY 1",
    "SELECT ARG_MIN({x}, {y}) AS z FROM people {w}",
    "SELECT {k} AS k, SUM(CASE WHEN {v} THEN {x} ELSE 0 END) AS z FROM people {w} GROUP BY 1",
    "SELECT {k} AS k, CORR({x}, {z}) AS z FROM people {w} GROUP BY 1",
    "SELECT {k} AS k, ROUND(100 * CORR({x}, {z}) FILTER (WHERE {v}), 1) AS z FROM people {w} "
    "GROUP BY 1",
    "SELECT FLOOR(({x}) / 2) * 2 AS k, {a} AS z FROM people {w} GROUP BY 1",
    "SELECT {k} AS k, {f}(({x}) * ({z})) AS z FROM people {w} GROUP BY 1",
    "SELECT {k} AS k, {a} AS z FROM people WHERE ({x}) > (SELECT AVG({x}) FROM people {w}) "
    "GROUP BY 1",
    "SELECT {f}({z}) FILTER (WHERE (SELECT MAX({z}) - 1 FROM people) >= ({x}) AND {v}) AS z "
    "FROM people",
    "SELECT {k} AS k, {b} AS z FROM people WHERE ({x}) = (SELECT MIN({x}) FROM people {w}) "
    "GROUP BY 1",
    "SELECT COUNT(*) AS z FROM people WHERE ({x}) <> (SELECT MAX({x}) FROM people) AND {v}",
    "SELECT (SELECT {a} FROM people {w}) - (SELECT {b} FROM people) AS z",
    "SELECT {k} AS k, {a} / (SELECT AVG(n) FROM (SELECT {l} AS l, COUNT(*) AS n FROM people "
    "GROUP BY 1) AS t) AS z FROM people {w} GROUP BY 1",
)


def texts(forms: tuple[str, ...], release: RandomRelease, random: Random) -> Iterator[str]:
    """Queries of the forms above."""
    for drawer, names in drawers(release, random):
        x = drawer.number()
        condition = drawer.condition(2).written(names)
        yield random.choice(forms).format(
            k=drawer.key().written(names),
            l=drawer.key().written(names),
            a=number(drawer).written(names),
            b=number(drawer).written(names),
            x=x.written(names) if x is not None else "1",
            z=z.written(names) if (z := drawer.number()) is not None else "2",
            y=drawer.key().written(names),
            v=drawer.condition(2).written(names),
            w=f"WHERE {condition}" if random.random() < 0.5 else "",
            f=random.choice(["SUM", "AVG", "MIN", "MAX", "COUNT"]),
        )


@pytest.mark.sampled(10)
@pytest.mark.parametrize("tenth", range(10))
def test_no_world_is_out_of_the_bounds(tenth: int) -> None:
    seeds = tiers.some(range(tenth, RELEASES, 10), 4)
    seen = judged_all(
        "regrouped", seeds, lambda release, random: texts(FORMS, release, random), QUERIES
    )
    assert seen["worlds"] > 20
    assert seen["bounded"] > seen["refused"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "SELECT AVG(n) AS m, MAX(n) AS x, MIN(n) AS l, COUNT(*) AS c FROM "
            "(SELECT age // 10 AS t, COUNT(*) AS n FROM visits GROUP BY t)",
            # each decade has a record with 7/8, and then 12/7 of them; one of both has two
            [(12 / 7, 1, 3, 2, 2, 3, 12 / 7, 1, 3, 1.75, 0, 2)],
        ),
        (
            "SELECT COUNT(*) AS c FROM (SELECT ward, AVG(age) AS a FROM visits GROUP BY ward) "
            "WHERE a > 25",
            [(2, 0, 2)],
        ),
        (
            "SELECT COUNT(*) AS c FROM (SELECT ward, AVG(age) AS a FROM visits GROUP BY ward) "
            "WHERE a > 19 AND NOT a > 40 AND ward <> 'C'",
            [(2, 2, 2)],
        ),
        (  # what little is known of a condition leaves bounds that hold
            "SELECT COUNT(*) AS c FROM (SELECT ward, AVG(age) AS a FROM visits GROUP BY ward) "
            "WHERE a % 2 < 1.9",
            [(2, 0, 2)],
        ),
        (
            "SELECT ward, SUM(n) AS n FROM (SELECT ward, age, COUNT(*) AS n FROM visits "
            "GROUP BY ward, age) GROUP BY ward ORDER BY n",
            [("B", 1, 1, 1), ("A", 2, 2, 2)],
        ),
        (
            "SELECT t, COUNT(*) AS c FROM (SELECT age // 10 AS t, ward, COUNT(*) AS n FROM visits "
            "GROUP BY t, ward HAVING COUNT(*) > 1) GROUP BY t",
            [],  # none is expected to have two
        ),
        (
            "SELECT ward, MODE(age // 10) AS m, ARG_MIN(cost, age) AS y FROM visits GROUP BY ward "
            "ORDER BY ward",
            [("A", 2, 2, 3, 10, 10, 30), ("B", 2, 2, 3, 60, 60, 60)],
        ),
        (
            "SELECT MODE(age) FILTER (WHERE age > 38) AS m, ARG_MAX(age, cost) AS x FROM visits",
            [(39, 39, 39, 20, 20, 39)],
        ),
        ("SELECT MODE(ward) AS m, ARG_MAX(ward, cost) AS x FROM visits", [("A", "B")]),
        (
            "SELECT ward, SUM(CASE WHEN age > 29 THEN cost ELSE 0 END) AS s FROM visits "
            "GROUP BY ward ORDER BY ward",
            [("A", 20, 0, 40), ("B", 30, 0, 60)],
        ),
        (
            "PIVOT (SELECT ward, age // 10 AS decade FROM visits) ON decade IN (2, 3) "
            "USING COUNT(*) GROUP BY ward",
            [("A", 1, 0, 2, 1, 0, 2), ("B", 0.5, 0, 1, 0.5, 0, 1)],
        ),
        (
            "SELECT * FROM (PIVOT visits ON ward USING COUNT(*) AS n, MAX(cost) GROUP BY age > 0) "
            "LIMIT 1",
            [(True, 2, 2, 2, 30, 30, 30, 1, 1, 1, 60, 60, 60)],
        ),
    ],
)
def test_answers_that_were_worked_out_by_hand(
    text: str, expected: list[tuple[object, ...]], session: Session, visits: Answerable
) -> None:
    found = answer(session, text, visits)
    shown = [
        tuple(pytest.approx(c) if isinstance(c, float) else c for c in row) for row in expected
    ]
    assert shown == sorted(found.rows, key=lambda row: str(row[0])) or shown == list(found.rows)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (
            "SELECT n, COUNT(*) FROM (SELECT age, COUNT(*) AS n FROM visits GROUP BY age) "
            "GROUP BY n",
            "groups of groups by n",
        ),
        ("SELECT AVG(n) FROM (SELECT COUNT(*) AS n FROM visits WHERE age > 3)", "of one row"),
        (
            "SELECT AVG(n) FROM (SELECT age, COUNT(*) AS n FROM visits GROUP BY age LIMIT 2)",
            "LIMIT leaves some out",
        ),
        (
            "SELECT MEDIAN(n) FROM (SELECT age, COUNT(*) AS n FROM visits GROUP BY age)",
            "MEDIAN of groups",
        ),
        (
            "SELECT AVG(m) FROM (SELECT age, MIN(ward) AS m FROM visits GROUP BY age)",
            "no number here",
        ),
        (
            "SELECT AVG(r) FROM (SELECT age, RANK() OVER (ORDER BY COUNT(*)) AS r FROM visits "
            "GROUP BY age)",
            "windows or totals",
        ),
        ("SELECT MODE(ward) + 1 AS m FROM visits WHERE age > 3", "no number here"),
        ("SELECT ARG_MAX(ward, cost, 3) AS m FROM visits WHERE age > 3", "several values"),
        ("SELECT STRING_AGG(ward, ',') FROM visits WHERE age > 3", "GROUP_CONCAT"),
        ("PIVOT visits ON age USING COUNT(*) GROUP BY ward", "list them"),
        ("PIVOT visits ON ward USING COUNT(*)", "without GROUP BY"),
        ("PIVOT visits ON ward, age USING COUNT(*) GROUP BY cost", "several columns"),
    ],
)
def test_others_are_refused(text: str, why: str, session: Session, visits: Answerable) -> None:
    with pytest.raises(DataError) as refusal:
        answer(session, text, visits)
    assert why in refusal.value.message + refusal.value.hint
