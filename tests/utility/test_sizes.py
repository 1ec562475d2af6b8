"""Non-uniform entropy, ambiguity and divergence of written tables, by hand.

That they are what the search says of every node, under every rule, is in `evaluation/test_metrics`.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import log

import duckdb
import pytest
from sqlglot import parse_one

from dbdeid.engine.duckdb.session import Session
from dbdeid.engine.relation import Relation
from dbdeid.utility.ambiguity import ambiguity
from dbdeid.utility.common.sizes import SizedClasses, sized_classes
from dbdeid.utility.kl_divergence import kl_divergence
from dbdeid.utility.nonuniform_entropy import nonuniform_entropy

COLUMN = "records"  # as a query of ours calls its own


@pytest.fixture(scope="module")
def session() -> Iterator[Session]:
    """Four records a, a, b, c: codes, what they are released as, and how large that is."""
    with duckdb.connect() as connection, Session.over(connection, None, read_only=False) as opened:
        for statement in (
            "CREATE TABLE source AS SELECT unnest([0, 0, 1, 2]) AS records",
            "CREATE TABLE meant AS SELECT unnest([0, 1, 2]) AS code, unnest(['x', 'x', NULL])"
            " AS label",
            "CREATE TABLE sizes AS SELECT unnest(['x', NULL, '*']) AS label,"
            " unnest([2.0, 1.0, 3.0]::DOUBLE[]) AS size",
            "CREATE TABLE released AS SELECT unnest(['x', 'x', 'x', NULL]) AS records",
            "CREATE TABLE dropped AS SELECT unnest(['x', 'x', 'x']) AS records",
            "CREATE TABLE kept AS SELECT unnest(['x', 'x', 'x', '*']) AS records",
        ):
            opened.execute(statement)
        yield opened


def classes(name: str) -> SizedClasses:
    return sized_classes(Relation(name), {COLUMN: Relation("sizes")}, domain=3)


@pytest.mark.parametrize(
    ("released", "bits"), [("released", 2.754888), ("dropped", 4.754888), ("kept", 4.754888)]
)
def test_bits_of_the_groups(session: Session, released: str, bits: float) -> None:
    """2·log2(3/2) + log2(3/1) bits; the record of c loses log2(4/1) = 2 more when it is gone."""
    found = nonuniform_entropy(
        session,
        Relation("source"),
        Relation(released),
        {COLUMN: Relation("meant")},
        {COLUMN: 3.0},
    )
    assert found == pytest.approx(bits / 6, abs=1e-6)


def test_nothing_to_lose(session: Session) -> None:
    session.execute("CREATE OR REPLACE TABLE same AS SELECT 0 AS records FROM range(3)")
    session.execute("CREATE OR REPLACE TABLE none AS SELECT 'x' AS records LIMIT 0")
    columns = {COLUMN: Relation("meant")}
    same, none = Relation("same"), Relation("none")
    assert nonuniform_entropy(session, same, none, columns, {COLUMN: 1.0}) == 0


@pytest.mark.parametrize(
    ("released", "mean"), [("released", 7 / 4), ("dropped", 9 / 4), ("kept", 9 / 4)]
)
def test_values_that_a_record_may_stand_for(session: Session, released: str, mean: float) -> None:
    assert ambiguity(session, classes(released), 4) == mean


@pytest.mark.parametrize(
    ("released", "nats"),
    [
        ("released", 2 * log(2) + 3 * log(2 / 3)),
        ("dropped", 2 * log(2) + 3 * log(2 / 3) + log(3)),
        ("kept", 2 * log(2) + 3 * log(2 / 3) + log(3)),
    ],
)
def test_divergence(session: Session, released: str, nats: float) -> None:
    tuples = parse_one("SELECT unnest([2, 1, 1]) AS records")
    found = kl_divergence(session, tuples, classes(released), 4)
    assert found == pytest.approx(nats / 4, abs=1e-12)


def test_a_release_of_nothing(session: Session) -> None:
    session.execute("CREATE OR REPLACE TABLE nothing AS SELECT 'x' AS records LIMIT 0")
    assert ambiguity(session, classes("nothing"), 4) == 3
    tuples = parse_one("SELECT unnest([2, 1, 1]) AS records")
    found = kl_divergence(session, tuples, classes("nothing"), 4)
    assert found == pytest.approx((2 * log(2) + 4 * log(3 / 4)) / 4)
