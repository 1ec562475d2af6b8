"""What every command shares: its options, its streams, and the one place that catches errors."""

from __future__ import annotations

import csv
import functools
import inspect
import json
import logging
import os
import signal
import sys
import threading
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeVar

import typer
import typer.core

from dbdeid.cli.terminal import shown
from dbdeid.errors import DbdeidError, Failure, exhausted, failure_of

if TYPE_CHECKING:
    from rich.status import Status

    from dbdeid.engine.session import Settings
    from dbdeid.workspace.progress import BestSoFar, Notify, Placed, Progress, Weighed


@dataclass(frozen=True)
class Options:
    """What every command takes."""

    json: bool
    quiet: bool
    verbose: int
    explain: bool
    database: Path | None
    threads: int | None
    memory_limit: str | None
    show_values: bool
    printed: list[Any] = field(default_factory=list)  # the JSON document, once there is one

    @property
    def settings(self) -> Settings:
        """Engine limits."""
        from dbdeid.engine.session import Settings

        return Settings(self.threads, self.memory_limit)


T = TypeVar("T")
Trial = Annotated[bool, typer.Option("--trial", help="Use the trial, not the published release.")]
Every = Annotated[bool, typer.Option("--all", help="All metrics, not the first five.")]
Subject = Annotated[
    str | None, typer.Option(metavar="COL", help="Count people by this column, not rows.")
]
Nulls = Annotated[
    Literal["own_category", "wildcard", "exclude"],
    typer.Option("--null-policy", help="What a NULL matches: other NULLs, everything, nothing."),
]
Table = Annotated[str | None, typer.Argument(metavar="TABLE", help="The table in a database.")]
INTERRUPTED = 130


def names(of: str) -> Any:
    """An option that takes names of columns: several by commas, or repeated."""
    text = f"{of}, separated by commas; one with a comma in double quotes."
    return typer.Option(metavar="COL,…", help=text, callback=_listed)


def _listed(given: list[str] | None) -> list[str] | None:
    """The names in each text; one without a comma is a name as it stands, spaces and quotes too."""
    several = (csv.reader([t], skipinitialspace=True) if "," in t else [[t]] for t in given or ())
    return [name for rows in several for row in rows for name in row] or given


_COMMON: dict[str, Any] = {
    "json_": Annotated[bool, typer.Option("--json", help="Print one JSON document.")],
    "quiet": Annotated[bool, typer.Option("--quiet", "-q", help="Print errors only.")],
    "verbose": Annotated[
        int,
        typer.Option(
            "-v",
            "--verbose",
            count=True,
            show_default=False,
            help="Log each phase; -vv each SQL statement.",
        ),
    ],
    "explain": Annotated[
        bool, typer.Option("--explain", "--show-sql", help="Print the SQL, and execute none.")
    ],
    "database": Annotated[
        Path | None, typer.Option(help="The owner's database, in place of the spec's.")
    ],
    "threads": Annotated[int | None, typer.Option(min=1, max=1024, help="Threads of the engine.")],
    "memory_limit": Annotated[
        str | None,
        typer.Option(help="Memory of the engine, as in 2GB; else half of what there is."),
    ],
    "show_values": Annotated[
        bool, typer.Option("--show-values", help="Name values of quasi-identifiers.")
    ],
}
# Of commands that have no SQL to show: given all the same, it is refused with the reason.
_UNSHOWN = Annotated[bool, typer.Option("--explain", "--show-sql", hidden=True)]
_DEFAULTS: dict[str, Any] = {
    "json_": False,
    "quiet": False,
    "verbose": 0,
    "explain": False,
    "show_values": False,
}


class _Command(typer.core.TyperCommand):
    """A command with the help of its arguments: typer before 0.26 loses it under click 8.5."""

    def __init__(self, name: str | None, **given: Any) -> None:
        super().__init__(name, **given)
        for told in inspect.signature(given["callback"]).parameters.values():
            for info in getattr(told.annotation, "__metadata__", ()):
                own = next((p for p in self.params if p.name == told.name), None)
                if own is not None and getattr(own, "help", None) is None:
                    own.help = info.help

    def format_arguments(self, ctx: Any, formatter: Any) -> None:
        """Nothing: typer lists arguments above options, and click since 8.5 would repeat them."""


def command(
    group: typer.Typer,
    *,
    name: str | None = None,
    explains: bool = False,
    foreign: str | None = None,
    former: bool = False,
) -> Callable[[Any], Any]:
    """Register a command whose last parameter `options` collects the options of every command.

    Args:
        group: what it belongs to.
        name: of the command; None takes the function's.
        explains: whether it can show its SQL steps; others refuse `--explain`.
        foreign: its argument that may be a file of others, which is then read within limits.
        former: whether it stands elsewhere by now, and is kept here for a version.
    """

    def register(function: Callable[..., None]) -> Callable[..., None]:
        own = [
            p
            for p in inspect.signature(function, eval_str=True).parameters.values()
            if p.name != "options"
        ]
        common = [
            inspect.Parameter(
                key, inspect.Parameter.KEYWORD_ONLY, default=_DEFAULTS.get(key), annotation=kind
            )
            for key, kind in (_COMMON if explains else {**_COMMON, "explain": _UNSHOWN}).items()
        ]

        @functools.wraps(function)
        def call(**given: Any) -> None:
            shared = {key: given.pop(key) for key in _COMMON}
            shared["json"] = shared.pop("json_")
            if shared["explain"] and not explains:
                raise typer.BadParameter(
                    "only run, check and query show their SQL; -vv logs that of any command",
                    param_hint="--explain",
                )
            file = Path(given[foreign]) if foreign else None
            code = _apart(file, functools.partial(function, **given), Options(**shared))
            if code:
                raise typer.Exit(code)

        keyword = [p.replace(kind=inspect.Parameter.KEYWORD_ONLY) for p in own]
        call.__signature__ = inspect.Signature([*keyword, *common])  # type: ignore[attr-defined]
        call.__annotations__ = {p.name: p.annotation for p in [*own, *common]}
        group.command(name, cls=_Command, hidden=former, deprecated=former)(call)
        return function

    return register


def texts() -> Any:
    """The words of the command line, loaded when something is printed."""
    from dbdeid.cli.text.release import verdict

    return verdict


def search_texts() -> Any:
    """Those of searches."""
    from dbdeid.cli.text import search

    return search


def frontier_texts() -> Any:
    """Those of frontiers."""
    from dbdeid.cli.text import frontier

    return frontier


def project_texts() -> Any:
    """Those of projects."""
    from dbdeid.cli.text import project

    return project


def release_texts() -> Any:
    """Those of runs that are remembered."""
    from dbdeid.cli.text.release import releases

    return releases


def signing_texts() -> Any:
    """Those of signatures."""
    from dbdeid.cli.text.release import signing

    return signing


def plan_texts() -> Any:
    """Those of plans."""
    from dbdeid.cli.text import plan

    return plan


def query_texts() -> Any:
    """Those of answers."""
    from dbdeid.cli.text import query

    return query


def show(options: Options, document: Any, text: str, *, code: bool = False) -> None:
    """Print a JSON document, or its text for people; in JSON null is no finite number.

    Args:
        options: of the command.
        document: for `--json`; None prints nothing there.
        text: for people.
        code: whether the text is SQL, YAML or a path, whose lines no terminal wraps.
    """
    if options.json:
        if document is not None:
            from dbdeid.report.manifest import plain

            _print(plain(document), options)
    elif not options.quiet and text:
        text = text.rstrip("\n")
        typer.echo(text if code else shown(text, sys.stdout))


def _print(document: Any, options: Options) -> None:
    options.printed.append(document)
    print_json(document)


def print_json(document: Any) -> None:
    """Print a document as every command does."""
    typer.echo(json.dumps(document, indent=2, ensure_ascii=False, allow_nan=False, default=str))


class Follower:
    """Shows progress on standard error, and asks what to do when the command is interrupted.

    A line follows the work on a terminal only, and only there is anything asked.

    Attributes:
        notify: called with each phase and the progress of a search.
    """

    def __init__(self, status: Status | None, phases: Sequence[str] = ()) -> None:
        self._status = status
        self._show: Notify | None = None
        self._last: tuple[str, Any] | None = None
        self._told = False
        if status is not None:
            from dbdeid.workspace.progress_line import Line, telling

            self._show = telling(Line(status.update).tell, phases)

    def notify(self, phase: str, found: Progress | Placed | Weighed | None) -> None:
        """Show how far the work is, and remember it."""
        self._last = phase, found
        if self._show is not None:
            self._show(phase, found)

    def interrupted(self) -> None:
        """Say how far the work was, unless that was said already."""
        if self._last is not None and not self._told:
            if self._status is not None:
                self._status.stop()
            typer.echo(search_texts().where_interrupted(*self._last), err=True)

    def tell(self, best: BestSoFar) -> bool:
        """Say what an interrupted search has found, and go no further."""
        self._told = True
        if self._status is not None:
            self._status.stop()
        typer.echo(search_texts().best_so_far(best), err=True)
        return False

    def offer(self, best: BestSoFar) -> bool:
        """Whether the user takes what an interrupted search has found."""
        self.tell(best)
        if self._status is None or not sys.stdin.isatty():
            return False
        typer.echo("Release it? [y/N] ", nl=False, err=True)
        taken = sys.stdin.readline().strip().lower() in ("y", "yes")
        if taken:
            self._status.start()
        return taken


@contextmanager
def following(options: Options, phases: Sequence[str] = ()) -> Iterator[Follower]:
    """A follower, with its line on standard error if that is a terminal.

    When the work is interrupted before it has found anything to take, it says how far it was.
    """
    with ExitStack() as held:
        status = None
        if not options.quiet and sys.stderr.isatty():
            from rich.console import Console

            status = held.enter_context(Console(stderr=True).status("starting"))
        follower = Follower(status, phases)
        try:
            yield follower
        except KeyboardInterrupt:
            if not options.quiet:
                follower.interrupted()
            raise


def tell(failure: Failure, options: Options, of: str = "") -> None:
    """Say on standard error what failed.

    Args:
        failure: how.
        options: of the command; they say whether values may be shown.
        of: whose failure it is, where there are others.
    """
    typer.echo(shown(f"error: {of + ': ' if of else ''}{failure.message}", sys.stderr), err=True)
    if failure.examples and (options.show_values or sys.stderr.isatty()):
        typer.echo("  For example: " + ", ".join(map(repr, failure.examples[:10])), err=True)


def guarded(work: Callable[[], T]) -> T | Failure:
    """Run a piece of work; return its result or its failure, so that others can go on.

    Raises:
        KeyboardInterrupt: Ctrl-C came.
    """
    try:
        with interruptible():
            return work()
    except Exception as error:
        return _failure(error)


def _failure(error: Exception) -> Failure:
    """Any error as it is told; the text of a foreign one may quote data, so only its kind is."""
    if (ended := exhausted(error)) is not None:
        return failure_of(ended)
    if isinstance(error, DbdeidError | OSError):
        return failure_of(error)
    places = "".join(traceback.format_tb(error.__traceback__))
    logging.getLogger("dbdeid").debug("traceback:\n%s", places)
    what = f"a defect of dbdeid ({type(error).__name__})"
    return Failure(f"{what}\n  Hint: -vv shows where; please report it", 1)


@contextmanager
def interruptible() -> Iterator[None]:
    """Ctrl-C is an exception while a command works, so that it leaves nothing behind.

    Extension modules whose Python it met make errors of their own of it, so whatever fails after it
    is taken for its consequence.

    Raises:
        KeyboardInterrupt: Ctrl-C came, and something failed after it.
    """
    before = signal.getsignal(signal.SIGINT)
    if threading.current_thread() is not threading.main_thread() or not callable(before):
        yield
        return
    ignored = sys.unraisablehook
    came = False

    def interrupt(number: int, frame: FrameType | None) -> None:
        nonlocal came
        came = True
        raise KeyboardInterrupt

    try:
        sys.unraisablehook = _interrupt_again(ignored)
        signal.signal(signal.SIGINT, interrupt)
        yield
    except (typer.Exit, KeyboardInterrupt):
        raise
    except Exception:
        if came:
            raise KeyboardInterrupt from None
        raise
    finally:
        signal.signal(signal.SIGINT, before)
        sys.unraisablehook = ignored


def _interrupt_again(otherwise: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Ctrl-C that meets a callback of Python's own, which may not raise, comes again after it."""

    def hook(unraisable: Any) -> None:
        if issubclass(unraisable.exc_type, KeyboardInterrupt):
            again(0.01)
        else:
            otherwise(unraisable)

    def again(seconds: float) -> None:
        try:
            threading.Timer(seconds, os.kill, (os.getpid(), signal.SIGINT)).start()
        except KeyboardInterrupt:  # on a busy machine it comes before the thread has begun
            again(2 * seconds)

    return hook


# A spec is its owner's, and so are the files that it names.
_SPECS = (".yml", ".yaml", ".json")


def is_spec(path: Path) -> bool:
    """Whether a path names a specification, and not a file of a table."""
    from dbdeid.data.location.address import is_server
    from dbdeid.engine.file_names import holds_table

    if is_server(str(path)):
        return False
    return path.suffix.lower() in _SPECS and not holds_table(path)


def _apart(file: Path | None, command: Callable[..., None], options: Options) -> int:
    """Run a command in a process of its own where others wrote its file, or memory is bounded."""
    from dbdeid.engine.apart import Limits, bounded, forked

    limits = None
    if file is not None and not is_spec(file):
        limits = Limits.of(file)
    if limits is not None or bounded():
        try:
            code = forked(limits)
        except Exception as error:
            return _failed(error, options)
        if code is not None:
            return code
    return _ending(command, options)


def _ending(command: Callable[..., None], options: Options) -> int:
    """Run a command and give its exit code; this is where errors end."""
    level = (logging.WARNING, logging.INFO, logging.DEBUG)[min(options.verbose, 2)]
    logging.basicConfig(stream=sys.stderr, level=level, format="%(name)s: %(message)s")
    try:
        with interruptible():
            command(options=options)
    except typer.Exit:
        raise
    except KeyboardInterrupt:
        typer.echo("interrupted", err=True)
        return INTERRUPTED
    except BrokenPipeError:
        return 0
    except Exception as error:
        return _failed(error, options)
    return 0


def _failed(error: Exception, options: Options) -> int:
    """Tell of an error, and give its exit code; a program that waits for JSON gets that."""
    failure = _failure(error)
    tell(failure, options)
    if options.json and not options.printed:
        _print(failure.document, options)
    return failure.exit_code
