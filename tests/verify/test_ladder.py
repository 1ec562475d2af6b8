"""Hierarchies worked out twice, by what makes them and by the verifier, which share no code."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date, datetime
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tiers import examples

from dbdeid.data import dates, intervals
from dbdeid.data.hierarchy import Hierarchy, Order, as_rows, from_rows
from dbdeid.data.ordered_domain import OrderedDomain, with_intervals
from dbdeid.engine.duckdb.session import Session
from dbdeid.verify.hierarchies.levels import Ladder, Misfit, Rule, ladder


@pytest.fixture(scope="module")
def session() -> Iterator[Session]:
    with Session.open(None, read_only=False) as opened:
        yield opened


def same(made: Hierarchy, own: Ladder) -> None:
    rows = as_rows(made, with_null=False)
    columns = (rows[key] for key in ("level", "value", "label", "lower", "upper"))
    told = {
        (level, value): (rung.label, rung.lower, rung.upper)
        for level, rungs in enumerate(own.levels)
        for value, rung in rungs.items()
    }
    assert {
        (level, value): tuple(cells) for level, value, *cells in zip(*columns, strict=True)
    } == told


# From .001 to 1,000, in steps that tenths and thousandths of make.
numbers = st.integers(-(10**7), 10**7).map(lambda n: Fraction(n, 1000))
limits = st.none() | numbers


@settings(max_examples=examples(150), deadline=None)
@given(st.data())
def test_intervals(session: Session, data: st.DataObject) -> None:
    whole = data.draw(st.booleans())
    if whole:
        values = [str(n) for n in data.draw(st.sets(st.integers(-(2**70), 2**70), min_size=1))]
    else:
        floats = st.floats(allow_nan=False, allow_infinity=False)
        # nearer to 0 they are refused
        texts = floats.filter(lambda x: x == 0 or abs(x) > 1e-289).map(repr) | st.decimals(
            allow_nan=False, allow_infinity=False, places=3
        ).map(str)
        values = sorted(data.draw(st.sets(texts, min_size=1, max_size=20)))
    first = data.draw(st.integers(1, 10**6)) * Fraction(1, data.draw(st.sampled_from([1, 8, 1000])))
    widths = [first]
    for factor in data.draw(st.lists(st.integers(2, 7), max_size=3)):
        widths.append(widths[-1] * factor)
    low, high = data.draw(limits), data.draw(limits)
    if low is not None and high is not None and low >= high:
        low, high = None, high
    origin = data.draw(numbers)
    scale = intervals.Intervals(tuple(widths), origin, low, high)
    rule = Rule(
        *("x", "BIGINT" if whole else "DOUBLE", "integer" if whole else "float", True),
        "intervals",
        widths=widths,
        origin=origin,
        lower=low,
        upper=high,
    )
    same(intervals.build("x", values, scale, discrete=whole), ladder(session, rule, values))


days = st.dates(date(1, 1, 1), date(9998, 12, 31))
units = st.sampled_from([("week",)]) | st.lists(
    st.sampled_from(["month", "quarter", "year", "decade"]), min_size=1, unique=True
).map(lambda given: tuple(sorted(given, key=["month", "quarter", "year", "decade"].index)))


@settings(max_examples=examples(150), deadline=None)
@given(st.data())
def test_dates(session: Session, data: st.DataObject) -> None:
    timed = data.draw(st.booleans())
    if timed:
        moments = st.datetimes(datetime(1, 1, 8), datetime(9998, 12, 31))
        values = sorted({str(m) for m in data.draw(st.lists(moments, min_size=1, max_size=20))})
    else:
        values = sorted({d.isoformat() for d in data.draw(st.lists(days, min_size=1, max_size=20))})
    low, high = data.draw(st.none() | days), data.draw(st.none() | days)
    if low is not None and high is not None and low >= high:
        high = None
    calendar = dates.Calendar(data.draw(units), low, high)
    if calendar.units == ("week",):
        values = [value for value in values if value >= "0001-01-08"] or ["2024-01-01"]
    kind = "timestamp" if timed else "date"
    rule = Rule(
        *("x", kind.upper(), kind, True, "dates"), units=calendar.units, lower=low, upper=high
    )
    made = outcome(lambda: dates.build("x", values, calendar, timed=timed))
    own = outcome(lambda: ladder(session, rule, values))
    if isinstance(made, Hierarchy):
        assert isinstance(own, Ladder)
        same(made, own)


def outcome(work):  # type: ignore[no-untyped-def]
    """What a work gives, or that a day of it cannot be written."""
    try:
        return work()
    except OverflowError:
        return None


DOMAINS: dict[str, tuple[str, list[str]]] = {
    "range": ("INTEGER", [str(n) for n in range(95, 125)]),
    "code": ("VARCHAR", ["01", "0101", "0102", "0103", "02", "0201", "0202", "11", "1101"]),
    "listed": ("VARCHAR", ["none", "few", "some", "quite " * 12, "many", "all"]),
}


@settings(max_examples=examples(100), deadline=None)
@given(st.data())
def test_neighbours(session: Session, data: st.DataObject) -> None:
    style = data.draw(st.sampled_from(list(DOMAINS)))
    kind, values = DOMAINS[style]
    size = len(values)
    cuts = data.draw(st.sets(st.integers(1, size - 1), min_size=1))
    numbers = tuple(map(Fraction, values)) if style == "range" else ()
    order = Order(numbers, tuple(values)) if numbers else None
    whole = from_rows("x", "", [[v] for v in values], declared=True, order=order, fixed_top=True)
    ordered = OrderedDomain(tuple(values), style, "")  # type: ignore[arg-type]
    made = with_intervals(whole, ordered, np.array([0, *sorted(cuts)]))
    middle = made.levels[1]
    told = {v: middle.labels[g] for v, g in zip(values, middle.groups, strict=True)}
    rule = Rule(
        *("x", kind, "integer" if numbers else "text", bool(numbers), "neighbours"),
        domain=values,
        style=style,
    )
    own = ladder(session, rule, [], told)
    same(made, own)
    assert own.leaves == set(values)
    # what the book says of the labels is not believed: only which neighbours are together
    forged = {value: f"{label}!" for value, label in told.items()}
    same(made, ladder(session, rule, [], forged))
    same(whole, ladder(session, rule, []))


@pytest.mark.parametrize(
    ("rule", "values"),
    [
        (Rule("x", "DOUBLE", "float", True, "intervals", widths=[Fraction(1)]), ["nan"]),
        (Rule("x", "DOUBLE", "float", True, "intervals", widths=[Fraction(1)]), ["many"]),
        (Rule("x", "DATE", "date", True, "dates", units=["year"]), ["infinity"]),
        (Rule("x", "VARCHAR", "text", False, "rows", rows=[["a", "b"], ["c"]]), []),
        (Rule("x", "VARCHAR", "text", False, "rows", rows=[["a", "b"], ["a", "c"]]), []),
        (Rule("x", "VARCHAR", "text", False, "rows"), []),
        (Rule("x", "VARCHAR", "text", False, "groups", groups=[{"a": ["b"]}, {"c": ["d"]}]), []),
        (Rule("x", "INTEGER", "integer", True, "rows", rows=[["1", "a"], [" 1", "b"]]), []),
    ],
)
def test_what_does_not_fit_is_no_ladder(session: Session, rule: Rule, values: list[str]) -> None:
    with pytest.raises(Misfit):
        ladder(session, rule, values)


def test_leaves_are_written_as_their_column_writes_them(session: Session) -> None:
    rows = [["01", "few"], ["12.5", "few"], ["unknown", "none"], ["007", "many"], ["30", "many"]]
    own = ladder(session, Rule("x", "INTEGER", "integer", True, "rows", rows=rows), [])
    assert own.leaves == {"1", "12.5", "unknown", "7", "30"}
    told = {value: (r.label, r.lower, r.upper) for value, r in own.levels[1].items()}
    assert told["1"] == ("few", None, None)  # 12.5 is no whole number
    assert told["7"] == told["30"] == ("many", "7", "30")
    assert {r.label for r in own.levels[2].values()} == {"*"}
    decimals = [[str(Decimal(n) / 4), "all"] for n in (2, 30, 4)]
    own = ladder(session, Rule("x", "DOUBLE", "float", True, "rows", rows=decimals), [])
    assert {(r.lower, r.upper) for r in own.levels[-1].values()} == {("0.5", "7.5")}
