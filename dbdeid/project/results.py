"""What became of the releases of a run or a test, as a document that machines read."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from dbdeid.data.json import Json, JsonObject
from dbdeid.engine.process import uninterrupted
from dbdeid.errors import DataError
from dbdeid.report.manifest import plain
from dbdeid.version import __version__
from dbdeid.workspace.report_files import write_page

Command = Literal["run", "test"]
Status = Literal["success", "failed", "skipped", "interrupted"]
VERSION = 1
INTERRUPTED = 130
# Exit codes, the worst first: a defect, a broken promise, an impossible one, bad input.
_WORST = (1, 4, 3, 2, 0)


@dataclass(frozen=True, slots=True)
class Result:
    """What became of one release.

    Attributes:
        release: its name.
        spec: the path of its spec.
        status: how it ended.
        message: why it did not succeed, as the error says it; None where it did.
        exit_code: of a command for it alone; None where it was not begun.
        seconds: wall time.
        details: what was found of it: `verified`, `expectations`, and what a run counts; empty
            where nothing was found.
    """

    release: str
    spec: str
    status: Status
    message: str | None = None
    exit_code: int | None = None
    seconds: float = 0.0
    details: Mapping[str, Json] = field(default_factory=dict)

    def to_dict(self) -> JsonObject:
        """The result as JSON shows it."""
        return {
            "release": self.release,
            "spec": self.spec,
            "status": self.status,
            "message": self.message,
            "exit_code": self.exit_code,
            "seconds": round(self.seconds, 4),
            "verified": None,
            "expectations": [],
            **self.details,
        }


@dataclass(frozen=True, slots=True)
class Results:
    """What became of all releases of a command, in their order.

    Attributes:
        command: run or test.
        started: ISO 8601 time, UTC.
        seconds: wall time of all of it.
        interrupted: whether Ctrl-C ended it.
        results: one for each release that was meant.
    """

    command: Command
    started: str
    seconds: float
    interrupted: bool
    results: tuple[Result, ...]

    @property
    def exit_code(self) -> int:
        """The worst of all releases: 1, 4, 3, 2, 0 in this order; 130 after Ctrl-C."""
        if self.interrupted:
            return INTERRUPTED
        found = {result.exit_code for result in self.results}
        return next((code for code in _WORST if code in found), 0)

    def to_dict(self) -> JsonObject:
        """The document as it is written and printed."""
        return {
            "schema": f"dbdeid.{self.command}_results/{VERSION}",
            "version": __version__,
            "started": self.started,
            "seconds": round(self.seconds, 4),
            "interrupted": self.interrupted,
            "exit_code": self.exit_code,
            "results": [plain(result.to_dict()) for result in self.results],
        }

    def write(self, path: Path) -> None:
        """Write the document, whole or not at all; its folder is made where it is missing.

        Raises:
            DataError: it cannot be written.
        """
        text = json.dumps(self.to_dict(), indent=2, ensure_ascii=False, allow_nan=False)
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise DataError(
                f"{path.parent} cannot be made ({error.strerror})",
                hint="name another folder: `paths: {results: …}`",
            ) from None
        with uninterrupted():
            write_page(path, text + "\n")


def last(path: Path, command: Command = "run") -> dict[str, JsonObject]:
    """The results of the last run or test by release, each with when it `started`; empty where
    there is none.

    Raises:
        DataError: the document cannot be read.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        return {}
    except (OSError, UnicodeDecodeError) as error:
        why = getattr(error, "strerror", None) or "not UTF-8 text"
        raise DataError(f"{path} cannot be read ({why})", hint=_AGAIN) from None
    try:
        document = json.loads(text)
        found = None
        if document["schema"] == f"dbdeid.{command}_results/{VERSION}":
            started = {"started": str(document["started"])}
            found = {str(r["release"]): dict(r) | started for r in document["results"]}
        complete = found is not None and all("status" in result for result in found.values())
    except (ValueError, TypeError, KeyError, RecursionError):
        found, complete = None, False
    if found is None or not complete:
        raise DataError(f"{path} is no document of a {command}, or of another version", hint=_AGAIN)
    return found


_AGAIN = "remove it and run the project again, which writes a new one"
