"""The errors of dbdeid: what went wrong, where, and what to do next.

No message carries a cell of an identifier or sensitive column.
"""

from __future__ import annotations

import errno
import resource
from collections.abc import Iterable
from dataclasses import dataclass
from difflib import get_close_matches

_HINT = "\n  Hint: "  # between what is wrong and what to do, in the text of an error


@dataclass(frozen=True, slots=True)
class Mistake:
    """One mistake in a spec: its text, its place (`columns.zip.hierarchy`), line and hint."""

    message: str
    place: str = ""
    line: int | None = None
    hint: str = ""

    def __str__(self) -> str:
        where = f"line {self.line}: " if self.line else ""
        where += f"{self.place}: " if self.place else ""
        hint = f"{_HINT}{self.hint}" if self.hint else ""
        return f"{where}{self.message}{hint}"


class DbdeidError(Exception):
    """Root of all errors that a user of dbdeid can act on.

    Args:
        message: what is wrong, and where; never a value of a cell.
        hint: what to do about it.
        examples: values of quasi-identifiers that show the problem, printed only on a terminal
            or on request.
    """

    exit_code = 2

    def __init__(self, message: str, *, hint: str = "", examples: Iterable[str] = ()) -> None:
        self.message = message
        self.hint = hint
        self.examples = tuple(examples)
        super().__init__(f"{message}{_HINT}{hint}" if hint else message)


class SpecError(DbdeidError):
    """The release specification has mistakes; all of them are in `mistakes`."""

    def __init__(
        self, mistakes: Iterable[Mistake] | str, *, source: str = "", hint: str = ""
    ) -> None:
        if isinstance(mistakes, str):
            mistakes = [Mistake(mistakes, hint=hint)]
        self.mistakes = tuple(mistakes)
        count = len(self.mistakes)
        head = f"{source or 'spec'}: {count} mistake{'s' if count != 1 else ''}"
        body = "\n".join(f"- {mistake}" for mistake in self.mistakes)
        super().__init__(f"{head}\n{body}")


class HierarchyError(DbdeidError):
    """A generalization hierarchy is broken or does not cover its column."""


class DataError(DbdeidError):
    """The data or a file cannot be used as the spec or the command says."""


class Unsatisfiable(DbdeidError):
    """No release within the declared limits satisfies the declared privacy models."""

    exit_code = 3


class NothingFound(DbdeidError):
    """A search ended without a transformation, and without proof that none satisfies."""

    exit_code = 3


class VerificationError(DbdeidError):
    """A written table does not keep its promises; it was not published."""

    exit_code = 4


class ExpectationError(VerificationError):
    """A release misses what its spec expects of it; it was not published."""


class MissingExtra(DbdeidError):
    """An optional package is needed for what was asked."""

    def __init__(self, package: str, *, extra: str) -> None:
        super().__init__(
            f"this needs the package {package!r}", hint=f"pip install 'dbdeid[{extra}]'"
        )


@dataclass(frozen=True, slots=True)
class Failure:
    """How a piece of work failed, where others go on.

    Attributes:
        message: what is wrong and what to do, without a cell.
        exit_code: of a command that fails so.
        examples: values of quasi-identifiers, shown only on a terminal or on request.
        mistakes: of a specification, each by itself.
    """

    message: str
    exit_code: int
    examples: tuple[str, ...] = ()
    mistakes: tuple[Mistake, ...] = ()

    @property
    def document(self) -> dict[str, object]:
        """The same for a program; no examples, which are values."""
        return {
            "error": self.message,
            "exit_code": self.exit_code,
            "mistakes": [
                {"message": one.message, "place": one.place, "line": one.line, "hint": one.hint}
                for one in self.mistakes
            ],
        }


# What ends a process that has done nothing wrong, as each library tells of it; no cell is in it.
_ENDS = {
    "memory": (
        *("cannot allocate memory", "failed to map segment", "bad_alloc", "bad allocation"),
        *("unable to allocate", "allocation failure", "out of memory", "not enough memory"),
        *("malloc of size", "realloc of size", "failed to allocate"),
    ),
    "threads": (
        *("can't start new thread", "resource temporarily unavailable"),
        "thread constructor failed",
    ),
    "open files": ("too many open files",),
    "room on the disk": ("no space left", "disk quota exceeded"),
}
_OF_MEMORY = ("MemoryError", "ArrowMemoryError", "OutOfMemoryException")
_ERRNO = {
    errno.ENOMEM: "memory",
    errno.EAGAIN: "threads",
    errno.EMFILE: "open files",
    errno.ENFILE: "open files",
    errno.ENOSPC: "room on the disk",
    errno.EDQUOT: "room on the disk",
}
_MORE = {
    "memory": "allow more (ulimit -v, --memory-limit), or use less with --threads 1",
    "threads": "use --threads 1, or allow more (ulimit -u, ulimit -v)",
    "open files": "allow more (ulimit -n)",
    "room on the disk": "make room there, or set TMPDIR to a place that has some",
}


def out_of(what: str, how: str, *, ended: bool = False) -> DataError:
    """The error that a process had not enough of something.

    Args:
        what: memory, threads, open files or room on the disk.
        how: how this was met.
        ended: whether the process was ended by others, and could remove nothing itself.
    """
    left = "nothing half-done is kept: run it again then"
    if ended:
        left = "run it again then, which removes folders named .dbdeid-… that this one left"
    hint = f"{_MORE[what]}; {left}"
    return DataError(f"not enough {what} ({how})", hint=hint)


def exhausted(error: BaseException) -> DataError | None:
    """Return the error of exhausted memory or disk behind another error; None where there is none.

    Of an error of dbdeid that already tells of a full disk, nothing better can be said.
    """
    told = isinstance(error, DbdeidError)
    behind: BaseException | None = error
    for _ in range(_DEEP):
        if behind is None:
            return None
        found = None if isinstance(behind, DbdeidError) else _exhausted(behind)
        if found is not None and not (told and found[0] == "room on the disk"):
            return out_of(*found)
        behind = behind.__cause__ or behind.__context__
    return None


_DEEP = 8


def _exhausted(error: BaseException) -> tuple[str, str] | None:
    """The resource that ran out, and the sign of it in the error; None: the error shows none."""
    if isinstance(error, OSError) and error.errno in _ERRNO:
        return _ERRNO[error.errno], error.strerror or type(error).__name__
    text = str(error).lower()
    for what, signs in _ENDS.items():
        if sign := next((sign for sign in signs if sign in text), None):
            return what, sign
    kind = type(error).__name__
    starved = isinstance(error, SystemError) and _starved()
    if isinstance(error, MemoryError) or kind in _OF_MEMORY or starved:
        return "memory", kind
    return None


def _starved() -> bool:
    """Whether this process is allowed hardly more memory than loading its libraries takes: their C
    code then fails without saying of what."""
    allowed, _ = resource.getrlimit(resource.RLIMIT_AS)
    return allowed != resource.RLIM_INFINITY and allowed < _LEAST


_LEAST = 2**30  # bytes of addresses


def failure_of(error: DbdeidError | OSError) -> Failure:
    """An error as a user sees it: message, exit code, examples and mistakes."""
    if isinstance(error, OSError):
        place = f"{error.filename}: " if error.filename else ""
        hint = "check the path, who may read and write there, and that the disk has room"
        error = DataError(f"{place}{error.strerror or 'cannot be read or written'}", hint=hint)
    mistakes = error.mistakes if isinstance(error, SpecError) else ()
    return Failure(str(error), error.exit_code, error.examples, mistakes)


def in_a_line(told: str) -> str:
    """The text of an error with its hint behind it, in place of below it.

    >>> in_a_line(str(DataError("no such table", hint="look at its name")))
    'no such table; look at its name'
    """
    return "; ".join(told.split(_HINT))


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """Hint at the closest known word, or list the known words.

    >>> did_you_mean("zipp", ["age", "zip"])
    "did you mean 'zip'? Known: age, zip."
    """
    names = sorted(known)
    close = get_close_matches(word, names, n=1)
    start = f"did you mean {close[0]!r}? " if close else ""
    listed = ", ".join(names[:40]) + (", …" if len(names) > 40 else "")
    return f"{start}Known: {listed}." if names else ""
