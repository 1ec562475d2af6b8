"""The errors of dbdeid: what went wrong, where, and what to do next.

No message carries a cell of an identifier or sensitive column.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from difflib import get_close_matches


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
        hint = f"\n  Hint: {self.hint}" if self.hint else ""
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
        super().__init__(f"{message}\n  Hint: {hint}" if hint else message)


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
    """

    message: str
    exit_code: int
    examples: tuple[str, ...] = ()


def failure_of(error: DbdeidError | OSError) -> Failure:
    """An error as it is told to a user."""
    if isinstance(error, OSError):
        place = f"{error.filename}: " if error.filename else ""
        hint = "check the path, who may read and write there, and that the disk has room"
        error = DataError(f"{place}{error.strerror or 'cannot be read or written'}", hint=hint)
    return Failure(str(error), error.exit_code, error.examples)


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """A hint that names the closest known word, or lists what is known.

    >>> did_you_mean("zipp", ["age", "zip"])
    "did you mean 'zip'? Known: age, zip."
    """
    names = sorted(known)
    close = get_close_matches(word, names, n=1)
    start = f"did you mean {close[0]!r}? " if close else ""
    listed = ", ".join(names[:40]) + (", …" if len(names) > 40 else "")
    return f"{start}Known: {listed}." if names else ""
