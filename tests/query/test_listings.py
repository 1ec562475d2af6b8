"""Several questions in one: UNION ALL, ROLLUP, CUBE and GROUPING SETS."""

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

RELEASES = 40
QUERIES = 8

FORMS = (
    "SELECT 'all' AS part, '-' AS k, {a} AS a FROM people UNION ALL "
    "SELECT 'part', {k}, {a} FROM people {w} GROUP BY {k}",
    "SELECT {k} AS k, {l} AS l, {a} AS a FROM people {w} GROUP BY ROLLUP ({k}, {l})",
    "SELECT {k} AS k, {l} AS l, {a} AS a FROM people {w} GROUP BY CUBE ({k}, {l})",
    "SELECT {k} AS k, {l} AS l, GROUPING({l}, {k}) AS g, {a} AS a FROM people "
    "GROUP BY CUBE ({k}, {l})",
    "SELECT {k} AS k, {l} AS l, {a} AS a FROM people GROUP BY GROUPING SETS (({k}), ({l}), ())",
    "SELECT {k} AS k, COUNT(*) AS a FROM people {w} GROUP BY {k} UNION ALL "
    "SELECT {k}, COUNT(*) FROM people WHERE FALSE GROUP BY {k} ORDER BY a DESC",
)


def texts(release: RandomRelease, random: Random) -> Iterator[str]:
    """Queries of the forms above, whose groups are apart by what is shown of them."""
    for drawer, names in drawers(release, random):
        condition = drawer.condition(2).written(names)
        k, other = (f"COALESCE(CAST({drawer.key().written(names)} AS VARCHAR), '-')" for _ in "kl")
        yield random.choice(FORMS).format(
            k=k,
            l=other if other != k else f"{k} || 'l'",
            a=number(drawer).written(names),
            w=f"WHERE {condition}" if random.random() < 0.5 else "",
        )


@pytest.mark.sampled(5)
@pytest.mark.parametrize("fifth", range(5))
def test_no_world_is_out_of_the_bounds(fifth: int) -> None:
    seeds = tiers.some(range(fifth, RELEASES, 5), 4)
    seen = judged_all("listings", seeds, texts, QUERIES)
    assert seen["worlds"] > 20
    assert seen["bounded"] > seen["refused"]


YOUNG = "COUNT(*) FILTER (WHERE age < 30) AS n FROM visits"
A, B, ALL = ("A", 1, 0, 2), ("B", 0.5, 0, 1), (None, 1.5, 0, 3)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (f"SELECT ward, {YOUNG} GROUP BY ROLLUP (ward) ORDER BY ward NULLS FIRST", [ALL, A, B]),
        (f"SELECT ward, {YOUNG} GROUP BY CUBE (ward) ORDER BY n DESC LIMIT 2", [ALL, A]),
        (f"SELECT ward AS w, {YOUNG} GROUP BY GROUPING SETS (w, ()) ORDER BY 1 OFFSET 2", [ALL]),
        (f"SELECT ward, {YOUNG} GROUP BY ROLLUP (1) HAVING COUNT(*) > 1 ORDER BY ward", [A, ALL]),
        (
            f"SELECT ward, GROUPING(ward) AS g, {YOUNG} GROUP BY ROLLUP (ward) ORDER BY g, n DESC",
            [("A", 0, 1, 0, 2), ("B", 0, 0.5, 0, 1), (None, 1, 1.5, 0, 3)],
        ),
        (
            f"SELECT ward, GROUPING(ward, cost) AS g, {YOUNG} WHERE ward = 'B' "
            "GROUP BY CUBE (ward, cost) ORDER BY g",
            [("B", 0, 0.5, 0, 1), ("B", 1, 0.5, 0, 1), (None, 2, 0.5, 0, 1), (None, 3, 0.5, 0, 1)],
        ),
        (
            f"SELECT ward, {YOUNG} GROUP BY ward UNION ALL SELECT 'all' AS x, COUNT(*) FROM visits "
            "WHERE age > 0 GROUP BY x ORDER BY n, ward",
            None,
        ),
        (
            f"SELECT ward, {YOUNG} WHERE cost > 10 GROUP BY ward UNION ALL (SELECT ward, COUNT(*) "
            "FROM visits WHERE age >= 30 GROUP BY ward) ORDER BY ward, n DESC",
            [("A", 1, 0, 2), ("A", 0.5, 0, 1), ("B", 0.5, 0, 1), ("B", 0.5, 0, 1)],
        ),
        (
            "SELECT 'all' AS what, COUNT(*) AS n FROM visits UNION ALL "
            f"SELECT 'young', {YOUNG} UNION ALL SELECT NULL, {YOUNG} WHERE FALSE ORDER BY n DESC",
            [("all", 3, 3, 3), ("young", 1.5, 0, 3), (None, 0, 0, 0)],
        ),
        (
            "WITH a AS (SELECT * FROM visits WHERE ward = 'A') SELECT COUNT(*) AS n FROM a WHERE "
            "age < 30 UNION ALL SELECT SUM(cost) FROM a WHERE age < 30",
            [(1, 0, 2), (20, 0, 40)],
        ),
    ],
)
def test_answers_that_were_worked_out_by_hand(
    text: str, expected: list[tuple[object, ...]] | None, session: Session, visits: Answerable
) -> None:
    if expected is None:
        with pytest.raises(DataError, match="GROUP BY of a constant"):
            answer(session, text, visits)
        return
    found = answer(session, text, visits)
    assert list(found.rows) == expected
    assert session.rows(found.sql) == expected  # the same in any session


def test_sets_that_are_too_many_are_never_listed(session: Session, visits: Answerable) -> None:
    terms = ", ".join(f"age + {i}" for i in range(60))
    for asked in (f"CUBE ({terms})", ", ".join(f"ROLLUP (age + {i})" for i in range(60))):
        with pytest.raises(DataError, match="queries in one"):
            answer(session, f"SELECT {YOUNG} GROUP BY {asked}", visits)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (f"SELECT ward, {YOUNG} GROUP BY ward UNION SELECT ward, {YOUNG} GROUP BY ward", "UNION A"),
        (f"SELECT ward, {YOUNG} GROUP BY ward UNION ALL SELECT {YOUNG}", "UNION of keys"),
        (f"SELECT {YOUNG} UNION ALL SELECT age AS n FROM visits GROUP BY age", "UNION of keys"),
        (f"SELECT {YOUNG} UNION ALL BY NAME SELECT {YOUNG}", "BY NAME of UNION"),
        (f"SELECT {YOUNG} UNION ALL SELECT {YOUNG} ORDER BY n + 1", "no column that is shown"),
        (f"SELECT {YOUNG} UNION ALL VALUES (1)", "VALUES in FROM"),
        (f"SELECT MAX(ward) AS n FROM visits UNION ALL SELECT {YOUNG}", "UNION of text with"),
        (f"SELECT {YOUNG} UNION ALL SELECT MIN(ward) FROM visits", "UNION of text with"),
        (f"SELECT ward, ward AS w, {YOUNG} GROUP BY ROLLUP (ward, w)", "two columns that are the"),
        (
            "SELECT age, COUNT(*) / SUM(COUNT(*)) OVER () AS p FROM visits GROUP BY ROLLUP (age)",
            "a window",
        ),
        (f"SELECT ward, GROUPING(cost) AS g, {YOUNG} GROUP BY ROLLUP (ward)", "GROUPING of what"),
        (f"SELECT ward, GROUPING(ward) + 1 AS g, {YOUNG} GROUP BY ROLLUP (ward)", "GROUPING"),
        (
            f"SELECT age, {YOUNG} GROUP BY CUBE (age, ward, cost, age + 1, age + 2, age + 3, -age)",
            "128 queries",
        ),
    ],
)
def test_others_are_refused(text: str, why: str, session: Session, visits: Answerable) -> None:
    with pytest.raises(DataError) as refusal:
        answer(session, text, visits)
    assert why in refusal.value.message + refusal.value.hint
