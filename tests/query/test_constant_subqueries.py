"""Subqueries in conditions, which are known without the records that are generalized."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from dbdeid.engine.duckdb.session import Session
from dbdeid.engine.relation import Column, Relation
from dbdeid.errors import DataError
from dbdeid.query.desk.answer import answer
from dbdeid.query.forms.constant_subqueries import MOST_VALUES
from dbdeid.query.parse.answerable import Answerable

MakeRelease = Callable[..., Answerable]


@pytest.fixture
def visits(session: Session, make_release: MakeRelease) -> Answerable:
    """Four visits of towns that are two or all; wards and costs are as they were."""
    made = make_release(
        {"town": ("VARCHAR", "VARCHAR"), "ward": ("VARCHAR",) * 2, "cost": ("INTEGER",) * 2},
        [("Ulm", "A", 10), ("South", "A", 20), ("South", "B", 30), ("South", None, 40)],
        [
            ("town", "Ulm", 0, None, None, None),
            ("town", "South", 1, None, None, ["Ulm", "Bonn"]),
        ],
        sources=("visits",),
    )
    session.execute(
        "CREATE OR REPLACE TABLE places AS FROM (VALUES ('Ulm', 126, 1), ('Bonn', 336, 2), "
        "(NULL, 0, 3)) AS p(town, people, rank)"
    )
    session.execute(
        "CREATE OR REPLACE TABLE wards AS FROM (VALUES ('A', 10), ('B', 20)) AS w(ward, beds)"
    )
    session.execute(
        f"CREATE OR REPLACE TABLE many AS SELECT i AS n FROM range({MOST_VALUES + 1}) r(i)"
    )
    text, number = "VARCHAR", "INTEGER"
    places = (Column("town", text), Column("people", number), Column("rank", number))
    wards = (Column("ward", text), Column("beds", number))
    many = (Column("n", "BIGINT"),)
    tables = (Relation("places", places), Relation("wards", wards), Relation("many", many))
    return replace(made, tables=tables)


@pytest.mark.parametrize(
    ("condition", "expected"),
    [
        ("town IN (SELECT town FROM places WHERE people > 200)", (1.5, 0, 3)),
        ("v.town IN (SELECT p.town FROM places AS p WHERE p.rank = 1)", (2.5, 1, 4)),
        ("town NOT IN (SELECT town FROM places WHERE people > 200)", (2.5, 1, 4)),
        ("town NOT IN (SELECT town FROM places WHERE rank > 1)", (0, 0, 0)),  # for one is NULL
        ("town IN (SELECT town FROM places WHERE people > 999)", (0, 0, 0)),
        ("town = (SELECT town FROM places ORDER BY people DESC LIMIT 1)", (1.5, 0, 3)),
        ("town < (SELECT town FROM places WHERE people > 999)", (0, 0, 0)),
        ("town = 'Bonn' AND cost > (SELECT AVG(cost) FROM visits)", (1, 0, 2)),
        ("town = 'Ulm' AND ward IN (SELECT ward FROM wards WHERE beds > 15)", (0.5, 0, 1)),
        (
            "EXISTS (SELECT 1 FROM places AS p WHERE p.town = v.town AND p.people > 200)",
            (1.5, 0, 3),
        ),
        (
            "town = 'Ulm' AND NOT EXISTS (SELECT 1 FROM wards w WHERE v.ward = w.ward AND "
            "beds = 20)",
            (2, 1, 3),
        ),
        (
            "cost > 10 AND town IN (WITH big AS (SELECT * FROM places WHERE people > 200) "
            "SELECT town FROM big)",
            (1.5, 0, 3),
        ),
    ],
)
def test_values_of_subqueries_are_constants(
    condition: str, expected: tuple[float, int, int], session: Session, visits: Answerable
) -> None:
    found = answer(session, f"SELECT COUNT(*) AS n FROM visits AS v WHERE {condition}", visits)
    assert found.rows == (pytest.approx(expected),)


def test_a_filter_may_have_one_too(session: Session, visits: Answerable) -> None:
    text = (
        "SELECT COUNT(*) FILTER (WHERE town IN (SELECT town FROM places WHERE rank = 2)) AS n, "
        "MAX(cost) AS m FROM visits"
    )
    assert answer(session, text, visits).rows == ((1.5, 0, 3, 40, 40, 40),)


@pytest.mark.parametrize(
    "condition",
    [
        "cost IN (SELECT people FROM places AS p WHERE p.town = visits.town OR p.rank = 1)",
        "town IN (SELECT town FROM visits WHERE ward = 'A')",
        "town = 'Ulm' AND cost IN (SELECT n FROM many)",
        "town = (SELECT town FROM places)",
        "town IN (SELECT town, rank FROM places)",
        "town IN (SELECT getenv('HOME'))",
        "town IN (SELECT town FROM release)",
        "EXISTS (SELECT 1 FROM places AS p WHERE p.rank < visits.cost AND town = 'Ulm')",
        # of each town one would do, of all there is one; and an aggregate is there of none, too
        "EXISTS (SELECT 1 FROM places AS p WHERE p.town = visits.town LIMIT 1)",
        "EXISTS (SELECT COUNT(*) FROM places AS p WHERE p.town = visits.town)",
        "EXISTS (SELECT 1 FROM places p JOIN wards visits ON TRUE WHERE p.town = visits.ward)",
        "town IN (SELECT town FROM places WHERE random() < 2)",
    ],
)
def test_others_are_refused(condition: str, session: Session, visits: Answerable) -> None:
    with pytest.raises(DataError, match=r"subquery|EXISTS|IN with"):
        answer(session, f"SELECT COUNT(*) FROM visits WHERE town <> 'x' AND {condition}", visits)


TOP = "SELECT ward AS w, COUNT(*) AS m FROM visits GROUP BY ward ORDER BY m DESC, ward"


@pytest.mark.parametrize(
    ("joined", "expected"),
    [
        (f"JOIN ({TOP} LIMIT 1) AS t ON ward = w", [("A", 0.5, 0, 1)]),
        (f"JOIN ({TOP} LIMIT 2) AS t ON t.w = v.ward", [("A", 0.5, 0, 1), ("B", 0.5, 0, 1)]),
        (
            "JOIN (SELECT w.ward AS o FROM wards AS w WHERE beds > 10 GROUP BY w.ward) AS t "
            "ON o = v.ward",
            [("B", 0.5, 0, 1)],
        ),
    ],
)
def test_a_join_with_groups_is_a_condition_on_their_key(
    joined: str, expected: list[tuple[object, ...]], session: Session, visits: Answerable
) -> None:
    asked = f"SELECT v.ward, COUNT(*) AS n FROM visits AS v {joined} WHERE town = 'Bonn' "
    assert list(answer(session, f"{asked} GROUP BY v.ward ORDER BY 1", visits).rows) == expected


@pytest.mark.parametrize(
    "joined",
    [
        f"JOIN ({TOP}) AS t ON ward = w AND cost > m",
        f"LEFT JOIN ({TOP}) AS t ON ward = w",
        "JOIN (SELECT town AS w, COUNT(*) AS m FROM visits GROUP BY town) AS t ON v.town = w",
        "JOIN (SELECT ward AS w, cost FROM visits GROUP BY ward, cost) AS t ON ward = w",
    ],
)
def test_other_joins_with_groups_are_refused(
    joined: str, session: Session, visits: Answerable
) -> None:
    with pytest.raises(DataError, match="a subquery in JOIN"):
        answer(session, f"SELECT COUNT(*) AS n FROM visits AS v {joined} WHERE town = 'x'", visits)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (  # the mean of 1.5 towns that are Bonn is from 20 to 40
            "SELECT COUNT(*) AS n FROM visits WHERE cost >= "
            "(SELECT AVG(cost) FROM visits WHERE town = 'Bonn')",
            (2, 0, 3),
        ),
        (
            "SELECT COUNT(*) AS n FROM visits WHERE cost > "
            "(SELECT SUM(cost) / 5 FROM visits WHERE town >= 'Ulm')",
            (3, 2, 4),
        ),
        (
            "SELECT AVG(cost) FILTER (WHERE cost < (SELECT COUNT(*) * 10 FROM visits "
            "WHERE town = 'Ulm')) AS n FROM visits",
            (15, 10, 30),
        ),
        (
            "SELECT (SELECT COUNT(*) FROM visits WHERE town = 'Ulm') - (SELECT COUNT(*) FROM "
            "wards) AS n",
            None,
        ),
        ("SELECT (SELECT COUNT(*) FROM visits WHERE town = 'Ulm') * 2 AS n", (5, 2, 8)),
        ("SELECT (SELECT COUNT(*) FROM visits WHERE town = 'Ulm') + COUNT(*) AS n", None),
    ],
)
def test_numbers_of_subqueries_that_are_known_between_bounds(
    text: str, expected: tuple[object, ...] | None, session: Session, visits: Answerable
) -> None:
    if expected is None:
        with pytest.raises(DataError, match="FROM"):
            answer(session, text, visits)
        return
    assert list(answer(session, text, visits).rows) == [expected]
