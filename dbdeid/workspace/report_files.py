"""Pages and manifests as files: where they may be written, and how they replace what is there."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from dbdeid.errors import DataError
from dbdeid.record.release_record import ReleaseRecord
from dbdeid.report.around import Around
from dbdeid.report.content.audience import Audience
from dbdeid.report.manifest import SCHEMA, manifest
from dbdeid.report.page import render
from dbdeid.spec.file import SpecFile
from dbdeid.workspace.atomic_files import Finished, Stage, finished, put_in_place, staging
from dbdeid.workspace.release_files import Places, places

MADE_HERE, HEAD = b'<meta name="generator" content="dbdeid">', 400


def manifest_of(page: Path) -> Path | None:
    """Where the manifest of a page is; None where the page is a terminal or a pipe."""
    return None if page.exists() and not page.is_file() else page.with_suffix(".json")


def write_record(
    path: Path,
    record: ReleaseRecord,
    audience: Audience,
    around: Around | None = None,
) -> Path:
    """Write the page of a record and its manifest beside it, both or none.

    Args:
        path: of the page.
        record: of the release.
        audience: who will read it.
        around: what page and manifest tell beside the record.

    Raises:
        DataError: they cannot be written, or another file is in the manifest's place.
    """
    beside = manifest_of(path)
    if beside is None:
        return write_page(path, render(record, audience, around))
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
        put_in_place([*pages(stage, path, record, audience, around or Around())])
    return path


def _is_manifest(path: Path) -> bool:
    try:
        with path.open("rb") as file:
            return SCHEMA.encode() in file.read(HEAD)
    except OSError:
        return False


def place_of(file: SpecFile, page: Path | bool, database: Path | None, what: str) -> Path | None:
    """Where the page of a command goes: to a path, or beside the spec, named for what it is.

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
    """Refuse a file without a folder, or one that would replace a file of another kind.

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


def pages(
    stage: Stage,
    final: Path,
    record: ReleaseRecord,
    audience: Audience,
    around: Around,
) -> tuple[Finished, Finished]:
    """The report of a release and its manifest, written aside.

    Args:
        stage: where unfinished files lie.
        final: where the page belongs; the manifest has its name, with the ending `.json`.
        record: of the release.
        audience: who will read it.
        around: what page and manifest tell beside the record; the manifest the SHA-256 of the page,
            too, where there are files.
    """
    page = _written(stage, final, render(record, audience, around))
    known = {**around.files, final.name: page.sha256} if around.files else None
    return page, _written(stage, final.with_suffix(".json"), manifest(record, audience, known))


def _written(stage: Stage, final: Path, text: str) -> Finished:
    unfinished = stage.unfinished(final)
    unfinished.write_text(text, encoding="utf-8")
    return finished(unfinished, final)
