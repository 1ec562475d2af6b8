"""Groups of a subquery, totals of all groups, and numbers of a query beside them."""

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

RELEASES = 60
QUERIES = 10

# {k}, {l}: keys; {a}, {b}: aggregates; {w}, {v}: conditions of records; {x}: a number
GROUPED = "SELECT {k} AS k, {a} AS a FROM people {w} GROUP BY {k}"
FORMS = (
    "SELECT * FROM (" + GROUPED + ") AS t",
    "SELECT k, a / 2 AS a FROM (" + GROUPED + ") AS t WHERE t.a > 1",
    "WITH t AS (" + GROUPED + ") SELECT k, a FROM t WHERE k IS NOT NULL ORDER BY a DESC",
    "WITH p AS (SELECT * FROM people {w}), t AS (SELECT {k} AS k, {a} AS a FROM p GROUP BY 1) "
    "SELECT k, COALESCE(a, 0) AS a FROM (SELECT * FROM t) AS u LIMIT 3",
    "SELECT {k} AS k, 100.0 * COUNT(*) / SUM(COUNT(*)) OVER () AS a FROM people {w} GROUP BY {k}",
    "SELECT {k} AS k, {l} AS l, COUNT(*) / SUM(COUNT(*)) OVER (PARTITION BY {k}) AS a "
    "FROM people {w} GROUP BY 1, 2",
    "SELECT {k} AS k, {l} AS l, SUM({x}) - SUM(SUM({x})) OVER (PARTITION BY {l}) AS a "
    "FROM people {w} GROUP BY 1, 2",
    "SELECT k, n / SUM(n) OVER () AS a FROM "
    "(SELECT {k} AS k, COUNT({x}) AS n FROM people {w} GROUP BY {k}) AS t",
    "SELECT {k} AS k, {a} - (SELECT {b} FROM people {v}) AS a FROM people {w} GROUP BY {k}",
    "SELECT {k} AS k, COUNT(*) * 100.0 / (SELECT COUNT(*) FROM people) AS a FROM people {w} "
    "GROUP BY {k} HAVING COUNT(*) > (SELECT MIN(1) FROM people)",
    "WITH p AS (SELECT * FROM people {v}) "
    "SELECT {a} / (SELECT COUNT(*) FROM p) AS a FROM people {w}",
    "SELECT ROUND(a / (SELECT {b} FROM people), 2) AS a FROM (SELECT {a} AS a FROM people) AS t",
    "SELECT {k} AS k, SUM(COUNT(*)) OVER (ORDER BY {k} ROWS UNBOUNDED PRECEDING) AS a "
    "FROM people {w} GROUP BY {k}",
    "SELECT {k} AS k, {l} AS l, SUM(SUM({x})) OVER (PARTITION BY {k} ORDER BY {l} DESC) AS a "
    "FROM people {w} GROUP BY 1, 2",
    "SELECT {k} AS k, RANK() OVER (ORDER BY {a} DESC) AS a FROM people {w} GROUP BY {k}",
    "SELECT {k} AS k, {l} AS l, DENSE_RANK() OVER (PARTITION BY {k} ORDER BY {a}) AS a "
    "FROM people {w} GROUP BY 1, 2",
    "SELECT {k} AS k, ROW_NUMBER() OVER (ORDER BY COUNT(*) DESC, {k}) AS a FROM people {w} "
    "GROUP BY {k} QUALIFY ROW_NUMBER() OVER (ORDER BY COUNT(*) DESC, {k}) < 3",
    "SELECT {k} AS k, {a} - LAG({a}) OVER (ORDER BY {k}) AS a FROM people {w} GROUP BY {k}",
    "SELECT {k} AS k, COALESCE(LEAD(SUM({x}), 2) OVER (ORDER BY {k} DESC), 0) AS a FROM people "
    "GROUP BY {k}",
    "SELECT * FROM (SELECT {k} AS k, RANK() OVER (ORDER BY AVG({x})) AS a FROM people {w} "
    "GROUP BY {k}) AS t WHERE a <= 2",
)


def texts(release: RandomRelease, random: Random) -> Iterator[str]:
    """Queries of the forms above."""
    for drawer, names in drawers(release, random):
        x = drawer.number()
        conditions = [
            f"WHERE {drawer.condition(2).written(names)}" if random.random() < 0.5 else ""
            for _ in range(2)
        ]
        yield random.choice(FORMS).format(
            k=drawer.key().written(names),
            l=drawer.key().written(names),
            a=number(drawer).written(names),
            b=number(drawer).written(names),
            x=x.written(names) if x is not None else "1",
            w=conditions[0],
            v=conditions[1],
        )


@pytest.mark.sampled(10)
@pytest.mark.parametrize("tenth", range(10))
def test_no_world_is_out_of_the_bounds(tenth: int) -> None:
    seeds = tiers.some(range(tenth, RELEASES, 10), 4)
    seen = judged_all("layers", seeds, texts, QUERIES)
    assert seen["worlds"] > 20
    assert seen["bounded"] > seen["refused"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "SELECT ward, 100.0 * SUM(cost) / SUM(SUM(cost)) OVER () AS p FROM visits "
            "GROUP BY ward ORDER BY ward",
            [("A", 40, 40, 40), ("B", 60, 60, 60)],
        ),
        (
            "SELECT ward, COUNT(*) / (SELECT COUNT(*) FROM visits WHERE age < 30) AS p FROM visits "
            "GROUP BY ward ORDER BY ward",
            [("A", 2 / 1.5, None, None), ("B", 1 / 1.5, None, None)],
        ),
        (
            "SELECT ward, COUNT(*) - (SELECT COUNT(*) FROM visits WHERE age < 30) AS p FROM visits "
            "GROUP BY ward ORDER BY p DESC LIMIT 1",
            [("A", 0.5, -1, 2)],
        ),
        (
            "SELECT n AS visits, ward FROM (SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward) "
            "WHERE n > 1",
            [(2, 2, 2, "A")],
        ),
        (
            "SELECT DISTINCT age // 10 AS t, ward FROM visits ORDER BY ALL FETCH NEXT 3 ROWS ONLY",
            [(2, "A"), (2, "B"), (3, "A")],
        ),
        ("SELECT age // 10 FROM visits WHERE age < 30 GROUP BY 1", [(2,)]),
        (
            "SELECT BOOL_OR(age < 25) AS o, BOOL_AND(age < 40) AS a FROM visits",
            [(True, False, True, True, True, True)],
        ),
        (  # no more than it can be, and no less
            "SELECT NULLIF(COUNT(*), 0) AS n FROM visits WHERE age < 25 AND cost = 60",
            [(1, 1, 1)],
        ),
        (
            "SELECT ward, RANK() OVER (ORDER BY COUNT(*) DESC) AS r, LAG(SUM(cost)) OVER "
            "(ORDER BY ward) AS before, SUM(COUNT(*)) OVER (ORDER BY ward) AS n FROM visits "
            "GROUP BY ward ORDER BY ward",
            [("A", 1, 1, 1, None, None, None, 2, 2, 2), ("B", 2, 2, 2, 40, 40, 40, 3, 3, 3)],
        ),
        (  # of three records all may be in their twenties
            "SELECT age // 10 AS tens, ROW_NUMBER() OVER (ORDER BY COUNT(*) DESC, age // 10) AS r, "
            "SUM(COUNT(*)) OVER (ORDER BY age // 10) AS n FROM visits GROUP BY tens ORDER BY tens",
            [(2, 1, 1, 2, 1.5, 0, 3), (3, 2, 1, 2, 3, 0, 6)],
        ),
        (
            "WITH t AS (SELECT age // 10 AS tens, COUNT(*) AS n FROM visits GROUP BY tens) "
            "SELECT * FROM t ORDER BY tens",
            [(2, 1.5, 0, 3), (3, 1.5, 0, 3)],
        ),
    ],
)
def test_answers_that_were_worked_out_by_hand(
    text: str, expected: list[tuple[object, ...]], session: Session, visits: Answerable
) -> None:
    found = answer(session, text, visits)
    assert [
        tuple(pytest.approx(c) if isinstance(c, float) else c for c in row) for row in expected
    ] == list(found.rows)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (
            "SELECT age, COUNT(*), SUM(COUNT(*)) OVER () AS s FROM visits GROUP BY age "
            "HAVING COUNT(*) > 1",
            "leaves some out",
        ),
        (
            "SELECT a, SUM(n) OVER () AS s FROM (SELECT age AS a, COUNT(*) AS n FROM visits "
            "GROUP BY age LIMIT 2)",
            "leaves some out",
        ),
        (
            "SELECT * FROM (SELECT age, COUNT(*) AS n FROM visits GROUP BY age LIMIT 2) ORDER BY n",
            "LIMIT of a subquery",
        ),
        ("SELECT m FROM (SELECT age, COUNT(*) AS n FROM visits GROUP BY age)", "m, which its"),
        ("SELECT u.n FROM (SELECT age, COUNT(*) AS n FROM visits GROUP BY age) AS t", "u: unknown"),
        ("SELECT age, SUM(cost) OVER () AS s FROM visits GROUP BY age", "a window"),
        ("SELECT age, SUM(MIN(cost)) OVER () AS s FROM visits GROUP BY age", "a window over MIN"),
        (
            "SELECT age, SUM(COUNT(*)) OVER (ORDER BY COUNT(*)) AS s FROM visits GROUP BY age",
            "in the order of an aggregate",
        ),
        (
            "SELECT age, SUM(COUNT(*)) OVER (ORDER BY age ROWS BETWEEN 1 PRECEDING AND CURRENT ROW)"
            " AS s FROM visits GROUP BY age",
            "a window of other groups",
        ),
        ("SELECT age, RANK() OVER (ORDER BY age) AS r FROM visits GROUP BY age", "by a key"),
        ("SELECT age, RANK() OVER () AS r FROM visits GROUP BY age", "without an order"),
        ("SELECT age, LAG(age) OVER (ORDER BY age) AS r FROM visits GROUP BY age", "LAG of a key"),
        (
            "SELECT age, NTILE(2) OVER (ORDER BY age) AS r FROM visits GROUP BY age",
            "NTILE over groups",
        ),
        (  # 0 / 0 is NaN
            "SELECT COALESCE(COUNT(*) FILTER (WHERE age > 30) / COUNT(*), 5) AS n FROM visits",
            "COALESCE of a ratio",
        ),
        ("SELECT age, (SELECT age FROM visits) AS s, COUNT(*) FROM visits GROUP BY age", "number"),
        ("SELECT age, (SELECT COUNT(*) FROM visits LIMIT 0) AS s FROM visits GROUP BY age", "row"),
        ("SELECT age, (SELECT COUNT(*) FROM visits) FROM visits GROUP BY age", "without a name"),
        ("SELECT age, COUNT(*) > ? FROM visits GROUP BY age", "parameter"),
        (
            "SELECT age, (SELECT COUNT(*) FROM visits AS i WHERE i.age = visits.age) AS n "
            "FROM visits GROUP BY age",
            "unknown table",
        ),
    ],
)
def test_what_has_no_bounds_is_refused(
    text: str, why: str, session: Session, visits: Answerable
) -> None:
    with pytest.raises(DataError, match=why):
        answer(session, text, visits)
