"""Subqueries in conditions, which are known without the records that are generalized."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from dbdeid.engine.duckdb.session import Session
from dbdeid.engine.relation import Column, Relation
from dbdeid.errors import DataError
from dbdeid.query.parse.answerable import Answerable
from dbdeid.query.parse.constant_subqueries import MOST_VALUES
from dbdeid.query.rewrite.answer import answer

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
