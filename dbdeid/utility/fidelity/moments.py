"""Moments: mean, sum and median of the numbers of a release against those of its source.

Errors are in units that compare: those of mean and median in standard deviations of the original
column (where that is 0, in its own unit), that of the sum as a share of the sum of magnitudes, so
that a sum near 0 is no large error. Missing values do not count; a removed record is missing in the
sum. `of_all` is the mean over the columns and their three errors.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from dbdeid.engine.expressions import Select, aliased, cast, column, select
from dbdeid.engine.relation import NUMBERS, Relation
from dbdeid.engine.session import Session
from dbdeid.engine.sqltext import step
from dbdeid.utility.common.metric import Metric, Words

METRIC = Metric(
    "moments",
    Words(
        "Moments",
        "How far mean and median of the numbers that are released are from those of the source, in "
        "standard deviations of the source, and their sum, as a share of the sum of magnitudes; "
        "the mean over columns and these three.",
        "0 (unchanged) upward",
        "lower",
    ),
    families=("generalized", "local", "synthetic", "masked", "external"),
)


@dataclass(frozen=True, slots=True)
class Moments:
    """The moments of one column of numbers; None without a value.

    Attributes:
        mean: in source and release.
        sum: the same.
        median: the same.
        deviation: of the source, over all its records.
        magnitude: the sum of the magnitudes of the source.
    """

    mean: tuple[float | None, float | None]
    sum: tuple[float | None, float | None]
    median: tuple[float | None, float | None]
    deviation: float | None
    magnitude: float | None

    @property
    def errors(self) -> dict[str, float]:
        """How far the release is from the source, by moment; nothing where one has no value."""
        deviation, magnitude = self.deviation or 1.0, self.magnitude or 1.0
        scaled = {
            "mean": (self.mean, deviation),
            "sum": (self.sum, magnitude),
            "median": (self.median, deviation),
        }
        return {
            name: abs(after - before) / scale
            for name, ((before, after), scale) in scaled.items()
            if before is not None and after is not None
        }


def of_all(found: Mapping[str, Moments]) -> float:
    """The mean error over columns and moments; 0 without columns."""
    errors = [error for moments in found.values() for error in moments.errors.values()]
    return sum(errors) / len(errors) if errors else 0.0


def flat(found: Mapping[str, Moments]) -> dict[str, float]:
    """The mean error and each one, by the names under which they are reported."""
    if not found:
        return {}
    of_columns = {
        f"moments.{name}.{moment}": error
        for name, of_column in found.items()
        for moment, error in of_column.errors.items()
    }
    return {"moments": of_all(found)} | of_columns


def numeric(source: Relation, released: Relation) -> list[str]:
    """The columns that are numbers on both sides."""
    both = ((c, released.find(c.name)) for c in source.columns)
    return [c.name for c, r in both if r and c.family in NUMBERS and r.family in NUMBERS]


def moments(
    session: Session, source: Relation, released: Relation, columns: Sequence[str]
) -> dict[str, Moments]:
    """The moments of columns that are numbers before and after.

    Args:
        session: sees both.
        source: all its records.
        released: the written table.
        columns: their names.
    """
    found = {}
    for name in columns:
        sides = {"source": _numbers(source, name), "released": _numbers(released, name)}
        mean, total, median, deviation, magnitude, *after = session.row(
            step("utility/fidelity/moments", sides)
        )
        found[name] = Moments(
            (mean, after[0]), (total, after[1]), (median, after[2]), deviation, magnitude
        )
    return found


def _numbers(table: Relation, name: str) -> Select:
    return select(aliased(cast(column(name), "DOUBLE"), "value")).from_(table.table)
