"""The scalar macros that make values coarser: bins, labels, prefixes, top codes, overlaps."""

from __future__ import annotations

from datetime import date, timedelta
from decimal import Decimal
from fractions import Fraction
from math import floor
from typing import Any

import duckdb
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tiers import examples

from dbdeid.data import dates, intervals
from dbdeid.data.dates import Calendar
from dbdeid.data.intervals import Intervals, decimal
from dbdeid.engine.duckdb import macros

Con = duckdb.DuckDBPyConnection


@pytest.fixture(scope="module")
def con() -> Any:
    with duckdb.connect() as connection:
        macros.install(connection)
        yield connection


def value(con: Con, expression: str, *arguments: object) -> Any:
    ((found,),) = con.execute(f"SELECT {expression}", list(arguments)).fetchall()
    return found


@pytest.mark.parametrize(
    ("call", "expected"),
    [
        ("deid.bin(23, 5)", 20),
        ("deid.bin(20, 5)", 20),
        ("deid.bin(-1, 5)", -5),
        ("deid.bin(-5, 5)", -5),
        ("deid.bin(12, 5, 2)", 12),
        ("deid.bin(11, 5, origin := 2)", 7),
        ("deid.bin(CAST(250 AS UTINYINT), 100, 7)", 207),
        ("deid.bin(CAST(3 AS UTINYINT), 100, 7)", -93),
        ("deid.bin(23.7, 2.5)", Decimal("22.5")),
        ("deid.bin(CAST(23.7 AS DOUBLE), 5)", 20.0),
        ("deid.bin(CAST(-1e-20 AS DOUBLE), 5)", -5.0),
        ("deid.bin(NULL, 5)", None),
        ("deid.interval_label(23, 5)", "[20, 25)"),
        ("deid.interval_label(100, 100)", "[100, 200)"),
        ("deid.interval_label(23.7, 2.5)", "[22.5, 25)"),
        ("deid.interval_label(CAST(0.3 AS DOUBLE), 0.1)", "[0.3, 0.4)"),
        ("deid.interval_label(-0.05, 0.1)", "[-0.1, 0)"),
        ("deid.interval_label(7, 5, 2)", "[7, 12)"),
        ("deid.interval_label(9, 5, lower := 10, upper := 60)", "< 10"),
        ("deid.interval_label(10, 5, lower := 10, upper := 60)", "[10, 15)"),
        ("deid.interval_label(60, 5, lower := 10, upper := 60)", ">= 60"),
        ("deid.interval_label(16, 10, lower := 15)", "[15, 20)"),
        ("deid.interval_label(63, 10, upper := 65)", "[60, 65)"),
        ("deid.interval_label(63.0, 10, upper := 62.5)", ">= 62.5"),
        ("deid.interval_label(CAST(29.9999999999 AS DOUBLE), 5)", "[30, 35)"),
        (
            "deid.interval_label(CAST(-9223372036854775808 AS BIGINT), 10)",
            "[-9223372036854775810, -9223372036854775800)",
        ),
        ("deid.interval_label(NULL, 5)", None),
        ("deid.interval_label(DATE '2021-01-03', 'week')", "2020-W53"),
        ("deid.interval_label(TIMESTAMP '2019-07-31 23:59:59', 'month')", "2019-07"),
        ("deid.interval_label('2019-07-31', 'quarter')", "2019-Q3"),
        ("deid.interval_label(DATE '0009-01-01', 'year')", "0009"),
        ("deid.interval_label(DATE '2019-07-31', 'decade')", "2010s"),
        ("deid.interval_label(DATE '1999-12-31', 'year', lower := '2000-01-01')", "< 2000-01-01"),
        (
            "deid.interval_label(DATE '2020-01-01', 'year', upper := DATE '2020-01-01')",
            ">= 2020-01-01",
        ),
        ("deid.interval_label(CAST(NULL AS DATE), 'month')", None),
        ("deid.keep_prefix('13053', 3)", "130**"),
        ("deid.keep_prefix('13', 3)", "13"),
        ("deid.keep_prefix('', 3)", ""),
        ("deid.keep_prefix(13053, 0)", "*****"),
        ("deid.keep_prefix('äöü', 1)", "ä**"),
        ("deid.keep_prefix(NULL, 1)", None),
        ("deid.topcode(95, 90)", 90),
        ("deid.topcode(90, 90)", 90),
        ("deid.topcode(-5, 90)", -5),
        ("deid.topcode(NULL, 90)", None),
        ("deid.topcode(CAST('NaN' AS DOUBLE), 90)", 90),
        ("""deid.topcode(95, "limit" := 90)""", 90),
        ("deid.overlap('[20, 25)', 22, 23)", 0.2),
        ("deid.overlap('[20, 25)', NULL, 23)", 0.6),
        ("deid.overlap('[20, 25)', 20, 25)", 1),
        ("deid.overlap('[20, 25)', 25, 30)", 0),
        ("deid.overlap('[0, 5)@1', 0, 1)", 0.2),
        ("deid.overlap('[-1.5, 1e1)', -1.5, 4.25)", 0.5),
        ("deid.overlap('< 10', NULL, 10)", 1),
        ("deid.overlap('< 10', NULL, 9)", None),
        ("deid.overlap('< 10', 10, 11)", 0),
        ("deid.overlap('>= 10', 10, NULL)", 1),
        ("deid.overlap('>= 10', 11, NULL)", None),
        ("deid.overlap('>= 10', 1, 10)", 0),
        ("deid.overlap('5', 5, 6)", 1),
        ("deid.overlap(5, 4, 5)", 0),
        ("deid.overlap('*', 1, 2)", None),
        ("deid.overlap('*', NULL, NULL)", 1),
        ("deid.overlap('*', 2, 2)", 0),
        ("deid.overlap('[5, 5)', 1, 9)", None),
        ("deid.overlap(NULL, 1, 2)", None),
        ("deid.rce([4, 1])", 0.375),
        ("deid.rce([2, 1], p := 0.5)", 1 - 0.75 * 0.75),
        ("""deid.rce([2, 1], 0.5, "real" := false)""", 0.25 * 0.75),
        ("deid.rce([1], 0, false)", 0.0),
        ("deid.rce([])", None),
        ("deid.rce(NULL)", None),
        ("deid.rce([1], NULL)", None),
        ("deid.rce([1], 1, NULL)", None),
    ],
)
def test_values(con: Con, call: str, expected: object) -> None:
    found = value(con, call)
    assert found == expected
    assert type(found) is type(expected) or isinstance(found, float)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        ("deid.bin(5, 0)", "width must be above 0"),
        ("deid.bin(5, -1)", "width must be above 0"),
        ("deid.bin(5, NULL)", "width must be above 0"),
        ("deid.bin(5, 5, NULL)", "width and origin finite, neither of them NULL"),
        ("deid.interval_label(5, 0)", "width must be above 0"),
        ("deid.interval_label(5, NULL)", "width must be above 0"),
        ("deid.interval_label(NULL, 0)", "width must be above 0"),
        ("deid.interval_label('x', 5)", "a value is not a finite number"),
        ("deid.interval_label(CAST('inf' AS DOUBLE), 5)", "a value is not a finite number"),
        ("deid.interval_label(5, 5, lower := 'x')", "lower or upper is not a number"),
        ("deid.interval_label(5, 5, lower := 9, upper := 9)", "lower must be below upper"),
        ("deid.interval_label(5, 'days')", "of dates week, month, quarter, year or decade"),
        ("deid.interval_label(DATE '2019-07-31', 5)", "of dates, width is week, month"),
        ("deid.interval_label(5, 'month')", "a value is not a date of the years 1 to 9998"),
        ("deid.interval_label(DATE '9999-12-31', 'year')", "not a date of the years 1 to 9998"),
        ("deid.interval_label(CAST('-infinity' AS DATE), 'year')", "not a date of the years"),
        ("deid.interval_label('2019-02-30', 'year')", "not a date of the years"),
        ("deid.interval_label(DATE '2019-07-31', 'year', 1)", "origin is for numbers"),
        ("deid.interval_label(DATE '2019-07-31', 'year', NULL)", "origin is for numbers"),
        ("deid.interval_label(DATE '2019-07-31', 'year', lower := 5)", "upper is not a date"),
        (
            "deid.interval_label(DATE '2019-07-31', 'year', lower := DATE '2020-01-01', "
            "upper := DATE '2020-01-01')",
            "lower must be below upper",
        ),
        ("deid.bin(5, CAST('nan' AS DOUBLE))", "width and origin finite"),
        ("deid.bin(5, CAST('inf' AS DOUBLE))", "width and origin finite"),
        ("deid.bin(5, 5, CAST('nan' AS DOUBLE))", "width and origin finite"),
        ("deid.keep_prefix('abc', -1)", "n must be a whole number, 0 or more"),
        ("deid.keep_prefix('abc', NULL)", "n must be a whole number, 0 or more"),
        ("deid.keep_prefix('abc', 1.5)", "n must be a whole number, 0 or more"),
        ("deid.keep_prefix('abc', 'x')", "n must be a whole number, 0 or more"),
        ("deid.topcode(5, NULL)", "the limit is NULL or NaN"),
        ("deid.topcode(95, CAST('nan' AS DOUBLE))", "the limit is NULL or NaN"),
        ("deid.topcode(95, CAST('nan' AS FLOAT))", "the limit is NULL or NaN"),
        ("deid.overlap('[0, 4)', 'x', 2)", "lower and upper must be numbers, or NULL"),
        ("deid.overlap('[0, 4)', 1, CAST('nan' AS DOUBLE))", "lower and upper must be numbers"),
        ("deid.emd(1, [1])", "p and q must be lists of numbers, such as"),
        ("deid.emd([1], 'x')", "p and q must be lists of numbers, such as"),
        ("deid.entropy_l(2)", "counts must be a list of numbers, such as"),
        ("deid.rce(2)", "leaves must be a list of numbers, such as"),
        ("deid.rce([4], 'x')", "p must be from 0 to 1"),
        ("deid.rce([4, 0.5])", "leaves must be finite, 1 or more"),
        ("deid.rce([4, NULL])", "leaves must be finite, 1 or more"),
        ("deid.rce([CAST('nan' AS DOUBLE)])", "leaves must be finite, 1 or more"),
        ("deid.rce([4], 1.1)", "p must be from 0 to 1"),
        ("deid.rce([4], CAST('nan' AS DOUBLE))", "p must be from 0 to 1"),
    ],
)
def test_wrong_arguments_are_errors(con: Con, call: str, message: str) -> None:
    with pytest.raises(duckdb.Error, match=f"deid.*{message}"):
        value(con, call)


@pytest.mark.full
@settings(max_examples=examples(100), deadline=None)
@given(
    number=st.decimals(-1000, 1000, places=2),
    width=st.decimals(Decimal("0.01"), 50, places=2),
    origin=st.integers(-20, 20),
)
def test_bins_and_labels_agree_with_exact_fractions(
    con: Con, number: Decimal, width: Decimal, origin: int
) -> None:
    steps = floor((Fraction(number) - origin) / Fraction(width))
    start = origin + steps * Fraction(width)
    label = f"[{decimal(start)}, {decimal(start + Fraction(width))})"
    texts = f"CAST({number} AS DECIMAL(12, 2)), CAST({width} AS DECIMAL(8, 2)), {origin}"
    assert Fraction(value(con, f"deid.bin({texts})")) == start
    assert value(con, f"deid.interval_label({texts})") == label
    doubles = f"CAST({number} AS DOUBLE), CAST({width} AS DOUBLE), {origin}"
    assert value(con, f"deid.interval_label({doubles})") == label


NUMBERS = {
    "BIGINT": st.integers(-(10**17), 10**17) | st.integers(-200, 200),
    "DOUBLE": st.floats(-1e8, 1e8) | st.integers(-400, 400).map(lambda n: n / 4),
    "DECIMAL(18, 3)": st.decimals(-(10**9), 10**9, places=3) | st.decimals(-99, 99, places=3),
    "VARCHAR": st.decimals(-999, 999, places=2),
}
TENTHS = st.decimals(-300, 300, places=1) | st.integers(-300, 300).map(Decimal)


@pytest.mark.full
@settings(max_examples=examples(300), deadline=None)
@given(
    kind=st.sampled_from(sorted(NUMBERS)),
    width=st.sampled_from([Decimal(text) for text in ("1", "5", "10", "1000000", "2.5", "0.1")]),
    origin=TENTHS,
    limits=st.tuples(st.none() | TENTHS, st.none() | TENTHS),
    data=st.data(),
)
def test_a_number_has_the_label_that_a_run_gives_it(
    con: Con,
    kind: str,
    width: Decimal,
    origin: Decimal,
    limits: tuple[Decimal | None, Decimal | None],
    data: Any,
) -> None:
    lower, upper = limits
    if lower is not None and upper is not None:
        lower, upper = min(lower, upper), max(lower, upper) + 1
    number = data.draw(NUMBERS[kind])
    given = f"CAST('{number}' AS {kind})"
    # a run takes a number as DuckDB writes it; the macro, its first nine decimals
    ((written,),) = con.execute(
        f"SELECT CAST(CAST(CAST({given} AS VARCHAR) AS DECIMAL(38, 9)) AS VARCHAR)"
    ).fetchall()
    scale = Intervals(
        (Fraction(width),),
        Fraction(origin),
        None if lower is None else Fraction(lower),
        None if upper is None else Fraction(upper),
    )
    level = intervals.build("x", [written], scale, discrete=False).levels[1]
    told = value(
        con,
        f"deid.interval_label({given}, CAST('{width}' AS DECIMAL(9, 1)), "
        "CAST(? AS DECIMAL(9, 1)), CAST(? AS DECIMAL(9, 1)), CAST(? AS DECIMAL(9, 1)))",
        origin,
        lower,
        upper,
    )
    assert [told] == list(level.labels)


DAYS = st.dates(date(1, 1, 1), date(9998, 12, 31)) | st.dates(date(1999, 1, 1), date(2001, 1, 1))


@pytest.mark.full
@settings(max_examples=examples(200), deadline=None)
@given(
    day=DAYS,
    unit=st.sampled_from(dates.UNITS),
    limits=st.tuples(st.none() | DAYS, st.none() | DAYS),
)
def test_a_date_has_the_label_that_a_run_gives_it(
    con: Con, day: date, unit: str, limits: tuple[date | None, date | None]
) -> None:
    lower, upper = limits
    if lower is not None and upper is not None:
        lower, upper = min(lower, upper), max(lower, upper) + timedelta(days=1)
    calendar = Calendar((unit,), lower, upper)
    level = dates.build("x", [day.isoformat()], calendar, timed=False).levels[1]
    for kind in ("DATE", "TIMESTAMP", "VARCHAR"):
        call = f"deid.interval_label(CAST('{day}' AS {kind}), '{unit}', lower := ?, upper := ?)"
        assert [value(con, call, lower, upper)] == list(level.labels)


def test_width_and_limits_may_come_from_columns(con: Con) -> None:
    query = """SELECT deid.interval_label(v, w, o, l, u) FROM (VALUES
      (7, '5', 0, NULL, NULL), (7, '2.5', 1, NULL, NULL), (7, '5', 0, 8, 9), (7, '4', 0, 6, 7),
      (NULL, '5', 0, NULL, NULL), (7, '5', 0, 6, NULL)) AS x(v, w, o, l, u)"""
    found = [label for (label,) in con.execute(query).fetchall()]
    assert found == ["[5, 10)", "[6, 8.5)", "< 8", ">= 7", None, "[6, 10)"]


@settings(max_examples=examples(100), deadline=None)
@given(text=st.text(st.characters(codec="utf-8", exclude_characters="\0")), n=st.integers(0, 8))
def test_a_prefix_keeps_length_and_start(con: Con, text: str, n: int) -> None:
    assert value(con, "deid.keep_prefix(?, ?)", text, n) == text[:n] + "*" * (len(text) - n)


# Names that the macros give to things inside: a caller's column or table of that name is another.
HOSTILE = [
    "value",
    "width",
    "origin",
    "lower",
    "upper",
    "limit",
    "n",
    "label",
    "given",
    "found",
    "asked",
    "text",
    "first",
    "last",
    "beyond",
    "is_null",
    "is_point",
    "has_lower",
    "has_upper",
    "ends",
    "hierarchy",
    "level",
]


@pytest.mark.sampled(2)
@pytest.mark.parametrize("name", HOSTILE)
def test_columns_and_tables_of_the_caller_are_not_captured(con: Con, name: str) -> None:
    others = ", ".join(f'-1 AS "{other}"' for other in HOSTILE if other != name)
    query = f"""SELECT deid.bin("{name}", 5), deid.interval_label("{name}", 5),
      deid.interval_label(x."{name}", 5, lower := x."{name}" + 1), deid.keep_prefix("{name}", 1),
      deid.topcode("{name}", 20), deid.overlap('[0, 40)', 3, "{name}"),
      deid.overlap(x."{name}", 23, 24)
      FROM (SELECT 23 AS "{name}", {others}) AS x"""
    expected = (20, "[20, 25)", "< 24", "2*", 20, 0.5, 1)
    assert con.execute(query).fetchall() == [expected]
    again = query.replace("x.", f'"{name}".').replace("AS x", f'AS "{name}"')
    assert con.execute(again).fetchall() == [expected]
