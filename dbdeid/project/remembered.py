"""The runs that the books of a place remember: of a spec, a database, a folder or a project."""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from dbdeid.bind.read import read
from dbdeid.engine.file_names import given_path
from dbdeid.engine.session import Settings
from dbdeid.errors import DataError, did_you_mean
from dbdeid.project.releases import ENDINGS, load
from dbdeid.spec.file import SpecFile
from dbdeid.spec.names import refuse
from dbdeid.spec.project_file import NAME, find, read_project
from dbdeid.workspace import remembered_runs as books
from dbdeid.workspace.release_files import PRIVATE, TRIAL, places, private_of
from dbdeid.workspace.remembered_runs import Remembered


def releases(
    where: str | Path = ".", *, database: str | Path | None = None, settings: Settings | None = None
) -> list[Remembered]:
    """The runs that private books remember, newest first.

    Args:
        where: a spec, whose release alone is listed; a database, a target or a private file; or a
            folder: the project around it, else the private files in it.
        database: in place of the `database` of specs.
        settings: engine limits.

    Raises:
        SpecError, DataError: there is no book, or a spec has mistakes.
    """
    database = given_path(database)
    path = Path(where)
    if path.is_dir() or path.name == NAME:
        return _of_books(_of_folder(path, database), settings)
    if path.suffix.lower() not in (*ENDINGS, ".json"):
        return of_database(path, database=database, settings=settings)
    file = read(path, database=database)
    refuse(file, "is not remembered", "only runs of dbdeid are")
    name = file.spec.release.lower()
    return [
        one
        for one in _of_books(_homes(file, database), settings)
        if one.entry.release.lower() == name
    ]


def _of_books(paths: Iterable[Path], settings: Settings | None) -> list[Remembered]:
    """The runs of several books, newest first; those of one book in its order, as of `entries`."""
    found = [books.remembered(path, settings) for path in paths]
    return list(heapq.merge(*found, key=lambda one: one.entry.created, reverse=True))


def withdraw(
    release: str,
    reason: str,
    where: str | Path = ".",
    *,
    run: str | None = None,
    every: bool = False,
    database: str | Path | None = None,
    settings: Settings | None = None,
) -> list[Remembered]:
    """Withdraw a run that nobody ever got: later runs are not compared with it any more.

    Withdrawing cannot take back a file that somebody has. The book keeps the run, and the reason.

    Args:
        release: its name.
        reason: why; not empty.
        where: as `releases` takes it.
        run: number of the run, or how it begins; None: the last that counts as published.
        every: all runs of the release that count as published.
        database: in place of the `database` of specs.
        settings: engine limits.

    Returns:
        What was withdrawn.

    Raises:
        SpecError, DataError: there is no such run, it does not count as published, there is no
            reason, or the book cannot be written.
    """
    database = given_path(database)
    told = books.require_reason(reason)
    found = releases(where, database=database, settings=settings)
    return books.withdraw(to_withdraw(release, found, run=run, every=every), told, settings)


def to_withdraw(
    release: str, found: Sequence[Remembered], *, run: str | None = None, every: bool = False
) -> list[Remembered]:
    """Those of the runs, newest first, that `withdraw` marks.

    Raises:
        DataError: there is none.
    """
    if run is not None and every:
        raise DataError("one run or all of them, not both", hint="give --run or --all")
    names = dict.fromkeys(one.entry.release for one in found)
    found = [one for one in found if one.entry.release.lower() == release.lower()]
    if not found:
        hint = did_you_mean(release, list(names)) if names else "no run at all is"
        raise DataError(f"no run of a release {release!r} is remembered", hint=hint)
    if run is not None:
        found = [one for one in found if one.entry.run.startswith(run.lower())]
        if len(found) != 1:
            raise DataError(
                f"{len(found) or 'no'} runs of {release!r} have a number that begins with {run!r}",
                hint="`dbdeid releases` lists the numbers",
            )
        (one,) = found
        if one.state != "published":
            raise DataError(f"run {one.entry.run} of {release!r} is {_IS[one.state]}", hint=_NONE)
        return found
    found = [one for one in found if one.state == "published"]
    if not found:
        raise DataError(f"no run of {release!r} counts as published", hint=_NONE)
    return found if every else found[:1]


_NONE = "there is nothing to withdraw: later runs are not compared with it; see `dbdeid releases`"
_IS = {"trial": "a trial", "withdrawn": "withdrawn already", "preview": "a preview"}


def _of_folder(folder: Path, database: Path | None) -> list[Path]:
    """The books of a project, or the private files in a folder; each once."""
    start = folder.parent if folder.name == NAME else folder
    project = find(start)
    if project is None:
        found = sorted(start.glob(f"*{PRIVATE}"))
        if not found:
            raise DataError(
                f"{folder}: no private file is in this folder, and no {NAME} in it or above it",
                hint="give a SPEC, a database, a FILE.private.duckdb or the folder of a project",
            )
        return found
    return list(dict.fromkeys(_of_project(project, database)))


def _of_project(path: Path, database: Path | None) -> Iterator[Path]:
    """The books of its releases, and those beside them of releases that are gone."""
    for file in _files(path, database):
        for home in _homes(file, database):
            yield home.resolve()
            if home.name.endswith(PRIVATE):
                yield from sorted(home.resolve().parent.glob(f"*{PRIVATE}"))


def _files(project: Path, database: Path | None) -> list[SpecFile]:
    """The specs of a project that are run."""
    return [one.file for one in load(read_project(project), database) if one.made_here]


def _shelved(target: Path, database: Path | None) -> Path | None:
    """The private file of a target of the project around it; None where it is none of one."""
    project = find(target.parent) if target.is_file() else None
    if project is None or target.name.endswith(PRIVATE):
        return None
    for file in _files(project, database):
        found = places(file, database)
        if found.target is not None and found.target.resolve() == target.resolve():
            return next(_homes(file, database), None)
    return None


def of_database(
    target: Path, *, database: Path | None = None, settings: Settings | None = None
) -> list[Remembered]:
    """The runs that a database, a target or a private file remembers, newest first.

    Trials are among those of a target, though another file remembers them.

    Raises:
        DataError: it cannot be opened.
    """
    book = books.book_of(_shelved(target, database) or target)
    if target.name.endswith(PRIVATE) or not book.name.endswith(PRIVATE):
        return books.remembered(book, settings)
    trials = private_of(book.with_name(book.name.removesuffix(PRIVATE) + TRIAL))
    return _of_books((book, trials) if trials.exists() else (book,), settings)


def _homes(file: SpecFile, database: Path | None) -> Iterator[Path]:
    """The books of a release and of its trials, those that are there."""
    for one in (file, replace(file, trial=True)):
        found = places(one, database)
        home = found.private or found.database
        if home is not None and home.exists():
            yield home
