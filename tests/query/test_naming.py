"""Columns without an alias are called as DuckDB calls them."""

from __future__ import annotations

from collections.abc import Iterator

import duckdb
import pytest
from raw_tables import PEOPLE, answered, filled
from sqlglot import parse_one

from dbdeid.query.parse.naming import shown_name
from dbdeid.query.parse.reading import parse

AGGREGATES = [
    "count(*)",
    "COUNT()",
    "COUNT(Age)",
    "Avg(people.age)",
    'MIN("age")',
    "COUNT(1)",
    "COUNT(DISTINCT zip)",
    "count(distinct lower(sex))",
    "COUNT_IF(age > 30)",
    "SUM(age) FILTER (WHERE bmi > 1)",
    "COUNT(*) FILTER (age > 1 AND bmi <> 2 AND sex = 'it''s' OR job < 'x')",
    "QUANTILE_CONT(age, 0.5)",
    "QUANTILE_DISC(age, 0.25)",
    "MEDIAN(age)",
    "PERCENTILE_CONT(0.5) WITHIN GROUP (ORDER BY age)",
    "PERCENTILE_DISC(0.5) WITHIN GROUP (ORDER BY age)",
    "STDDEV(age)",
    "STDDEV_POP(age)",
    "VARIANCE(age)",
    "VAR_POP(age)",
    "BOOL_OR(age > 1)",
    "MIN(dayname(born))",
    "MIN(monthname(born))",
    "AVG(EXTRACT(year FROM born))",
    "SUM(age) / 2",
    "ROUND(AVG(age), 1)",
    "ROUND(100.0 * COUNT(*) / 3)",
    "FLOOR(AVG(age) * 10) / 10",
    "CEIL(AVG(age))",
    "-AVG(age)",
    "- 2 * AVG(age)",
    "(SUM(age)) - (-1)",
    "(SUM(age))",
    "SUM(age)::INT",
    "CAST(AVG(age) AS DECIMAL(10, 2))",
    "TRY_CAST(AVG(bmi) AS BIGINT)",
    "CAST(AVG(age) AS FLOAT)",
    "SUM(age + 1)",
    "SUM(-age)",
    "SUM(1e3 * age)",
    "AVG(age // 2 % 3)",
    "SUM(CASE WHEN age > 1 THEN bmi ELSE 0 END)",
    "SUM(CASE age WHEN 1 THEN 2 WHEN 3 THEN 4 END)",
    "SUM(IF(age > 1, 1, 0))",
    "SUM((age BETWEEN 1 AND 2)::INT)",
    "SUM((age NOT IN (1, 2))::INT)",
    "COUNT(sex IS NULL)",
    "COUNT(sex IS NOT NULL)",
    "COUNT(NOT (age > 1))",
    "COUNT(age > 1 AND (bmi > 1 AND age > 2))",
    "SUM(TRUE::INT)",
    "AVG(COALESCE(age, 0))",
    "AVG(ABS(age))",
    "AVG(YEAR(born))",
    "MAX(MONTH(born) + QUARTER(born) - DAY(born))",
    "AVG(date_part('year', born))",
    "MIN(date_trunc('month', born))",
    "MIN(LEFT(sex, 1) || RIGHT(sex, 1))",
    "MIN(SUBSTRING(sex, 1, 2))",
    "MIN(UPPER(sex))",
    "MAX(LENGTH(sex))",
    "MAX(NULLIF(age, 1))",
    "MAX(SQRT(age) + LN(age))",
]
KEYS = [
    "age",
    "AGE",
    "people.age",
    '"Age"',
    "(age)",
    "age // 10",
    "lower(sex)",
    "year(born)",
    "age > 30",
    "CAST(age AS VARCHAR)",
    "CASE WHEN age > 1 THEN 'x' ELSE 'y' END",
    "age AS Decade",
    "age // 10 d",
]


@pytest.fixture(scope="module")
def raw() -> Iterator[duckdb.DuckDBPyConnection]:
    with filled() as connection:
        yield connection


@pytest.mark.parametrize("shown", AGGREGATES)
def test_an_aggregate_is_called_as_duckdb_calls_it(
    shown: str, raw: duckdb.DuckDBPyConnection
) -> None:
    text = f"SELECT {shown} FROM people"
    names, _ = answered(raw, f"{text} LIMIT 0")
    assert [output.name for output in parse(text, PEOPLE).outputs] == names


@pytest.mark.parametrize("key", KEYS)
def test_a_key_is_called_as_duckdb_calls_it(key: str, raw: duckdb.DuckDBPyConnection) -> None:
    text = f"SELECT {key}, COUNT(*) FROM people GROUP BY 1"
    names, _ = answered(raw, f"{text} LIMIT 0")
    assert [output.name for output in parse(text, PEOPLE).outputs] == names


def test_a_column_of_a_subquery_keeps_its_name(raw: duckdb.DuckDBPyConnection) -> None:
    text = (
        "WITH c AS (SELECT age // 10, Bmi AS Mass, SEX FROM people) "
        'SELECT mass, c.sex, "(age // 10)", SUM(MASS) FROM c GROUP BY ALL'
    )
    names, _ = answered(raw, f"{text} LIMIT 0")
    assert [output.name for output in parse(text, PEOPLE).outputs] == names


def test_names_that_are_words_of_sql_are_quoted_as_duckdb_quotes_them() -> None:
    with duckdb.connect() as connection:
        listed = "SELECT DISTINCT keyword_name FROM duckdb_keywords()"
        words = [word for (word,) in connection.execute(listed).fetchall()]
        for word in (*words, "Cost", "age"):
            connection.execute(f'CREATE OR REPLACE TABLE t ("{word}" INTEGER)')
            asked = f'SUM("{word}")'
            ((found, *_),) = connection.execute(f"SELECT {asked} FROM t").description
            assert shown_name(parse_one(asked, dialect="duckdb")) == found


def test_columns_that_are_called_alike_are_numbered() -> None:
    text = "SELECT COUNT(*), sex, COUNT(*), SUM(age), COUNT(*) FROM people GROUP BY sex"
    names = [output.name for output in parse(text, PEOPLE).outputs]
    assert names == ["count_star()", "sex", "count_star()_1", "sum(age)", "count_star()_2"]
