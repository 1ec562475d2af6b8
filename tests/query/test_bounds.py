"""Expected values and bounds of each aggregate, worked out by hand."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import date
from typing import Any

import pytest
from asking import bounded, rewrite

from dbdeid.engine.duckdb.session import Session
from dbdeid.query.parse.answerable import Answerable
from dbdeid.query.parse.reading import parse
from dbdeid.query.rewrite.rewrite import SuppressedRecords, estimate

MakeRelease = Callable[..., Answerable]
about = pytest.approx


@pytest.fixture
def groups(make_release: MakeRelease) -> Answerable:
    """In a: a value of 0 to 9, and 7. In b: one of 0 to 19, or NULL. In c: NULL."""
    return make_release(
        {"g": ("VARCHAR", "VARCHAR"), "x": ("INTEGER", "VARCHAR")},
        [("a", "[0, 10)"), ("a", "7"), ("b", "*"), ("c", None)],
        [
            ("x", "[0, 10)", 1, "0", "9", None),
            ("x", "7", 0, None, None, None),
            ("x", "*", 2, "0", "19", None),
        ],
        sources=("t",),
    )


@pytest.mark.parametrize(
    ("aggregate", "of_a", "of_b", "of_c"),
    [
        ("COUNT(*)", (2, 2, 2), (1, 1, 1), (1, 1, 1)),
        ("COUNT(x)", (2, 2, 2), (1, 0, 1), (0, 0, 0)),
        ("SUM(x)", (11.5, 7, 16), (9.5, 0, 19), (None, None, None)),
        ("AVG(x)", (5.75, 3.5, 8), (9.5, 0, 19), (None, None, None)),
        # of the first record 0 to 6 are below 7; 8 and 9 above
        ("MIN(x)", ((21 + 3 * 7) / 10, 0, 7), (9.5, 0, 19), (None, None, None)),
        ("MAX(x)", ((8 * 7 + 8 + 9) / 10, 7, 9), (9.5, 0, 19), (None, None, None)),
        ("COUNT(DISTINCT x)", (1.9, 1, 2), (1, 0, 1), (0, 0, 0)),
        # the argument may be an expression
        ("SUM(2 * x + 1)", (25, 16, 34), (20, 0, 39), (None, None, None)),
        ("AVG(x * x)", ((28.5 + 49) / 2, 24.5, 65), (123.5, 0, 361), (None, None, None)),
        ("COUNT(DISTINCT x // 10)", (1, 1, 1), (1, 0, 1), (0, 0, 0)),
    ],
)
def test_aggregates(
    aggregate: str, of_a: Any, of_b: Any, of_c: Any, session: Session, groups: Answerable
) -> None:
    text = f"SELECT g, {aggregate} FROM t GROUP BY g ORDER BY g"
    found = bounded(session, text, groups)
    assert [row[0] for row in found] == ["a", "b", "c"]
    for row, expected in zip(found, (of_a, of_b, of_c), strict=True):
        assert row[1:] == tuple(None if e is None else about(e, abs=1e-12) for e in expected)


def test_the_sum_of_truth_values_counts_what_is_true(
    session: Session, make_release: MakeRelease
) -> None:
    target = make_release(
        {"ok": ("BOOLEAN", "VARCHAR")},
        [("*",), ("*",), ("true",), ("false",), (None,)],
        [
            ("ok", "*", 1, None, None, ["true", "false"]),
            ("ok", "true", 0, None, None, None),
            ("ok", "false", 0, None, None, None),
        ],
        sources=("t",),
    )
    text = "SELECT SUM(ok) AS n, SUM(ok) FILTER (WHERE NOT ok) AS none FROM t"
    assert bounded(session, text, target) == [(about(2), 1, 3, about(0), 0, 0)]


@pytest.fixture
def some(make_release: MakeRelease) -> Answerable:
    """One record that is F, and some that may be, with exact values."""
    return make_release(
        {"sex": ("VARCHAR", "VARCHAR"), "x": ("INTEGER", "INTEGER")},
        [("F", 10), ("*", 0), ("*", 4), ("*", 30), ("*", -5), ("*", None), ("M", 99)],
        [
            ("sex", "F", 0, None, None, None),
            ("sex", "M", 0, None, None, None),
            ("sex", "*", 1, None, None, ["F", "M"]),
        ],
        sources=("t",),
    )


@pytest.mark.parametrize(
    ("aggregate", "expected"),
    [
        ("COUNT(*)", (1 + 5 / 2, 1, 6)),
        ("COUNT(x)", (1 + 4 / 2, 1, 5)),
        # those below 0 make the least sum, those above it the greatest
        ("SUM(x)", (10 + 29 / 2, 5, 44)),
        # -5 and 0 lower the mean of 10, then 4 no more; only 30 raises it
        ("AVG(x)", ((10 + 29 / 2) / 3, (10 - 5 + 0) / 3, (10 + 30) / 2)),
        ("MIN(x)", (-5 / 2 + 0 / 4 + 4 / 8 + 10 / 8, -5, 10)),
        ("MAX(x)", (30 / 2 + 10 / 2, 10, 30)),
        ("COUNT(DISTINCT x)", (1 + 4 / 2, 1, 5)),
        ("COUNT(*) FILTER (WHERE x > 3)", (1 + 2 / 2, 1, 3)),
        ("SUM(x) FILTER (WHERE x < 10)", (-1 / 2, -5, 4)),
    ],
)
def test_records_that_may_count(
    aggregate: str, expected: Any, session: Session, some: Answerable
) -> None:
    found = bounded(session, f"SELECT {aggregate} FROM t WHERE sex = 'F'", some)
    assert found == [tuple(about(e, abs=1e-12) for e in expected)]


def test_several_aggregates_stand_side_by_side(session: Session, some: Answerable) -> None:
    text = (
        "SELECT COUNT(*) AS n, SUM(x) AS s, sex, MIN(x) FILTER (WHERE x > 0) AS m FROM t "
        "GROUP BY sex ORDER BY sex"
    )
    query = rewrite(text, some)
    names = ["n", "n_lower", "n_upper", "s", "s_lower", "s_upper", "sex"]
    assert query.named_selects == [*names, "m", "m_lower", "m_upper"]
    f, m = session.rows(query)
    assert f[:7] == (3.5, 1, 6, about(24.5), 5, 44, "F")
    assert m[:7] == (3.5, 1, 6, about(99 + 14.5), 94, 133, "M")
    assert f[7:] == (about(4 / 2 + 10 / 2), 4, 10)
    assert m[7:] == (about(4 / 2 + 30 / 4 + 99 / 4), 4, 99)


def test_dates_and_text_have_a_median(session: Session, make_release: MakeRelease) -> None:
    target = make_release(
        {"day": ("DATE", "VARCHAR"), "code": ("VARCHAR", "VARCHAR")},
        [("week", "A-C"), ("week", "D")],
        [
            ("day", "week", 1, "2024-01-01", "2024-01-07", None),
            ("code", "A-C", 1, None, None, ["A", "B", "C"]),
            ("code", "D", 0, None, None, None),
        ],
        sources=("t",),
    )
    # none of two days before the 2nd: (6/7)^2; the 3rd: (5/7)^2 = .51; the 4th: (4/7)^2 = .33
    days = [date(2024, 1, day) for day in (3, 1, 7)]
    assert bounded(session, "SELECT MIN(day) FROM t", target) == [tuple(days)]
    assert bounded(session, "SELECT MIN(code) FROM t", target) == [("B", "A", "C")]
    assert bounded(session, "SELECT MAX(code) FROM t", target) == [("D", "D", "D")]


@pytest.fixture
def body(make_release: MakeRelease) -> Answerable:
    return make_release(
        {"bmi": ("DOUBLE", "VARCHAR")},
        [("[20, 25)",), ("[25, 30)",)],
        [("bmi", "[20, 25)", 1, "20", "25", None), ("bmi", "[25, 30)", 1, "25", "30", None)],
        sources=("t",),
    )


@pytest.mark.parametrize(
    ("condition", "expected"),
    [
        ("bmi = 22.5", (0, 0, 1)),
        ("bmi <> 22.5", (2, 1, 2)),
        ("bmi = 20", (0, 0, 1)),
        ("bmi > 20", (2, 1, 2)),
        ("bmi >= 20", (2, 2, 2)),
        ("bmi < 25", (1, 1, 1)),
        ("bmi <= 25", (1, 1, 2)),
        ("bmi = 25", (0, 0, 1)),
        ("bmi = 30", (0, 0, 0)),
        ("bmi BETWEEN 24 AND 26", (0.4, 0, 2)),
    ],
)
def test_points_of_an_interval_are_possible(
    condition: str, expected: Any, session: Session, body: Answerable
) -> None:
    text = f"SELECT COUNT(*) FROM t WHERE {condition}"
    assert bounded(session, text, body) == [(about(expected[0]), *expected[1:])]


def test_intervals_add_up_but_their_least_value_is_only_bounded(
    session: Session, body: Answerable
) -> None:
    text = "SELECT SUM(bmi), AVG(bmi), MIN(bmi), MAX(bmi) FROM t"
    ((*found,),) = bounded(session, text, body)
    assert found == [50, 45, 55, 25, 22.5, 27.5, None, 20, 25, None, 25, 30]
    text = "SELECT SUM(bmi) FROM t WHERE bmi < 24 OR bmi >= 25"
    assert bounded(session, text, body) == [(about(0.8 * 22 + 27.5), 25, 54)]


@pytest.mark.full
def test_a_group_of_which_nothing_is_expected_is_not_listed(
    session: Session, groups: Answerable
) -> None:
    """Only * could be NULL, and 100 could not be at all."""
    text = "SELECT x IS NULL AS missing, COUNT(*) FROM t WHERE g = 'b' GROUP BY missing"
    assert bounded(session, text, groups) == [(False, 1, 0, 1)]
    assert bounded(session, "SELECT COUNT(*) FROM t WHERE x IS NULL", groups) == [(1, 1, 2)]
    assert bounded(session, "SELECT SUM(x) FROM t WHERE x = 100", groups) == [(None, None, None)]
    text = "SELECT g, COUNT(*) FROM t WHERE x = 100 GROUP BY g"
    assert bounded(session, text, groups) == []


# -- records that may not be real, or are missing -------------------------------------------------


def test_only_a_record_that_is_surely_real_is_certain(
    session: Session, make_release: MakeRelease
) -> None:
    made = make_release(
        {"x": ("INTEGER", "VARCHAR"), "real": ("DOUBLE", "DOUBLE")},
        [("0-3", 1.0), ("0-3", 0.5), ("8", 0.25), ("8", 0.0)],
        [("x", "0-3", 1, "0", "3", None), ("x", "8", 0, None, None, None)],
        sources=("t",),
    )
    target = replace(made, columns=made.columns[:1], weight="real")
    assert bounded(session, "SELECT COUNT(*) FROM t", target) == [(1.75, 1, 3)]
    text = "SELECT COUNT(*), SUM(x) FROM t WHERE x > 0"
    assert bounded(session, text, target) == [(1.5 * 0.75 + 0.25, 0, 3, 2.25 + 2, 0, 14)]
    assert bounded(session, "SELECT AVG(x), MAX(x) FROM t WHERE x >= 8", target) == [
        (8, 8, 8, 8, 8, 8)
    ]
    ((*found,),) = bounded(session, "SELECT MAX(x), COUNT(DISTINCT x) FROM t", target)
    # the greatest of one, and of two values of 0 to 3
    one, two = 1.5, (0 * 1 + 1 * 3 + 2 * 5 + 3 * 7) / 16
    assert found[:3] == [about(0.25 * 8 + 0.75 * (0.5 * one + 0.5 * two)), 0, 8]
    assert found[3:] == [about(0.25 + 4 * (1 - (1 - 1 / 4) * (1 - 1 / 8))), 1, 3]


def test_records_that_are_not_those_of_the_source_bound_nothing(
    session: Session, groups: Answerable
) -> None:
    target = replace(groups, truthful=False)
    text = "SELECT g, COUNT(*), 1 - SUM(x) FROM t WHERE x < 8 GROUP BY g ORDER BY g"
    assert [row[:2] + row[4:5] for row in bounded(session, text, target)] == [
        ("a", about(1.8), about(1 - 2.8 - 7)),
        ("b", about(0.4), about(1 - 28 / 20)),
    ]
    assert {row[2:4] + row[5:] for row in bounded(session, text, target)} == {(None,) * 4}


def test_suppressed_records_are_spread_where_asked(session: Session, some: Answerable) -> None:
    text = (
        "SELECT COUNT(*), COUNT(DISTINCT x), SUM(x), AVG(x), MIN(x), -COUNT(*) FROM t "
        "WHERE sex = 'F'"
    )
    whole = bounded(session, text, some)[0]
    ((*found,),) = session.rows(
        estimate(parse(text, some), some, SuppressedRecords(suppressed=3, of=10))
    )
    assert found[:3] == [about(3.5 * 10 / 7), 1, 9]
    assert found[3:6] == [about(3), 1, 8]
    assert found[6:9] == [about(24.5 * 10 / 7), None, None]
    assert found[9:15] == [about(whole[9]), None, None, about(whole[12]), None, None]
    assert found[15:] == [about(-5), -9, -1]
    none = estimate(parse(text, some), some, SuppressedRecords(suppressed=0, of=7))
    assert session.rows(none) == [whole]


@pytest.mark.full
def test_nothing_is_made_of_no_record(session: Session, some: Answerable) -> None:
    asked = "COUNT(*), SUM(1), AVG(2), MIN(3), MAX(4), COUNT(DISTINCT 5)"
    nothing = (None, None, None)
    for condition in ("x > 99", "x > 99 AND sex = 'F'", "sex = 'X'"):
        (found,) = bounded(session, f"SELECT {asked} FROM t WHERE {condition}", some)
        assert found == (0, 0, 0, *nothing * 4, 0, 0, 0)
