"""Raw tables, and a question answered on them: what a read query must mean."""

from __future__ import annotations

from typing import Any

import duckdb
from sqlglot import exp

from dbdeid.engine.expressions import column, identifier
from dbdeid.engine.relation import Column, Relation
from dbdeid.engine.sqltext import sql
from dbdeid.query.parse.answerable import Answerable
from dbdeid.query.parse.question import Aggregate, Question, aggregate_name, key_name, replaced

COLUMNS = {
    "age": "INTEGER",
    "sex": "VARCHAR",
    "zip": "VARCHAR",
    "bmi": "DOUBLE",
    "job": "VARCHAR",
    "born": "DATE",
}
REGIONS = Relation("regions", (Column("zip", "VARCHAR"), Column("region", "VARCHAR")))
JOBS = Relation(
    "jobs",
    (Column("job", "VARCHAR"), Column("pay", "DOUBLE"), Column("sex", "VARCHAR")),
    schema="ref",
)
PEOPLE = Answerable(
    source_names=("people",),
    columns=tuple(Column(name, kind) for name, kind in COLUMNS.items()),
    quasi_identifiers=("age", "sex", "zip", "bmi"),
    release=Relation("release"),
    dictionary=Relation("dictionary"),
    tables=(REGIONS, JOBS),
)
_FILL = """
CREATE TABLE people AS
SELECT
    (i * 13) % 41 + 20 AS age,
    CASE WHEN i % 7 = 0 THEN NULL WHEN i % 3 = 0 THEN 'F' ELSE 'M' END AS sex,
    '1' || (i % 4) AS zip,
    (i * 37) % 90 / 4 + 18 AS bmi,
    CASE i % 5 WHEN 0 THEN 'Sales' WHEN 1 THEN 'Tech' WHEN 2 THEN 'Care' END AS job,
    DATE '1960-02-27' + (i * 331)::INTEGER AS born
FROM range(1, 61) AS numbers(i);
CREATE TABLE regions AS FROM (VALUES ('10', 'north'), ('11', 'south'), ('12', NULL)) v(zip, region);
CREATE SCHEMA ref;
CREATE TABLE ref.jobs AS
FROM (VALUES ('Sales', 2.5, 'F'), ('Tech', 4.0, 'M'), ('Arts', 1.0, 'F')) v(job, pay, sex);
"""

# Queries that are read, with the order of their rows.
_ACCEPTED = """
SELECT COUNT(*) FROM people;
SELECT age, COUNT(*) FROM people GROUP BY age ORDER BY age;
FROM people SELECT sex, COUNT(*) GROUP BY sex ORDER BY 2, 1;
SELECT sex, COUNT(*) FROM people GROUP BY ALL ORDER BY ALL DESC NULLS FIRST;
SELECT "sex", "COUNT"(*) FROM people GROUP BY "SEX" ORDER BY "sex" NULLS LAST;
SELECT COUNT(*) FROM people p WHERE p.age > 30 AND P."AGE" < 50;
SELECT COUNT(*) FROM people WHERE NOT age > 30 AND sex = 'F' OR zip LIKE '1%' AND NOT zip =
    '11';
SELECT COUNT(*) FROM people WHERE age > 1000;
SELECT SUM(age), AVG(bmi), MIN(sex), COUNT(DISTINCT job) FROM people WHERE age > 1000;
SELECT COUNT(*) FROM people HAVING COUNT(*) > 1000;
SELECT job, COUNT(*) c FROM people GROUP BY job ORDER BY c DESC, job LIMIT 0;
SELECT date_trunc('year', born) AS y, MIN(born), MAX(born) FROM people GROUP BY y ORDER BY y
    LIMIT 5;
SELECT year(born), COUNT(*) FROM people GROUP BY year(born) ORDER BY COUNT(*) DESC, 1;
SELECT MAX(sex), MIN(job) FROM people ORDER BY MAX(age);
SELECT COUNT(*) FILTER (WHERE age > 30), COUNT_IF(bmi > 20) FROM people;
SELECT COUNT_IF(bmi > 20) FILTER (WHERE age > 30), SUM(age) FILTER (sex = 'F') FROM people;
SELECT COUNT(sex), COUNT(DISTINCT zip), COUNT(DISTINCT zip) FILTER (WHERE age > 50) FROM
    people;
SELECT 100 * COUNT(*), COUNT(*) * 2 + 1, -(COUNT(*)), - AVG(age) / 2 FROM people;
SELECT ROUND(AVG(age), 1), FLOOR(AVG(age) * 10) / 10, CEIL(SUM(bmi)), 1 - (2 - COUNT(*))
    FROM people;
SELECT CAST(AVG(age) AS INTEGER), TRY_CAST(AVG(bmi) AS DECIMAL(5, 1)) * -1 FROM people;

SELECT age + 1 AS older, COUNT(*) FROM people WHERE older > 50 GROUP BY older ORDER BY 1;
SELECT age + 1 AS older, older * 2 AS twice, COUNT(*) FROM people GROUP BY ALL ORDER BY 1;
SELECT SUM(age) AS s, s / 2 AS half FROM people;
SELECT age * 2 AS d, SUM(d) FROM people GROUP BY d ORDER BY 1;
SELECT -age AS age, COUNT(*) AS n FROM people GROUP BY ALL ORDER BY age;
SELECT -age AS age, COUNT(*) AS n FROM people GROUP BY ALL ORDER BY (age);
SELECT -age AS age, COUNT(*) AS n FROM people WHERE age > 30 GROUP BY ALL ORDER BY 1;
SELECT sex, COUNT(*) AS zip FROM people GROUP BY sex, zip ORDER BY zip, sex;
SELECT sex, COUNT(*) AS zip FROM people GROUP BY sex, zip ORDER BY zip || 'x', sex;
SELECT sex, COUNT(*) AS n FROM people GROUP BY sex ORDER BY -n, sex;
SELECT sex, COUNT(*) AS n FROM people GROUP BY sex ORDER BY (n) + 1 DESC, people.sex;
SELECT sex, SUM(bmi) AS age FROM people GROUP BY sex HAVING age > 300 ORDER BY 1;
SELECT sex, SUM(bmi) AS age FROM people GROUP BY ALL HAVING SUM(age) > 500 ORDER BY 1;
SELECT sex, SUM(bmi) AS age FROM people GROUP BY ALL ORDER BY SUM(age);
SELECT job AS sex, COUNT(*) AS n FROM people GROUP BY ALL HAVING sex = 'Tech';
SELECT job AS k, COUNT(*) AS sex FROM people GROUP BY k, sex HAVING sex = 'F' ORDER BY ALL;
SELECT SUM(age) AS bmi, bmi AS c FROM people GROUP BY c HAVING SUM(bmi) > 30 ORDER BY ALL;
SELECT sex, SUM(age) AS s FROM people GROUP BY sex HAVING S > 3 AND s < 100000 ORDER BY S;
SELECT sex, job, COUNT(*) FROM people GROUP BY 1, 2 HAVING 2 * SUM(age) - 3 > MAX(bmi) * 4
    ORDER BY ALL;
SELECT sex, COUNT(*) FROM people GROUP BY sex HAVING NOT AVG(age) < 30 OR sex IN ('F') ORDER
    BY AVG(age);
SELECT age // 10, COUNT(*) FROM people GROUP BY 1 HAVING age // 10 > 3 ORDER BY age // 10 +
    1 DESC;
SELECT sex, COUNT(*) FROM people GROUP BY 1 ORDER BY 1 LIMIT 1 OFFSET 1;
SELECT age, SUM(bmi) FROM people GROUP BY 1 ORDER BY 1 OFFSET 2;
SELECT age < 30 AS young, COUNT(*) FROM people GROUP BY young HAVING young OR COUNT(*) > 3
    ORDER BY 1;

WITH c AS (SELECT age FROM people) SELECT SUM(age), SUM(c.age) * 2 FROM c;
WITH c AS MATERIALIZED (SELECT age FROM people WHERE sex = 'F') SELECT SUM(c.age) FROM c;
WITH unused AS (SELECT age FROM people), c AS (SELECT bmi FROM people) SELECT SUM(bmi) FROM
    c;
WITH people AS (SELECT age + 100 AS age FROM people) SELECT SUM(age), AVG(people.age) FROM
    people;
WITH people AS (SELECT age + 100 AS age FROM people), q AS (SELECT age + 1 AS age FROM
    people) SELECT SUM(age) FROM q;
WITH a AS (WITH people AS (SELECT age * 2 AS age FROM people) SELECT age + 1 AS age FROM
    people) SELECT SUM(a.age) FROM a;
WITH a AS (WITH b AS (SELECT age * 2 AS age FROM people) SELECT age + 1 AS age FROM b), b AS
    (SELECT age - 1 AS age FROM a) SELECT SUM(age) FROM b;
WITH a AS (SELECT age FROM people WHERE age > 30 OR sex = 'F') SELECT COUNT(*) FROM a WHERE
    age < 40 OR age > 50;
WITH a AS (SELECT age - bmi AS x FROM people) SELECT SUM(1 - x * 2), SUM(-x), MAX(x - 1)
    FROM a;
WITH a AS (SELECT age > 30 AND bmi > 20 AS x FROM people) SELECT COUNT(*) FROM a WHERE NOT x;
WITH a AS (SELECT age > 30 OR bmi > 20 AS x, sex FROM people) SELECT COUNT(*) FROM a WHERE x
    AND sex = 'F';
WITH a AS (SELECT -age AS x FROM people) SELECT SUM(-x), SUM(3 - x) FROM a;
WITH x AS (SELECT age AS a, bmi AS a FROM people) SELECT SUM(a) FROM x;
SELECT COUNT(*) FROM ((SELECT age FROM people));
(SELECT COUNT(*) FROM people);
SELECT COUNT(*) FROM (SELECT * EXCLUDE (age) FROM people) WHERE sex = 'M';
SELECT SUM(b) FROM (SELECT age AS a, a * 2 AS b FROM people WHERE a > 40);
SELECT SUM(age) FROM (SELECT bmi AS age FROM people WHERE age > 40);
SELECT b, COUNT(*) FROM (SELECT age + 100 AS bmi, bmi AS b FROM people WHERE bmi > 25) GROUP
    BY b ORDER BY b;
SELECT SUM(2 * a) FROM (SELECT age - bmi AS a FROM (SELECT * FROM people WHERE age > 30)
    WHERE bmi > 20);

SELECT region, AVG(age), COUNT(*) FROM people LEFT JOIN regions USING (zip) GROUP BY region
    ORDER BY region;
SELECT region, COUNT(*) FROM people p JOIN regions r ON r.zip = p.zip AND r.region <> 'x'
    GROUP BY ALL ORDER BY ALL;
FROM people p JOIN regions r USING (zip) SELECT region, COUNT(*) GROUP BY region ORDER BY 1;
SELECT zip, COUNT(region) FROM people LEFT JOIN regions USING (zip) GROUP BY zip ORDER BY
    zip;
SELECT regions.zip, COUNT(region) FROM people LEFT JOIN regions USING (zip) GROUP BY ALL
    ORDER BY 1;
SELECT COUNT(*) FROM people x LEFT JOIN regions people ON x.zip = people.zip WHERE
    people.region = 'north';
SELECT jobs.sex, COUNT(*), MAX(pay) FROM people JOIN ref.jobs USING (job) JOIN regions ON
    people.zip = regions.zip WHERE region IS NOT NULL GROUP BY jobs.sex ORDER BY ALL;
SELECT COUNT(*), SUM(pay) FROM people JOIN ref.jobs j ON j.job = people.job AND j.sex =
    people.sex;
SELECT COUNT(*) FROM people LEFT JOIN ref.jobs j ON j.job = people.job AND j.sex =
    people.sex WHERE pay IS NULL;
SELECT COUNT(*) FROM people JOIN ref.jobs j ON (j.job = people.job AND (people.age > 30 OR
    pay > 3));
SELECT COUNT(*) FROM people LEFT JOIN regions ON people.zip = regions.zip LEFT JOIN ref.jobs
    ON people.job = jobs.job WHERE pay > 2 OR region = 'north';
SELECT COUNT(*) FROM people LEFT JOIN regions r USING (zip) JOIN ref.jobs j ON j.job =
    people.job AND j.sex <> r.region;
SELECT COUNT(*) FROM (SELECT p.*, region FROM people p LEFT JOIN regions r USING (zip)) s
    JOIN ref.jobs j ON s.job = j.job WHERE region IS NULL;
SELECT region, zip, COUNT(*) FROM (SELECT people.*, regions.* FROM people JOIN regions ON
    people.zip = regions.zip) GROUP BY ALL ORDER BY zip;
SELECT region, zip, COUNT(*) FROM (SELECT * FROM people LEFT JOIN regions USING (zip)) GROUP
    BY ALL ORDER BY zip;
WITH s AS (SELECT zip AS place, age FROM people WHERE age > 25) SELECT region, SUM(age) FROM
    s LEFT JOIN regions ON place = zip GROUP BY 1 ORDER BY 2
"""
ACCEPTED = [text.strip() for text in _ACCEPTED.split(";")]


def filled() -> duckdb.DuckDBPyConnection:
    """A database with the tables that `PEOPLE` describes."""
    connection = duckdb.connect()
    connection.execute("SET threads = 1")
    connection.execute(_FILL)
    return connection


def meaning(question: Question) -> str:
    """The question on the raw tables, put together from its parts alone."""
    groups = exp.select(
        *(_named(_of_tables(key), key_name(i)) for i, key in enumerate(question.keys)),
        *(_named(_called(a), aggregate_name(i)) for i, a in enumerate(question.aggregates)),
    ).from_(exp.alias_(exp.table_("people"), "source", table=True))
    for join in question.joins:
        same = [column(s, "source").eq(column(t, join.alias)) for s, t in join.on]
        table = exp.alias_(join.table.table, identifier(join.alias), table=True)
        groups = groups.join(table, on=exp.and_(*same), join_type="LEFT" if join.outer else "INNER")
    if question.where is not None:
        groups = groups.where(_of_tables(question.where))
    if question.keys:
        groups = groups.group_by(*(_of_tables(key) for key in question.keys))
    whole = exp.select().from_(groups.subquery("groups"))
    for output in question.outputs:
        if output.key is not None:
            whole = whole.select(_named(column(key_name(output.key)), output.name))
            continue
        assert output.shown is not None
        whole = whole.select(_named(output.shown, output.name))
    if question.having is not None:
        whole = whole.where(question.having)
    for order in question.order:
        direction = {"desc": order.descending, "nulls_first": order.nulls_first}
        whole = whole.order_by(exp.Ordered(this=order.term, **direction))
    if question.limit is not None:
        whole = whole.limit(question.limit)
    return sql(whole if question.offset is None else whole.offset(question.offset))


def answered(connection: duckdb.DuckDBPyConnection, text: str) -> tuple[list[str], list[Any]]:
    """The column names and rows of a query."""
    found = connection.execute(text)
    return [d[0] for d in found.description], found.fetchall()


def _named(value: exp.Expr, name: str) -> exp.Expr:
    return exp.alias_(value.copy(), identifier(name))


def _of_tables(node: exp.Expr) -> exp.Expr:
    return replaced(node, lambda c: c if c.table else column(c.name, "source"))


def _called(aggregate: Aggregate) -> exp.Expr:
    argument = None if aggregate.argument is None else _of_tables(aggregate.argument)
    functions = {"sum": exp.Sum, "avg": exp.Avg, "min": exp.Min, "max": exp.Max}
    call: exp.Expr
    if argument is None:
        call = exp.Count(this=exp.Star())
    elif aggregate.kind == "count":
        call = exp.Count(this=argument)
    elif aggregate.kind == "distinct":
        call = exp.Count(this=exp.Distinct(expressions=[argument]))
    else:
        call = functions[aggregate.kind](this=argument)
    if aggregate.condition is None:
        return call
    return exp.Filter(this=call, expression=exp.Where(this=_of_tables(aggregate.condition)))
