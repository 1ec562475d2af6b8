"""Random range queries: what they count, and that their draws are the seed's."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date, datetime, timedelta
from decimal import Decimal
from math import prod
from statistics import mean
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sqlglot import exp, parse_one

from dbdeid.engine.duckdb.session import Session
from dbdeid.engine.expressions import identifier
from dbdeid.engine.sqltext import sql
from dbdeid.query.workload.ranges import (
    Domain,
    ListedDomain,
    Period,
    RangeQuery,
    Span,
    range_queries,
)

SOURCE = exp.table_(identifier("people"))
ODD = "a \"b\" 'c'; --\u2003d"


def drawn(domains: Sequence[Domain], **more: Any) -> list[RangeQuery]:
    asked: dict[str, Any] = {"count": 20, "dimensions": 1, "selectivity": 0.1, "seed": 7, **more}
    return list(range_queries(SOURCE, domains, **asked))


def texts(domains: Sequence[Domain], **more: Any) -> list[str]:
    return [sql(one.query) for one in drawn(domains, **more)]


FIVE = [
    ListedDomain("age", range(100), ordered=True),
    ListedDomain("job", [f"job {i}" for i in range(20)], ordered=False),
    ListedDomain("sex", [False, True], ordered=False),
    Span("weight", Decimal("-10"), Decimal("90.5")),
    Period("at", datetime(2001, 1, 1), datetime(2003, 1, 1)),
]


def test_the_same_seed_draws_the_same_queries() -> None:
    first = texts(FIVE, dimensions=3)
    assert first == texts(FIVE, dimensions=3)
    assert first != texts(FIVE, dimensions=3, seed=8)
    assert len(set(first)) > 10


def test_a_longer_workload_begins_with_the_shorter_one() -> None:
    assert texts(FIVE, count=30)[:10] == texts(FIVE, count=10)


def test_every_column_is_drawn_and_none_twice() -> None:
    seen: set[str] = set()
    for one in drawn(FIVE, dimensions=3, count=40):
        names = [c.name for c in one.query.find_all(exp.Column)]
        assert len(names) == len(set(names)) == 3
        seen |= set(names)
    assert seen == {domain.column for domain in FIVE}


@pytest.mark.full
@settings(deadline=None)
@given(
    sizes=st.lists(st.integers(2, 400), min_size=1, max_size=5),
    wanted=st.floats(0.001, 1),
    seed=st.integers(0, 1000),
)
def test_parts_are_whole_values_and_their_product_is_told(
    sizes: list[int], wanted: float, seed: int
) -> None:
    domains = [ListedDomain(f"c{i}", range(n), ordered=i % 2 == 0) for i, n in enumerate(sizes)]
    (one,) = drawn(domains, count=1, dimensions=len(sizes), selectivity=wanted, seed=seed)
    parts: dict[int, float] = {}
    for condition in one.query.find_all(exp.Between, exp.In):
        size = sizes[place := int(condition.this.name[1:])]
        if isinstance(condition, exp.In):
            values = [int(value.name) for value in condition.expressions]
            assert values == sorted(set(values))
        else:
            low, high = (int(condition.args[end].name) for end in ("low", "high"))
            values = list(range(low, high + 1))
        assert values
        assert 0 <= values[0] <= values[-1] < size
        parts[place] = len(values) / size
    assert len(parts) == len(sizes)
    assert one.selectivity == pytest.approx(prod(parts.values()))
    # the largest domain is settled last, and off by at most half a value
    last = max(range(len(sizes)), key=lambda i: (sizes[i], i))
    others = prod(part for i, part in parts.items() if i != last)
    off = abs(parts[last] - min(wanted / others, 1))
    assert off <= 0.5 / sizes[last] + 1e-9 or parts[last] == 1 / sizes[last]


def test_domains_of_more_values_make_up_for_those_of_few() -> None:
    domains = [
        ListedDomain("age", range(1000), ordered=True),
        ListedDomain("sex", [0, 1], ordered=False),
    ]
    for one in drawn(domains, dimensions=2, selectivity=0.05):
        assert one.selectivity == pytest.approx(0.05)


@pytest.mark.full
@pytest.mark.parametrize("dimensions", [1, 2, 4])
def test_even_data_is_counted_at_the_selectivity(session: Session, dimensions: int) -> None:
    session.execute(
        """CREATE OR REPLACE TABLE people AS SELECT
        CAST(hash(i) % 100 AS INTEGER) AS age,
        'job ' || hash(i + 1e9) % 20 AS job,
        hash(i + 2e9) % 2 = 0 AS sex,
        -10 + 100.5 * (hash(i + 3e9) % 1000000) / 1000000 AS weight,
        TIMESTAMP '2001-01-01' + INTERVAL (hash(i + 4e9) % 63072000) SECOND AS at
        FROM range(50000) t(i)"""
    )
    made = drawn(FIVE, dimensions=dimensions, selectivity=0.2, count=60)
    shares = [session.row(one.query)[0] / 50_000 for one in made]
    for share, one in zip(shares, made, strict=True):
        assert share == pytest.approx(one.selectivity, abs=0.01)
    assert mean(one.selectivity for one in made) == pytest.approx(0.2, abs=0.05)


def test_a_whole_domain_is_counted_whole(session: Session) -> None:
    session.execute("CREATE OR REPLACE TABLE people AS SELECT i AS age FROM range(100) t(i)")
    domains = [ListedDomain("age", range(100), ordered=True)]
    for one in drawn(domains, selectivity=1):
        assert (session.row(one.query)[0], one.selectivity) == (100, 1)


def test_ranges_are_anywhere_in_their_domain() -> None:
    domains = [ListedDomain("age", range(10), ordered=True)]
    found = [one.query.find(exp.Between) for one in drawn(domains, count=200)]
    lows = {between.args["low"].name for between in found if between is not None}
    assert lows == {str(i) for i in range(10)}


@pytest.mark.full
def test_odd_names_and_values_are_quoted(session: Session) -> None:
    days = [date(2001, 1, 30) + timedelta(days=i) for i in range(5)]
    domains = [
        ListedDomain(ODD, [ODD, "O'Hara", "\n", ""], ordered=False),
        ListedDomain("select", days, ordered=True),
        ListedDomain("n", range(-9, -4), ordered=True),
    ]
    session.execute(
        'CREATE OR REPLACE TABLE people ("{}" VARCHAR, "select" DATE, n INT)'.format(
            ODD.replace('"', '""')
        )
    )
    for one in domains[0].values:
        session.execute_with("INSERT INTO people VALUES (?, '2001-02-01', -7)", [one])
    for selectivity, count in ((1, 4), (0.5, 2)):
        made = range_queries(
            SOURCE, domains[:1], count=5, dimensions=1, selectivity=selectivity, seed=1
        )
        for one in made:
            read = parse_one(sql(one.query), dialect="duckdb")
            assert session.row(sql(one.query)) == session.row(read) == (count,)
    for one in drawn(domains, dimensions=3, selectivity=1):
        assert session.row(sql(one.query)) == (4,)


@pytest.mark.parametrize(
    ("lower", "upper"),
    [("-1", "1"), ("0", "1e-300"), ("-1e300", "1e300"), ("1000000", "1000000.5"), ("0.1", "0.3")],
)
def test_spans_of_any_extent(session: Session, lower: str, upper: str) -> None:
    low, high = Decimal(lower), Decimal(upper)
    session.execute(
        f"CREATE OR REPLACE TABLE people AS SELECT {lower}::DOUBLE + "
        f"({upper}::DOUBLE / 1000 - {lower}::DOUBLE / 1000) * i AS x "
        "FROM range(1000) t(i)"
    )
    for one in drawn([Span("x", low, high)], selectivity=0.25):
        between = one.query.find(exp.Between)
        assert between is not None
        ends = [Decimal(between.args[end].sql("duckdb")) for end in ("low", "high")]
        assert low - (high - low) / 1000 <= ends[0] < ends[1] <= high + (high - low) / 1000
        assert session.row(sql(one.query))[0] == pytest.approx(250, abs=3)
