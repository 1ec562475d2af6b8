"""The report of a release, written as a file."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from dbdeid.engine.session import Settings
from dbdeid.errors import DataError, DbdeidError
from dbdeid.release import external_record
from dbdeid.release.existing import require_same, verify
from dbdeid.release.external import is_external
from dbdeid.release.handout import pages, require_verified
from dbdeid.release.journal import put_in_place, remembered, staging
from dbdeid.release.places import Places, companions, places
from dbdeid.release.specfile import SpecFile, read
from dbdeid.release.standing import require_publishable, unpublishable
from dbdeid.release.workplace import Workplace, never_run, workplace
from dbdeid.report.manifest import SCHEMA
from dbdeid.report.page import render
from dbdeid.report.record import Audience

MADE_HERE, HEAD = b'<meta name="generator" content="dbdeid">', 400


def write_report(
    source: Path,
    audience: Audience,
    output: Path | None = None,
    database: Path | None = None,
    settings: Settings | None = None,
    *,
    trial: bool = False,
) -> Path:
    """Write the page of the last run of a spec, or of a release made elsewhere as it is.

    By default it is written beside the spec. A page in a file has its manifest beside it, named
    like it with the ending `.json`. With `trial` it is that of the trial.

    Raises:
        DataError: the release was never run, was a trial or was withdrawn and the page is public,
            or the page cannot be written.
        VerificationError: the page is public, and the release does not verify now.
    """
    file = read(source, database=database, trial=trial)
    mark = ".trial" if trial else ""
    path = output or file.folder / f"{file.spec.release}_{audience}_report{mark}.html"
    if is_external(file):
        require_place(path, file, database)
        record = external_record.record(file, database=database, settings=settings)
        return write_record(path, record, audience)
    with workplace(file, database=database, settings=settings, writing=False) as work:
        entry = work.last(file.spec)
        if entry is None or work.book is None:
            raise never_run(file, work)
        if audience == "public":
            require_publishable(work.book, entry, "there is no public report of it")
        why = unpublishable(work.book, entry)
        files = digests(work, file)
    require_same(file, entry)
    require_place(path, file, database)
    if audience == "public":
        require_verified(source, entry, database, settings, "there is no public report of it")
        return write_record(path, entry.record, audience, files)
    objections = [why.message] if why and why.state == "withdrawn" else []
    if entry.record["verified"]:
        objections += _now(source, database, settings, trial=trial)
    return write_record(path, {**entry.record, "objections": objections}, audience, files)


def _now(
    source: Path, database: Path | None, settings: Settings | None, *, trial: bool
) -> Iterator[str]:
    """Why a release that was verified when it was made is not as it was then."""
    try:
        found = verify(source, database=database, settings=settings, trial=trial)
    except DbdeidError as error:
        yield f"it cannot be verified now: {error.message}"
    else:
        if not found.verified:
            yield f"it does not verify now: {'; '.join(found.failures)}"


def digests(work: Workplace, file: SpecFile) -> dict[str, str]:
    """SHA-256 of the files that the last run of a spec wrote, by name, as its book keeps them.

    Empty where it wrote none, and where two of them have one name in different folders.
    """
    assert work.book is not None
    booked: dict[str, str] = {}
    for one in work.book.files():  # newest first
        booked.setdefault(one.path, one.sha256)
    given = (*filter(None, [work.places.target]), *work.places.exports)
    paths = [path for export in given for path in companions(export, file.spec)]
    kept = {path: booked.get(remembered(path, work.home)) for path in paths}
    known = {path.name: digest for path, digest in kept.items() if digest is not None}
    return known if len(known) == len(paths) else {}


def manifest_of(page: Path) -> Path | None:
    """Where the manifest of a page is; None where the page is a terminal or a pipe."""
    return None if page.exists() and not page.is_file() else page.with_suffix(".json")


def write_record(
    path: Path,
    record: Mapping[str, Any],
    audience: Audience,
    files: Mapping[str, str] | None = None,
) -> Path:
    """Write the page of a record and its manifest beside it, both or none.

    Args:
        path: of the page.
        record: of the release.
        audience: who will read it.
        files: SHA-256 of the files of the release by name, which the manifest tells.

    Raises:
        DataError: they cannot be written, or another file is in the manifest's place.
    """
    beside = manifest_of(path)
    if beside is None:
        return write_page(path, render(record, audience))
    if beside == path:
        raise DataError(
            f"{path.name} is the name of a manifest", hint="name the page as in report.html"
        )
    if beside.exists() and not _is_manifest(beside):
        raise DataError(
            f"{beside} is there already, and is no manifest of dbdeid",
            hint="choose another place with -o, or remove the file first",
        )
    with _writing(path), staging(None) as stage:
        put_in_place([*pages(stage, path, record, audience, files or {})])
    return path


def _is_manifest(path: Path) -> bool:
    try:
        with path.open("rb") as file:
            return SCHEMA.encode() in file.read(HEAD)
    except OSError:
        return False


def place_of(file: SpecFile, page: Path | bool, database: Path | None, what: str) -> Path | None:
    """Where the page of a command is drawn: at a path, or beside the spec, named for what it is.

    Args:
        file: the spec.
        page: the path; True: beside the spec; False: nowhere.
        database: in place of the spec's `database`.
        what: follows the release's name in that of the file.

    Raises:
        DataError: it has no folder to be in, or would replace what is not a page.
    """
    if page is False:
        return None
    path = page if isinstance(page, Path) else file.folder / f"{file.spec.release}_{what}.html"
    require_place(path, file, database)
    return path


def require_place(
    path: Path,
    file: SpecFile,
    database: Path | None,
    known: Callable[[Path], bool] | None = None,
    what: str = "page",
) -> None:
    """Refuse a file that has no folder to be in, or that would replace what is not one of its kind.

    Args:
        path: of the file that is to be written; links are followed.
        file: the spec, none of whose files is ever replaced.
        database: in place of the spec's `database`.
        known: whether a file is of that kind, which may be replaced; by default a page.
        what: the kind in words.

    Raises:
        DataError: no such folder, or another file is there.
    """
    found = places(file, database)
    others = [file.path, *_files(found), *(_files(found.published) if found.published else ())]
    if path.exists() and any(p is not None and p.exists() and path.samefile(p) for p in others):
        raise DataError(
            f"{path} belongs to this spec and would be overwritten",
            hint="choose another place with -o",
        )
    if path.is_file() and not (known or is_page)(path):
        raise DataError(
            f"{path} is there already, and is no {what} of dbdeid",
            hint="choose another place with -o, or remove the file first",
        )
    if not path.resolve().parent.is_dir():
        raise DataError(
            f"{path} cannot be written: no such folder", hint="choose another place with -o"
        )


def _files(found: Places) -> tuple[Path | None, ...]:
    return found.database, found.target, found.private, *found.exports


def is_page(path: Path) -> bool:
    """Whether a file is a page that an earlier command drew, which may be replaced."""
    try:
        with path.open("rb") as file:
            return MADE_HERE in file.read(HEAD)
    except OSError:
        return False


def write_page(path: Path, text: str) -> Path:
    """Write a page, whole or not at all.

    Raises:
        DataError: it cannot be written.
    """
    with _writing(path):
        if path.exists() and not path.is_file():  # a terminal or a pipe cannot be replaced
            path.write_text(text, encoding="utf-8")
            return path
        with staging(None) as stage:
            unfinished = stage.unfinished(path)
            unfinished.write_text(text, encoding="utf-8")
            unfinished.replace(path)
    return path


@contextmanager
def _writing(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise DataError(
            f"{path} cannot be written ({error.strerror})", hint="choose another place with -o"
        ) from None
