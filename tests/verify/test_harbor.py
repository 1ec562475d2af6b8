from __future__ import annotations

from dataclasses import replace
from typing import Any

import duckdb
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dbdeid.engine.duckdb.session import Session
from dbdeid.engine.relation import Column
from dbdeid.verify.base.declaration import Declared, Harbor, Promise
from dbdeid.verify.harbor import ages, safe_harbor_checks

COLUMNS = {"age": "age", "seen": "date", "zip": "zip", "city": "withheld"}
GOOD = [
    ("34", "2020", "021**", "*"),
    ("[35, 36)", "2020s", "000", "*"),
    (">= 90", "< 1935-01-01", "0****", None),
    ("*", "*", "*", "*"),
    (None, ">= 2020-01-01", "other", "*"),
]
DECLARED = Declared(
    release="public",
    columns=tuple(Column(name, "VARCHAR") for name in COLUMNS),
    quasi_identifiers=tuple(COLUMNS),
    bounds=(),
    withheld=(),
    models=(),
    transformation={},
    tops={},
    source_rows=5,
    suppression_limit=0.0,
    keeps_suppressed=False,
    harbor=Harbor(COLUMNS, ()),
)


def judged(rows: list[Any], declared: Declared = DECLARED, more: str = "") -> Promise:
    con = duckdb.connect()
    con.execute("CREATE TABLE public(age VARCHAR, seen VARCHAR, zip VARCHAR, city VARCHAR)")
    con.executemany("INSERT INTO public VALUES (?, ?, ?, ?)", rows)
    if more:
        con.execute(f"ALTER TABLE public ADD COLUMN {more}")
    with Session.over(con, None, read_only=True) as session:
        (promise,) = safe_harbor_checks(session, session.relation("public"), declared)
    return promise


def test_what_the_rule_allows() -> None:
    promise = judged(GOOD)
    assert (promise.model, promise.found, promise.holds) == ("safe_harbor", "kept", True)
    assert promise.declared == {"columns": COLUMNS, "accepted": []}


@pytest.mark.sampled(6)
@pytest.mark.parametrize(
    ("column", "value"),
    [
        ("age", "93"),
        ("age", "90"),
        ("age", "[90, 91)"),
        ("age", "90-99"),  # beside `>= 90`, a second category of them
        ("age", "old"),
        ("age", ""),
        ("seen", "2020-05"),
        ("seen", "2020-Q2"),
        ("seen", "2020-05-30"),
        ("seen", "2020-05-30 12:00:00"),
        ("seen", "20200530"),
        ("seen", "< 1935-06-01"),
        ("zip", "02139"),
        ("zip", "036**"),
        ("zip", "099**"),
        ("zip", "021"),
        ("zip", "02***"),
        ("city", "Boston"),
        ("city", "B*****"),
    ],
)
def test_a_value_that_tells_more_is_caught(column: str, value: str) -> None:
    row = [value if name == column else "*" for name in COLUMNS]
    promise = judged([*GOOD, row])
    assert not promise.holds
    assert promise.found[column].endswith("of its values tell too much")
    assert [*promise.found] == [column]


def test_a_date_is_caught_by_its_type_whatever_was_declared() -> None:
    assert judged(GOOD, more="died DATE").found == {"died": "its type is DATE"}
    assert judged(GOOD, more="died TIMESTAMP").found == {"died": "its type is TIMESTAMP"}
    accepted = replace(DECLARED, harbor=Harbor(COLUMNS, ("died",)))
    assert judged(GOOD, accepted, more="died DATE").holds
    companion = replace(DECLARED, bounds=("seen_lower",))
    assert judged(GOOD, companion, more="seen_lower DATE").holds


def test_years_of_who_is_over_89_are_caught() -> None:
    """`1930s` holds years that may be told; `1920s` and what is pooled earlier do not."""
    late = replace(DECLARED, harbor=Harbor(COLUMNS, (), {"seen": 1936}))
    rows = [("*", year, "*", "*") for year in ("1936", "1930s", "< 1936-01-01", ">= 2020-01-01")]
    assert judged(rows, late).holds
    for year in ("1935", "1920s", "< 1930-01-01"):
        promise = judged([*rows, ("*", year, "*", "*")], late)
        assert promise.found == {"seen": "1 of its values tell too much"}


def test_a_column_that_is_gone_is_not_kept() -> None:
    absent = replace(DECLARED, harbor=Harbor({"dob": "date"}, ()))
    assert judged(GOOD, absent).found == {"dob": "not there"}


def test_nothing_is_promised_without_the_preset() -> None:
    con = duckdb.connect()
    con.execute("CREATE TABLE public(age INTEGER)")
    with Session.over(con, None, read_only=True) as session:
        assert (
            safe_harbor_checks(session, session.relation("public"), replace(DECLARED, harbor=None))
            == []
        )


@settings(deadline=None)
@given(st.lists(st.integers(0, 120), min_size=1, unique=True))
def test_single_ages_are_told_below_90_only(years: list[int]) -> None:
    old = sum(age >= 90 for age in years)
    assert ages([str(age) for age in years]) == old
    assert ages([f"[{age}, {age + 1})" for age in years]) == old
    pooled = {str(age) if age < 90 else ">= 90" for age in years}
    assert ages([*pooled]) == 0


@pytest.mark.parametrize(
    ("labels", "wrong"),
    [
        (["[0-10)", "[80-90)", "[90-100)"], 0),
        (["[80-90)", "[90-100)", "[100-110)"], 2),
        (["[80, 90]"], 0),
        (["85-89", "90+"], 0),
        (["85-94", "95+"], 2),
        (["89.5"], 0),
        (["90.5"], 1),
        (["adult", "[0-10)"], 1),
        (["[2000-01-01, 2001-01-01)"], 1),
    ],
)
def test_bands_of_ages(labels: list[str], wrong: int) -> None:
    assert ages(labels) == wrong
