"""Compare the measured values of a release with the thresholds of its spec."""

from __future__ import annotations

import math
from collections.abc import Mapping

from dbdeid.errors import ExpectationError
from dbdeid.record.release_record import ReleaseRecord
from dbdeid.record.usefulness import Expectation
from dbdeid.spec.expect_spec import COUNTS, parse


def judged(expect: Mapping[str, str], record: ReleaseRecord) -> tuple[Expectation, ...]:
    """What became of each expectation.

    Of a metric that each column has one of, all must hold; the one farthest from it is told.

    Args:
        expect: thresholds by name.
        record: of the release.
    """
    values = _values(record)
    return tuple(_judged(name, text, values) for name, text in expect.items())


def _judged(name: str, text: str, values: Mapping[str, float | None]) -> Expectation:
    threshold = parse(text)
    assert threshold is not None  # or the spec would not have been read
    columns = [value for key, value in values.items() if key.partition(".")[0] == name]
    given = [values[name]] if name in values else columns
    found = [float(value) for value in given if value is not None and not math.isnan(value)]
    if not found or len(found) < len(given):
        return Expectation(name=name, expected=text, found=None, holds=False)
    worst = threshold.worst(found)
    told = worst if math.isfinite(worst) else None
    return Expectation(name=name, expected=text, found=told, holds=threshold.holds(worst))


def _values(record: ReleaseRecord) -> dict[str, float | None]:
    """Everything that can be expected of a release, by name."""
    risk = record.risk.after if record.risk else None
    queries = record.queries
    suppressed, people = record.suppressed_rows, record.source_rows
    if record.by_subject:
        suppressed, people = record.suppressed_subjects, record.source_subjects
    found: dict[str, float | None] = {name: getattr(record, name) for name in COUNTS}
    found |= {
        "useless": len(record.useless),
        "suppressed": _share(suppressed, people),
        "counterfeits": _share(record.counterfeit_rows, record.source_rows),
        "highest_risk": risk.highest_risk if risk else None,
        "average_risk": risk.average_risk if risk else None,
        "query_error": queries.mean_relative_error if queries else None,
        "within_bounds": queries.within_bounds if queries else None,
    }
    return found | record.metrics


def _share(part: int | None, whole: int | None) -> float | None:
    return None if part is None or not whole else part / whole


def held(record: ReleaseRecord, expect: Mapping[str, str]) -> ReleaseRecord:
    """The record with what became of each expectation.

    Raises:
        ExpectationError: with every expectation that is missed.
    """
    found = judged(expect, record)
    missed = [str(expectation) for expectation in found if not expectation.holds]
    if missed:
        raise ExpectationError(
            "the release misses what the spec expects of it, and was not published: "
            + "; ".join(missed),
            hint="nothing was replaced; change what the release is made of, or `expect`",
        )
    return record.model_copy(update={"expectations": found})
