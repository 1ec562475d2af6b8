"""A release that is open for many questions, and still the one that its spec speaks of."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from copy import deepcopy
from pathlib import Path
from typing import Any, Self

from dbdeid.bind.read import Source
from dbdeid.commands.queries.answers import SPREADING, Answers
from dbdeid.commands.queries.opened import opened
from dbdeid.commands.queries.result import Result
from dbdeid.engine.file_names import given_path
from dbdeid.engine.session import Settings
from dbdeid.errors import DataError
from dbdeid.query.dialects.dialects import Dialect
from dbdeid.spec.file import as_path

# What clients of a server have in place of `--spread-suppressed`.
_OVER_THE_WIRE = "SET dbdeid.spread_suppressed = on"


class OpenRelease:
    """A release that answers many questions: `dbdeid.open` gives it, `with` closes it.

    Each question is answered as `dbdeid.query` would answer it now, in a small part of the time:
    what the release, its dictionary and its record tell is found out when it is opened, and how a
    question is answered when it is first asked.

    Before each question dbdeid looks whether a file was written, replaced or removed since: the
    spec and its project, the database, the file of the release and its private file, and what the
    source is read from. If one was, dbdeid opens the release anew and repeats every check, so that
    a release that was withdrawn, dropped, run again or run for another spec is noted or refused as
    by `dbdeid.query`. Between two such changes the checks need no repetition: the database is
    attached for reading only, and DuckDB keeps other processes from writing into it. dbdeid cannot
    see what you do on a connection of your own, so each question opens the release anew there.

    While it is open, other processes cannot write into the database, but they can run a spec with a
    `target`. Threads may share it: their questions are answered one after another.
    """

    def __init__(
        self,
        source: Source,
        connection: Any = None,
        *,
        database: Path | None = None,
        settings: Settings | None = None,
        trial: bool = False,
        for_others: bool = False,
    ) -> None:
        # what is done to a dict later does not change what was opened
        self._source = deepcopy(source) if isinstance(source, Mapping) else source
        self._connection = connection
        self._database, self._settings, self._trial = database, settings, trial
        self._for_others = for_others
        self._lock = threading.RLock()
        self._answers: Answers | None = None
        self._undo = ExitStack()
        self._closed = False
        self._shown = self.source_names

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Let go of all files; no question is answered afterwards."""
        with self._lock:
            self._closed = True
            self._let_go()

    def query(self, sql: str, *, spread_suppressed: bool = False) -> Result:
        """Answer SQL that was written for the source of the release.

        Args:
            sql: one SELECT; its FROM names the source.
            spread_suppressed: count suppressed records as well, spread like those that are
                released.

        Raises:
            DataError: it cannot be answered, the release is no longer what it was when that
                matters, or this is closed.
        """
        with self._at_hand() as answers:
            return answers.answer(sql, spread=spread_suppressed)

    def rewritten(
        self, sql: str, *, spread_suppressed: bool = False, dialect: Dialect = "duckdb"
    ) -> str:
        """What `query` would run, not run: a script in the dialect of an engine.

        In other dialects than DuckDB's it reads the released tables by their plain names.

        Args:
            sql: one SELECT; its FROM names the source.
            spread_suppressed: as for `query`.
            dialect: of the script.

        Raises:
            DataError: as for `query`, or the dialect has no equal of what is asked.
        """
        with self._at_hand() as answers:
            return answers.script(sql, dialect, spread=spread_suppressed)

    def interrupt(self) -> None:
        """Stop the question that another thread asks, which ends with KeyboardInterrupt."""
        answers = self._answers  # the lock is with that thread
        if answers is not None:
            answers.opened.session.interrupt()

    @property
    def releases(self) -> tuple[str, ...]:
        """The names of the releases: several where a file holds several."""
        with self._at_hand() as answers:
            return answers.opened.releases

    @property
    def source_names(self) -> tuple[str, ...]:
        """List the names that FROM may give the source; for an exported file, its releases."""
        with self._at_hand() as answers:
            return answers.opened.source_names

    def columns(self, release: str | None = None) -> dict[str, str]:
        """The columns that can be asked, each with the type that its values have in the source.

        Args:
            release: which, where a file holds several.

        Raises:
            DataError: there is no such release, or there are several.
        """
        with self._at_hand() as answers:
            return {c.name: c.shown_type for c in answers.target(release).columns}

    def quasi_identifiers(self, release: str | None = None) -> tuple[str, ...]:
        """Those of the columns whose values may be generalized, so that answers have bounds.

        Args:
            release: which, where a file holds several.

        Raises:
            DataError: there is no such release, or there are several.
        """
        with self._at_hand() as answers:
            return answers.target(release).quasi_identifiers

    def untold(self, release: str | None = None) -> tuple[str, ...]:
        """List the columns with released values whose meaning is not in the file.

        Questions that need these values are refused.

        Args:
            release: which, where a file holds several.

        Raises:
            DataError: there is no such release, or there are several.
        """
        with self._at_hand() as answers:
            return answers.untold(release)

    def __repr__(self) -> str:
        what = as_path(self._source) if isinstance(self._source, str) else self._source
        called = str(what) if isinstance(what, Path) else "a spec"
        state = "closed" if self._closed else f"FROM {' or '.join(self._shown)}"
        return f"<dbdeid.OpenRelease of {called}: {state}>"

    # -- what is open ------------------------------------------------------------------------

    @contextmanager
    def _at_hand(self) -> Iterator[Answers]:
        """The release as it is now."""
        with self._lock:
            if self._closed:
                raise DataError("the release is closed", hint="open it again: dbdeid.open(…)")
            if self._answers is not None and self._answers.opened.changed:
                self._let_go()
            if self._answers is None:
                given = self._source, self._connection, self._database, self._settings
                release = self._undo.enter_context(
                    opened(*given, trial=self._trial, for_others=self._for_others)
                )
                self._answers = Answers(
                    release,
                    many=self._connection is None,
                    spreading=_OVER_THE_WIRE if self._for_others else SPREADING,
                )
            try:
                yield self._answers
            except DataError:
                raise
            except BaseException:
                self._let_go()  # an interrupt may have left anything half done
                raise
            finally:
                if self._connection is not None:
                    self._let_go()

    def _let_go(self) -> None:
        self._answers = None
        self._undo.close()


def open(
    source: Source,
    connection: Any = None,
    *,
    database: str | Path | None = None,
    settings: Settings | None = None,
    trial: bool = False,
) -> OpenRelease:
    """Open a release for many questions, which are then answered without opening it again.

    Nothing is written.

    Args:
        source: the spec of a release (path, text or dict), or an exported file.
        connection: an open DuckDB connection to work on.
        database: in place of the spec's `database`.
        settings: limits of an opened connection.
        trial: open the trial of a spec, not what it published.

    Raises:
        DataError: there is no such release.
    """
    database = given_path(database)
    return OpenRelease(source, connection, database=database, settings=settings, trial=trial)
