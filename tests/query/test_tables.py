"""What FROM, WITH and JOIN mean, and which of them are refused."""

from __future__ import annotations

from dataclasses import replace

import pytest
from raw_tables import JOBS, PEOPLE, REGIONS

from dbdeid.engine.relation import Column, Relation
from dbdeid.errors import DataError
from dbdeid.publish.queryable import places
from dbdeid.query.parse.question import Join
from dbdeid.query.parse.reading import parse

B = "SELECT COUNT(*) FROM people"
REFUSED = [
    ("SELECT COUNT(*)", "no FROM"),
    ("SELECT COUNT(*) FROM others", "FROM others is not the source"),
    ("SELECT COUNT(*) FROM other.people", "FROM other.people is not the source"),
    ("SELECT COUNT(*) FROM deid.hierarchies", "a table of a private schema in FROM"),
    ("SELECT COUNT(*) FROM read_csv('/etc/passwd')", "a function in FROM"),
    ("SELECT COUNT(*) FROM '/etc/passwd'", "FROM /etc/passwd is not the source"),
    (f"{B} TABLESAMPLE 10%", "TABLESAMPLE in FROM"),
    (f"{B} AS p(a, b)", "column aliases in FROM"),
    ("SELECT COUNT(*) FROM people PIVOT (SUM(age) FOR sex IN ('F'))", "PIVOT in FROM"),
    ("SELECT COUNT(*) FROM (people)", "a table in parentheses in FROM"),
    ("SELECT COUNT(*) FROM (people JOIN regions USING (zip))", "a table in parentheses"),
    ("SELECT COUNT(*) FROM (VALUES (1))", "VALUES in FROM"),
    # joins
    (f"{B}, people AS q", "a comma or JOIN without ON in FROM"),
    (f"{B}, regions", "a comma or JOIN without ON in FROM"),
    (f"{B} JOIN regions", "a comma or JOIN without ON in FROM"),
    (f"{B} CROSS JOIN regions", "CROSS JOIN"),
    (f"{B} NATURAL JOIN regions", "NATURAL JOIN"),
    (f"{B} RIGHT JOIN regions USING (zip)", "RIGHT JOIN"),
    (f"{B} FULL OUTER JOIN regions USING (zip)", "FULL OUTER JOIN"),
    (f"{B} SEMI JOIN regions USING (zip)", "SEMI JOIN"),
    (f"{B} ANTI JOIN regions USING (zip)", "ANTI JOIN"),
    (f"{B} ASOF JOIN regions ON regions.zip >= people.zip", "ASOF JOIN"),
    (f"{B} POSITIONAL JOIN regions", "POSITIONAL JOIN"),
    (f"{B} JOIN people q USING (age)", "the source is joined with itself"),
    (f"{B} JOIN others USING (age)", "JOIN others, which is not a table to join with"),
    (f"{B} JOIN other.regions USING (zip)", "JOIN other.regions, which is not a table"),
    (f"{B} JOIN main.jobs USING (job)", "JOIN main.jobs, which is not a table"),
    (f"{B} JOIN deid.regions USING (zip)", "a table of a private schema in JOIN"),
    (f"{B} JOIN read_csv('x') r ON r.zip = people.zip", "a function in JOIN"),
    (f"{B} JOIN (SELECT 1) r ON TRUE", "a subquery in JOIN"),
    (f"{B} JOIN LATERAL (SELECT 1) r ON TRUE", "LATERAL in JOIN"),
    (f"{B} JOIN regions TABLESAMPLE 10% USING (zip)", "TABLESAMPLE in JOIN"),
    (f"{B} JOIN regions r(a, b) ON a = people.zip", "column aliases in FROM"),
    (f"WITH c AS (SELECT zip FROM people) {B} JOIN c USING (zip)", "JOIN of WITH c"),
    (f"{B} JOIN regions ON TRUE", "JOIN regions without a released column = its column"),
    (f"{B} JOIN regions ON regions.zip < people.zip", "JOIN regions without a released column"),
    (f"{B} JOIN regions ON regions.zip = left(people.zip, 2)", "JOIN regions without a released"),
    (f"{B} JOIN regions ON people.zip = people.job", "JOIN regions without a released column"),
    (f"{B} JOIN regions ON regions.zip = people.zip OR TRUE", "JOIN regions without a released"),
    (f"{B} JOIN regions ON regions.zip = people.name", "ON names people.name, which is not"),
    (f"{B} JOIN regions ON regions.zip = zip", "ON names zip, which several tables have"),
    (f"{B} JOIN regions USING (region)", "USING names region, which is not released"),
    (f"{B} JOIN regions USING (job)", "USING names job, which is not released"),
    (
        f"{B} LEFT JOIN regions r ON r.zip = people.zip AND r.region = 'x'",
        "ON of LEFT JOIN regions with more than equal columns",
    ),
    (
        f"{B} JOIN regions r USING (zip) LEFT JOIN ref.jobs j ON j.job = r.region",
        "JOIN jobs without a released column = its column",
    ),
    (f"{B} p JOIN regions p USING (zip)", "two tables are called p"),
    (f"{B} JOIN regions USING (zip) JOIN regions USING (zip)", "two tables are called regions"),
    (f"{B} JOIN regions JOIN ref.jobs USING (job) USING (zip)", "JOIN in JOIN"),
    # subqueries
    (
        "SELECT COUNT(*) FROM (SELECT DISTINCT ON (age) age, sex FROM people)",
        "DISTINCT in the subquery in FROM",
    ),
    ("SELECT COUNT(*) FROM (SELECT age FROM people LIMIT 3)", "LIMIT in the subquery in FROM"),
    ("SELECT COUNT(*) FROM (SELECT age FROM people ORDER BY 1)", "ORDER BY in the subquery"),
    ("SELECT COUNT(*) FROM (SELECT age FROM people OFFSET 1)", "OFFSET in the subquery in FROM"),
    (
        "SELECT COUNT(*) FROM (SELECT COUNT(*) AS n FROM people)",
        "an aggregate of",
    ),
    (
        "SELECT COUNT(*) FROM (SELECT COUNT(*) FROM people)",
        "an aggregate of",
    ),
    ("SELECT COUNT(*) FROM (SELECT COLUMNS(*) FROM people)", "COLUMNS in the subquery in FROM"),
    ("SELECT COUNT(*) FROM (SELECT people.* AS x FROM people)", "* in the subquery in FROM"),
    (
        "SELECT COUNT(*) FROM (SELECT SUM(age) OVER () AS n FROM people)",
        "a window over single records",
    ),
    ("SELECT COUNT(*) FROM (SELECT age FROM people QUALIFY age > 1)", "QUALIFY in the subquery"),
    ("SELECT COUNT(*) FROM (SELECT age FROM people USING SAMPLE 3)", "TABLESAMPLE in the subquery"),
    ("SELECT COUNT(*) FROM (SELECT 1) UNION SELECT 1", "UNION where a SELECT is expected"),
    ("SELECT COUNT(*) FROM (SELECT age FROM people UNION SELECT 1)", "UNION in the subquery"),
    ("SELECT COUNT(*) FROM (SELECT unnest([1]) FROM people)", "in the subquery in FROM"),
    ("SELECT COUNT(*) FROM (SELECT name FROM people)", "names name, which is not released"),
    ("SELECT AVG(age) FROM (SELECT sex FROM people)", "AVG names age, which is not released"),
    ("SELECT AVG(p.age) FROM (SELECT * FROM people p)", "AVG names p.age: unknown table"),
    ("SELECT AVG(age) FROM (SELECT * EXCLUDE (age) FROM people)", "AVG names age"),
    ("SELECT COUNT(*) FROM (SELECT * REPLACE (1 AS age) FROM people)", "REPLACE after *"),
    ("SELECT COUNT(*) FROM (SELECT * RENAME (age AS a) FROM people)", "RENAME after *"),
    ("SELECT COUNT(*) FROM (SELECT q.* FROM people)", "names q.*: unknown table"),
    ("SELECT COUNT(*) FROM (SELECT age FROM people) s(a)", "column aliases in FROM"),
    ("SELECT COUNT(*) FROM (SELECT age FROM people) TABLESAMPLE 3", "TABLESAMPLE of a subquery"),
    # common table expressions
    (f"WITH RECURSIVE c AS (SELECT 1) {B}", "WITH RECURSIVE"),
    ("WITH c AS (SELECT 1 AS x) SELECT COUNT(*) FROM c", "no FROM in WITH c"),
    (f"WITH c(a) AS (SELECT age FROM people) {B}", "column names after WITH c"),
    (f"WITH c AS (SELECT age FROM people), C AS (SELECT sex FROM people) {B}", "WITH C is there"),
    ("WITH c AS (SELECT * FROM c) SELECT COUNT(*) FROM c", "FROM c is not the source in WITH c"),
    (
        "WITH a AS (SELECT * FROM b), b AS (SELECT * FROM people) SELECT COUNT(*) FROM a",
        "FROM b is not the source in WITH a",
    ),
    (
        "SELECT COUNT(*) FROM (WITH c AS (SELECT age FROM people) SELECT * FROM c) s "
        "JOIN c ON c.age = s.age",
        "JOIN c, which is not a table to join with",
    ),
    (f"WITH c AS (SELECT AVG(age) AS m FROM people) {B}", "the aggregate AVG in WITH c"),
    (f"WITH c AS (SELECT random() AS r FROM people) {B}", "the function RANDOM in WITH c"),
    (f"WITH c AS (SELECT age FROM people WHERE random() < 1) {B}", "RANDOM in WHERE of WITH c"),
    (f"WITH c AS (VALUES (1)) {B}", "VALUES in FROM in WITH c"),
    (f"WITH c AS (DELETE FROM people) {B}", "DELETE in WITH c"),
]


@pytest.mark.parametrize(("text", "reason"), REFUSED)
def test_an_unsupported_table_is_refused_by_its_clause(text: str, reason: str) -> None:
    with pytest.raises(DataError) as refusal:
        parse(text, PEOPLE)
    assert reason in refusal.value.message
    assert refusal.value.hint


def test_the_hint_names_what_there_is() -> None:
    with pytest.raises(DataError) as elsewhere:
        parse("SELECT COUNT(*) FROM x", PEOPLE)
    assert elsewhere.value.hint == "the source is people"
    with pytest.raises(DataError) as joined:
        parse(f"{B} JOIN x USING (zip)", PEOPLE)
    assert joined.value.hint == "tables to join with: jobs, regions"
    with pytest.raises(DataError) as alone:
        parse(f"{B} JOIN x USING (zip)", replace(PEOPLE, tables=()))
    assert alone.value.hint == "tables to join with: none"


@pytest.mark.parametrize(
    "source", ["visits.csv", "'visits.csv'", '"visits.csv"', "Visits", "data.main.visits"]
)
def test_the_source_is_named_as_the_spec_spells_it(source: str) -> None:
    target = replace(PEOPLE, source_names=("visits.csv", "visits", "data.main.visits"))
    assert parse(f"SELECT COUNT(*) FROM {source}", target).keys == ()
    assert parse(f"SELECT visits.age, COUNT(*) FROM {source} GROUP BY 1", target).keys


@pytest.mark.parametrize(
    "source", ["main.people", "h.main.people", "H.People", '"h"."MAIN"."people"']
)
def test_the_source_may_be_called_with_its_place(source: str) -> None:
    target = replace(PEOPLE, places=places(("main", "people"), "h", lambda _: False))
    assert parse(f"SELECT COUNT(*) FROM {source}", target) == parse(B, target)
    asked = f"SELECT {source}.age, COUNT(*) FROM {source} GROUP BY 1"
    assert parse(asked, target) == parse("SELECT age, COUNT(*) FROM people GROUP BY 1", target)
    for other in ("x.main.people", "other.people", "h.other.people", "main.h.people"):
        with pytest.raises(DataError, match="is not the source"):
            parse(f"SELECT COUNT(*) FROM {other}", target)
    with pytest.raises(DataError, match="joined with itself"):
        parse(f"{B} JOIN main.people AS q USING (age)", target)


JOINS = [
    (f"{B} JOIN regions USING (zip)", (("zip", "zip"),), False),
    (f"{B} INNER JOIN REGIONS r ON R.Zip = People.ZIP", (("zip", "zip"),), False),
    (f"{B} p LEFT OUTER JOIN main.regions ON (p.zip) = (regions.zip)", (("zip", "zip"),), True),
    (f"{B} p LEFT JOIN regions r ON (p.job = r.zip)", (("job", "zip"),), True),
    (
        f"{B} p LEFT JOIN regions r ON p.zip = r.zip AND r.region = p.job AND p.zip = r.zip",
        (("zip", "zip"), ("job", "region")),
        True,
    ),
    (
        "WITH c AS (SELECT zip AS place FROM people) "
        "SELECT COUNT(*) FROM c JOIN regions ON place = zip",
        (("zip", "zip"),),
        False,
    ),
]


@pytest.mark.parametrize(("text", "on", "outer"), JOINS)
def test_a_join_is_by_equal_columns(
    text: str, on: tuple[tuple[str, str], ...], outer: bool
) -> None:
    question = parse(text, PEOPLE)
    assert question.joins == (Join("joined_1", REGIONS, on, outer),)
    assert question.where is None


def test_what_else_an_inner_join_demands_is_a_condition() -> None:
    question = parse(
        f"{B} p JOIN regions r ON r.zip = p.zip AND r.region <> p.job AND p.age > 3 "
        "JOIN ref.jobs j ON j.job = p.job AND j.sex = r.region WHERE pay > 1",
        PEOPLE,
    )
    assert [join.on for join in question.joins] == [(("zip", "zip"),), (("job", "job"),)]
    assert [join.table for join in question.joins] == [REGIONS, JOBS]
    assert question.where is not None
    assert question.where.sql("duckdb") == (
        '"joined_1"."region" <> "job" AND "age" > 3 AND "joined_2"."sex" = "joined_1"."region" '
        'AND "joined_2"."pay" > 1'
    )


def test_a_table_is_found_in_its_catalog_and_schema() -> None:
    there = Relation("r", (Column("zip", "VARCHAR"),), schema="s", catalog="c")
    attached = Relation("r", (Column("zip", "VARCHAR"),), schema="main", catalog="d")
    target = replace(PEOPLE, tables=(there, attached))
    for name, table in (("c.s.r", there), ("S.R", there), ("d.r", attached), ("main.r", attached)):
        (join,) = parse(f"{B} JOIN {name} USING (zip)", target).joins
        assert join.table is table
    for name in ("c.r", "d.s.r", "c.main.r", "x.r"):
        with pytest.raises(DataError, match="not a table to join with"):
            parse(f"{B} JOIN {name} USING (zip)", target)
    with pytest.raises(DataError, match="JOIN r, which several tables are called"):
        parse(f"{B} JOIN r USING (zip)", target)
