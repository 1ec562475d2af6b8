"""A folder with exactly what may leave of a release: its files, and its public report.

Nothing is copied that happens to lie beside a release: each file is written anew from the verified
table, and verified after it was reopened.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from dbdeid.bind.read import Source, read
from dbdeid.commands.verify_evaluate_export import Existing, expected_content, exportable, verify
from dbdeid.data.json import JsonObject, plain
from dbdeid.engine.catalog import Entry
from dbdeid.engine.file_names import is_folder
from dbdeid.engine.process import uninterrupted
from dbdeid.engine.session import Settings
from dbdeid.errors import DataError, VerificationError
from dbdeid.publish import export
from dbdeid.record.border import record_of
from dbdeid.report.around import Around
from dbdeid.spec.file import SpecFile
from dbdeid.verify import Twin
from dbdeid.workspace.atomic_files import Finished, Stage, put_in_place, staging
from dbdeid.workspace.release_files import companions
from dbdeid.workspace.report_files import pages

PAGE = "_public_report.html"


@dataclass(frozen=True, slots=True)
class Given:
    """A file that may be given away.

    Attributes:
        name: in the folder.
        size: in bytes.
        sha256: of its content.
    """

    name: str
    size: int
    sha256: str


@dataclass(frozen=True, slots=True)
class Handout:
    """A folder that may be given away as it is.

    Attributes:
        folder: where it is.
        release: whose files are in it.
        files: all of them, by name.
        note: what its owner should know of them; empty where there is nothing.
    """

    folder: Path
    release: str
    files: tuple[Given, ...]
    note: str = ""

    def to_dict(self) -> JsonObject:
        """The folder as JSON shows it."""
        return {
            "exported": [str(self.folder / file.name) for file in self.files],
            "folder": str(self.folder),
            "files": plain(self.files),
            "note": self.note,
        }


def hand_out(
    source: Source,
    folder: Path,
    *,
    database: Path | None = None,
    settings: Settings | None = None,
) -> Handout:
    """Fill a new or empty folder with exactly what may leave of a release.

    These are the target or the declared exports with what explains them (of a release inside its
    database that has none, a `.duckdb` file), the public report and its manifest.

    Args:
        source: the spec.
        folder: new, or there and empty.
        database: in place of the spec's `database`.
        settings: engine limits.

    Raises:
        DataError: the folder is not empty or cannot be made; the release was never run, is a
            preview, a trial or withdrawn, or its spec has changed since.
        VerificationError: it does not verify now; nothing was written.
    """
    file = read(source, database=database)
    _require_empty(folder)
    with exportable(file, database=database, settings=settings) as found:
        pass  # another session verifies it
    note = require_verified(source, found.entry, database, settings, "nothing was exported")
    with exportable(file, database=database, settings=settings) as found, _made(folder):
        with staging(None) as stage:
            files = [*_files(found, file, folder, stage)]
            final = folder / f"{found.entry.release}{PAGE}"
            told = {one.final.name: one.sha256 for one in files}
            files += pages(stage, final, record_of(found.entry), "public", Around(told))
            with uninterrupted():
                put_in_place(files)
        _require_only(folder, files)
    given = sorted((one.final.name, one.final.stat().st_size, one.sha256) for one in files)
    return Handout(folder, file.spec.release, tuple(Given(*one) for one in given), note)


def require_verified(
    source: Source,
    entry: Entry,
    database: Path | None,
    settings: Settings | None,
    left: str,
) -> str:
    """Verify a release before it is handed out, and return what its reader should know.

    Args:
        source: the spec.
        entry: of its last run.
        database: in place of the spec's `database`.
        settings: engine limits.
        left: what was not done where it does not, as a clause.

    Raises:
        DataError: its source has changed, and nothing tells that the release has not.
        VerificationError: it does not keep its promises.
    """
    now = verify(source, database=database, settings=settings)
    if not now.verified:
        raise VerificationError(
            f"the release does not verify now, and {left}: " + "; ".join(now.failures),
            hint="do not give it away; run the spec again",
        )
    if now.source_changed is None:
        return ""
    if record_of(entry).content is None:
        raise DataError(
            f"{now.source_changed.message}, and an earlier version of dbdeid made it, which kept "
            "nothing to tell whether the release is as it was",
            hint="run the spec again",
        )
    return f"{now.source_changed.message}; the release is as it was when it was verified"


def _files(found: Existing, file: SpecFile, folder: Path, stage: Stage) -> Iterator[Finished]:
    """The files of the release, each written aside and verified after reopening."""
    places = found.work.places
    names = [path.name for path in filter(None, [places.target])]
    # digests are of files: what goes to a folder of them is handed out as one
    names += [f"{p.name}.parquet" if is_folder(p) else p.name for p in places.exports]
    names = names or [f"{found.entry.release}.duckdb"]
    bound = found.bound()
    declared = found.declared(bound)
    every = [[folder / p.name for p in companions(Path(name), file.spec)] for name in names]
    page = Path(f"{found.entry.release}{PAGE}")
    flat = [path.name for paths in every for path in paths]
    flat += [page.name, page.with_suffix(".json").name]
    if twice := sorted({name for name in flat if flat.count(name) > 1}):
        raise DataError(
            f"two files of the release would have one name in {folder}: {', '.join(twice)}",
            hint="give `target` and `output.export` names of their own",
        )
    session, public = found.work.session, found.public
    expected = expected_content(found, declared)
    twin: Twin | None = None
    for paths in every:
        files, twin = export.write(session, stage, paths, declared, public, expected, twin)
        yield from files


def _require_empty(folder: Path) -> None:
    if folder.exists() and not folder.is_dir():
        raise DataError(f"{folder} is there already, and is no folder", hint="choose another name")
    if folder.is_dir() and any(folder.iterdir()):
        raise DataError(
            f"{folder} is not empty: only what is exported may lie in a folder that is given away",
            hint="choose a new folder",
        )
    if not folder.resolve().parent.is_dir():
        raise DataError(f"the folder {folder.parent} does not exist", hint="create it first")


@contextmanager
def _made(folder: Path) -> Iterator[None]:
    """The folder, made where it is missing; it goes again if it cannot be filled."""
    there = folder.is_dir()
    try:
        folder.mkdir(exist_ok=True)
    except OSError as error:
        raise DataError(
            f"{folder} cannot be made ({error.strerror})", hint="choose another place"
        ) from None
    try:
        yield
    except BaseException:
        if not there:
            with suppress(OSError):
                folder.rmdir()
        raise


def _require_only(folder: Path, files: Sequence[Finished]) -> None:
    """Somebody else may have put a file there meanwhile."""
    others = {path.name for path in folder.iterdir()} - {one.final.name for one in files}
    if others:
        raise DataError(
            f"{folder} was filled, and holds more than was exported: {', '.join(sorted(others))}",
            hint="remove what does not belong there before it is given away",
        )
