"""The error of a query against a few lines of Python, and by hand."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import duckdb
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dbdeid.engine.duckdb.session import Session
from dbdeid.engine.relation import Relation
from dbdeid.utility.query_error import (
    AggregateColumn,
    AggregateError,
    QueryError,
    Workload,
    compare,
)

Key = tuple[Any, ...]
Values = dict[Key, Any]
Estimates = dict[Key, tuple[Any, Any, Any]]
ASKED = QueryError("q", "SELECT 1")


@pytest.fixture(scope="module")
def session() -> Iterator[Session]:
    with duckdb.connect() as connection, Session.over(connection, None, read_only=False) as opened:
        yield opened


def compared(
    session: Session, truth: Values, estimate: Estimates, kind: str = "count", type_: str = "DOUBLE"
) -> QueryError:
    """The error of an aggregate of a type, from its values and estimates with their bounds."""
    keys = 'a VARCHAR, "b c" INTEGER'
    session.execute(f"CREATE OR REPLACE TABLE truth ({keys}, n {type_})")
    session.execute(
        f"CREATE OR REPLACE TABLE estimate ({keys}, n {type_}, n_lower {type_}, n_upper {type_})"
    )
    for key, value in truth.items():
        session.execute_with("INSERT INTO truth VALUES (?, ?, ?)", [*key, value])
    for key, found in estimate.items():
        session.execute_with("INSERT INTO estimate VALUES (?, ?, ?, ?, ?)", [*key, *found])
    tables = session.relation("truth"), session.relation("estimate")
    return compare(session, ASKED, *tables, ["a", "b c"], [AggregateColumn("x", kind, "n")])


def counts(estimate: Values) -> Estimates:
    return {key: (value, None, None) for key, value in estimate.items()}


def test_by_hand(session: Session) -> None:
    truth = {("x", 1): 10, ("y", None): 4, ("lost", 2): 2}
    estimate = {("x", 1): (8, 3, 10), ("y", None): (4, 5, 9), ("new", 3): (1.5, 0, 2)}
    found = compared(session, truth, estimate)
    assert (found.groups, found.lost, found.invented) == (3, 1, 1)
    (count,) = found.aggregates
    assert (count.name, count.kind) == ("x", "count")
    assert found.relative_error == count.relative_error == pytest.approx((2 + 0 + 2 + 1.5) / 16)
    assert found.mean_group_error == pytest.approx((0.2 + 0 + 1) / 3)
    assert (count.true_total, count.estimated_total) == (16, 13.5)
    assert count.equal == 1 / 2
    assert found.within_bounds == count.within_bounds == 1 / 2


def test_averages_are_compared_where_both_have_one(session: Session) -> None:
    truth = {("x", 1): 10, ("y", None): None, ("lost", 2): 2, ("z", 1): -5}
    estimate = {("x", 1): (8, 8, 12), ("y", None): (4, 1, 9), ("z", 1): (-4, -4.5, -1)}
    for kind in ("avg", "min", "max"):
        found = compared(session, truth, estimate, kind)
        (average,) = found.aggregates
        assert (found.groups, found.lost, found.invented) == (4, 1, 0)
        assert average.relative_error == pytest.approx((2 + 1) / 15)
        assert average.mean_group_error == pytest.approx((0.2 + 0.2) / 2)
        assert average.equal == 0
        assert average.within_bounds == 1 / 2  # of y the truth has no value, of lost no bounds
    total = compared(session, truth, estimate, "sum").aggregates[0]
    assert total.relative_error == pytest.approx((2 + 4 + 2 + 1) / 17)


def test_without_truth_the_divisor_is_one_record(session: Session) -> None:
    none = AggregateError("x", "count", None, None, 0, 0, None, None)
    found = compared(session, {}, counts({("x", 1): 2.5}))
    assert (found.groups, found.lost, found.invented) == (0, 0, 1)
    assert found.aggregates == (AggregateError("x", "count", 2.5, None, 0, 2.5, None, None),)
    found = compared(session, {("x", 1): 0}, counts({("x", 1): 0.5}))
    assert found.aggregates == (AggregateError("x", "count", 0.5, None, 0, 0.5, 0, None),)
    found = compared(session, {}, {})
    assert (found.groups, found.aggregates) == (0, (none,))


def test_a_sum_of_nothing_has_no_relative_error(session: Session) -> None:
    off = compared(session, {("x", 1): 0}, counts({("x", 1): 50}), "sum")
    assert off.relative_error is None
    assert off.aggregates[0].equal == 0
    right = compared(session, {("x", 1): 0, ("y", 1): None}, counts({("x", 1): 0}), "sum")
    assert right.relative_error is None
    assert right.aggregates[0].equal == 1


@pytest.mark.parametrize(("least", "most", "within"), [(None, None, None), (3, None, 1)])
@pytest.mark.parametrize("kind", ["count", "avg"])
def test_bounds_that_are_not_claimed(
    session: Session, kind: str, least: Any, most: Any, within: Any
) -> None:
    (found,) = compared(session, {("x", 1): 4}, {("x", 1): (5, least, most)}, kind).aggregates
    assert found.within_bounds == within
    (found,) = compared(session, {("x", 1): 4}, {("x", 1): (5, None, 3)}, kind).aggregates
    assert found.within_bounds == 0


def test_sums_in_another_order_are_the_same(session: Session) -> None:
    truth = {("x", i): value for i, value in enumerate((1e9 + 0.3, -1e9, 0.1 + 0.2, 0.3))}
    off = {key: value * (1 + 5e-10) for key, value in truth.items()}
    (found,) = compared(session, truth, {k: (v, v, v) for k, v in off.items()}, "sum").aggregates
    assert (found.equal, found.within_bounds) == (1, 1)
    off = {key: value * (1 + 2e-9) for key, value in truth.items()}
    (found,) = compared(session, truth, {k: (v, v, v) for k, v in off.items()}, "sum").aggregates
    assert (found.equal, found.within_bounds) == (0, 0)


def test_infinite_values_have_no_error(session: Session) -> None:
    far = float("inf")
    (found,) = compared(session, {("x", 1): far}, {("x", 1): (far, 1, far)}, "max").aggregates
    assert (found.relative_error, found.true_total) == (None, None)
    assert (found.equal, found.within_bounds) == (1, 1)


@pytest.mark.parametrize(
    ("type_", "values"),
    [
        ("DATE", ("2001-01-01", "2001-06-30", "2002-01-01")),
        ("VARCHAR", ("10", "9", "b")),
        ("BOOLEAN", ("false", "true", "true")),
    ],
)
def test_what_is_no_number_has_shares_only(
    session: Session, type_: str, values: Sequence[str]
) -> None:
    low, middle, high = values
    truth = {("x", 1): low, ("y", 1): middle, ("z", None): None, ("lost", 1): low}
    estimate = {
        ("x", 1): (low, low, middle),
        ("y", 1): (low, low, low),
        ("z", None): (None, None, None),
        ("new", 1): (high, None, None),
    }
    found = compared(session, truth, estimate, "min", type_)
    assert (found.groups, found.lost, found.invented) == (4, 1, 1)
    (least,) = found.aggregates
    assert least.equal == pytest.approx(2 / 3)
    assert least.within_bounds == 1 / 2
    assert (least.relative_error, least.mean_group_error) == (None, None)
    assert (least.true_total, least.estimated_total) == (None, None)
    assert found.relative_error is None


KEYS = st.tuples(st.sampled_from(["x", "y", None]), st.sampled_from([1, 2, None]))


@pytest.mark.full
@settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    truth=st.dictionaries(KEYS, st.integers(1, 50)),
    estimate=st.dictionaries(
        KEYS, st.tuples(st.floats(0.01, 50), st.integers(0, 25), st.integers(25, 50))
    ),
)
def test_equals_its_definition(session: Session, truth: Values, estimate: Estimates) -> None:
    found = compared(session, truth, estimate)
    near = {key: value for key, (value, _, _) in estimate.items()}
    gaps = {g: abs(near.get(g, 0) - truth.get(g, 0)) for g in truth.keys() | near.keys()}
    shares = [gaps[g] / truth[g] for g in truth]
    inside = [estimate[g][1] <= truth[g] <= estimate[g][2] for g in truth.keys() & near.keys()]
    assert found.groups == len(truth)
    assert found.lost == len(truth.keys() - estimate.keys())
    assert found.invented == len(estimate.keys() - truth.keys())
    error = pytest.approx(sum(gaps.values()) / max(sum(truth.values()), 1)) if gaps else None
    assert found.relative_error == error
    expected = pytest.approx(sum(shares) / len(shares)) if shares else None
    assert found.mean_group_error == expected
    assert found.within_bounds == (pytest.approx(sum(inside) / len(inside)) if inside else None)


def aggregate(error: float | None, within: float | None) -> AggregateError:
    return AggregateError("n", "count", error, true_total=4, within_bounds=within)


def test_a_workload_averages_what_was_answered() -> None:
    first = QueryError("a", "SELECT 1", aggregates=(aggregate(0.2, 1), aggregate(0.4, None)))
    second = QueryError("b", "SELECT 2", aggregates=(aggregate(0.5, 0.5),))
    third = QueryError("c", "SELECT 3", refused="why")
    dates = QueryError("d", "SELECT 4", aggregates=(aggregate(None, None),))
    workload = Workload((first, second, third, dates))
    assert first.relative_error == pytest.approx(0.3)
    assert workload.mean_relative_error == pytest.approx(0.4)
    assert workload.within_bounds == pytest.approx(0.75)
    shown = workload.to_dict()
    assert shown["answered"] == 3
    assert shown["within_bounds"] == pytest.approx(0.75)
    one, two, three, _ = shown["queries"]
    assert (one["true_total"], two["true_total"]) == (None, 4)
    assert [len(query["aggregates"]) for query in (one, two, three)] == [2, 1, 0]
    assert two["aggregates"][0]["relative_error"] == 0.5
    assert three["refused"] == "why"
    assert Workload((third,)).mean_relative_error is None
    assert Workload((third,)).within_bounds is None


def test_the_json_of_a_query_keeps_its_keys() -> None:
    assert list(QueryError("a", "SELECT 1").to_dict()) == [
        "name",
        "sql",
        "groups",
        "lost",
        "invented",
        "relative_error",
        "mean_group_error",
        "within_bounds",
        "true_total",
        "estimated_total",
        "aggregates",
        "seconds_source",
        "seconds_release",
        "refused",
    ]


def test_several_aggregates_of_one_answer(session: Session) -> None:
    session.execute(
        "CREATE OR REPLACE TABLE truth AS SELECT 0 AS k, 5 AS n, DATE '2001-01-01' AS d"
    )
    session.execute(
        "CREATE OR REPLACE TABLE estimate AS SELECT 0 AS k, 4.0 AS n, 4 AS n_lower, 6 AS n_upper, "
        "DATE '2001-02-01' AS d, DATE '2000-01-01' AS d_lower, DATE '2001-12-31' AS d_upper"
    )
    asked = [AggregateColumn("records", "count", "n"), AggregateColumn("first", "min", "d")]
    tables = session.relation("truth"), session.relation("estimate")
    found = compare(session, ASKED, *tables, ["k"], asked)
    assert found.relative_error == pytest.approx(0.2)
    assert found.within_bounds == 1
    assert [(a.name, a.equal) for a in found.aggregates] == [("records", 0), ("first", 0)]


def test_names_of_the_answers_are_theirs(session: Session) -> None:
    for name in ("truth", "of_truth", "at_least", "gap", "o'x"):
        for table in ("truth", "estimate"):
            session.execute(
                f'CREATE OR REPLACE TABLE {table} AS SELECT 0 AS k, 5 AS "{name}", '
                f'5 AS "{name}_lower", 5 AS "{name}_upper"'
            )
        tables = Relation("truth", session.relation("truth").columns), Relation("estimate")
        found = compare(session, ASKED, *tables, ["k"], [AggregateColumn("n", "count", name)])
        assert (found.relative_error, found.within_bounds) == (0, 1)
