"""What is asked of groups: conditions on them, order, limits, arithmetic, and joined tables."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from asking import bounded

from dbdeid.engine.duckdb.session import Session
from dbdeid.engine.relation import Column, Relation
from dbdeid.errors import DataError
from dbdeid.query.desk.answer import answer
from dbdeid.query.parse.answerable import Answerable

MakeRelease = Callable[..., Answerable]
about = pytest.approx


@pytest.fixture
def shops(session: Session, make_release: MakeRelease) -> Answerable:
    """Four records: town is generalized, shop and pay are exact; tables to join by both."""
    made = make_release(
        {
            "town": ("VARCHAR", "VARCHAR"),
            "shop": ("VARCHAR", "VARCHAR"),
            "pay": ("INTEGER", "INTEGER"),
        },
        [("Ulm", "s", 10), ("South", "s", 20), ("South", "t", 30), ("*", None, 40)],
        [
            ("town", "Ulm", 0, None, None, None),
            ("town", "South", 1, None, None, ["Ulm", "Bonn"]),
            ("town", "*", 2, None, None, ["Ulm", "Bonn", "Kiel", "Jena"]),
        ],
        sources=("t",),
    )
    session.execute("CREATE OR REPLACE TABLE places (place VARCHAR, land VARCHAR, people INTEGER)")
    session.execute(
        "INSERT INTO places VALUES ('Ulm', 'BW', 126), ('Bonn', 'NRW', 336), ('Kiel', 'SH', 247), "
        "(NULL, 'none', 0)"
    )
    session.execute("CREATE OR REPLACE TABLE kinds (shop VARCHAR, size INTEGER)")
    session.execute("INSERT INTO kinds VALUES ('s', 1), ('u', 3)")
    session.execute("CREATE OR REPLACE TABLE twice (shop VARCHAR, size INTEGER)")
    session.execute("INSERT INTO twice VALUES ('s', 1), ('s', 2), ('t', 3)")
    text, number = "VARCHAR", "INTEGER"
    kind = (Column("shop", text), Column("size", number))
    places = (Column("place", text), Column("land", text), Column("people", number))
    tables = (Relation("places", places), Relation("kinds", kind), Relation("twice", kind))
    return replace(made, tables=tables)


# expected: Ulm 1 + 1/2 + 1/2 + 1/4, Bonn 1/2 + 1/2 + 1/4, Kiel and Jena 1/4
BY_TOWN = [("Bonn", 1.25, 0, 3), ("Jena", 0.25, 0, 1), ("Kiel", 0.25, 0, 1), ("Ulm", 2.25, 1, 4)]


@pytest.mark.parametrize(
    ("rest", "towns"),
    [
        ("ORDER BY town", ["Bonn", "Jena", "Kiel", "Ulm"]),
        ("ORDER BY n DESC, town", ["Ulm", "Bonn", "Jena", "Kiel"]),
        ("ORDER BY 2 DESC, 1 LIMIT 2", ["Ulm", "Bonn"]),
        ("ORDER BY -COUNT(*), town DESC LIMIT 3", ["Ulm", "Bonn", "Kiel"]),
        ("HAVING COUNT(*) > 1 ORDER BY town", ["Bonn", "Ulm"]),
        ("HAVING n <= 1.25 ORDER BY town", ["Bonn", "Jena", "Kiel"]),
        ("HAVING SUM(pay) > 40 AND town <> 'Ulm' ORDER BY town", []),
        ("HAVING AVG(pay) BETWEEN 25 AND 30 ORDER BY town", ["Bonn"]),
        ("HAVING MIN(pay) = 40 OR n = 2.25 ORDER BY town DESC", ["Ulm", "Kiel", "Jena"]),
        ("ORDER BY SUM(pay) DESC, town DESC", ["Ulm", "Bonn", "Kiel", "Jena"]),
        ("ORDER BY town LIMIT 0", []),
    ],
)
def test_expected_values_decide_which_groups_are_shown(
    rest: str, towns: list[str], session: Session, shops: Answerable
) -> None:
    text = f"SELECT town, COUNT(*) AS n FROM t GROUP BY town {rest}"
    by_town = {row[0]: row for row in BY_TOWN}
    assert bounded(session, text, shops) == [by_town[town] for town in towns]


def test_a_condition_on_all_records_may_leave_none(session: Session, shops: Answerable) -> None:
    text = "SELECT COUNT(*) FROM t WHERE town = 'Ulm' HAVING SUM(pay) {} 45"
    assert bounded(session, text.format("="), shops) == [(2.25, 1, 4)]
    assert bounded(session, text.format(">"), shops) == []


@pytest.mark.parametrize(
    ("shown", "expected"),
    [
        # the sum of pay where town is Ulm is 45, of 10 to 100
        ("SUM(pay)", (45, 10, 100)),
        ("-SUM(pay)", (-45, -100, -10)),
        ("-(-SUM(pay))", (45, 10, 100)),
        ("100 - SUM(pay)", (55, 0, 90)),
        ("SUM(pay) - 100", (-55, -90, 0)),
        ("SUM(pay) / 10", (4.5, 1, 10)),
        ("SUM(pay) / -10", (-4.5, -10, -1)),
        ("-10 * SUM(pay) + 1", (-449, -999, -99)),
        ("2 * (1 - SUM(pay) / -5)", (20, 6, 42)),
        ("0 * SUM(pay)", (0, 0, 0)),
        # the mean is 20, of 10 to that of 10, 30 and 40
        ("AVG(pay)", (20, 10, 80 / 3)),
        ("100 - AVG(pay)", (80, 100 - 80 / 3, 90)),
        ("ROUND(AVG(pay) / 7, 1)", (2.9, 1.4, 3.8)),
        ("FLOOR(AVG(pay) / 7)", (2, 1, 3)),
        ("CEIL(-AVG(pay) / 7)", (-2, -3, -1)),
        ("CAST(AVG(pay) / 7 AS INTEGER)", (3, 1, 4)),
        ("100 * COUNT(*)", (225, 100, 400)),
        ("10 - COUNT(*)", (7.75, 6, 9)),
    ],
)
def test_arithmetic_of_an_aggregate_keeps_its_bounds(
    shown: str, expected: Any, session: Session, shops: Answerable
) -> None:
    text = f"SELECT {shown} AS shown FROM t WHERE town = 'Ulm'"
    assert bounded(session, text, shops) == [tuple(about(e) for e in expected)]


# -- joins ----------------------------------------------------------------------------------------


def test_a_table_is_joined_by_an_exact_column(session: Session, shops: Answerable) -> None:
    inner = "SELECT size, COUNT(*), SUM(pay) FROM t JOIN kinds USING (shop) WHERE town = 'Ulm' {}"
    assert bounded(session, inner.format("GROUP BY size"), shops) == [(1, 1.5, 1, 2, 20, 10, 30)]
    outer = (
        "SELECT k.size, COUNT(*), COUNT(k.size) FROM t LEFT JOIN kinds k ON t.shop = k.shop "
        "WHERE town = 'Ulm' GROUP BY k.size ORDER BY 1 NULLS LAST"
    )
    assert bounded(session, outer, shops) == [
        (1, 1.5, 1, 2, 1.5, 1, 2),
        (None, 0.75, 0, 2, 0, 0, 0),
    ]
    text = "SELECT SUM(pay * size) FROM t JOIN kinds k ON k.shop = t.shop AND size < 3"
    assert bounded(session, text, shops) == [(30, 30, 30)]


def test_a_table_is_joined_by_the_values_of_a_generalized_column(
    session: Session, shops: Answerable
) -> None:
    inner = "SELECT land, COUNT(*) FROM t JOIN places ON town = place GROUP BY land ORDER BY land"
    assert bounded(session, inner, shops) == [
        ("BW", 2.25, 1, 4),
        ("NRW", 1.25, 0, 3),
        ("SH", 0.25, 0, 1),
    ]
    outer = inner.replace("JOIN", "LEFT JOIN")
    assert bounded(session, outer, shops)[3:] == [(None, 0.25, 0, 1)]
    text = "SELECT SUM(people), AVG(people) FROM t JOIN places ON town = place AND land <> 'SH'"
    ((*found,),) = bounded(session, text, shops)
    assert found[:3] == [about(2.25 * 126 + 1.25 * 336), 3 * 126, 126 + 3 * 336]
    assert found[3:] == [about((2.25 * 126 + 1.25 * 336) / 3.5), 126, (126 + 3 * 336) / 4]
    text = "SELECT MIN(land), COUNT(DISTINCT land) FROM t JOIN places ON town = place"
    ((*found,),) = bounded(session, text, shops)
    assert found[:3] == ["BW", "BW", "BW"]
    assert found[3:] == [about(1 + (1 - 0.5 * 0.5 * 0.75) + 0.25), 1, 3]


def test_two_tables_and_a_condition_on_both(session: Session, shops: Answerable) -> None:
    text = (
        "WITH rich AS (SELECT town AS where_, shop, pay FROM t WHERE pay > 10) "
        "SELECT land, SUM(pay) FROM rich JOIN places ON where_ = place "
        "LEFT JOIN kinds ON rich.shop = kinds.shop WHERE people * size > 130 OR size IS NULL "
        "GROUP BY land ORDER BY land"
    )
    assert bounded(session, text, shops) == [
        ("BW", about(30 / 2 + 40 / 4), 0, 70),
        ("NRW", about(20 / 2 + 30 / 2 + 40 / 4), 0, 90),
        ("SH", about(40 / 4), 0, 40),
    ]


@pytest.mark.parametrize("join", ["JOIN twice USING (shop)", "LEFT JOIN twice USING (shop)"])
def test_a_table_that_would_double_records_is_refused(
    join: str, session: Session, shops: Answerable
) -> None:
    with pytest.raises(DataError) as refused:
        answer(session, f"SELECT COUNT(*) FROM t {join} WHERE town = 'Ulm'", shops)
    assert "JOIN twice: shop is not unique in it" in refused.value.message
    assert refused.value.hint == "join a table with one row for each value"
    exact = f"SELECT COUNT(*), SUM(pay) FROM t {join}"  # where it doubles them as SQL does
    expected = (6, 130) if join.startswith("LEFT") else (5, 90)
    assert answer(session, exact, shops).rows == (expected,)
    text = "SELECT COUNT(*) FROM t JOIN twice w ON t.shop = w.shop AND t.pay = w.size"
    assert answer(session, text, shops).rows == ((0, 0, 0),)


def test_what_a_left_join_compares_matters_only_where_its_table_is_named(
    session: Session, make_release: MakeRelease, shops: Answerable
) -> None:
    """Each record stays once, so that nobody must know what `*` of the compared column is."""
    made = make_release(
        {"town": ("VARCHAR", "VARCHAR"), "pay": ("INTEGER", "INTEGER")},
        [("Ulm", 10), ("*", 20)],
        [("town", "Ulm", 0, None, None, ["Ulm"]), ("town", "*", 1, None, None, None)],
        sources=("t",),
    )
    target = replace(made, tables=shops.tables)
    asked = "SELECT SUM(pay) FROM t {} places ON town = place"
    assert answer(session, asked.format("LEFT JOIN"), target).rows == ((30, 30, 30),)
    for needing in (asked.format("JOIN"), asked.format("LEFT JOIN") + " WHERE land = 'BW'"):
        with pytest.raises(DataError, match="which values some released values stand for"):
            answer(session, needing, target)
