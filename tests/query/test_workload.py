"""A workload on source and release."""

from __future__ import annotations

import csv
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from sqlglot import parse_one

from dbdeid.engine.duckdb.session import Session
from dbdeid.engine.failure import EngineError
from dbdeid.engine.relation import Relation
from dbdeid.query.parse.answerable import Answerable
from dbdeid.query.workload.workload import evaluate

MakeRelease = Callable[..., Answerable]

SOURCE = (
    "SELECT * FROM (VALUES (20, 'F', 'Sales'), (21, 'M', 'Sales'), (35, 'M', 'Sales'), "
    "(60, 'M', 'Tech'), (NULL, NULL, NULL)) AS t(age, sex, job)"
)


def test_each_query_is_run_on_both(session: Session, people: Answerable) -> None:
    session.execute(f"CREATE OR REPLACE TABLE people_source AS {SOURCE}")
    queries = [
        ("all", "SELECT COUNT(*) FROM people"),
        ("sales", "SELECT sex, COUNT(*) AS n FROM people WHERE job = 'Sales' GROUP BY sex LIMIT 1"),
        ("hidden", "SELECT COUNT(*) FROM people WHERE job = 'Sales' GROUP BY sex"),
        ("zip", "SELECT COUNT(*) FROM people WHERE zip = '1'"),
        ("none", "SELECT COUNT(*) FROM people WHERE age = 25"),
        ("torn", "SELECT COUNT(*) FROM people WHERE CAST(job AS INTEGER) = 1"),
        ("wrong", "SELECT COUNT(*) FROM people WHERE nobody = 1"),
    ]
    found = evaluate(session, queries, people, Relation("people_source"))
    by_name = {query.name: query for query in found.queries}
    assert list(by_name) == [name for name, _ in queries]
    whole = by_name["all"]
    assert (whole.groups, whole.relative_error, whole.true_total) == (1, 0, 5)
    assert whole.seconds_source is not None
    assert whole.seconds_release is not None
    # Truth F 1, M 2; estimate F 2, M 1. LIMIT and the SELECT list do not change the error.
    for name in ("sales", "hidden"):
        assert (by_name[name].groups, by_name[name].lost, by_name[name].invented) == (2, 0, 0)
        assert by_name[name].relative_error == pytest.approx(2 / 3)
        assert by_name[name].mean_group_error == pytest.approx((1 + 0.5) / 2)
    assert by_name["none"].relative_error == pytest.approx(0.1 + 0.1 + 0.01)
    assert by_name["none"].mean_group_error is None
    assert "it uses zip" in str(by_name["zip"].refused)
    assert "Hint: ask without zip" in str(by_name["zip"].refused)
    assert str(by_name["torn"].refused).startswith("DuckDB: Conversion Error")
    assert "Sales" not in str(by_name["torn"].refused)
    assert "nobody, which is not released" in str(by_name["wrong"].refused)
    assert by_name["wrong"].groups is None
    assert found.to_dict()["answered"] == 4
    assert session.exists("query_truth", catalog="temp") is None


def test_the_source_may_be_a_query(session: Session, people: Answerable) -> None:
    source = parse_one(SOURCE, dialect="duckdb")
    queries = [("jobs", "SELECT COUNT(*) FROM people GROUP BY job")]
    (found,) = evaluate(session, queries, people, source).queries  # type: ignore[arg-type]
    assert (found.groups, found.relative_error) == (3, 0)


def test_a_missing_source_is_no_refusal(session: Session, people: Answerable) -> None:
    with pytest.raises(EngineError, match="does not exist"):
        evaluate(session, [("all", "SELECT COUNT(*) FROM people")], people, Relation("nowhere"))


def test_keys_named_like_the_answer(session: Session, make_release: MakeRelease) -> None:
    columns = {"key_1": ("INTEGER", "INTEGER"), "records": ("INTEGER", "INTEGER")}
    data = [(1, 5), (2, 5), (2, 6)]
    target = make_release(columns, data, [], name="hostile")
    text = "SELECT COUNT(*) FROM people WHERE records < 6 GROUP BY records, key_1"
    (found,) = evaluate(session, [("q", text)], target, target.release).queries
    assert (found.groups, found.relative_error, found.true_total) == (2, 0, 2)


def test_totals_beside_groups_are_those_of_the_source(
    session: Session, make_release: MakeRelease
) -> None:
    columns = {"ward": ("VARCHAR", "VARCHAR"), "cost": ("INTEGER", "INTEGER")}
    target = make_release(columns, [("A", 1), ("A", 2), ("B", 4)], [], name="itself")
    queries = [
        ("part", "SELECT ward, COUNT(*) / SUM(COUNT(*)) OVER () AS p FROM people GROUP BY ward"),
        (
            "of each",
            "SELECT ward, cost, SUM(cost) / SUM(SUM(cost)) OVER (PARTITION BY ward) AS p "
            "FROM people GROUP BY ward, cost",
        ),
        (
            "beside",
            "SELECT ward, COUNT(*) - (SELECT COUNT(*) FROM people WHERE cost > 1) AS p "
            "FROM people GROUP BY ward",
        ),
    ]
    for found in evaluate(session, queries, target, target.release).queries:
        assert (found.refused, found.relative_error, found.lost) == (None, 0, 0), found.name
        assert [a.relative_error for a in found.aggregates] == [0] * 2


def test_every_aggregate_of_a_query_is_compared(session: Session, people: Answerable) -> None:
    session.execute(f"CREATE OR REPLACE TABLE people_source AS {SOURCE}")
    text = (
        "SELECT job, 100 * AVG(age) AS mean, COUNT(*) AS n, MIN(sex) AS first, n + 1, "
        "COUNT(age) FILTER (WHERE sex = 'F') AS women FROM people GROUP BY job "
        "HAVING SUM(age) > 1000 ORDER BY MAX(age) LIMIT 1"
    )
    (found,) = evaluate(session, [("q", text)], people, Relation("people_source")).queries
    assert found.refused is None
    assert (found.groups, found.lost, found.invented) == (3, 0, 0)
    mean, count, first, women = found.aggregates
    assert [(a.name, a.kind) for a in found.aggregates] == [
        ("mean", "avg"),
        ("n", "count"),
        ("first", "min"),
        ("women", "count"),
    ]
    # Of Sales 20, 21, 35 are estimated as 24.5, 24.5, 34.5; of Tech 60 as 49.5.
    sales, tech = abs((24.5 + 24.5 + 34.5) - (20 + 21 + 35)) / 3, 60 - 49.5
    assert mean.relative_error == pytest.approx((sales + tech) / (76 / 3 + 60))
    assert (count.relative_error, count.equal) == (0, 1)
    assert (first.relative_error, first.true_total) == (None, None)
    # F of Sales, M of Tech, and of the third nothing
    assert (first.equal, first.within_bounds) == (1, 1)
    # Of women there is one, and F, half of two unknown ones, M make two.
    assert women.relative_error == pytest.approx(1)
    assert found.relative_error == pytest.approx((mean.relative_error + 0 + 1) / 3)
    assert found.within_bounds == 1
    assert found.true_total is None


@pytest.mark.full
def test_answers_that_claim_no_bounds(session: Session, people: Answerable) -> None:
    session.execute(f"CREATE OR REPLACE TABLE people_source AS {SOURCE}")
    queries = [("q", "SELECT COUNT(*), SUM(age) FROM people")]
    for truthful, within in ((True, 1), (False, None)):
        target = replace(people, truthful=truthful)
        found = evaluate(session, queries, target, Relation("people_source"))
        assert found.within_bounds == within
        assert [a.within_bounds for a in found.queries[0].aggregates] == [within] * 2


def test_bounds_that_do_not_hold_are_found(session: Session, people: Answerable) -> None:
    session.execute(f"CREATE OR REPLACE TABLE people_source AS {SOURCE}")
    session.execute("INSERT INTO people_source VALUES (22, 'F', 'Sales'), (23, 'F', 'Sales')")
    queries = [("jobs", "SELECT COUNT(*) FROM people GROUP BY job")]
    (found,) = evaluate(session, queries, people, Relation("people_source")).queries
    assert found.within_bounds == pytest.approx(2 / 3)


def test_bounds_allow_for_suppressed_records(session: Session, people: Answerable) -> None:
    session.execute(f"CREATE OR REPLACE TABLE people_source AS {SOURCE}")
    session.execute("INSERT INTO people_source VALUES (22, 'F', 'Sales'), (23, 'F', 'Sales')")
    queries = [("jobs", "SELECT COUNT(*), COUNT(DISTINCT sex), SUM(age) FROM people GROUP BY job")]
    source = Relation("people_source")
    for suppressed, within in ((0, 2 / 3), (1, 2 / 3), (2, 1)):
        (found,) = evaluate(session, queries, people, source, suppressed).queries
        assert found.refused is None
        count, distinct, total = found.aggregates
        assert (count.within_bounds, distinct.within_bounds) == (pytest.approx(within), 1)
        assert (total.within_bounds is None) == (suppressed > 0)
        assert count.relative_error == pytest.approx(2 / 7)


def test_joined_tables_are_joined_with_the_source_too(
    session: Session, make_release: MakeRelease
) -> None:
    columns = {"k": ("INTEGER", "INTEGER"), "x": ("INTEGER", "INTEGER")}
    target = make_release(columns, [(1, 5), (2, 7), (3, 9), (None, 1)], [], name="joined")
    session.execute("CREATE OR REPLACE TABLE source AS FROM (VALUES (1, 'a'), (2, 'b')) t(k, x)")
    target = replace(target, tables=(session.relation("source"),))
    text = (
        "SELECT source.x, SUM(p.x) AS total, COUNT(source.x) AS known FROM people p "
        "{} JOIN source ON p.k = source.k WHERE p.x < 9 GROUP BY source.x"
    )
    for kind, groups, total in (("LEFT", 3, 13), ("", 2, 12)):
        queries = [("q", text.format(kind))]
        (found,) = evaluate(session, queries, target, target.release).queries
        assert (found.refused, found.groups, found.relative_error) == (None, groups, 0)
        assert found.aggregates[0].true_total == total
        assert found.within_bounds == 1


def test_the_first_moment_of_intervals_has_bounds_only(
    session: Session, make_release: MakeRelease
) -> None:
    columns = {"at": ("TIMESTAMP", "VARCHAR"), "day": ("DATE", "VARCHAR")}
    intervals = [
        ("at", "2001", 1, "2001-01-01 00:00:00", "2002-01-01 00:00:00", None),
        ("day", "2001", 1, "2001-01-01", "2001-12-31", None),
    ]
    target = make_release(columns, [("2001", "2001")] * 2, intervals, name="moments")
    source = parse_one(
        "SELECT TIMESTAMP '2001-05-06 07:08:09' + INTERVAL (i) DAY AS at, "
        "DATE '2001-05-06' AS day FROM range(2) t(i)",
        dialect="duckdb",
    )
    queries = [("q", "SELECT MIN(at), MAX(day) FROM people")]
    (found,) = evaluate(session, queries, target, source).queries  # type: ignore[arg-type]
    assert found.refused is None
    assert [(a.equal, a.within_bounds) for a in found.aggregates] == [(0, 1), (0, 1)]
    assert found.relative_error is None


# Mean group error of COUNT(*) WHERE occupation = 'Sales' GROUP BY each attribute, Adult with seven
# quasi-identifiers at the k = 5 optimum without suppression, from an independent prototype.
ADULT = {
    "age": (4, 3.75),
    "sex": (0, 0.0),
    "race": (0, 0.0),
    "marital_status": (1, 60.75),
    "education": (3, 7.57),
    "native_country": (2, 29.7),
    "workclass": (2, 22.6),
}


@pytest.mark.full
def test_lees_queries_on_adult(session: Session, shared: Path) -> None:
    target = adult(session, shared)
    queries = [
        (name, f"SELECT COUNT(*) FROM adult WHERE occupation = 'Sales' GROUP BY {name}")
        for name in ADULT
    ]
    source = parse_one(f"SELECT * FROM '{shared / 'data/adult_arx.parquet'}'", dialect="duckdb")
    found = evaluate(session, queries, target, source).queries  # type: ignore[arg-type]
    for query in found:
        assert query.refused is None
        assert query.estimated_total == pytest.approx(query.true_total)
        assert query.mean_group_error == pytest.approx(ADULT[query.name][1], abs=0.05)


def adult(session: Session, shared: Path) -> Answerable:
    """Adult generalized to the levels above, with its dictionary."""
    source = f"'{shared / 'data/adult_arx.parquet'}'"
    session.execute("CREATE OR REPLACE TABLE adult_h (c VARCHAR, v VARCHAR, label VARCHAR)")
    for name, (level, _) in ADULT.items():
        path = shared / f"data/hierarchies/adult/adult_hierarchy_{name.replace('_', '-')}.csv"
        with path.open(newline="") as file:
            for row in csv.reader(file, delimiter=";"):
                session.execute_with(
                    "INSERT INTO adult_h VALUES (?, ?, ?)", [name, row[0], row[level]]
                )
    generalized = ", ".join(
        f"(SELECT label FROM adult_h WHERE c = '{name}' AND v = CAST({name} AS VARCHAR)) AS {name}"
        for name in ADULT
    )
    session.execute(
        f"CREATE OR REPLACE TABLE adult AS SELECT {generalized}, occupation FROM {source}"
    )
    session.execute(
        "CREATE OR REPLACE TABLE adult_dictionary AS "
        'SELECT c AS "column", label AS released_value, '
        "CASE WHEN count(*) = 1 THEN 0 ELSE 1 END AS level, CAST(NULL AS VARCHAR) AS lower, "
        "CAST(NULL AS VARCHAR) AS upper, list(v) AS leaves FROM adult_h GROUP BY ALL"
    )
    original = session.describe(parse_one(f"SELECT {', '.join(ADULT)}, occupation FROM {source}"))
    return Answerable(
        ("adult",), original, tuple(ADULT), session.relation("adult"), Relation("adult_dictionary")
    )
