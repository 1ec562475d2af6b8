"""What is shown of two aggregates at once, and what is to be expected of it."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from math import isinf

from dbdeid.engine.duckdb.session import Session

COMBINED = (
    "{v} / NULLIF({w}, 0)",
    "ROUND(100.0 * {v} / NULLIF({w}, 0), 1)",
    "({v} / NULLIF({w}, 0)) / NULLIF({w} / NULLIF({v}, 0), 0)",
    "({v} / NULLIF({w}, 0)) / (1 + {w} / (1 + {v} * {v}))",
    "({v} + 1) / NULLIF({w} - {v}, 0)",
    "{v} * {w} - {v}",
    "CASE WHEN {v} > 2.3 THEN {w} ELSE 0 END",
    "CASE WHEN {v} > {w} THEN {v} - {w} WHEN {w} <= 1.7 THEN -{v} END",
    "IF({v} BETWEEN 0.6 AND 3.1 OR {w} IS NULL, {v}, {w} + 1)",
    "GREATEST({v}, {w})",
    "LEAST({v}, 2.5, {w} * {w})",
    "ABS({v} - {w})",
    "ROUND({v} - {w} / 3, 1)",
    "COALESCE({v}, {w}, -1)",
    "COALESCE({v} / NULLIF({w}, 0), 0)",
    "ABS({v} - 3)",
    "CASE WHEN {v} > 2.3 THEN {v} / 2 END",
)


def results(
    session: Session, shown: str, expected: Sequence[float | None], near: float
) -> list[float | None]:
    """What an expression is of what is expected of its aggregates, or of what is very near.

    So a step, as of CASE or ROUND, may be taken on either side where the two are as near to it.
    """
    around = (
        [None] if one is None else [one + by * near * max(1.0, abs(one)) for by in (-1, 0, 1)]
        for one in expected
    )
    asked = []
    for given in product(*around):
        texts = ("NULL::DOUBLE" if n is None else f"({float(n)!r}::DOUBLE)" for n in given)
        asked.append(f"({shown.format(**dict(zip('vw', texts, strict=False)))})::DOUBLE")
    return list(session.row(f"SELECT {', '.join(asked)}"))


def meets(
    value: float | None,
    bounds: tuple[float | None, float | None],
    found: Sequence[float | None],
    near: float,
) -> bool:
    """Whether a shown value is what is to be expected, moved to the bound that it is beyond."""
    if None in found:
        return value is None or any(one is not None for one in found)
    if value is None:  # of a quotient by 0 nothing is claimed
        return bounds == (None, None) and any(one is not None and isinf(one) for one in found)
    known = [one for one in found if one is not None]
    least, most = min(known), max(known)
    reach = near * max(1.0, abs(least), abs(most))
    lower, upper = bounds
    if lower is not None and upper is not None:
        least, most = (min(max(end, lower), upper) for end in (least, most))
    return least - reach <= value <= most + reach
