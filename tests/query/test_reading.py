"""What a question is made of, and with which words a query is refused."""

from __future__ import annotations

import pytest
from raw_tables import PEOPLE
from sqlglot import exp

from dbdeid.engine.expressions import column
from dbdeid.engine.sqltext import sql
from dbdeid.errors import DataError
from dbdeid.query.parse.expressions import SUPPORTED
from dbdeid.query.parse.question import Aggregate, Order, Output, Question
from dbdeid.query.parse.reading import parse

B = "SELECT COUNT(*) FROM people"
REFUSED = [
    ("SELECT DISTINCT COUNT(*) FROM people", "SELECT DISTINCT"),
    ("SELECT DISTINCT ON (age) age, COUNT(*) FROM people GROUP BY age", "SELECT DISTINCT"),
    (f"{B} OFFSET 1 + 1", "OFFSET that is not a whole number"),
    (f"{B} LIMIT 50%", "LIMIT that is not a whole number"),
    (f"{B} LIMIT 1 + 1", "LIMIT that is not a whole number"),
    (f"{B} LIMIT '3'", "LIMIT that is not a whole number"),
    (f"{B} LIMIT NULL", "LIMIT that is not a whole number"),
    (f"{B} FETCH FIRST 3 ROWS WITH TIES", "WITH TIES"),
    (f"{B} QUALIFY COUNT(*) OVER () > 1", "QUALIFY"),
    (f"{B} WINDOW w AS ()", "WINDOW"),
    (f"{B} USING SAMPLE 3", "TABLESAMPLE"),
    (f"{B} FOR UPDATE", "FOR UPDATE"),
    ("SELECT COUNT(*) INTO x FROM people", "INTO"),
    # keys
    ("SELECT 1 FROM people", "SELECT without an aggregate"),
    ("SELECT age FROM people", "single records are not listed; age may be generalized"),
    ("SELECT age, job FROM people ORDER BY bmi LIMIT 3", "single records are not listed"),
    ("SELECT * FROM people", "single records are not listed"),
    ("SELECT p.* FROM people AS p", "single records are not listed"),
    ("FROM people", "single records are not listed"),
    ("TABLE people", "single records are not listed"),
    ("SELECT *, name FROM people", "SELECT names name, which is not released"),
    ("SELECT age, upper(name) FROM people ORDER BY bmi", "SELECT names name, which is not"),
    ("SELECT age, upper(name), COUNT(*) FROM people GROUP BY job", "SELECT names name, which is"),
    ("SELECT age, COUNT(*) FROM people", "age is selected but not in GROUP BY"),
    ("SELECT age // 10, COUNT(*) FROM people GROUP BY age", "an expression of age is selected"),
    ("SELECT *, COUNT(*) FROM people GROUP BY ALL", "* in GROUP BY"),
    ("SELECT people.*, COUNT(*) FROM people GROUP BY ALL", "* in SELECT"),
    (f"{B} GROUP BY 1 + 1", "GROUP BY of a constant"),
    ("SELECT 1 AS one, COUNT(*) FROM people GROUP BY one", "GROUP BY of a constant"),
    (f"{B} GROUP BY 1", "the aggregate COUNT in GROUP BY"),
    (f"{B} GROUP BY 2", "GROUP BY 2: the SELECT list has 1 columns"),
    (f"{B} GROUP BY 0", "GROUP BY 0: the SELECT list has 1 columns"),
    ("SELECT COUNT(*) AS n FROM people GROUP BY n", "the aggregate COUNT in GROUP BY"),
    (f"{B} GROUP BY (age, sex)", "a row (…, …) in GROUP BY"),
    (f"{B} GROUP BY ROLLUP (age, sex)", "ROLLUP"),
    (f"{B} GROUP BY CUBE (age, sex)", "CUBE"),
    (f"{B} GROUP BY GROUPING SETS ((age), ())", "GROUPING SETS"),
    (f"{B} GROUP BY agee", "GROUP BY names agee, which is not released"),
    (f"{B} GROUP BY name", "GROUP BY names name, which is not released"),
    # aggregates
    ("SELECT STRING_AGG(age) FROM people", "the aggregate GROUP_CONCAT"),
    ("SELECT KURTOSIS(age) FROM people", "the aggregate KURTOSIS"),
    ("SELECT ANY_VALUE(age) FROM people", "the aggregate ANY_VALUE"),
    ("SELECT LIST(age) FROM people", "the aggregate ARRAY_AGG"),
    ("SELECT STRING_AGG(job, ',') FROM people", "the aggregate GROUP_CONCAT"),
    ("SELECT QUANTILE_CONT(age, [0.5]) FROM people", "QUANTILE_CONT of what is not one number"),
    ("SELECT MAX_BY(age, bmi, 2) FROM people", "ARG_MAX of several values"),
    ("SELECT SUM(DISTINCT age) FROM people", "SUM(DISTINCT …)"),
    ("SELECT COUNT(DISTINCT age, sex) FROM people", "COUNT(DISTINCT …) of several columns"),
    ("SELECT COUNT(DISTINCT (age, sex)) FROM people", "a row (…, …) in COUNT"),
    ("SELECT COUNT(age, sex) FROM people", "COUNT of more than one argument"),
    ("SELECT MAX(age, 3) FROM people", "MAX of more than one argument"),
    ("SELECT AVG(age ORDER BY sex) FROM people", "ORDER BY in AVG"),
    ("SELECT SUM(COUNT(*)) FROM people", "the aggregate COUNT in SUM"),
    ("SELECT COUNT(people.*) FROM people", "* in COUNT"),
    ("SELECT COUNT(* EXCLUDE (age)) FROM people", "EXCEPT in COUNT"),
    ("SELECT SUM(agee) FROM people", "SUM names agee, which is not released"),
    ("SELECT SUM(age) FILTER (WHERE MAX(age) > 1) FROM people", "the aggregate MAX in FILTER"),
    ("SELECT COUNT(*) OVER () FROM people", "a window"),
    ("SELECT SUM(age) FILTER (age > 1) OVER () FROM people", "a window"),
    ("SELECT ROW_NUMBER() OVER () FROM people", "a window"),
    # outputs
    ("SELECT AVG(age) % SUM(age) FROM people", "% of an aggregate"),
    ("SELECT NULLIF(COUNT(*), SUM(age)) FROM people", "the function NULLIF of an aggregate"),
    ("SELECT COALESCE(SUM(age), 'none') FROM people", "the function COALESCE of an aggregate"),
    ("SELECT SUM(age) / SUM(bmi) OVER () FROM people", "a window"),
    ("SELECT SIGN(SUM(age)) FROM people", "the function SIGN of an aggregate"),
    ("SELECT POWER(SUM(age), 0.3) FROM people", "a power of an aggregate by another exponent"),
    ("SELECT GREATEST(SUM(age), 'a') FROM people", "the function GREATEST of an aggregate and of"),
    ("SELECT IF(SUM(age) > 3, 'many', 0) FROM people", "the function CASE of an aggregate and"),
    ("SELECT CASE WHEN SUM(age) IN (1, 2) THEN 1 END FROM people", "IN in CASE of an aggregate"),
    ("SELECT COUNT(*) / 0 FROM people", "/ of an aggregate"),
    ("SELECT COUNT(*) / (1 - 1) FROM people", "/ of an aggregate"),
    ("SELECT COUNT(*) % 2 FROM people", "% of an aggregate"),
    ("SELECT COUNT(*) * 1e999 FROM people", "* of an aggregate"),
    ("SELECT COUNT(*) > 3 AS many FROM people", "a comparison of an aggregate"),
    ("SELECT COUNT(*) * age AS x FROM people GROUP BY age", "* of an aggregate"),
    ("SELECT CAST(AVG(age) AS VARCHAR) FROM people", "the function CAST of an aggregate"),
    ("SELECT ROUND(AVG(age), age) FROM people", "the function ROUND of an aggregate"),
    ("SELECT (SELECT COUNT(*) FROM people) FROM people", "a subquery without a name in SELECT"),
    ("SELECT COUNT(*) n, COUNT(*) N FROM people", "columns 1 and 2 of SELECT share a name"),
    ("SELECT age, COUNT(*) AS AGE FROM people GROUP BY 1", "columns 1 and 2 of SELECT share"),
    ("SELECT COUNT(*) n, SUM(age) AS N_Lower FROM people", "columns 1 and 2 of SELECT share"),
    ("SELECT sex n_upper, COUNT(*) n FROM people GROUP BY 1", "columns 1 and 2 of SELECT share"),
    # HAVING and ORDER BY
    (f"{B} HAVING age > 3", "HAVING names age, which is neither a key nor in an aggregate"),
    (f"{B} GROUP BY age HAVING sex = 'F'", "HAVING names sex, which is neither a key nor in"),
    (f"{B} GROUP BY age // 10 HAVING age > 3", "HAVING names age, which is neither a key"),
    (f"{B} HAVING agee > 3", "HAVING names agee, which is not released"),
    (f"{B} HAVING KURTOSIS(age) > 3", "the aggregate KURTOSIS"),
    (f"{B} HAVING COUNT(*) OVER () > 3", "a window"),
    (f"{B} HAVING COUNT(*) IN (SELECT 1)", "a subquery in HAVING"),
    (
        "SELECT SUM(CASE WHEN age > (SELECT AVG(age) FROM people) THEN 1 END) AS n FROM people",
        "a subquery in SUM",
    ),
    (f"{B} HAVING COUNT(*) > random()", "the function RANDOM in HAVING"),
    (f"{B} HAVING CAST(COUNT(*) AS my_type) = 1", "a type other than numbers, text"),
    (
        "SELECT age // 10 AS a, COUNT(*) FROM people GROUP BY ALL HAVING a > 3",
        "HAVING of a computed key under GROUP BY ALL",
    ),
    (f"{B} ORDER BY age", "ORDER BY names age, which is neither a key nor in an aggregate"),
    (f"{B} ORDER BY 7", "ORDER BY 7: the SELECT list has 1 columns"),
    (f"{B} ORDER BY 'x'", "ORDER BY of a constant"),
    (f"{B} ORDER BY 1 + 1", "ORDER BY of a constant"),
    # conditions
    (f"{B} WHERE name = 'Ann'", "WHERE names name, which is not released"),
    (f"{B} WHERE others.age = 1", "WHERE names others.age: unknown table"),
    (f"{B} WHERE COUNT(*) > 1", "the aggregate COUNT in WHERE"),
    ("SELECT COUNT(*) AS n FROM people WHERE n > 1", "the aggregate COUNT in WHERE"),
    (f"{B} WHERE EXISTS (SELECT 1)", "in WHERE"),
]


@pytest.mark.parametrize(("text", "reason"), REFUSED)
def test_an_unsupported_query_is_refused_by_its_clause(text: str, reason: str) -> None:
    with pytest.raises(DataError) as refusal:
        parse(text, PEOPLE)
    assert refusal.value.message.startswith("the query cannot be answered from the release: ")
    assert reason in refusal.value.message
    assert refusal.value.hint


def test_hints_say_what_helps() -> None:
    def hint(text: str) -> str:
        with pytest.raises(DataError) as refusal:
            parse(text, PEOPLE)
        return refusal.value.hint

    assert (
        hint(f"{B} WHERE agee < 3") == "did you mean 'age'? Known: age, bmi, born, job, sex, zip."
    )
    assert hint("SELECT KURTOSIS(age) FROM people") == SUPPORTED
    assert hint("SELECT SUM(age) % 2 FROM people") == "select the aggregate itself"
    named = "CASE WHEN COUNT(*) = 0 THEN 'none' ELSE SUM(age) END"
    assert "a number or NULL" in hint(f"SELECT {named} AS x FROM people")
    assert "FILTER" in hint("SELECT SUM(age) OVER () FROM people")
    for asked in ("(SELECT age FROM people) AS x", "COUNT(*) FILTER (age IN (SELECT 1))"):
        assert "JOIN the table" in hint(f"SELECT {asked} FROM people")


@pytest.mark.parametrize(
    "text",
    [
        "SELECT age, COUNT(*) FROM people GROUP BY age",
        "select AGE, count(*) from PEOPLE group by Age;",
        "SELECT people.age, COUNT(*) FROM people GROUP BY age -- by age",
        "SELECT p.age, COUNT(*) FROM people AS p GROUP BY P.age",
        "SELECT age, COUNT(*) FROM people GROUP BY 1",
        "SELECT age, COUNT(*) FROM people GROUP BY ALL",
        "SELECT age, COUNT(*) FROM people GROUP BY age, people.age, (AGE)",
        "FROM people SELECT (age), COUNT(*) GROUP BY age",
        "WITH c AS (SELECT * FROM people) SELECT age, COUNT(*) FROM c GROUP BY c.age",
        "SELECT age, COUNT(*) FROM (SELECT * EXCLUDE (bmi) FROM people p) GROUP BY ALL",
        "SELECT a AS age, COUNT() FROM (SELECT age AS a FROM people) GROUP BY a",
    ],
)
def test_one_question_in_many_spellings(text: str) -> None:
    assert parse(text, PEOPLE) == Question(
        keys=(column("age"),),
        aggregates=(Aggregate("count"),),
        outputs=(Output("age", key=0), Output.of("count_star()", 0)),
    )


def test_an_alias_may_be_grouped_and_ordered_by() -> None:
    question = parse(
        "SELECT age // 10 AS decade, sex, COUNT(*) AS n FROM people "
        "GROUP BY decade, sex ORDER BY n DESC, 2 NULLS FIRST, decade LIMIT 3",
        PEOPLE,
    )
    assert [sql(key) for key in question.keys] == ['"age" // 10', '"sex"']
    assert question.outputs == (
        Output("decade", key=0),
        Output("sex", key=1),
        Output.of("n", 0),
    )
    assert question.order == (
        Order(column("aggregate_0"), descending=True, nulls_first=False),
        Order(column("key_1"), descending=False, nulls_first=True),
        Order(column("key_0"), descending=False, nulls_first=False),
    )
    assert question.limit == 3


def test_every_aggregate_with_and_without_a_filter() -> None:
    question = parse(
        "SELECT COUNT(*), COUNT(1) c1, COUNT(sex), COUNT(DISTINCT zip), SUM(age), AVG(age + bmi), "
        "MIN(born), MAX(job), COUNT_IF(age > 3), COUNT_IF(age > 3) FILTER (sex = 'F') AS f, "
        "SUM(age) FILTER (WHERE sex = 'F') AS s, COUNT(*) FILTER (p.age > 3) AS n FROM people p",
        PEOPLE,
    )
    older, female = column("age") > 3, column("sex").eq(exp.Literal.string("F"))
    counted = exp.cast(exp.cast(older, "BOOLEAN"), "INTEGER")
    assert question.aggregates == (
        Aggregate("count"),
        Aggregate("count", column("sex")),
        Aggregate("distinct", column("zip")),
        Aggregate("sum", column("age")),
        Aggregate("avg", column("age") + column("bmi")),
        Aggregate("min", column("born")),
        Aggregate("max", column("job")),
        Aggregate("sum", counted),
        Aggregate("sum", counted, female),
        Aggregate("sum", column("age"), female),
        Aggregate("count", None, older),
    )
    places = [output.aggregates for output in question.outputs]
    assert places == [[place] for place in (0, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10)]


@pytest.mark.parametrize(
    ("output", "shown"),
    [
        ("COUNT(*)", None),
        ("((COUNT(*)))", None),
        ("100 * COUNT(*)", '100 * "value"'),
        ("COUNT(*) / 2", '"value" / 2'),
        ("COUNT(*) / -(2)", '"value" / -(2)'),
        ("-COUNT(*)", '-"value"'),
        ("1 - (2 - COUNT(*))", '1 - (2 - "value")'),
        ("ROUND(COUNT(*), -1)", 'ROUND("value", -1)'),
        ("ROUND(COUNT(*) / 3) + 0.5", 'ROUND("value" / 3) + 0.5'),
        ("FLOOR(COUNT(*) * 10) / 10", 'FLOOR("value" * 10) / 10'),
        ("CEIL(COUNT(*))", 'CEIL("value")'),
        ("CAST(COUNT(*) AS DECIMAL(9, 1))", 'CAST("value" AS DECIMAL(9, 1))'),
        ("COUNT(*)::INT", 'CAST("value" AS INT)'),
        ("TRY_CAST(COUNT(*) AS DOUBLE)", 'TRY_CAST("value" AS DOUBLE)'),
    ],
)
def test_what_is_shown_of_an_aggregate(output: str, shown: str | None) -> None:
    (found,) = parse(f"SELECT {output} AS x FROM people", PEOPLE).outputs
    assert found.aggregates == [0]
    assert found.shown is not None
    assert sql(found.shown) == (shown or '"value"').replace("value", "aggregate_0")


def test_having_and_order_speak_of_keys_and_aggregates() -> None:
    question = parse(
        "SELECT sex, ROUND(AVG(age), 1) AS a FROM people GROUP BY sex, age // 10 "
        "HAVING a > 30 AND (COUNT(*) BETWEEN 2 AND 9 OR age // 10 IN (3, 4)) AND NOT sex IS NULL "
        "ORDER BY MAX(bmi) - 1 DESC, age // 10, a",
        PEOPLE,
    )
    assert [aggregate.kind for aggregate in question.aggregates] == ["avg", "count", "max"]
    assert question.having is not None
    assert sql(question.having) == (
        '(ROUND("aggregate_0", 1)) > 30 AND ("aggregate_1" BETWEEN 2 AND 9 OR "key_1" IN (3, 4)) '
        'AND NOT "key_0" IS NULL'
    )
    terms = [sql(order.term) for order in question.order]
    assert terms == ['"aggregate_2" - 1', '"key_1"', 'ROUND("aggregate_0", 1)']


def test_order_by_all_is_every_output() -> None:
    question = parse("SELECT sex, AVG(age) FROM people GROUP BY sex ORDER BY ALL DESC", PEOPLE)
    assert question.order == (
        Order(column("key_0"), descending=True, nulls_first=False),
        Order(column("aggregate_0"), descending=True, nulls_first=False),
    )


def test_the_conditions_of_subqueries_come_together() -> None:
    question = parse(
        "WITH c AS (SELECT age AS a, sex FROM people WHERE age > 3 OR sex = 'F'), "
        "d AS (SELECT a * 2 AS b FROM c WHERE a < 9 OR a = 20) "
        "SELECT SUM(b) FROM d WHERE b = 1 OR b = 2",
        PEOPLE,
    )
    assert question.where is not None
    assert sql(question.where) == (
        """("age" > 3 OR "sex" = 'F') AND ("age" < 9 OR "age" = 20) """
        """AND (("age" * 2) = 1 OR ("age" * 2) = 2)"""
    )
    assert question.aggregates == (Aggregate("sum", column("age") * 2),)
