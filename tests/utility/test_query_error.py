"""The error of a query against a few lines of Python, and by hand."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import duckdb
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dbdeid.engine.relation import Relation
from dbdeid.engine.session import Session
from dbdeid.utility.query_error import Comparison, QueryError, Workload, compare

Counts = dict[tuple[Any, ...], float]


@pytest.fixture(scope="module")
def session() -> Iterator[Session]:
    with duckdb.connect() as connection, Session.over(connection, None, read_only=False) as opened:
        yield opened


def compared(session: Session, truth: Counts, estimate: Counts) -> Comparison:
    for name, counts in (("truth", truth), ("estimate", estimate)):
        session.execute(
            f'CREATE OR REPLACE TABLE {name} (a VARCHAR, "b c" INTEGER, records DOUBLE)'
        )
        for key, records in counts.items():
            session.execute_with(f"INSERT INTO {name} VALUES (?, ?, ?)", [*key, records])
    return compare(session, Relation("truth"), Relation("estimate"), ["a", "b c"])


def test_by_hand(session: Session) -> None:
    truth = {("x", 1): 10, ("y", None): 4, ("lost", 2): 2}
    estimate = {("x", 1): 8, ("y", None): 5, ("new", 3): 1.5}
    found = compared(session, truth, estimate)
    assert (found.groups, found.lost, found.invented) == (3, 1, 1)
    assert found.relative_error == pytest.approx((2 + 1 + 2 + 1.5) / 16)
    assert found.mean_group_error == pytest.approx((0.2 + 0.25 + 1) / 3)
    assert (found.true_total, found.estimated_total) == (16, 14.5)


def test_without_truth_the_divisor_is_one_record(session: Session) -> None:
    assert compared(session, {}, {("x", 1): 2.5}) == Comparison(0, 0, 1, 2.5, None, 0, 2.5)
    assert compared(session, {("x", 1): 0}, {("x", 1): 0.5}) == (
        Comparison(1, 0, 0, 0.5, None, 0, 0.5)
    )
    assert compared(session, {}, {}) == Comparison(0, 0, 0, 0, None, 0, 0)


KEYS = st.tuples(st.sampled_from(["x", "y", None]), st.sampled_from([1, 2, None]))


@settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    truth=st.dictionaries(KEYS, st.integers(1, 50)),
    estimate=st.dictionaries(KEYS, st.floats(0.01, 50)),
)
def test_equals_its_definition(session: Session, truth: Counts, estimate: Counts) -> None:
    found = compared(session, truth, estimate)
    gaps = {g: abs(estimate.get(g, 0) - truth.get(g, 0)) for g in truth.keys() | estimate.keys()}
    shares = [gaps[g] / truth[g] for g in truth]
    assert found.groups == len(truth)
    assert found.lost == len(truth.keys() - estimate.keys())
    assert found.invented == len(estimate.keys() - truth.keys())
    assert found.relative_error == pytest.approx(sum(gaps.values()) / max(sum(truth.values()), 1))
    expected = pytest.approx(sum(shares) / len(shares)) if shares else None
    assert found.mean_group_error == expected


def test_a_workload_averages_what_was_answered() -> None:
    first = QueryError("a", "SELECT 1", relative_error=0.2)
    second = QueryError("b", "SELECT 2", relative_error=0.4)
    third = QueryError("c", "SELECT 3", refused="why")
    workload = Workload((first, second, third))
    assert workload.mean_relative_error == pytest.approx(0.3)
    shown = workload.to_dict()
    assert shown["answered"] == 2
    assert shown["queries"][2]["refused"] == "why"
    assert Workload((third,)).mean_relative_error is None
