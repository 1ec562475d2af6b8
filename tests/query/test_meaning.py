"""Which arguments are numbers: as DuckDB itself types them."""

from __future__ import annotations

import pytest

from dbdeid.engine.duckdb.session import Session
from dbdeid.engine.relation import Column, Relation
from dbdeid.errors import DataError
from dbdeid.query.desk.answer import answer
from dbdeid.query.parse.answerable import Answerable
from dbdeid.query.parse.meaning import is_number
from dbdeid.query.parse.reading import parse

COLUMNS = {
    "n": "INTEGER",
    "x": "DOUBLE",
    "p": "DECIMAL(6,2)",
    "d": "DATE",
    "t": "TIMESTAMP",
    "s": "VARCHAR",
    "b": "BOOLEAN",
    "e": "ENUM('small', 'large')",
}
SITES = {"site": "INTEGER", "beds": "INTEGER", "opened": "DATE", "title": "VARCHAR"}
FROM = "FROM people JOIN sites ON n = site"

ARGUMENTS = [
    *("n", "x", "p", "d", "t", "s", "b", "e", "beds", "opened", "title", "beds * x"),
    *("n + 1", "n * p", "n / 2", "n // 2", "n % 2", "-n", "p - 1", "p * x", "(n)"),
    *("d + 1", "1 + d", "d + n", "d - DATE '2024-01-01'", "coalesce(d - opened, 0)"),
    *("d - INTERVAL 1 DAY", "t + INTERVAL 1 DAY", "date_diff('day', d, d)", "last_day(d)"),
    *("abs(n)", "floor(x)", "ceil(p)", "round(p, 1)", "trunc(x)", "sign(n)", "sqrt(n)"),
    *("ln(x)", "log(x)", "exp(n)", "pow(n, 2)", "length(s)", "coalesce(ceil(x), 0)"),
    *("year(d)", "quarter(d)", "month(t)", "week(d)", "day(d)", "hour(t)", "dayofweek(d)"),
    *("extract(year FROM d)", "dayname(d)", "date_trunc('month', d)", "strftime(d, '%Y')"),
    *("lower(s)", "left(s, 1)", "s || 'x'", "replace(s, 'a', 'b')", "starts_with(s, 'a')"),
    *("nullif(n, 1)", "nullif(s, 'a')", "coalesce(n, 0)", "coalesce(d, opened)"),
    *("greatest(n, 1)", "least(d, opened)", "greatest(s, 'a')", "if(b, n, 0)", "if(b, d, d)"),
    *("CASE WHEN b THEN n END", "CASE WHEN b THEN d ELSE d + 1 END", "CASE WHEN b THEN s END"),
    *("CASE WHEN b THEN 1.5 ELSE n END", "CASE WHEN b THEN NULL ELSE n END", "n > 1", "NOT b"),
    *("CAST(s AS INTEGER)", "CAST(n AS VARCHAR)", "TRY_CAST(s AS DOUBLE)", "n IS NULL", "1"),
]
NUMBERS = ["TINYINT", "SMALLINT", "INTEGER", "BIGINT", "HUGEINT", "DOUBLE", "FLOAT", "DECIMAL"]


@pytest.fixture(scope="module")
def target(session: Session) -> Answerable:
    relations = []
    for name, columns in (("people", COLUMNS), ("sites", SITES)):
        shape = ", ".join(f"{column} {kind}" for column, kind in columns.items())
        session.execute(f"CREATE OR REPLACE TABLE {name} ({shape})")
        relations.append(Relation(name, tuple(Column(c, kind) for c, kind in columns.items())))
    people, sites = relations
    return Answerable(("people",), people.columns, (), people, None, tables=(sites,))


@pytest.mark.parametrize("text", ARGUMENTS)
def test_numbers_are_those_of_the_engine(text: str, session: Session, target: Answerable) -> None:
    ((_, engine, *_),) = session.rows(f"DESCRIBE SELECT {text} AS v {FROM}")
    question = parse(f"SELECT MIN({text}) {FROM}", target)
    (aggregate,) = question.aggregates
    assert aggregate.argument is not None
    found = is_number(aggregate.argument, question, target)
    assert found == (engine.split("(")[0] in NUMBERS)


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ("SUM(d)", "SUM of d, which is DATE"),
        ("AVG(s)", "AVG of s, which is TEXT"),
        ("SUM(e)", "SUM of e, which is ENUM"),
        ("SUM(opened)", "SUM of opened, which is DATE"),
        ("AVG(n > 1)", "AVG of a value of type BOOLEAN"),
        ("SUM(lower(s))", "SUM of a value of type TEXT"),
    ],
)
def test_sums_are_of_numbers(asked: str, said: str, session: Session, target: Answerable) -> None:
    with pytest.raises(DataError, match=said.replace("+", "[+]")):
        answer(session, f"SELECT {asked} {FROM}", target)


def test_truths_are_added_up_as_the_engine_does(session: Session, target: Answerable) -> None:
    assert answer(session, "SELECT SUM(n > 1) FROM people", target).rows == ((None, None, None),)


@pytest.mark.parametrize(
    "asked",
    [
        "SELECT MIN(e) FROM people",
        "SELECT MAX(CASE WHEN b THEN e END) FROM people",
        "SELECT COUNT(*) FROM people WHERE e < 'small'",
        "SELECT COUNT(*) FILTER (WHERE (e) BETWEEN 'large' AND 'small') FROM people",
        "SELECT e, COUNT(*) FROM people GROUP BY e ORDER BY e LIMIT 1",
        "SELECT e >= 'small', COUNT(*) FROM people GROUP BY 1",
        "SELECT e, COUNT(*) FROM people GROUP BY e HAVING e > 'large'",
        "SELECT SUM(CASE WHEN e > 'large' THEN n END) FROM people",
        "SELECT e, SUM(COUNT(*)) OVER (ORDER BY e) AS s FROM people GROUP BY e",
    ],
)
def test_the_order_of_an_enum_is_not_known(
    asked: str, session: Session, target: Answerable
) -> None:
    with pytest.raises(DataError, match="order of an ENUM"):
        answer(session, asked, target)


@pytest.mark.parametrize(
    "asked",
    [
        "SELECT e, COUNT(*) FROM people WHERE e IN ('small') OR e = 'large' GROUP BY e",
        "SELECT MIN(CAST(e AS VARCHAR)) FROM people WHERE CAST(e AS VARCHAR) < 'small'",
        "SELECT e, COUNT(*) FROM people GROUP BY e ORDER BY e",
        "SELECT lower(e), COUNT(DISTINCT e) FROM people GROUP BY 1 ORDER BY 1, COUNT(*)",
        "SELECT e, COUNT(*) FROM people GROUP BY e HAVING COUNT(*) > 1 AND e <> 'large'",
    ],
)
def test_members_of_an_enum_are_told_apart(
    asked: str, session: Session, target: Answerable
) -> None:
    assert answer(session, asked, target).columns
