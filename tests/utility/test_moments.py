"""Mean, sum and median of a release against numpy."""

from __future__ import annotations

from collections.abc import Iterator

import duckdb
import numpy as np
import pytest

from dbdeid.engine.duckdb.session import Session
from dbdeid.utility.fidelity.moments import Moments, moments, numeric, of_all

Con = duckdb.DuckDBPyConnection


@pytest.fixture
def con() -> Iterator[Con]:
    with duckdb.connect() as con:
        yield con


def measured(con: Con) -> dict[str, Moments]:
    with Session.over(con, None, read_only=False) as session:
        source, released = session.relation("source"), session.relation("released")
        return moments(session, source, released, numeric(source, released))


def test_moments_are_those_of_numpy(con: Con) -> None:
    rng = np.random.default_rng(1)
    sides = {"source": rng.normal(5, 2, 101), "released": rng.normal(5.1, 2, 90)}
    for name, values in sides.items():
        con.execute(f"CREATE TABLE {name} AS SELECT unnest(?) AS x", [values.tolist()])
    found = measured(con)["x"]
    before, after = sides.values()
    assert found.mean == pytest.approx((before.mean(), after.mean()))
    assert found.sum == pytest.approx((before.sum(), after.sum()))
    assert found.median == pytest.approx((np.median(before), np.median(after)))
    assert found.errors == pytest.approx(
        {
            "mean": abs(after.mean() - before.mean()) / before.std(),
            "sum": abs(after.sum() - before.sum()) / np.abs(before).sum(),
            "median": abs(np.median(after) - np.median(before)) / before.std(),
        }
    )
    assert of_all({"x": found}) == pytest.approx(np.mean([*found.errors.values()]))


def test_what_is_unchanged_has_no_error(con: Con) -> None:
    con.execute("CREATE TABLE source AS SELECT i AS a, i / 3 AS b, 7 AS c FROM range(50) AS r(i)")
    con.execute("CREATE TABLE released AS FROM source")
    found = measured(con)
    assert [*found] == ["a", "b", "c"]
    assert of_all(found) == 0


def test_only_numbers_on_both_sides_have_moments(con: Con) -> None:
    con.execute("CREATE TABLE source AS SELECT 1 AS a, 'x' AS b, 2.5 AS c, DATE '2020-01-01' AS d")
    con.execute("CREATE TABLE released AS SELECT '[0, 5)' AS a, 'x' AS b, 2.5 AS c")
    assert [*measured(con)] == ["c"]


@pytest.mark.parametrize(
    ("source", "released", "errors"),
    [
        ("(1), (NULL), (3)", "(NULL), (1), (3)", {"mean": 0, "sum": 0, "median": 0}),
        ("(4), (4)", "(4), (5)", {"mean": 0.5, "sum": 1 / 8, "median": 0.5}),
        ("(0), (0)", "(0), (1)", {"mean": 0.5, "sum": 1.0, "median": 0.5}),
        ("(-1), (1)", "(-1), (2)", {"mean": 0.5, "sum": 0.5, "median": 0.5}),
        ("(1), (2)", "(NULL)", {}),
        ("(CAST(NULL AS INTEGER))", "(NULL)", {}),
    ],
)
def test_degenerate_columns(con: Con, source: str, released: str, errors: dict[str, float]) -> None:
    con.execute(f"CREATE TABLE source AS SELECT x::INTEGER AS x FROM (VALUES {source}) AS r(x)")
    con.execute(f"CREATE TABLE released AS SELECT x::INTEGER AS x FROM (VALUES {released}) AS r(x)")
    assert measured(con)["x"].errors == pytest.approx(errors)


def test_a_table_without_rows_has_no_moments(con: Con) -> None:
    con.execute("CREATE TABLE source AS SELECT 1 AS x WHERE false")
    con.execute("CREATE TABLE released AS FROM source")
    assert of_all(measured(con)) == 0
