"""Old or new, never neither: how the files of a run change together, whatever happens meanwhile.

A run writes a table or a target file, exports, and a line of the private book. Several files
cannot be renamed at once, so one moment decides for all of them:

1. Every file is written into a private folder beside its place, verified after reopening, and
   synced. Until here the old release stands, and what was written is worth nothing.
2. One transaction of the book adds the run: its line, its hierarchies, the released tables where
   there is no target, and for each file its place, its SHA-256 and where it lies. **The commit is
   the moment**; a book that does not exist yet is made aside and linked into its place instead,
   which is the moment then. Before it the old release stands, after it the new one.
3. The files are renamed. Whoever opens the book next, to read or to write, first renames those
   that still lie where the book says; there is nothing else to undo or to mark as done.

Folders of processes that are gone are removed by the next start: it takes their locks first and
reads the book then, so that no commit of theirs can come in between. See `engine.scratch`.

A reader that opens a file without its book meets each file whole, but for the instant of step 3
perhaps an old one beside a new one; after a kill in that instant, until the next start. A folder is
renamed as a whole, the one that it replaces first: in between there is none.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

from dbdeid.engine import regular
from dbdeid.engine.catalog import Book, BookedFile
from dbdeid.engine.file_names import is_folder
from dbdeid.engine.scratch import Scratch, abandoned, sweep
from dbdeid.errors import DataError

# How file systems without hard links refuse one.
_NO_LINKS = (errno.EPERM, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS)


@dataclass(slots=True)
class Stage:
    """The private folders of a run, one beside each place that gets a file.

    Attributes:
        home: the database of the book; None when nothing remembers the run.
        booked: from now on the book may want the files, so that only it may give them up.
    """

    home: Path | None
    booked: bool = False
    _folders: dict[Path, Scratch] = field(default_factory=dict)

    def unfinished(self, final: Path) -> Path:
        """Where a file lies until its rename."""
        folder = final.parent.resolve()
        if folder not in self._folders:
            if self.home is None:  # what was left there no book will ask for
                sweep(folder)
            self._folders[folder] = Scratch.make(folder, self.home)
        name = f"{final.name}.parts" if is_folder(final) else final.name  # none of the folder's own
        return self._folders[folder].path / name

    def close(self) -> None:
        """Remove the folders, unless files in them are booked and have not been renamed."""
        for scratch in self._folders.values():
            scratch.leave() if self.booked else scratch.remove()
        self._folders.clear()


@contextmanager
def staging(home: Path | None) -> Iterator[Stage]:
    """The private folders of a run, removed after it."""
    stage = Stage(home)
    try:
        yield stage
    finally:
        stage.close()


@dataclass(frozen=True, slots=True)
class Finished:
    """A file or folder that is whole, verified and on disk, and waits for its rename."""

    unfinished: Path
    final: Path
    sha256: str


def finished(unfinished: Path, final: Path) -> Finished:
    """A file or folder whose content will not change any more."""
    inner = sorted(unfinished.rglob("*")) if unfinished.is_dir() else []
    for path in (*inner, unfinished):
        if path.is_dir():
            _sync(path)
        else:
            with path.open("rb") as file:
                os.fsync(file.fileno())
    return Finished(unfinished, final, regular.digest(unfinished))


def booked(file: Finished, release: str, home: Path | None) -> BookedFile:
    """A file as the book calls it."""
    paths = remembered(file.final, home), remembered(file.unfinished, home)
    return BookedFile(release, paths[0], file.sha256, paths[1])


def put_in_place(files: list[Finished]) -> None:
    """Rename finished files into their places, as often as one likes.

    Raises:
        DataError: a file cannot be renamed; the book remembers it.
    """
    for file in reversed(files):  # what explains the first file is there before it
        try:
            _make_room(file)
            file.unfinished.replace(file.final)
        except FileNotFoundError:
            if not file.final.exists() or regular.digest(file.final) != file.sha256:
                raise DataError(
                    f"{file.final} was changed meanwhile", hint="run the spec again"
                ) from None
        except OSError as error:
            raise DataError(
                f"{file.final} is verified, but cannot be put into place ({error.strerror})",
                hint="make room for it there; the next command on this spec puts it into place",
            ) from None
    for folder in {file.final.parent for file in files}:
        _sync(folder)


def _make_room(file: Finished) -> None:
    """A rename replaces a file, but no folder that holds anything: that goes aside before."""
    if file.unfinished.is_dir() and file.final.is_dir():
        file.final.replace(file.unfinished.with_name(f"{file.unfinished.name}.before"))


def recover(book: Book, home: Path) -> None:
    """Put the files into place that a killed run had booked.

    Raises:
        DataError: a file cannot be renamed, or somebody has put another one in its place.
    """
    done: set[str] = set()
    files = book.files()
    for file in files:
        unfinished, final = (home.parent / p for p in (file.unfinished, file.path))
        if file.path not in done and unfinished.exists():
            ours = {other.sha256 for other in files if other.path == file.path}
            if final.exists() and regular.digest(final) not in ours:
                raise DataError(
                    f"{final} was replaced after a run of dbdeid was killed that would have",
                    hint="move it elsewhere, and the file of that run takes its place",
                )
            if regular.digest(unfinished) == file.sha256:
                put_in_place([Finished(unfinished, final, file.sha256)])
        done.add(file.path)


@contextmanager
def alone(folders: Iterable[Path], home: Path | None) -> Iterator[None]:
    """Be alone with the abandoned folders of a book while it is recovered; then they are removed.

    Their locks come first: no run can book files in them after that. They stay where that fails.
    """
    left = [s for folder in {f.resolve() for f in folders} for s in abandoned(folder, home)]
    try:
        yield
    except BaseException:
        for scratch in left:
            scratch.leave()
        raise
    for scratch in left:
        scratch.remove()


def places_of(book: Book, home: Path) -> set[Path]:
    """The folders that runs of a book have written files into, and its own."""
    return {home.parent, *((home.parent / file.path).parent for file in book.files())}


def place_new(unfinished: Path, final: Path) -> None:
    """Give a finished file its name, if there is no file of that name.

    Raises:
        DataError: there is one now, or the folder cannot be written.
    """
    with unfinished.open("rb") as file:
        os.fsync(file.fileno())
    try:
        os.link(unfinished, final)
    except FileExistsError:
        raise DataError(
            f"{final.name} was made meanwhile, by another run", hint="run the spec again"
        ) from None
    except OSError as error:
        if error.errno not in _NO_LINKS or final.exists():
            raise DataError(f"{final} cannot be written ({error.strerror})") from None
        unfinished.rename(final)
    else:
        unfinished.unlink()
    _sync(final.parent)


def remembered(path: Path, home: Path | None) -> str:
    """How the book calls a file: relative to the book's own folder, so both may move."""
    path = path.parent.resolve() / path.name
    return os.path.relpath(path, home.resolve().parent) if home else str(path)


def _sync(folder: Path) -> None:
    with suppress(OSError):  # not every file system can
        opened = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(opened)
        finally:
            os.close(opened)
