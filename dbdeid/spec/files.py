"""The files that a specification names, found from where it stands."""

from __future__ import annotations

from pathlib import Path

from dbdeid.errors import DataError, SpecError
from dbdeid.spec.file import SpecFile


def relative(file: SpecFile, path: str, *place: str | int) -> Path:
    """A path of the spec, relative to the spec's folder.

    Raises:
        SpecError: no file can have it; the message names its place in the spec.
    """
    try:
        found = file.folder / Path(path).expanduser()
        found.exists()
        found.resolve()
    except (OSError, RuntimeError, ValueError) as error:
        unknown = "no such home folder" if path.startswith("~") else "a loop of links"
        why = getattr(error, "strerror", None) or unknown
        message = f"{path[:80]} is no path of a file ({why})"
        hint = "give a shorter or a plain path"
        raise SpecError([file.mistake(message, *place, hint=hint)], source=file.label) from None
    return found


def located(file: SpecFile, path: str, *place: str | int) -> Path:
    """An input of the spec: beside it, or else where its project keeps such files.

    Raises:
        SpecError: no file can have this path; the message names its place in the spec.
    """
    beside = relative(file, path, *place)
    if beside.exists():
        return beside
    others = (folder / Path(path).expanduser() for folder in file.folders("hierarchies")[1:])
    return next((other for other in others if other.exists()), beside)


def query_files(file: SpecFile) -> tuple[Path, ...]:
    """The files of the workload.

    Raises:
        DataError: the pattern of `evaluate.queries` matches no file.
    """
    pattern = file.spec.evaluate.queries
    if pattern is None:
        return ()
    try:
        found = (_matching(f, Path(pattern).expanduser()) for f in file.folders("queries"))
        paths = next((paths for paths in found if paths), [])
    except (OSError, ValueError, IndexError, RuntimeError):
        paths = []
    if not paths:
        raise DataError(
            f"evaluate.queries: {pattern} matches no file",
            hint="a pattern like queries/*.sql, relative to the spec, or an absolute one; "
            "`dbdeid workload` writes random queries",
        )
    return tuple(paths)


def _matching(folder: Path, pattern: Path) -> list[Path]:
    """The files that match a pattern; the folder itself is taken as it is spelled."""
    if pattern.is_absolute():
        folder = Path(pattern.anchor)
        pattern = pattern.relative_to(folder)
    return sorted(path for path in folder.glob(str(pattern)) if path.is_file())
