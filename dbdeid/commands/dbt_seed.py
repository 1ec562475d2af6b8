"""A policy as a seed of dbt: how each quasi-identifier is generalized, and nothing of the data.

What is listed are the values of a declared domain, which is public, and their labels; where no
domain is declared it is a rule: intervals, prefixes, units of the calendar.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

from dbdeid.bind.bound import BoundColumn
from dbdeid.data import intervals
from dbdeid.data.dates import Calendar
from dbdeid.data.hierarchy import TOP
from dbdeid.data.intervals import Intervals, decimal
from dbdeid.errors import DataError
from dbdeid.prepare.hierarchies import calendar_of, scale_of
from dbdeid.prepare.quasi_identifier import QuasiIdentifier
from dbdeid.version import __version__

HEADER = ("place", "column_name", "rule", "argument", "label", "lower_end", "upper_end")
# The first row says what the file is. It is text in every column, so that dbt reads all of them as
# text, and 037 stays 037.
POLICY = "policy"
MOST_INTERVALS = 1_000  # that are listed; more are computed
LONGEST = 10**15  # width of an interval that is computed


@dataclass(frozen=True, slots=True)
class Rule:
    """One line of a policy.

    Attributes:
        rule: value (a value has a label), numbers or dates (those from `lower` to before `upper`
            have it), top (all have it), keep (values stay), or how a label is computed: prefix
            (`argument` characters), intervals (`argument` is origin and width), calendar (by the
            unit `argument`). Of a release: k and suppression_limit (`argument`), subject, withheld,
            l_diversity and t_closeness (`argument`, and of which kind is the `label`), and column,
            that is one which is released, of the type `argument`.
        argument, label, lower, upper: as the rule needs them.
    """

    rule: Literal[
        "value",
        "numbers",
        "dates",
        "top",
        "keep",
        "prefix",
        "intervals",
        "calendar",
        "k",
        "suppression_limit",
        "subject",
        "withheld",
        "l_diversity",
        "t_closeness",
        "column",
    ]
    argument: str | None = None
    label: str | None = None
    lower: str | None = None
    upper: str | None = None


def rules(quasi_identifier: QuasiIdentifier, bound: BoundColumn, level: int) -> tuple[Rule, ...]:
    """How a quasi-identifier is generalized to a level.

    Raises:
        DataError: its intervals can neither be listed nor computed.
    """
    hierarchy, spec = quasi_identifier.coding.hierarchy, bound.spec.hierarchy
    if level == hierarchy.height:
        return (Rule("top", label=TOP),)
    if hierarchy.declared:
        found = hierarchy.levels[level]
        pairs = zip(hierarchy.leaves, found.groups, strict=True)
        listed = sorted((leaf, found.labels[group]) for leaf, group in pairs)
        return tuple(Rule("value", leaf, label) for leaf, label in listed)
    if level == 0:
        return (Rule("keep"),)
    assert spec is not None
    if spec.prefix is not None:
        return (Rule("prefix", str(spec.prefix[level - 1])),)
    if spec.intervals is not None:
        return tuple(_of_numbers(quasi_identifier.name, scale_of(spec), level))
    if spec.shelf is not None:
        raise DataError(
            f"column {quasi_identifier.name!r}: the labels of shelf: {spec.shelf} are no rule of "
            "dbt, and a list of them would tell which values there are",
            hint="declare all values there may be: `domain: [...]` beside the hierarchy",
        )
    assert spec.dates is not None
    return (*_ends(calendar_of(spec)), Rule("calendar", spec.dates[level - 1]))


def _of_numbers(name: str, scale: Intervals, level: int) -> Iterator[Rule]:
    width = scale.widths[level - 1]
    low, high = scale.lower, scale.upper
    if low is not None and high is not None and (high - low) / width <= MOST_INTERVALS:
        yield from map(_numbers, intervals.cells(width, scale))
        return
    if any(n.denominator != 1 or n >= LONGEST for n in (width, scale.origin % width)):
        raise DataError(
            f"column {name!r}: its intervals of {decimal(width)} cannot be written for dbt",
            hint="give the hierarchy `lower` and `upper` with at most "
            f"{MOST_INTERVALS:,} intervals between them, or whole numbers as widths and origin",
        )
    for cell in (
        *intervals.beyond(scale),
        *intervals.beyond(scale, above=True),
        *intervals.cut(width, scale),
    ):
        yield _numbers(cell)
    yield Rule("intervals", f"{scale.origin % width} {width}")


def _numbers(cell: intervals.Cell) -> Rule:
    return Rule("numbers", None, cell.label, _written(cell.start), _written(cell.end))


def _written(end: Fraction | None) -> str | None:
    return None if end is None else decimal(end)


def _ends(calendar: Calendar) -> Iterator[Rule]:
    """What lies outside the limits of a calendar."""
    if calendar.lower is not None:
        yield Rule("dates", None, f"< {calendar.lower}", None, calendar.lower.isoformat())
    if calendar.upper is not None:
        yield Rule("dates", None, f">= {calendar.upper}", calendar.upper.isoformat())


def written(release: str, policy: Sequence[tuple[str, Sequence[Rule]]]) -> str:
    """A policy as CSV, as dbt reads seeds.

    Args:
        release: its name.
        policy: what is promised, and the rules of each quasi-identifier.

    Raises:
        DataError: dbt would read a value or label as NULL.
    """
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(HEADER)
    marks = (f"dbdeid {__version__}", f"release {release}", "inclusive", "exclusive")
    writer.writerow((0, TOP, POLICY, *marks))
    place = 0
    for name, rules_ in policy:
        for one in rules_:
            place += 1
            cells = (one.rule, one.argument, one.label, one.lower, one.upper)
            if any(cell is not None and cell.lower() in ("", "null") for cell in (name, *cells)):
                raise DataError(
                    f"column {name!r}: a value or label of its domain is empty or reads 'null', "
                    "which dbt takes for NULL in a seed",
                    hint="recode it in the source and in the hierarchy, as in 'unknown'",
                )
            writer.writerow((place, name, *cells))
    return text.getvalue()


def is_policy(text: str) -> bool:
    """Whether a file begins as a policy that was written here."""
    rows = list(csv.reader(io.StringIO(text)))[:2]
    return len(rows) == 2 and tuple(rows[0]) == HEADER and rows[1][2] == POLICY
