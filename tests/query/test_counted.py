"""Equal records that are counted once give the same answers; see `rewrite/counted`."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import replace
from random import Random
from typing import Any

import judging
import pytest
from asking import bounded
from judging import Tally, opened, run

from dbdeid.engine.duckdb.session import Session
from dbdeid.engine.relation import Column, Relation
from dbdeid.errors import DataError
from dbdeid.query.desk import answer
from dbdeid.query.desk.answer import Desk
from dbdeid.query.desk.plan import Answer
from dbdeid.query.parse.answerable import Answerable
from dbdeid.query.rewrite import counted
from dbdeid.query.rewrite.counted import CountedRecords
from dbdeid.query.rewrite.measures import Measure, bucket

RELEASES = 40
QUERIES = 5


@pytest.fixture
def eager(monkeypatch: pytest.MonkeyPatch) -> None:
    """Equal records are counted, however few they are."""
    monkeypatch.setattr(counted, "LEAST_RECORDS", 0)
    monkeypatch.setattr(counted, "TIMES", 0.1)
    monkeypatch.setattr(counted, "TIMES_OF_ALL", 0.5)


def placed(target: Answerable) -> Answerable:
    """The release with all parts of its name."""
    return replace(target, release=replace(target.release, schema="main", catalog="memory"))


class Desks:
    """A desk for each release, which answers all questions to it."""

    def __init__(self) -> None:
        self.target: Answerable | None = None
        self.desk: Desk | None = None
        self.counted = 0

    def answer(self, session: Session, text: str, target: Answerable) -> Answer:
        if self.desk is None or self.target is not target:
            self.desk, self.target = Desk(session, target.dictionary, many=True), target
        plan = self.desk.plan(text, placed(target))
        if plan.question is None:
            raise DataError("it is run as it is written, on no counted records")
        self.counted += "deid_counted_" in plan.statement
        assert "deid_counted_" not in plan.sql
        return Answer(plan.columns, self.desk.rows(plan).rows, plan)


@pytest.mark.sampled(10)
@pytest.mark.parametrize("tenth", range(10))
@pytest.mark.usefixtures("eager")
def test_answers_of_counted_records_agree_with_brute_force(
    tenth: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    tally, desks = Tally(), Desks()
    monkeypatch.setattr(judging, "answer", desks.answer)
    with opened() as session:
        for seed in range(2000 + tenth, 2000 + RELEASES, 10):
            run(session, seed, QUERIES, 3, tally)
    assert tally.wrong == []
    assert desks.counted > RELEASES // 10
    assert tally.counts["bounds attained"] > 0
    assert tally.counts["worlds within bounds"] > 0


# -- means by ranges of values ---------------------------------------------------------------------

Value = float | None
Row = tuple[str, str, Value]
DICTIONARY = [
    ("age", "[0, 10)", 1, "0", "9", None),
    ("age", "[10, 20)", 1, "10", "19", None),
    ("age", "[20, 30)", 1, "20", "29", None),
]


def mean_bounds(certain: list[float], doubtful: list[float]) -> tuple[float, float] | None:
    """The least and the greatest mean of all certain and any of the doubtful, by trying."""
    means = []
    for order in (sorted(doubtful), sorted(doubtful, reverse=True)):
        for taken in range(len(order) + 1):
            some = [*certain, *order[:taken]]
            if some:
                means.append(math.fsum(some) / len(some))
    return (min(means), max(means)) if means else None


def drawn(random: Random) -> Iterator[Row]:
    middle = random.choice([0.0, 5.0, 1000.0, -1000.0])
    wide = random.choice([0.0, 1.0, 50.0, 1e6])
    for _ in range(random.randint(0, 60)):
        value: Value = round(random.gauss(middle, wide), random.choice([0, 1, 6]))
        if random.random() < 0.05:
            value = None
        yield random.choice(["[0, 10)", "[10, 20)", "[20, 30)"]), random.choice("ab"), value


@pytest.mark.sampled(25)
@pytest.mark.parametrize("many", [False, True])
@pytest.mark.parametrize("seed", range(12))
@pytest.mark.usefixtures("eager")
def test_bounds_of_a_mean_are_those_of_its_records(
    session: Session, make_release: Callable[..., Answerable], seed: int, *, many: bool
) -> None:
    random = Random(seed)
    rows = list(drawn(random))
    columns = {
        "age": ("INTEGER", "VARCHAR"),
        "place": ("VARCHAR", "VARCHAR"),
        "x": ("DOUBLE", "DOUBLE"),
    }
    target = make_release(columns, rows, DICTIONARY)
    for limit, by in ((5, False), (15, True), (15, False), (20, True), (25, True)):
        text = f"AVG(x) AS a FROM people WHERE age < {limit}"
        text = f"SELECT place, {text} GROUP BY place" if by else f"SELECT {text}"
        if many:
            desk = Desk(session, target.dictionary, many=True)
            found = list(desk.rows(desk.plan(text, placed(target))).rows)
        else:
            found = bounded(session, text, target)
        shown = {row[0] if by else "": row[-2:] for row in found}
        for group in "ab" if by else ("",):
            of = [(age, x) for age, place, x in rows if x is not None and group in ("", place)]
            ends = [(int(age[1:].split(",")[0]), x) for age, x in of]
            certain = [x for first, x in ends if first + 10 <= limit]
            doubtful = [x for first, x in ends if first < limit < first + 10]
            wanted = mean_bounds(certain, doubtful)
            if wanted is None:
                assert shown.get(group, (None, None)) == (None, None)
            else:
                assert shown[group] == pytest.approx(wanted, rel=1e-12, abs=1e-9)


def test_greater_values_are_in_greater_buckets(session: Session) -> None:
    values = [-math.inf, -1e300, -1.04, -1.0, -1e-300, 0.0, 5e-324, 1e-300, 1.0, 1.04, 2.0, 1e300]
    found = []
    for value in [*values, math.inf, math.nan]:
        number = counted.column("x")
        query = f"SELECT {bucket(number).sql('duckdb')} FROM (VALUES (?::DOUBLE)) AS t(x)"
        found.append(session.rows(query, [value])[0][0])
    assert all(isinstance(b, float) for b in found)
    assert found[:-1] == sorted(set(found[:-1]))
    assert math.isnan(found[-1])


# -- when records are counted ----------------------------------------------------------------------


@pytest.fixture
def shop(session: Session) -> Answerable:
    """A thousand records: few combinations of a and b, many of c; d is compared in its own way."""
    session.execute(
        "CREATE OR REPLACE TABLE shop (a VARCHAR, b INTEGER, c INTEGER, d VARCHAR, e DOUBLE)"
    )
    session.execute(
        "INSERT INTO shop SELECT 'A' || i % 3, i % 5, i, 'D' || i % 2, i % 2 FROM range(1000) t(i)"
    )
    kinds = {"a": "VARCHAR", "b": "INTEGER", "c": "INTEGER", "d": "VARCHAR", "e": "DOUBLE"}
    columns = tuple(Column(name, kind) for name, kind in kinds.items())
    release = Relation("shop", columns, "main", "memory")
    return Answerable(("shop",), columns, ("a",), release, None)


C = Measure(counted.column("c"), "sums")


def test_records_are_counted_where_it_pays(
    session: Session, shop: Answerable, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert CountedRecords(session, shop).of(["b"], [C]) is None  # they are too few
    monkeypatch.setattr(counted, "LEAST_RECORDS", 1000)
    records = CountedRecords(session, shop)
    found = records.of(["B"], [C])
    assert found is not None
    assert (found.columns, found.rows) == ({"a", "b"}, 15)  # quasi-identifiers cost little
    total = f"SELECT SUM(records), SUM(plus_0), SUM(minus_0) FROM temp.{found.table.name}"
    assert session.rows(total) == [(1000, 499500.0, 0.0)]
    assert records.of(["a"], []) is found
    assert records.of(["c"], []) is None  # nearly all records are apart
    assert records.of(["e"], []) is None  # 0.0 and -0.0 are equal
    assert records.of(["nobody"], []) is None
    by_range = records.of(["a"], [C], bucket(counted.column("c")))
    assert by_range is None  # of so few records there are too many ranges
    records.clear()
    assert session.exists(found.table.name, catalog="temp") is None
    assert records.of(["a"], []) is not found


def test_text_that_is_compared_in_its_own_way_is_not_counted(
    session: Session, shop: Answerable, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(counted, "LEAST_RECORDS", 0)
    session.execute("CREATE OR REPLACE TABLE own (a VARCHAR COLLATE NOCASE)")
    session.execute("INSERT INTO own SELECT 'A' FROM range(1000)")
    own = replace(shop, release=Relation("own", shop.columns[:1], "main", "memory"))
    assert CountedRecords(session, own).of(["a"], []) is None
    session.execute("CREATE OR REPLACE VIEW seen AS FROM own")
    seen = replace(shop, release=Relation("seen", shop.columns[:1], "main", "memory"))
    assert CountedRecords(session, seen).of(["a"], []) is None


def test_tables_of_counted_records_do_not_fill_the_memory(
    session: Session, shop: Answerable, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(counted, "LEAST_RECORDS", 0)
    monkeypatch.setattr(counted, "MOST_ROWS_OF_ALL", 19)
    records = CountedRecords(session, shop)
    assert records.of(["b"], [C]) is not None
    assert records.of(["a"], [Measure(counted.column("c"), "ends")]) is not None
    assert records.of(["b"], [Measure(counted.column("c"), "ends")]) is None


def test_one_question_alone_counts_nothing(
    session: Session, shop: Answerable, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(counted, "LEAST_RECORDS", 0)
    text = "SELECT a, SUM(c) AS s FROM shop GROUP BY a ORDER BY a"
    alone, many = Desk(session, None), Desk(session, None, many=True)
    plans = [desk.plan(text, shop) for desk in (alone, many)]
    assert ["deid_counted" in plan.statement for plan in plans] == [False, True]
    assert alone.rows(plans[0]) == many.rows(plans[1])
    assert answer.answer(session, text, shop).sql == plans[0].sql == plans[1].sql
    many.clear()
    with pytest.raises(Exception, match="deid_counted"):
        many.rows(plans[1])


def test_what_fails_on_other_records_does_not_fail_a_question(
    session: Session, shop: Answerable, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(counted, "LEAST_RECORDS", 0)
    text = "SELECT SUM(CAST(d AS INTEGER)) AS s FROM shop WHERE d <> 'D0' AND d <> 'D1'"
    desk = Desk(session, None, many=True)
    plan = desk.plan(text, shop)
    rows: list[tuple[Any, ...]] = [(None, None, None)]
    assert list(desk.rows(plan).rows) == rows
