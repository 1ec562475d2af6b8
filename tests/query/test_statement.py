"""One SELECT, or a refusal that says where the text is wrong."""

from __future__ import annotations

from datetime import datetime

import pytest
from sqlglot import exp

from dbdeid.errors import DataError
from dbdeid.query.parse.statement import dated, only, statement

REFUSED = [
    ("", "0 statements where one is expected"),
    (";;", "0 statements where one is expected"),
    ("SELECT 1; SELECT 2", "2 statements where one is expected"),
    ("SELEKT COUNT(*) FROM people", "not valid SQL (line 1"),
    ("SELECT 1 FROM people WHERE job = 'x", "a quote or comment is not closed"),
    ("SELECT 1 /* never closed", "a quote or comment is not closed"),
    ("SELECT 1 FROM people WHERE", "not valid SQL (line 1, column 26): WHERE is incomplete"),
    ("SELECT 1 FROM people\nWHERE age >", "not valid SQL (line 2"),
    ("SELECT 1 FROM people WHERE age >", "an expression is incomplete"),
    ("SELECT 1 FROM people WHERE age BETWEEN 1", "BETWEEN is incomplete"),
    ("SELECT COUNT(* FROM people", "Expecting )"),
    ("SELECT 1 FROM WHERE age = 1", "Expected table name"),
    ("DROP TABLE people", "DROP where a SELECT is expected"),
    ("INSERT INTO people VALUES (1)", "INSERT where a SELECT is expected"),
    ("ATTACH 'x.duckdb'", "ATTACH where a SELECT is expected"),
    ("COPY people TO 'x.csv'", "COPY where a SELECT is expected"),
    ("EXPLAIN SELECT 1", "EXPLAIN where a SELECT is expected"),
    ("SELECT 1 UNION SELECT 2", "UNION where a SELECT is expected"),
    ("SELEC", "an expression where a SELECT is expected"),
    ("SELEC age", "an expression where a SELECT is expected"),
    ("age = 3", "an expression where a SELECT is expected"),
    ("(SELECT 1) LIMIT 1", "SUBQUERY where a SELECT is expected"),
    ("(" * 1_000 + "SELECT 1" + ")" * 1_000, "nested too deeply"),
    ("SELECT " + " OR ".join(["x"] * 300), "nested too deeply"),
    ("SELECT " + "x" * 500_000, "the query is too long"),
]


@pytest.mark.parametrize(("text", "reason"), REFUSED)
def test_what_is_no_single_select_is_refused(text: str, reason: str) -> None:
    with pytest.raises(DataError) as refusal:
        statement(text)
    message = refusal.value.message
    assert message.startswith("the query cannot be answered from the release: ")
    assert reason in message
    assert "sqlglot" not in message
    assert "Token" not in message
    assert refusal.value.hint


@pytest.mark.parametrize(
    "text",
    [
        "SELECT 1",
        "select 1;",
        ";SELECT 1;;",
        "SELECT 1 -- a comment; with a semicolon",
        "/* it's */ SELECT /* two */ 1",
        "(SELECT 1)",
        "((SELECT 1));",
    ],
)
def test_one_select_in_many_spellings(text: str) -> None:
    found = statement(text)
    assert found.sql("duckdb", comments=True) == "SELECT 1"


def test_long_lists_and_chains_within_bounds_are_read() -> None:
    assert statement(f"SELECT 1 FROM t WHERE x IN ({', '.join(map(str, range(5_000)))})")
    assert statement(f"SELECT 1 FROM t WHERE {' OR '.join(f'x = {i}' for i in range(200))}")
    assert statement(f"SELECT {'(' * 20}1{')' * 20}")


def test_a_clause_that_is_not_allowed_is_named_with_its_place() -> None:
    select = statement("SELECT 1 FROM t GROUP BY x ORDER BY y")
    only(select, {"expressions", "from_", "group", "order"})
    with pytest.raises(DataError, match="GROUP BY in WITH c"):
        only(select, {"expressions", "from_", "order"}, " in WITH c")
    assert isinstance(select, exp.Select)


@pytest.mark.parametrize(
    ("asked", "meant"),
    [
        ("d < CURRENT_DATE", "d < CAST('2026-03-04' AS DATE)"),
        ("d < today() - 30", "d < CAST('2026-03-04' AS DATE) - 30"),
        ("d < now()", "d < CAST('2026-03-04 05:06:07.000000' AS TIMESTAMP)"),
        ("d < current_timestamp", "d < CAST('2026-03-04 05:06:07.000000' AS TIMESTAMP)"),
        ("d < localtimestamp", "d < CAST('2026-03-04 05:06:07.000000' AS TIMESTAMP)"),
    ],
)
def test_the_day_of_the_question_is_a_constant(asked: str, meant: str) -> None:
    text, constants = dated(f"SELECT COUNT(*) FROM t WHERE {asked}", datetime(2026, 3, 4, 5, 6, 7))
    assert text == f"SELECT COUNT(*) FROM t WHERE {meant}"
    (constant,) = constants
    assert "2026-03-04" in constant


@pytest.mark.parametrize(
    "text",
    [
        "SELECT 'now', \"today\", now FROM t WHERE x = 'current_date'",
        "SELECT now( FROM",
        "SELECT COUNT(*) FROM t",
    ],
)
def test_what_is_no_moment_stays(text: str) -> None:
    assert dated(text, datetime(2026, 3, 4)) == (text, ())
