"""The thresholds of a spec, held against what was measured of its release."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from dbdeid.errors import ExpectationError
from dbdeid.spec.expect_spec import COUNTS, parse


@dataclass(frozen=True, slots=True)
class Expectation:
    """One threshold and what was found.

    Attributes:
        name: of what is measured.
        expected: the threshold as the spec writes it.
        found: the measured value; None where there is none, which holds nothing.
        holds: whether it is on the right side.
    """

    name: str
    expected: str
    found: float | None
    holds: bool

    def __str__(self) -> str:
        found = "nothing" if self.found is None else f"{self.found:.6g}"
        return f"{self.name} is {found}, expected {self.expected.strip()}"

    def to_dict(self) -> dict[str, Any]:
        """The expectation as JSON shows it."""
        return asdict(self)


def judged(expect: Mapping[str, str], record: Mapping[str, Any]) -> tuple[Expectation, ...]:
    """What became of each expectation.

    Of a metric that each column has one of, all must hold; the one farthest from it is told.

    Args:
        expect: thresholds by name.
        record: of the release, as `record.record_of` makes it.
    """
    values = _values(record)
    return tuple(_judged(name, text, values) for name, text in expect.items())


def _judged(name: str, text: str, values: Mapping[str, Any]) -> Expectation:
    threshold = parse(text)
    assert threshold is not None  # or the spec would not have been read
    columns = [value for key, value in values.items() if key.partition(".")[0] == name]
    given = [values[name]] if name in values else columns
    found = [float(value) for value in given if value is not None and not math.isnan(value)]
    if not found or len(found) < len(given):
        return Expectation(name, text, None, False)
    worst = threshold.worst(found)
    return Expectation(name, text, worst if math.isfinite(worst) else None, threshold.holds(worst))


def _values(record: Mapping[str, Any]) -> dict[str, float | None]:
    """Everything that can be expected of a release, by name."""
    risk = (record.get("risk") or {}).get("after") or {}
    queries = record.get("queries") or {}
    of_people = record.get("source_subjects") is not None
    suppressed = record.get("suppressed_subjects" if of_people else "suppressed_rows")
    people = record["source_subjects"] if of_people else record["source_rows"]
    found: dict[str, float | None] = {name: record.get(name) for name in COUNTS}
    found |= {
        "useless": len(record.get("useless") or ()),
        "suppressed": _share(suppressed, people),
        "counterfeits": _share(record.get("counterfeit_rows"), record["source_rows"]),
        "highest_risk": risk.get("highest_risk"),
        "average_risk": risk.get("average_risk"),
        "query_error": queries.get("mean_relative_error"),
        "within_bounds": queries.get("within_bounds"),
    }
    return found | dict(record.get("metrics") or {})


def _share(part: int | None, whole: int | None) -> float | None:
    return None if part is None or not whole else part / whole


def require(found: Sequence[Expectation]) -> None:
    """Refuse a release that misses what is expected of it.

    Raises:
        ExpectationError: with every expectation that is missed.
    """
    missed = [str(expectation) for expectation in found if not expectation.holds]
    if missed:
        raise ExpectationError(
            "the release misses what the spec expects of it, and was not published: "
            + "; ".join(missed),
            hint="nothing was replaced; search for a better one, or change `expect`",
        )
