"""The query of a histogram: one text in each dialect, and values that stay in their groups."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from datetime import date, timedelta
from fractions import Fraction
from typing import Any, cast

import duckdb
import pytest
import sqlglot
from hypothesis import given, settings
from hypothesis import strategies as st
from postgres_server import Server, programs, running
from tiers import examples

from dbdeid.data import dates, intervals
from dbdeid.data.hierarchy import Hierarchy
from dbdeid.query.dialects.histogram import (
    COUNTED,
    WAREHOUSES,
    Begun,
    Counted,
    Floored,
    Grouped,
    Unit,
    Warehouse,
    histogram,
)

COLUMNS = (
    Counted("age", Floored(20, 3, 0, 90)),
    Counted("admitted", Begun("quarter", date(2019, 2, 15), date(2022, 1, 1))),
    Counted("ward", Grouped({"A1": "A1", "A2": "A1", "it's": "B", "B": "B"})),
    Counted('odd "name"'),
)
ROWS = r'''CREATE TABLE visits AS SELECT
  CAST(CASE WHEN i % 11 = 0 THEN NULL ELSE (i * 37) % 130 - 20 END AS INTEGER) AS age,
  DATE '2018-11-01' + CAST(i * 13 % 1500 AS INTEGER) AS admitted,
  CASE i % 5 WHEN 0 THEN 'A1' WHEN 1 THEN 'A2' WHEN 2 THEN 'it''s' WHEN 3 THEN 'other' END AS ward,
  CAST(i % 2 AS VARCHAR) AS "odd ""name"""
FROM numbers'''
FOUND = programs()
CONNECTION = duckdb.connect()


@pytest.mark.parametrize("warehouse", WAREHOUSES)
def test_every_dialect_reads_its_own_text(warehouse: str) -> None:
    text = histogram("raw.visits", COLUMNS, cast("Warehouse", warehouse))
    (tree,) = sqlglot.parse(text, dialect=warehouse)
    assert isinstance(tree, sqlglot.exp.Select)
    assert [name.lower() for name in tree.named_selects] == [
        *("age", "admitted", "ward", 'odd "name"', COUNTED)
    ]
    (table,) = tree.find_all(sqlglot.exp.Table)
    assert (table.db.lower(), table.name.lower()) == ("raw", "visits")
    assert not any(isinstance(node, sqlglot.exp.Anonymous) for node in tree.walk())


def test_snowflake_has_plain_names_in_capitals_and_others_as_they_are() -> None:
    text = histogram("raw.Visits", [Counted("age"), Counted("Sex")], "snowflake")
    assert '"AGE" AS "AGE"' in text
    assert '"Sex" AS "Sex"' in text
    assert '"RAW"."Visits"' in text


def test_a_model_of_dbt_is_left_to_dbt() -> None:
    for warehouse in WAREHOUSES:
        text = histogram("{{ ref('visits') }}", COLUMNS, cast("Warehouse", warehouse))
        assert "FROM {{ ref('visits') }}\n" in text


@pytest.fixture(scope="module")
def visits() -> Iterator[duckdb.DuckDBPyConnection]:
    with duckdb.connect() as con:
        con.execute("CREATE TABLE numbers AS SELECT range AS i FROM range(4000)")
        con.execute(ROWS)
        yield con


def _answered(text: str, values: list[str]) -> list[tuple[Any, ...]]:
    """What is counted of a table with the same values twice."""
    listed = ", ".join(f"({value})" for value in values)
    table = f"WITH t AS (SELECT v AS x, v AS y FROM (VALUES {listed}) AS given(v)) "
    return CONNECTION.execute(table + text).fetchall()


def _require_labels_kept(
    found: list[tuple[Any, ...]], records: int, hierarchy: Callable[[str], Hierarchy]
) -> None:
    """Each value that is given has the label of the value that it stands for."""
    assert sum(n for *_, n in found) == records
    for x, y, _ in found:
        given_, was = (hierarchy(str(v)).levels[1].labels for v in (x, y))
        assert given_ == was


@pytest.mark.full
@given(
    st.integers(1, 40),
    st.integers(-50, 50),
    st.integers(-100, 60),
    st.integers(1, 150),
    st.lists(st.one_of(st.integers(-200, 200), st.decimals(-200, 200, places=3)), min_size=1),
)
@settings(max_examples=examples(200), deadline=None)
def test_numbers_stay_in_their_interval(
    width: int, origin: int, lower: int, reach: int, values: list[int]
) -> None:
    by = Floored(width, origin, lower, lower + reach)
    scale = intervals.Intervals(
        *((Fraction(width),), Fraction(origin), Fraction(lower), Fraction(lower + reach))
    )
    text = histogram("t", [Counted("x", by), Counted("y")], "duckdb")
    found = _answered(text, [f"{v}::DECIMAL(18, 3)" for v in values])
    _require_labels_kept(
        found, len(values), lambda v: intervals.build("x", [v], scale, discrete=False)
    )


@given(
    st.sampled_from(["month", "quarter", "year"]),
    st.dates(date(1990, 1, 1), date(2020, 1, 1)),
    st.integers(1, 9000),
    st.lists(st.dates(date(1980, 1, 1), date(2040, 1, 1)), min_size=1),
)
@settings(max_examples=examples(200), deadline=None)
def test_days_stay_in_their_unit(unit: Unit, lower: date, reach: int, values: list[date]) -> None:
    upper = lower + timedelta(days=reach)
    by = Begun(unit, lower, upper)
    calendar = dates.Calendar((unit,), lower, upper)
    text = histogram("t", [Counted("x", by), Counted("y")], "duckdb")
    found = _answered(text, [f"DATE '{v}'" for v in values])
    _require_labels_kept(found, len(values), lambda v: dates.build("x", [v], calendar, timed=False))


def test_groups_and_nulls(visits: duckdb.DuckDBPyConnection) -> None:
    found = visits.execute(histogram("visits", COLUMNS, "duckdb")).fetchall()
    assert sum(row[-1] for row in found) == 4000
    assert {row[2] for row in found} == {"A1", "B", "other", None}
    assert {row[0] for row in found} == {None, -1, 0, 3, 23, 43, 63, 83, 90}


@pytest.mark.full
@pytest.mark.skipif(FOUND is None, reason="no PostgreSQL server here")
def test_postgres_counts_the_same(visits: duckdb.DuckDBPyConnection) -> None:
    assert FOUND is not None
    expected = visits.execute(histogram("visits", COLUMNS, "duckdb")).fetchall()
    with running(FOUND) as server:
        assert _counted(server) == sorted(str(tuple(map(_text, row))) for row in expected)


def _counted(server: Server) -> list[str]:
    server.run("CREATE TABLE numbers AS SELECT i FROM generate_series(0, 3999) AS s(i);")
    server.run(ROWS + ";")
    text = histogram("visits", COLUMNS, "postgres")
    printed = server.run(f"SELECT row_to_json(h) FROM ({text}) AS h;")
    rows = [json.loads(line) for line in printed.splitlines()]
    return sorted(str(tuple(map(_text, row.values()))) for row in rows)


def _text(value: object) -> str | None:
    return None if value is None else str(value)
