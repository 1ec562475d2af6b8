"""What is refused, and with which words; how names and keys are read."""

from __future__ import annotations

import pytest

from dbdeid.errors import DataError
from dbdeid.query.question import SUPPORTED, Answerable, Order, Output, parse

REFUSED = [
    ("", "0 statements where one is expected"),
    ("SELECT COUNT(*) FROM people; SELECT 1", "2 statements where one is expected"),
    ("SELEKT COUNT(*) FROM people", "not valid SQL (line 1"),
    ("SELECT COUNT(*) FROM people WHERE job = 'x", "not valid SQL"),
    ("SELECT COUNT(*) FROM people WHERE", "not valid SQL (line 1, column 33): WHERE is incomplete"),
    ("SELECT COUNT(*) FROM people WHERE age >", "an expression is incomplete"),
    ("SELECT COUNT(*) FROM people WHERE age BETWEEN 1", "BETWEEN is incomplete"),
    ("SELECT COUNT(* FROM people", "Expecting )"),
    ("SELECT COUNT(*) FROM WHERE age = 1", "Expected table name"),
    ("DROP TABLE people", "DROP where a SELECT is expected"),
    ("CREATE TABLE x AS SELECT COUNT(*) FROM people", "CREATE where a SELECT is expected"),
    ("INSERT INTO people VALUES (1)", "INSERT where a SELECT is expected"),
    ("ATTACH 'x.duckdb'", "ATTACH where a SELECT is expected"),
    ("COPY people TO 'x.csv'", "COPY where a SELECT is expected"),
    ("SELECT COUNT(*) FROM people UNION SELECT 1", "UNION where a SELECT is expected"),
    ("WITH x AS (SELECT 1) SELECT COUNT(*) FROM people", "WITH"),
    ("SELECT COUNT(*)", "no FROM"),
    ("SELECT COUNT(*) FROM others", "FROM others is not the source"),
    ("SELECT COUNT(*) FROM deid.hierarchies", "FROM deid.hierarchies is not the source"),
    ("SELECT COUNT(*) FROM main.people", "FROM main.people is not the source"),
    ("SELECT COUNT(*) FROM read_csv('/etc/passwd')", "a function in FROM"),
    ("SELECT COUNT(*) FROM '/etc/passwd'", "FROM /etc/passwd is not the source"),
    ("SELECT COUNT(*) FROM (SELECT * FROM people)", "SUBQUERY in FROM"),
    ("SELECT COUNT(*) FROM people TABLESAMPLE 10%", "TABLESAMPLE in FROM"),
    ("SELECT COUNT(*) FROM people AS p(a, b)", "column aliases in FROM"),
    ("SELECT COUNT(*) FROM people, people AS q", "JOIN"),
    ("SELECT COUNT(*) FROM people JOIN others USING (age)", "JOIN"),
    ("SELECT DISTINCT COUNT(*) FROM people", "DISTINCT"),
    ("SELECT COUNT(*) FROM people HAVING COUNT(*) > 3", "HAVING"),
    ("SELECT COUNT(*) FROM people LIMIT 3 OFFSET 2", "OFFSET"),
    ("SELECT COUNT(*) FROM people LIMIT 50%", "LIMIT that is not a whole number"),
    ("SELECT COUNT(*) FROM people QUALIFY COUNT(*) OVER () > 1", "QUALIFY"),
    ("SELECT age FROM people GROUP BY age", "no COUNT(*)"),
    ("SELECT COUNT(*), COUNT(*) FROM people", "more than one COUNT(*)"),
    ("SELECT AVG(age) FROM people", "the aggregate AVG"),
    ("SELECT COUNT(age) FROM people", "COUNT of something else than *"),
    ("SELECT COUNT(DISTINCT age) FROM people", "COUNT of something else than *"),
    ("SELECT COUNT(*) FILTER (WHERE age > 1) FROM people", "FILTER"),
    ("SELECT COUNT(*) OVER () FROM people", "a window"),
    ("SELECT 2 * COUNT(*) FROM people", "COUNT"),
    ("SELECT *, COUNT(*) FROM people GROUP BY ALL", "*"),
    ("SELECT age, COUNT(*) FROM people", "age is selected but not in GROUP BY"),
    ("SELECT COUNT(*) FROM people GROUP BY 1 + 1", "GROUP BY of a constant"),
    ("SELECT COUNT(*) FROM people GROUP BY 1", "GROUP BY COUNT(*)"),
    ("SELECT COUNT(*) FROM people GROUP BY 2", "GROUP BY 2: the SELECT list has 1 columns"),
    ("SELECT COUNT(*) FROM people GROUP BY ROLLUP (age, sex)", "ROLLUP"),
    ("SELECT COUNT(*) FROM people GROUP BY CUBE (age, sex)", "CUBE"),
    ("SELECT COUNT(*) FROM people GROUP BY GROUPING SETS ((age), ())", "GROUPING SETS"),
    ("SELECT COUNT(*) FROM people ORDER BY age", "ORDER BY of something that is neither"),
    ("SELECT COUNT(*) FROM people ORDER BY 7", "ORDER BY 7: the SELECT list has 1 columns"),
    ("SELECT COUNT(*) FROM people WHERE name = 'Ann'", "WHERE names name, which is not released"),
    ("SELECT COUNT(*) FROM people GROUP BY agee", "GROUP BY names agee, which is not released"),
    ("SELECT COUNT(*) FROM people WHERE others.age = 1", "WHERE names others.age: unknown table"),
    ("SELECT COUNT(*) FROM people WHERE age IN (SELECT 1)", "a subquery in WHERE"),
    ("SELECT COUNT(*) FROM people WHERE EXISTS (SELECT 1)", "in WHERE"),
    ("SELECT COUNT(*) FROM people WHERE age > (SELECT 1)", "a subquery in WHERE"),
    ("SELECT COUNT(*) FROM people WHERE COUNT(*) > 1", "in WHERE"),
    ("SELECT COUNT(*) FROM people WHERE random() < 0.5", "in WHERE"),
    ("SELECT COUNT(*) FROM people WHERE getenv('HOME') = ''", "the function getenv in WHERE"),
    ("SELECT COUNT(*) FROM people WHERE deid_pseudonym(job, 'x') = ''", "deid_pseudonym in WHERE"),
    ("SELECT COUNT(*) FROM people WHERE age = $x", "PLACEHOLDER in WHERE"),
    ("SELECT COUNT(*) FROM people WHERE age = ?", "PLACEHOLDER in WHERE"),
    ("SELECT COUNT(*) FROM people WHERE rowid = 1", "WHERE names rowid, which is not released"),
]


@pytest.mark.parametrize(("text", "reason"), REFUSED)
def test_an_unsupported_query_is_refused_by_its_clause(
    text: str, reason: str, people: Answerable
) -> None:
    with pytest.raises(DataError) as refusal:
        parse(text, people)
    assert refusal.value.message.startswith("the query cannot be answered from the release: ")
    assert reason in refusal.value.message
    assert "sqlglot" not in refusal.value.message
    assert "Token" not in refusal.value.message
    assert refusal.value.hint


def test_hints_say_what_helps(people: Answerable) -> None:
    with pytest.raises(DataError) as misspelt:
        parse("SELECT COUNT(*) FROM people WHERE agee < 3", people)
    assert misspelt.value.hint == "did you mean 'age'? Known: age, bmi, job, sex, zip."
    with pytest.raises(DataError) as elsewhere:
        parse("SELECT COUNT(*) FROM x", people)
    assert elsewhere.value.hint == "the source is people"
    with pytest.raises(DataError) as summed:
        parse("SELECT SUM(age) FROM people", people)
    assert summed.value.hint == SUPPORTED


def test_constants_of_the_query_are_not_repeated(people: Answerable) -> None:
    with pytest.raises(DataError) as refusal:
        parse("SELECT COUNT(*) FROM people WHERE contains(job, 'secret')", people)
    assert "secret" not in str(refusal.value)


@pytest.mark.parametrize(
    "text",
    [
        "SELECT age, COUNT(*) FROM people GROUP BY age",
        "select AGE, count(*) from PEOPLE group by Age;",
        "SELECT people.age, COUNT(*) FROM people GROUP BY age -- by age",
        "SELECT p.age, COUNT(*) FROM people AS p GROUP BY P.age",
        "SELECT age, COUNT(*) FROM people GROUP BY 1",
        "SELECT age, COUNT(*) FROM people GROUP BY ALL",
        "FROM people SELECT (age), COUNT(*) GROUP BY age",
    ],
)
def test_one_question_in_many_spellings(text: str, people: Answerable) -> None:
    question = parse(text, people)
    assert [key.sql("duckdb") for key in question.keys] == ['"age"']
    assert question.outputs == (Output("age", 0), Output("count_star()", None))


def test_an_alias_may_be_grouped_and_ordered_by(people: Answerable) -> None:
    text = (
        "SELECT age // 10 AS decade, sex, COUNT(*) AS n FROM people "
        "GROUP BY decade, sex ORDER BY n DESC, 2 NULLS FIRST, decade LIMIT 3"
    )
    question = parse(text, people)
    assert [key.sql("duckdb") for key in question.keys] == ['"age" // 10', '"sex"']
    assert question.outputs == (Output("decade", 0), Output("sex", 1), Output("n", None))
    assert question.order == (
        Order(None, True, False),
        Order(1, False, True),
        Order(0, False, False),
    )
    assert question.limit == 3


@pytest.mark.parametrize(
    "source", ["visits.csv", "'visits.csv'", '"visits.csv"', "Visits", "data.main.visits"]
)
def test_the_source_is_named_as_the_spec_spells_it(source: str, people: Answerable) -> None:
    names = ("visits.csv", "visits", "data.main.visits")
    target = Answerable(
        names, people.columns, people.quasi_identifiers, people.release, people.dictionary
    )
    assert parse(f"SELECT COUNT(*) FROM {source}", target).keys == ()
