"""How long a run is likely to take, and how much memory, by runs that were measured.

The runs are those of `tests/benchmarks/curves.py`: hospital stays of 19 columns, eight of them
quasi-identifiers that together are nearly all distinct, on two cores. Between two sizes time and
memory grow by a power of the number of released cells; beyond the last they go on as before it, and
no slower than full-domain generalization grew from one to five million records. How fast this
machine is, and how busy, is judged by the time that it took to stage the source.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import exp, log

from dbdeid.engine.process import memory
from dbdeid.prepare.prepare import Prepared

LONG = 60.0  # seconds from which on people want to know before they begin
LARGE = 4.0  # gigabytes
SHARE = 0.8  # of the memory of a machine that a run may need without a word
# How much faster or slower than the measured one a machine is taken to be at most.
FASTEST, SLOWEST = 0.3, 4.0
# Powers by which time and memory grow at least, beyond the largest run that was measured.
TIME_BEYOND, MEMORY_BEYOND = 0.9, 0.75
TELLING = 0.1  # seconds of staging below which they tell nothing of a machine


@dataclass(frozen=True, slots=True)
class Measured:
    """A run that was measured.

    Attributes:
        cells: records of the source, times released columns.
        seconds: of the whole process, by the clock.
        gigabytes: resident at its peak.
        staged: seconds of these until the source was staged and coded.
    """

    cells: float
    seconds: float
    gigabytes: float
    staged: float


@dataclass(frozen=True, slots=True)
class Forecast:
    """What a run is likely to take on this machine.

    Attributes:
        seconds: by the clock, as busy as the machine is.
        gigabytes: of memory, at its peak.
        memory: gigabytes that a process may use here; None where the system does not say.
    """

    seconds: float
    gigabytes: float
    memory: float | None = None

    @property
    def words(self) -> tuple[str, ...]:
        """What somebody would want to know before they begin; nothing of a short and small run."""
        scarce = self.memory is not None and self.gigabytes > SHARE * self.memory
        if self.seconds < LONG and self.gigabytes < LARGE and not scarce:
            return ()
        takes = f"a run takes about {_duration(self.seconds)} and {self.gigabytes:.1f} GB of memory"
        if not scarce:
            return (takes,)
        return (
            f"{takes}, and this machine has {self.memory:.1f} GB: what DuckDB cannot keep below "
            "--memory-limit goes to disk, the rest may not fit. Try a sample of the records first",
        )


CURVES: Mapping[str, Sequence[Measured]] = {
    "full_domain": (
        Measured(380e3, 4.9, 0.33, 0.26),
        Measured(1900e3, 6.8, 0.48, 0.42),
        Measured(7600e3, 11.1, 1.01, 0.6),
        Measured(19000e3, 18.8, 1.27, 1.45),
        Measured(95000e3, 81.3, 4.28, 5.24),
    ),
    "local_recoding, dealing": (
        Measured(380e3, 13.4, 0.36, 0.26),
        Measured(1900e3, 21.4, 0.58, 0.42),
        Measured(7600e3, 35.3, 1.22, 0.6),
        Measured(19000e3, 72.8, 2.32, 1.45),
    ),
    "local_recoding, mondrian": (
        Measured(380e3, 5.0, 0.35, 0.26),
        Measured(1900e3, 9.8, 0.54, 0.42),
        Measured(7600e3, 21.1, 1.22, 0.6),
    ),
    "counterfeit, full_domain": (
        Measured(180e3, 5.5, 0.41, 0.26),
        Measured(900e3, 11.5, 0.81, 0.42),
        Measured(3600e3, 21.1, 1.85, 0.6),
    ),
    "counterfeit, borrow": (
        Measured(180e3, 9.2, 0.45, 0.26),
        Measured(900e3, 23.7, 2.33, 0.42),
        Measured(3600e3, 39.9, 6.28, 0.6),
    ),
    "condensation": (
        Measured(160e3, 7.0, 0.33, 0.01),
        Measured(800e3, 8.5, 0.41, 0.02),
        Measured(3200e3, 14.4, 0.9, 0.04),
    ),
    "microaggregation": (
        Measured(380e3, 5.1, 0.31, 0.4),
        Measured(1900e3, 24.9, 0.44, 0.9),
        Measured(7600e3, 288.6, 1.09, 1.3),
    ),
}


def forecast(prepared: Prepared, staged: float) -> Forecast | None:
    """What a run of a prepared release is likely to take; None where no such run was measured.

    Args:
        prepared: the source, staged and coded.
        staged: seconds that this took.
    """
    curve = CURVES.get(prepared.bound.spec.method.procedure)
    if curve is None:
        return None
    cells = float(max(prepared.rows * len(prepared.released), 1))
    expected = _at(cells, [(one.cells, one.staged) for one in curve], TIME_BEYOND)
    slower = min(max(staged / expected, FASTEST), SLOWEST) if expected >= TELLING else 1.0
    return Forecast(
        slower * _at(cells, [(one.cells, one.seconds) for one in curve], TIME_BEYOND),
        _at(cells, [(one.cells, one.gigabytes) for one in curve], MEMORY_BEYOND),
        _gigabytes(memory()),
    )


def _at(cells: float, points: Sequence[tuple[float, float]], beyond: float) -> float:
    """What a curve says of a size: no less than of its smallest, where fixed costs decide."""
    if cells <= points[0][0]:
        return points[0][1]
    spans = [*pairwise(points)]
    (first, low), (last, high) = next((s for s in spans if cells <= s[1][0]), spans[-1])
    power = log(high / low) / log(last / first)
    if cells <= last:
        return low * exp(power * log(cells / first))
    return high * exp(max(power, beyond) * log(cells / last))


def _duration(seconds: float) -> str:
    """As people say it.

    >>> _duration(12), _duration(70), _duration(600), _duration(9000)
    ('12 seconds', '1 minute', '10 minutes', '2.5 hours')
    """
    if seconds < 60:
        return f"{seconds:.0f} seconds"
    if seconds < 5400:
        minutes = round(seconds / 60)
        return "1 minute" if minutes == 1 else f"{minutes} minutes"
    return f"{seconds / 3600:.1f} hours"


def _gigabytes(size: int | None) -> float | None:
    return None if size is None else size / 2**30
