"""Losses recomputed from leaves and bounds are those that hierarchies are built with."""

from __future__ import annotations

from dataclasses import replace
from datetime import date
from fractions import Fraction
from typing import Any

import duckdb
import numpy as np
import pytest
from counterfeited import DECLARED

from dbdeid.data import dates, intervals
from dbdeid.data.hierarchy import Hierarchy, as_rows, from_rows
from dbdeid.engine.duckdb.session import Session
from dbdeid.verify.base.places import PLACES, contains, leaves_of_places, placed

NUMBERS = [str(n) for n in (3, 7, 12, 18, 19, 40, 41, 63, 99)]
DECIMALS = ["0.25", "1.5", "2.75", "9.5", "11"]
DAYS = ["2024-02-29", "2024-03-01", "2025-12-31", "2031-07-15"]
LARGE = [str(2**60 + n) for n in (0, 1, 5, 12, 64, 99)]
TINY = [f"-{10**27}.{n:010}" for n in (1, 4999999999, 5000000001, 9999999999)]
WORDS = [["a", "x", "m"], ["b", "x", "m"], ["c", "y", "m"], ["d", "z", "n"], ["e", "z", "n"]]


def scale(*widths: int, lower: int | None = None, upper: int | None = None) -> intervals.Intervals:
    limits = (None if n is None else Fraction(n) for n in (lower, upper))
    return intervals.Intervals(tuple(map(Fraction, widths)), Fraction(0), *limits)


HIERARCHIES = {
    "integers": intervals.build("age", NUMBERS, scale(5, 10, 20), discrete=True),
    "limits": intervals.build("age", NUMBERS, scale(5, 10, lower=10, upper=60), discrete=True),
    "wide limits": intervals.build("age", NUMBERS, scale(5, lower=0, upper=500), discrete=True),
    "one wide": intervals.build("age", NUMBERS, scale(200), discrete=True),
    "decimals": intervals.build("age", DECIMALS, scale(1, 2, 4), discrete=False),
    "units": intervals.build("age", NUMBERS, scale(1, 10), discrete=True),
    "past doubles": intervals.build("age", LARGE, scale(5, 10, 20), discrete=True),
    "past doubles below 0": intervals.build(
        "age", ["-" + n for n in LARGE], scale(5, 10, 20), discrete=True
    ),
    "decimals past doubles": intervals.build(
        "age", TINY, intervals.Intervals((Fraction(1, 2), Fraction(1))), discrete=False
    ),
    "across 0": intervals.build(
        "age", ["-0.75", "-0.25", "0.25"], intervals.Intervals((Fraction(1, 2),)), discrete=False
    ),
    "days": dates.build(
        "age", DAYS, dates.Calendar(("month", "quarter", "year", "decade")), timed=False
    ),
    "weeks until": dates.build(
        "age", DAYS, dates.Calendar(("week",), date(2024, 3, 1), date(2026, 1, 1)), timed=False
    ),
    "times": dates.build("age", DAYS, dates.Calendar(("month", "year")), timed=True),
    "words": from_rows("age", "file", WORDS, declared=True),
    "undeclared words": from_rows("age", "groups", WORDS, declared=False),
    "suppress": from_rows("age", "suppress", [["a"], ["b"]], declared=False, fixed_top=True),
    "one leaf": from_rows("age", "suppress", [["a"]], declared=False, fixed_top=True),
}


@pytest.mark.sampled(13)
@pytest.mark.parametrize("with_null", [False, True])
@pytest.mark.parametrize("name", HIERARCHIES)
def test_losses_are_those_of_the_hierarchy(name: str, with_null: bool) -> None:
    hierarchy = HIERARCHIES[name]
    declared = replace(
        DECLARED,
        quasi_identifiers=("age",),
        domains=("age",) if hierarchy.declared else (),
        tops={"age": hierarchy.height},
    )
    with duckdb.connect() as con, Session.over(con, None, read_only=False) as session:
        rows = listed(hierarchy, with_null=with_null)
        relation = session.upload("listed", rows)
        found = session.rows(
            f"SELECT level, value, shown, loss FROM temp.{placed(session, declared, relation).name}"
        )
    losses = {(level, value): loss for level, value, _, loss in found}
    assert len(found) == len(losses) == len(rows["level"])
    expected = zip(zip(rows["level"], rows["value"], strict=True), rows["loss"], strict=True)
    assert losses == {place: pytest.approx(loss, abs=1e-12) for place, loss in expected}


def listed(hierarchy: Hierarchy, *, with_null: bool) -> dict[str, Any]:
    """The hierarchy as `deid.hierarchies` keeps it."""
    rows: dict[str, Any] = dict(as_rows(hierarchy, with_null=with_null))
    rows["level"] = rows["level"].astype(np.int32)
    rows["loss"] = rows["loss"].astype(np.float64)
    return rows | {"hierarchy": ["age"] * len(rows["level"])}


def shown(hierarchy: Hierarchy, *, local: bool) -> tuple[set[str | None], set[tuple[str, str]]]:
    """What values read anywhere, and which lie inside which others."""
    declared = replace(
        DECLARED,
        quasi_identifiers=("age",),
        transformation={"age": 1},
        local=local,
    )
    with duckdb.connect() as con, Session.over(con, None, read_only=False) as session:
        rows = session.upload("listed", listed(hierarchy, with_null=True))
        places = placed(session, declared, rows)
        inside = contains(session, leaves_of_places(declared, places))
        values = {v for (v,) in session.rows(f"SELECT shown FROM temp.{PLACES}")}
        pairs = session.rows(f"SELECT whole, part FROM temp.{inside.name}")
    return values, set(pairs)


def test_labels_of_other_leaves_on_other_levels_are_told_apart() -> None:
    rows = [["a", "a", "p"], ["b", "a", "p"], ["c", "q", "q"], ["d", "r", "q"]]
    values, inside = shown(from_rows("age", "file", rows, declared=True), local=True)
    # `a` is a leaf, which stays as it is, and a group; `q` a group of one and of two; `p` is always
    # the same two
    assert values == {"a", "b", "c", "d", "a@1", "q@1", "r", "p", "q@2", "*", None}
    assert {("a@1", "p"), ("p", "a@1"), ("q@1", "c"), ("c", "q@1"), ("q@2", "r")} <= inside
    assert {("*", v) for v in values} <= inside
    assert (None, None) in inside
    assert ("q@1", "q@2") not in inside
    assert ("p", None) not in inside


def test_at_one_level_only_its_values_are_looked_at() -> None:
    rows = [["a", "x", "p"], ["b", "x", "p"], ["c", "y", "p"]]
    _, inside = shown(from_rows("age", "file", rows, declared=True), local=False)
    assert inside == {("x", "x"), ("y", "y"), (None, None)}
