"""Time and news of a run: wall seconds of each phase, and notices for whoever draws progress."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from math import inf

from dbdeid.lattice.exploration import Placed, Progress
from dbdeid.methods.common.searching import BestSoFar, Offer
from dbdeid.methods.policy.search.frontier import Weighed

__all__ = ["BestSoFar", "Clock", "Notify", "Offer", "Placed", "Progress", "Weighed"]

EVERY = 60.0  # seconds after which a search is logged again, whether it has found something or not

logger = logging.getLogger("dbdeid")

Notify = Callable[[str, Progress | Placed | Weighed | None], None]


class Clock:
    """Wall seconds of each phase, and the notices that go with them."""

    def __init__(self, notify: Notify | None) -> None:
        self._notify = notify
        self._started = time.perf_counter()
        self._phase = ""
        self._best = inf
        self._logged = self._started
        self.seconds: dict[str, float] = {}

    @contextmanager
    def phase(self, name: str) -> Iterator[None]:
        """Time one phase."""
        self._phase, self._best = name, inf
        if self._notify:
            self._notify(name, None)
        start = time.perf_counter()
        yield
        self.seconds[name] = round(time.perf_counter() - start, 4)
        logger.info("%s: %.2f s", name, self.seconds[name])
        self.seconds["total"] = round(time.perf_counter() - self._started, 4)

    def progress(self, progress: Progress | Placed | Weighed) -> None:
        """Pass the search's progress on, and log when it has found something better.

        Where it has not, it is logged once a minute.
        """
        now = time.perf_counter()
        late = now - self._logged >= EVERY
        if isinstance(progress, Progress) and (late or progress.best < self._best):
            self._best, self._logged = progress.best, now
            logger.info(
                "%s: %s checked in %.0f s, best so far %.6g, proven at least %.6g",
                self._phase,
                f"{progress.checked:,}",
                progress.seconds,
                progress.best,
                progress.lower_bound,
            )
        if self._notify:
            self._notify(self._phase, progress)
