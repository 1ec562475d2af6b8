"""Dates finer than a month however they are written, and numbers that are the time between two."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from dbdeid.engine.expressions import (
    Expr,
    aliased,
    cast,
    coalesce,
    column,
    count_where,
    function,
    list_of,
    literal,
    select,
)
from dbdeid.engine.relation import NUMBERS, Relation
from dbdeid.engine.session import Session
from dbdeid.profiling import column_names as names
from dbdeid.profiling.detect import (
    DAYS_OF_A_YEAR,
    FEW_RECORDS,
    FEW_VALUES,
    MOST,
    SURE,
    DetectedColumn,
)
from dbdeid.profiling.possible_identifiers import FEW_WORDS, Look, counted_as_days, of_each

LOOKED_AT = 5000  # records that the time between dates is computed of
ALL_BY_CHANCE = 0.8  # of dealt numbers fit, too: they fit any dates
EXCEL = (20_000, 55_000)  # days since 1900 of the years 1954 to 2050
FEW_YEARS = 7_305  # days of twenty years: fewer numbers than days are dates only if they are near
YEAR, MONTH = 365.25, 30.4375  # days

Times = NDArray[np.float64]


def finer_than_month(
    session: Session, table: Relation, found: Sequence[DetectedColumn], seen: Look
) -> dict[str, str]:
    """Why columns reveal the day, or nearly, of an event: clauses by column name, without values.

    Dates, times, texts and numbers of dates, seconds and days since some day, years with decimals.

    Args:
        session: where the table is.
        table: that the columns are in.
        found: what they are.
        seen: what their values hold.
    """
    told: dict[str, str] = {}
    typed = [f for f in found if f.column.family in ("date", "timestamp") and f.known]
    for one, fine in zip(typed, _days_vary(session, table, typed), strict=True):
        if fine:
            told[one.name] = "dates with their day"
    rest = [f for f in found if f.column.family not in ("date", "timestamp")]
    for one, shares in of_each(rest, seen):
        if one.kind in ("date", "timestamp"):
            if shares["months_of_years"] < MOST:
                told[one.name] = f"dates with their day: {one.reason}"
        elif (said := counted_as_days(one, shares)) is not None:
            told[one.name] = said
        elif _excel(one, shares):
            told[one.name] = "whole numbers as of days since 1900"
    return told


def _days_vary(
    session: Session, table: Relation, typed: Sequence[DetectedColumn]
) -> Sequence[bool]:
    """Of columns of dates, whether some are not the first of a month."""
    if not typed:
        return ()
    later = [
        count_where(function("date_part", literal("day"), column(f.name)) > literal(1))
        for f in typed
    ]
    return [bool(n) for n in session.row(select(*later).from_(table.table))]


def _excel(found: DetectedColumn, seen: Mapping[str, float]) -> bool:
    """Days since 1900 under a name that measures nothing, so exact that they are no amounts."""
    measured = names.of_count(found.name) or names.of_secret(found.name)
    known = measured or names.of_weight(found.name) or names.of_money(found.name)
    if known or found.kind not in ("number", "unique", "code") or found.distinct <= FEW_WORDS:
        return False
    within = EXCEL[0] <= seen["low"] and seen["high"] <= EXCEL[1]
    near = found.distinct > DAYS_OF_A_YEAR or seen["high"] - seen["low"] <= FEW_YEARS
    return seen["whole"] >= SURE and within and near and seen["hundreds"] < 2 * (1 - SURE)


def date_differences(
    session: Session, table: Relation, found: Sequence[DetectedColumn]
) -> dict[str, tuple[str, str]]:
    """Numbers that are the time between two columns of dates, by name, with the two.

    In days (or one more, where both ends count), weeks, months up to one, or years with two
    decimals, for 95 of 100 records and more. Who has one date has the other.

    Args:
        session: where the table is.
        table: that the columns are in.
        found: what they are.
    """
    dated = [f for f in found if f.kind in ("date", "timestamp") and f.known > FEW_RECORDS]
    dated = [f for f in dated if f.column.family in ("date", "timestamp", "text")]
    counted = [
        f for f in found if f.column.family in NUMBERS and f.kind != "date" and f.distinct > 2
    ]
    if len(dated) < 2 or not counted:
        return {}
    days, numbers = _sampled(session, table, dated, counted)
    told: dict[str, tuple[str, str]] = {}
    for (one, start), (other, end) in combinations(days.items(), 2):
        between = np.abs(end - start)
        for name, values in numbers.items():
            if name not in told and _is_between(np.abs(values), between):
                told[name] = (one, other)
    return told


def _sampled(
    session: Session,
    table: Relation,
    dated: Sequence[DetectedColumn],
    counted: Sequence[DetectedColumn],
) -> tuple[dict[str, Times], dict[str, Times]]:
    """Days of dates and numbers of the same records; NaN where there is none."""
    wanted = [aliased(_day(f), f"d{n}") for n, f in enumerate(dated)]
    wanted += [
        aliased(coalesce(cast(column(f.name), "DOUBLE"), _NAN.copy()), f"n{n}")
        for n, f in enumerate(counted)
    ]
    taken = function("hash", *[column(f.name) for f in (*dated, *counted)])
    query = select(*wanted).from_(table.table).order_by(taken).limit(LOOKED_AT)
    arrays = session.arrays(query)
    days = {f.name: np.asarray(arrays[f"d{n}"], float) for n, f in enumerate(dated)}
    numbers = {f.name: np.asarray(arrays[f"n{n}"], float) for n, f in enumerate(counted)}
    return days, numbers


_NAN = cast(literal("nan"), "DOUBLE")
_FORMS = ("%Y-%m-%d", "%d.%m.%Y", "%d/%m/%Y", "%Y%m%d", "%d-%m-%Y", "%m/%d/%Y")


def _day(found: DetectedColumn) -> Expr:
    """Days since 1970 of a column of dates, NaN where it has none or cannot be read."""
    day: Expr = column(found.name)
    if found.column.family == "text":
        forms = list_of(*(literal(form) for form in _FORMS))
        day = function("try_strptime", function("trim", day), forms)
    seconds = function("epoch", cast(day, "TIMESTAMP"))
    days = seconds / literal(86400.0)
    return coalesce(days, _NAN.copy())


def _is_between(values: Times, between: Times) -> bool:
    """Whether numbers are the time between dates, and would not be of other records."""
    both = np.isfinite(values) & np.isfinite(between)
    values, between = values[both], between[both]
    if len(values) <= FEW_RECORDS or len(np.unique(np.floor(between))) <= FEW_VALUES:
        return False
    dealt = np.random.default_rng(1).permutation(values)
    for unit, tolerance in ((1.0, 1.0), (7.0, 1.0), (MONTH, 1.0), (YEAR, 0.0101)):
        # numbers without decimals may be rounded down or up
        span = np.floor(between) / unit
        fits = float(np.mean(np.abs(span - values) <= tolerance))
        if fits >= SURE and float(np.mean(np.abs(span - dealt) <= tolerance)) < ALL_BY_CHANCE:
            return True
    return False
