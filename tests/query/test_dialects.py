"""Rewritten queries as SQL of other engines: what is written, and what is refused by name."""

from __future__ import annotations

import pytest
from asking import rewrite
from functions import COLUMNS, DATES, NUMBERS, ROWS, TEXTS
from random_releases import write_table
from sqlglot import exp, parse_one

from dbdeid.engine.duckdb.session import Session
from dbdeid.engine.relation import Column, Relation
from dbdeid.engine.sqltext import sql
from dbdeid.errors import DataError
from dbdeid.query.dialects.dialects import Dialect, transpiled, typed
from dbdeid.query.parse.answerable import Answerable

OTHERS: tuple[Dialect, ...] = ("postgres", "spark")

# Nothing that means the same is known to be in both engines.
REFUSED = {
    "regexp_matches(t, 'S.*')": "REGEXP_MATCHES",
    "regexp_extract(t, 'S')": "REGEXP_EXTRACT",
    "regexp_replace(t, 'S', 's')": "REGEXP_REPLACE",
    "t SIMILAR TO 'S.*'": "SIMILAR TO",
    "t GLOB 'S*'": "GLOB",
    "try_cast(t AS INTEGER)": "TRY_CAST",
    "yearweek(day)": "YEARWEEK",
    "century(day)": "CENTURY",
    "strlen(t)": "STRLEN",
    "age(day, DATE '2024-01-01')": "AGE",
    "date_diff('month', day, DATE '2024-01-01')": "",
    "seen - TIMESTAMP '2000-01-01 00:00:00'": "of times",
    "strftime(seen, '%b')": "",
    "substr(t, -2)": "",
    "substr(t, 0)": "from 1 on",
}


@pytest.fixture
def release(session: Session) -> Answerable:
    write_table(session, "release", COLUMNS, ROWS)
    columns = tuple(Column(name, kind) for name, kind in COLUMNS.items())
    return Answerable(("people",), columns, (), Relation("release", columns), None)


@pytest.mark.parametrize("dialect", OTHERS)
@pytest.mark.parametrize("key", REFUSED)
def test_what_has_no_equal_is_refused_by_name(
    key: str, dialect: Dialect, release: Answerable
) -> None:
    query = rewrite(f"SELECT {key} AS k, COUNT(*) AS n FROM people GROUP BY ALL", release)
    engine = {"postgres": "PostgreSQL", "spark": "Spark"}[dialect]
    with pytest.raises(DataError, match=f"cannot be written for {engine}") as caught:
        transpiled(query, dialect)
    assert REFUSED[key].lower() in str(caught.value).lower()
    assert transpiled(query, "duckdb") == sql(query, pretty=True)


@pytest.mark.sampled(10)
@pytest.mark.parametrize("dialect", OTHERS)
@pytest.mark.parametrize("key", [*NUMBERS, *TEXTS, *DATES])
def test_what_is_written_can_be_read_there(key: str, dialect: Dialect, release: Answerable) -> None:
    query = rewrite(f"SELECT {key} AS k, COUNT(*) AS n FROM people GROUP BY ALL", release)
    before = sql(query)
    written = transpiled(query, dialect)
    assert sql(query) == before  # the query itself stays as it was
    assert [c.alias_or_name for c in parse_one(written, dialect=dialect).selects] == [
        *("k", "n", "n_lower", "n_upper")
    ]


def test_every_node_knows_the_type_that_decides_how_it_is_written(release: Answerable) -> None:
    keys = "i / 2 AS half, day - DATE '2024-01-01' AS days"
    tree = typed(rewrite(f"SELECT {keys}, COUNT(*) AS n FROM people GROUP BY ALL", release))
    division, difference = tree.find(exp.Div), tree.find(exp.Sub)
    assert division is not None
    assert division.is_type("DOUBLE")
    assert difference is not None
    assert difference.is_type("BIGINT")


def test_a_column_without_a_table_has_the_type_that_the_first_table_tells() -> None:
    text = "SELECT x, y, (SELECT x) AS z FROM (SELECT CAST(1 AS BIGINT) AS x) AS a"
    tree = typed(parse_one(f"{text} CROSS JOIN (SELECT CAST(1 AS BIGINT) AS y) AS b"))
    first, second, alone = tree.find_all(exp.Column, bfs=False)
    assert first.is_type("BIGINT")
    assert second.is_type("UNKNOWN")  # of the other
    assert alone.is_type("UNKNOWN")  # reads no table itself
    assert not any(column.table for column in (first, second, alone))
