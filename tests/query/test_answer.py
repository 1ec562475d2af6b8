"""Answers, and refusals that depend on what the dictionary tells."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from dbdeid.engine.duckdb.session import Session
from dbdeid.errors import DataError
from dbdeid.query.desk.answer import answer
from dbdeid.query.parse.answerable import Answerable

MakeRelease = Callable[..., Answerable]


def refusal(session: Session, text: str, target: Answerable) -> DataError:
    with pytest.raises(DataError) as refused:
        answer(session, text, target)
    return refused.value


def test_an_answer_carries_columns_rows_and_sql(session: Session, people: Answerable) -> None:
    text = "SELECT sex, COUNT(*) AS n FROM people WHERE age < 30 GROUP BY sex ORDER BY n DESC"
    found = answer(session, text, people)
    assert found.columns == ("sex", "n", "n_lower", "n_upper")
    assert [row[0] for row in found.rows] == ["F", "M"]
    assert [row[1] for row in found.rows] == pytest.approx([1.5, 0.8])
    assert [row[2:] for row in found.rows] == [(1, 2), (0, 2)]
    assert session.rows(found.sql) == list(found.rows)
    shown = found.to_dict()
    assert list(shown) == ["columns", "rows", "sql"]
    assert shown["rows"][0] == {"sex": "F", "n": found.rows[0][1], "n_lower": 1, "n_upper": 2}


@pytest.mark.parametrize(
    "condition",
    ["zip LIKE '12%'", "zip IS NULL", "zip = '12345' OR age < 30", "upper(zip) < sex"],
)
def test_a_column_without_leaves_or_bounds_is_refused(
    condition: str, session: Session, people: Answerable
) -> None:
    refused = refusal(session, f"SELECT COUNT(*) FROM people WHERE {condition}", people)
    assert refused.message == (
        "the query cannot be answered from the release: it uses zip; the release "
        "does not tell which values some released values stand for"
    )
    assert refused.hint.startswith("ask without zip; its owner can say which values there may be")


def test_a_release_is_asked_around_a_column_without_leaves(
    session: Session, people: Answerable
) -> None:
    found = answer(session, "SELECT COUNT(*) FROM people WHERE age < 100", people)
    assert found.rows == ((4.0, 3, 4),)  # the age of * may be unknown


@pytest.mark.parametrize(
    "text",
    [
        "SELECT bmi, COUNT(*) FROM people GROUP BY bmi",
        "SELECT COUNT(*) FROM people WHERE bmi % 2 = 1",
        "SELECT COUNT(*) FROM people WHERE bmi < age",
        "SELECT COUNT(*) FROM people WHERE bmi < '30'",
    ],
)
def test_single_values_of_float_intervals_are_refused(
    text: str, session: Session, people: Answerable
) -> None:
    refused = refusal(session, text, people)
    assert "it uses bmi; it is released as intervals" in refused.message
    assert refused.hint == "compare bmi with constants (<, BETWEEN, IN), or ask without bmi"


def one_column(
    make_release: MakeRelease, kind: str, dictionary: list[tuple[Any, ...]]
) -> Answerable:
    rows = [(row[1],) for row in dictionary]
    return make_release({"x": (kind, "VARCHAR")}, rows, dictionary, sources=("t",))


OPEN = [
    ("x", "< 5", 1, None, "4", None),
    ("x", "[5, 90)", 1, "5", "89", None),
    ("x", ">= 90", 1, "90", None, None),
]


@pytest.mark.parametrize(
    ("condition", "expected"),
    [
        ("x < 5", (1.0, 1, 1)),
        ("x >= 90", (1.0, 1, 1)),
        ("x BETWEEN 5 AND 89", (1.0, 1, 1)),
        ("x > 4 AND x < 48", (43 / 85, 0, 1)),
        ("x <= 4 OR x > 89", (2.0, 2, 2)),
        ("x IS NULL", (0.0, 0, 0)),
        ("(x) < (5) AND ((x) IS NULL OR NOT (x >= (5)))", (1.0, 1, 1)),
    ],
)
def test_an_open_end_is_answered_where_it_does_not_matter(
    condition: str,
    expected: tuple[float, int, int],
    session: Session,
    make_release: MakeRelease,
) -> None:
    target = one_column(make_release, "INTEGER", OPEN)
    found = answer(session, f"SELECT COUNT(*) FROM t WHERE {condition}", target)
    assert found.rows == (expected,)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("SELECT x, COUNT(*) FROM t GROUP BY x", "have an open end"),
        ("SELECT COUNT(*) FROM t WHERE x % 2 = 0", "have an open end"),
        ("SELECT SUM(x) FROM t", "depends on where it ends"),
        ("SELECT COUNT(*) FROM t WHERE x = 90", "depends on where it ends"),
        ("SELECT COUNT(*) FROM t WHERE x > 90", "depends on where it ends"),
        ("SELECT COUNT(*) FROM t WHERE x BETWEEN 1 AND 3", "depends on where it ends"),
        ("SELECT COUNT(*) FROM t WHERE x <> 0", "depends on where it ends"),
    ],
)
def test_an_open_end_is_refused_where_it_matters(
    text: str, reason: str, session: Session, make_release: MakeRelease
) -> None:
    refused = refusal(session, text, one_column(make_release, "INTEGER", OPEN))
    assert "it uses x; " in refused.message
    assert reason in refused.message
    assert refused.hint


@pytest.mark.sampled(3)
@pytest.mark.parametrize("kind", ["TIMESTAMP", "DOUBLE", "DECIMAL(5,1)", "DATE"])
@pytest.mark.parametrize("aggregate", ["MIN", "MAX"])
def test_what_has_no_end_has_no_bounds(
    aggregate: str, kind: str, session: Session, make_release: MakeRelease
) -> None:
    moment = kind in ("TIMESTAMP", "DATE")
    low, high = ("2024-01-01", "2024-02-01") if moment else ("1", "2")
    told = [("x", "low", 1, None, low, None), ("x", "high", 1, high, None, None)]
    target = one_column(make_release, kind, told)
    refused = refusal(session, f"SELECT {aggregate}(x) FROM t", target)
    assert "open end" in refused.message
    assert answer(session, "SELECT COUNT(x) FROM t", target).rows == ((2.0, 2, 2),)


def test_leaves_of_another_type_are_refused(session: Session, make_release: MakeRelease) -> None:
    target = one_column(make_release, "INTEGER", [("x", "any", 1, None, None, ["1", "?"])])
    refused = refusal(session, "SELECT COUNT(*) FROM t WHERE x < 3", target)
    assert "1 leaves of its hierarchy are not of its type INTEGER" in refused.message
    assert "?" not in str(refused)


def test_two_meanings_are_refused(session: Session, make_release: MakeRelease) -> None:
    target = one_column(
        make_release, "INTEGER", [("x", "a", 1, "0", "4", None), ("x", "a", 2, "0", "9", None)]
    )
    refused = refusal(session, "SELECT COUNT(*) FROM t WHERE x < 3", target)
    assert "a released value has two meanings in the dictionary" in refused.message


def test_endless_lists_are_refused_but_ranges_answered(
    session: Session, make_release: MakeRelease
) -> None:
    target = one_column(make_release, "BIGINT", [("x", "any", 1, "0", "999999999999", None)])
    refused = refusal(session, "SELECT x, COUNT(*) FROM t GROUP BY x", target)
    assert "its released values stand for 999999999999 single values" in refused.message
    found = answer(session, "SELECT COUNT(*) FROM t WHERE x < 250000000000", target)
    assert found.rows == ((0.25, 0, 1),)


def test_listed_leaves_come_before_bounds(session: Session, make_release: MakeRelease) -> None:
    target = one_column(
        make_release,
        "INTEGER",
        [("x", "some", 1, "1", "9", ["1", "2", "9", "3"]), ("x", "7", 0, "7", "7", None)],
    )
    found = answer(session, "SELECT COUNT(*) FROM t WHERE x BETWEEN 2 AND 7", target)
    assert found.rows == ((1.5, 1, 2),)
    found = answer(session, "SELECT x, COUNT(*) FROM t WHERE x > 2 GROUP BY x ORDER BY x", target)
    assert found.rows == ((3, 0.25, 0, 1), (7, 1.0, 1, 1), (9, 0.25, 0, 1))


@pytest.mark.full
def test_timestamps_count_by_length(session: Session, make_release: MakeRelease) -> None:
    target = one_column(
        make_release,
        "TIMESTAMP",
        [("x", "May", 1, "2024-05-01 00:00:00", "2024-05-05 00:00:00", None)],
    )
    for condition, share in (
        ("x < TIMESTAMP '2024-05-02 12:00:00'", 0.375),
        ("x >= DATE '2024-05-02' AND x < '2024-05-03'", 0.25),
        ("x <= TIMESTAMP '2024-05-04'", 0.75),
        ("x IS NULL", 0.0),
        ("month(x) = 5", 1.0),
        ("hour(x) < 6 AND x < TIMESTAMP '2024-05-02 03:00:00'", 0.09375),
    ):
        found = answer(session, f"SELECT COUNT(*) FROM t WHERE {condition}", target)
        assert found.rows[0][0] == pytest.approx(share, abs=1e-9)
    refused = refusal(session, "SELECT COUNT(*) FROM t WHERE minute(x) = 5", target)
    assert "it is released as intervals" in refused.message


@pytest.mark.full
def test_decimals_keep_their_cuts(session: Session, make_release: MakeRelease) -> None:
    target = one_column(
        make_release,
        "DECIMAL(4,1)",
        [("x", "[0, 1)", 1, "0.0", "1.0", None), ("x", "0.5", 0, None, None, None)],
    )
    for condition, share in (
        ("x < 0.05", 0.05),
        ("x <= 0.5", 1.5),
        ("x < 0.5", 0.5),
        ("x BETWEEN 0.2 AND 0.45", 0.25),
        ("x BETWEEN 0.06 AND 0.09", 0.03),
        ("x = -0.3", 0.0),
    ):
        found = answer(session, f"SELECT COUNT(*) FROM t WHERE {condition}", target)
        assert found.rows[0][0] == pytest.approx(share, abs=1e-9)
