"""Work on the releases of a project one after another: what fails stops only what rests on it.

The document of results is written before and after each release, so that it is true whenever it is
read, even if the process was killed.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime

from dbdeid.data.json import JsonObject
from dbdeid.errors import DbdeidError, Failure, failure_of
from dbdeid.project.releases import Release
from dbdeid.project.results import INTERRUPTED, Command, Result, Results

# Does a piece of work and gives what it gives, or how it failed.
Attempt = Callable[[Callable[[], "Done"]], "Done | Failure"]


@dataclass(frozen=True, slots=True)
class Done:
    """The result of a release's work, and its failure where it did not pass."""

    details: JsonObject
    failure: Failure | None = None


def attempt(work: Callable[[], Done]) -> Done | Failure:
    """Do a piece of work; errors that a user can act on are failures, others are raised."""
    try:
        return work()
    except (DbdeidError, OSError) as error:
        return failure_of(error)


@dataclass(slots=True)
class Runner:
    """One pass over releases.

    Attributes:
        command: run, where a release waits for those that it rests on; or test.
        releases: in their order.
        work: what is done with each.
        attempt: how it is done.
        keep: called with the results whenever they change.
        tell: called with each result.
    """

    command: Command
    releases: Sequence[Release]
    work: Callable[[Release], Done]
    attempt: Attempt = attempt
    keep: Callable[[Results], None] = lambda results: None
    tell: Callable[[Result, Failure | None], None] = lambda result, failure: None
    _done: dict[str, Result] = field(default_factory=dict)
    _running: str | None = None
    _started: float = 0.0
    _at: str = ""

    def go(self) -> Results:
        """Work on all of them; Ctrl-C ends it, and the rest is skipped."""
        self._started, self._at = time.perf_counter(), datetime.now(UTC).isoformat("T", "seconds")
        interrupted = False
        try:
            for release in self.releases:
                self._one(release)
            self._running = None
        except KeyboardInterrupt:
            interrupted = True
        except BaseException:
            self.keep(self._results(interrupted=True))
            raise
        results = self._results(interrupted=interrupted)
        if self.releases:  # or those of the last run are still worth more
            self.keep(results)
        return results

    def _one(self, release: Release) -> None:
        self._running = release.name
        self.keep(self._results(interrupted=True))
        began, failure = time.perf_counter(), None
        blocked = self._blocked(release) if self.command == "run" else None
        if blocked is not None:
            result = Result(release.name, release.label, "skipped", blocked)
        else:
            found = self.attempt(lambda: self.work(release))
            failure = found if isinstance(found, Failure) else found.failure
            result = Result(
                release.name,
                release.label,
                "failed" if failure else "success",
                failure.message if failure else None,
                failure.exit_code if failure else 0,
                time.perf_counter() - began,
                {} if isinstance(found, Failure) else found.details,
            )
        self._done[release.name] = result
        self._running = None
        self.tell(result, failure)

    def _blocked(self, release: Release) -> str | None:
        """Why a release cannot be run: one that it rests on was to be run before, and was not."""
        for name in release.upstream:
            before = self._done.get(name)
            if before is not None and before.status != "success":
                return f"rests on {name!r}, which {_ENDED[before.status]}"
        return None

    def _results(self, *, interrupted: bool) -> Results:
        seconds = time.perf_counter() - self._started
        results = tuple(self._done.get(r.name) or self._open(r) for r in self.releases)
        return Results(self.command, self._at, seconds, interrupted, results)

    def _open(self, release: Release) -> Result:
        if release.name == self._running:
            message = "interrupted; nothing of it was published"
            message = message if self.command == "run" else "interrupted"
            return Result(release.name, release.label, "interrupted", message, INTERRUPTED)
        return Result(release.name, release.label, "skipped", "interrupted before it was begun")


_ENDED = {"failed": "failed", "skipped": "was skipped", "interrupted": "was interrupted"}
